//! Calls as values, and their JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::strings::Edit;

/// The request of a caller.
#[derive(Debug, Clone)]
pub struct Call {
    /// As the caller writes it: absolute or relative.
    pub path: String,
    pub action: Action,
}

#[derive(Debug, Clone)]
pub enum Action {
    Read { lines: Option<[i64; 2]>, since: Option<String> },
    Replace { hash: String, lines: [i64; 2], old: String, new: String },
    Insert { hash: String, line: i64, anchor: String, content: String },
    Append { hash: String, content: String },
    CreateText { content: String },
    CreateBytes { bytes: Vec<u8> },
    Remove { hash: String },
    Edit { edit: Edit, terms: Terms },
    MultiEdit { edits: Vec<Edit>, terms: Terms },
    Write { content: String, terms: Terms },
}

/// The further arguments of every tool of the edit toolset.
#[derive(Debug, Clone)]
pub struct Terms {
    pub expected_hash: Option<String>,
    pub is_dry_run: bool,
}

impl Action {
    pub fn tool(&self) -> &'static str {
        match self {
            Action::Read { .. } => "text_read",
            Action::Replace { .. } => "text_replace",
            Action::Insert { .. } => "text_insert",
            Action::Append { .. } => "text_append",
            Action::CreateText { .. } | Action::CreateBytes { .. } => "file_create",
            Action::Remove { .. } => "file_remove",
            Action::Edit { .. } => "edit_text_file",
            Action::MultiEdit { .. } => "multi_edit_text_file",
            Action::Write { .. } => "write_text_file",
        }
    }
}

impl Call {
    /// Returns the arguments with every optional one written out: null is absent.
    pub fn arguments(&self) -> Map<String, Value> {
        let mut arguments = match &self.action {
            Action::Read { lines, since } => json!({"lines": lines, "since": since}),
            Action::Replace { hash, lines, old, new } => {
                json!({"hash": hash, "lines": lines, "old": old, "new": new})
            }
            Action::Insert { hash, line, anchor, content } => {
                json!({"hash": hash, "line": line, "anchor": anchor, "content": content})
            }
            Action::Append { hash, content } => json!({"hash": hash, "content": content}),
            Action::CreateText { content } => json!({"content": content, "encoding": null}),
            Action::CreateBytes { bytes } => {
                json!({"content": STANDARD.encode(bytes), "encoding": "base64"})
            }
            Action::Remove { hash } => json!({"hash": hash}),
            Action::Edit { edit, terms } => with_terms(written(edit), terms),
            Action::MultiEdit { edits, terms } => {
                let edits: Vec<Value> = edits.iter().map(written).collect();
                with_terms(json!({"edits": edits}), terms)
            }
            Action::Write { content, terms } => with_terms(json!({"content": content}), terms),
        };
        arguments["path"] = self.path.as_str().into();
        let Value::Object(arguments) = arguments else { unreachable!() };
        arguments
    }
}

fn written((old, new): &Edit) -> Value {
    json!({"old_string": old, "new_string": new})
}

fn with_terms(mut arguments: Value, terms: &Terms) -> Value {
    arguments["expected_hash"] = json!(terms.expected_hash);
    arguments["dry_run"] = json!(terms.is_dry_run);
    arguments
}
