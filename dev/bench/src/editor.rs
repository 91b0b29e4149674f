//! Measures the cost of an editor: a message through the relay, and a tool call through an editor's
//! buffers.
//!
//! This program is both ends. The agent is `cat`, which echoes everything, so that the editor can
//! also send an agent's messages. The program starts the server that the relay adds to the session,
//! as an agent would. The editor records when it gets a request about a file and when it has
//! answered, and that time is subtracted.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use recto_dev::client::Client;
use recto_dev::table::{Table, milliseconds, percentile};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::files::text;
use crate::{N_WARM_UP, Result, machine, programs};

const N_MESSAGES: usize = 5000;
const N_CALLS: usize = 1000;
const SESSION: &str = "session";

/// Measures, and prints the table.
pub fn run(recto: &Path, is_quick: bool) -> Result<()> {
    let folder = TempDir::with_prefix("recto-bench-")?;
    println!("{}\n", machine::describe(folder.path())?);
    let mut table = Table::of_numbers(["what", "p50", "p99", "goal", "rounds"]);
    let fewer = if is_quick { 10 } else { 1 };
    messages(recto, N_MESSAGES / fewer, &mut table)?;
    calls(recto, folder.path(), N_CALLS / fewer, &mut table)?;
    println!("{table}");
    Ok(folder.close()?)
}

/// Times of one operation.
struct Times(Vec<Duration>);

impl Times {
    fn cells(&self, what: &str, goal: &str) -> [String; 5] {
        let shown = |percent| milliseconds(percentile(&self.0, percent));
        [what.into(), shown(50), shown(99), goal.into(), self.0.len().to_string()]
    }

    /// Returns half the difference of the percentiles: a round trip is two messages.
    fn beyond(&self, other: &Times, what: &str, goal: &str) -> [String; 5] {
        let added = |percent| {
            let more = percentile(&self.0, percent).saturating_sub(percentile(&other.0, percent));
            milliseconds(more / 2)
        };
        [what.into(), added(50), added(99), goal.into(), self.0.len().to_string()]
    }
}

/// Measures a round trip through `cat`, alone and behind the relay, in turns.
fn messages(recto: &Path, n_rounds: usize, table: &mut Table) -> Result<()> {
    eprintln!("messages");
    let params = json!({"text": "a".repeat(200)});
    let line = format!("{}\n", json!({"jsonrpc": "2.0", "method": "x", "params": params}));
    let mut direct = Client::start(&mut Command::new("cat"))?;
    let mut relayed = Client::start(Command::new(recto).args(["acp", "--", "cat"]))?;
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..N_WARM_UP + n_rounds {
        for (pipes, times) in [&mut direct, &mut relayed].into_iter().zip(&mut times) {
            let exchange = pipes.exchange(line.as_bytes())?;
            if exchange.n_bytes != line.len() {
                return Err("a message came back as another".into());
            }
            if round >= N_WARM_UP {
                times.push(exchange.time());
            }
        }
    }
    direct.stop()?;
    relayed.stop()?;
    let [direct, relayed] = times.map(Times);
    let size = line.len();
    table.add(direct.cells(&format!("{size} B through `cat` and back"), ""));
    table.add(relayed.cells(&format!("{size} B through `recto acp -- cat` and back"), ""));
    table.add(relayed.beyond(&direct, "added to each message by the relay", "< 0.1 ms"));
    Ok(())
}

/// Measures calls through an editor, and the same calls on the disk.
fn calls(recto: &Path, folder: &Path, n_rounds: usize, table: &mut Table) -> Result<()> {
    let folder = folder.canonicalize()?;
    let path = folder.join("2kb.txt");
    fs::write(&path, format!("old\n{}", text(1, 2000)))?;
    // If a file changed recently, the tools give an editor time to notice and do not trust time
    // stamps. Most files are older.
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&path)?.set_modified(hour_ago)?;
    std::thread::sleep(Duration::from_secs(3));

    let (mut disk, _) = programs::open(recto, &folder, &[])?;
    let mut editor = Editor::start(recto, &folder)?;
    let mut client = Client::start(&mut editor.server)?;
    client.initialize()?;
    for tool in ["read_text_file", "edit_text_file"] {
        eprintln!("{tool}");
        let arguments = |round: usize| match (tool, round % 2) {
            ("read_text_file", _) => json!({"path": path}),
            (_, 0) => json!({"path": path, "old_string": "old\n", "new_string": "new\n"}),
            _ => json!({"path": path, "old_string": "new\n", "new_string": "old\n"}),
        };
        let (mut beyond, mut own, mut n_asked) = (Vec::new(), Vec::new(), 0);
        for round in 0..N_WARM_UP + n_rounds {
            editor.spent();
            let (exchange, _) = client.call_ok(tool, arguments(round))?;
            let spent = editor.spent();
            n_asked = spent.n_requests;
            if n_asked == 0 {
                return Err("the editor was not asked".into());
            }
            if round >= N_WARM_UP {
                beyond.push(exchange.time().saturating_sub(spent.time));
                own.push(spent.time);
            }
        }
        let on_disk: Result<Vec<Duration>> = match tool {
            // An edit on the disk waits for a sync, so it is not comparable.
            "edit_text_file" => Ok(Vec::new()),
            _ => (0..n_rounds)
                .map(|round| Ok(disk.call_ok(tool, arguments(round))?.0.time()))
                .collect(),
        };
        let what = format!("`{tool}` through an editor, beyond its own time");
        table.add(Times(beyond).cells(&what, "< 0.5 ms"));
        let what = format!("the editor's own time for it, {n_asked} requests");
        table.add(Times(own).cells(&what, ""));
        let on_disk = on_disk?;
        if !on_disk.is_empty() {
            table.add(Times(on_disk).cells(&format!("`{tool}` without an editor"), ""));
        }
    }
    client.stop()?;
    disk.stop()?;
    editor.stop()
}

