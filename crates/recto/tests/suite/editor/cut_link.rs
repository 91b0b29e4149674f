//! The editor exits at every step of a change: the text is written to one place, or the answer
//! reports an unknown outcome.

use recto_store::editor::EditorError;
use serde_json::{Value, json};

use crate::client::Actual;
use crate::scripted_editor::{Accident, EditorFixture, Habits, ScriptedEditor, Verb};

/// Where the change is afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WrittenTo {
    Editor,
    Disk,
    Nowhere,
}

const ON_DISK: &str = "one\r\ntwo\r\n";
const IN_EDITOR: &str = "one\ntwo\n";

fn check(verb: Verb, number: usize, accident: Accident, place: WrittenTo, code: Option<i32>) {
    let calls: [(&str, &str, Value); 4] = [
        ("edit_text_file", "f.txt", json!({"old_string": "one", "new_string": "1"})),
        (
            "multi_edit_text_file",
            "f.txt",
            json!({"edits": [{"old_string": "one", "new_string": "1"}]}),
        ),
        ("write_text_file", "f.txt", json!({"content": "1\r\ntwo\r\n"})),
        ("write_text_file", "new.txt", json!({"content": "new\n"})),
    ];
    for (tool, name, mut arguments) in calls {
        let is_new = name == "new.txt";
        if is_new && verb == Verb::Read {
            continue; // Creating a file reads nothing first.
        }
        let habits = Habits { normalises: true, ..Habits::default() };
        let editor = ScriptedEditor::new(habits).with(verb, number, accident.clone());
        let fixture = EditorFixture::new(editor);
        let path = fixture.put("f.txt", ON_DISK);
        fixture.editor.open(&path, IN_EDITOR);
        arguments["path"] = fixture.path(name).to_str().unwrap().into();
        let actual = fixture.call(tool, arguments);
        let found = match &actual {
            Actual::Answer { .. } => None,
            Actual::Error { code, .. } => Some(*code),
        };
        assert_eq!(found, code, "{tool} {name}: {actual:?}");
        let (before, on_disk, in_editor) = match is_new {
            true => ((None, None), "new\n", "new\n"),
            false => ((Some(IN_EDITOR), Some(ON_DISK)), "1\r\ntwo\r\n", "1\ntwo\n"),
        };
        let expected = match place {
            WrittenTo::Editor => (Some(in_editor), before.1),
            WrittenTo::Disk => (before.0, Some(on_disk)),
            WrittenTo::Nowhere => before,
        };
        let (buffer, disk) = (fixture.buffer(name), fixture.disk(name));
        assert_eq!((buffer.as_deref(), disk.as_deref()), expected, "{tool} {name}");
        assert!(fixture.editor.count(Verb::Write) <= 1, "{tool}: sent twice");
    }
}

#[test]
fn a_write_that_was_never_sent_goes_to_disk_with_its_line_endings() {
    for number in [1, 2] {
        check(Verb::Read, number, Accident::Fails(EditorError::NotSent), WrittenTo::Disk, None);
        check(Verb::Read, number, Accident::Fails(EditorError::Unanswered), WrittenTo::Disk, None);
    }
    check(Verb::Write, 1, Accident::Fails(EditorError::NotSent), WrittenTo::Disk, None);
}

/// The editor is connected and may have unsaved text.
#[test]
fn a_write_does_not_bypass_an_editor_that_does_not_answer() {
    for number in [1, 2] {
        let silent = Accident::Fails(EditorError::Silent);
        check(Verb::Read, number, silent, WrittenTo::Nowhere, Some(-32017));
    }
}

#[test]
fn a_write_that_the_editor_reverts_is_not_reported_as_written() {
    let habits = Habits { formats: Some(|_| IN_EDITOR.into()), ..Habits::default() };
    let edit = json!({"old_string": "one", "new_string": "1"});
    for is_late in [false, true] {
        let mut editor = ScriptedEditor::new(habits.clone());
        if is_late {
            // The call reads first, the second read compares, the third verifies the write.
            editor = editor.with(Verb::Read, 5, Accident::Types("1\ntwo\n"));
        }
        let fixture = EditorFixture::new(editor);
        let path = fixture.put("f.txt", ON_DISK);
        fixture.editor.open(&path, IN_EDITOR);
        let mut arguments = edit.clone();
        arguments["path"] = path.to_str().unwrap().into();
        let actual = fixture.call("edit_text_file", arguments);
        match (is_late, &actual) {
            (true, Actual::Answer { .. }) => {}
            (false, Actual::Error { code: -32018, message, .. }) => {
                assert!(message.starts_with("The editor still has the previous text"), "{message}");
            }
            _ => panic!("is_late {is_late}: {actual:?}"),
        }
    }
}

#[test]
fn an_unanswered_write_is_not_sent_again() {
    let unanswered = EditorError::Unanswered;
    let code = Some(-32018);
    check(Verb::Write, 1, Accident::Fails(unanswered.clone()), WrittenTo::Nowhere, code);
    check(Verb::Write, 1, Accident::FailsAfter(unanswered), WrittenTo::Editor, code);
}

#[test]
fn an_accepted_write_is_reported_even_if_it_cannot_be_read_back() {
    for error in [EditorError::NotSent, EditorError::Unanswered, EditorError::Cancelled] {
        check(Verb::Read, 3, Accident::Fails(error), WrittenTo::Editor, None);
    }
}

#[test]
fn a_call_cancelled_before_its_write_changes_nothing() {
    let cancelled = Accident::Fails(EditorError::Cancelled);
    check(Verb::Read, 1, cancelled.clone(), WrittenTo::Nowhere, Some(-32800));
    check(Verb::Read, 2, cancelled.clone(), WrittenTo::Nowhere, Some(-32800));
    check(Verb::Write, 1, cancelled, WrittenTo::Nowhere, Some(-32800));
}

#[test]
fn an_expected_hash_is_stale_if_the_disk_has_another_version() {
    let editor = ScriptedEditor::new(Habits { normalises: true, ..Habits::default() });
    let fixture =
        EditorFixture::new(editor.with(Verb::Write, 1, Accident::Fails(EditorError::NotSent)));
    fixture.put("f.txt", ON_DISK);
    let hash = recto_text::Digest::of(IN_EDITOR.as_bytes()).to_string();
    let actual =
        fixture.call("text_append", json!({"path": "f.txt", "hash": hash, "content": "x\n"}));
    assert!(matches!(actual, Actual::Error { code: -32013, .. }), "{actual:?}");
    assert_eq!(fixture.disk("f.txt").as_deref(), Some(ON_DISK));
}
