//! The servers: where they are installed, how they are started, and with which call each does a
//! piece of work. Whether an answer is right is left to [`super::work`].

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::work::{N_LINES, Replaced, Work};

/// A server that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Recto,
    Official,
    RustMcp,
    TextEditor,
}

/// A tool and its arguments.
pub type Call = Result<(&'static str, Value), NoTool>;

/// Why a server has no tool for a piece of work.
#[derive(Debug)]
pub struct NoTool(&'static str);

impl std::fmt::Display for NoTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for NoTool {}

impl Server {
    pub const ALL: [Server; 4] =
        [Server::Recto, Server::Official, Server::RustMcp, Server::TextEditor];

    /// The name with the version that `dev/support/install-peers` installs.
    pub const fn name(self) -> &'static str {
        match self {
            Server::Recto => "recto",
            Server::Official => "official 2026.8.31",
            Server::RustMcp => "rust-mcp-filesystem 0.4.5",
            Server::TextEditor => "mcp-text-editor 1.0.2",
        }
    }

    /// Where the program is, if it is installed.
    pub fn program(self, recto: &Path) -> Option<PathBuf> {
        let installed = match self {
            Server::Recto => return Some(recto.to_path_buf()),
            Server::Official => "official-2026.8.31/node_modules/.bin/mcp-server-filesystem",
            Server::RustMcp => "rust-mcp-filesystem-0.4.5/bin/rust-mcp-filesystem",
            Server::TextEditor => "mcp-text-editor-1.0.2/bin/mcp-text-editor",
        };
        Some(folder_of_peers()?.join(installed)).filter(|program| program.exists())
    }

    /// How it is started with its defaults, so that it may read and write beneath `root`.
    pub fn command(self, program: &Path, root: &Path) -> Command {
        let mut command = Command::new(program);
        match self {
            Server::Recto => command.arg("serve").arg(root),
            Server::Official => command.arg(root),
            Server::RustMcp => command.arg("--allow-write").arg(root),
            // It knows no roots.
            Server::TextEditor => &mut command,
        };
        command.stderr(Stdio::null());
        command
    }

    /// What has to be asked before the work and does not count: only one server wants the hashes
    /// of the lines that change.
    pub fn question(self, work: &Work<'_>) -> Option<(&'static str, Value)> {
        let range = |line: usize| json!({"start": line, "end": line});
        let (path, ranges) = match (self, work) {
            (Server::TextEditor, Work::Write { path, .. }) if path.exists() => {
                (path, vec![json!({"start": 1})])
            }
            (Server::TextEditor, Work::Edit { path, edits, .. }) => {
                (path, edits.iter().map(|edit| range(edit.line)).collect())
            }
            _ => return None,
        };
        let files = json!([{"file_path": path, "ranges": ranges}]);
        Some(("get_text_file_contents", json!({"files": files})))
    }

    /// The call that does the work. `hashes` is the answer to [`Server::question`].
    pub fn call(self, work: &Work<'_>, hashes: Option<&Value>) -> Call {
        match self {
            Server::Recto => Ok(recto(work)),
            Server::Official => official(work),
            Server::RustMcp => Ok(rust_mcp(work)),
            Server::TextEditor => text_editor(work, hashes),
        }
    }
}

/// Where `dev/support/install-peers` installs them.
fn folder_of_peers() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("RECTO_PEERS") {
        return Some(folder.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")));
    Some(cache?.join("recto/peers"))
}

fn recto(work: &Work<'_>) -> (&'static str, Value) {
    match work {
        Work::Read { path, .. } => ("read_text_file", json!({"path": path})),
        Work::Page { path, first, .. } => {
            let lines = format!("{first}-{}", first + N_LINES - 1);
            ("ReadLines", json!({"file_path": path, "lines": lines}))
        }
        Work::Last { path, .. } => {
            ("ReadLines", json!({"file_path": path, "lines": format!("+{N_LINES}-")}))
        }
        Work::Write { path, content } => {
            ("write_text_file", json!({"path": path, "content": content}))
        }
        Work::Edit { path, edits, .. } => {
            let replaced =
                |edit: &Replaced| json!({"old_string": edit.old, "new_string": edit.new});
            match edits {
                [edit] => {
                    let mut arguments = replaced(edit);
                    arguments["path"] = json!(path);
                    ("edit_text_file", arguments)
                }
                edits => {
                    let edits: Vec<_> = edits.iter().map(replaced).collect();
                    ("multi_edit_text_file", json!({"path": path, "edits": edits}))
                }
            }
        }
        Work::List { folder, .. } => {
            ("ListFiles", json!({"pattern": format!("{}/**/*.rs", folder.display())}))
        }
    }
}

fn official(work: &Work<'_>) -> Call {
    Ok(match work {
        Work::Read { path, .. } => ("read_text_file", json!({"path": path})),
        Work::Page { .. } => return Err(NoTool("it reads only the first or the last lines")),
        // It counts the nothing after the last line ending as a line.
        Work::Last { path, .. } => ("read_text_file", json!({"path": path, "tail": N_LINES + 1})),
        Work::Write { path, content } => ("write_file", json!({"path": path, "content": content})),
        Work::Edit { path, edits, .. } => ("edit_file", old_and_new_text(path, edits)),
        Work::List { folder, .. } => {
            ("search_files", json!({"path": folder, "pattern": "**/*.rs"}))
        }
    })
}

fn rust_mcp(work: &Work<'_>) -> (&'static str, Value) {
    match work {
        Work::Read { path, .. } => ("read_text_file", json!({"path": path})),
        Work::Page { path, first, .. } => {
            ("read_file_lines", json!({"path": path, "offset": first - 1, "limit": N_LINES}))
        }
        // It counts like the official one.
        Work::Last { path, .. } => ("tail_file", json!({"path": path, "lines": N_LINES + 1})),
        Work::Write { path, content } => ("write_file", json!({"path": path, "content": content})),
        Work::Edit { path, edits, .. } => ("edit_file", old_and_new_text(path, edits)),
        Work::List { folder, .. } => {
            ("search_files", json!({"path": folder, "pattern": "**/*.rs"}))
        }
    }
}

fn old_and_new_text(path: &Path, edits: &[Replaced]) -> Value {
    let edit = |edit: &Replaced| json!({"oldText": edit.old, "newText": edit.new});
    json!({"path": path, "edits": edits.iter().map(edit).collect::<Vec<_>>()})
}

fn text_editor(work: &Work<'_>, hashes: Option<&Value>) -> Call {
    let read = |path: &Path, start: usize, end: Option<usize>| {
        let range = json!({"start": start, "end": end});
        let files = json!([{"file_path": path, "ranges": [range]}]);
        ("get_text_file_contents", json!({"files": files}))
    };
    let hash_of = |path: &Path, index: Option<usize>| {
        let file = &hashes.unwrap_or(&Value::Null)[path.to_string_lossy().as_ref()];
        match index {
            Some(index) => file["ranges"][index]["range_hash"].clone(),
            None => file["file_hash"].clone(),
        }
    };
    let edit = |path: &Path, patches: Vec<Value>| {
        let hash = if hashes.is_some() { hash_of(path, None) } else { json!("") };
        let files = json!([{"path": path, "file_hash": hash, "patches": patches}]);
        ("edit_text_file_contents", json!({"files": files}))
    };
    Ok(match work {
        Work::Read { path, .. } => read(path, 1, None),
        Work::Page { path, first, .. } => read(path, *first, Some(first + N_LINES - 1)),
        Work::Last { path, n_lines_of_file, .. } => read(path, n_lines_of_file - N_LINES + 1, None),
        Work::Write { path, content } => {
            let hash = if hashes.is_some() { hash_of(path, Some(0)) } else { json!("") };
            let patch = json!({"line_start": 1, "contents": content, "range_hash": hash});
            edit(path, vec![patch])
        }
        Work::Edit { path, edits, .. } => {
            let patch = |(index, edit): (usize, &Replaced)| {
                json!({
                    "line_start": edit.line,
                    "line_end": edit.line,
                    "contents": edit.new,
                    "range_hash": hash_of(path, Some(index)),
                })
            };
            edit(path, edits.iter().enumerate().map(patch).collect())
        }
        Work::List { .. } => return Err(NoTool("it lists no files")),
    })
}
