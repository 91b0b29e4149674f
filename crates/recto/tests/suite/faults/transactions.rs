//! Transactions when system calls fail: afterwards all files are old or all are new, at the latest
//! after the next process has recovered them, and the journal says which.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use recto_journal::{Filter, Journal, Reader, Settings, State, StateDir};
use recto_platform::{Linux, Sys, SysError};
use recto_store::local::Options;
use recto_store::path::AbsPath;
use recto_store::record::{Recorder, Recording, VisitBytes};
use recto_store::{Context, FileStep, LocalStore, StepError, WriteError, WriteStore};

use rustix::fs::{Mode, OFlags};

use super::disturbed::{Disturbed, When};

/// A path, its content before and after (`None` if the file does not exist), and its new path.
type Step = (&'static str, Option<&'static str>, Option<&'static str>, Option<&'static str>);

const STEPS: [Step; 9] = [
    ("a/unchanged", Some("same\n"), Some("same\n"), None),
    ("a/edited", Some("old 1\n"), Some("new 1\n"), None),
    ("b/edited", Some("old 2\n"), Some("new 2\n"), None),
    ("new/dir/created", None, Some("new 3\n"), None),
    ("a/moved", Some("same\n"), Some("same\n"), Some("b/here")),
    ("b/both", Some("old 4\n"), Some("new 4\n"), Some("new/both")),
    ("a/removed", Some("old 5\n"), None, None),
    ("a/removed link", Some("target"), None, None),
    ("b/created link", None, Some("target"), None),
];

fn is_link(path: &str) -> bool {
    path.ends_with(" link")
}

/// A state directory with an empty journal.
static EMPTY: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let dir = scratch();
    journal(dir.path()).digest(&Nothing).unwrap();
    dir
});

/// Returns an empty directory in memory, if there is such a file system: with thousands of faults,
/// syncs to a disk would take minutes.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

struct Nothing;

impl VisitBytes for Nothing {
    fn visit(&self, _: &mut dyn FnMut(&[u8])) -> bool {
        true
    }
}

fn journal(state: &Path) -> Journal {
    let settings =
        Settings { session: "test".into(), excluded: Vec::new(), limits: Default::default() };
    Journal::new(StateDir::create(state).unwrap(), settings)
}

fn open(root: &Path, state: &Path, sys: Arc<dyn Sys>) -> LocalStore {
    let options = Options {
        roots: vec![root.to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: true,
    };
    if !state.exists() {
        StateDir::create(state).unwrap();
        // Creating a database takes much longer than copying an empty one.
        std::fs::copy(EMPTY.path().join("journal.db"), state.join("journal.db")).unwrap();
    }
    let recording = Recording::new(Arc::new(journal(state)), false);
    LocalStore::with_sys(options, sys).unwrap().with_recording(recording)
}

fn prepare(root: &Path) {
    for (path, before, ..) in STEPS {
        std::fs::create_dir_all(root.join(path.rsplit_once('/').unwrap().0)).unwrap();
        match before {
            Some(target) if is_link(path) => symlink(target, root.join(path)).unwrap(),
            Some(before) => std::fs::write(root.join(path), before).unwrap(),
            None => {}
        }
    }
    std::fs::remove_dir_all(root.join("new")).unwrap();
}

fn commit(root: &Path, store: &LocalStore) -> Result<(), Vec<StepError>> {
    let absolute = |path: &str| AbsPath::parse(root.join(path).to_str().unwrap().into()).unwrap();
    let paths: Vec<_> = STEPS.iter().map(|step| (absolute(step.0), step.3.map(absolute))).collect();
    let steps: Vec<_> = STEPS
        .iter()
        .zip(&paths)
        .map(|((name, before, after, _), (path, to))| FileStep {
            path,
            before: before.map(str::as_bytes),
            after: after.map(str::as_bytes),
            move_to: to.as_ref(),
            is_link: is_link(name),
            metadata: None,
            undoes: &[],
        })
        .collect();
    let context = Context::default();
    store.transaction(&steps, &context)?.commit().map(drop)
}

/// Returns all files below a directory.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let target = std::fs::read_link(&path).map(|it| it.to_str().unwrap().to_string());
            let text = target.unwrap_or_else(|_| std::fs::read_to_string(&path).unwrap());
            found.insert(path.strip_prefix(root).unwrap().to_path_buf(), text);
        }
    }
    found
}

fn expected(is_done: bool) -> BTreeMap<PathBuf, String> {
    let file = |(path, before, after, to): &Step| {
        let (path, text) = if is_done { (to.unwrap_or(path), after) } else { (*path, before) };
        text.map(|text| (PathBuf::from(path), text.to_string()))
    };
    STEPS.iter().filter_map(file).collect()
}

