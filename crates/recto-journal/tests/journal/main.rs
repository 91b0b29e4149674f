//! The journal behind a store: what is recorded, what is judged after a crash, what is kept.

#![allow(clippy::unwrap_used, missing_docs)]

mod fixture;
mod together;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recto_journal::keeping::{self, Limits};
use recto_journal::reader::MAX_UNDO_BYTES;
use recto_journal::undo::{self, HunkId, Reason};
use recto_journal::{Change, Filter, Journal, Kind, Reader, State};
use recto_store::record::{
    ChangedBytes, NotRecorded, Origin, Outcome, RecordedChange, Recorder, Recording, Ticket,
};
use recto_store::{Context, Error, Hold, Note, WriteStore};

use fixture::{Fixture, abs, fixture, open_store, settings};

#[test]
fn records_what_changed_and_who_did_it() {
    let fixture = fixture();
    let process = fixture.process("s1");
    process.write("a.txt", "one\ntwo\n");
    let client = Some(("claude-code".to_string(), "2.0".to_string()));
    let origin = Origin { client, call: Some("call-7".into()), ..Origin::default() };
    process.write_as("a.txt", b"one\n2\n", origin);
    process.remove("a.txt");
    let kinds = [Kind::Create, Kind::Edit, Kind::Remove].map(|kind| (kind, State::Done));
    assert_eq!(fixture.kinds(), kinds);
    let reader = fixture.reader();
    let changes = fixture.changes();
    let [created, edited, removed] = &changes[..] else { panic!("{changes:?}") };
    assert!(created.id < edited.id && edited.id < removed.id);
    assert_eq!((&edited.path, &edited.root), (&process.path("a.txt"), &fixture.root));
    let session = edited.session.as_ref().unwrap();
    assert_eq!((&*session.name, &*session.client, &*session.version), ("s1", "claude-code", "2.0"));
    assert_eq!(edited.call.as_deref(), Some("call-7"));
    assert_eq!(edited.n_bytes, [Some(8), Some(6)]);
    assert_eq!(edited.form.as_deref(), Some("UTF-8"));
    let hunks = reader.hunks(edited.id).unwrap().unwrap();
    assert_eq!(hunks.get(0).unwrap().removed, b"two\n");
    assert_eq!(reader.content_before(removed.id).unwrap(), Some(Some(b"one\n2\n".to_vec())));
    assert_eq!(reader.content_after(removed.id).unwrap(), Some(None));
    let metadata = reader.metadata(removed.id).unwrap().unwrap();
    assert_eq!(metadata.mode & 0o7000, 0);
    assert!(keeping::verify(&fixture.dir()).unwrap().problems.is_empty());
}

#[test]
fn the_state_directory_is_private_and_hidden_from_stores() {
    let mut fixture = fixture();
    fixture.state = fixture.root.join("state");
    let process = fixture.process("s");
    process.write("a", "a\n");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.state), 0o700);
    let context = Context::default();
    for path in ["state", "state/journal.db", "state/new", "state/x/y", ".recto-state"] {
        let held = process.store.hold(&abs(&process.path(path)), &context).map(drop);
        assert!(matches!(held, Err(Error::PermissionDenied { .. })), "{path}");
    }
    let below = open_store(&fixture.state, Recording::default());
    let held = below.hold(&abs(&fixture.state.join("journal.db")), &context).map(drop);
    assert!(matches!(held, Err(Error::PermissionDenied { .. })));
    // A marker that git could have written hides nothing.
    fs::create_dir(process.path("fake")).unwrap();
    fs::write(process.path("fake/.recto-state"), "").unwrap();
    process.write("fake/a", "a\n");
}

