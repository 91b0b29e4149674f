//! A directory with an inside and an outside, a server of the inside, and calls with a time limit.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::process::Command;
use tokio::runtime::Runtime;

use crate::client::{Actual, Client, Revision, recto};

pub const INSIDE: &str = "inside\n";
/// Text that no answer may contain.
pub const OUTSIDE: &str = "hushed,outside\n1,2\n";

/// A temporary directory: `root` is served, the rest is outside.
pub struct TestDir {
    /// Removed at the end.
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl TestDir {
    pub fn new() -> TestDir {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("root")).unwrap();
        TestDir { _folder: folder, base }
    }

    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        self.base.join(below)
    }

    /// Returns a path as a caller writes it: below the directory, unless it starts with `/`.
    pub fn spelled(&self, path: &str) -> String {
        if path.starts_with('/') { path.into() } else { format!("{}/{path}", self.base()) }
    }

    pub fn base(&self) -> &str {
        self.base.to_str().unwrap()
    }

    pub fn file(&self, below: &str, bytes: impl AsRef<[u8]>) -> &TestDir {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    pub fn folder(&self, below: &str) -> &TestDir {
        std::fs::create_dir_all(self.path(below)).unwrap();
        self
    }

    /// Makes a link; `{base}` in its target is the directory.
    pub fn link(&self, below: &str, target: &str) -> &TestDir {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target.replace("{base}", self.base()), path).unwrap();
        self
    }

    /// Serves `root`.
    pub fn serve(&self, options: &[&str]) -> Session {
        Session::start(&self.path("root"), options)
    }
}

/// A client and its server. A call that exceeds the time limit fails the test.
pub struct Session {
    runtime: Runtime,
    client: Option<Client>,
    pub limit: Duration,
}

impl Session {
    pub fn start(root: &Path, options: &[&str]) -> Session {
        let mut command = Command::from(recto());
        command.arg("serve").arg(root).args(options).env("RECTO_LOG", "error");
        Session::start_command(command)
    }

    pub fn start_command(command: Command) -> Session {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(Client::start_command(command, Revision::Handshake));
        Session { runtime, client: Some(client), limit: Duration::from_secs(15) }
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Actual {
        self.call_with_meta(tool, arguments, None)
    }

    pub fn call_with_meta(
        &self,
        tool: &str,
        arguments: Value,
        meta: Option<Map<String, Value>>,
    ) -> Actual {
        let Value::Object(map) = arguments else { panic!("arguments are an object") };
        let client = self.client.as_ref().unwrap();
        let shown: String = format!("{tool} {map:?}").chars().take(300).collect();
        let start = Instant::now();
        let call = client.call_with_meta(tool, map, meta);
        let answer = self.runtime.block_on(async { tokio::time::timeout(self.limit, call).await });
        assert!(start.elapsed() < self.limit, "{shown} took {:?}", start.elapsed());
        answer.unwrap_or_else(|_| panic!("{shown}: no answer within {:?}", self.limit))
    }

    /// Returns the structured answer of a call that must succeed.
    pub fn answer(&self, tool: &str, arguments: Value) -> Value {
        match self.call(tool, arguments.clone()) {
            Actual::Answer { structured, .. } => structured,
            error => panic!("{tool} {arguments}: {error:?}"),
        }
    }

    /// Returns the code of a call that must fail.
    pub fn code(&self, tool: &str, arguments: Value) -> i32 {
        match self.call(tool, arguments.clone()) {
            Actual::Error { code, .. } => code,
            answer => panic!("{tool} {arguments}: {answer:?}"),
        }
    }

    /// Returns the paths that a pattern lists; the list must be complete.
    pub fn list(&self, pattern: &str) -> Vec<String> {
        let answer = self.answer("ListFiles", json!({"pattern": pattern}));
        let files = strings(&answer["files"]);
        assert_eq!(answer["total"], files.len(), "{pattern}: {answer}");
        assert_eq!(answer["truncated"], false, "{pattern}: {answer}");
        files
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _entered = self.runtime.enter();
        let client = self.client.take();
        if let Some(client) = client.filter(|_| !std::thread::panicking()) {
            self.runtime.block_on(client.stop());
        }
    }
}

pub fn strings(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_string()).collect()
}

/// Returns rows as path (empty if there is none), number and text.
pub fn rows(answer: &Value) -> Vec<(String, u64, String)> {
    let row = |row: &Value| {
        let path = row["file_path"].as_str().unwrap_or_default();
        let content = row["content"].as_str().unwrap();
        (path.to_string(), row["line_number"].as_u64().unwrap(), content.to_string())
    };
    answer["rows"].as_array().unwrap().iter().map(row).collect()
}

/// Returns everything that an answer contains, as text.
pub fn said(actual: &Actual) -> String {
    match actual {
        Actual::Answer { structured, text } => format!("{structured}\n{}", text.join("\n")),
        Actual::Error { code, message, hint } => format!("{code} {message}\n{hint:?}"),
    }
}
