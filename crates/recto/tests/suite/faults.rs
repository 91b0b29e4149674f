//! The write protocol when system calls fail.
//!
//! The N-th call fails, N = 1, 2, … until the operation completes, once or from then on. Each time
//! the file is old or new, never torn; success is reported only if the new text is there and an
//! error only if nothing changed; and the next successful change removes all leftovers.

pub mod disturbed;
mod late;
mod others;
mod transactions;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recto_platform::{Linux, Sys, SysError};
use recto_store::Error as StoreError;
use recto_store::local::Options;
use recto_store::{GitRevisions, LocalStore};
use recto_tools::call::{Call, Calls};
use recto_tools::tools::Answer;
use recto_tools::{AnswerForm, Delivery, Error, Served};
use serde_json::{Value, json};

use crate::in_process;
use disturbed::{Disturbed, When};

const OLD: &str = "one\ntwo\nthree\n";
const NEW: &str = "one\nTWO\nthree\n";

fn call(root: &Path, sys: Arc<dyn Sys>, tool: &str, arguments: Value) -> Result<Answer, Error> {
    call_capped(u64::MAX, root, sys, tool, arguments)
}

/// Calls a tool over a store that reads files whole up to a size.
fn call_capped(
    max_whole_change: u64,
    root: &Path,
    sys: Arc<dyn Sys>,
    tool: &str,
    mut arguments: Value,
) -> Result<Answer, Error> {
    let options = Options {
        roots: vec![root.to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: true,
    };
    let store = LocalStore::with_sys(options, sys).unwrap();
    let store = Arc::new(store.with_max_whole_change(max_whole_change));
    let revisions = Arc::new(GitRevisions::new(store.clone(), Vec::new()));
    let delivery = Delivery { form: AnswerForm::Both, max_bytes: 1 << 20 };
    let calls = Calls::new(store, revisions, Served::all(), root.to_path_buf(), delivery);
    arguments["path"] = root.join("f.txt").to_str().unwrap().into();
    let Value::Object(arguments) = arguments else { unreachable!() };
    calls.call(calls.served().find(tool).unwrap(), arguments, &Call::default())
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

/// An operation of the protocol: the files before, the call, the files after.
struct Operation {
    before: Option<&'static str>,
    tool: &'static str,
    arguments: Value,
    after: Option<&'static str>,
    /// The largest file that is read whole.
    max_whole_change: u64,
}

fn edit_operation() -> Operation {
    let arguments = json!({"old_string": "two", "new_string": "TWO"});
    Operation {
        before: Some(OLD),
        tool: "edit_text_file",
        arguments,
        after: Some(NEW),
        max_whole_change: u64::MAX,
    }
}

fn operations() -> Vec<Operation> {
    let hash = recto_text::Digest::of(OLD.as_bytes()).to_string();
    vec![
        Operation {
            before: Some(OLD),
            tool: "file_remove",
            arguments: json!({"hash": hash}),
            after: None,
            max_whole_change: u64::MAX,
        },
        Operation {
            before: None,
            tool: "file_create",
            arguments: json!({"content": NEW}),
            after: Some(NEW),
            max_whole_change: u64::MAX,
        },
        edit_operation(),
        Operation { max_whole_change: 0, ..edit_operation() },
        Operation {
            before: Some(OLD),
            tool: "multi_edit_text_file",
            arguments: json!({"edits": [
                {"old_string": "two", "new_string": "zwei"},
                {"old_string": "zwei", "new_string": "TWO"},
            ]}),
            after: Some(NEW),
            max_whole_change: u64::MAX,
        },
        Operation {
            before: Some(OLD),
            tool: "write_text_file",
            arguments: json!({"content": NEW}),
            after: Some(NEW),
            max_whole_change: u64::MAX,
        },
        Operation {
            before: None,
            tool: "write_text_file",
            arguments: json!({"content": NEW}),
            after: Some(NEW),
            max_whole_change: u64::MAX,
        },
    ]
}

/// Features that some filesystems lack.
const FILESYSTEMS: [&[&str]; 5] = [
    &[],
    &["open_nameless"],
    &["exchange", "lease"],
    &["open_nameless", "exchange", "rename_new", "lease"],
    EXFAT,
];

const EXFAT: &[&str] = &["open_nameless", "exchange", "rename_new", "link", "lease"];

fn prepare(operation: &Operation) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    if let Some(before) = operation.before {
        std::fs::write(folder.path().join("f.txt"), before).unwrap();
        let attribute = rustix::fs::XattrFlags::empty();
        // On filesystems with attributes, setting them is a call that can fail.
        let _ = rustix::fs::setxattr(folder.path().join("f.txt"), "user.note", b"kept", attribute);
    }
    folder
}

/// Runs an operation on a disturbed system and checks the files afterwards.
fn attempt(operation: &Operation, sys: &Arc<Disturbed>, what: &str) -> Result<Answer, Error> {
    let folder = prepare(operation);
    let root = folder.path();
    let arguments = operation.arguments.clone();
    let result =
        call_capped(operation.max_whole_change, root, sys.clone(), operation.tool, arguments);
    let found = read(root);
    match &result {
        Ok(_) | Err(Error::Store(StoreError::NotDurable { .. })) => {
            assert_eq!(found.as_deref(), operation.after, "{what}: said to be done");
        }
        // Possible only where no call creates a complete file under a new name.
        Err(error) if error.to_string().contains("an empty file is left") => {
            assert_eq!((sys.lacks, found.as_deref()), (EXFAT, Some("")), "{what}: {error}");
        }
        Err(error) => {
            assert_eq!(found.as_deref(), operation.before, "{what}: refused with {error}");
        }
    }
    // A change without faults, as if by another process, removes the leftovers.
    call(root, Arc::new(Linux::new()), "write_text_file", json!({"content": "healthy\n"})).unwrap();
    assert_eq!(names(root), ["f.txt"], "{what}: nothing is left behind");
    assert_eq!(read(root).as_deref(), Some("healthy\n"), "{what}");
    result
}

/// The fault at a call: an error, or a short write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Error(SysError),
    ShortWrite,
}