#[test]
fn changes_by_other_programs_are_recorded_as_such() {
    let fixture = fixture();
    let process = fixture.process("s");
    fs::write(process.path("f"), "a\nb\nc\nd\n").unwrap();
    process.write("f", "A\nb\nc\nd\n");
    fs::write(process.path("f"), "new\nA\nb\nc\nd\n").unwrap();
    process.write("f", "new\nA\nb\nc\nD\n");
    let kinds = [Kind::Edit, Kind::Foreign, Kind::Edit].map(|kind| (kind, State::Done));
    assert_eq!(fixture.kinds(), kinds);
    let changes = fixture.changes();
    assert_eq!(changes[1].session, None);
    let reader = fixture.reader();
    let foreign = reader.hunks(changes[1].id).unwrap().unwrap();
    assert_eq!(foreign.get(0).unwrap().inserted, b"new\n");
    // Also one that was not recorded yet.
    fs::write(process.path("f"), "newer\nA\nb\nc\nD\n").unwrap();
    process.undo(&reader, &changes[0]).unwrap();
    assert_eq!(fs::read_to_string(process.path("f")).unwrap(), "newer\na\nb\nc\nD\n");
    let undo = fixture.changes().pop().unwrap();
    assert_eq!((undo.kind, undo.undoes.len()), (Kind::Undo, 1));
    process.undo(&fixture.reader(), &undo).unwrap();
    assert_eq!(fs::read_to_string(process.path("f")).unwrap(), "newer\nA\nb\nc\nD\n");
}

#[test]
fn two_processes_share_a_journal() {
    let fixture = fixture();
    let processes = [fixture.process("one"), fixture.process("two")];
    std::thread::scope(|scope| {
        for (index, process) in processes.iter().enumerate() {
            scope.spawn(move || {
                for count in 0..50 {
                    process.write(&format!("f{index}"), &format!("{count}\n"));
                    process.write(&format!("g{index}-{count}"), "x\n");
                }
            });
        }
    });
    let changes = fixture.changes();
    assert_eq!(changes.len(), 200);
    assert!(changes.iter().all(|change| change.state == State::Done));
    let filter = Filter { session: Some("two".into()), ..Filter::default() };
    let of_two = fixture.reader().changes(&filter).unwrap();
    assert_eq!(of_two.len(), 100);
    assert!(of_two.iter().all(|change| change.path.to_str().unwrap().contains('1')));
}

/// Records an intention of a process that is then killed.
fn intend(journal: &Journal, fixture: &Fixture, before: &[u8], after: &[u8]) -> Ticket {
    let (path, root) = (fixture.root.join("f"), fixture.root.clone());
    let content = ChangedBytes::Whole { before: Some(before), after: Some(after) };
    let change = RecordedChange {
        path: &path,
        root: &root,
        content,
        metadata: None,
        is_in_editor: false,
        is_exclusive: true,
        is_durable: true,
    };
    journal.intend(&change, &Origin::default()).unwrap()
}

#[test]
fn a_change_of_a_killed_process_is_judged_by_the_file() {
    for (found, state) in
        [("after\n", State::Done), ("before\n", State::NotDone), ("other\n", State::Uncertain)]
    {
        let fixture = fixture();
        let killed = Journal::new(fixture.dir(), settings("killed"));
        intend(&killed, &fixture, b"before\n", b"after\n");
        drop(killed);
        assert_eq!(fixture.kinds(), [(Kind::Edit, State::Intended)]);
        fs::write(fixture.root.join("f"), found).unwrap();
        // By the next change of the file, and by a reader that has locked its directory.
        if state == State::Done {
            fixture.process("next").write("f", "next\n");
        } else {
            let mut reader = fixture.reader();
            reader.settle(&fixture.root.join("f"), Some(found.as_bytes())).unwrap();
        }
        assert_eq!(fixture.kinds()[0], (Kind::Edit, state), "{found}");
    }
}

#[test]
fn a_database_whose_creation_was_interrupted_is_empty() {
    let fixture = fixture();
    fs::write(fixture.dir().database(), "").unwrap();
    assert!(Reader::open(&fixture.dir()).unwrap().is_none());
    fixture.process("s").write("a.txt", "one\n");
    assert_eq!(fixture.kinds(), [(Kind::Create, State::Done)]);
}

#[test]
fn a_change_that_failed_leaves_no_record() {
    let fixture = fixture();
    let journal = Journal::new(fixture.dir(), settings("s"));
    let ticket = intend(&journal, &fixture, b"a\n", b"b\n");
    journal.settle(ticket, Outcome::NotDone);
    journal.flush();
    assert_eq!(fixture.kinds(), []);
    assert_eq!(keeping::size(&fixture.dir()).unwrap().roots[0].n_bytes, 0);
    let ticket = intend(&journal, &fixture, b"a\n", b"b\n");
    journal.settle(ticket, Outcome::Unknown);
    assert_eq!(fixture.kinds(), [(Kind::Edit, State::Intended)]);
}

