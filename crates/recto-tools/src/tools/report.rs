//! The report of an edit: the diff, and one line about the version.

use recto_text::diff::{Bounds, UnifiedDiff};
use recto_text::find::MatchKind;
use recto_text::plan::Found;
use recto_text::size::Size;
use serde_json::{Value, json};

use super::Answer;
use super::edit::{Edited, Target};
use super::edit_text_file::places_bytes;
use crate::budget::{Budget, json_size};
use crate::delivery::Delivery;

/// The size of an item such as `{"edit_index":12345,"start":123456,"end":123456},`.
const ITEM_BYTES: usize = 50;

/// Returns the bytes of an answer's object that a list may have.
fn list_bytes(delivery: Delivery) -> usize {
    delivery.max_bytes / 4
}

/// If an edit replaces more places than this, only the first hunks of the diff are shown: the caller
/// knows what the others look like, and the answer lists their lines.
const MANY_PLACES: usize = 5;
const HUNKS_OF_MANY: usize = 2;
const DIFF_OF_MANY: usize = 600;

/// Returns the bounds of a diff in an answer whose object also lists where each edit was found,
/// shortened by [`list`].
pub fn diff_bounds(delivery: Delivery, found: &[Found]) -> Bounds {
    let places = found.iter().filter(|found| found.is_all).map(places_bytes);
    let n_list = found.len() * ITEM_BYTES + places.sum::<usize>();
    let bounds = diff_bounds_within(delivery, n_list);
    if !found.iter().any(|found| found.n_places > MANY_PLACES) {
        return bounds;
    }
    let bytes = bounds.max_size.bytes.min(DIFF_OF_MANY);
    Bounds { max_hunks: HUNKS_OF_MANY, max_size: Size { bytes, ..bounds.max_size } }
}

/// Returns the bounds of a diff in an answer whose object also has a [`list`].
pub fn diff_bounds_beside(delivery: Delivery, n_items: usize) -> Bounds {
    diff_bounds_within(delivery, n_items.saturating_mul(ITEM_BYTES))
}

fn diff_bounds_within(delivery: Delivery, n_list: usize) -> Bounds {
    let n_list = n_list.min(list_bytes(delivery));
    let max_size = Budget::content(delivery).without(n_list).left();
    Bounds { max_hunks: usize::MAX, max_size }
}

/// Adds the items of a list that fit to an answer's object, and the number of the others.
pub fn list(structured: &mut Value, name: &str, mut items: Vec<Value>, delivery: Delivery) {
    let (n_items, mut n_left) = (items.len(), list_bytes(delivery));
    let mut fits = |item: &&Value| {
        let left = n_left.checked_sub(json_size(item));
        left.inspect(|left| n_left = *left).is_some()
    };
    items.truncate(items.iter().take_while(|item| fits(item)).count());
    if items.len() < n_items {
        structured[format!("{name}_omitted")] = (n_items - items.len()).into();
    }
    structured[name] = items.into();
}

/// Returns the answer of a tool of the edit toolset. `structured` contains tool-specific fields.
pub fn edited(target: &Target, edited: &Edited, mut structured: Value, what: &str) -> Answer {
    structured["match"] = edited.plan.kind.as_str().into();
    structured["hash"] = edited.digest.to_string().into();
    structured["diff"] = edited.diff.text.as_str().into();
    if edited.diff.is_shortened {
        structured["diff_shortened"] = true.into();
    }
    if target.is_dry_run {
        structured["dry_run"] = true.into();
    }
    let done = if target.is_dry_run {
        format!("dry run, {what} not written")
    } else {
        format!("{what} written")
    };
    with_notes(edited, structured, done)
}

/// Returns the answer of a tool of the text toolset: the new version and its number of lines.
pub fn verified(edited: &Edited, done: &str) -> Answer {
    let structured = json!({"hash": edited.digest.to_string(), "total_lines": edited.total_lines});
    with_notes(edited, structured, done.to_string())
}

/// Returns the diff as text, and one line about everything else.
fn with_notes(edited: &Edited, mut structured: Value, done: String) -> Answer {
    let mut notes = vec![done];
    if edited.is_unchanged {
        structured["unchanged"] = true.into();
        notes = vec!["unchanged: the file already has this text".to_string()];
    }
    if edited.plan.kind == MatchKind::Eol {
        notes.push("matched despite different line endings".into());
    }
    notes.extend(diff_notes(&edited.diff));
    if edited.written.broke_hard_links {
        structured["hard_links_broken"] = true.into();
        notes.push("other hard links keep the old content".into());
    }
    let of_what = if edited.is_dry_run { " of the proposed text" } else { "" };
    notes.push(format!("hash{of_what} {}", edited.digest));
    let (head, diff) = (notes.join(", "), edited.diff.text.clone());
    let answer = Answer::new(head, structured).with_content(diff);
    let answer = answer.with_change(edited.change.clone());
    if edited.is_dry_run { answer } else { answer.with_version(edited.digest) }
}

/// Returns the notes on a diff for the head of an answer.
pub fn diff_notes(diff: &UnifiedDiff) -> impl Iterator<Item = String> {
    let shortened = diff.is_shortened.then(|| "diff shortened".to_string());
    diff.endings.clone().into_iter().chain(shortened)
}

/// Returns the output schema of a tool of the text toolset.
pub fn verified_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "hash": {"type": "string"},
            "total_lines": {"type": "integer"},
            "match": {"type": "string"},
            "unchanged": {"type": "boolean"},
            "hard_links_broken": {"type": "boolean"},
        },
        "required": ["hash", "total_lines"],
    })
}

/// Returns the output schema of a tool of the edit toolset with its own properties.
pub fn schema(own: Value) -> Value {
    let Value::Object(own) = own else { unreachable!("properties are an object") };
    let mut required = vec!["success", "diff", "match", "hash"];
    required.extend(own.keys().map(String::as_str));
    let mut schema = json!({
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "diff": {"type": "string"},
            "match": {"type": "string"},
            "hash": {"type": "string"},
        },
        "required": required,
    });
    for (name, property) in own {
        schema["properties"][name] = property;
    }
    with_flags(schema)
}

/// Adds the flags that an answer of the edit toolset contains only if true.
pub fn with_flags(mut schema: Value) -> Value {
    for name in ["dry_run", "unchanged", "diff_shortened", "hard_links_broken"] {
        schema["properties"][name] = json!({"type": "boolean"});
    }
    schema
}