const FAULTS: [Fault; 9] = [
    Fault::Error(SysError::IO),
    Fault::Error(SysError::NOSPC),
    Fault::Error(SysError::DQUOT),
    Fault::Error(SysError::ROFS),
    Fault::Error(SysError::ACCESS),
    Fault::Error(SysError::PERM),
    Fault::Error(SysError::NOMEM),
    Fault::Error(SysError::INTR),
    Fault::ShortWrite,
];

fn disturbed(fault: Fault, when: When, lacks: &'static [&'static str]) -> Arc<Disturbed> {
    let mut sys = Disturbed::new(move |number, _| match fault {
        Fault::Error(errno) if when.is_hit(number) => Err(errno),
        _ => Ok(()),
    });
    sys.lacks = lacks;
    sys.short_writes = (fault == Fault::ShortWrite).then_some(when);
    Arc::new(sys)
}

/// Makes every call of an operation fail in every way. Returns the number of faults, and adds the
/// codes of the answers.
fn fail_everywhere(operation: &Operation, codes: &mut HashSet<i32>) -> usize {
    let mut n_faults = 0;
    for lacks in FILESYSTEMS {
        for fault in FAULTS {
            let n_hits: usize = [When::Once as fn(usize) -> When, When::From]
                .map(|when| fail_each_call(operation, lacks, fault, when, codes))
                .iter()
                .sum();
            // A removal writes nothing, so it has no short writes.
            let is_possible = operation.after.is_some() || fault != Fault::ShortWrite;
            assert_eq!(n_hits > 0, is_possible, "{} {fault:?}", operation.tool);
            n_faults += n_hits;
        }
    }
    n_faults
}

fn fail_each_call(
    operation: &Operation,
    lacks: &'static [&'static str],
    fault: Fault,
    when: fn(usize) -> When,
    codes: &mut HashSet<i32>,
) -> usize {
    let mut n_hits = 0;
    for n in 1.. {
        let when = when(n);
        let what = format!("{} lacking {lacks:?}, {fault:?} {when:?}", operation.tool);
        let sys = disturbed(fault, when, lacks);
        let result = attempt(operation, &sys, &what);
        if sys.n_calls.load(Ordering::SeqCst) < n {
            result.unwrap();
            break;
        }
        if fault == Fault::ShortWrite && sys.n_short_writes.load(Ordering::SeqCst) == 0 {
            continue; // The N-th call was not a write.
        }
        n_hits += 1;
        let is_nothing = match (fault, when) {
            (Fault::ShortWrite, _) => true,
            (Fault::Error(errno), When::Once(_)) => errno == SysError::INTR,
            (Fault::Error(_), When::From(_)) => false,
        };
        codes.insert(match result {
            Ok(_) => 0,
            Err(error) if !is_nothing => error.code(),
            Err(error) => panic!("{what}: must not fail: {error}"),
        });
    }
    n_hits
}

