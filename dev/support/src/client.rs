//! An MCP client over pipes. It runs on the caller's thread, so that only the server and the kernel
//! are between two readings of the clock.

use std::io::{ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Value, json};

use crate::{Result, process};

/// The number of bytes read at once.
const PIECE: usize = 64 << 10;

/// More is buffered only if several answers arrive at once.
const MANY: usize = 16 << 20;

/// A server's answer to a request.
#[derive(Debug)]
pub enum Reply {
    /// The text that a model reads, and the whole result.
    Done(String, Value),
    /// The text of a tool's error.
    Refused(String),
    /// The message of a protocol error.
    Failed(String),
}

impl Reply {
    /// Returns whether the call succeeded.
    pub fn is_done(&self) -> bool {
        matches!(self, Reply::Done(..))
    }

    /// Returns the text of the answer or of the error.
    pub fn text(&self) -> &str {
        match self {
            Reply::Done(text, _) | Reply::Refused(text) | Reply::Failed(text) => text,
        }
    }

    /// Returns the result of a call that succeeded, and an error otherwise.
    pub fn result(self) -> Result<Value> {
        match self {
            Reply::Done(_, result) => Ok(result),
            Reply::Refused(text) | Reply::Failed(text) => Err(format!("{text:.200}").into()),
        }
    }

    fn new(mut answer: Value) -> Reply {
        if let Some(error) = answer.get("error") {
            return Reply::Failed(error["message"].as_str().unwrap_or_default().to_string());
        }
        let result = answer["result"].take();
        let text = text_of(&result);
        if result["isError"] == true { Reply::Refused(text) } else { Reply::Done(text, result) }
    }
}

/// Returns everything that a model reads of a tool's result.
pub fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

/// When a line was sent, and when its answer had been received.
pub struct Exchange {
    sent: Instant,
    /// When the answer had been received.
    pub received: Instant,
    /// The length of the answer.
    pub n_bytes: usize,
}

impl Exchange {
    /// Returns the time between the two.
    pub fn time(&self) -> Duration {
        self.received - self.sent
    }
}

/// How long a client waits for a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The time for one answer.
    pub patience: Duration,
    /// The memory that the server may use meanwhile.
    pub megabytes: f64,
}

/// A process that answers lines with lines, and the pipes to it. Dropping it kills the process.
pub struct Client {
    child: Child,
    /// `None` once it is closed.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Received bytes: the current line is `start..end`, and what follows it ends at `n_received`.
    /// The buffer is reused, because allocating is not time that the server takes.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    n_received: usize,
    n_requests: u64,
    /// Without limits the client blocks, which saves a system call for each read.
    pub limits: Option<Limits>,
}

impl Client {
    /// Starts a process without sending anything.
    pub fn start(command: &mut Command) -> Result<Client> {
        command.env("RECTO_STATE_DIR", crate::state_dir());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("no stdout")?;
        Ok(Client {
            child,
            input,
            output,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            n_received: 0,
            n_requests: 0,
            limits: None,
        })
    }

