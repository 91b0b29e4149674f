//! `file.remove`: a file whose version the caller knows.

use std::sync::Arc;

use recto_text::{Digest, Document, Error, Result};
use serde_json::{Value, json};

use super::edit::{HASH, PATH, Target, as_edit_error};
use super::{Answer, Arguments, Change, Context, Effect, Tool, Toolset};
use crate::store::{Purpose, Removed, WriteError};

pub static TOOL: Tool = Tool {
    name: "file.remove",
    title: "Remove file",
    toolset: Toolset::Text,
    description: "Remove a file, never a folder, if its hash is still the one you name.",
    params: &[PATH, HASH],
    output,
    effect: Effect::Overwrites,
    run,
};

fn run(context: &Context<'_>, mut arguments: Arguments) -> Result<Answer> {
    let target = Target::parse_verified(context, &mut arguments)?;
    let (before, removed) = target.attempt(|| remove(context, &target))?;
    let path = target.path.as_path().to_path_buf();
    let change = Change { path, before: before.map(Arc::new), after: None };
    let text = match removed {
        Removed::File => format!("removed {}", target.path),
        Removed::Link => format!("removed the link {}, not what it leads to", target.path),
    };
    Ok(Answer::new(vec![text], json!({"removed": true})).with_change(Some(change)))
}

/// Removes it and returns what it held, if that was text.
fn remove(
    context: &Context<'_>,
    target: &Target,
) -> Result<(Option<Document>, Removed), WriteError> {
    let held = context.store.hold(&target.path, Purpose::Remove, context.caller);
    let mut held = held.map_err(|error| as_edit_error(target, error))?;
    let bytes = held.read().map_err(|error| as_edit_error(target, error))?;
    let bytes = bytes.ok_or_else(|| Error::FileNotFound { path: target.path.to_string() })?;
    let digest = Digest::of(&bytes);
    let document = Document::parse(bytes);
    target.check_version(context, digest, document.as_ref().ok().map(Document::text))?;
    let removed = match &document {
        Ok(document) => held.remove(document.bytes())?,
        Err(bytes) => held.remove(bytes)?,
    };
    Ok((document.ok(), removed))
}

fn output() -> Value {
    json!({"type": "object", "properties": {"removed": {"type": "boolean"}}, "required": ["removed"]})
}
