//! What every server can do, in the words of each: read, write, edit.

use std::path::Path;

use serde_json::{Value, json};

use crate::Result;
use crate::client::{Reply, Session};
use crate::server::Kind;

impl Session {
    /// Reads a file from its beginning.
    pub fn read(&mut self, path: &Path) -> Result<Reply> {
        let (tool, arguments) = read_call(self.kind, path);
        self.call(tool, arguments)
    }

    /// Creates a file or replaces all of it.
    pub fn write(&mut self, path: &Path, content: &str) -> Result<Reply> {
        match self.kind {
            Kind::Recto => self.call("write_text_file", json!({"path": path, "content": content})),
            Kind::Official | Kind::RustMcp => {
                self.call("write_file", json!({"path": path, "content": content}))
            }
            Kind::TextEditor if path.exists() => self.patch(path, |_| Some(content.to_string())),
            Kind::TextEditor => {
                let arguments = json!({"file_path": path, "contents": content});
                Ok(editors_reply(self.call("create_text_file", arguments)?))
            }
        }
    }

    /// Replaces a string.
    pub fn edit(&mut self, path: &Path, old: &str, new: &str) -> Result<Reply> {
        match self.kind {
            Kind::Recto => self.call(
                "edit_text_file",
                json!({"path": path, "old_string": old, "new_string": new}),
            ),
            Kind::Official | Kind::RustMcp => {
                let edits = json!([{"oldText": old, "newText": new}]);
                self.call("edit_file", json!({"path": path, "edits": edits}))
            }
            Kind::TextEditor => {
                self.patch(path, |text| text.contains(old).then(|| text.replacen(old, new, 1)))
            }
        }
    }

    /// mcp-text-editor's way: read for the hashes, then patch all lines.
    fn patch(&mut self, path: &Path, change: impl FnOnce(&str) -> Option<String>) -> Result<Reply> {
        let read = self.read(path)?;
        let Reply::Done(text, _) = &read else { return Ok(read) };
        let files: Value = serde_json::from_str(text)?;
        let file = &files[path.to_string_lossy().as_ref()];
        let range = &file["ranges"][0];
        let Some(after) = change(range["content"].as_str().unwrap_or_default()) else {
            return Ok(Reply::Refused("the string is not there".into()));
        };
        let patch = json!({
            "start": 1,
            "end": range["end"],
            "contents": after,
            "range_hash": range["range_hash"],
        });
        let arguments =
            json!({"file_path": path, "file_hash": file["file_hash"], "patches": [patch]});
        Ok(editors_reply(self.call("patch_text_file_contents", arguments)?))
    }
}

/// The call that reads a file.
pub fn read_call(kind: Kind, path: &Path) -> (&'static str, Value) {
    match kind {
        Kind::TextEditor => {
            let files = json!([{"file_path": path, "ranges": [{"start": 1}]}]);
            ("get_text_file_contents", json!({"files": files}))
        }
        _ => ("read_text_file", json!({"path": path})),
    }
}

/// mcp-text-editor reports its refusals as results that say so inside.
fn editors_reply(reply: Reply) -> Reply {
    match reply {
        Reply::Done(text, _) if text.contains("\"result\": \"error\"") => Reply::Refused(text),
        other => other,
    }
}