    /// Returns the process id of the server.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Opens the session.
    pub fn initialize(&mut self) -> Result<Exchange> {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "recto-dev", "version": env!("CARGO_PKG_VERSION")},
        });
        let (exchange, reply) = self.request("initialize", params)?;
        reply.result()?;
        self.notify("notifications/initialized", json!({}))?;
        Ok(exchange)
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<(Exchange, Reply)> {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and returns its result. A refusal is an error.
    pub fn call_ok(&mut self, tool: &str, arguments: Value) -> Result<(Exchange, Value)> {
        let (exchange, reply) = self.call(tool, arguments)?;
        Ok((exchange, reply.result()?))
    }

    /// Sends a request and waits for its answer. Neither building the one nor parsing the other is
    /// part of the time.
    pub fn request(&mut self, method: &str, params: Value) -> Result<(Exchange, Reply)> {
        let (id, request) = self.prepare(method, params);
        let mut exchange = self.exchange(&request)?;
        loop {
            let answer: Value = serde_json::from_slice(self.line())?;
            let is_earlier = answer["id"].as_u64().is_some_and(|other| other < id);
            if answer.get("method").is_none() && !is_earlier {
                let is_answer = answer["id"] == id
                    && (answer.get("result").is_some() || answer.get("error").is_some());
                return match is_answer {
                    true => Ok((exchange, Reply::new(answer))),
                    false => Err(format!("{method} was answered with {answer:.200}").into()),
                };
            }
            // A notification, or the answer to an earlier request: it is part of the wait.
            exchange.received = self.receive(self.deadline())?;
            exchange.n_bytes = self.line().len();
        }
    }

    /// Sends a line, which includes its line ending, and waits for the next line.
    pub fn exchange(&mut self, line: &[u8]) -> Result<Exchange> {
        let sent = Instant::now();
        self.send(line)?;
        let received = self.receive(self.deadline())?;
        Ok(Exchange { sent, received, n_bytes: self.line().len() })
    }

    /// Returns the next request and its id, for a caller that sends it itself.
    pub fn prepare(&mut self, method: &str, params: Value) -> (u64, Vec<u8>) {
        self.n_requests += 1;
        let id = self.n_requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        (id, format!("{request}\n").into_bytes())
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(format!("{message}\n").as_bytes())
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let input = self.input.as_mut().ok_or("the input is closed")?;
        match input.write_all(bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(self.ending().into()),
            done => Ok(done?),
        }
    }

    /// Takes the input, so that another thread can write to it.
    pub fn take_input(&mut self) -> Result<ChildStdin> {
        Ok(self.input.take().ok_or("the input is closed")?)
    }

    /// Puts the input back.
    pub fn give_input(&mut self, input: ChildStdin) {
        self.input = Some(input);
    }

    /// Returns the line that was received last, with its line ending.
    pub fn line(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Waits for the next line and returns when it had been received.
    pub fn receive(&mut self, deadline: Option<Instant>) -> Result<Instant> {
        self.start = self.end;
        if self.find_end() {
            return Ok(Instant::now());
        }
        self.buffer.copy_within(self.start..self.n_received, 0);
        self.n_received -= self.start;
        (self.start, self.end) = (0, 0);
        loop {
            if self.buffer.len() < self.n_received + PIECE {
                self.buffer.resize(2 * self.buffer.len() + PIECE, 0);
            }
            let is_in_time = deadline.map_or(Ok(true), |deadline| self.is_readable(deadline))?;
            let piece = &mut self.buffer[self.n_received..][..PIECE];
            let n = if is_in_time { self.output.read(piece)? } else { 0 };
            // Searching would take time of its own, so only the last byte is examined, unless many
            // answers arrive at once.
            let is_searched = self.n_received > MANY && piece[..n].contains(&b'\n');
            let is_end = piece[..n].last().is_none_or(|last| *last == b'\n') || is_searched;
            self.n_received += n;
            let received = Instant::now();
            match (is_end && self.find_end(), n) {
                (true, _) => return Ok(received),
                (false, 0) if is_in_time => return Err(self.ending().into()),
                (false, 0) => return Err("no answer in time".into()),
                _ => {}
            }
        }
    }

    /// Finds the end of the line at `start`, if it has been received.
    fn find_end(&mut self) -> bool {
        let rest = &self.buffer[self.start..self.n_received];
        let end = rest.iter().position(|byte| *byte == b'\n');
        self.end = end.map_or(self.start, |end| self.start + end + 1);
        end.is_some()
    }

    fn deadline(&self) -> Option<Instant> {
        self.limits.map(|limits| Instant::now() + limits.patience)
    }

    /// Waits for output until the deadline, unless the server uses too much memory.
    fn is_readable(&self, deadline: Instant) -> Result<bool> {
        let max_megabytes = self.limits.map_or(f64::INFINITY, |limits| limits.megabytes);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let mut fds = [PollFd::new(&self.output, PollFlags::IN)];
            let slice = Timespec::try_from(left.min(Duration::from_millis(100)))?;
            match poll(&mut fds, Some(&slice)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(errno) => return Err(errno.into()),
            }
            if process::megabytes(self.process_id(), "VmRSS").unwrap_or(0.0) > max_megabytes {
                return Err(format!("over {:.0} GB of memory", max_megabytes / 1024.0).into());
            }
        }
    }

    /// Describes how the server ended.
    fn ending(&mut self) -> String {
        // Its pipes are closed, so it ends soon.
        for _ in 0..200 {
            match self.child.try_wait() {
                Ok(Some(status)) => return format!("the server ended: {status}"),
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        "the server closed its output".into()
    }

    /// Returns whether the server answers a ping in time.
    pub fn is_alive(&mut self, patience: Duration) -> bool {
        let limits = self.limits.map(|limits| Limits { patience, ..limits });
        let before = std::mem::replace(&mut self.limits, limits);
        let is_alive = self.request("ping", json!({})).is_ok();
        self.limits = before;
        is_alive
    }

    /// Closes the input and waits for the server to end without an error.
    pub fn stop(mut self) -> Result<()> {
        self.input = None;
        match self.child.wait()? {
            status if status.success() => Ok(()),
            status => Err(format!("the server ended: {status}").into()),
        }
    }

    /// Kills the server and waits for its end.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It fails only if the process has already ended.
        let _ = self.kill();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shell(script: &str) -> Client {
        Client::start(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn lines_that_arrive_together_are_received_one_by_one() {
        let mut client = shell("cat");
        assert_eq!(client.exchange(b"a\nbc\n").unwrap().n_bytes, 2);
        client.receive(None).unwrap();
        assert_eq!(client.line(), b"bc\n");
        assert_eq!(client.exchange(b"d\n").unwrap().n_bytes, 2);
        assert_eq!(client.line(), b"d\n");
        client.stop().unwrap();
    }

    #[test]
    fn a_line_without_an_end_is_not_received() {
        let mut client = shell("printf 'a\\nb'; exit 7");
        client.receive(None).unwrap();
        assert_eq!(client.line(), b"a\n");
        let error = client.receive(None).unwrap_err().to_string();
        assert_eq!(error, "the server ended: exit status: 7");
    }

    #[test]
    fn a_silent_server_is_not_waited_for() {
        let mut client = shell("printf 'a\\nb'; exec sleep 600");
        client.limits = Some(Limits { patience: Duration::from_millis(50), megabytes: 4096.0 });
        client.receive(client.deadline()).unwrap();
        let error = client.receive(client.deadline()).unwrap_err().to_string();
        assert_eq!(error, "no answer in time");
    }

    #[test]
    fn a_flood_of_answers_is_not_kept_in_memory() {
        let line = "a".repeat(100_002);
        let mut client = shell(&format!("yes {line} | head -n 1000"));
        for _ in 0..1000 {
            client.receive(None).unwrap();
            assert_eq!(client.line().len(), 100_003);
        }
        assert!(client.buffer.len() < 4 * MANY, "{} bytes", client.buffer.len());
        assert!(client.receive(None).is_err());
    }

    #[test]
    fn answers_to_earlier_requests_and_notifications_are_skipped() {
        let answers = [
            r#"{"id":1,"result":{}}"#,
            r#"{"method":"log"}"#,
            r#"{"id":2,"result":{"isError":true,"content":[{"text":"no"}]}}"#,
        ];
        let mut client =
            shell(&format!("printf '%s\\n' '{}'; cat >/dev/null", answers.join("' '")));
        client.prepare("ping", json!({}));
        let (_, reply) = client.request("tools/call", json!({})).unwrap();
        assert!(matches!(reply, Reply::Refused(text) if text == "no"));
    }
}