/// Checks that a transaction was made or not made, after another process recovered it.
fn check(root: &Path, state: &Path, result: &Result<(), Vec<StepError>>, what: &str) {
    let store = open(root, state, Arc::new(Linux::new()));
    store.recover();
    // A draft that never got the name of a transaction is removed like that of any change.
    for dir in ["a", "b", "new", "new/dir"] {
        let path = root.join(dir).join("other").display().to_string();
        let _ = store.hold(&AbsPath::parse(path).unwrap(), &Context::default());
    }
    let found = files(root);
    let is_done = found == expected(true);
    assert!(is_done || found == expected(false), "{what}: a mixture: {found:#?}");
    if result.is_ok() {
        assert!(is_done, "{what}: said to be done");
    }
    let reader = Reader::open(&StateDir::find(state).unwrap()).unwrap();
    let changes = reader.map_or(Vec::new(), |it| it.changes(&Filter::default()).unwrap());
    let n_done = changes.iter().filter(|change| change.state == State::Done).count();
    // Two rows for each name of a moved file, and one for each content.
    assert_eq!((changes.len(), n_done), if is_done { (11, 11) } else { (0, 0) }, "{what}");
    // Where drafts have names from the start, one may keep a new directory from being removed.
    if !is_done && !what.contains("open_nameless") {
        assert!(!root.join("new").exists(), "{what}: a new directory is left");
    }
}

const FILESYSTEMS: [&[&str]; 3] =
    [&[], &["open_nameless"], &["open_nameless", "exchange", "rename_new", "move_new", "lease"]];

#[test]
fn a_failing_system_call_leaves_all_files_old_or_all_new() {
    let mut n_faults = 0;
    for lacks in FILESYSTEMS {
        let once: fn(usize) -> When = When::Once;
        let faults = [(SysError::IO, once), (SysError::IO, When::From), (SysError::INTR, once)];
        // A call that is interrupted is repeated on every file system.
        let n_kinds = if lacks.is_empty() { 3 } else { 2 };
        for (errno, when) in faults.into_iter().take(n_kinds) {
            for n in 1.. {
                let dir = scratch();
                let (root, state) = (dir.path().join("root"), dir.path().join("state"));
                prepare(&root);
                let when = when(n);
                let what = format!("lacking {lacks:?}, {errno} {when:?}");
                let mut sys = Disturbed::new(move |number, _| match when.is_hit(number) {
                    true => Err(errno),
                    false => Ok(()),
                });
                sys.lacks = lacks;
                let sys = Arc::new(sys);
                let result = commit(&root, &open(&root, &state, sys.clone()));
                check(&root, &state, &result, &what);
                if sys.n_calls.load(Ordering::SeqCst) < n {
                    assert!(result.is_ok(), "{what}");
                    break;
                }
                n_faults += 1;
            }
        }
    }
    println!("{n_faults} faults");
    assert!(n_faults > 300, "{n_faults}");
}

#[test]
fn recovery_can_be_interrupted_at_any_call() {
    let failing_from = |n: usize| {
        let fail = move |number| if number >= n { Err(SysError::IO) } else { Ok(()) };
        Arc::new(Disturbed::new(move |number, _| fail(number)))
    };
    let mut n_interrupted = 0;
    // Every seventh place at which the process may be killed.
    for from in (1..).step_by(7) {
        for interrupted in 1.. {
            let dir = scratch();
            let (root, state) = (dir.path().join("root"), dir.path().join("state"));
            prepare(&root);
            let result = commit(&root, &open(&root, &state, failing_from(from)));
            if result.is_ok() {
                println!("{n_interrupted} interruptions");
                assert!(n_interrupted > 50, "{n_interrupted}");
                return;
            }
            let sys = failing_from(interrupted);
            open(&root, &state, sys.clone()).recover();
            check(&root, &state, &result, &format!("from {from}, interrupted {interrupted}"));
            if sys.n_calls.load(Ordering::SeqCst) < interrupted {
                break;
            }
            n_interrupted += 1;
        }
    }
}

#[test]
fn a_file_that_another_program_changed_makes_the_transaction_uncertain() {
    let dir = scratch();
    let (root, state) = (dir.path().join("root"), dir.path().join("state"));
    prepare(&root);
    // Everything fails after the first exchange.
    let has_exchanged = AtomicBool::new(false);
    let sys = Disturbed::new(move |_, name| {
        let is_broken = has_exchanged.load(Ordering::SeqCst);
        has_exchanged.fetch_or(name == "exchange", Ordering::SeqCst);
        if is_broken { Err(SysError::IO) } else { Ok(()) }
    });
    commit(&root, &open(&root, &state, Arc::new(sys))).unwrap_err();
    std::fs::write(root.join("b/edited"), "by the user\n").unwrap();
    let before = files(&root);
    open(&root, &state, Arc::new(Linux::new())).recover();
    assert_eq!(files(&root), before, "nothing is touched");
    let reader = Reader::open(&StateDir::find(&state).unwrap()).unwrap().unwrap();
    let changes = reader.changes(&Filter::default()).unwrap();
    assert!(changes.iter().all(|change| change.state == State::Uncertain), "{changes:#?}");
}

