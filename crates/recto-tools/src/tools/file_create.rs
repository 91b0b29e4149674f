//! `file_create`: creates a file and its directories.

use std::sync::Arc;

use crate::error::{Error, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recto_text::{Digest, Document};
use serde_json::{Value, json};

use super::edit::{PATH, not_encodable};
use super::restore::{FROM_COMMIT, FROM_PATH, Source};
use super::{Answer, Arguments, FileChange, Param, ParamKind, Run, Tool, Toolset, WriteEnv};
use recto_store::error::Error as StoreError;
use recto_store::path::AbsPath;
use recto_store::{FileContent, WriteError};

pub static TOOL: Tool = Tool {
    name: "file_create",
    title: "Create file",
    toolset: Toolset::Text,
    description: "Create a file and missing directories. Fails if the path exists.",
    params: &[
        PATH,
        Param::optional("content", ParamKind::String, "Text"),
        FROM_COMMIT,
        FROM_PATH,
        Param::optional(
            "encoding",
            ParamKind::Word(&["utf-8", "base64"]),
            "Of content; default utf-8",
        ),
    ],
    output,
    run: Run::Changes(run),
};

struct Request {
    path: AbsPath,
    content: FileContent,
}

fn request(env: &WriteEnv<'_>, mut arguments: Arguments) -> Result<Request> {
    let encoding = arguments.optional_string("encoding");
    let source = Source::parse(&mut arguments, TOOL.params)?;
    let path = AbsPath::resolve("path", arguments.string("path"), env.root)?;
    let content = match source {
        Source::Given(content) => content,
        Source::Revision(_) if encoding.is_some() => {
            let (name, expected) = ("encoding".into(), "used with content".into());
            let value = encoding.map(Value::from).unwrap_or_default().to_string();
            return Err(Error::WrongArgument { name, expected, value });
        }
        Source::Revision(revision) => {
            let content = revision.read(env, &path)?;
            return Ok(Request { path, content });
        }
    };
    let content = match encoding.as_deref() {
        Some("base64") => {
            // Encoders often wrap base64 lines.
            let base64: Vec<u8> =
                content.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            FileContent::Binary(STANDARD.decode(base64).map_err(|_| Error::WrongArgument {
                name: "content".into(),
                expected: "base64".into(),
                value: Value::from(content.as_str()).to_string(),
            })?)
        }
        _ => {
            let text = content.strip_prefix('\u{feff}').unwrap_or(&content);
            let document = Document::new(text);
            let document = document.map_err(|error| not_encodable("UTF-8", &path, error))?;
            FileContent::Text(Arc::new(document))
        }
    };
    Ok(Request { path, content })
}

fn run(env: &WriteEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { path, content } = request(env, arguments)?;
    let slot = env.store.hold_new(&path, env.context)?;
    let written = match &content {
        FileContent::Text(document) => slot.create_text(document),
        FileContent::Binary(bytes) => slot.create_bytes(bytes),
    };
    let mut written = match written {
        Ok(written) => written,
        Err(WriteError::Failed(error)) => return Err(error.into()),
        Err(WriteError::Conflict | WriteError::Restart(_)) => {
            return Err(StoreError::FileExists { path: path.to_string(), what: None }.into());
        }
    };
    let saved = written.content_after.take().map(Document::parse);
    let content = match saved {
        None => content,
        Some(Ok(document)) => FileContent::Text(Arc::new(document)),
        Some(Err(bytes)) => FileContent::Binary(bytes),
    };
    let digest = Digest::of(content.bytes());
    let n_bytes = content.bytes().len();
    let unit = if n_bytes == 1 { "byte" } else { "bytes" };
    let text = format!("created, {n_bytes} {unit}, hash {digest}");
    let after = match content {
        FileContent::Text(document) => Some(document),
        FileContent::Binary(bytes) => Document::parse(bytes).ok().map(Arc::new),
    };
    if let Some(after) = &after {
        env.versions.remember(digest, after);
    }
    let path = path.as_path().to_path_buf();
    let change = FileChange { path, moved_from: None, before: None, after };
    let structured = json!({"hash": digest.to_string()});
    Ok(Answer::new(text, structured).with_version(digest).with_change(Some(change)))
}

fn output() -> Value {
    json!({"type": "object", "properties": {"hash": {"type": "string"}}, "required": ["hash"]})
}
