//! A scripted editor, and the relay that it starts.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::acp_agent;
use crate::client::recto;
use crate::running::Running;

/// How long to wait for an answer before the test fails.
pub const MAX_WAIT: Duration = Duration::from_secs(30);

/// What an editor does with a write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Accepts the text into its buffer.
    Taken,
    /// Refuses the write.
    Declined,
    /// Accepts the text and never answers.
    Unanswered,
}

#[derive(Clone)]
pub struct Habits {
    pub capabilities: Value,
    pub writes: Writes,
    /// Does not answer requests for text.
    pub ignores_reads: bool,
    /// Answers late, and in another order.
    pub is_unordered: bool,
    pub options: Vec<OsString>,
    pub agent: Vec<OsString>,
    /// Directories that exist before anything starts.
    pub folders: &'static [&'static str],
}

impl Default for Habits {
    fn default() -> Habits {
        Habits {
            capabilities: json!({"fs": {"readTextFile": true, "writeTextFile": true}}),
            writes: Writes::Taken,
            ignores_reads: false,
            is_unordered: false,
            options: Vec::new(),
            agent: acp_agent::command(),
            folders: &[],
        }
    }
}

impl Habits {
    pub fn options(options: &[&str]) -> Habits {
        Habits { options: options.iter().map(OsString::from).collect(), ..Habits::default() }
    }
}

/// The buffers that the user has open, and the messages received.
#[derive(Default)]
pub struct EditorState {
    pub buffers: Mutex<HashMap<String, String>>,
    /// Every write received, in order.
    pub writes: Mutex<Vec<(String, String)>>,
    /// Every update received, in order.
    pub updates: Mutex<Vec<Value>>,
    /// The ids and methods of requests about files.
    pub requests: Mutex<Vec<Value>>,
}

pub struct Editor {
    child: Running,
    input: Arc<Mutex<Option<ChildStdin>>>,
    waiting: Arc<Mutex<HashMap<u64, Sender<Value>>>>,
    last_id: Mutex<u64>,
    /// Lines that no test waited for.
    others: Mutex<Receiver<String>>,
    pub state: Arc<EditorState>,
    pub folder: tempfile::TempDir,
    pub runtime: tempfile::TempDir,
}

