//! The write protocol when system calls fail, and when somebody else writes in between.
//!
//! The N-th call fails, N = 1, 2, … until the operation completes. After each: old or new, never
//! torn; success only for what is there; a refusal only where nothing changed; nothing left
//! behind once a healthy change has passed.

use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recto::call::Calls;
use recto::caller::Caller;
use recto::store::local::Options;
use recto::store::local::sys::{Linux, Sys, SysResult};
use recto::store::{GitRevisions, LocalStore};
use recto::tools::{self, Answer};
use recto_text::Error;
use rustix::fs::{Gid, Mode, Stat, Uid};
use rustix::io::Errno;
use serde_json::{Value, json};

const OLD: &str = "one\ntwo\nthree\n";
const NEW: &str = "one\nTWO\nthree\n";

/// Decides by a call's number and name what happens before it.
type Disturb = Box<dyn Fn(usize, &str) -> SysResult<()> + Send + Sync>;

/// A system that lacks some calls and interferes with one.
struct Disturbed {
    system: Linux,
    /// Calls that answer "not supported", as some filesystems do.
    lacks: &'static [&'static str],
    n_calls: AtomicUsize,
    disturb: Disturb,
    /// The N-th write takes only half.
    short_write: Option<usize>,
}

impl Disturbed {
    fn new(disturb: impl Fn(usize, &str) -> SysResult<()> + Send + Sync + 'static) -> Disturbed {
        Disturbed {
            system: Linux::new(),
            lacks: &[],
            n_calls: AtomicUsize::new(0),
            disturb: Box::new(disturb),
            short_write: None,
        }
    }

    fn before(&self, name: &str) -> SysResult<usize> {
        if self.lacks.contains(&name) {
            return Err(Errno::OPNOTSUPP);
        }
        let number = self.n_calls.fetch_add(1, Ordering::SeqCst) + 1;
        (self.disturb)(number, name).map(|()| number)
    }
}

