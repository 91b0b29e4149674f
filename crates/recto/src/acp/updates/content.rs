//! The content of a card: diffs, and messages where a diff is not enough.
//!
//! Small files are shown whole. For large files each changed range is a diff of its own, because an
//! editor would show joined lines as if they were adjacent.

use std::path::Path;

use recto_text::quote::Lines;
use serde_json::{Map, Value, json};

use super::changed_ranges::{self, ChangedRange};
use super::cut::cut_text;
use super::title;
use recto_tools::call::Witnessed;
use recto_tools::tools::FileChange;

/// The maximum size of a file that is shown whole, and of the excerpts of a larger one.
pub const MAX_SHOWN_TEXT: usize = 1 << 20;

/// The maximum number of changed ranges of a large file, or of edits of one call, that are shown.
pub const MAX_DIFFS: usize = 32;

const N_CONTEXT: usize = 3;

/// The maximum number of characters of a message.
const MAX_MESSAGE: usize = 8000;

/// The member of a block's `_meta` that recto uses.
pub const META: &str = "recto";

/// Returns a text block. Editors render it as Markdown.
pub fn words(text: impl Into<String>) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text.into()}})
}

/// Returns a text block as a fenced code block, so that editors show it literally.
pub fn literal(language: &str, text: &str) -> Value {
    let text = cut_text(text.trim_end_matches('\n'), MAX_MESSAGE);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    words(format!("{fence}{language}\n{text}\n{fence}"))
}

/// Returns the blocks that show the changes of a call, up to a size.
pub fn of_changes(changes: &[FileChange], is_new: bool) -> Vec<Value> {
    if let [FileChange { moved_from: None, .. }] = changes {
        return of_change(&changes[0], is_new);
    }
    let blocks = changes.iter().flat_map(|change| {
        let mut blocks = of_change(change, is_new);
        if let Some(from) = &change.moved_from {
            let (from, to) = (from.display().to_string(), change.path.display().to_string());
            if change.before.as_ref().map(|it| it.bytes())
                == change.after.as_ref().map(|it| it.bytes())
            {
                blocks.clear();
            }
            blocks.push(literal("", &format!("Moved {from} to {to}")));
        }
        blocks
    });
    match bounded(blocks.map(|block| (block.to_string().len(), block))) {
        (blocks, 0) => blocks,
        (mut blocks, n_left_out) => {
            blocks.push(words(left_out(n_left_out, "change")));
            blocks
        }
    }
}

/// Returns the blocks that show a change of a file.
pub fn of_change(change: &FileChange, is_new: bool) -> Vec<Value> {
    let path = &*change.path;
    let before = change.before.as_ref().map(|document| document.text());
    let after = change.after.as_ref().map(|document| document.text());
    match (before, after) {
        (None, None) => vec![words("The file is not text, so there is no diff to show.")],
        (None, Some(after)) if after.len() > MAX_SHOWN_TEXT => vec![too_large(after)],
        (None, Some(after)) if is_new => vec![diff_block(path, None, after)],
        (None, Some(after)) => vec![
            diff_block(path, Some(""), after),
            words("The previous content is not text and is not shown."),
        ],
        (Some(before), None) if before.len() > MAX_SHOWN_TEXT => vec![too_large(before)],
        (Some(before), None) => vec![diff_block(path, Some(before), "")],
        (Some(before), Some(after)) if before.len().max(after.len()) <= MAX_SHOWN_TEXT => {
            vec![diff_block(path, Some(before), after)]
        }
        (Some(before), Some(after)) => large(path, before, after),
    }
}

/// Returns the blocks that show what a call would do if the file's content is not known.
pub fn preview(call: &Witnessed<'_>) -> Vec<Value> {
    let mut blocks = asked(call);
    // A diff without old text looks like a new file.
    if call.tool.name == "write_text_file" && !blocks.is_empty() {
        blocks.push(words("The current content of the file, if it exists, is not shown."));
    }
    blocks
}

