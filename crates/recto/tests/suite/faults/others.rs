//! The write protocol when others, who do not lock, write in between: nothing of theirs is lost,
//! and nothing of ours is said to stand that does not.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use recto::store::local::sys::Linux;
use recto_text::Digest;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, renameat_with};
use serde_json::json;

use super::disturbed::Disturbed;
use super::{NEW, OLD, call, edit_operation, names, prepare, read};

/// What somebody who does not lock does to the file.
#[derive(Debug, Clone, Copy)]
enum Meddling {
    Appends,
    Replaces,
    Removes,
}

fn meddle(path: &Path, how: Meddling) {
    meddle_with(path, how, "foreign");
}

/// The same, with a line of one's own.
fn meddle_with(path: &Path, how: Meddling, line: &str) {
    match how {
        // Not blocking, because a lease would make us wait for ourselves.
        Meddling::Appends => {
            let mut file = std::fs::OpenOptions::new();
            let file = file.append(true).custom_flags(libc::O_NONBLOCK).open(path);
            if let Ok(mut file) = file {
                file.write_all(format!("{line}\n").as_bytes()).unwrap();
            }
        }
        Meddling::Replaces => {
            let beside = path.with_extension("other");
            std::fs::write(&beside, format!("one\ntwo\nthree\n{line}\n")).unwrap();
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
                    arguments["expected_hash"] = Digest::of(OLD.as_bytes()).to_string().into();
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

/// The second may come while what the first did is put back.
#[test]
fn what_two_others_write_in_between_is_never_lost() {
    use Meddling::{Appends, Replaces};
    let mut n_meddlings = 0;
    for (first, second) in
        [(Replaces, Replaces), (Appends, Replaces), (Replaces, Appends), (Appends, Appends)]
    {
        for n in 1.. {
            let mut n_second = 0;
            for m in n.. {
                let folder = prepare(&edit_operation());
                let path = folder.path().join("f.txt");
                let meddled = Arc::new(AtomicUsize::new(0));
                let (counter, target) = (meddled.clone(), path.clone());
                let mut sys = Disturbed::new(move |number, _| {
                    for (at, how, line) in [(n, first, "first"), (m, second, "second")] {
                        if number == at {
                            counter.fetch_add(1, Ordering::SeqCst);
                            meddle_with(&target, how, line);
                        }
                    }
                    Ok(())
                });
                sys.lacks = &["lease"];
                let arguments = json!({"old_string": "two", "new_string": "TWO"});
                let result = call(folder.path(), Arc::new(sys), "edit_text_file", arguments);
                if meddled.load(Ordering::SeqCst) < 2 {
                    break;
                }
                n_second += 1;
                n_meddlings += 1;
                let found = read(folder.path()).unwrap_or_default();
                let what = format!("{first:?} {n}, {second:?} {m}: {result:?}, {found:?}");
                assert!(result.is_ok(), "{what}");
                // Whoever replaces a whole file replaces what was appended before.
                let end = match second {
                    Replaces => "three\nsecond\n",
                    Appends | Meddling::Removes => "three\nfirst\nsecond\n",
                };
                assert!(found.ends_with(end), "{what}");
                let mut left = names(folder.path());
                left.retain(|name| name != "f.txt");
                assert!(left.is_empty(), "{what}: {left:?}");
            }
            if n_second == 0 {
                break;
            }
        }
    }
    assert!(n_meddlings > 500, "{n_meddlings}");
}

/// One replaces the file and another swaps it for its neighbour: whatever stands where in the end,
/// both texts stand somewhere, and where that is not under a name of theirs it is told.
#[test]
fn what_is_swapped_away_in_between_is_never_lost() {
    const NEIGHBOUR: &str = "a neighbour\nwith two lines\n";
    let mut n_told = 0;
    let mut n_meddlings = 0;
    for n in 1.. {
        let mut n_second = 0;
        for m in n.. {
            let folder = prepare(&edit_operation());
            let (path, neighbour) = (folder.path().join("f.txt"), folder.path().join("g.txt"));
            std::fs::write(&neighbour, NEIGHBOUR).unwrap();
            let meddled = Arc::new(AtomicUsize::new(0));
            let (counter, target) = (meddled.clone(), path.clone());
            let mut sys = Disturbed::new(move |number, _| {
                if number == n {
                    meddle_with(&target, Meddling::Replaces, "first");
                }
                if number == m {
                    counter.fetch_add(1, Ordering::SeqCst);
                    renameat_with(CWD, &target, CWD, &neighbour, RenameFlags::EXCHANGE).unwrap();
                }
                Ok(())
            });
            sys.lacks = &["lease"];
            let arguments = json!({"old_string": "two", "new_string": "TWO"});
            let result = call(folder.path(), Arc::new(sys), "edit_text_file", arguments);
            if meddled.load(Ordering::SeqCst) == 0 {
                break;
            }
            n_second += 1;
            n_meddlings += 1;
            let found: Vec<(String, String)> = names(folder.path())
                .into_iter()
                .map(|name| {
                    (name.clone(), std::fs::read_to_string(folder.path().join(name)).unwrap())
                })
                .collect();
            let what = format!("replaced at {n}, swapped at {m}: {result:?}, {found:?}");
            let is_somewhere = |end: &str| found.iter().any(|(_, text)| text.ends_with(end));
            assert!(is_somewhere("three\nfirst\n"), "{what}");
            assert!(is_somewhere("two lines\n") || is_somewhere("TWO lines\n"), "{what}");
            for (name, _) in found.iter().filter(|(name, _)| !name.ends_with(".txt")) {
                n_told += 1;
                let error = result.as_ref().expect_err(&what);
                assert!(error.to_string().contains(name.as_str()), "{what}");
            }
        }
        if n_second == 0 {
            break;
        }
    }
    assert!(n_meddlings > 100 && n_told > 0, "{n_meddlings}, {n_told} told");
}

/// Somebody who looks a file up by its name and opens it only later, as a process does that loses
/// the processor in between: by then the name may stand for another file.
struct Late {
    looks_up_at: usize,
    opens_at: usize,
    how: Coming,
    found: Option<OwnedFd>,
    writes: Option<JoinHandle<File>>,
}

/// What one who comes late does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coming {
    Appends,
    AppendsAndStays,
    WritesOver,
}

impl Late {
    fn new(looks_up_at: usize, opens_at: usize, how: Coming) -> Late {
        Late { looks_up_at, opens_at, how, found: None, writes: None }
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
                    Coming::WritesOver => File::create(by_handle),
                    _ => File::options().append(true).open(by_handle),
                }
                .unwrap();
                file.write_all(format!("{line}\n").as_bytes()).unwrap();
                match how {
                    Coming::AppendsAndStays => file,
                    _ => File::open("/dev/null").unwrap(),
                }
            };
            let writes = std::thread::spawn(write);
            let stat = receiver.recv().unwrap();
            // Until it waits for the lease to end, or is done.
            while !writes.is_finished() && !is_asleep(&stat) {
                std::thread::yield_now();
            }
            self.writes = Some(writes);
        }
    }
}

