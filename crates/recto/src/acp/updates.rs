//! Tool calls as ACP version 1 updates: pure functions from a call and its result to the card that
//! an editor shows.
//!
//! Updates are bounded in size and show no file other than the one that the call names. The relay
//! sends them; [`super::merge`] combines them with the agent's own.

mod changed_ranges;
mod content;
mod cut;
mod title;

#[cfg(test)]
pub(super) mod tests;

use std::path::Path;

use recto_store::error::Error as StoreError;
use recto_tools::{Error, Result, Served};
use serde_json::{Map, Value, json};

pub use content::{MAX_SHOWN_TEXT, preview, words};
pub use cut::{MAX_BYTES, cut, n_bytes};
pub use title::MAX_CHARS as MAX_TITLE;

use recto_tools::call::Witnessed;
use recto_tools::tools::{Answer, Effect, FileChange, as_integer};

/// The maximum number of locations of a search.
const MAX_LOCATIONS: usize = 20;

/// The prefix of ids that recto assigns to calls without a client's id.
const OWN_ID: &str = "recto-call-";

/// Returns an id for a call without a client's id. `number` must be unique in the session.
pub fn own_id(number: u64) -> String {
    format!("{OWN_ID}{number}")
}

/// Whether an id was made by [`own_id`].
pub fn is_own_id(id: &str) -> bool {
    id.starts_with(OWN_ID)
}

/// Returns the `update` for a call that has not accessed any file yet.
pub fn started(id: &str, call: &Witnessed<'_>) -> Value {
    let mut update = json!({"sessionUpdate": "tool_call", "toolCallId": id});
    for (name, value) in card(call) {
        update[name] = value;
    }
    update["status"] = "pending".into();
    update["rawInput"] = cut(call.arguments);
    update
}

/// Returns the `update` for a call that has ended. It always has content, which replaces a preview.
pub fn finished(id: &str, call: &Witnessed<'_>, result: &Result<Answer>) -> Value {
    let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id});
    for (name, value) in card(call) {
        update[name] = value;
    }
    match result {
        Ok(answer) => {
            update["status"] = "completed".into();
            update["title"] = title::of_answer(call, answer).into();
            update["locations"] = locations_after(call, answer).into();
            update["content"] = content_after(call, answer).into();
            update["rawOutput"] = cut(&answer.object());
        }
        Err(error) => {
            update["status"] = "failed".into();
            update["content"] = vec![failure(error, call.served)].into();
            update["rawOutput"] = raw_failure(error, call.served);
        }
    }
    update
}

/// Returns the blocks that show the user what a call would do, before it is permitted. `None` if the
/// rehearsal does not show it, so that the caller falls back to the arguments.
pub fn rehearsed(call: &Witnessed<'_>, result: &Result<Answer>) -> Option<Vec<Value>> {
    match result {
        Ok(answer) => Some(content_after(call, answer)),
        Err(
            Error::Internal { .. }
            | Error::Store(
                StoreError::Cancelled | StoreError::Unstable { .. } | StoreError::TooLarge { .. },
            ),
        ) => None,
        Err(error) => {
            // The cause may be gone by the time the call is permitted.
            let mut blocks = vec![words("This would currently fail:")];
            blocks.push(failure(error, call.served));
            blocks.extend(content::asked(call));
            Some(blocks)
        }
    }
}

/// Returns the members of a card that identify a call: title, kind, tool name, locations.
pub fn card(call: &Witnessed<'_>) -> Map<String, Value> {
    let mut card = Map::new();
    card.insert("title".into(), title::of_call(call).into());
    card.insert("kind".into(), kind(call).into());
    card.insert("name".into(), call.tool.name.into());
    card.insert("locations".into(), locations_before(call).into());
    card
}

