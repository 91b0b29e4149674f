//! A scripted agent with its own methods. It runs as a process: this test program, started again.
//! The relay must tolerate what the test harness prints.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::client::state_dir;
use serde_json::{Value, json};

const SWITCH: &str = "RECTO_SCRIPTED_AGENT";

/// The command line that starts the agent.
pub fn command() -> Vec<OsString> {
    let program = std::env::current_exe().unwrap().into_os_string();
    let mut command = vec!["/usr/bin/env".into(), format!("{SWITCH}=1").into(), program];
    let arguments =
        ["acp_agent::plays", "--exact", "--ignored", "-q", "--nocapture", "--test-threads=1"];
    command.extend(arguments.map(OsString::from));
    command
}

#[test]
#[ignore = "the agent's own process, started by other tests"]
fn plays() {
    if plays_if_asked() {
        std::process::exit(0);
    }
}

/// Runs the agent in a process that [`command`] started.
pub fn plays_if_asked() -> bool {
    let is_asked = std::env::var_os(SWITCH).is_some();
    if is_asked {
        Agent::default().run();
    }
    is_asked
}

#[derive(Default)]
struct Agent {
    servers: Mutex<HashMap<String, Arc<Server>>>,
    /// Waiters for the editor's answers.
    asked: Mutex<HashMap<String, Sender<Value>>>,
    n_sessions: Mutex<usize>,
    children: Mutex<Vec<Child>>,
    survives: Mutex<bool>,
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // The reader is gone, so the agent is about to end.
    let _ = stdout.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdout.flush());
}

fn answer(id: &Value, result: Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
}

