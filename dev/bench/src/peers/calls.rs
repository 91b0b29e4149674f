//! The call with which each server does a piece of work. [`super::work`] checks the answers.

use std::path::Path;

use recto_dev::servers::ServerKind;
use serde_json::{Value, json};

use super::work::{N_LINES, Replaced, Work};

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

/// Returns the call that has to precede the work and is not measured: mcp-text-editor needs the
/// hashes of the lines that change.
pub fn question(kind: ServerKind, work: &Work<'_>) -> Option<(&'static str, Value)> {
    let range = |line: usize| json!({"start": line, "end": line});
    let (path, ranges) = match (kind, work) {
        (ServerKind::TextEditor, Work::Write { path, .. }) if path.exists() => {
            (path, vec![json!({"start": 1})])
        }
        (ServerKind::TextEditor, Work::Edit { path, edits, .. }) => {
            (path, edits.iter().map(|edit| range(edit.line)).collect())
        }
        _ => return None,
    };
    let files = json!([{"file_path": path, "ranges": ranges}]);
    Some(("get_text_file_contents", json!({"files": files})))
}

/// Returns the call that does the work. `hashes` is the answer to [`question`].
pub fn call(kind: ServerKind, work: &Work<'_>, hashes: Option<&Value>) -> Call {
    match kind {
        ServerKind::Recto => Ok(recto(work)),
        ServerKind::Official => official(work),
        ServerKind::RustMcp => Ok(rust_mcp(work)),
        ServerKind::TextEditor => text_editor(work, hashes),
    }
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
        // It counts the empty string after the last line ending as a line.
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
        // It counts like the official server.
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
