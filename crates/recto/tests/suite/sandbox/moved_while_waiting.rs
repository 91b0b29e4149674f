//! A directory that is moved out of the root while a change waits for its lock.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use recto_journal::{Journal, Settings, StateDir};
use recto_store::context::Waits;
use recto_store::local::Options;
use recto_store::path::AbsPath;
use recto_store::record::Recording;
use recto_store::{Context, FileStep, Hold, LocalStore, WriteStore};
use rustix::fs::{FlockOperation, flock};

/// Reports that a call waits.
#[derive(Debug)]
struct Reported(Sender<()>);

impl Waits for Reported {
    fn started(&self) {
        self.0.send(()).unwrap();
    }

    fn ended(&self) {}
}

struct Fixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
    store: LocalStore,
    context: Context,
    waits: Receiver<()>,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let (root, outside) = (path.join("root"), path.join("outside"));
    for dir in [&root.join("d"), &root.join("e"), &outside] {
        fs::create_dir_all(dir).unwrap();
    }
    fs::write(root.join("d/f"), "old\n").unwrap();
    fs::write(root.join("e/f"), "old\n").unwrap();
    let options = Options {
        roots: vec![root.clone()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: false,
    };
    let settings =
        Settings { session: "test".into(), excluded: Vec::new(), limits: Default::default() };
    let journal = Journal::new(StateDir::create(&path.join("state")).unwrap(), settings);
    let recording = Recording::new(Arc::new(journal), false);
    let store = LocalStore::open(options).unwrap().with_recording(recording);
    let (sender, waits) = channel();
    let context = Context { waits: Some(Arc::new(Reported(sender))), ..Context::default() };
    Fixture { _folder: folder, root, outside, store, context, waits }
}

fn abs(path: &Path) -> AbsPath {
    AbsPath::parse(path.to_str().unwrap().into()).unwrap()
}

impl Fixture {
    /// Makes a change that waits for the lock on `d`, which is replaced by another directory before
    /// the lock is released.
    fn while_it_waits(&self, change: impl FnOnce() + Send) {
        let locked = fs::File::open(self.root.join("d")).unwrap();
        flock(&locked, FlockOperation::LockExclusive).unwrap();
        std::thread::scope(|scope| {
            let changing = scope.spawn(change);
            self.waits.recv().unwrap();
            fs::rename(self.root.join("d"), self.outside.join("d")).unwrap();
            fs::create_dir(self.root.join("d")).unwrap();
            fs::write(self.root.join("d/f"), "old\n").unwrap();
            // Longer than a resolved directory is used.
            std::thread::sleep(std::time::Duration::from_millis(30));
            drop(locked);
            changing.join().unwrap();
        });
        assert_eq!(fs::read_to_string(self.outside.join("d/f")).unwrap(), "old\n");
        assert_eq!(fs::read_dir(self.outside.join("d")).unwrap().count(), 1);
    }
}

#[test]
fn an_edit_that_waited_changes_the_file_that_has_the_path_now() {
    let fixture = fixture();
    fixture.while_it_waits(|| {
        let path = abs(&fixture.root.join("d/f"));
        let Hold::File(file) = fixture.store.hold(&path, &fixture.context).unwrap() else {
            panic!("it exists")
        };
        assert!(file.whole().ok().unwrap().replace_bytes(b"new\n").is_ok());
    });
    assert_eq!(fs::read_to_string(fixture.root.join("d/f")).unwrap(), "new\n");
}

#[test]
fn a_transaction_that_waited_changes_nothing() {
    let fixture = fixture();
    fixture.while_it_waits(|| {
        let paths = ["d/f", "e/f"].map(|name| abs(&fixture.root.join(name)));
        let step = |path| FileStep {
            path,
            before: Some(b"old\n"),
            after: Some(b"new\n"),
            move_to: None,
            is_link: false,
            metadata: None,
            undoes: &[],
        };
        let steps: Vec<_> = paths.iter().map(step).collect();
        let planned = fixture.store.transaction(&steps, &fixture.context).ok().unwrap();
        assert!(planned.commit().is_err());
    });
    for name in ["d/f", "e/f"] {
        assert_eq!(fs::read_to_string(fixture.root.join(name)).unwrap(), "old\n");
    }
}
