//! The titles of calls: what a call does to which file, in one line.
//!
//! Arguments are not validated yet. A value of the wrong type is left out of the title; the tool
//! rejects it.

use std::path::{Component, Path, PathBuf};

use recto_text::quote::is_active;

use serde_json::Value;

use recto_store::glob::Glob;
use recto_tools::call::Witnessed;
use recto_tools::tools::{Answer, SUBJECTS, as_integer};

/// The maximum number of characters of a title.
pub const MAX_CHARS: usize = 200;

const MAX_PATH_CHARS: usize = 120;
const MAX_NEEDLE_CHARS: usize = 40;
const MAX_COMMIT_CHARS: usize = 24;
const MAX_SPEC_CHARS: usize = 40;

/// The maximum length of a file's path, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// Returns the title of a call that has not run yet.
pub fn of_call(call: &Witnessed<'_>) -> String {
    if call.tool.name == "changes_apply" {
        let n_changes = call.arguments.get("changes").and_then(Value::as_array).map(Vec::len);
        let title = match n_changes {
            Some(n_changes @ 2..) => format!("Change files ({n_changes} changes)"),
            _ => call.tool.title.to_string(),
        };
        return with_dry_run(call, title);
    }
    let Some(file) = subject(call) else {
        let title = call.tool.title;
        let change = call.arguments.get("change").and_then(as_integer);
        return change.map_or_else(|| title.into(), |change| format!("{title} {change}"));
    };
    let at = match text(call, "commit") {
        Some(commit) => format!(" at {}", head(&visible(commit), MAX_COMMIT_CHARS)),
        None => String::new(),
    };
    let title = match call.tool.name {
        "read_text_file" => format!("Read {file}{}", lines_read(call)),
        "text_read" => format!("Read {file}{}", half_open(call)),
        "ReadLines" => match text_or_number(call, "match").filter(|needle| !needle.is_empty()) {
            Some(needle) => {
                let needle = head(&visible(&needle), MAX_NEEDLE_CHARS);
                format!("Search \"{needle}\" in {file}{at}")
            }
            None => format!("Read {file}{at}{}", lines_spec(call)),
        },
        "ReadAsTable" => format!("Preview {file}{at}"),
        "ListFiles" => format!("List {file}{at}"),
        "write_text_file" => format!("Write {file}"),
        "file_create" => format!("Create {file}"),
        "edit_text_file" => format!("Edit {file}"),
        "multi_edit_text_file" => format!("Edit {file}{}", n_edits(call)),
        "text_replace" => format!("Edit {file}{}", half_open(call)),
        "text_insert" => format!("Insert into {file}{}", insertion(call)),
        "text_append" => format!("Append to {file}"),
        "file_remove" => format!("Remove {file}"),
        _ => format!("{}: {file}", call.tool.title),
    };
    with_dry_run(call, title)
}

fn with_dry_run(call: &Witnessed<'_>, title: String) -> String {
    let is_dry_run = matches!(call.arguments.get("dry_run"), Some(Value::Bool(true)))
        || text(call, "dry_run") == Some("true");
    head(&if is_dry_run { format!("{title} (dry run)") } else { title }, MAX_CHARS)
}

/// Returns the title of a successful call, which knows whether the file is new.
pub fn of_answer(call: &Witnessed<'_>, answer: &Answer) -> String {
    let title = of_call(call);
    let is_new = answer.structured.get("created") == Some(&Value::Bool(true));
    match title.strip_prefix("Write ") {
        Some(file) if is_new => format!("Create {file}"),
        _ => title,
    }
}

/// Returns the absolute path of the single file that a call names, if it is a valid path.
pub fn file(call: &Witnessed<'_>) -> Option<PathBuf> {
    let given = given(call).filter(|given| !given.is_empty() && given.len() <= MAX_PATH_BYTES)?;
    if given.contains('\0') || is_many(call) {
        return None;
    }
    // Removes `.` components, so that the path is spelled as editors spell it.
    let path: PathBuf = call.root.join(given).components().collect();
    path.is_absolute().then_some(path)
}

/// Whether a call applies to all files that match a pattern.
pub fn is_many(call: &Witnessed<'_>) -> bool {
    match call.tool.name {
        "ListFiles" => true,
        "ReadLines" => given(call).is_some_and(Glob::is_glob),
        _ => false,
    }
}

/// Returns the argument that names the file or files.
fn given<'a>(call: &Witnessed<'a>) -> Option<&'a str> {
    let arguments = call.arguments;
    SUBJECTS.iter().find_map(|name| arguments.get(*name)?.as_str())
}

