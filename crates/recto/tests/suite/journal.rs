//! The journal through the built binary: what calls record, and the commands that show and undo it.

mod moves;
mod provenance;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Actual, recto};
use crate::test_dir::Session;

/// A directory to serve, and a state directory.
struct Fixture {
    _folder: tempfile::TempDir,
    root: PathBuf,
    state: PathBuf,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let (root, state) = (path.join("root"), path.join("state"));
    fs::create_dir(&root).unwrap();
    fs::write(root.join("f.txt"), "a\nb\nc\nd\n").unwrap();
    Fixture { _folder: folder, root, state }
}

impl Fixture {
    /// Runs a command, and returns its stdout, its stderr and its exit status.
    fn run(&self, arguments: &[&str]) -> (String, String, i32) {
        let mut command = recto();
        command.args(arguments).current_dir(&self.root).env("RECTO_STATE_DIR", &self.state);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code().unwrap())
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let (stdout, stderr, status) = self.run(arguments);
        assert_eq!(status, 0, "{stdout}{stderr}");
        stdout
    }

    fn edit(&self, old: &str, new: &str) {
        let (old, new) = (format!("old_string={old}"), format!("new_string={new}"));
        self.ok(&["call", "edit_text_file", "path=f.txt", &old, &new]);
    }

    fn serve(&self, options: &[&str]) -> Session {
        let mut command = recto();
        command.arg("serve").arg(&self.root).args(options).env("RECTO_STATE_DIR", &self.state);
        Session::start_command(command.into())
    }

    fn text(&self) -> String {
        fs::read_to_string(self.root.join("f.txt")).unwrap()
    }

    fn log(&self) -> Vec<Value> {
        let lines = self.ok(&["log", "--json"]);
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn notes(actual: &Actual) -> Vec<String> {
    let Actual::Answer { structured, .. } = actual else { panic!("{actual:?}") };
    let notes = structured["notes"].as_array().cloned().unwrap_or_default();
    notes.iter().map(|note| note.as_str().unwrap().to_string()).collect()
}

#[test]
fn a_served_change_is_recorded_with_its_client_and_undone() {
    let fixture = fixture();
    let session = fixture.serve(&[]);
    let path = fixture.root.join("f.txt");
    let edit = json!({"path": path, "old_string": "b", "new_string": "B"});
    assert_eq!(notes(&session.call("edit_text_file", edit)), [""; 0]);
    fs::write(&path, fixture.text().replace('d', "by the user")).unwrap();
    // The server stores the content before its first change after it has answered.
    let start = Instant::now();
    while fixture.run(&["undo", "--last", "--dry-run"]).2 != 0 {
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    fixture.ok(&["undo", "--last"]);
    assert_eq!(fixture.text(), "a\nb\nc\nby the user\n");
    let log = fixture.log();
    let kinds: Vec<_> = log.iter().map(|change| change["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["undo", "foreign", "edit"]);
    assert_eq!(log[2]["undone_by"], log[0]["id"]);
    assert_ne!(log[2]["client"], "");
    assert!(log[2]["session"].as_str().unwrap().starts_with("serve-"));
    // The agent that is editing notices.
    let edit = json!({"path": path, "content": "overwritten"});
    let Actual::Error { code, .. } = session.call("write_text_file", edit) else { panic!() };
    assert_eq!(code, -32013);
    let id = log[0]["id"].to_string();
    fixture.ok(&["undo", &id]);
    assert_eq!(fixture.text(), "a\nB\nc\nby the user\n");
}

#[test]
fn a_rejected_undo_names_the_change_in_the_way_and_changes_nothing() {
    let fixture = fixture();
    fixture.edit("b", "first");
    fixture.edit("first", "second");
    let (_, stderr, status) = fixture.run(&["undo", "1"]);
    assert_eq!(status, 1);
    for part in ["change 2 by recto call", "-first", "+second", "Nothing was changed."] {
        assert!(stderr.contains(part), "{stderr}");
    }
    assert_eq!(fixture.text(), "a\nsecond\nc\nd\n");
    let diff = fixture.ok(&["undo", "1", "--with-dependents", "--dry-run"]);
    assert!(diff.contains("-second\n+b\n"), "{diff}");
    assert_eq!(fixture.text(), "a\nsecond\nc\nd\n");
    fixture.ok(&["undo", "1", "--with-dependents"]);
    assert_eq!(fixture.text(), "a\nb\nc\nd\n");
    let (_, stderr, status) = fixture.run(&["undo", "2"]);
    assert!(status == 1 && stderr.contains("change 3 has undone it already"), "{stderr}");
}

#[test]
fn created_and_removed_files_are_undone() {
    let fixture = fixture();
    fixture.ok(&["call", "file_create", "path=new/x.txt", "content=hello"]);
    let path = fixture.root.join("f.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let read = fixture.ok(&["call", "text_read", "path=f.txt", "--json"]);
    let hash = serde_json::from_str::<Value>(&read).unwrap()["hash"].as_str().unwrap().to_string();
    fixture.ok(&["call", "file_remove", "path=f.txt", &format!("hash={hash}")]);
    fixture.ok(&["undo", "1", "2"]);
    assert!(!fixture.root.join("new/x.txt").exists());
    assert_eq!(fixture.text(), "a\nb\nc\nd\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn files_outside_the_root_and_behind_new_links_are_rejected() {
    let fixture = fixture();
    fs::create_dir(fixture.root.join("sub")).unwrap();
    fs::write(fixture.root.join("sub/x"), "a\n").unwrap();
    fixture.ok(&["call", "edit_text_file", "path=sub/x", "old_string=a", "new_string=b"]);
    fs::rename(fixture.root.join("sub"), fixture.root.join("moved")).unwrap();
    std::os::unix::fs::symlink("moved", fixture.root.join("sub")).unwrap();
    let (_, stderr, status) = fixture.run(&["undo", "1"]);
    assert!(status == 1 && stderr.contains("a link now leads elsewhere"), "{stderr}");
    let (_, stderr, status) = fixture.run(&["undo", "1", "--root", "/var"]);
    assert!(status == 1 && stderr.contains("outside /var"), "{stderr}");
}

#[test]
fn show_and_diff_print_what_changed() {
    let fixture = fixture();
    fixture.edit("b", "B");
    fixture.edit("d", "D");
    let shown = fixture.ok(&["show", "1"]);
    assert!(shown.starts_with("change 1\nedit f.txt\nby recto call"), "{shown}");
    assert!(shown.contains("--- a/f.txt\n+++ b/f.txt\n@@ -1,4 +1,4 @@\n a\n-b\n+B\n"), "{shown}");
    let diff = fixture.ok(&["diff", "0..2"]);
    assert!(diff.contains("-b\n+B\n c\n-d\n+D\n"), "{diff}");
    assert_eq!(fixture.run(&["show", "99"]).2, 2);
}

#[test]
fn without_a_usable_journal_the_answer_says_so() {
    let fixture = fixture();
    fs::write(&fixture.state, "a file").unwrap();
    let path = fixture.root.join("f.txt");
    let edit = json!({"path": path, "old_string": "b", "new_string": "B"});
    let answer = fixture.serve(&[]).call("edit_text_file", edit.clone());
    let note = "not recorded in the journal; recto undo cannot undo this change";
    assert_eq!(notes(&answer), [note]);
    assert_eq!(fixture.text(), "a\nB\nc\nd\n");
    let edit = json!({"path": path, "old_string": "B", "new_string": "C"});
    let rejected = fixture.serve(&["--journal", "required"]).call("edit_text_file", edit.clone());
    let Actual::Error { code, hint, .. } = rejected else { panic!("{rejected:?}") };
    assert_eq!(code, -32002);
    assert!(hint.unwrap().contains("--journal required"));
    assert_eq!(notes(&fixture.serve(&["--journal", "off"]).call("edit_text_file", edit)), [""; 0]);
    let (report, _, status) = fixture.run(&["doctor", "--no-landlock"]);
    assert_eq!(status, 1);
    assert!(report.contains("it exists, but is not a state directory of recto"), "{report}");
}

#[test]
fn the_state_directory_is_hidden_from_every_tool() {
    let mut fixture = fixture();
    fixture.state = fixture.root.join("state");
    fixture.edit("b", "B");
    let session = fixture.serve(&[]);
    let Actual::Answer { structured, .. } = session.call("ListFiles", json!({"pattern": "**"}))
    else {
        panic!();
    };
    assert!(!structured.to_string().contains("journal"), "{structured}");
    for name in ["state/journal.db", "state/.recto-state", "state/new.txt"] {
        let path = fixture.root.join(name);
        let read = session.call("read_text_file", json!({"path": path}));
        let Actual::Error { code, .. } = read else { panic!("{read:?}") };
        assert_eq!(code, -32002, "{name}");
    }
    assert!(is_private(&fixture.state));
}

fn is_private(dir: &Path) -> bool {
    dir.metadata().unwrap().permissions().mode() & 0o777 == 0o700
}

#[test]
fn a_database_that_was_not_created_completely_is_explained() {
    let fixture = fixture();
    fixture.edit("b", "B");
    let database = fixture.state.join("journal.db");
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let _ = fs::remove_file(fixture.state.join(name));
    }
    // As SQLite leaves it if its process is killed before the tables are created.
    fs::write(&database, "").unwrap();
    for command in ["size", "verify"] {
        let printed = fixture.ok(&["journal", command]);
        assert!(printed.starts_with("nothing is recorded yet: "), "{printed}");
    }
    fixture.edit("c", "C");
    assert_eq!(fixture.ok(&["journal", "verify"]), "1 changes\n");
}

#[test]
fn a_session_is_undone_in_one_transaction_with_moves_and_new_files() {
    let fixture = fixture();
    fs::write(fixture.root.join("g.txt"), "one\n").unwrap();
    let session = fixture.serve(&[]);
    let changes = json!({"changes": [
        {"path": "f.txt", "edits": [{"old_string": "b", "new_string": "B"}]},
        {"path": "g.txt", "move_to": "dir/h.txt", "edits": [{"old_string": "one", "new_string": "1"}]},
        {"path": "new.txt", "content": "new\n"},
    ]});
    let called = session.call("changes_apply", changes);
    assert!(matches!(called, Actual::Answer { .. }), "{called:?}");
    let edit = json!({"path": "dir/h.txt", "edits": [{"old_string": "1", "new_string": "1\n2"}]});
    session.call("changes_apply", json!({"changes": [edit]}));
    drop(session);
    let log = fixture.log();
    let name = log[0]["session"].as_str().unwrap().to_string();
    let transactions: Vec<_> = log.iter().filter(|it| it["transaction"].is_u64()).collect();
    assert_eq!(transactions.len(), 5, "{log:#?}");
    let shown = fixture.ok(&["log"]);
    assert!(shown.contains("move    g.txt -> dir/h.txt"), "{shown}");
    let id = transactions[0]["id"].to_string();
    assert!(fixture.ok(&["show", &id]).contains("together with "), "{id}");
    fixture.ok(&["undo", "--session", &name]);
    assert_eq!(fixture.text(), "a\nb\nc\nd\n");
    assert_eq!(fs::read_to_string(fixture.root.join("g.txt")).unwrap(), "one\n");
    assert!(!fixture.root.join("new.txt").exists());
    assert!(!fixture.root.join("dir/h.txt").exists());
    // The undo is recorded, and nothing is attributed to another program.
    let undone = fixture.log();
    assert!(undone.len() > log.len(), "{undone:#?}");
    assert!(undone.iter().all(|change| change["kind"] != "foreign"), "{undone:#?}");
}

#[test]
fn a_move_is_moved_back_with_later_changes_and_only_if_the_old_name_is_free() {
    let fixture = fixture();
    let change = |changes: Value| {
        let changes = format!("changes={changes}");
        fixture.ok(&["call", "changes_apply", &changes]);
    };
    change(json!([{"path": "f.txt", "move_to": "moved.txt"}]));
    change(json!([{"path": "moved.txt", "edits": [{"old_string": "d", "new_string": "D"}]}]));
    let id = fixture.log().iter().find(|it| it["kind"] == "move").unwrap()["id"].to_string();
    fs::write(fixture.root.join("f.txt"), "in the way\n").unwrap();
    let (_, stderr, status) = fixture.run(&["undo", &id]);
    assert!(status == 1 && stderr.contains("File already exists"), "{stderr}");
    fs::remove_file(fixture.root.join("f.txt")).unwrap();
    fixture.ok(&["undo", &id]);
    assert_eq!(fixture.text(), "a\nb\nc\nD\n");
    assert!(!fixture.root.join("moved.txt").exists());
    // The edit that was made under the other name.
    fixture.ok(&["undo", "--last"]);
    assert_eq!(fixture.text(), "a\nb\nc\nd\n");
}

#[test]
fn a_file_that_was_moved_and_removed_gets_its_old_name_back_in_two_steps() {
    let fixture = fixture();
    let session = fixture.serve(&[]);
    let changes = json!({"changes": [{"path": "f.txt", "move_to": "moved.txt",
        "edits": [{"old_string": "b", "new_string": "B"}]}]});
    session.call("changes_apply", changes);
    let hash = recto_text::Digest::of(b"a\nB\nc\nd\n").to_string();
    session.call("file_remove", json!({"path": "moved.txt", "hash": hash}));
    drop(session);
    let log = fixture.log();
    let name = log[0]["session"].as_str().unwrap().to_string();
    let id = |kind: &str| log.iter().find(|it| it["kind"] == kind).unwrap()["id"].to_string();
    let (moved, removed) = (id("move"), id("remove"));
    for what in [&["--session", &name][..], &[&moved], &[&moved, &removed]] {
        let (_, stderr, status) = fixture.run(&[&["undo"], what].concat());
        let cause = format!("undo change {removed} first, then the rest");
        assert!(status == 1 && stderr.contains(&cause), "{what:?}: {stderr}");
        assert!(!fixture.root.join("moved.txt").exists());
    }
    fixture.ok(&["undo", &removed]);
    assert_eq!(fs::read_to_string(fixture.root.join("moved.txt")).unwrap(), "a\nB\nc\nd\n");
    fixture.ok(&["undo", "--session", &name]);
    assert_eq!(fixture.text(), "a\nb\nc\nd\n");
    assert!(!fixture.root.join("moved.txt").exists());
    let (_, stderr, _) = fixture.run(&["undo", "--session", &name]);
    assert!(stderr.contains("everything is undone already"), "{stderr}");
}

#[test]
fn the_move_of_a_file_whose_creation_is_undone_is_not_undone() {
    let fixture = fixture();
    let session = fixture.serve(&[]);
    let new = |change: Value| session.call("changes_apply", json!({"changes": [change]}));
    new(json!({"path": "new.txt", "content": "new\n"}));
    new(json!({"path": "new.txt", "move_to": "moved.txt"}));
    drop(session);
    let log = fixture.log();
    let name = log[0]["session"].as_str().unwrap().to_string();
    fixture.ok(&["undo", "--session", &name]);
    assert!(!fixture.root.join("moved.txt").exists());
    let (_, stderr, _) = fixture.run(&["undo", "--session", &name]);
    assert!(stderr.contains("everything is undone already"), "{stderr}");
}

#[test]
fn a_removed_symbolic_link_is_restored_and_removed_again() {
    let fixture = fixture();
    let link = fixture.root.join("link");
    std::os::unix::fs::symlink("f.txt", &link).unwrap();
    let read = fixture.ok(&["call", "text_read", "path=link", "--json"]);
    let hash = serde_json::from_str::<Value>(&read).unwrap()["hash"].as_str().unwrap().to_string();
    fixture.ok(&["call", "file_remove", "path=link", &format!("hash={hash}")]);
    assert!(!link.is_symlink());
    for (id, is_there) in [("1", true), ("2", false), ("3", true)] {
        fixture.ok(&["undo", id]);
        assert_eq!(link.is_symlink(), is_there, "undo of {id}");
    }
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("f.txt"));
    assert_eq!(fixture.text(), "a\nb\nc\nd\n");
    // A file is never replaced by a link, nor a link that leads elsewhere removed.
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("elsewhere", &link).unwrap();
    let (_, stderr, status) = fixture.run(&["undo", "4"]);
    assert!(status == 1 && stderr.contains("Nothing was changed"), "{stderr}");
    fs::remove_file(&link).unwrap();
    fs::write(&link, "a file\n").unwrap();
    let (_, stderr, status) = fixture.run(&["undo", "4"]);
    assert!(status == 1 && stderr.contains("there is no symbolic link any more"), "{stderr}");
}

#[test]
fn a_session_beyond_the_limits_of_a_transaction_is_undone_only_in_batches() {
    let fixture = fixture();
    let session = fixture.serve(&[]);
    for batch in 0..2 {
        let change = |n: usize| json!({"path": format!("{batch}/{n}.txt"), "content": "new\n"});
        let changes: Vec<Value> = (0..150).map(change).collect();
        let called = session.call("changes_apply", json!({"changes": changes}));
        assert!(matches!(called, Actual::Answer { .. }), "{called:?}");
    }
    drop(session);
    let name = fixture.log()[0]["session"].as_str().unwrap().to_string();
    let n_files = || {
        let n_in = |dir: &str| fs::read_dir(fixture.root.join(dir)).unwrap().count();
        n_in("0") + n_in("1")
    };
    let (_, stderr, status) = fixture.run(&["undo", "--session", &name]);
    assert!(status == 1 && stderr.contains("300 of at most 256"), "{stderr}");
    assert_eq!(n_files(), 300);
    fixture.ok(&["undo", "--session", &name, "--partial"]);
    assert_eq!(n_files(), 0);
}
