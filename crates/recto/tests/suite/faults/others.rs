//! The write protocol with concurrent writers that do not lock: none of their text is lost, and
//! recto does not report text as written that is not there.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recto_platform::Linux;
use recto_text::Digest;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::disturbed::Disturbed;
use super::{NEW, OLD, call, edit_operation, names, prepare, read};

/// What a writer without a lock does to the file.
#[derive(Debug, Clone, Copy)]
enum Interference {
    Appends,
    Replaces,
    Removes,
}

fn interfere(path: &Path, how: Interference) {
    interfere_with(path, how, "foreign");
}

/// The same, with a given line.
fn interfere_with(path: &Path, how: Interference, line: &str) {
    match how {
        // Non-blocking, because a lease would make the test wait for itself.
        Interference::Appends => {
            let mut file = std::fs::OpenOptions::new();
            let file = file.append(true).custom_flags(libc::O_NONBLOCK).open(path);
            if let Ok(mut file) = file {
                file.write_all(format!("{line}\n").as_bytes()).unwrap();
            }
        }
        Interference::Replaces => {
            let beside = path.with_extension("other");
            std::fs::write(&beside, format!("one\ntwo\nthree\n{line}\n")).unwrap();
            std::fs::rename(&beside, path).unwrap();
        }
        Interference::Removes => {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[test]
fn a_concurrent_write_is_never_lost() {
    let mut n_interferences = 0;
    for how in [Interference::Appends, Interference::Replaces, Interference::Removes] {
        for with_tag in [false, true] {
            for n in 1.. {
                let folder = prepare(&edit_operation());
                let path = folder.path().join("f.txt");
                let interfered = Arc::new(AtomicUsize::new(0));
                let (counter, target) = (interfered.clone(), path.clone());
                let mut sys = Disturbed::new(move |number, _| {
                    if number == n {
                        counter.fetch_add(1, Ordering::SeqCst);
                        interfere(&target, how);
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
                if interfered.load(Ordering::SeqCst) == 0 {
                    result.unwrap();
                    break;
                }
                n_interferences += 1;
                match (how, &result) {
                    // Removed before the read or the commit: rejected. After: it was written.
                    (Interference::Removes, Err(error)) => {
                        assert_eq!((error.code(), &found), (-32001, &None), "{what}");
                    }
                    (Interference::Removes, Ok(_)) => assert_eq!(found, None, "{what}"),
                    // Unless the file was removed, the other writer's text survives, and an edit
                    // reported as written is there or was overwritten by a whole new file.
                    (_, Err(error)) => {
                        assert!(with_tag && error.code() == -32013, "{what}");
                        assert_eq!(found.as_deref(), Some("one\ntwo\nthree\nforeign\n"), "{what}");
                    }
                    (Interference::Appends, Ok(_)) => {
                        assert_eq!(found.as_deref(), Some("one\nTWO\nthree\nforeign\n"), "{what}");
                    }
                    (Interference::Replaces, Ok(_)) => {
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
    assert!(n_interferences > 30, "{n_interferences}");
}

/// The second write may come while the first one is being restored.
#[test]
fn two_concurrent_writes_are_never_lost() {
    use Interference::{Appends, Replaces};
    let mut n_interferences = 0;
    for (first, second) in
        [(Replaces, Replaces), (Appends, Replaces), (Replaces, Appends), (Appends, Appends)]
    {
        for n in 1.. {
            let mut n_second = 0;
            for m in n.. {
                let folder = prepare(&edit_operation());
                let path = folder.path().join("f.txt");
                let interfered = Arc::new(AtomicUsize::new(0));
                let (counter, target) = (interfered.clone(), path.clone());
                let mut sys = Disturbed::new(move |number, _| {
                    for (at, how, line) in [(n, first, "first"), (m, second, "second")] {
                        if number == at {
                            counter.fetch_add(1, Ordering::SeqCst);
                            interfere_with(&target, how, line);
                        }
                    }
                    Ok(())
                });
                sys.lacks = &["lease"];
                let arguments = json!({"old_string": "two", "new_string": "TWO"});
                let result = call(folder.path(), Arc::new(sys), "edit_text_file", arguments);
                if interfered.load(Ordering::SeqCst) < 2 {
                    break;
                }
                n_second += 1;
                n_interferences += 1;
                let found = read(folder.path()).unwrap_or_default();
                let what = format!("{first:?} {n}, {second:?} {m}: {result:?}, {found:?}");
                assert!(result.is_ok(), "{what}");
                // A writer that replaces the whole file also replaces text appended before.
                let end = match second {
                    Replaces => "three\nsecond\n",
                    Appends | Interference::Removes => "three\nfirst\nsecond\n",
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
    assert!(n_interferences > 500, "{n_interferences}");
}

/// One writer replaces the file and another swaps it with a sibling: in the end both texts exist,
/// and a text that is under neither name is reported.
#[test]
fn a_file_swapped_away_during_an_edit_is_never_lost() {
    const NEIGHBOUR: &str = "a neighbour\nwith two lines\n";
    let mut n_reported = 0;
    let mut n_interferences = 0;
    for n in 1.. {
        let mut n_second = 0;
        for m in n.. {
            let folder = prepare(&edit_operation());
            let (path, neighbour) = (folder.path().join("f.txt"), folder.path().join("g.txt"));
            std::fs::write(&neighbour, NEIGHBOUR).unwrap();
            let interfered = Arc::new(AtomicUsize::new(0));
            let (counter, target) = (interfered.clone(), path.clone());
            let mut sys = Disturbed::new(move |number, _| {
                if number == n {
                    interfere_with(&target, Interference::Replaces, "first");
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
            if interfered.load(Ordering::SeqCst) == 0 {
                break;
            }
            n_second += 1;
            n_interferences += 1;
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
                n_reported += 1;
                let error = result.as_ref().expect_err(&what);
                assert!(error.to_string().contains(name.as_str()), "{what}");
            }
        }
        if n_second == 0 {
            break;
        }
    }
    assert!(n_interferences > 100 && n_reported > 0, "{n_interferences}, {n_reported} reported");
}

/// Another process may have a file named like a leftover open and not have written yet.
#[test]
fn a_leftover_that_is_open_for_writing_is_not_removed() {
    let folder = prepare(&edit_operation());
    let [before, after] = [OLD, NEW].map(|text| Digest::of(text.as_bytes()));
    let leftover = folder.path().join(format!(".recto-{before}-{after}-1-1.tmp"));
    std::fs::write(&leftover, NEW).unwrap();
    let edit = |old: &str, new: &str| {
        let arguments = json!({"old_string": old, "new_string": new});
        call(folder.path(), Arc::new(Linux::new()), "edit_text_file", arguments).unwrap();
    };
    let writer = File::options().append(true).open(&leftover).unwrap();
    edit("two", "TWO");
    assert!(leftover.exists());
    drop(writer);
    edit("TWO", "two");
    assert!(!leftover.exists());
}

/// Edits a file while other writers append to it, and checks that no text is lost.
fn edit_beside_appenders(n_appenders: usize) {
    const N_LINES: usize = 1500;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "n = 0\n").unwrap();
    let append = &|appender: usize| {
        for n in 0..N_LINES {
            let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
            // In one write, as appenders must.
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
                // The file kept changing; nothing was written.
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
fn an_appender_without_a_lock_loses_nothing() {
    edit_beside_appenders(1);
}

/// While one appender waits for the old file, another may open the new one before it is reverted.
#[test]
fn appenders_during_an_exchange_lose_nothing() {
    edit_beside_appenders(4);
}
