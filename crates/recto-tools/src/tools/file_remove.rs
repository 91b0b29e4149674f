//! `file_remove`: removes a file whose version the caller knows.

use std::sync::Arc;

use crate::error::Result;
use recto_text::encoding::Encoding;
use recto_text::{Digest, Document};
use serde_json::{Value, json};

use super::edit::{Attempt, HASH, PATH, Target, as_edit_error};
use super::{Answer, Arguments, FileChange, Run, Tool, Toolset, WriteEnv};
use recto_store::{Removed, WriteStore};

pub static TOOL: Tool = Tool {
    name: "file_remove",
    title: "Delete file",
    toolset: Toolset::Text,
    description: "Delete a file if hash is still current.",
    params: &[PATH, HASH],
    output,
    run: Run::Overwrites(run),
};

fn run(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Answer> {
    let target = Target::parse_verified(env, &mut arguments)?;
    let (bytes, removed) = target.attempt(env, |store| remove(env, store, &target))?;
    let path = target.path.as_path().to_path_buf();
    let before = text_of(bytes).map(Arc::new);
    let change = FileChange { path, before, after: None };
    let text = match removed {
        Removed::File => format!("removed {}", target.path),
        Removed::Link => format!("removed the symbolic link {}, not its target", target.path),
    };
    Ok(Answer::new(text, json!({"removed": true})).with_change(Some(change)))
}

/// Removes the file and returns its content. The caller decodes it after the directory is unlocked.
fn remove<'s>(
    env: &WriteEnv<'s>,
    store: &'s dyn WriteStore,
    target: &Target,
) -> Result<(Vec<u8>, Removed), Attempt<'s>> {
    let removal = store.hold_to_remove(&target.path, env.context);
    let removal = removal.map_err(|error| as_edit_error(target, error))?;
    let digest = Digest::of(removal.bytes());
    if let Some(expected) =
        target.expected.filter(|expected| !env.is_version(&target.path, *expected, digest))
    {
        let document = text_of(removal.into_bytes());
        let text = document.as_ref().map(Document::text);
        return Err(target.stale(env, expected, digest, text).into());
    }
    Ok(removal.remove()?)
}

/// Decodes the content of a removed file, if it is text. Only a hint and an editor's card show it, so
/// large files are not worth encoding detection, which takes a second for 11 MiB.
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
