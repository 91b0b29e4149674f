//! The built binary on a port of loopback, and a client on a plain socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::BINARY;
use crate::running::Running;
use crate::server::{STATELESS, stateless};

/// How long to wait for an answer before the test fails.
const MAX_WAIT: Duration = Duration::from_secs(20);

pub struct HttpServer {
    child: Option<Running>,
    log: Arc<Mutex<Vec<String>>>,
    pub address: SocketAddr,
    /// The generated token.
    pub token: String,
    pub folder: tempfile::TempDir,
}

/// A response: its status, headers and whole body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl HttpServer {
    /// Serves a new directory that contains `root/inside.txt`.
    pub fn start(options: &[&str]) -> HttpServer {
        HttpServer::start_with(options, |_| {})
    }

    /// Like [`HttpServer::start`], after preparing the directory. `{dir}` in options is its path.
    pub fn start_with(options: &[&str], prepare: impl Fn(&HttpServer)) -> HttpServer {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        std::fs::write(folder.path().join("root/inside.txt"), "inside\n").unwrap();
        let (address, log, token) = (([127, 0, 0, 1], 0).into(), Arc::default(), String::new());
        let mut server = HttpServer { child: None, log, address, token, folder };
        prepare(&server);
        server.launch(options);
        server
    }

    fn launch(&mut self, options: &[&str]) {
        let dir = self.folder.path().to_str().unwrap();
        let options = options.iter().map(|option| option.replace("{dir}", dir));
        let mut child = Command::new(BINARY)
            .args(["serve", "--http", "127.0.0.1:0", "--state-dir"])
            .arg(self.folder.path().join("state"))
            .arg(self.folder.path().join("root"))
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        self.child = Some(Running(child));
        let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains("http://"));
        let line = line.expect("a line with the address");
        let address = line.split_once("http://").unwrap().1.split_once("/mcp").unwrap().0;
        self.address = address.parse().unwrap();
        let path = self.folder.path().join("state/http-token");
        self.token = std::fs::read_to_string(path).unwrap_or_default().trim().into();
        assert!(self.token.is_empty() || !line.contains(&self.token), "{line}");
        // So that the server can go on writing.
        let log = self.log.clone();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| log.lock().unwrap().push(line));
        });
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Returns a path in the served directory as a caller writes it.
    pub fn spelled(&self, name: &str) -> String {
        self.path("root").join(name).to_str().unwrap().to_string()
    }

    /// Writes a token file.
    pub fn tokens(&self, text: &str) {
        let path = self.path("tokens");
        let text = text.replace("{dir}", self.folder.path().to_str().unwrap());
        // In the place of the old one, as editors do.
        std::fs::write(self.path("tokens.new"), text).unwrap();
        std::fs::set_permissions(self.path("tokens.new"), PermissionsExt::from_mode(0o600))
            .unwrap();
        std::fs::rename(self.path("tokens.new"), path).unwrap();
    }

    pub fn id(&self) -> u32 {
        self.child().id()
    }

    fn child(&self) -> &Running {
        self.child.as_ref().expect("it was launched")
    }

    /// Returns the server's peak memory use so far.
    pub fn most_resident_bytes(&self) -> usize {
        self.child().most_resident_bytes()
    }

    /// Returns the first line of the log that contains a text, once it is there.
    pub fn logged(&self, text: &str) -> String {
        let start = Instant::now();
        while start.elapsed() < MAX_WAIT {
            let found = self.log.lock().unwrap().iter().find(|line| line.contains(text)).cloned();
            if let Some(line) = found {
                return line;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("no line with {text:?}: {:?}", self.log.lock().unwrap());
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
        stream.set_write_timeout(Some(MAX_WAIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Sends bytes on a new connection and returns the response. `None` if there is none, or the
    /// server is gone.
    pub fn raw(&self, bytes: &[u8]) -> Option<Answer> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
        // The server may reject the request before it has read all of it.
        let _ = stream.write_all(bytes);
        receive(&mut BufReader::new(stream))
    }

    pub fn client(&self) -> HttpClient<'_> {
        self.client_with(&self.token)
    }

    pub fn client_with(&self, token: &str) -> HttpClient<'_> {
        HttpClient {
            server: self,
            token: token.into(),
            session: None,
            connection: None,
            last_id: 0,
        }
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let pid = rustix::process::Pid::from_raw(self.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    }

    pub fn kill(&mut self) {
        self.child = None;
    }

    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        self.child.as_mut().expect("it was launched").wait_for(limit)
    }
}

/// One client with one connection, which is opened again if the server closed it.
pub struct HttpClient<'a> {
    server: &'a HttpServer,
    token: String,
    pub session: Option<String>,
    connection: Option<BufReader<TcpStream>>,
    last_id: u64,
}