impl Editor {
    /// Starts the relay and the agent behind it. Sends nothing yet.
    pub fn start(habits: Habits) -> Editor {
        let folder = tempfile::tempdir().unwrap();
        for name in habits.folders {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let runtime = tempfile::tempdir().unwrap();
        let stderr = std::fs::File::create(runtime.path().join("stderr")).unwrap();
        let mut child = recto()
            .arg("acp")
            .args(&habits.options)
            .arg("--")
            .args(&habits.agent)
            .env("XDG_RUNTIME_DIR", runtime.path())
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let input = Arc::new(Mutex::new(child.stdin.take()));
        let output = child.stdout.take().unwrap();
        let (others_sender, others) = channel();
        let waiting: Arc<Mutex<HashMap<u64, Sender<Value>>>> = Arc::default();
        let state = Arc::new(EditorState::default());
        let reader = Reader {
            habits,
            input: input.clone(),
            waiting: waiting.clone(),
            others: others_sender,
            state: state.clone(),
        };
        std::thread::spawn(move || reader.run(output));
        let (last_id, others) = (Mutex::new(0), Mutex::new(others));
        let child = Running(child);
        Editor { child, input, waiting, last_id, others, state, folder, runtime }
    }

    /// Starts the relay and completes the handshake.
    pub fn ready(habits: Habits) -> Editor {
        Editor::agreed(habits, 1, Value::Null)
    }

    /// Starts a session whose server the agent does not start, and returns the server's token.
    pub fn idle_session(&self) -> String {
        let params = json!({"cwd": self.folder.path(), "mcpServers": [], "_meta": {"idle": true}});
        let answer = self.request("session/new", params);
        let entry = &answer["result"]["_meta"]["received"]["mcpServers"][0];
        entry["env"][1]["value"].as_str().unwrap().to_string()
    }

    /// Starts the relay and negotiates a version with an agent that has the given capabilities.
    pub fn agreed(habits: Habits, version: u64, offers: Value) -> Editor {
        let capabilities = habits.capabilities.clone();
        let editor = Editor::start(habits);
        let params = json!({
            "protocolVersion": version, "clientCapabilities": capabilities,
            "_meta": {"agent": offers},
        });
        assert_eq!(editor.request("initialize", params)["result"]["protocolVersion"], version);
        editor
    }

    /// Starts the relay and completes the handshake with an agent of this name.
    pub fn with_agent(name: &str, habits: Habits) -> Editor {
        Editor::agreed(habits, 1, json!({"agentInfo": {"name": name, "version": "1"}}))
    }

    /// Starts the relay, completes the handshake and starts a session in its directory.
    pub fn in_session(habits: Habits) -> (Editor, String) {
        let editor = Editor::ready(habits);
        let session = editor.new_session();
        (editor, session)
    }

    pub fn new_session(&self) -> String {
        let params = json!({"cwd": self.folder.path(), "mcpServers": []});
        let answer = self.request("session/new", params);
        answer["result"]["sessionId"].as_str().unwrap().to_string()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub fn spelled(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    /// Opens a file with unsaved changes.
    pub fn open(&self, name: &str, text: &str) {
        if !self.path(name).exists() {
            std::fs::write(self.path(name), "on disk\n").unwrap();
        }
        // If the file on disk is new, the tools give an editor time to notice it.
        let file = std::fs::File::options().write(true).open(self.path(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        self.state.buffers.lock().unwrap().insert(self.spelled(name), text.into());
    }

    /// Waits until `n` calls are shown as finished: these updates take another path than the
    /// answers and may arrive after them.
    pub fn wait_for_ends(&self, n_calls: usize) {
        let is_end = |update: &&Value| {
            matches!(update["update"]["status"].as_str(), Some("completed" | "failed"))
        };
        let start = Instant::now();
        while self.state.updates.lock().unwrap().iter().filter(is_end).count() < n_calls
            && start.elapsed() < Duration::from_secs(30)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn send_line(&self, line: &str) {
        send(&self.input, line);
    }

    /// Sends a request. Its answer arrives on the channel.
    pub fn ask(&self, method: &str, params: Value) -> Receiver<Value> {
        let mut last_id = self.last_id.lock().unwrap();
        *last_id += 1;
        let id = *last_id;
        drop(last_id);
        let (sender, receiver) = channel();
        self.waiting.lock().unwrap().insert(id, sender);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_line(&message.to_string());
        receiver
    }

    pub fn request(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).recv_timeout(MAX_WAIT);
        answer.unwrap_or_else(|error| panic!("{method}: {error}; stderr: {}", self.stderr()))
    }

    /// Makes the agent call a tool.
    pub fn call(&self, session: &str, tool: &str, arguments: Value) -> Value {
        self.request("test/call", called(session, tool, arguments))["result"].clone()
    }

    /// Returns the next line that no test waited for.
    pub fn next_line(&self) -> String {
        let line = self.others.lock().unwrap().recv_timeout(MAX_WAIT);
        line.unwrap_or_else(|error| panic!("{error}; stderr: {}", self.stderr()))
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.runtime.path().join("stderr")).unwrap()
    }

    pub fn close_input(&self) {
        *self.input.lock().unwrap() = None;
    }

    pub fn relay(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processes of the relay, the agent, its servers and other children.
    pub fn processes(&self) -> Vec<u32> {
        let answer = self.request("test/processes", json!({}))["result"].clone();
        let number = |value: &Value| value.as_u64().unwrap() as u32;
        let mut processes = vec![self.relay(), number(&answer["agent"])];
        processes.extend(answer["servers"].as_array().unwrap().iter().map(number));
        processes.extend(answer["children"].as_array().unwrap().iter().map(number));
        processes
    }

    pub fn wait(&mut self, limit: Duration) -> ExitStatus {
        self.child.wait_for(limit)
    }

    /// Returns the relay's socket.
    pub fn socket(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.runtime.path()).unwrap();
        let mut folders = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        folders.next().unwrap().join("link")
    }
}

pub fn called(session: &str, tool: &str, arguments: Value) -> Value {
    json!({"sessionId": session, "tool": tool, "arguments": arguments})
}

fn send(input: &Mutex<Option<ChildStdin>>, line: &str) {
    if let Some(input) = &mut *input.lock().unwrap() {
        // If the relay has exited, the missing answer fails the test.
        let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
    }
}

struct Reader {
    habits: Habits,
    input: Arc<Mutex<Option<ChildStdin>>>,
    waiting: Arc<Mutex<HashMap<u64, Sender<Value>>>>,
    others: Sender<String>,
    state: Arc<EditorState>,
}

impl Reader {
    fn run(self, output: impl std::io::Read) {
        for (index, line) in BufReader::with_capacity(1 << 20, output).lines().enumerate() {
            let Ok(line) = line else { break };
            let message: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
            let id = message["id"].as_u64();
            let waiter = id.and_then(|id| self.waiting.lock().unwrap().remove(&id));
            if let (Some(waiter), None) = (waiter, message.get("method")) {
                let _ = waiter.send(message);
            } else if message["method"].as_str().is_some_and(|method| method.starts_with("fs/")) {
                self.take(message, index);
            } else if message["method"] == "session/update" {
                self.state.updates.lock().unwrap().push(message["params"].clone());
            } else {
                let _ = self.others.send(line);
            }
        }
        self.waiting.lock().unwrap().clear();
    }

    fn take(&self, request: Value, index: usize) {
        self.state.requests.lock().unwrap().push(request.clone());
        let path = request["params"]["path"].as_str().unwrap().to_string();
        let answer = if request["method"] == "fs/read_text_file" {
            match self.state.buffers.lock().unwrap().get(&path) {
                Some(text) => json!({"result": {"content": text}}),
                None => json!({"error": {"code": -32002, "message": "not found"}}),
            }
        } else {
            let content = request["params"]["content"].as_str().unwrap().to_string();
            self.state.writes.lock().unwrap().push((path.clone(), content.clone()));
            match self.habits.writes {
                Writes::Taken | Writes::Unanswered => {
                    self.state.buffers.lock().unwrap().insert(path, content);
                    json!({"result": {}})
                }
                Writes::Declined => json!({"error": {"code": -32000, "message": "declined"}}),
            }
        };
        let is_unanswered = match request["method"] == "fs/read_text_file" {
            true => self.habits.ignores_reads,
            false => self.habits.writes == Writes::Unanswered,
        };
        if is_unanswered {
            return;
        }
        let mut message = answer;
        message["jsonrpc"] = "2.0".into();
        message["id"] = request["id"].clone();
        if !self.habits.is_unordered {
            return send(&self.input, &message.to_string());
        }
        let input = self.input.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis((index as u64 * 7919) % 23));
            send(&input, &message.to_string());
        });
    }
}

pub fn is_alive(process: u32) -> bool {
    let Some(pid) = Pid::from_raw(process as i32) else { return false };
    // A zombie counts as dead.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let is_zombie = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    test_kill_process(pid).is_ok() && !is_zombie
}

pub fn kill(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process as i32).unwrap(), signal).unwrap();
}

/// Checks that all processes exit in time.
pub fn check_gone(processes: &[u32], limit: Duration) {
    let start = Instant::now();
    while processes.iter().any(|process| is_alive(*process)) {
        let left: Vec<_> = processes.iter().filter(|process| is_alive(**process)).collect();
        assert!(start.elapsed() < limit, "still there after {limit:?}: {left:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