/// Whether a thread waits for something, by its line in `/proc`.
fn is_asleep(stat: &File) -> bool {
    let mut line = [0; 512];
    let n_read = stat.read_at(&mut line, 0).unwrap_or(0);
    let line = String::from_utf8_lossy(&line[..n_read]);
    line.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

/// How it went.
struct Beside {
    /// The number of the call that exchanged the file first.
    exchanged_at: usize,
    /// And of the call that took a name away first.
    unlinked_at: usize,
    have_all_come: bool,
}

/// Edits while others come late.
fn edit_beside(late: Vec<Late>) -> Beside {
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
    Beside {
        exchanged_at: first("exchange"),
        unlinked_at: first("unlink"),
        have_all_come: came.len() == when.len(),
    }
}

#[test]
fn one_who_opens_late_loses_nothing() {
    let mut n_late = 0;
    for looks_up_at in 1.. {
        let mut opens_at = looks_up_at;
        while edit_beside(vec![Late::new(looks_up_at, opens_at, Coming::Appends)]).have_all_come {
            opens_at += 1;
        }
        n_late += opens_at - looks_up_at;
        if opens_at == looks_up_at {
            break;
        }
    }
    assert!(n_late > 100, "{n_late}");
}

/// The second finds the new file while it has the name, which is then taken back.
#[test]
fn two_who_open_late_lose_nothing() {
    let exchanged_at = edit_beside(Vec::new()).exchanged_at;
    let mut n_late = 0;
    for first in exchanged_at..exchanged_at + 3 {
        let undone_at = edit_beside(vec![Late::new(1, first, Coming::Appends)]).unlinked_at;
        for second in exchanged_at + 1..=undone_at {
            for opens_at in second..=undone_at {
                let late = vec![
                    Late::new(1, first, Coming::Appends),
                    Late::new(second, opens_at, Coming::Appends),
                ];
                n_late += usize::from(edit_beside(late).have_all_come);
            }
        }
    }
    assert!(n_late > 100, "{n_late}");
}

/// What cannot be joined to the file is kept beside it, and the error names where.
#[test]
fn what_is_written_late_is_never_lost() {
    use Coming::{Appends, AppendsAndStays, WritesOver};
    let remove = ("file.remove", json!({"hash": Digest::of(OLD.as_bytes()).to_string()}));
    let edit = ("edit_text_file", json!({"old_string": "two", "new_string": "TWO"}));
    for ((tool, arguments), how) in [
        (&edit, AppendsAndStays),
        (&edit, WritesOver),
        (&remove, Appends),
        (&remove, AppendsAndStays),
        (&remove, WritesOver),
    ] {
        let mut n_beside = 0;
        for opens_at in 1.. {
            let folder = prepare(&edit_operation());
            let late = Arc::new(Mutex::new(Late::new(1, opens_at, how)));
            let (other, target) = (late.clone(), folder.path().join("f.txt"));
            let sys = Disturbed::new(move |number, _| {
                other.lock().unwrap().meet(number, &target, "late");
                Ok(())
            });
            let result = call(folder.path(), Arc::new(sys), tool, arguments.clone());
            let Some(writes) = late.lock().unwrap().writes.take() else { break };
            let _stays_open = writes.join().unwrap();
            let texts = names(folder.path()).into_iter().map(|name| {
                let text = std::fs::read_to_string(folder.path().join(&name)).unwrap();
                (name, text)
            });
            let found: Vec<_> = texts.collect();
            let what = format!("{tool}, {how:?} at {opens_at}: {result:?}, {found:?}");
            let has_late = |text: &str| text.lines().any(|line| line == "late");
            let (name, _) = found.iter().find(|(_, text)| has_late(text)).expect(&what);
            if name != "f.txt" {
                n_beside += 1;
                assert!(result.unwrap_err().to_string().contains(name.as_str()), "{what}");
            }
        }
        assert!(n_beside > 0, "{tool}, {how:?}");
    }
}

/// Edits a file while others append to it, and looks whether all of it is there.
fn edit_beside_appenders(n_appenders: usize) {
    const N_LINES: usize = 1500;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "n = 0\n").unwrap();
    let append = &|appender: usize| {
        for n in 0..N_LINES {
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
            // In one piece, as appenders must.
            file.write_all(format!("line {appender} {n}\n").as_bytes()).unwrap();
        }
    };
    let n_edits = std::thread::scope(|scope| {
        let appenders: Vec<_> =
            (0..n_appenders).map(|appender| scope.spawn(move || append(appender))).collect();
        let mut n_edits = 0;
        while !appenders.iter().all(|appender| appender.is_finished()) || n_edits < 20 {
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
        n_edits
    });
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&format!("n = {n_edits}\n")), "{text}");
    let lines: HashSet<_> = text.lines().filter(|line| line.starts_with("line ")).collect();
    assert_eq!(lines.len(), n_appenders * N_LINES);
    assert_eq!(text.lines().count(), 1 + n_appenders * N_LINES, "each once");
    assert_eq!(names(folder.path()), ["f.txt"]);
}

#[test]
fn an_appender_who_does_not_lock_loses_nothing() {
    edit_beside_appenders(1);
}

/// While one waits for the old file, another may open the new one, which is then taken back.
#[test]
fn appenders_who_meet_in_an_exchange_lose_nothing() {
    edit_beside_appenders(4);
}
