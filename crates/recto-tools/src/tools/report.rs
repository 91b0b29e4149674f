//! The report of an edit: the diff, and one line about the version.

use recto_text::find::MatchKind;
use serde_json::{Value, json};

use super::Answer;
use super::edit::{Edited, Target};

/// Returns the answer of a tool of the edit toolset. `structured` contains tool-specific fields.
pub fn edited(target: &Target, edited: &Edited, mut structured: Value, what: &str) -> Answer {
    structured["match"] = edited.plan.kind.as_str().into();
    structured["hash"] = edited.digest.to_string().into();
    structured["diff"] = edited.diff.as_deref().unwrap_or_default().into();
    if edited.diff.is_none() {
        structured["diff_omitted"] = true.into();
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
    if edited.diff.is_none() {
        notes.push("the diff is too large to show".into());
    }
    if edited.written.broke_hard_links {
        structured["hard_links_broken"] = true.into();
        notes.push("other hard links keep the old content".into());
    }
    notes.push(format!("hash {}", edited.digest));
    let diff = edited.diff.clone().unwrap_or_default();
    Answer::new(notes.join(", "), structured).with_content(diff).with_change(edited.change.clone())
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
    for name in ["dry_run", "unchanged", "diff_omitted", "hard_links_broken"] {
        schema["properties"][name] = json!({"type": "boolean"});
    }
    schema
}