/// What the editor did since the last query.
#[derive(Default, Clone, Copy)]
struct Spent {
    n_requests: usize,
    time: Duration,
}

/// The relay, and an editor that answers from its buffers.
struct Editor {
    relay: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    spent: Arc<Mutex<Spent>>,
    /// Starts the session's server.
    server: Command,
}

impl Editor {
    fn start(recto: &Path, folder: &Path) -> Result<Editor> {
        let mut command = Command::new(recto);
        command.env("RECTO_STATE_DIR", recto_dev::state_dir());
        command.args(["acp", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut relay = command.spawn()?;
        let mut input = relay.stdin.take().ok_or("no stdin")?;
        let output = relay.stdout.take().ok_or("no stdout")?;
        let mut output = BufReader::with_capacity(64 << 10, output);
        let fs = json!({"readTextFile": true, "writeTextFile": true});
        let initialize = json!({"protocolVersion": 1, "clientCapabilities": {"fs": fs}});
        let new_session = json!({"cwd": folder, "mcpServers": []});
        let mut echo = |message: Value| -> Result<Value> {
            writeln!(input, "{message}")?;
            let mut line = String::new();
            output.read_line(&mut line)?;
            Ok(serde_json::from_str(&line)?)
        };
        echo(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}))?;
        echo(json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}))?;
        let ask =
            json!({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": new_session});
        let begun = echo(ask)?;
        echo(json!({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": SESSION}}))?;
        let server = server(&begun["params"]["mcpServers"][0]).ok_or("no server was added")?;
        let input = Arc::new(Mutex::new(Some(input)));
        let spent: Arc<Mutex<Spent>> = Arc::default();
        let (answers, noted) = (input.clone(), spent.clone());
        std::thread::spawn(move || answer(output, &answers, &noted));
        Ok(Editor { relay, input, spent, server })
    }

    fn spent(&self) -> Spent {
        std::mem::take(&mut self.spent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stop(mut self) -> Result<()> {
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.relay.wait()?;
        Ok(())
    }
}

/// Returns the command that an agent would start.
fn server(entry: &Value) -> Option<Command> {
    let mut command = Command::new(entry["command"].as_str()?);
    for argument in entry["args"].as_array()? {
        command.arg(argument.as_str()?);
    }
    for variable in entry["env"].as_array()? {
        command.env(variable["name"].as_str()?, variable["value"].as_str()?);
    }
    Some(command)
}

/// Answers every request about a file until the relay ends.
fn answer(
    mut output: BufReader<ChildStdout>,
    input: &Mutex<Option<ChildStdin>>,
    spent: &Mutex<Spent>,
) {
    let mut buffers: HashMap<String, String> = HashMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if !matches!(output.read_until(b'\n', &mut line), Ok(1..)) {
            return;
        }
        let received = Instant::now();
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        let params = &message["params"];
        let path = params["path"].as_str().unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("fs/read_text_file") => {
                let buffer = buffers.entry(path.to_string());
                let text = buffer.or_insert_with(|| fs::read_to_string(path).unwrap_or_default());
                json!({"content": text})
            }
            Some("fs/write_text_file") => {
                let text = params["content"].as_str().unwrap_or_default();
                buffers.insert(path.to_string(), text.to_string());
                json!({})
            }
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let answer = format!("{answer}\n");
        let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(input) = &mut *input else { return };
        // Recorded before sending, because the next round may start right after.
        let mut noted = spent.lock().unwrap_or_else(PoisonError::into_inner);
        noted.n_requests += 1;
        noted.time += received.elapsed();
        drop(noted);
        if input.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
