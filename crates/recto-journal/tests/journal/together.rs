//! Changes made together, moves, editors, and a journal that is removed while it is open.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recto_journal::keeping::{self, Limits};
use recto_journal::undo::{self, HunkId};
use recto_journal::{Journal, Kind, State};
use recto_store::record::{
    ChangedBytes, NotRecorded, Origin, Outcome, RecordedChange, RecordedStep, RecordedTransaction,
    Recorder, Recording, Ticket, TransactionState,
};
use recto_store::{Context, FileStep, LocalStore, Note, StepError, WriteStore};

use super::fixture::{Fixture, abs, fixture, open_store, settings};

/// A file that is changed together with others.
struct Part<'a> {
    name: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
    move_to: Option<&'a str>,
}

fn together(store: &LocalStore, root: &Path, parts: &[Part<'_>]) -> Result<(), Vec<StepError>> {
    let at = |name: &str| abs(&root.join(name));
    let names: Vec<_> = parts.iter().map(|part| (at(part.name), part.move_to.map(at))).collect();
    let steps = parts.iter().zip(&names).map(|(part, (path, move_to))| FileStep {
        path,
        before: part.before.map(str::as_bytes),
        after: part.after.map(str::as_bytes),
        move_to: move_to.as_ref(),
        is_link: false,
        metadata: None,
        undoes: &[],
    });
    let steps: Vec<_> = steps.collect();
    let context = Context::default();
    store.transaction(&steps, &context)?.commit().map(drop)
}

/// Returns whether a text occurs in the database or its log.
fn is_stored(fixture: &Fixture, text: &str) -> bool {
    let files = [fixture.dir().database(), fixture.dir().log()];
    let contains = |bytes: Vec<u8>| memchr::memmem::find(&bytes, text.as_bytes()).is_some();
    files.into_iter().any(|file| fs::read(file).is_ok_and(contains))
}

fn change_of<'a>(
    fixture: &'a Fixture,
    path: &'a Path,
    content: [&'a str; 2],
) -> RecordedChange<'a> {
    let [before, after] = content.map(|text| Some(text.as_bytes()));
    RecordedChange {
        path,
        root: &fixture.root,
        content: ChangedBytes::Whole { before, after },
        metadata: None,
        is_in_editor: false,
        is_exclusive: true,
        is_durable: true,
    }
}

#[test]
fn text_that_an_editor_adds_to_an_undo_does_not_shift_later_undos() {
    let fixture = fixture();
    let process = fixture.process("s");
    process.write("f", "a\nb\nc\nd\n");
    process.write("f", "a\nb\nd\n");
    process.write("f", "a\nB\nd\n");
    let [_, removed, replaced] = &fixture.changes()[..] else { panic!("three changes") };
    let path = fixture.root.join("f");
    let undone = change_of(&fixture, &path, ["a\nB\nd\n", "a\nb\nd\n"]);
    let undone = RecordedChange { is_in_editor: true, ..undone };
    let origin = Origin { undoes: vec![(replaced.id, 0)], ..Origin::default() };
    let ticket = process.journal.intend(&undone, &origin).unwrap();
    let formatted = b"X\na\nb\nd\n";
    process.journal.settle(ticket, Outcome::Done { content_after: Some(formatted) });
    process.journal.flush();
    let steps = fixture.reader().steps(&path, Some(formatted)).unwrap();
    let hunk = HunkId { change: removed.id, hunk: 0 };
    let plan = undo::plan(&steps, Some(formatted), &[hunk], undo::Dependents::Reject);
    // Rejecting it would be right too; inserting the line at another place would not.
    if let Ok(plan) = plan {
        assert_eq!(String::from_utf8(plan.content.unwrap()).unwrap(), "X\na\nb\nc\nd\n");
    }
}

