//! A scripted editor: buffers over a directory, with the habits and failures of real editors, and
//! the tools that run over both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use recto::cli::parse_options;
use recto_store::Context;
use recto_store::editor::{Editor, EditorError, EditorOutcome, EditorWrite};
use recto_store::workspace::Workspace;
use recto_store::{GitRevisions, LocalStore};
use recto_tools::Served;
use recto_tools::call::{Call, Calls};
use serde_json::{Map, Value};

use crate::client::Actual;
use crate::in_process::local_store;

/// An editor's regular behaviour.
#[derive(Clone, Default)]
pub struct Habits {
    /// It does not support reads.
    pub lacks_read: bool,
    /// It does not support writes.
    pub lacks_write: bool,
    /// It saves each write to disk before it answers.
    pub saves: bool,
    /// It uses LF in buffers and saves with the file's endings.
    pub normalises: bool,
    /// How it formats a text on saving.
    pub formats: Option<fn(&str) -> String>,
    /// It reads a missing file as empty.
    pub is_empty_for_missing: bool,
    /// How long an answer takes, by the number of the request.
    pub delay: Option<fn(usize) -> Duration>,
}

/// A fault at one request.
#[derive(Clone)]
pub enum Accident {
    /// The request fails without effect.
    Fails(EditorError),
    /// The request takes effect and then fails.
    FailsAfter(EditorError),
    /// The user types before the request.
    Types(&'static str),
    /// Another process writes to the disk before the request, and the editor does not notice.
    Disk(&'static str),
}

/// A request that the editor received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Read,
    Write,
}

#[derive(Default)]
pub struct ScriptedEditor {
    pub habits: Habits,
    /// Accidents by the kind of request and its number, from 1; 0 means every one.
    accidents: Vec<(Verb, usize, Accident)>,
    buffers: Mutex<BTreeMap<PathBuf, String>>,
    n_requests: AtomicUsize,
    /// The requests received.
    log: Mutex<Vec<Verb>>,
}

impl ScriptedEditor {
    pub fn new(habits: Habits) -> ScriptedEditor {
        ScriptedEditor { habits, ..ScriptedEditor::default() }
    }

    pub fn with(mut self, verb: Verb, number: usize, accident: Accident) -> ScriptedEditor {
        self.accidents.push((verb, number, accident));
        self
    }

    /// Opens a file, saved or not.
    pub fn open(&self, path: &Path, text: &str) {
        self.buffers().insert(path.to_path_buf(), text.to_string());
    }

    pub fn buffers(&self) -> MutexGuard<'_, BTreeMap<PathBuf, String>> {
        self.buffers.lock().unwrap()
    }

    /// Returns how many requests of this kind arrived.
    pub fn count(&self, verb: Verb) -> usize {
        self.log.lock().unwrap().iter().filter(|other| **other == verb).count()
    }

    /// Applies the accident at this request; returns how it fails, and whether before its effect.
    fn arrive(&self, verb: Verb, path: &Path) -> Option<(EditorError, bool)> {
        let n_requests = self.n_requests.fetch_add(1, Ordering::Relaxed);
        if let Some(delay) = self.habits.delay {
            std::thread::sleep(delay(n_requests));
        }
        let number = self.count(verb) + 1;
        let mut failure = None;
        for (of, at, accident) in &self.accidents {
            if *of != verb || (*at != 0 && *at != number) {
                continue;
            }
            match accident {
                Accident::Fails(error) => failure = Some((error.clone(), true)),
                Accident::FailsAfter(error) => failure = Some((error.clone(), false)),
                Accident::Types(text) => self.open(path, text),
                Accident::Disk(text) => std::fs::write(path, text).unwrap(),
            }
        }
        if !matches!(failure, Some((EditorError::NotSent | EditorError::Cancelled, _))) {
            self.log.lock().unwrap().push(verb);
        }
        failure
    }

    fn text(&self, path: &Path) -> Result<String, EditorError> {
        if let Some(text) = self.buffers().get(path) {
            return Ok(text.clone());
        }
        match std::fs::read(path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Ok(if self.habits.normalises { text.replace("\r\n", "\n") } else { text })
            }
            Err(_) if self.habits.is_empty_for_missing => Ok(String::new()),
            Err(_) => Err(EditorError::NoSuchFile),
        }
    }

    fn take(&self, path: &Path, text: &str) {
        let mut text = text.to_string();
        if self.habits.normalises {
            text = text.replace("\r\n", "\n");
        }
        if let Some(format) = self.habits.formats {
            text = format(&text);
        }
        if self.habits.saves {
            let has_crlf = std::fs::read(path).is_ok_and(|old| old.contains(&b'\r'));
            let is_converted = self.habits.normalises && has_crlf;
            let saved = if is_converted { text.replace('\n', "\r\n") } else { text.clone() };
            // In place, as many editors do: a lease on the file would block it.
            std::fs::write(path, saved).unwrap();
        }
        self.open(path, &text);
    }
}