#[test]
fn an_editor_that_changes_the_text_is_recorded_with_its_text() {
    let fixture = fixture();
    let journal = Journal::new(fixture.dir(), settings("s"));
    let (path, root) = (fixture.root.join("f"), fixture.root.clone());
    let content = ChangedBytes::Whole { before: Some(b"a\n"), after: Some(b"b\n") };
    let (is_in_editor, is_exclusive) = (true, true);
    let change = RecordedChange {
        path: &path,
        root: &root,
        content,
        metadata: None,
        is_in_editor,
        is_exclusive,
        is_durable: true,
    };
    let ticket = journal.intend(&change, &Origin::default()).unwrap();
    journal.settle(ticket, Outcome::Done { content_after: Some(b"b;\n") });
    journal.flush();
    let change = fixture.changes().pop().unwrap();
    assert!(change.is_in_editor);
    let reader = fixture.reader();
    assert_eq!(reader.content_after(change.id).unwrap(), Some(Some(b"b;\n".to_vec())));
}

#[test]
fn secrets_are_listed_without_content() {
    let fixture = fixture();
    let process = fixture.process("s");
    for name in [".env", "x.secret", "id_rsa"] {
        process.write(name, "old secret\n");
        process.write(name, "new secret\n");
    }
    let changes = fixture.changes();
    assert_eq!(changes.len(), 6);
    assert!(changes.iter().all(|change| !change.has_content && change.digests[1].is_some()));
    let reader = fixture.reader();
    let steps = reader.steps(&changes[1].path, Some(b"new secret\n")).unwrap();
    let hunk = HunkId { change: changes[1].id, hunk: 0 };
    let planned =
        undo::plan(&steps, Some(b"new secret\n"), &[hunk], undo::Dependents::Reject).unwrap_err();
    assert_eq!(planned[0].reason, Reason::NotRecorded);
    assert!(!contains(&fixture.state, b"secret\n"));
}

/// Returns whether a file in a directory contains some bytes.
fn contains(dir: &Path, bytes: &[u8]) -> bool {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut contents = paths.filter(|path| path.is_file()).map(|path| fs::read(path).unwrap());
    contents.any(|content| content.windows(bytes.len()).any(|window| window == bytes))
}

#[test]
fn a_forgotten_file_leaves_no_copy() {
    let fixture = fixture();
    let process = fixture.process("s");
    for count in 0..20 {
        // Short enough to be stored as it is.
        process.write("a.txt", &format!("forget me {count}\n"));
        process.write("b.txt", &format!("keep me {count}\n"));
    }
    assert!(contains(&fixture.state, b"forget me"));
    assert_eq!(keeping::forget(&fixture.dir(), &process.path("a.txt")).unwrap(), 20);
    assert!(!contains(&fixture.state, b"forget me"));
    assert!(contains(&fixture.state, b"keep me"));
    assert_eq!(keeping::forget(&fixture.dir(), &fixture.root).unwrap(), 20);
    assert!(!contains(&fixture.state, b"keep me"));
    assert_eq!(keeping::size(&fixture.dir()).unwrap().roots, []);
    process.write("a.txt", "again\n");
    // Ids are not used again.
    assert!(fixture.changes()[0].id > 40);
}

#[test]
fn old_changes_are_removed_and_later_ones_can_still_be_undone() {
    let fixture = fixture();
    let process = fixture.process("s");
    let text = |count: usize| format!("first\n{}{count}\n", "same\n".repeat(100));
    for count in 0..30 {
        process.write("f", &text(count));
    }
    let all = fixture.changes();
    assert_eq!(keeping::prune(&fixture.dir(), Limits::default()).unwrap(), 0);
    let n_bytes = keeping::size(&fixture.dir()).unwrap().roots[0].n_bytes;
    let limits = Limits { max_root_bytes: n_bytes - 1, ..Limits::default() };
    let n_removed = keeping::prune(&fixture.dir(), limits).unwrap();
    assert!((1..30).contains(&n_removed), "{n_removed}");
    assert_eq!(fixture.changes(), all[n_removed as usize..]);
    fs::write(process.path("f"), text(29).replace("first", "user's")).unwrap();
    process.undo(&fixture.reader(), &all[29]).unwrap();
    let undone = text(28).replace("first", "user's");
    assert_eq!(fs::read_to_string(process.path("f")).unwrap(), undone);
    let young = Limits { max_age: Duration::ZERO, ..Limits::default() };
    std::thread::sleep(Duration::from_millis(2));
    keeping::prune(&fixture.dir(), young).unwrap();
    assert_eq!(fixture.changes(), []);
}