impl HttpClient<'_> {
    /// Begins a session.
    pub fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        });
        let answer = self.post("initialize", params, &[]);
        assert_eq!(answer.status, 200, "{answer:?}");
        self.session = answer.header("mcp-session-id");
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.send("POST", &[], &notification.to_string()).status, 202);
        answer.message()["result"].clone()
    }

    /// Sends a request in the session.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let answer = self.post(method, params, &[]);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.message()
    }

    /// Sends a request of the revision without sessions.
    pub fn stateless(&mut self, method: &str, params: Value) -> Answer {
        let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n"));
        let headers = format!(
            "MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: {method}\r\n{}",
            name.unwrap_or_default()
        );
        self.post(method, stateless(params), &[&headers])
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub fn post(&mut self, method: &str, params: Value, headers: &[&str]) -> Answer {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send("POST", headers, &message.to_string())
    }

    /// Sends a request with these additional headers, each of which ends with a line break.
    pub fn send(&mut self, method: &str, headers: &[&str], body: &str) -> Answer {
        let text = self.text(method, headers, body);
        for _ in 0..2 {
            let connection =
                self.connection.get_or_insert_with(|| BufReader::new(self.server.connect()));
            let is_sent = connection.get_mut().write_all(text.as_bytes()).is_ok();
            match receive(connection).filter(|_| is_sent) {
                Some(answer) => return answer,
                None => self.connection = None,
            }
        }
        panic!("no answer to {}", crate::server::cut(&text));
    }

    /// Returns a whole request for a stream that reports changes of a file, without a session.
    pub fn listening(&self, uri: &str) -> String {
        let method = "subscriptions/listen";
        let params = stateless(json!({"notifications": {"resourceSubscriptions": [uri]}}));
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = format!("MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: {method}\r\n");
        self.text("POST", &[&headers], &body.to_string())
    }

    /// Returns a whole request.
    pub fn text(&self, method: &str, headers: &[&str], body: &str) -> String {
        let session = self.session.as_ref().map(|id| format!("Mcp-Session-Id: {id}\r\n"));
        format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n{}{}\r\n{body}",
            self.server.address,
            self.token,
            body.len(),
            session.unwrap_or_default(),
            headers.concat(),
        )
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<String> {
        let is_it = |line: &&str| line.to_lowercase().starts_with(&format!("{name}:"));
        let line = self.head.lines().find(is_it)?;
        Some(line.split_once(':')?.1.trim().to_string())
    }

    /// Returns the JSON-RPC message, which is the body or the data of its last event.
    pub fn message(&self) -> Value {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:")).next_back();
        let text = data.unwrap_or(&self.body);
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Reads from a stream until it contains a text.
pub fn read_until(stream: &mut TcpStream, text: &str) {
    let mut received = String::new();
    let mut buffer = [0; 4096];
    while !received.contains(text) {
        let n = stream.read(&mut buffer).unwrap_or(0);
        assert_ne!(n, 0, "no {text}: {received}");
        received.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
}

/// Reads a response. `None` if the connection ends before it.
pub fn receive(stream: &mut BufReader<TcpStream>) -> Option<Answer> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let status = head.split(' ').nth(1)?.parse().unwrap();
    let mut answer = Answer { status, head, body: String::new() };
    let mut body = Vec::new();
    if let Some(length) = answer.header("content-length") {
        body.resize(length.parse().unwrap(), 0);
        stream.read_exact(&mut body).ok()?;
    } else if answer.header("transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).ok()?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    }
    answer.body = String::from_utf8(body).unwrap();
    Some(answer)
}
