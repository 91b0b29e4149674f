//! Many sessions over HTTP: time and memory, beside as many calls in flight on stdio. Checks that
//! no edit was lost.

mod reads;
mod unread;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use recto_dev::client::Client;
use recto_dev::table::{Table, grouped, median, milliseconds, percentile};
use recto_dev::{Result, process};
use serde_json::{Value, json};

use crate::machine;

/// How many clients are connected at once.
const N_CONNECTIONS: usize = 400;

/// How many sessions there are, and how many calls each makes.
#[derive(Clone, Copy)]
struct Load {
    n_sessions: usize,
    n_calls: usize,
}

pub fn run(recto: &Path, is_quick: bool) -> Result<()> {
    let load = Load { n_sessions: 1000, n_calls: if is_quick { 20 } else { 100 } };
    let folder = tempfile::tempdir()?;
    println!("{}\n", machine::describe(folder.path())?);
    println!("{} sessions with {} calls each:\n", load.n_sessions, load.n_calls);
    let mut table = Table::of_numbers(["what", "median", "p99", "calls/s", "peak memory"]);
    for n_clients in [1, N_CONNECTIONS] {
        for is_http in [true, false] {
            let name = if is_http { "HTTP" } else { "stdio" };
            eprintln!("{name}, {n_clients} at once");
            // One client at a time makes fewer calls, because it waits for each.
            let load = if n_clients == 1 { Load { n_sessions: 20, ..load } } else { load };
            let root = folder.path().join(format!("{name}-{n_clients}"));
            prepare(&root, load)?;
            let start = Instant::now();
            let (times, megabytes) = match is_http {
                true => over_http(recto, &root, load, n_clients)?,
                false => over_stdio(recto, &root, load, n_clients)?,
            };
            let rate = times.len() as f64 / start.elapsed().as_secs_f64();
            check(&root, load)?;
            table.add([
                format!("{name}, {n_clients} at once"),
                milliseconds(median(&times)),
                milliseconds(percentile(&times, 99)),
                grouped(rate as usize),
                format!("{megabytes:.0} MB"),
            ]);
        }
    }
    println!("{table}");
    reads::run(recto, &folder.path().join("reads"), is_quick)?;
    unread::run(recto, &folder.path().join("unread"))
}

/// Makes a directory for each session, a file to read and one that all sessions edit.
fn prepare(root: &Path, load: Load) -> Result<()> {
    for session in 0..load.n_sessions {
        let dir = root.join(session.to_string());
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("own.txt"), "edits: 0.\n")?;
    }
    fs::write(root.join("read.txt"), "a line of text that is read\n".repeat(72))?;
    Ok(fs::write(root.join("shared.txt"), "end\n")?)
}

/// Of twenty calls, sixteen read 2 KB, three edit the session's own file, one edits the file that all
/// sessions edit.
fn call(root: &Path, session: usize, n: usize) -> (&'static str, Value) {
    let path = |below: String| root.join(below).display().to_string();
    match n % 20 {
        0..16 => ("read_text_file", json!({"path": path("read.txt".into())})),
        k @ 16..19 => {
            let before = n / 20 * 3 + k - 16;
            let (old, new) = (format!("edits: {before}."), format!("edits: {}.", before + 1));
            let path = path(format!("{session}/own.txt"));
            ("edit_text_file", json!({"path": path, "old_string": old, "new_string": new}))
        }
        _ => {
            let new = format!("{session}-{n}\nend\n");
            let path = path("shared.txt".into());
            ("edit_text_file", json!({"path": path, "old_string": "end\n", "new_string": new}))
        }
    }
}

/// Fails if an edit was lost.
fn check(root: &Path, load: Load) -> Result<()> {
    let n_rounds = load.n_calls / 20;
    for session in 0..load.n_sessions {
        let text = fs::read_to_string(root.join(format!("{session}/own.txt")))?;
        if text != format!("edits: {}.\n", 3 * n_rounds) {
            return Err(format!("session {session}: {text}").into());
        }
    }
    let text = fs::read_to_string(root.join("shared.txt"))?;
    let lines: HashSet<&str> = text.lines().collect();
    let (n_lines, expected) = (text.lines().count(), load.n_sessions * n_rounds + 1);
    if n_lines != expected || lines.len() != expected {
        return Err(format!("the shared file has {n_lines} lines instead of {expected}").into());
    }
    Ok(())
}

fn over_http(
    recto: &Path,
    root: &Path,
    load: Load,
    n_clients: usize,
) -> Result<(Vec<Duration>, f64)> {
    let server = Server::start(recto, root, &[])?;
    let address = &*server.address;
    let token = &*server.token;
    let mut times = Vec::new();
    let work = |worker: usize| -> Result<Vec<Duration>> {
        let mut connection = Connection::open(address, token)?;
        let mut sessions = Vec::new();
        for session in (worker..load.n_sessions).step_by(n_clients) {
            sessions.push((session, connection.initialize()?));
        }
        let mut times = Vec::new();
        for n in 0..load.n_calls {
            for (session, id) in &sessions {
                let (tool, arguments) = call(root, *session, n);
                let params = json!({"name": tool, "arguments": arguments});
                let start = Instant::now();
                let answer = connection.request(Some(id), "tools/call", params)?;
                times.push(start.elapsed());
                if !answer.contains("\"isError\":false") {
                    return Err(format!("session {session}: {answer:.300}").into());
                }
            }
        }
        Ok(times)
    };
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..n_clients)
            .map(|worker| scope.spawn(move || work(worker).map_err(|error| error.to_string())))
            .collect();
        for worker in workers {
            times.extend(worker.join().map_err(|_| "a client panicked".to_string())??);
        }
        Ok::<(), String>(())
    })?;
    let megabytes = process::megabytes(server.child.id(), "VmHWM")?;
    Ok((times, megabytes))
}

