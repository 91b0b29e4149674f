//! Undo of moved files, and of files whose names others got.

use std::fs;

use serde_json::{Value, json};

use super::{Fixture, fixture};

impl Fixture {
    /// Makes calls in one session, and returns its name.
    fn session(&self, calls: &[(&str, Value)]) -> String {
        let session = self.serve(&[]);
        for (tool, arguments) in calls {
            let called = session.call(tool, arguments.clone());
            assert!(matches!(called, crate::client::Actual::Answer { .. }), "{tool}: {called:?}");
        }
        drop(session);
        self.log()[0]["session"].as_str().unwrap().into()
    }

    /// Returns the names and contents of all files.
    fn files(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(&self.root).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }

    /// Runs a command that fails, and returns what it says.
    fn fails(&self, arguments: &[&str]) -> String {
        let (_, stderr, status) = self.run(arguments);
        assert_ne!(status, 0, "{arguments:?}");
        stderr
    }

    /// Returns the changes that `recto log` shows as undone.
    fn undone(&self, arguments: &[&str]) -> Vec<u64> {
        let log = self.ok(&[&["log", "--json"], arguments].concat());
        let changes = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut undone: Vec<u64> = changes
            .filter(|change| !change["undone_by"].is_null())
            .map(|change| change["id"].as_u64().unwrap())
            .collect();
        undone.sort_unstable();
        undone
    }
}

fn moved(path: &str, to: &str) -> (&'static str, Value) {
    ("changes_apply", json!({"changes": [{"path": path, "move_to": to}]}))
}

fn edited(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    let edit = json!({"old_string": old, "new_string": new});
    ("changes_apply", json!({"changes": [{"path": path, "edits": [edit]}]}))
}

fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

const TEXT: &str = "a\nb\nc\nd\n";

#[test]
fn a_removed_file_is_restored_after_another_file_had_its_name() {
    let fixture = fixture();
    fs::write(fixture.root.join("g.txt"), "precious\n").unwrap();
    let hash = recto_text::Digest::of(b"precious\n").to_string();
    let remove = ("file_remove", json!({"path": "g.txt", "hash": hash}));
    let session = fixture.session(&[remove, moved("f.txt", "g.txt")]);
    for what in [&["--session", &session][..], &["1"], &["1", "2"]] {
        let stderr = fixture.fails(&[&["undo"], what].concat());
        assert!(stderr.contains("change 2 moved this one here; undo 2 first"), "{stderr}");
        assert_eq!(fixture.files(), owned(&[("g.txt", TEXT)]));
    }
    // In two steps, in any of two ways.
    let (_, stderr, status) = fixture.run(&["undo", "--session", &session, "--partial"]);
    assert_eq!(status, 1, "{stderr}");
    assert_eq!(fixture.files(), owned(&[("f.txt", TEXT)]));
    fixture.ok(&["undo", "--session", &session]);
    assert_eq!(fixture.files(), owned(&[("f.txt", TEXT), ("g.txt", "precious\n")]));
    let stderr = fixture.fails(&["undo", "--session", &session]);
    assert!(stderr.contains("everything is undone already"), "{stderr}");
}

#[test]
fn an_undone_file_at_the_old_name_is_skipped() {
    let fixture = fixture();
    let create = ("file_create", json!({"path": "f.txt", "content": "new\n"}));
    let session = fixture.session(&[moved("f.txt", "g.txt"), create]);
    fixture.ok(&["undo", "--session", &session, "--partial"]);
    assert_eq!(fixture.files(), owned(&[("f.txt", TEXT)]));
    let stderr = fixture.fails(&["undo", "--session", &session]);
    assert!(stderr.contains("everything is undone already"), "{stderr}");
}

#[test]
fn the_undo_of_a_move_can_be_undone_and_made_again() {
    let fixture = fixture();
    let session = fixture.session(&[moved("f.txt", "g.txt"), edited("g.txt", "b", "B")]);
    fixture.ok(&["undo", "1"]);
    assert_eq!(fixture.undone(&[]), [1]);
    let undo = fixture.log().iter().filter_map(|it| it["id"].as_u64()).max().unwrap() - 1;
    fixture.ok(&["undo", &undo.to_string()]);
    assert_eq!(fixture.files(), owned(&[("g.txt", "a\nB\nc\nd\n")]));
    assert_eq!(fixture.undone(&[]), [undo]);
    fixture.ok(&["undo", "--session", &session]);
    assert_eq!(fixture.files(), owned(&[("f.txt", TEXT)]));
}

