//! A minimal MCP client over pipes: one request, then its answer. Blocking and on one thread, so
//! that nothing but the server and the kernel stands between the two clock readings.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;

/// A process that answers lines with lines.
pub struct Pipes {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// What came last: a line, and more where the server sent more. Its room is kept and nothing
    /// is copied, for what that takes is no time of the server's.
    received: Vec<u8>,
    n_received: usize,
    n_answer: usize,
}

impl Pipes {
    /// Starts a process.
    pub fn start(command: &mut Command) -> Result<Pipes> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = child.stdout.take().ok_or("no stdout")?;
        Ok(Pipes { child, input, output, received: Vec::new(), n_received: 0, n_answer: 0 })
    }

    /// Sends one line, which brings its own ending, and waits for the whole of the next one.
    pub fn exchange(&mut self, line: &[u8]) -> Result<Exchange> {
        let sent = Instant::now();
        self.input.write_all(line)?;
        let received = self.receive()?;
        Ok(Exchange { sent, received, n_bytes: self.n_answer })
    }

    /// Waits for the whole of the next line; says when it was there.
    fn receive(&mut self) -> Result<Instant> {
        const PIECE: usize = 64 << 10;
        self.received.copy_within(self.n_answer..self.n_received, 0);
        self.n_received -= self.n_answer;
        self.n_answer = 0;
        // As long as the last byte is no line end, a line is not whole; which one that is can be
        // found out once the clock was read.
        while self.n_received == 0 || self.received[self.n_received - 1] != b'\n' {
            if self.received.len() < self.n_received + PIECE {
                self.received.resize(2 * self.received.len() + PIECE, 0);
            }
            match self.output.read(&mut self.received[self.n_received..][..PIECE])? {
                0 => return Err("the server went away".into()),
                n => self.n_received += n,
            }
        }
        let received = Instant::now();
        let line_end = self.received[..self.n_received].iter().position(|byte| *byte == b'\n');
        self.n_answer = line_end.map_or(self.n_received, |line_end| line_end + 1);
        Ok(received)
    }

    /// The line that came last.
    fn answer(&self) -> &[u8] {
        &self.received[..self.n_answer]
    }

    /// Ends the process without a word, whatever it is doing.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Closes the input and waits for the process to end.
    pub fn stop(mut self) -> Result<()> {
        drop(self.input);
        let status = self.child.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the server ended with {status}").into())
        }
    }
}

/// When a line was sent, when the answer to it came, and how long that is.
pub struct Exchange {
    sent: Instant,
    pub received: Instant,
    n_bytes: usize,
}

impl Exchange {
    pub fn time(&self) -> Duration {
        self.received - self.sent
    }

    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

/// What a tool is expected to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Success,
    Refusal,
}

/// An MCP client and the server that it started.
pub struct Client {
    pipes: Pipes,
    n_requests: u64,
}

impl Client {
    /// Starts `recto serve`; nothing is said yet.
    pub fn start(recto: &Path, root: &Path, options: &[&str]) -> Result<Client> {
        let mut command = Command::new(recto);
        command.arg("serve").arg(root).args(options);
        Client::spawn(&mut command)
    }

    /// Starts any server; nothing is said yet.
    pub fn spawn(command: &mut Command) -> Result<Client> {
        Ok(Client { pipes: Pipes::start(command)?, n_requests: 0 })
    }

    pub fn process_id(&self) -> u32 {
        self.pipes.child.id()
    }

    /// Opens the session.
    pub fn initialize(&mut self) -> Result<Exchange> {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "recto-bench", "version": env!("CARGO_PKG_VERSION")},
        });
        let (exchange, _) = self.request("initialize", params)?;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.pipes.input.write_all(&line(&initialized))?;
        Ok(exchange)
    }

    /// Calls a tool. An answer of the other kind than expected is an error: its time is not what
    /// was to be measured.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        expect: Expect,
    ) -> Result<(Exchange, Value)> {
        let params = json!({"name": tool, "arguments": arguments});
        let (exchange, result) = self.request("tools/call", params)?;
        let is_refusal = result["isError"] == true;
        if is_refusal != (expect == Expect::Refusal) {
            let text = text_of(&result);
            return Err(format!("expected a {expect:?}, got: {text:.200}").into());
        }
        Ok((exchange, result))
    }

    /// Sends a request and returns its result. Building the one and parsing the other takes no
    /// part in the time.
    pub fn request(&mut self, method: &str, params: Value) -> Result<(Exchange, Value)> {
        self.n_requests += 1;
        let id = self.n_requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut exchange = self.pipes.exchange(&line(&request))?;
        let mut answer: Value = serde_json::from_slice(self.pipes.answer())?;
        // What a server says unasked stands before the answer and counts as the wait for it.
        while answer.get("method").is_some() {
            exchange.received = self.pipes.receive()?;
            exchange.n_bytes = self.pipes.n_answer;
            answer = serde_json::from_slice(self.pipes.answer())?;
        }
        if answer["id"] != id || answer.get("result").is_none() {
            return Err(format!("{method} was answered with {answer:.200}").into());
        }
        Ok((exchange, answer["result"].take()))
    }

    /// Keeps `n_calls` requests on their way for a while; returns how many were answered.
    pub fn flood(
        &mut self,
        method: &str,
        params: &Value,
        n_calls: usize,
        time: Duration,
    ) -> Result<usize> {
        let started = Instant::now();
        let (mut n_sent, mut n_answers, mut n_bytes) = (0, 0, None);
        while n_answers < n_sent || n_sent == 0 {
            while n_sent < n_answers + n_calls && started.elapsed() < time {
                self.send(method, params)?;
                n_sent += 1;
            }
            self.pipes.receive()?;
            let answer = self.pipes.answer();
            // The same question has the same answer, but for its number.
            let n_bytes = *n_bytes.get_or_insert(answer.len());
            if answer.len().abs_diff(n_bytes) > 20 {
                let answer = String::from_utf8_lossy(answer);
                return Err(format!("another answer than before: {answer:.200}").into());
            }
            n_answers += 1;
        }
        Ok(n_answers)
    }

    /// Sends a request and does not wait; returns its number.
    pub fn send(&mut self, method: &str, params: &Value) -> Result<u64> {
        self.n_requests += 1;
        let id = self.n_requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.pipes.input.write_all(&line(&request))?;
        Ok(id)
    }

    /// Cancels a request that is on its way. No answer to it has to come any more.
    pub fn cancel(&mut self, id: u64) -> Result<()> {
        let params = json!({"requestId": id, "reason": "measured"});
        let method = "notifications/cancelled";
        let notification = json!({"jsonrpc": "2.0", "method": method, "params": params});
        Ok(self.pipes.input.write_all(&line(&notification))?)
    }

    /// Whether a request has been answered with a result; asked by a ping that comes after it.
    pub fn has_result(&mut self, id: u64) -> Result<bool> {
        let ping = self.send("ping", &json!({}))?;
        let mut has_result = false;
        loop {
            self.pipes.receive()?;
            let answer: Value = serde_json::from_slice(self.pipes.answer())?;
            if answer["id"] == id {
                has_result = answer["result"]["isError"] != true && answer.get("error").is_none();
            }
            if answer["id"] == ping {
                return Ok(has_result);
            }
        }
    }

    /// Ends the server without a word.
    pub fn kill(self) -> Result<()> {
        self.pipes.kill()
    }

    /// Ends the session and waits for the server to go.
    pub fn stop(self) -> Result<()> {
        self.pipes.stop()
    }
}

/// Everything that a model reads of a tool's result.
pub fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
