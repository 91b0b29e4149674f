//! The write protocol with a writer that looks a file up before it is replaced and opens it
//! afterwards.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use recto_text::Digest;
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};

use super::disturbed::Disturbed;
use super::{NEW, OLD, call, edit_operation, names, prepare, read};

/// A writer that looks a file up by its name and opens it later, like a process that is preempted
/// in between: by then the name may refer to another file.
struct Writer {
    looks_up_at: usize,
    opens_at: usize,
    how: Action,
    found: Option<OwnedFd>,
    writes: Option<JoinHandle<File>>,
}

/// What a late writer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Appends,
    AppendsAndStays,
    WritesOver,
}

impl Writer {
    fn new(looks_up_at: usize, opens_at: usize, how: Action) -> Writer {
        Writer { looks_up_at, opens_at, how, found: None, writes: None }
    }

    fn meet(&mut self, number: usize, path: &Path, line: &'static str) {
        if number == self.looks_up_at {
            self.found = rustix::fs::open(path, OFlags::PATH, Mode::empty()).ok();
        }
        if number == self.opens_at
            && let Some(found) = self.found.take()
        {
            let how = self.how;
            let (sender, receiver) = channel();
            let write = move || {
                let by_handle = format!("/proc/self/fd/{}", found.as_raw_fd());
                sender.send(File::open("/proc/thread-self/stat").unwrap()).unwrap();
                let mut file = match how {
                    Action::WritesOver => File::create(by_handle),
                    _ => File::options().append(true).open(by_handle),
                }
                .unwrap();
                file.write_all(format!("{line}\n").as_bytes()).unwrap();
                match how {
                    Action::AppendsAndStays => file,
                    _ => File::open("/dev/null").unwrap(),
                }
            };
            let writes = std::thread::spawn(write);
            let stat = receiver.recv().unwrap();
            // Until it waits for the lease to end, or has finished.
            while !writes.is_finished() && !is_asleep(&stat) {
                std::thread::yield_now();
            }
            self.writes = Some(writes);
        }
    }
}