/// Returns the file as shown in a title: relative to the root, and the end of a long path.
fn subject(call: &Witnessed<'_>) -> Option<String> {
    let given = given(call).filter(|given| !given.is_empty())?;
    let has_root = !call.root.as_os_str().is_empty();
    let relative = Path::new(given).strip_prefix(call.root).ok().filter(|_| has_root);
    let shown: PathBuf = match relative {
        Some(rest) if rest.as_os_str().is_empty() => ".".into(),
        Some(rest) => rest.components().collect(),
        None => Path::new(given).components().filter(|part| *part != Component::CurDir).collect(),
    };
    let shown = if shown.as_os_str().is_empty() { Path::new(given) } else { &shown };
    Some(tail(&visible(&shown.to_string_lossy()), MAX_PATH_CHARS))
}

fn text<'a>(call: &Witnessed<'a>, name: &str) -> Option<&'a str> {
    call.arguments.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn text_or_number(call: &Witnessed<'_>, name: &str) -> Option<String> {
    match call.arguments.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// `line` and `limit` of `read_text_file`.
fn lines_read(call: &Witnessed<'_>) -> String {
    let number = |name| call.arguments.get(name).and_then(as_integer).filter(|number| *number >= 1);
    match (number("line"), number("limit")) {
        (None, None) => String::new(),
        (Some(line), None) => format!(" (from line {line})"),
        (line, Some(limit)) => {
            let start = line.unwrap_or(1);
            inclusive(start, start.saturating_add(limit - 1))
        }
    }
}

/// `lines` of the text toolset, `[start, end)`.
fn half_open(call: &Witnessed<'_>) -> String {
    let Some([start, end]) = call.arguments.get("lines").and_then(pair) else {
        return if text(call, "since").is_some() { " (changes)".into() } else { String::new() };
    };
    match (start, end) {
        (0 | 1, 0) => String::new(),
        (-1, 0) => " (last line)".into(),
        (start, 0) if start < 0 => format!(" (last {} lines)", start.unsigned_abs()),
        (start, 0) => format!(" (from line {start})"),
        (start, end) if start >= 0 && end > start.max(1) => inclusive(start.max(1), end - 1),
        (start, end) => format!(" (lines [{start}, {end}))"),
    }
}

/// Parses an array of two integers.
pub fn pair(value: &Value) -> Option<[i64; 2]> {
    match value.as_array()?.as_slice() {
        [start, end] => Some([as_integer(start)?, as_integer(end)?]),
        _ => None,
    }
}

/// `lines` of `ReadLines`, as given.
fn lines_spec(call: &Witnessed<'_>) -> String {
    let Some(spec) = text_or_number(call, "lines") else { return String::new() };
    let spec = head(&visible(spec.trim()), MAX_SPEC_CHARS);
    if spec.is_empty() {
        return String::new();
    }
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match spec.split_once('-') {
        None if is_digits(&spec) => format!(" (line {spec})"),
        Some((start, end)) if is_digits(start) && is_digits(end) => {
            format!(" (lines {start}–{end})")
        }
        Some(("", n_lines)) if is_digits(n_lines) => format!(" (first {n_lines} lines)"),
        _ => format!(" (lines {spec})"),
    }
}

fn n_edits(call: &Witnessed<'_>) -> String {
    match call.arguments.get("edits").and_then(Value::as_array).map(Vec::len) {
        None | Some(0 | 1) => String::new(),
        Some(n_edits) => format!(" ({n_edits} edits)"),
    }
}

fn insertion(call: &Witnessed<'_>) -> String {
    match call.arguments.get("line").and_then(as_integer) {
        Some(-1) => " (before the last line)".into(),
        Some(line) if line < 0 => format!(" (line {} from the end)", line.unsigned_abs()),
        Some(line) => format!(" (line {line})"),
        None => String::new(),
    }
}

fn inclusive(start: i64, end: i64) -> String {
    if start == end { format!(" (line {start})") } else { format!(" (lines {start}–{end})") }
}

/// Makes invisible characters visible: control characters as pictures, characters that reorder or
/// hide text as code points.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            number @ 0..0x20 => shown.push(char::from_u32(0x2400 + number).unwrap_or(c)),
            0x7f => shown.push('␡'),
            number if is_active(c) => shown.push_str(&format!("<U+{number:04X}>")),
            _ => shown.push(c),
        }
    }
    shown
}

/// Truncates the end of a text.
fn head(text: &str, n_chars: usize) -> String {
    if text.chars().nth(n_chars).is_none() {
        return text.to_string();
    }
    text.chars().take(n_chars - 1).chain(['…']).collect()
}

/// Truncates the beginning of a text, which is the less specific part of a path.
fn tail(text: &str, n_chars: usize) -> String {
    match text.char_indices().rev().nth(n_chars - 1) {
        None | Some((0, _)) => text.to_string(),
        Some((start, first)) => format!("…{}", &text[start + first.len_utf8()..]),
    }
}