#[test]
fn a_failing_system_call_leaves_old_or_new_text_and_no_leftovers() {
    // In parallel, because each mostly waits for the disk.
    let (n_faults, codes) = std::thread::scope(|scope| {
        let run = |operation: Operation| {
            let mut codes = HashSet::new();
            (fail_everywhere(&operation, &mut codes), codes)
        };
        let threads: Vec<_> =
            operations().into_iter().map(|operation| scope.spawn(move || run(operation))).collect();
        let mut total = (0, HashSet::new());
        for thread in threads {
            let (n_faults, codes) = thread.join().unwrap();
            total.0 += n_faults;
            total.1.extend(codes);
        }
        total
    });
    println!("{n_faults} faults, codes {codes:?}");
    assert!(n_faults > 4000, "{n_faults}");
    // Success despite the fault, denied, disk full, written but not durable, other.
    assert!(
        [0, -32002, -32005, -32018, -32603].iter().all(|code| codes.contains(code)),
        "{codes:?}"
    );
}

#[test]
fn a_file_is_created_without_links_nameless_files_and_exclusive_renames() {
    for errno in [SysError::INVAL, SysError::PERM, SysError::OPNOTSUPP] {
        // Each file system lacks one call more, and reports it in its own way.
        for n_lacking in 1..=EXFAT.len() {
            let folder = tempfile::tempdir().unwrap();
            let lacks = &EXFAT[..n_lacking];
            let create = |tool, content: &str| {
                let sys = Disturbed::new(move |_, name| match lacks.contains(&name) {
                    true => Err(errno),
                    false => Ok(()),
                });
                call(folder.path(), Arc::new(sys), tool, json!({"content": content}))
            };
            create("file_create", NEW).unwrap();
            assert_eq!(read(folder.path()).as_deref(), Some(NEW), "{errno}, {lacks:?}");
            let again = create("file_create", OLD).unwrap_err();
            assert_eq!(again.code(), -32006, "{again}");
            assert_eq!(read(folder.path()).as_deref(), Some(NEW), "{errno}, {lacks:?}");
            assert_eq!(names(folder.path()), ["f.txt"], "{errno}, {lacks:?}");
        }
    }
}

#[test]
fn a_file_that_appears_while_its_name_is_claimed_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    // Another process writes to the empty file that claims the name.
    let sys = Disturbed::new({
        let path = path.clone();
        move |_, name| match name {
            "rename" => {
                std::fs::write(&path, "foreign").unwrap();
                Err(SysError::IO)
            }
            name if EXFAT.contains(&name) => Err(SysError::INVAL),
            _ => Ok(()),
        }
    });
    call(folder.path(), Arc::new(sys), "file_create", json!({"content": NEW})).unwrap_err();
    assert_eq!(read(folder.path()).as_deref(), Some("foreign"));
    assert_eq!(names(folder.path()), ["f.txt"]);
}

#[test]
fn a_directory_with_a_leftover_that_could_not_be_removed_is_cleaned_later() {
    let folder = prepare(&edit_operation());
    let is_broken = Arc::new(AtomicBool::new(true));
    let sys = Disturbed::new({
        let is_broken = is_broken.clone();
        move |_, name| match name == "unlink" && is_broken.load(Ordering::SeqCst) {
            true => Err(SysError::IO),
            false => Ok(()),
        }
    });
    let options = Options {
        roots: vec![folder.path().to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: true,
    };
    let store = LocalStore::with_sys(options, Arc::new(sys)).unwrap();
    let calls = in_process::calls(folder.path(), &[], store);
    let write = |content: &str| {
        let path = folder.path().join("f.txt");
        let arguments = json!({"path": path, "content": content});
        let arguments = arguments.as_object().unwrap().clone();
        calls.call(calls.served().find("write_text_file").unwrap(), arguments, &Call::default())
    };
    write("first\n").unwrap();
    assert_eq!(names(folder.path()).len(), 2, "the old file is left");
    // The cleanup before the second write fails as well.
    write("second\n").unwrap();
    is_broken.store(false, Ordering::SeqCst);
    write("third\n").unwrap();
    assert_eq!(names(folder.path()), ["f.txt"]);
    assert_eq!(read(folder.path()).as_deref(), Some("third\n"));
}

#[test]
fn a_full_disk_is_reported() {
    let folder = prepare(&edit_operation());
    let sys = Disturbed::new(|_, name| if name == "write" { Err(SysError::NOSPC) } else { Ok(()) });
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
fn a_read_only_filesystem_is_reported() {
    let folder = prepare(&edit_operation());
    let sys = Disturbed::new(
        |_, name| if name == "open_nameless" { Err(SysError::ROFS) } else { Ok(()) },
    );
    let error =
        call(folder.path(), Arc::new(sys), "write_text_file", json!({"content": NEW})).unwrap_err();
    let path = folder.path().join("f.txt");
    assert_eq!(
        (error.code(), error.to_string()),
        (-32002, format!("Read-only filesystem: {}", path.display()))
    );
}
