//! The same updates in the shape of ACP's version 2, a draft: one kind of update for new and
//! known calls, and diffs as patches.

use recto_text::diff::{OldSide, unified};
use recto_text::edits::Edits;
use serde_json::{Value, json};

use super::content::{META, literal};

/// Turns an update of version 1 into one of version 2.
pub fn to_v2(mut update: Value) -> Value {
    let is_removal = update["kind"] == "delete";
    if update["sessionUpdate"] == "tool_call" {
        update["sessionUpdate"] = "tool_call_update".into();
    }
    if let Some(Value::Array(blocks)) = update.get_mut("content") {
        *blocks = content(std::mem::take(blocks), is_removal);
    }
    update
}

/// Turns the blocks of a card into those of version 2.
pub fn content(blocks: Vec<Value>, is_removal: bool) -> Vec<Value> {
    let mut turned = Vec::with_capacity(blocks.len());
    for block in blocks {
        if block["type"] == "diff" {
            turned.extend(diff(&block, is_removal));
        } else {
            turned.push(block);
        }
    }
    turned
}

fn diff(block: &Value, is_removal: bool) -> Vec<Value> {
    let path = block["path"].as_str().unwrap_or_default();
    let new = block["newText"].as_str().unwrap_or_default();
    let old = block["oldText"].as_str();
    let operation = match old {
        None => Operation::Add,
        Some(_) if is_removal && new.is_empty() => Operation::Delete,
        Some(_) => Operation::Modify,
    };
    let changes = json!([{"operation": operation.name(), "path": path, "fileType": "text"}]);
    let mut turned = json!({"type": "diff", "changes": changes});
    let old = old.unwrap_or_default();
    let hunks = hunks(operation, old, new);
    let place = &block["_meta"][META];
    if place["excerpt"] == true {
        // Where the text stands is not known, and a patch must say it.
        let hunks = hunks.unwrap_or_default();
        return vec![turned, literal("diff", &without_headers(&hunks))];
    }
    let line = |name: &str| place[name].as_u64().unwrap_or(1).saturating_sub(1);
    if let Some(hunks) = hunks {
        let hunks = moved(&hunks, line("oldLine"), line("newLine"));
        let text = format!("{}{hunks}", operation.header(path));
        turned["patch"] = json!({"format": "git_patch", "text": text});
    }
    vec![turned]
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Add,
    Modify,
    Delete,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Add => "add",
            Operation::Modify => "modify",
            Operation::Delete => "delete",
        }
    }

    /// The lines before the hunks, as git writes them, with absolute paths.
    fn header(self, path: &str) -> String {
        let name = quoted(path);
        // So that whoever reads it knows where a name with spaces ends.
        let tab = if path.contains(' ') { "\t" } else { "" };
        let first = format!("diff --git {name} {name}\n");
        match self {
            Operation::Add => {
                format!("{first}new file mode 100644\n--- /dev/null\n+++ {name}{tab}\n")
            }
            Operation::Modify => format!("{first}--- {name}{tab}\n+++ {name}{tab}\n"),
            Operation::Delete => {
                format!("{first}deleted file mode 100644\n--- {name}{tab}\n+++ /dev/null\n")
            }
        }
    }
}

/// The hunks of a diff, or `None` where there is none to show.
fn hunks(operation: Operation, old: &str, new: &str) -> Option<String> {
    let old_side = match operation {
        Operation::Add => OldSide::Nothing,
        Operation::Modify | Operation::Delete => OldSide::File,
    };
    let diff = unified("", old_side, old, new, &Edits::whole(old, new))?;
    // The two lines that name the files are written above.
    let hunks = diff.splitn(3, '\n').nth(2)?;
    Some(hunks.to_string())
}

/// The same hunks, so many lines further down.
fn moved(hunks: &str, n_old: u64, n_new: u64) -> String {
    if n_old == 0 && n_new == 0 {
        return hunks.to_string();
    }
    let shift = |range: &str, n_lines: u64| {
        let (start, length) = range.split_once(',').map_or((range, ""), |(a, b)| (a, b));
        let start = start.parse::<u64>().unwrap_or(0) + n_lines;
        if length.is_empty() { start.to_string() } else { format!("{start},{length}") }
    };
    let mut moved = String::with_capacity(hunks.len());
    for line in hunks.split_inclusive('\n') {
        // No other line of a diff starts like this.
        let ranges = line
            .strip_prefix("@@ -")
            .and_then(|line| line.split_once(" @@"))
            .and_then(|(ranges, rest)| Some((ranges.split_once(" +")?, rest)));
        match ranges {
            Some(((old, new), rest)) => {
                let (old, new) = (shift(old, n_old), shift(new, n_new));
                moved.push_str(&format!("@@ -{old} +{new} @@{rest}"));
            }
            None => moved.push_str(line),
        }
    }
    moved
}

/// The lines alone, without where they stand and whether the last one has an ending.
fn without_headers(hunks: &str) -> String {
    hunks.split_inclusive('\n').filter(|line| !line.starts_with(['@', '\\'])).collect()
}

/// A path as git quotes it: as it is, or between quotes with its unusual bytes escaped.
fn quoted(path: &str) -> String {
    let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if path.bytes().all(is_plain) {
        return path.to_string();
    }
    let mut quoted = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b'\n' => quoted.push_str("\\n"),
            b'\t' => quoted.push_str("\\t"),
            b'\r' => quoted.push_str("\\r"),
            byte if is_plain(byte) => quoted.push(char::from(byte)),
            byte => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}