#[test]
fn an_undo_that_an_editor_makes_as_intended_can_be_undone() {
    let fixture = fixture();
    let process = fixture.process("s");
    process.write("f", "a\n");
    process.write("f", "b\n");
    let edited = &fixture.changes()[1];
    let path = fixture.root.join("f");
    let undone = change_of(&fixture, &path, ["b\n", "a\n"]);
    let undone = RecordedChange { is_in_editor: true, ..undone };
    let origin = Origin { undoes: vec![(edited.id, 0)], ..Origin::default() };
    let ticket = process.journal.intend(&undone, &origin).unwrap();
    process.journal.settle(ticket, Outcome::Done { content_after: Some(b"a\n") });
    process.journal.flush();
    let steps = fixture.reader().steps(&path, Some(b"a\n")).unwrap();
    assert_eq!(steps[2].undoes, [HunkId { change: edited.id, hunk: 0 }]);
}

#[test]
fn a_file_that_is_moved_to_the_name_of_a_secret_is_recorded_without_content() {
    let fixture = fixture();
    let process = fixture.process("s");
    let [template, secret, plain] = ["key =\n", "key = 4dc9b3aa71\n", "7e01f2d85c\n"];
    fs::write(fixture.root.join("env.template"), template).unwrap();
    fs::write(fixture.root.join("plain"), plain).unwrap();
    let parts = [
        Part {
            name: "env.template",
            before: Some(template),
            after: Some(secret),
            move_to: Some(".env"),
        },
        Part { name: "plain", before: Some(plain), after: Some(plain), move_to: Some("a.pem") },
    ];
    assert!(together(&process.store, &fixture.root, &parts).is_ok());
    process.journal.flush();
    let changes = fixture.changes();
    assert!(changes.len() == 5 && changes.iter().all(|change| !change.has_content), "{changes:?}");
    assert!(!is_stored(&fixture, "4dc9b3aa71") && !is_stored(&fixture, "7e01f2d85c"));
}

#[test]
fn a_forgotten_file_is_forgotten_under_its_earlier_names() {
    let fixture = fixture();
    let process = fixture.process("s");
    process.write("a", "5bd0c2e49f\n");
    let moved = |name, move_to| Part {
        name,
        before: Some("5bd0c2e49f\n"),
        after: Some("5bd0c2e49f\n"),
        move_to: Some(move_to),
    };
    assert!(together(&process.store, &fixture.root, &[moved("a", "b")]).is_ok());
    assert!(together(&process.store, &fixture.root, &[moved("b", "c")]).is_ok());
    process.write("a", "another file\n");
    process.journal.flush();
    assert!(is_stored(&fixture, "5bd0c2e49f"));
    keeping::forget(&fixture.dir(), &fixture.root.join("c")).unwrap();
    assert!(!is_stored(&fixture, "5bd0c2e49f"));
    // A new file does not get the place of the forgotten one.
    process.write("d", "d\n");
    let found: Vec<_> = fixture
        .changes()
        .into_iter()
        .map(|change| (change.path.file_name().unwrap().to_owned(), change.kind, change.moved))
        .collect();
    let kept = [("a".into(), Kind::Create, None), ("d".into(), Kind::Create, None)];
    assert_eq!(found, kept);
}

#[test]
fn pages_that_are_not_used_any_more_are_freed() {
    let fixture = fixture();
    let process = fixture.process("s");
    let random = |n: u32| format!("{:08x}\n", n.wrapping_mul(2_654_435_761));
    process.write("f", &(0..200_000).map(random).collect::<String>());
    let size = || keeping::size(&fixture.dir()).unwrap().n_bytes;
    assert!(size() > 500_000);
    // Its thread would extend the log.
    drop(process);
    keeping::forget(&fixture.dir(), &fixture.root.join("f")).unwrap();
    assert!(size() < 200_000, "{}", size());
}

/// A journal whose records of finished transactions fail.
struct CannotSettle(Journal);

impl Recorder for CannotSettle {
    fn intend(&self, change: &RecordedChange<'_>, origin: &Origin) -> Result<Ticket, NotRecorded> {
        self.0.intend(change, origin)
    }

    fn settle(&self, ticket: Ticket, outcome: Outcome<'_>) {
        self.0.settle(ticket, outcome);
    }

