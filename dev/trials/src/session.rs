//! A session with one of the servers: starts it, and reads, writes and edits with its tools.

use std::path::Path;
use std::time::{Duration, Instant};

use recto_dev::client::{Client, Limits, Reply};
use recto_dev::servers::{Server, ServerKind};
use serde_json::{Value, json};

use crate::Result;

/// A running server.
pub struct Session {
    pub kind: ServerKind,
    pub client: Client,
}

impl Session {
    /// Starts a server on a directory, with limits of 20 seconds for an answer and 4 GB of memory.
    pub fn open(server: &Server, root: &Path) -> Result<Session> {
        Session::open_with(server, root, &[])
    }

    /// The same with options that only recto has.
    pub fn open_with(server: &Server, root: &Path, options: &[&str]) -> Result<Session> {
        let mut command = server.command(root);
        if server.kind == ServerKind::Recto {
            command.args(options);
        }
        let mut client = Client::start(&mut command)?;
        client.limits = Some(Limits { patience: Duration::from_secs(20), megabytes: 4096.0 });
        client.initialize()?;
        Ok(Session { kind: server.kind, client })
    }

    /// Sets how long the server may take for an answer.
    pub fn set_patience(&mut self, patience: Duration) {
        self.client.limits = self.client.limits.map(|limits| Limits { patience, ..limits });
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Reply> {
        Ok(self.client.call(tool, arguments)?.1)
    }

    /// Waits for the next line.
    pub fn receive(&mut self, deadline: Instant) -> Result<&[u8]> {
        self.client.receive(Some(deadline))?;
        Ok(self.client.line())
    }

    /// Reads a file from its start.
    pub fn read(&mut self, path: &Path) -> Result<Reply> {
        let (tool, arguments) = read_call(self.kind, path);
        self.call(tool, arguments)
    }

    /// Creates a file or replaces its content.
    pub fn write(&mut self, path: &Path, content: &str) -> Result<Reply> {
        match self.kind {
            ServerKind::Recto => {
                self.call("write_text_file", json!({"path": path, "content": content}))
            }
            ServerKind::Official | ServerKind::RustMcp => {
                self.call("write_file", json!({"path": path, "content": content}))
            }
            ServerKind::TextEditor if path.exists() => {
                self.patch(path, |_| Some(content.to_string()))
            }
            ServerKind::TextEditor => {
                let arguments = json!({"file_path": path, "contents": content});
                Ok(editors_reply(self.call("create_text_file", arguments)?))
            }
        }
    }

    /// Replaces a string.
    pub fn edit(&mut self, path: &Path, old: &str, new: &str) -> Result<Reply> {
        match self.kind {
            ServerKind::Recto => self.call(
                "edit_text_file",
                json!({"path": path, "old_string": old, "new_string": new}),
            ),
            ServerKind::Official | ServerKind::RustMcp => {
                let edits = json!([{"oldText": old, "newText": new}]);
                self.call("edit_file", json!({"path": path, "edits": edits}))
            }
            ServerKind::TextEditor => {
                self.patch(path, |text| text.contains(old).then(|| text.replacen(old, new, 1)))
            }
        }
    }

    /// Edits with mcp-text-editor: reads the hashes, then patches all lines.
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

/// Returns the call that reads a file.
pub fn read_call(kind: ServerKind, path: &Path) -> (&'static str, Value) {
    match kind {
        ServerKind::TextEditor => {
            let files = json!([{"file_path": path, "ranges": [{"start": 1}]}]);
            ("get_text_file_contents", json!({"files": files}))
        }
        _ => ("read_text_file", json!({"path": path})),
    }
}

/// Recognizes the errors of mcp-text-editor, which it reports as results.
fn editors_reply(reply: Reply) -> Reply {
    match reply {
        Reply::Done(text, _) if text.contains("\"result\": \"error\"") => Reply::Refused(text),
        other => other,
    }
}
