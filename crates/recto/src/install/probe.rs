//! Reads what clients are configured to start, and starts it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use recto_text::quote::Escaped;
use rmcp::ServiceExt;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, Command};

use super::client::{Client, Form};
use super::places::{Scope, Surroundings};
use super::plan;

/// A busy machine takes longer to start a program than the program takes to answer.
const MAX_TIME: Duration = Duration::from_secs(20);

/// The bytes of a program's messages that are read.
const MAX_STDERR: u64 = 16 << 10;

/// An entry in the settings of a client.
pub struct Configured {
    /// The file.
    pub path: PathBuf,
    /// Whose settings these are.
    pub scope: Scope,
    /// The program, or the URL of a server that runs already.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it is.
    pub kind: EntryProgram,
}

/// What an entry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryProgram {
    /// An MCP server, which the client starts.
    Server,
    /// An ACP agent.
    Agent,
    /// An MCP server over HTTP.
    Url,
}

/// What the settings of a client contain.
#[derive(Default)]
pub struct Found {
    /// Recto's entries.
    pub entries: Vec<Configured>,
    /// Why files cannot be read.
    pub unread: Vec<String>,
}

/// Returns recto's entries in the settings of a client.
pub fn configured(client: &Client, around: &Surroundings) -> Found {
    let mut all = Found::default();
    for scope in [Scope::User, Scope::Project] {
        for file in plan::files_of(client, scope) {
            for path in around.paths(file) {
                let text = match plan::read(&path) {
                    Ok(Some(text)) => text,
                    Ok(None) => continue,
                    Err(why) => {
                        all.unread.push(why);
                        continue;
                    }
                };
                for kind in file.entries.iter().filter(|kind| kind.form != Form::ReadingRules) {
                    let value = match plan::found(file, kind, &text) {
                        Ok(Some(value)) => value,
                        Ok(None) => continue,
                        Err(why) => {
                            all.unread.push(format!("{}: {why}", around.shown(&path)));
                            break;
                        }
                    };
                    let words = words(&value);
                    let Some((program, arguments)) = words.split_first() else { continue };
                    let (program, arguments) = (program.clone(), arguments.to_vec());
                    let kind = match kind.form {
                        Form::Agent(_) => EntryProgram::Agent,
                        _ if plan::URL_KEYS.iter().any(|key| value.get(key).is_some()) => {
                            EntryProgram::Url
                        }
                        _ => EntryProgram::Server,
                    };
                    let path = path.clone();
                    all.entries.push(Configured { path, scope, program, arguments, kind });
                }
            }
        }
    }
    all
}

/// Returns the program and the arguments of an entry.
fn words(entry: &Value) -> Vec<String> {
    let strings = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(|it| Some(it.as_str()?.into())).collect(),
        _ => Vec::new(),
    };
    let keys = ["command", "cmd", "args"].iter().chain(&plan::URL_KEYS);
    keys.flat_map(|key| strings(&entry[key])).collect()
}

/// Starts what is configured, in a directory, and returns how it answers.
pub fn start(entry: &Configured, dir: &Path) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let answer = async {
        let answer = match entry.kind {
            EntryProgram::Server => n_tools(entry, dir).await,
            EntryProgram::Agent => version(entry).await,
            EntryProgram::Url => Ok("is reached over HTTP, which is not tried".into()),
        };
        answer.map_err(|error| error.to_string())
    };
    runtime.block_on(async {
        let in_time = tokio::time::timeout(MAX_TIME, answer).await;
        in_time.unwrap_or_else(|_| Err(format!("no answer within {} s", MAX_TIME.as_secs())))
    })
}

type Answer = Result<String, Box<dyn std::error::Error>>;

async fn n_tools(entry: &Configured, dir: &Path) -> Answer {
    let place = dir.display().to_string();
    let arguments = entry.arguments.iter().map(|it| it.replace("${workspaceFolder}", &place));
    let mut server = Command::new(&entry.program)
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let pipes = server.stdout.take().zip(server.stdin.take()).ok_or("the server has no pipes")?;
    let service = match ().serve(pipes).await {
        Ok(service) => service,
        Err(error) => {
            return Err(last_line(server.stderr).await.unwrap_or(error.to_string()).into());
        }
    };
    let tools = service.list_all_tools().await?;
    Ok(format!("answers with {} tools", tools.len()))
}

/// Returns the last line that a program which has ended wrote to stderr.
async fn last_line(stderr: Option<ChildStderr>) -> Option<String> {
    let mut text = Vec::new();
    let read = stderr?.take(MAX_STDERR).read_to_end(&mut text).await;
    let text = String::from_utf8_lossy(&text[..read.ok()?]).into_owned();
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(Escaped(line.trim()).to_string())
}

/// An agent may need a login or a download, so only the program is started.
async fn version(entry: &Configured) -> Answer {
    let mut command = Command::new(&entry.program);
    let output = command.arg("--version").stdin(Stdio::null()).kill_on_drop(true).output().await?;
    match output.status.success() {
        true => Ok(format!("is {}", String::from_utf8_lossy(&output.stdout).trim())),
        false => Err(output.status.to_string().into()),
    }
}