impl Editor for ScriptedEditor {
    fn can_read(&self) -> bool {
        !self.habits.lacks_read
    }

    fn can_write(&self) -> bool {
        !self.habits.lacks_write
    }

    fn read(&self, path: &Path, _caller: &Context) -> Result<String, EditorError> {
        assert!(self.can_read() && path.is_absolute());
        match self.arrive(Verb::Read, path) {
            Some((error, _)) => Err(error),
            None => self.text(path),
        }
    }

    fn write(
        &self,
        path: &Path,
        change: &EditorWrite<'_>,
        caller: &Context,
    ) -> Result<EditorOutcome, EditorError> {
        assert!(self.can_write() && path.is_absolute());
        match (self.read(path, caller), change.before) {
            (Ok(text), before) if text == before.unwrap_or_default() => {}
            (Err(EditorError::NoSuchFile), None) => {}
            // Nothing has been written yet.
            (Err(EditorError::NotSent | EditorError::Unanswered), _) => {
                return Err(EditorError::NotSent);
            }
            (Err(error @ (EditorError::Cancelled | EditorError::Silent)), _) => return Err(error),
            (Err(error), None) => return Err(error),
            (Ok(_) | Err(_), _) => return Ok(EditorOutcome::Conflict),
        }
        match self.arrive(Verb::Write, path) {
            Some((error, true)) => return Err(error),
            Some((error, false)) => {
                self.take(path, change.after);
                return Err(error);
            }
            None => self.take(path, change.after),
        }
        Ok(EditorOutcome::Written { text_after: self.read(path, caller).ok() })
    }
}

/// A directory, an editor over it, and the tools over both.
pub struct EditorFixture {
    folder: tempfile::TempDir,
    pub editor: Arc<ScriptedEditor>,
    calls: Calls,
}

impl EditorFixture {
    pub fn new(editor: ScriptedEditor) -> EditorFixture {
        EditorFixture::with_options(editor, &[])
    }

    /// Uses a clock by which every file is old enough to be identified by its timestamps.
    pub fn with_clock_ahead(editor: ScriptedEditor) -> EditorFixture {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let store = local_store(&root, &[]).with_clock_ahead(Duration::from_secs(2));
        EditorFixture::over(store, folder, editor, &[])
    }

    pub fn with_options(editor: ScriptedEditor, options: &[String]) -> EditorFixture {
        let folder = tempfile::tempdir().unwrap();
        EditorFixture::at(folder, editor, options)
    }

    /// Opens a directory that already has files.
    pub fn at(
        folder: tempfile::TempDir,
        editor: ScriptedEditor,
        options: &[String],
    ) -> EditorFixture {
        let root = folder.path().canonicalize().unwrap();
        EditorFixture::over(local_store(&root, options), folder, editor, options)
    }

    /// Uses a modified store.
    fn over(
        local: LocalStore,
        folder: tempfile::TempDir,
        editor: ScriptedEditor,
        options: &[String],
    ) -> EditorFixture {
        let root = folder.path().canonicalize().unwrap();
        let config = parse_options(options).unwrap();
        let local = Arc::new(local);
        let editor = Arc::new(editor);
        let calls = Calls::new(
            Arc::new(Workspace::new(local.clone(), editor.clone())),
            Arc::new(GitRevisions::new(local, Vec::new())),
            Served::new(config.tools().unwrap(), config.wire.for_client(None).names),
            root,
            config.wire.for_client(None).delivery,
        );
        EditorFixture { folder, editor, calls }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file to disk with an old modification time.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        make_old(&path);
        path
    }

    /// Returns the text on disk.
    pub fn disk(&self, name: &str) -> Option<String> {
        std::fs::read(self.path(name)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into())
    }

    /// Returns the text in the editor's buffer.
    pub fn buffer(&self, name: &str) -> Option<String> {
        self.editor.buffers().get(&self.path(name)).cloned()
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Actual {
        self.call_as(tool, arguments, &Context::default())
    }

    pub fn call_as(&self, tool: &str, arguments: Value, caller: &Context) -> Actual {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.call_with(tool, arguments, caller)
    }

    pub fn call_with(&self, tool: &str, arguments: Map<String, Value>, caller: &Context) -> Actual {
        let served = self.calls.served();
        let call = Call { context: caller.clone(), ..Call::default() };
        Actual::of(self.calls.call(served.find(tool).unwrap(), arguments, &call), served)
    }
}

/// Sets the modification time of a file to an hour ago.
pub fn make_old(path: &Path) {
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(hour_ago).unwrap();
}