#[test]
fn a_late_writer_of_one_file_cancels_the_transaction() {
    let dir = scratch();
    let (root, state) = (dir.path().join("root"), dir.path().join("state"));
    prepare(&root);
    let late = rustix::fs::open(root.join("a/edited"), OFlags::PATH, Mode::empty()).unwrap();
    let has_written = AtomicBool::new(false);
    let mut sys = Disturbed::new(move |_, name| {
        // The last operation: the others are made by then.
        if name == "rename" && !has_written.swap(true, Ordering::SeqCst) {
            let by_handle = format!("/proc/self/fd/{}", late.as_raw_fd());
            let mut file = std::fs::File::options().append(true).open(by_handle).unwrap();
            file.write_all(b"late\n").unwrap();
        }
        Ok(())
    });
    sys.lacks = &["lease"];
    let errors = commit(&root, &open(&root, &state, Arc::new(sys))).unwrap_err();
    assert!(matches!(errors[0].cause, WriteError::Conflict));
    let mut after = expected(false);
    after.insert("a/edited".into(), "old 1\nlate\n".into());
    assert_eq!(files(&root), after);
}

#[test]
fn limits_of_a_transaction_are_reported() {
    let dir = scratch();
    let (root, state) = (dir.path().join("root"), dir.path().join("state"));
    std::fs::create_dir(&root).unwrap();
    let store = open(&root, &state, Arc::new(Linux::new()));
    let large = vec![b'x'; (64 << 20) / 256 + 1];
    let check = |n_files: usize, n_dirs: usize, content: &[u8], message: &str| {
        let path = |n: usize| root.join(format!("{}/{n}", n % n_dirs)).display().to_string();
        let paths: Vec<_> = (0..n_files).map(|n| AbsPath::parse(path(n)).unwrap()).collect();
        let step = |path| FileStep {
            path,
            before: None,
            after: Some(content),
            move_to: None,
            is_link: false,
            metadata: None,
            undoes: &[],
        };
        let steps: Vec<_> = paths.iter().map(step).collect();
        let context = Context::default();
        let made = store.transaction(&steps, &context).and_then(|it| it.commit());
        let shown = made.err().map_or(String::new(), |errors| match &errors[0].cause {
            WriteError::Failed(error) => error.to_string(),
            _ => "conflict".to_string(),
        });
        assert_eq!(shown, message);
    };
    check(257, 1, b"x", "Too many files in one call: 257 of at most 256");
    check(65, 65, b"x", "Too many directories in one call: 65 of at most 64");
    check(256, 1, &large, "Too many bytes in one call: 67109120 of at most 67108864");
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    check(256, 64, b"x", "");
    assert_eq!(files(&root).len(), 256);
}

#[test]
fn files_that_cannot_be_changed_together_are_rejected() {
    let dir = scratch();
    let (root, state) = (dir.path().join("root"), dir.path().join("state"));
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("one"), "text\n").unwrap();
    std::fs::hard_link(root.join("one"), root.join("two")).unwrap();
    let store = open(&root, &state, Arc::new(Linux::new()));
    let absolute = |path: &str| AbsPath::parse(root.join(path).to_str().unwrap().into()).unwrap();
    let (one, two, free) = (absolute("one"), absolute("two"), absolute("free"));
    let edit = |path, move_to| FileStep {
        path,
        before: Some(b"text\n"),
        after: Some(b"TEXT\n"),
        move_to,
        is_link: false,
        metadata: None,
        undoes: &[],
    };
    for (steps, messages) in [
        (vec![edit(&one, None), edit(&two, None)], vec!["it is the same file as"]),
        (vec![edit(&one, None), edit(&one, Some(&free))], vec!["it is the same file as"]),
        (vec![edit(&free, None), edit(&two, Some(&one))], vec!["not found", "already exists"]),
    ] {
        let context = Context::default();
        let Err(errors) = store.transaction(&steps, &context) else { panic!("accepted") };
        let shown = errors.iter().map(|error| match &error.cause {
            WriteError::Failed(error) => error.to_string(),
            _ => "conflict".to_string(),
        });
        let shown: Vec<String> = shown.collect();
        assert_eq!(shown.len(), messages.len(), "{shown:?}");
        assert!(shown.iter().zip(messages).all(|(it, part)| it.contains(part)), "{shown:?}");
    }
    assert_eq!(std::fs::read_to_string(root.join("one")).unwrap(), "text\n");
}