#[test]
fn a_change_is_made_although_the_journal_cannot_record_it() {
    let fixture = fixture();
    let process = fixture.process("s");
    process.write("f", "a\n");
    drop(process);
    for damage in ["damaged", "newer", "directory"] {
        let database = fixture.state.join("journal.db");
        match damage {
            "damaged" => {
                fs::write(&database, "not a database, but long enough".repeat(100)).unwrap()
            }
            "newer" => {
                fs::remove_file(&database).unwrap();
                let connection = rusqlite::Connection::open(&database).unwrap();
                connection.pragma_update(None, "user_version", 99).unwrap();
            }
            _ => {
                fs::remove_file(&database).unwrap();
                fs::create_dir(&database).unwrap();
            }
        }
        let process = fixture.process("s");
        let notes = process.write_as("f", damage.as_bytes(), Origin::default());
        assert_eq!(notes, [Note::NotRecorded], "{damage}");
        assert_eq!(fs::read_to_string(process.path("f")).unwrap(), damage);
        let strict = open_store(&fixture.root, Recording::new(process.journal.clone(), true));
        let context = Context::default();
        let Hold::Vacant(slot) = strict.hold(&abs(&process.path("new")), &context).unwrap() else {
            panic!("it does not exist");
        };
        assert!(slot.create_bytes(b"x").is_err(), "{damage}");
        assert!(!process.path("new").exists());
    }
}

#[test]
fn a_recorder_that_fails_does_not_fail_the_change() {
    struct Failing;
    impl Recorder for Failing {
        fn intend(&self, _: &RecordedChange<'_>, _: &Origin) -> Result<Ticket, NotRecorded> {
            Err(NotRecorded { cause: "disk full".into() })
        }
        fn settle(&self, _: Ticket, _: Outcome<'_>) {
            panic!("nothing was recorded");
        }
    }
    let fixture = fixture();
    let store = open_store(&fixture.root, Recording::new(Arc::new(Failing), false));
    let context = Context::default();
    let slot = store.hold_new(&abs(&fixture.root.join("d/f")), &context).unwrap();
    assert!(slot.create_bytes(b"x").is_ok());
    assert_eq!(context.notes.take(), [Note::NotRecorded]);
}

#[test]
fn an_undo_reads_only_the_changes_that_it_needs_up_to_a_limit() {
    let fixture = fixture();
    let process = fixture.process("s1");
    let version = |n: usize| [vec![0; 12 << 20], vec![n as u8]].concat();
    let n_changes = MAX_UNDO_BYTES / (24 << 20) + 2;
    for n in 0..n_changes {
        process.write_as("binary", &version(n), Origin::default());
    }
    let reader = fixture.reader();
    let changes = reader.changes(&Filter::default()).unwrap();
    let (path, now) = (&changes[0].path, version(n_changes - 1));
    let since = |change: &Change| reader.steps_since(path, Some(&now), change.id);
    let ids = |steps: Vec<undo::Step>| steps.iter().map(|step| step.id).collect::<Vec<_>>();
    assert_eq!(ids(since(&changes[n_changes - 1]).unwrap()), [n_changes as u64]);
    assert_eq!(ids(since(&changes[n_changes - 3]).unwrap()).len(), 3);
    let error = since(&changes[0]).unwrap_err().to_string();
    assert!(error.contains("more than 256 MiB"), "{error}");
    // What an undo undid is needed too.
    process.undo(&reader, &changes[n_changes - 1]).unwrap();
    let reader = fixture.reader();
    let undo = reader.changes(&Filter::default()).unwrap().pop().unwrap();
    let steps = reader.steps_since(path, Some(&version(n_changes - 2)), undo.id).unwrap();
    assert_eq!(ids(steps), [n_changes as u64, undo.id]);
}
