//! A store that records its changes in a journal of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_journal::keeping::Limits;
use recto_journal::undo;
use recto_journal::{Change, Filter, Journal, Kind, Reader, Settings, State, StateDir};
use recto_store::local::Options;
use recto_store::path::AbsPath;
use recto_store::record::{Origin, Recording};
use recto_store::{Context, Hold, LocalStore, Note, WriteStore};

/// A root and a state directory.
pub struct Fixture {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
    pub state: PathBuf,
}

/// A store that records its changes.
pub struct Process {
    pub journal: Arc<Journal>,
    pub store: LocalStore,
    root: PathBuf,
}

pub fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let (root, state) = (path.join("root"), path.join("state"));
    fs::create_dir(&root).unwrap();
    Fixture { _folder: folder, root, state }
}

pub fn settings(session: &str) -> Settings {
    let excluded = vec!["*.secret".to_string()];
    Settings { session: session.into(), excluded, limits: Limits::default() }
}

pub fn open_store(root: &Path, recording: Recording) -> LocalStore {
    let options = Options {
        roots: vec![root.to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: false,
    };
    LocalStore::open(options).unwrap().with_recording(recording)
}

impl Fixture {
    pub fn dir(&self) -> StateDir {
        StateDir::create(&self.state).unwrap()
    }

    pub fn process(&self, session: &str) -> Process {
        let journal = Arc::new(Journal::new(self.dir(), settings(session)));
        let store = open_store(&self.root, Recording::new(journal.clone(), false));
        Process { journal, store, root: self.root.clone() }
    }

    pub fn reader(&self) -> Reader {
        Reader::open(&self.dir()).unwrap().unwrap()
    }

    pub fn changes(&self) -> Vec<Change> {
        self.reader().changes(&Filter::default()).unwrap()
    }

    pub fn kinds(&self) -> Vec<(Kind, State)> {
        self.changes().iter().map(|change| (change.kind, change.state)).collect()
    }
}

pub fn abs(path: &Path) -> AbsPath {
    AbsPath::parse(path.to_str().unwrap().into()).unwrap()
}

impl Process {
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file, and returns the notes of the call.
    pub fn write_as(&self, name: &str, content: &[u8], origin: Origin) -> Vec<Note> {
        let context = Context { origin: Arc::new(origin), ..Context::default() };
        let written = match self.store.hold(&abs(&self.path(name)), &context).unwrap() {
            Hold::Vacant(slot) => slot.create_bytes(content).map(drop),
            Hold::File(file) => {
                file.whole().ok().unwrap().replace_bytes(content).map(drop).map_err(|_| panic!())
            }
        };
        assert!(written.is_ok());
        self.journal.flush();
        context.notes.take()
    }

    pub fn write(&self, name: &str, content: &str) {
        assert_eq!(self.write_as(name, content.as_bytes(), Origin::default()), []);
    }

    pub fn remove(&self, name: &str) {
        let context = Context::default();
        let removal = self.store.hold_to_remove(&abs(&self.path(name)), &context).unwrap();
        assert!(removal.remove().is_ok());
        self.journal.flush();
    }

    /// Undoes a change as `recto undo` does.
    pub fn undo(&self, reader: &Reader, change: &Change) -> Result<(), Vec<undo::Rejected>> {
        let content = fs::read(&change.path).ok();
        let steps = reader.steps_since(&change.path, content.as_deref(), change.id).unwrap();
        let hunks = steps.iter().find(|step| step.id == change.id).unwrap().hunk_ids();
        let plan = undo::plan(&steps, content.as_deref(), &hunks, undo::Dependents::Reject)?;
        let undoes = plan.undone.iter().map(|id| (id.change, id.hunk)).collect();
        let name = change.path.file_name().unwrap().to_str().unwrap();
        let origin = Origin { undoes, ..Origin::default() };
        self.write_as(name, &plan.content.unwrap(), origin);
        Ok(())
    }
}
