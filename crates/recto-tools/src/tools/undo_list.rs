//! `undo_list`: lists the recorded changes of the session.

use std::fmt::Write;

use recto_store::path::AbsPath;
use recto_text::Size;
use recto_text::quote::Escaped;
use serde_json::{Value, json};

use super::undo_apply::session_changes;
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use crate::budget::{Budget, json_size};
use crate::error::{Error, Result};
use crate::recorded::SessionChange;

/// The default maximum number of changes.
const DEFAULT_LIMIT: i64 = 30;

pub static TOOL: Tool = Tool {
    name: "undo_list",
    title: "List changes",
    toolset: Toolset::Undo,
    description: "List the recorded changes of this session, newest first.",
    params: &[
        Param::optional("path", ParamKind::String, "File or directory"),
        Param::optional(
            "limit",
            ParamKind::Integer { minimum: Some(1) },
            "Maximum changes; default 30",
        ),
    ],
    output,
    run: Run::Reads(run),
};

fn run(env: &ReadEnv<'_>, mut arguments: Arguments) -> Result<Answer> {
    let limit = arguments.integer("limit").unwrap_or(DEFAULT_LIMIT);
    let positive = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let limit = positive.ok_or(Error::InvalidLimit { limit })?;
    let below = arguments.optional_string("path").map(|path| {
        let path = AbsPath::of(env.root.join(&path), path);
        env.store.real_path(&path, env.context).unwrap_or_else(|| path.as_path().to_path_buf())
    });
    let list = session_changes(env)?.list(below.as_deref(), limit);
    let mut list = list.map_err(|cause| Error::NoChanges { cause })?;
    let mut budget = Budget::content(env.delivery);
    let (mut text, mut rows) = (String::new(), Vec::new());
    for change in &list.changes {
        let (line, row) = (line_of(change), row_of(change));
        if !budget.spend(Size { bytes: line.len(), json: json_size(&row) }) {
            break;
        }
        text.push_str(&line);
        rows.push(row);
    }
    list.n_older += list.changes.len() - rows.len();
    let mut head = match rows.len() {
        1 => "1 change".to_string(),
        n => format!("{n} changes"),
    };
    if list.n_older > 0 {
        let _ = write!(head, ", {} older ones", list.n_older);
    }
    let structured = json!({"changes": rows, "n_older": list.n_older});
    Ok(Answer::new(head, structured).with_content(text))
}

fn line_of(change: &SessionChange) -> String {
    let SessionChange { id, kind, path, undone_by } = change;
    let undone = undone_by.map(|by| format!(" (undone by {by})")).unwrap_or_default();
    format!("{id} {kind} {}{undone}\n", Escaped(&path.display().to_string()))
}

fn row_of(change: &SessionChange) -> Value {
    let SessionChange { id, kind, path, undone_by } = change;
    let mut row = json!({"change": id, "kind": kind, "path": path.to_string_lossy()});
    if let Some(by) = undone_by {
        row["undone_by"] = (*by).into();
    }
    row
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "changes": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "change": {"type": "integer"},
                    "kind": {"type": "string"},
                    "path": {"type": "string"},
                    "undone_by": {"type": "integer"},
                },
            }},
            "n_older": {"type": "integer"},
        },
        "required": ["changes", "n_older"],
    })
}
