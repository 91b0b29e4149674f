//! `file.remove`: a file whose version the caller knows.

use std::sync::Arc;

use recto_text::encoding::Encoding;
use recto_text::{Digest, Document, Error, Result};
use serde_json::{Value, json};

use super::edit::{HASH, PATH, Target, as_edit_error};
use super::{Answer, Arguments, Change, Context, Effect, Tool, Toolset};
use recto_store::{Purpose, Removed, WriteError};

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
    let (bytes, removed) = target.attempt(|| remove(context, &target))?;
    let path = target.path.as_path().to_path_buf();
    let before = text_of(bytes).map(Arc::new);
    let change = Change { path, before, after: None };
    let text = match removed {
        Removed::File => format!("removed {}", target.path),
        Removed::Link => format!("removed the link {}, not what it leads to", target.path),
    };
    Ok(Answer::new(vec![text], json!({"removed": true})).with_change(Some(change)))
}

/// Removes it and returns what it held. Whether that is text is looked at once the folder is free
/// again.
fn remove(context: &Context<'_>, target: &Target) -> Result<(Vec<u8>, Removed), WriteError> {
    let held = context.store.hold(&target.path, Purpose::Remove, context.caller);
    let mut held = held.map_err(|error| as_edit_error(target, error))?;
    let bytes = held.read().map_err(|error| as_edit_error(target, error))?;
    let bytes = bytes.ok_or_else(|| Error::FileNotFound { path: target.path.to_string() })?;
    let digest = Digest::of(&bytes);
    if let Some(expected) = target.expected.filter(|expected| *expected != digest) {
        drop(held);
        let document = text_of(bytes);
        let text = document.as_ref().map(Document::text);
        return Err(target.stale(context, expected, digest, text).into());
    }
    let removed = held.remove(&bytes)?;
    Ok((bytes, removed))
}

/// What a file held, if that was text. Only a hint and an editor's card show it, and to tell old
/// encodings apart takes a second for 11 MiB, so that nobody waits for that with a large file.
fn text_of(bytes: Vec<u8>) -> Option<Document> {
    const MAX_DETECTED: usize = 16 << 20;
    let is_unicode = || Encoding::has_bom(&bytes) || str::from_utf8(&bytes).is_ok();
    match bytes.len() <= MAX_DETECTED || is_unicode() {
        true => Document::parse(bytes).ok(),
        false => None,
    }
}

fn output() -> Value {
    json!({"type": "object", "properties": {"removed": {"type": "boolean"}}, "required": ["removed"]})
}
