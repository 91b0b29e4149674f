//! A folder, an editor over it, and the tools over both.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use recto::call::Calls;
use recto::caller::Caller;
use recto::cli::parse_options;
use recto::store::local::Options;
use recto::store::{GitRevisions, LocalStore};
use recto::workspace::Workspace;
use serde_json::{Map, Value};

use super::script::ScriptedEditor;
use crate::case::Actual;

pub struct Desk {
    folder: tempfile::TempDir,
    pub editor: Arc<ScriptedEditor>,
    calls: Calls,
}

impl Desk {
    pub fn new(editor: ScriptedEditor) -> Desk {
        Desk::with_options(editor, &[])
    }

    pub fn with_options(editor: ScriptedEditor, options: &[String]) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        Desk::at(folder, editor, options)
    }

    /// A desk over a folder that has files already.
    pub fn at(folder: tempfile::TempDir, editor: ScriptedEditor, options: &[String]) -> Desk {
        let root = folder.path().canonicalize().unwrap();
        let config = parse_options(options).unwrap();
        let local = Arc::new(
            LocalStore::open(Options {
                roots: vec![root.clone()],
                hidden: config.hidden.clone(),
                allows_git_writes: config.allows_git_writes,
                is_durable: false,
            })
            .unwrap(),
        );
        let editor = Arc::new(editor);
        let calls = Calls::new(
            Arc::new(Workspace::new(local.clone(), editor.clone())),
            Arc::new(GitRevisions::new(local, Vec::new())),
            config.tools().unwrap(),
            root,
            config.max_read_bytes,
        );
        Desk { folder, editor, calls }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Puts a file on the disk, written long ago.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        make_old(&path);
        path
    }

    /// What the disk holds.
    pub fn disk(&self, name: &str) -> Option<String> {
        std::fs::read(self.path(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into())
    }

    /// What the editor holds.
    pub fn buffer(&self, name: &str) -> Option<String> {
        self.editor.buffers().get(&self.path(name)).cloned()
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Actual {
        self.call_as(tool, arguments, &Caller::default())
    }

    pub fn call_as(&self, tool: &str, arguments: Value, caller: &Caller) -> Actual {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.call_with(tool, arguments, caller)
    }

    pub fn call_with(&self, tool: &str, arguments: Map<String, Value>, caller: &Caller) -> Actual {
        match self.calls.call(self.calls.find(tool).unwrap(), arguments, caller) {
            Ok(answer) => Actual::Answer {
                structured: Value::Object(answer.object().into_owned()),
                text: answer.text,
            },
            Err(error) => {
                Actual::Error { code: error.code(), message: error.to_string(), hint: error.hint() }
            }
        }
    }
}

/// Makes a file look as if nobody had written it lately.
pub fn make_old(path: &Path) {
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(hour_ago).unwrap();
}