#[test]
fn a_session_that_moved_a_file_and_moved_it_back_is_undone() {
    let fixture = fixture();
    let moves = [moved("f.txt", "g.txt"), edited("g.txt", "b", "B"), moved("g.txt", "f.txt")];
    let session = fixture.session(&moves);
    fixture.ok(&["undo", "--session", &session]);
    assert_eq!(fixture.files(), owned(&[("f.txt", TEXT)]));
    let stderr = fixture.fails(&["undo", "--session", &session]);
    assert!(stderr.contains("everything is undone already"), "{stderr}");
}

#[test]
fn all_changes_of_a_moved_file_are_found_by_its_names() {
    for name in ["f.txt", "g.txt"] {
        let fixture = fixture();
        let edits = [edited("f.txt", "a", "A"), moved("f.txt", "g.txt"), edited("g.txt", "b", "B")];
        let session = fixture.session(&edits);
        let blame = fixture.ok(&["blame", "g.txt"]);
        let n_lines = blame.lines().filter(|line| line.contains(&session)).count();
        assert_eq!(n_lines, 2, "{blame}");
        fixture.ok(&["undo", "--file", name]);
        assert_eq!(fixture.files(), owned(&[("f.txt", TEXT)]), "{name}");
    }
}

#[test]
fn a_filtered_log_shows_what_the_user_has_undone() {
    let fixture = fixture();
    let session = fixture.session(&[edited("f.txt", "a", "A"), moved("f.txt", "g.txt")]);
    fixture.ok(&["undo", "1"]);
    for filter in [&[][..], &["--session", &session], &["f.txt"]] {
        assert_eq!(fixture.undone(filter), [1], "{filter:?}");
    }
}

#[test]
fn a_change_that_is_undone_in_part_is_the_last_one() {
    let fixture = fixture();
    fixture.edit("a", "A");
    let edits =
        json!([{"old_string": "b", "new_string": "B"}, {"old_string": "d", "new_string": "D"}]);
    let edits = format!("edits={edits}");
    fixture.ok(&["call", "multi_edit_text_file", "path=f.txt", &edits]);
    fixture.ok(&["undo", "2", "--hunk", "1"]);
    assert_eq!(fixture.text(), "A\nb\nc\nD\n");
    fixture.ok(&["undo", "--last"]);
    assert_eq!(fixture.text(), "A\nb\nc\nd\n");
    fixture.ok(&["undo", "--last"]);
    assert_eq!(fixture.text(), TEXT);
}

#[test]
fn hunks_are_counted_from_one_and_moves_have_none() {
    let fixture = fixture();
    fixture.session(&[moved("f.txt", "g.txt"), edited("g.txt", "b", "B")]);
    let stderr = fixture.fails(&["undo", "3", "--hunk", "0"]);
    assert!(stderr.contains("0 is not in 1.."), "{stderr}");
    let stderr = fixture.fails(&["undo", "1", "--hunk", "1"]);
    assert!(stderr.contains("change 1 moved a file; it has no hunks"), "{stderr}");
}

#[test]
fn a_link_and_a_file_with_one_name_are_undone_one_after_the_other() {
    let fixture = fixture();
    let link = fixture.root.join("link");
    std::os::unix::fs::symlink("f.txt", &link).unwrap();
    let hash = recto_text::Digest::of(TEXT.as_bytes()).to_string();
    fixture.session(&[
        ("file_remove", json!({"path": "link", "hash": hash})),
        ("file_create", json!({"path": "link", "content": "file\n"})),
    ]);
    assert!(fixture.fails(&["undo", "1"]).contains("link"));
    fixture.ok(&["undo", "2"]);
    fixture.ok(&["undo", "1"]);
    assert_eq!(fs::read_link(&link).unwrap().to_str(), Some("f.txt"));
}
