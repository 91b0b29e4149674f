//! A minimal MCP client over pipes that never waits for ever: a server that hangs, goes away or
//! eats memory is an outcome here, not an accident.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use crate::server::Kind;
use crate::{Result, process};

/// How long a server may think about one request unless a trial says otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that uses more than this is stopped.
const MAX_MEGABYTES: f64 = 4096.0;

/// What a server says to a call.
#[derive(Debug)]
pub enum Reply {
    /// The text that a model reads, and the whole result.
    Done(String, Value),
    /// An error, as a result or of the protocol.
    Refused(String),
}

impl Reply {
    pub fn is_done(&self) -> bool {
        matches!(self, Reply::Done(..))
    }

    /// The text, whichever it is.
    pub fn text(&self) -> &str {
        match self {
            Reply::Done(text, _) | Reply::Refused(text) => text,
        }
    }
}

/// A server that was started, and the pipes to it.
pub struct Session {
    pub kind: Kind,
    pub patience: Duration,
    child: Child,
    /// Gone once the input was closed.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What was read and not yet returned.
    buffer: Vec<u8>,
    n_requests: u64,
}

impl Session {
    /// Starts a server; nothing is said yet.
    pub fn start(kind: Kind, command: &mut Command) -> Result<Session> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("no stdout")?;
        let buffer = Vec::new();
        Ok(Session { kind, patience: PATIENCE, child, input, output, buffer, n_requests: 0 })
    }

    /// Opens the session.
    pub fn initialize(&mut self) -> Result<()> {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "recto-trials", "version": env!("CARGO_PKG_VERSION")},
        });
        self.request("initialize", params)?;
        self.send(&line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})))
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Reply> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request and waits for the answer to it.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Reply> {
        let (id, line) = self.prepare(method, params);
        self.send(&line)?;
        let deadline = Instant::now() + self.patience;
        loop {
            let answer: Value = serde_json::from_slice(&self.receive(deadline)?)?;
            if answer["id"] == id && answer.get("method").is_none() {
                return Ok(reply(answer));
            }
        }
    }

    /// The next request as a line, for those who send it themselves.
    pub fn prepare(&mut self, method: &str, params: Value) -> (u64, Vec<u8>) {
        self.n_requests += 1;
        let id = self.n_requests;
        (id, line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})))
    }

    pub fn send(&mut self, line: &[u8]) -> Result<()> {
        let input = self.input.as_mut().ok_or("the input is closed")?;
        match input.write_all(line) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(self.ending().into()),
            done => Ok(done?),
        }
    }

    /// Takes the input away, to be written to by another thread.
    pub fn take_input(&mut self) -> Result<ChildStdin> {
        Ok(self.input.take().ok_or("the input is closed")?)
    }

    /// Gives the input back.
    pub fn give_input(&mut self, input: ChildStdin) {
        self.input = Some(input);
    }

    /// The next line from the server, with its ending.
    pub fn receive(&mut self, deadline: Instant) -> Result<Vec<u8>> {
        let mut n_searched = 0;
        loop {
            if let Some(at) = self.buffer[n_searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(n_searched + at + 1);
                return Ok(std::mem::replace(&mut self.buffer, rest));
            }
            n_searched = self.buffer.len();
            if !self.is_readable(deadline)? {
                return Err("no answer in time".into());
            }
            let mut piece = [0; 64 << 10];
            match self.output.read(&mut piece)? {
                0 => return Err(self.ending().into()),
                n => self.buffer.extend_from_slice(&piece[..n]),
            }
        }
    }

    /// Waits for the server to say something, and sees that it does not eat all memory meanwhile.
    fn is_readable(&self, deadline: Instant) -> Result<bool> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let mut fds = [PollFd::new(&self.output, PollFlags::IN)];
            let slice =
                Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().clamp(1, 100_000_000) as _ };
            match poll(&mut fds, Some(&slice)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(errno) => return Err(errno.into()),
            }
            if process::megabytes(self.process_id(), "VmRSS").unwrap_or(0.0) > MAX_MEGABYTES {
                return Err("over 4 GB of memory".into());
            }
        }
    }

    /// How the server went away, for people.
    fn ending(&mut self) -> String {
        // Its pipes are closed, so that it ends soon.
        for _ in 0..200 {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return match (status.signal(), status.code()) {
                        (Some(libc::SIGABRT), _) => "SIGABRT".into(),
                        (Some(libc::SIGKILL), _) => "SIGKILL".into(),
                        (Some(signal), _) => format!("signal {signal}"),
                        (None, code) => format!("exits with {}", code.unwrap_or(0)),
                    };
                }
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        "closed its output".into()
    }

    /// Whether the server answers at all.
    pub fn is_alive(&mut self, patience: Duration) -> bool {
        let before = std::mem::replace(&mut self.patience, patience);
        let is_alive = self.request("ping", json!({})).is_ok();
        self.patience = before;
        is_alive
    }

    /// kill -9, and waits.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Whatever state it is in, nothing that was started here stays.
        let _ = self.kill();
    }
}

fn reply(mut answer: Value) -> Reply {
    if let Some(error) = answer.get("error") {
        return Reply::Refused(error["message"].as_str().unwrap_or_default().to_string());
    }
    let result = answer["result"].take();
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    if result["isError"] == true { Reply::Refused(text) } else { Reply::Done(text, result) }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
