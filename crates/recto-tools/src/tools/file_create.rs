//! `file.create`: a new file with its folders.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recto_text::{Digest, Document, Error, Result};
use serde_json::{Value, json};

use super::edit::{PATH, not_encodable};
use super::{Answer, Arguments, Change, Context, Effect, Kind, Param, Tool, Toolset};
use recto_store::path::AbsPath;
use recto_store::{Purpose, WriteError};

pub static TOOL: Tool = Tool {
    name: "file.create",
    title: "Create file",
    toolset: Toolset::Text,
    description: "Create a file and its folders. Refuses if something has the name already.",
    params: &[
        PATH,
        Param::required("content", Kind::String, "What it holds"),
        Param::optional("encoding", Kind::Word(&["utf-8", "base64"]), "Of content; default utf-8"),
    ],
    output,
    effect: Effect::Changes,
    run,
};

struct Request {
    path: AbsPath,
    bytes: Vec<u8>,
}

fn request(context: &Context<'_>, mut arguments: Arguments) -> Result<Request> {
    let encoding = arguments.optional_string("encoding");
    let content = arguments.string("content");
    let path = AbsPath::resolve("path", arguments.string("path"), context.root)?;
    let bytes = match encoding.as_deref() {
        Some("base64") => {
            // Bytes, whatever they look like: no editor is to take them for text.
            context.caller.disk_only.set();
            // Programs that write it break its lines.
            let base64: Vec<u8> =
                content.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            STANDARD.decode(base64).map_err(|_| Error::WrongArgument {
                name: "content".into(),
                expected: "base64".into(),
                value: Value::from(content.as_str()).to_string(),
            })?
        }
        _ => {
            let text = content.strip_prefix('\u{feff}').unwrap_or(&content);
            let document = Document::new(text);
            let document = document.map_err(|error| not_encodable("UTF-8", &path, error))?;
            document.bytes().to_vec()
        }
    };
    Ok(Request { path, bytes })
}

fn run(context: &Context<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { path, bytes } = request(context, arguments)?;
    let mut held = context.store.hold(&path, Purpose::Create, context.caller)?;
    let mut written = match held.create(&bytes) {
        Ok(written) => written,
        Err(WriteError::Moved) => {
            return Err(Error::FileExists { path: path.to_string(), what: None });
        }
        Err(WriteError::Failed(error)) => return Err(error),
    };
    let bytes = written.stands.take().unwrap_or(bytes);
    let digest = Digest::of(&bytes);
    let n_bytes = bytes.len();
    let unit = if n_bytes == 1 { "byte" } else { "bytes" };
    let text = format!("created, {n_bytes} {unit}, hash {digest}");
    let after = Document::parse(bytes).ok().map(Arc::new);
    if let Some(after) = &after {
        context.versions.remember(digest, after);
    }
    let change = Change { path: path.as_path().to_path_buf(), before: None, after };
    let structured = json!({"hash": digest.to_string()});
    Ok(Answer::new(vec![text], structured).with_change(Some(change)))
}

fn output() -> Value {
    json!({"type": "object", "properties": {"hash": {"type": "string"}}, "required": ["hash"]})
}
