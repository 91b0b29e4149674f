//! `file_remove`: removes a file whose version the caller knows.

use std::sync::Arc;

use crate::error::Result;
use recto_text::Document;
use serde_json::{Value, json};

use super::edit::{Attempt, HASH, PATH, Target, as_edit_error};
use super::{Answer, Arguments, FileChange, Run, Tool, Toolset, WriteEnv};
use recto_store::{Removed, RemovedContent, WriteStore};

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
    let (content, removed) = target.attempt(env, |store| remove(env, store, &target))?;
    let path = target.path.as_path().to_path_buf();
    let before = text_of(content).map(Arc::new);
    let change = FileChange { path, moved_from: None, before, after: None };
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
) -> Result<(RemovedContent, Removed), Attempt<'s>> {
    let removal = store.hold_to_remove(&target.path, env.context);
    let removal = removal.map_err(|error| as_edit_error(target, error))?;
    let digest = removal.content().digest();
    if let Some(expected) =
        target.expected.filter(|expected| !env.is_version(&target.path, *expected, digest))
    {
        let document = text_of(removal.into_content());
        let text = document.as_ref().map(Document::text);
        return Err(target.stale(env, expected, digest, text).into());
    }
    Ok(removal.remove()?)
}

/// Decodes the content of a removed file, if it is text. Only a hint and an editor's card show it, so
/// the store does not keep large files.
fn text_of(content: RemovedContent) -> Option<Document> {
    Document::parse(content.into_bytes()?).ok()
}

fn output() -> Value {
    json!({"type": "object", "properties": {"removed": {"type": "boolean"}}, "required": ["removed"]})
}