/// Whether a thread is blocked, by its line in `/proc`.
fn is_asleep(stat: &File) -> bool {
    let mut line = [0; 512];
    let n_read = stat.read_at(&mut line, 0).unwrap_or(0);
    let line = String::from_utf8_lossy(&line[..n_read]);
    line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// The record of a run.
struct Record {
    /// The number of the call that first exchanged the file.
    exchanged_at: usize,
    /// The number of the call that first removed a name.
    unlinked_at: usize,
    have_all_run: bool,
}

/// Edits a file with late writers.
fn edit_beside(late: Vec<Writer>) -> Record {
    const LINES: [&str; 2] = ["first", "second"];
    let folder = prepare(&edit_operation());
    let path = folder.path().join("f.txt");
    let when: Vec<_> = late.iter().map(|late| (late.looks_up_at, late.opens_at)).collect();
    let late = Arc::new(Mutex::new(late));
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (others, target, names_of_calls) = (late.clone(), path.clone(), calls.clone());
    let sys = Disturbed::new(move |number, name| {
        names_of_calls.lock().unwrap().push(name.to_string());
        for (late, line) in others.lock().unwrap().iter_mut().zip(LINES) {
            late.meet(number, &target, line);
        }
        Ok(())
    });
    let arguments = json!({"old_string": "two", "new_string": "TWO"});
    let result = call(folder.path(), Arc::new(sys), "edit_text_file", arguments);
    let mut came = Vec::new();
    for (late, line) in late.lock().unwrap().iter_mut().zip(LINES) {
        if let Some(append) = late.writes.take() {
            append.join().unwrap();
            came.push(line);
        }
    }
    let found = read(folder.path()).unwrap_or_default();
    let what = format!("looked up and opened at {when:?}: {result:?}, {found:?}");
    assert!(result.is_ok(), "{what}");
    assert!(found.starts_with(NEW), "{what}");
    let mut appended: Vec<_> = found[NEW.len()..].lines().collect();
    appended.sort_unstable();
    assert_eq!(appended, came, "{what}");
    assert_eq!(names(folder.path()), ["f.txt"], "{what}");
    let calls = calls.lock().unwrap();
    let first = |name| calls.iter().position(|call| call == name).expect(name) + 1;
    Record {
        exchanged_at: first("exchange"),
        unlinked_at: first("unlink"),
        have_all_run: came.len() == when.len(),
    }
}

/// Tries every lookup and open before the old file loses its last name.
#[test]
fn a_writer_that_opens_late_loses_nothing() {
    let unlinked_at = edit_beside(Vec::new()).unlinked_at;
    let mut n_late = 0;
    for looks_up_at in 1..unlinked_at {
        for opens_at in looks_up_at..unlinked_at {
            let beside = edit_beside(vec![Writer::new(looks_up_at, opens_at, Action::Appends)]);
            n_late += usize::from(beside.have_all_run);
        }
    }
    assert!(n_late > 100, "{n_late}");
}

/// The second writer opens the new file before the exchange is reverted.
#[test]
fn two_writers_that_open_late_lose_nothing() {
    let exchanged_at = edit_beside(Vec::new()).exchanged_at;
    let mut n_late = 0;
    for first in exchanged_at..exchanged_at + 3 {
        let undone_at = edit_beside(vec![Writer::new(1, first, Action::Appends)]).unlinked_at;
        for second in exchanged_at + 1..undone_at {
            for opens_at in second..undone_at {
                let late = vec![
                    Writer::new(1, first, Action::Appends),
                    Writer::new(second, opens_at, Action::Appends),
                ];
                n_late += usize::from(edit_beside(late).have_all_run);
            }
        }
    }
    assert!(n_late > 50, "{n_late}");
}

/// A late write to a file that is edited or removed stays in place, also if the writer uses another
/// name of the same file.
#[test]
fn a_late_write_is_never_lost() {
    let remove = ("file_remove", json!({"hash": Digest::of(OLD.as_bytes()).to_string()}));
    let edit = ("edit_text_file", json!({"old_string": "two", "new_string": "TWO"}));
    for (tool, arguments) in [edit, remove] {
        for how in [Action::Appends, Action::AppendsAndStays, Action::WritesOver] {
            for lacks in [&[][..], &["exchange", "rename_new"]] {
                for by in ["f.txt", "g.txt"] {
                    write_late(tool, &arguments, how, lacks, by);
                }
            }
        }
    }
}

fn write_late(
    tool: &str,
    arguments: &Value,
    how: Action,
    lacks: &'static [&'static str],
    by: &str,
) {
    let mut n_late = 0;
    for opens_at in 1.. {
        let folder = prepare(&edit_operation());
        let (path, other_name) = (folder.path().join("f.txt"), folder.path().join("g.txt"));
        std::fs::hard_link(&path, &other_name).unwrap();
        let late = Arc::new(Mutex::new(Writer::new(1, opens_at, how)));
        let is_last = Arc::new(AtomicBool::new(false));
        let (other, target, is_over) = (late.clone(), folder.path().join(by), is_last.clone());
        let mut sys = Disturbed::new(move |number, name| {
            // From here on the old file has no name, or only the other one.
            let is_last = name == "unlink" || name == "rename" && lacks.contains(&"exchange");
            is_over.fetch_or(is_last, Ordering::SeqCst);
            if !is_over.load(Ordering::SeqCst) {
                other.lock().unwrap().meet(number, &target, "late");
            }
            Ok(())
        });
        sys.lacks = lacks;
        let result = call(folder.path(), Arc::new(sys), tool, arguments.clone());
        let Some(writes) = late.lock().unwrap().writes.take() else { break };
        n_late += 1;
        let _stays_open = writes.join().unwrap();
        let n_lines = |path: &Path| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().filter(|line| *line == "late").count()
        };
        let what = format!("{tool}, {how:?} {by} at {opens_at}, {lacks:?}: {result:?}");
        assert_eq!(n_lines(&other_name), 1, "{what}");
        assert_eq!(n_lines(&path), 1, "{what}");
        assert_eq!(names(folder.path()), ["f.txt", "g.txt"], "{what}");
    }
    assert!(n_late > 3, "{tool}, {how:?}, {lacks:?}: {n_late}");
}

/// Without a lease recto cannot detect a writer that already has the file open.
#[test]
fn without_leases_a_writer_that_opened_before_the_edit_loses_nothing() {
    let mut n_writes = 0;
    for writes_at in 1.. {
        let folder = prepare(&edit_operation());
        let file = File::options().append(true).open(folder.path().join("f.txt")).unwrap();
        let has_written = Arc::new(AtomicBool::new(false));
        let (is_done, is_over) = (has_written.clone(), AtomicBool::new(false));
        let mut sys = Disturbed::new(move |number, name| {
            is_over.fetch_or(name == "unlink", Ordering::SeqCst);
            if number == writes_at && !is_over.load(Ordering::SeqCst) {
                (&file).write_all(b"late\n").unwrap();
                is_done.store(true, Ordering::SeqCst);
            }
            Ok(())
        });
        sys.lacks = &["lease"];
        let arguments = json!({"old_string": "two", "new_string": "TWO"});
        let result = call(folder.path(), Arc::new(sys), "edit_text_file", arguments);
        if !has_written.load(Ordering::SeqCst) {
            break;
        }
        n_writes += 1;
        let found = read(folder.path()).unwrap();
        let what = format!("written at {writes_at}: {result:?}, {found:?}");
        assert!(found.ends_with("three\nlate\n"), "{what}");
        assert_eq!(names(folder.path()), ["f.txt"], "{what}");
    }
    assert!(n_writes > 10, "{n_writes}");
}