/// One process with `n_clients` requests in flight.
fn over_stdio(
    recto: &Path,
    root: &Path,
    load: Load,
    n_clients: usize,
) -> Result<(Vec<Duration>, f64)> {
    let mut client = Client::start(Command::new(recto).arg("serve").arg(root))?;
    client.initialize()?;
    // Each lane makes the calls of its sessions one after the other, as over HTTP.
    let mut lanes: Vec<_> = (0..n_clients)
        .map(|lane| {
            (0..load.n_calls).flat_map(move |n| {
                (lane..load.n_sessions).step_by(n_clients).map(move |session| (session, n))
            })
        })
        .collect();
    let mut sent = vec![None; lanes.len()];
    let mut times = Vec::new();
    let send = |client: &mut Client,
                lane: usize,
                next: Option<(usize, usize)>|
     -> Result<Option<Instant>> {
        let Some((session, n)) = next else { return Ok(None) };
        let (tool, arguments) = call(root, session, n);
        let params = json!({"name": tool, "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": 1_000_000 + lane, "method": "tools/call", "params": params});
        let start = Instant::now();
        client.send(format!("{request}\n").as_bytes())?;
        Ok(Some(start))
    };
    for lane in 0..lanes.len() {
        sent[lane] = send(&mut client, lane, lanes[lane].next())?;
    }
    while sent.iter().any(Option::is_some) {
        let received = client.receive(None)?;
        let answer: Value = serde_json::from_slice(client.line())?;
        if answer["result"]["isError"] != false {
            return Err(format!("{answer:.300}").into());
        }
        let lane = answer["id"].as_u64().ok_or("no id")? as usize - 1_000_000;
        times.extend(sent[lane].map(|start| received - start));
        sent[lane] = send(&mut client, lane, lanes[lane].next())?;
    }
    let megabytes = process::megabytes(client.process_id(), "VmHWM")?;
    Ok((times, megabytes))
}

/// A server on a port of loopback. Dropping it kills it.
struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    fn start(recto: &Path, root: &Path, options: &[&str]) -> Result<Server> {
        let state = root.join("state");
        let mut child = Command::new(recto)
            .args(["serve", "--http", "127.0.0.1:0", "--state-dir"])
            .args([&state, root])
            .args(options)
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("no stderr")?).lines();
        let mut address = None;
        while address.is_none() {
            let line = lines.next().ok_or("the server did not start")??;
            let rest = line.split_once("http://").map(|(_, rest)| rest.to_string());
            address = rest.and_then(|rest| Some(rest.split_once("/mcp")?.0.to_string()));
        }
        std::thread::spawn(move || lines.for_each(drop));
        let token = fs::read_to_string(state.join("http-token"))?.trim().to_string();
        Ok(Server { child, address: address.unwrap_or_default(), token })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection of a client, which several sessions use in turns.
struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
    token: String,
    n_requests: u64,
    /// The session that the server has just begun.
    begun: Option<String>,
}

impl Connection {
    fn open(address: &str, token: &str) -> Result<Connection> {
        let stream = BufReader::with_capacity(64 << 10, connect(address)?);
        let (address, token) = (address.to_string(), token.to_string());
        Ok(Connection { stream, address, token, n_requests: 0, begun: None })
    }

    fn initialize(&mut self) -> Result<String> {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "recto-dev", "version": "0"},
        });
        self.request(None, "initialize", params)?;
        let id = self.begun.take().ok_or("no session")?;
        self.post(
            &in_session(Some(&id)),
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        )?;
        Ok(id)
    }

    fn request(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<String> {
        self.n_requests += 1;
        let id = self.n_requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.post(&in_session(session), &request.to_string())
    }

    /// Returns a whole request with these additional headers.
    fn text(&self, headers: &str, body: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{headers}\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len(),
        )
    }

    /// Sends a message with these additional headers. A connection that the server closed because it was idle is opened again.
    fn post(&mut self, headers: &str, body: &str) -> Result<String> {
        let request = self.text(headers, body);
        if self.stream.get_mut().write_all(request.as_bytes()).is_ok()
            && let Some(answer) = self.receive()?
        {
            return Ok(answer);
        }
        self.stream = BufReader::with_capacity(64 << 10, connect(&self.address)?);
        self.stream.get_mut().write_all(request.as_bytes())?;
        Ok(self.receive()?.ok_or("the connection was closed")?)
    }

    /// Reads a response. `None` if the connection was closed before it.
    fn receive(&mut self) -> Result<Option<String>> {
        let (mut length, mut is_chunked, mut status) = (0, false, String::new());
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).unwrap_or(0) == 0 {
                return Ok(None);
            }
            let line = line.trim_end().to_ascii_lowercase();
            match line.split_once(": ") {
                Some(("content-length", value)) => length = value.parse()?,
                Some(("transfer-encoding", _)) => is_chunked = true,
                Some(("mcp-session-id", id)) => self.begun = Some(id.into()),
                None if line.is_empty() => break,
                None => status = line,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        while is_chunked {
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            let size = usize::from_str_radix(size.trim(), 16)?;
            let start = body.len();
            body.resize(start + size + 2, 0);
            self.stream.read_exact(&mut body[start..])?;
            body.truncate(start + size);
            is_chunked = size > 0;
        }
        let body = String::from_utf8(body)?;
        match status.starts_with("http/1.1 2") {
            true => Ok(Some(body)),
            false => Err(format!("{status}: {body:.200}").into()),
        }
    }
}

fn in_session(id: Option<&str>) -> String {
    id.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default()
}

fn connect(address: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
