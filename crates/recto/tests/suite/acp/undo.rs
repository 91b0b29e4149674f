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
        let state = tempfile::tempdir().unwrap();
        let option = format!("--state-dir={}", state.path().join("state").display());
        let (editor, session) = Editor::in_session(Habits::options(&["--tools=all", &option]));
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