impl Sys for Disturbed {
    fn status(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<Stat> {
        self.before("status")?;
        self.system.status(folder, name)
    }
    fn open(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<OwnedFd> {
        self.before("open")?;
        self.system.open(folder, name)
    }
    fn lease(&self, file: BorrowedFd<'_>) -> SysResult<()> {
        self.before("lease")?;
        self.system.lease(file)
    }
    fn is_leased(&self, file: BorrowedFd<'_>) -> bool {
        self.system.is_leased(file)
    }
    fn read_at(&self, file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        self.before("read_at")?;
        self.system.read_at(file, buffer, offset)
    }
    fn open_nameless(&self, folder: &OwnedFd) -> SysResult<OwnedFd> {
        self.before("open_nameless")?;
        self.system.open_nameless(folder)
    }
    fn create(&self, folder: &OwnedFd, name: &OsStr, mode: Mode) -> SysResult<OwnedFd> {
        self.before("create")?;
        self.system.create(folder, name, mode)
    }
    fn write(&self, file: BorrowedFd<'_>, bytes: &[u8]) -> SysResult<usize> {
        let number = self.before("write")?;
        let is_short = self.short_write == Some(number);
        self.system.write(file, if is_short { &bytes[..bytes.len().div_ceil(2)] } else { bytes })
    }
    fn set_owner(&self, file: BorrowedFd<'_>, owner: Uid, group: Gid) -> SysResult<()> {
        self.before("set_owner")?;
        self.system.set_owner(file, owner, group)
    }
    fn set_mode(&self, file: BorrowedFd<'_>, mode: Mode) -> SysResult<()> {
        self.before("set_mode")?;
        self.system.set_mode(file, mode)
    }
    fn set_attribute(&self, file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> SysResult<()> {
        self.before("set_attribute")?;
        self.system.set_attribute(file, name, value)
    }
    fn sync(&self, file: BorrowedFd<'_>) -> SysResult<()> {
        self.before("sync")?;
        self.system.sync(file)
    }
    fn link(&self, file: BorrowedFd<'_>, folder: &OwnedFd, name: &OsStr) -> SysResult<()> {
        self.before("link")?;
        self.system.link(file, folder, name)
    }
    fn exchange(&self, folder: &OwnedFd, one: &OsStr, other: &OsStr) -> SysResult<()> {
        self.before("exchange")?;
        self.system.exchange(folder, one, other)
    }
    fn rename(&self, folder: &OwnedFd, from: &OsStr, to: &OsStr) -> SysResult<()> {
        self.before("rename")?;
        self.system.rename(folder, from, to)
    }
    fn rename_new(&self, folder: &OwnedFd, from: &OsStr, to: &OsStr) -> SysResult<()> {
        self.before("rename_new")?;
        self.system.rename_new(folder, from, to)
    }
    fn unlink(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<()> {
        self.before("unlink")?;
        self.system.unlink(folder, name)
    }
}

fn call(root: &Path, sys: Arc<dyn Sys>, tool: &str, mut arguments: Value) -> Result<Answer, Error> {
    let options = Options {
        roots: vec![root.to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: true,
    };
    let store = Arc::new(LocalStore::with_sys(options, sys).unwrap());
    let revisions = Arc::new(GitRevisions::new(store.clone(), Vec::new()));
    let calls = Calls::new(store, revisions, tools::ALL.to_vec(), root.to_path_buf(), 1 << 20);
    arguments["path"] = root.join("f.txt").to_str().unwrap().into();
    let Value::Object(arguments) = arguments else { unreachable!() };
    calls.call(calls.find(tool).unwrap(), arguments, &Caller::default())
}

fn names(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn read(root: &Path) -> Option<String> {
    std::fs::read_to_string(root.join("f.txt")).ok()
}

/// An operation of the protocol: what stands before, which call, what stands after.
struct Operation {
    before: Option<&'static str>,
    tool: &'static str,
    arguments: Value,
    after: Option<&'static str>,
}

fn edit_operation() -> Operation {
    let arguments = json!({"old_string": "two", "new_string": "TWO"});
    Operation { before: Some(OLD), tool: "edit_text_file", arguments, after: Some(NEW) }
}

fn operations() -> Vec<Operation> {
    let hash = recto_text::Digest::of(OLD.as_bytes()).to_string();
    vec![
        Operation {
            before: Some(OLD),
            tool: "file.remove",
            arguments: json!({"hash": hash}),
            after: None,
        },
        Operation {
            before: None,
            tool: "file.create",
            arguments: json!({"content": NEW}),
            after: Some(NEW),
        },
        edit_operation(),
        Operation {
            before: Some(OLD),
            tool: "write_text_file",
            arguments: json!({"content": NEW}),
            after: Some(NEW),
        },
        Operation {
            before: None,
            tool: "write_text_file",
            arguments: json!({"content": NEW}),
            after: Some(NEW),
        },
    ]
}

/// What different filesystems lack.
const FILESYSTEMS: [&[&str]; 4] = [
    &[],
    &["open_nameless"],
    &["exchange", "lease"],
    &["open_nameless", "exchange", "rename_new", "lease"],
];

fn prepare(operation: &Operation) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    if let Some(before) = operation.before {
        std::fs::write(folder.path().join("f.txt"), before).unwrap();
        let attribute = rustix::fs::XattrFlags::empty();
        // Not every filesystem has attributes; where it does, setting them is a call that fails.
        let _ = rustix::fs::setxattr(folder.path().join("f.txt"), "user.note", b"kept", attribute);
    }
    folder
}

/// Runs an operation on a disturbed system and looks at what it left. Returns whether the fault
/// was reached, and the result.
fn attempt(operation: &Operation, sys: Disturbed, what: &str) -> Result<Answer, Error> {
    let folder = prepare(operation);
    let root = folder.path();
    let result = call(root, Arc::new(sys), operation.tool, operation.arguments.clone());
    let found = read(root);
    match &result {
        Ok(_) | Err(Error::NotDurable { .. }) => {
            assert_eq!(found.as_deref(), operation.after, "{what}: said to be done");
        }
        Err(error) => {
            assert_eq!(found.as_deref(), operation.before, "{what}: refused with {error}");
        }
    }
    // A healthy change, by another process as it were, takes the leftovers away.
    call(root, Arc::new(Linux::new()), "write_text_file", json!({"content": "healthy\n"})).unwrap();
    assert_eq!(names(root), ["f.txt"], "{what}: nothing is left behind");
    assert_eq!(read(root).as_deref(), Some("healthy\n"), "{what}");
    result
}

#[test]
fn a_failing_system_call_leaves_old_or_new_and_nothing_else() {
    let mut n_faults = 0;
    let mut codes = HashSet::new();
    for operation in operations() {
        for lacks in FILESYSTEMS {
            for errno in
                [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::ROFS, Errno::ACCESS, Errno::INTR]
            {
                for is_persistent in [false, true] {
                    for n in 1.. {
                        let what = format!(
                            "{} lacking {lacks:?}, call {n} {errno:?}, persistent: {is_persistent}",
                            operation.tool
                        );
                        let reached = Arc::new(AtomicUsize::new(0));
                        let counter = reached.clone();
                        let mut sys = Disturbed::new(move |number, _| {
                            if number == n || (is_persistent && number > n) {
                                counter.fetch_add(1, Ordering::SeqCst);
                                return Err(errno);
                            }
                            Ok(())
                        });
                        sys.lacks = lacks;
                        let result = attempt(&operation, sys, &what);
                        if reached.load(Ordering::SeqCst) == 0 {
                            result.unwrap();
                            break;
                        }
                        n_faults += 1;
                        match result {
                            Err(error) => {
                                codes.insert(error.code());
                                assert!(
                                    errno != Errno::INTR || is_persistent,
                                    "{what}: one interruption is nothing"
                                );
                            }
                            Ok(_) => {
                                codes.insert(0);
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{n_faults} faults, codes {codes:?}");
    assert!(n_faults > 1000, "{n_faults}");
    // Success in spite of it, denied, disk full, written but not durable, other.
    assert!(
        [0, -32002, -32005, -32018, -32603].iter().all(|code| codes.contains(code)),
        "{codes:?}"
    );
}

#[test]
fn short_writes_are_continued() {
    for operation in operations() {
        for n in 1..40 {
            let mut sys = Disturbed::new(|_, _| Ok(()));
            sys.short_write = Some(n);
            attempt(&operation, sys, &format!("call {n} is short")).unwrap();
        }
    }
}

#[test]
fn a_full_disk_is_said_to_be_full() {
    let folder = prepare(&edit_operation());
    let sys = Disturbed::new(|_, name| if name == "write" { Err(Errno::NOSPC) } else { Ok(()) });
    let error =
        call(folder.path(), Arc::new(sys), "write_text_file", json!({"content": NEW})).unwrap_err();
    let path = folder.path().join("f.txt");
    assert_eq!(error.code(), -32005);
    assert_eq!(
        error.to_string(),
        format!("Disk full: cannot write 14 bytes to {}", path.display())
    );
    assert_eq!(read(folder.path()).as_deref(), Some(OLD));
}

#[test]
fn a_read_only_filesystem_is_said_to_be_one() {
    let folder = prepare(&edit_operation());
    let sys =
        Disturbed::new(|_, name| if name == "open_nameless" { Err(Errno::ROFS) } else { Ok(()) });
    let error =
        call(folder.path(), Arc::new(sys), "write_text_file", json!({"content": NEW})).unwrap_err();
    let path = folder.path().join("f.txt");
    assert_eq!(
        (error.code(), error.to_string()),
        (-32002, format!("Read-only filesystem: {}", path.display()))
    );
}

/// What somebody who does not lock does to the file.
#[derive(Debug, Clone, Copy)]
enum Meddling {
    Appends,
    Replaces,
    Removes,
}

fn meddle(path: &Path, how: Meddling) {
    match how {
        // Not blocking, because a lease would make us wait for ourselves.
        Meddling::Appends => {
            let mut file = std::fs::OpenOptions::new();
            let file = file.append(true).custom_flags(libc::O_NONBLOCK).open(path);
            if let Ok(mut file) = file {
                file.write_all(b"foreign\n").unwrap();
            }
        }
        Meddling::Replaces => {
            let beside = path.with_extension("other");
            std::fs::write(&beside, "one\ntwo\nthree\nforeign\n").unwrap();
            std::fs::rename(&beside, path).unwrap();
        }
        Meddling::Removes => {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[test]
fn what_others_write_in_between_is_never_lost() {
    let mut n_meddlings = 0;
    for how in [Meddling::Appends, Meddling::Replaces, Meddling::Removes] {
        for with_tag in [false, true] {
            for n in 1.. {
                let folder = prepare(&edit_operation());
                let path = folder.path().join("f.txt");
                let meddled = Arc::new(AtomicUsize::new(0));
                let (counter, target) = (meddled.clone(), path.clone());
                let mut sys = Disturbed::new(move |number, _| {
                    if number == n {
                        counter.fetch_add(1, Ordering::SeqCst);
                        meddle(&target, how);
                    }
                    Ok(())
                });
                sys.lacks = &["lease"];
                let mut arguments = json!({"old_string": "two", "new_string": "TWO"});
                if with_tag {
                    arguments["expected_hash"] =
                        recto_text::Digest::of(OLD.as_bytes()).to_string().into();
                }
                let result = call(folder.path(), Arc::new(sys), "edit_text_file", arguments);
                let found = read(folder.path());
                let what =
                    format!("{how:?} before call {n}, tag: {with_tag}: {result:?}, {found:?}");
                if meddled.load(Ordering::SeqCst) == 0 {
                    result.unwrap();
                    break;
                }
                n_meddlings += 1;
                match (how, &result) {
                    // Removed before our read or our commit: refused. After: our text was there.
                    (Meddling::Removes, Err(error)) => {
                        assert_eq!((error.code(), &found), (-32001, &None), "{what}");
                    }
                    (Meddling::Removes, Ok(_)) => assert_eq!(found, None, "{what}"),
                    // A removal aside, foreign text survives, and an edit that was said to be
                    // written either stands or was written over by a whole new file.
                    (_, Err(error)) => {
                        assert!(with_tag && error.code() == -32013, "{what}");
                        assert_eq!(found.as_deref(), Some("one\ntwo\nthree\nforeign\n"), "{what}");
                    }
                    (Meddling::Appends, Ok(_)) => {
                        assert_eq!(found.as_deref(), Some("one\nTWO\nthree\nforeign\n"), "{what}");
                    }
                    (Meddling::Replaces, Ok(_)) => {
                        let found = found.unwrap_or_default();
                        assert!(found.ends_with("three\nforeign\n"), "{what}");
                    }
                }
                let mut left = names(folder.path());
                left.retain(|name| name != "f.txt");
                assert!(left.is_empty(), "{what}: {left:?}");
            }
        }
    }
    assert!(n_meddlings > 30, "{n_meddlings}");
}

#[test]
fn an_appender_who_does_not_lock_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "n = 0\n").unwrap();
    const N_LINES: usize = 1500;
    let appender = {
        let path = path.clone();
        std::thread::spawn(move || {
            for n in 0..N_LINES {
                let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
                writeln!(file, "line {n}").unwrap();
            }
        })
    };
    let mut n_edits = 0;
    while !appender.is_finished() || n_edits < 20 {
        let arguments = json!({
            "old_string": format!("n = {n_edits}\n"),
            "new_string": format!("n = {}\n", n_edits + 1),
        });
        match call(folder.path(), Arc::new(Linux::new()), "edit_text_file", arguments) {
            Ok(_) => n_edits += 1,
            // It kept changing; nothing was written.
            Err(error) => assert_eq!(error.code(), -32017, "{error}"),
        }
    }
    appender.join().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&format!("n = {n_edits}\n")), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("line ")).count(), N_LINES);
}