impl Agent {
    fn run(self) {
        let agent = Arc::new(self);
        for line in BufReader::with_capacity(1 << 20, std::io::stdin()).split(b'\n') {
            let line = String::from_utf8(line.unwrap()).unwrap();
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                say(&line);
                continue;
            };
            agent.take(line, message);
        }
        while *agent.survives.lock().unwrap() {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    fn take(self: &Arc<Self>, line: String, message: Value) {
        let (id, params) = (message["id"].clone(), message["params"].clone());
        match message["method"].as_str() {
            Some("initialize") => {
                let version = &params["protocolVersion"];
                let mut result = json!({"protocolVersion": version, "agentCapabilities": {}});
                // The test specifies the agent's other capabilities.
                if let Some(offers) = params["_meta"]["agent"].as_object() {
                    result.as_object_mut().unwrap().extend(offers.clone());
                }
                answer(&id, result);
            }
            Some(method @ ("session/new" | "session/load" | "session/resume" | "session/fork")) => {
                self.begin(method, &id, params)
            }
            Some("session/prompt") => {
                answer(&id, json!({"stopReason": "end_turn", "_meta": {"bytes": line.len()}}))
            }
            Some("test/call") => {
                let agent = self.clone();
                std::thread::spawn(move || {
                    let session = params["sessionId"].as_str().unwrap();
                    let server = agent.servers.lock().unwrap()[session].clone();
                    let call = json!({
                        "name": params["tool"], "arguments": params["arguments"],
                        "_meta": {"callId": params["callId"]},
                    });
                    answer(&id, server.request("tools/call", call));
                });
            }
            Some("test/tools") => {
                let session = params["sessionId"].as_str().unwrap();
                let server = self.servers.lock().unwrap()[session].clone();
                answer(&id, server.request("tools/list", json!({})));
            }
            Some("test/say") => {
                for line in params["lines"].as_array().unwrap() {
                    say(line.as_str().unwrap());
                }
                answer(&id, Value::Null);
            }
            Some("test/ask") => {
                let own_id = format!("agent-{id}");
                let (sender, receiver) = channel();
                self.asked.lock().unwrap().insert(own_id.clone(), sender);
                say(&json!({"jsonrpc": "2.0", "id": own_id, "method": params["method"], "params": params["params"]}).to_string());
                std::thread::spawn(move || answer(&id, receiver.recv().unwrap()));
            }
            Some("test/processes") => {
                let servers = self.servers.lock().unwrap();
                let servers: Vec<u32> = servers.values().map(|server| server.process).collect();
                let children: Vec<u32> =
                    self.children.lock().unwrap().iter().map(Child::id).collect();
                answer(
                    &id,
                    json!({"agent": std::process::id(), "servers": servers, "children": children}),
                );
            }
            Some("test/child") => {
                let child = Command::new("sleep").arg("1000").spawn().unwrap();
                self.children.lock().unwrap().push(child);
                answer(&id, Value::Null);
            }
            Some("test/survive") => {
                *self.survives.lock().unwrap() = true;
                answer(&id, Value::Null);
            }
            Some("test/exit") => std::process::exit(params["code"].as_i64().unwrap() as i32),
            None if message["id"].is_string() => {
                let own_id = message["id"].as_str().unwrap();
                match self.asked.lock().unwrap().remove(own_id) {
                    Some(sender) => sender.send(message.clone()).unwrap(),
                    None => say(&line),
                }
            }
            // Every other message is echoed, byte for byte.
            _ => say(&line),
        }
    }

    fn begin(&self, method: &str, id: &Value, params: Value) {
        if params["_meta"]["fail"] == true {
            let error = json!({"code": -32603, "message": "no", "data": params});
            return say(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
        let session = match method {
            "session/load" | "session/resume" => params["sessionId"].as_str().unwrap().to_string(),
            _ => {
                let mut n_sessions = self.n_sessions.lock().unwrap();
                *n_sessions += 1;
                format!("session {n_sessions}")
            }
        };
        let servers = params["mcpServers"].as_array();
        let ours =
            servers.and_then(|servers| servers.iter().find(|server| server["name"] == "recto"));
        if let Some(entry) = ours.filter(|entry| entry["args"][0] == "serve")
            && params["_meta"]["idle"] != true
        {
            let server = Server::start(entry, params["cwd"].as_str().unwrap());
            self.servers.lock().unwrap().insert(session.clone(), Arc::new(server));
        }
        let result = json!({"sessionId": session, "_meta": {"received": params}});
        if params["_meta"]["nullError"] == true {
            // Some libraries serialise the absent error.
            return say(
                &json!({"jsonrpc": "2.0", "id": id, "result": result, "error": null}).to_string()
            );
        }
        answer(id, result);
    }
}

/// A server that the agent started as agents do: in the session's directory, without the agent's
/// environment.
pub struct Server {
    pub process: u32,
    input: Mutex<(u64, ChildStdin)>,
    waiting: Arc<Mutex<HashMap<u64, Sender<Value>>>>,
}

impl Server {
    pub fn start(entry: &Value, folder: &str) -> Server {
        let mut command = Command::new(entry["command"].as_str().unwrap());
        command.env_clear().current_dir(folder).env("RECTO_STATE_DIR", state_dir());
        for argument in entry["args"].as_array().unwrap() {
            command.arg(argument.as_str().unwrap());
        }
        for variable in entry["env"].as_array().unwrap() {
            command.env(variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap());
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let waiting: Arc<Mutex<HashMap<u64, Sender<Value>>>> = Arc::default();
        let waiters = waiting.clone();
        let process = child.id();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                let message: Value = serde_json::from_str(&line).unwrap();
                if let Some(id) = message["id"].as_u64() {
                    let sender = waiters.lock().unwrap().remove(&id);
                    let _ = sender.unwrap().send(message["result"].clone());
                }
            }
            waiters.lock().unwrap().clear();
            child.wait().unwrap();
        });
        let server = Server { process, input: Mutex::new((0, input)), waiting };
        server.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "0"},
            }),
        );
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(server.input.lock().unwrap().1, "{initialized}").unwrap();
        server
    }

    /// Returns the result, or null if the server exited.
    pub fn request(&self, method: &str, params: Value) -> Value {
        let (sender, receiver) = channel();
        let mut input = self.input.lock().unwrap();
        input.0 += 1;
        let id = input.0;
        self.waiting.lock().unwrap().insert(id, sender);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if writeln!(input.1, "{message}").is_err() {
            return Value::Null;
        }
        drop(input);
        receiver.recv().unwrap_or(Value::Null)
    }
}
