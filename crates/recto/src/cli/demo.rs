//! `recto demo`: starts the server as a client would, in a temporary directory, and prints the
//! calls and their results.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use clap::Args;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ServiceExt, service};
use serde_json::{Map, Value, json};
use tokio::process::Command;

/// Run a demonstration in a temporary directory, with a real client and server
#[derive(Args)]
#[command(after_help = "\
Example:
  recto demo

Writes only to its temporary directory, which it removes at the end.")]
pub struct Demo {}

impl Demo {
    pub fn run(self) -> Result<ExitCode, String> {
        let scratch = Scratch::new()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        runtime.block_on(run_demo(&scratch.0))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A directory that is removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, String> {
        let path = std::env::temp_dir().join(format!("recto-demo-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let path = path.canonicalize().map_err(|error| error.to_string())?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const PROGRAM: &str = "\
def greet(name):
\tif not name:
\t\treturn \"Hello, stranger!\"
\treturn \"Hello, \" + name + \"!\"

print(greet(\"world\"))
";

async fn run_demo(folder: &Path) -> Result<(), String> {
    let file = folder.join("greet.py");
    write(&file, PROGRAM)?;
    let has_commit = commit(folder);
    let mut session = DemoSession::start(folder).await?;

    session.step("An agent reads a file. The result includes a hash that identifies this version.");
    let read = session.call("read_text_file", json!({"path": file})).await?;
    let seen = hash(&read);

    session.step("It replaces an exact string and gets the diff.");
    let edit = json!({"path": file, "old_string": "stranger", "new_string": "new user"});
    session.call("edit_text_file", edit).await?;

    session.step("It gets the indentation wrong. The edit is rejected, and the error shows why.");
    let edit = json!({"path": file, "old_string": "    return \"Hello, \" + name", "new_string": "\treturn \"Hi, \" + name"});
    session.call("edit_text_file", edit).await?;

    session.step(
        "It edits the version it read first. The file has changed since, so this is rejected.",
    );
    let edit = json!({
        "path": file, "old_string": "world", "new_string": "reader", "expected_hash": seen,
    });
    session.call("edit_text_file", edit).await?;

    session.step("It makes two edits in one call, all or nothing. The CRLF line endings are kept.");
    let settings = folder.join("settings.ini");
    write(&settings, "[server]\r\nhost = localhost\r\nport = 8080\r\n")?;
    let edits = json!({"path": settings, "edits": [
        {"old_string": "port = 8080", "new_string": "port = 3000"},
        {"old_string": "localhost\nport", "new_string": "0.0.0.0\nport"},
    ]});
    session.call("multi_edit_text_file", edits).await?;

    session.step("A verified edit names the version, the lines and their current text.");
    let notes = folder.join("notes.md");
    let lines = "# Notes\n- buy bread\n- call home\n";
    session.call("file_create", json!({"path": "notes.md", "content": lines})).await?;
    let read = session.call("text_read", json!({"path": "notes.md", "lines": [2, 4]})).await?;
    let seen = hash(&read);

    session.step("Meanwhile the user adds a line. The edit is stale, and the error says where the text is now.");
    write(&notes, "# Notes\n- water the plants\n- buy bread\n- call home\n")?;
    let replace = |hash: &Value, lines: Value| json!({"path": "notes.md", "hash": hash, "lines": lines, "old": "- call home", "new": "- call home at six"});
    session.call("text_replace", replace(&seen, json!([3, 4]))).await?;

    session.step("The agent reads only what changed since, and retries.");
    let read = session.call("text_read", json!({"path": "notes.md", "since": seen})).await?;
    session.call("text_replace", replace(&hash(&read), json!([4, 5]))).await?;

    session.step("It lists files by pattern and searches for lines containing a text.");
    session.call("ListFiles", json!({"pattern": "*.{py,md}"})).await?;
    let search = json!({"file_path": "**/*.py", "match": "hello", "ctx": 1});
    session.call("ReadLines", search).await?;

    if has_commit {
        session.step("It reads the committed version of a file.");
        let older = json!({"file_path": "greet.py", "commit": "HEAD", "lines": "2-3"});
        session.call("ReadLines", older).await?;
    }

    session.step("It previews a data file as a table; the CSV dialect is detected.");
    let table = "# measured in May\ncity;day;degrees\nOslo;02.05.2026;7,5\nRoma;02.05.2026;21,0\n";
    write(&folder.join("weather.csv"), table)?;
    session.call("ReadAsTable", json!({"file_path": "weather.csv"})).await?;

    session.step("Files outside the directory are not accessible.");
    session.call("read_text_file", json!({"path": "/etc/passwd"})).await?;

    session.finish().await
}

/// Creates a repository with one commit. Returns false if git is not installed.
fn commit(folder: &Path) -> bool {
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=demo", "-c", "user.email=demo@example.invalid"]);
        command.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    git(&["init", "-q"]) && git(&["add", "."]) && git(&["commit", "-q", "-m", "first"])
}

/// Returns the hash in a result.
fn hash(result: &CallToolResult) -> Value {
    let hash = |answer: &Value| answer.get("hash").or(answer["_meta"].get("hash")).cloned();
    result.structured_content.as_ref().and_then(hash).unwrap_or_default()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A client and its server, whose calls are printed.
struct DemoSession {
    service: RunningService<RoleClient, ()>,
    _server: tokio::process::Child,
    folder: String,
    n_steps: usize,
}

impl DemoSession {
    async fn start(folder: &Path) -> Result<DemoSession, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut server = Command::new(program)
            .arg("serve")
            .arg(folder)
            .args(["--log", "off"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start the server: {error}"))?;
        let pipes = server.stdout.take().zip(server.stdin.take());
        let pipes = pipes.ok_or("the server has no pipes")?;
        let service = ().serve(pipes).await.map_err(|error| error.to_string())?;
        print(&format!("$ recto serve {}\n", folder.display()));
        let folder = folder.display().to_string();
        Ok(DemoSession { service, _server: server, folder, n_steps: 0 })
    }

    fn step(&mut self, text: &str) {
        self.n_steps += 1;
        print(&format!("\n{}. {text}\n\n", self.n_steps));
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> Result<CallToolResult, String> {
        print(&indented("→ ", &format!("{tool} {}", self.shown(&arguments.to_string()))));
        let arguments: Map<String, Value> = match arguments {
            Value::Object(arguments) => arguments,
            _ => return Err("arguments must be an object".into()),
        };
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.service.call_tool(request).await;
        let result = result.map_err(|error: service::ServiceError| error.to_string())?;
        let mark = if result.is_error == Some(true) { "✗ " } else { "← " };
        for text in result.content.iter().filter_map(|block| block.as_text()) {
            print(&indented(mark, &self.shown(&text.text)));
        }
        Ok(result)
    }

    /// Abbreviates the temporary directory's path and makes carriage returns visible.
    fn shown(&self, text: &str) -> String {
        text.replace(&self.folder, "…").replace('\r', "␍")
    }

    async fn finish(self) -> Result<(), String> {
        self.service.cancel().await.map_err(|error| error.to_string())?;
        print(
            "\nConnect your own client: see \"Connect\" in the README, or run `recto serve --help`.\n",
        );
        Ok(())
    }
}

fn indented(mark: &str, text: &str) -> String {
    let mut out = String::new();
    for (index, line) in text.lines().enumerate() {
        let mark = if index == 0 { mark } else { "  " };
        out.push_str(format!("   {mark}{line}").trim_end());
        out.push('\n');
    }
    out
}

/// Prints to stdout, ignoring errors such as a closed pipe.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