/// Returns the blocks that show a call's arguments as diffs. Reads no file.
pub fn asked(call: &Witnessed<'_>) -> Vec<Value> {
    let Some(path) = title::file(call) else { return Vec::new() };
    let text = |arguments: &Map<String, Value>, name: &str| {
        let text = arguments.get(name)?.as_str()?;
        Some(text.strip_prefix('\u{feff}').unwrap_or(text).to_string())
    };
    let own = |name: &str| text(call.arguments, name);
    let replacement = |old: Option<String>, new: Option<String>| Some((Some(old?), new?));
    let is_base64 = own("encoding").is_some_and(|encoding| encoding == "base64");
    let parts: Vec<(Option<String>, String)> = match call.tool.name {
        "write_text_file" => own("content").map(|new| (None, new)).into_iter().collect(),
        "file_create" if !is_base64 => own("content").map(|new| (None, new)).into_iter().collect(),
        "edit_text_file" => replacement(own("old_string"), own("new_string")).into_iter().collect(),
        "multi_edit_text_file" => {
            let edits = call.arguments.get("edits").and_then(Value::as_array);
            let edit = |edit: &Value| {
                let edit = edit.as_object()?;
                replacement(text(edit, "old_string"), text(edit, "new_string"))
            };
            edits.into_iter().flatten().filter_map(edit).collect()
        }
        "text_replace" => replacement(own("old"), own("new")).into_iter().collect(),
        "text_insert" => match (own("anchor"), own("content")) {
            (Some(anchor), Some(content)) => {
                let anchor = as_lines(anchor);
                vec![(Some(anchor.clone()), as_lines(content) + &anchor)]
            }
            _ => Vec::new(),
        },
        "text_append" => own("content").map(|new| (Some(String::new()), new)).into_iter().collect(),
        _ => Vec::new(),
    };
    if let [(None, new)] = parts.as_slice()
        && new.len() > MAX_SHOWN_TEXT
    {
        return vec![too_large(new)];
    }
    let blocks = parts.iter().map(|(old, new)| {
        let n_bytes = old.as_ref().map_or(0, String::len) + new.len();
        let mut block = diff_block(&path, old.as_deref(), new);
        if old.is_some() {
            block["_meta"] = json!({META: {"excerpt": true}});
        }
        (n_bytes, block)
    });
    match bounded(blocks) {
        (blocks, 0) => blocks,
        (mut blocks, n_left_out) => {
            blocks.push(words(left_out(n_left_out, "edit")));
            blocks
        }
    }
}

/// Returns the number of the first line that differs, counted from 1.
pub fn first_changed_line(before: &str, after: &str) -> u64 {
    let n_equal = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    let n_endings = after.as_bytes()[..n_equal].iter().filter(|byte| **byte == b'\n').count();
    let n_lines = recto_text::line::count(after);
    (n_endings + 1).min(n_lines).max(1) as u64
}

fn diff_block(path: &Path, old: Option<&str>, new: &str) -> Value {
    let mut block = json!({"type": "diff", "path": path.to_string_lossy()});
    if let Some(old) = old {
        block["oldText"] = old.into();
    }
    block["newText"] = new.into();
    block
}

/// Returns a diff with context for each changed range of a large file.
fn large(path: &Path, before: &str, after: &str) -> Vec<Value> {
    let old_lines: Vec<&str> = recto_text::line::lines(before).collect();
    let new_lines: Vec<&str> = recto_text::line::lines(after).collect();
    let (n_old, n_new) = (old_lines.len(), new_lines.len());
    let ranges = changed_ranges::find(&old_lines, &new_lines);
    let is_near =
        |one: &ChangedRange, next: &ChangedRange| next.old.start - one.old.end <= 2 * N_CONTEXT;
    let blocks = ranges.chunk_by(is_near).map(|nearby| {
        let (first, last) = (&nearby[0], &nearby[nearby.len() - 1]);
        let n_above = N_CONTEXT.min(first.old.start).min(first.new.start);
        let n_below = N_CONTEXT.min(n_old - last.old.end).min(n_new - last.new.end);
        let old = first.old.start - n_above..last.old.end + n_below;
        let new = first.new.start - n_above..last.new.end + n_below;
        let meta = json!({META: {"oldLine": old.start + 1, "newLine": new.start + 1}});
        let (old, new) = (old_lines[old].concat(), new_lines[new].concat());
        let mut block = diff_block(path, Some(&old), &new);
        block["_meta"] = meta;
        (old.len() + new.len(), block)
    });
    let (mut blocks, n_left_out) = bounded(blocks);
    let mut note = match blocks.is_empty() {
        true => "The file is too large to show whole.".to_string(),
        false => format!(
            "The file is too large to show whole; only the changed lines are shown, with \
             {N_CONTEXT} lines of context."
        ),
    };
    if n_left_out > 0 {
        note = format!("{note} {}", left_out(n_left_out, "change"));
    }
    blocks.push(words(note));
    blocks
}

/// Returns the blocks that fit the limits, and the number of those that do not.
fn bounded(blocks: impl Iterator<Item = (usize, Value)>) -> (Vec<Value>, usize) {
    let (mut shown, mut n_shown_bytes, mut n_left_out) = (Vec::new(), 0, 0);
    for (n_bytes, block) in blocks {
        if shown.len() < MAX_DIFFS && n_shown_bytes + n_bytes <= MAX_SHOWN_TEXT {
            n_shown_bytes += n_bytes;
            shown.push(block);
        } else {
            n_left_out += 1;
        }
    }
    (shown, n_left_out)
}

fn left_out(n_left_out: usize, unit: &str) -> String {
    match n_left_out {
        1 => format!("1 {unit} is not shown."),
        n_left_out => format!("{n_left_out} {unit}s are not shown."),
    }
}

fn too_large(text: &str) -> Value {
    let n_lines = Lines(recto_text::line::count(text) as u64);
    words(format!("Too large to show: {n_lines}, {} bytes.", text.len()))
}

fn as_lines(text: String) -> String {
    if text.ends_with('\n') { text } else { text + "\n" }
}
