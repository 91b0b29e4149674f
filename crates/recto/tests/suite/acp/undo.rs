//! Undo in a session with an editor: a file that is open there is changed through the editor.

use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits, read};
use crate::client::recto;

/// An editor in a session that is recorded in a journal of its own.
struct Recorded {
    editor: Editor,
    session: String,
    state: tempfile::TempDir,
}

impl Recorded {
    fn new() -> Recorded {
        Recorded::with(Habits::default())
    }

    fn with(habits: Habits) -> Recorded {
        let state = tempfile::tempdir().unwrap();
        let option = format!("--state-dir={}", state.path().join("state").display());
        let options = Habits::options(&["--tools=all", &option]).options;
        let (editor, session) = Editor::in_session(Habits { options, ..habits });
        Recorded { editor, session, state }
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        self.editor.call(&self.session, tool, arguments)
    }

    /// Returns what was recorded, oldest first.
    fn log(&self) -> Vec<Value> {
        let mut command = recto();
        command.args(["log", "--json", "--state-dir"]).arg(self.state.path().join("state"));
        let output = command.current_dir(&self.editor.folder).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().rev().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn a_change_in_a_buffer_is_undone_through_the_editor() {
    let recorded = Recorded::new();
    let editor = &recorded.editor;
    editor.open("f.txt", "a\nb\nc\n");
    let buffer = || editor.state.buffers.lock().unwrap()[&editor.spelled("f.txt")].clone();
    let edit = json!({"path": editor.spelled("f.txt"), "old_string": "b", "new_string": "B"});
    recorded.call("edit_text_file", edit);
    // The user goes on typing in another line.
    editor.open("f.txt", &buffer().replace('c', "by the user"));

    let listed = recorded.call("undo_list", json!({}))["structuredContent"].clone();
    let own = json!([{"change": 1, "kind": "edit", "path": editor.spelled("f.txt")}]);
    assert_eq!(listed, json!({"changes": own, "n_older": 0}));
    let undone = recorded.call("undo_apply", json!({"change": 1}));
    assert_eq!(undone["structuredContent"]["undone"], json!([1]), "{undone}");
    assert_eq!(buffer(), "a\nb\nby the user\n");
    let log = recorded.log();
    let shown: Vec<_> = log.iter().map(|row| (&row["kind"], &row["in_editor"])).collect();
    let edited = (&json!("edit"), &json!(true));
    let undo = (&json!("undo"), &json!(true));
    assert_eq!((shown.first(), shown.last()), (Some(&edited), Some(&undo)), "{log:?}");

    let redo = json!({"change": log.last().unwrap()["id"]});
    recorded.call("undo_apply", redo);
    assert_eq!(buffer(), "a\nB\nby the user\n");
    assert_eq!(editor.state.writes.lock().unwrap().len(), 3, "each through the editor");
    assert_eq!(read(&editor.path("f.txt")), "on disk\n");
}

#[test]
fn text_that_the_user_typed_over_a_change_is_kept() {
    let recorded = Recorded::new();
    let editor = &recorded.editor;
    editor.open("f.txt", "a\n");
    let edit = json!({"path": editor.spelled("f.txt"), "old_string": "a", "new_string": "b"});
    recorded.call("edit_text_file", edit);
    editor.open("f.txt", "by the user\n");
    let error = recorded.call("undo_apply", json!({"change": 1}));
    let cause = "Cannot undo change 1: another program has changed these lines since";
    assert_eq!(error["content"][0]["text"], cause, "{error}");
    let other = editor.new_session();
    let error = editor.call(&other, "undo_apply", json!({"change": 1}));
    let cause = "Cannot undo change 1: this session has no such change";
    assert_eq!(error["content"][0]["text"], cause, "{error}");
    assert_eq!(editor.state.writes.lock().unwrap().len(), 1);
}

#[test]
fn a_change_of_a_file_that_the_editor_does_not_have_is_undone_on_disk() {
    let recorded = Recorded::new();
    check_undo_on_disk(&recorded, "a\nb\n");
}

#[test]
fn a_change_of_a_file_that_is_too_large_for_the_editor_is_undone_on_disk() {
    let recorded = Recorded::new();
    let text = "a\n".to_string() + &"a line of this file\n".repeat((17 << 20) / 20) + "b\n";
    recorded.editor.open("f.txt", "a\nb\n");
    check_undo_on_disk(&recorded, &text);
}

#[test]
fn a_change_is_undone_on_disk_if_the_editor_cannot_write() {
    let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": false}});
    let recorded = Recorded::with(Habits { capabilities, ..Habits::default() });
    let editor = &recorded.editor;
    editor.open("f.txt", "a\nB\n");
    check_undo_on_disk(&recorded, "a\nb\n");
}

/// Edits a file on disk, undoes the edit and redoes it.
fn check_undo_on_disk(recorded: &Recorded, text: &str) {
    let editor = &recorded.editor;
    std::fs::write(editor.path("f.txt"), text).unwrap();
    let edited = text.replace("\nb\n", "\nB\n");
    // An editor without unsaved text notices what other programs write.
    let show = |text: &str| {
        let mut buffers = editor.state.buffers.lock().unwrap();
        buffers.values_mut().for_each(|buffer| *buffer = text.to_string());
    };
    show(text);
    let edit =
        json!({"path": editor.spelled("f.txt"), "old_string": "\nb\n", "new_string": "\nB\n"});
    let answer = recorded.call("edit_text_file", edit);
    assert_eq!(answer["isError"], json!(false), "{answer}");
    assert!(read(&editor.path("f.txt")) == edited);
    for (change, expected) in [(1, text), (2, &edited)] {
        show(&read(&editor.path("f.txt")));
        let dry_run = json!({"change": change, "dry_run": true});
        let planned = recorded.call("undo_apply", dry_run);
        assert_eq!(planned["structuredContent"]["undone"], json!([change]), "{planned}");
        assert!(read(&editor.path("f.txt")) != expected);
        let undone = recorded.call("undo_apply", json!({"change": change}));
        assert_eq!(undone["structuredContent"]["undone"], json!([change]), "{undone}");
        assert!(read(&editor.path("f.txt")) == expected);
    }
    assert_eq!(editor.state.writes.lock().unwrap().len(), 0, "none through the editor");
}
