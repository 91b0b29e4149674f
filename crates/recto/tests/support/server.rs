//! The built binary behind two pipes, without a client library.
//!
//! Nothing is read until a test asks for it, so a test can also play a client that does not read.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::recto;
use crate::running::Running;

/// How long to wait for an answer before the test fails.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// The protocol revision without a handshake.
pub const STATELESS: &str = "2026-07-28";

pub struct Server {
    child: Running,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    lines: Option<Receiver<String>>,
    last_id: u64,
    folder: tempfile::TempDir,
}

impl Server {
    /// Serves a new directory that contains `inside.txt`. Sends nothing yet.
    pub fn start(options: &[&str]) -> Server {
        Server::start_with(recto(), options)
    }

    /// Does the same with a command that runs the binary.
    pub fn start_with(mut command: Command, options: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("inside.txt"), "inside\n").unwrap();
        let mut child = command
            .arg("serve")
            .arg(folder.path())
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let child = Running(child);
        Server { child, input, output, lines: None, last_id: 0, folder }
    }

    /// Starts a server and completes the handshake.
    pub fn ready(options: &[&str]) -> Server {
        let mut server = Server::start(options);
        server.initialize("2025-06-18");
        server
    }

    /// Completes the handshake and returns the server's answer.
    pub fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        });
        let result = self.request("initialize", params)["result"].clone();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a path as a caller writes it.
    pub fn spelled(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the server's peak memory use so far.
    pub fn most_resident_bytes(&self) -> usize {
        self.child.most_resident_bytes()
    }

    /// Hands the input over to another thread.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        // If the server has exited, the missing answer fails the test.
        let _ = input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n"));
        let _ = input.flush();
    }

    /// Sends bytes that are not yet a line.
    pub fn send_part(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Reads some bytes of the output, before any line is read.
    pub fn take_bytes(&mut self, n_bytes: usize) {
        let mut buffer = vec![0; n_bytes];
        self.output.as_mut().expect("no line was asked for").read_exact(&mut buffer).unwrap();
    }

    /// Returns the next line, which must be JSON-RPC, or `None` at the end.
    pub fn next(&mut self) -> Option<Value> {
        let line = self.next_line()?;
        let message: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("not JSON: {error}: {:?}", cut(&line)));
        assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC: {:?}", cut(&line));
        Some(message)
    }

    pub fn next_line(&mut self) -> Option<String> {
        if let Some(output) = self.output.take() {
            let (sender, lines) = sync_channel(1);
            std::thread::spawn(move || {
                let mut output = BufReader::with_capacity(1 << 20, output);
                let mut line = String::new();
                while output.read_line(&mut line).is_ok_and(|n| n > 0) {
                    if sender.send(std::mem::take(&mut line)).is_err() {
                        return;
                    }
                }
            });
            self.lines = Some(lines);
        }
        match self.lines.as_ref().unwrap().recv_timeout(MAX_WAIT) {
            Ok(line) => Some(line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                panic!("no line within {MAX_WAIT:?}")
            }
        }
    }

    pub fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Sends a request and returns its answer, which must be the next line.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.new_id();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.next().unwrap_or_else(|| panic!("no answer to {method}"));
        assert_eq!(answer["id"], id, "the answer has another id: {answer}");
        answer
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub fn tools(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", json!({}));
        answer["result"]["tools"].as_array().unwrap().clone()
    }

    /// Checks that the server still answers a call.
    pub fn check_serves(&mut self) {
        let path = self.spelled("inside.txt");
        let answer = self.call("read_text_file", json!({"path": path}));
        assert_eq!(answer["result"]["structuredContent"]["content"], "inside\n", "{answer}");
    }

    /// Closes the server's input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes the server's output.
    pub fn close_output(&mut self) {
        assert!(self.lines.is_none(), "the output is already being read");
        self.output = None;
    }

    /// Waits for the process to end.
    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        self.child.wait_for(limit)
    }
}

/// Returns params for a request without a handshake.
pub fn stateless(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// Returns the start of a line, for a message.
pub fn cut(line: &str) -> String {
    line.chars().take(300).collect()
}

/// Returns the names in the directory, to check that nothing was left behind.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_string()).collect();
    names.sort();
    names
}