fn kind(call: &Witnessed<'_>) -> &'static str {
    let has_needle = call.arguments.get("match").is_some_and(|needle| match needle {
        Value::String(text) => !text.is_empty(),
        needle => needle.is_number(),
    });
    match (call.tool.name, call.tool.effect()) {
        ("file_remove", _) => "delete",
        (_, Effect::Changes | Effect::Overwrites) => "edit",
        ("ReadLines", _) if has_needle => "search",
        _ if title::is_many(call) => "search",
        (_, Effect::Reads) => "read",
    }
}

fn locations_before(call: &Witnessed<'_>) -> Vec<Value> {
    let argument = |name| call.arguments.get(name);
    let line = match call.tool.name {
        "read_text_file" | "text_insert" => argument("line").and_then(as_integer),
        "text_read" | "text_replace" => {
            argument("lines").and_then(title::pair).map(|[start, _]| start)
        }
        _ => None,
    };
    let line = line.and_then(|line| u64::try_from(line).ok());
    title::file(call).map(|file| location(&file, line)).into_iter().collect()
}

fn locations_after(call: &Witnessed<'_>, answer: &Answer) -> Vec<Value> {
    if !answer.changes.is_empty() {
        let changed = |change: &FileChange| {
            let line = match (&change.before, &change.after) {
                (Some(before), Some(after)) => {
                    Some(content::first_changed_line(before.text(), after.text()))
                }
                _ => None,
            };
            location(&change.path, line)
        };
        return answer.changes.iter().take(MAX_LOCATIONS).map(changed).collect();
    }
    if call.tool.name != "ReadLines" {
        return locations_before(call);
    }
    let rows = answer.structured.get("rows").and_then(Value::as_array);
    // Line numbers at another commit do not apply to the file that an editor opens.
    let is_now = call.arguments.get("commit").is_none_or(Value::is_null);
    let line_of = |row: &Value| row["line_number"].as_u64().filter(|_| is_now);
    if let Some(file) = title::file(call) {
        return vec![location(&file, rows.and_then(|rows| line_of(rows.first()?)))];
    }
    let mut found: Vec<Value> = Vec::new();
    let mut last = None;
    for row in rows.into_iter().flatten() {
        let Some(path) = row["file_path"].as_str().filter(|path| Some(*path) != last) else {
            continue;
        };
        last = Some(path);
        let path = call.root.join(path);
        if path.is_absolute() {
            found.push(location(&path, line_of(row)));
        }
        if found.len() == MAX_LOCATIONS {
            break;
        }
    }
    found
}

fn location(path: &Path, line: Option<u64>) -> Value {
    let mut location = json!({"path": path.to_string_lossy()});
    if let Some(line) = line.filter(|line| (1..=u64::from(u32::MAX)).contains(line)) {
        location["line"] = line.into();
    }
    location
}

/// Returns the content of a card: a diff of what was changed, and notes. Text that was read is only
/// in the raw output.
fn content_after(call: &Witnessed<'_>, answer: &Answer) -> Vec<Value> {
    let says = |name: &str| answer.structured.get(name) == Some(&Value::Bool(true));
    let creates = says("created") || matches!(call.tool.name, "file_create" | "changes_apply");
    let mut blocks = content::of_changes(&answer.changes, creates);
    if says("dry_run") {
        blocks.push(words("Dry run: nothing was written."));
        if let Some(diff) = answer.structured.get("diff").and_then(Value::as_str) {
            blocks.extend((!diff.is_empty()).then(|| content::literal("diff", diff)));
        }
    } else if says("unchanged") && call.tool.effect() != Effect::Reads {
        blocks.push(words("No change: the file already contains this text."));
    }
    if let Some(Value::Array(notes)) = answer.structured.get("notes") {
        let notes: Vec<&str> = notes.iter().filter_map(Value::as_str).collect();
        blocks.push(content::literal("", &notes.join("\n")));
    }
    blocks
}

fn failure(error: &Error, served: &Served) -> Value {
    let message = error.to_string();
    let text = match error.hint(served) {
        Some(hint) => format!("{message}\n\n{hint}"),
        None => message,
    };
    content::literal("", &text)
}

fn raw_failure(error: &Error, served: &Served) -> Value {
    let mut failure = json!({"code": error.code(), "message": error.to_string()});
    if let Some(hint) = error.hint(served) {
        failure["hint"] = hint.text.into();
    }
    cut(&Map::from_iter([("error".to_string(), failure)]))
}