    fn intend_all(
        &self,
        transaction: &RecordedTransaction<'_>,
        origin: &Origin,
    ) -> Result<Ticket, NotRecorded> {
        self.0.intend_all(transaction, origin)
    }

    fn settle_all(&self, ticket: Ticket, state: TransactionState) -> Result<(), NotRecorded> {
        match state {
            TransactionState::Done => Err(NotRecorded { cause: "disk full".into() }),
            state => self.0.settle_all(ticket, state),
        }
    }
}

#[test]
fn files_whose_outcome_cannot_be_recorded_are_changed_back() {
    let fixture = fixture();
    let journal = Journal::new(fixture.dir(), settings("s"));
    let recording = Recording::new(Arc::new(CannotSettle(journal)), false);
    let store = open_store(&fixture.root, recording);
    fs::write(fixture.root.join("a"), "x\n").unwrap();
    let parts = [
        Part { name: "a", before: Some("x\n"), after: Some("y\n"), move_to: None },
        Part { name: "b", before: None, after: Some("new\n"), move_to: None },
    ];
    assert!(together(&store, &fixture.root, &parts).is_err());
    assert_eq!(fs::read_to_string(fixture.root.join("a")).unwrap(), "x\n");
    assert_eq!(fs::read_dir(&fixture.root).unwrap().count(), 1);
    assert_eq!(fixture.kinds(), []);
}

/// Records a transaction of a process that is then killed.
fn intend_together(journal: &Journal, fixture: &Fixture) {
    let paths = ["a", "b"].map(|name| fixture.root.join(name));
    let step = |path| RecordedStep {
        change: change_of(fixture, path, ["before\n", "after\n"]),
        moved_to: None,
        undoes: &[],
    };
    let steps = paths.iter().map(|path| step(path)).collect();
    let transaction = RecordedTransaction { token: "token", steps, new_dirs: &[] };
    journal.intend_all(&transaction, &Origin::default()).unwrap();
}

#[test]
fn the_records_of_an_unfinished_transaction_are_kept_without_their_content() {
    let fixture = fixture();
    let killed = Journal::new(fixture.dir(), settings("killed"));
    intend_together(&killed, &fixture);
    drop(killed);
    let nothing = Limits { max_age: Duration::ZERO, max_root_bytes: 0, max_bytes: 0 };
    assert_eq!(keeping::prune(&fixture.dir(), nothing).unwrap(), 0);
    assert!(is_stored(&fixture, "after\n"));
    keeping::forget(&fixture.dir(), &fixture.root.join("a")).unwrap();
    let next = Journal::new(fixture.dir(), settings("next"));
    let unfinished = next.unfinished();
    assert_eq!(unfinished[0].steps.len(), 2);
    assert!(!fixture.changes()[0].has_content && fixture.changes()[1].has_content);
}

#[test]
fn changes_are_recorded_in_a_journal_that_replaced_the_open_one() {
    let fixture = fixture();
    let process = fixture.process("s");
    process.write("f", "one\n");
    for file in fs::read_dir(&fixture.state).unwrap() {
        let file = file.unwrap();
        if file.file_name().to_string_lossy().starts_with("journal.db") {
            fs::remove_file(file.path()).unwrap();
        }
    }
    process.write("f", "two\n");
    process.write("f", "three\n");
    assert_eq!(fixture.kinds(), [(Kind::Edit, State::Done), (Kind::Edit, State::Done)]);
    let changes = fixture.changes();
    let before = fixture.reader().content_before(changes[0].id).unwrap();
    assert_eq!(before, Some(Some(b"one\n".to_vec())));
}

#[test]
fn changes_after_the_state_directory_was_removed_are_not_recorded_and_say_so() {
    let fixture = fixture();
    let process = fixture.process("s");
    process.write("f", "one\n");
    fs::remove_dir_all(&fixture.state).unwrap();
    let notes = process.write_as("f", b"two\n", Origin::default());
    assert_eq!(notes, [Note::NotRecorded]);
}
