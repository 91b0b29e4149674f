//! Text that only the editor has, the notes about it, and files that stay on disk.

use recto_store::editor::EditorError;
use serde_json::{Value, json};

use crate::client::Actual;
use crate::scripted_editor::{Accident, EditorFixture, Habits, ScriptedEditor, Verb};

fn answer(actual: Actual) -> Value {
    match actual {
        Actual::Answer { structured, .. } => structured,
        Actual::Error { .. } => panic!("{actual:?}"),
    }
}

fn code(actual: Actual) -> i32 {
    match actual {
        Actual::Error { code, .. } => code,
        Actual::Answer { .. } => panic!("{actual:?}"),
    }
}

const UNSAVED: &str =
    "the editor has unsaved changes; this is the editor's text, and the file on disk differs";

#[test]
fn a_new_file_exists_before_it_is_saved() {
    let habits = Habits { is_empty_for_missing: true, ..Habits::default() };
    let fixture = EditorFixture::new(ScriptedEditor::new(habits));
    let path = fixture.path("new[1].txt");
    let write = json!({"path": path, "content": "a\n"});
    let written = answer(fixture.call("write_text_file", write));
    assert_eq!((&written["created"], &written["notes"]), (&json!(true), &json!([UNSAVED])));
    assert_eq!(fixture.disk("new[1].txt"), None);

    let read = answer(fixture.call("read_text_file", json!({"path": path})));
    assert_eq!((&read["content"], &read["notes"]), (&json!("a\n"), &json!([UNSAVED])));
    let lines = answer(fixture.call("ReadLines", json!({"file_path": path})));
    assert_eq!(lines["rows"][0]["content"], "a", "a name with wildcards that one file has");
    let edit = json!({"path": path, "old_string": "a", "new_string": "b"});
    let edited = answer(fixture.call("edit_text_file", edit));
    assert_eq!(fixture.buffer("new[1].txt").as_deref(), Some("b\n"));

    let create = json!({"path": path, "content": "c\n"});
    assert_eq!(code(fixture.call("file_create", create)), -32006);
    let remove = json!({"path": path, "hash": edited["hash"]});
    assert_eq!(code(fixture.call("file_remove", remove.clone())), -32017);
    let listed = answer(fixture.call("ListFiles", json!({"pattern": "*.txt"})));
    let says = "files not yet saved in the editor are not listed";
    assert_eq!((&listed["total"], &listed["notes"]), (&json!(0), &json!([says])));

    // Once the file has been on disk, the disk decides.
    fixture.put("new[1].txt", "b\n");
    let read = answer(fixture.call("read_text_file", json!({"path": path})));
    assert_eq!(read.get("notes"), None);
    assert_eq!(answer(fixture.call("file_remove", remove))["removed"], true);
    assert_eq!(code(fixture.call("read_text_file", json!({"path": path}))), -32001);
}

#[test]
fn a_file_that_only_a_lost_editor_had_does_not_exist() {
    let lost = Accident::Fails(EditorError::NotSent);
    // After the two reads of the write.
    let editor = ScriptedEditor::new(Habits::default()).with(Verb::Read, 3, lost);
    let fixture = EditorFixture::new(editor);
    let path = fixture.path("new.txt");
    answer(fixture.call("write_text_file", json!({"path": path, "content": "a\n"})));
    assert_eq!(fixture.disk("new.txt"), None, "only the editor has it");

    let edit = json!({"path": path, "old_string": "a", "new_string": "b"});
    assert_eq!(code(fixture.call("edit_text_file", edit)), -32001);
    let create = json!({"path": path, "content": "AAE=", "encoding": "base64"});
    answer(fixture.call("file_create", create));
    assert_eq!(fixture.disk("new.txt").as_deref(), Some("\0\u{1}"));
}

const NOTES: &str = "the user's notes\n";

#[test]
fn a_new_file_of_the_user_that_is_not_saved_is_not_created_again() {
    for lacks_write in [false, true] {
        let habits = Habits { is_empty_for_missing: true, lacks_write, ..Habits::default() };
        for encoding in ["utf-8", "base64"] {
            let fixture = EditorFixture::new(ScriptedEditor::new(habits.clone()));
            let path = fixture.path("notes.txt");
            fixture.editor.open(&path, NOTES);
            let create = json!({"path": path, "content": "AAEC", "encoding": encoding});
            assert_eq!(code(fixture.call("file_create", create.clone())), -32006, "{encoding}");
            assert_eq!(fixture.buffer("notes.txt").as_deref(), Some(NOTES), "{encoding}");
            assert_eq!(fixture.disk("notes.txt"), None, "{encoding}");
            let other = json!({"path": fixture.path("other.txt"), "content": "AAEC",
                "encoding": encoding});
            answer(fixture.call("file_create", other));
        }
    }
}

#[test]
fn a_write_to_a_new_file_of_the_user_that_is_not_saved_is_not_a_creation() {
    let fixture = EditorFixture::new(ScriptedEditor::new(Habits::default()));
    let path = fixture.path("notes.txt");
    fixture.editor.open(&path, NOTES);
    let stale = recto_text::Digest::of(b"other").to_string();
    let write = json!({"path": path, "content": "a\n", "expected_hash": stale});
    assert_eq!(code(fixture.call("write_text_file", write)), -32001, "it was never read");
    let written = answer(fixture.call("write_text_file", json!({"path": path, "content": "a\n"})));
    assert_eq!((&written["created"], &written["notes"]), (&json!(false), &json!([UNSAVED])));
    assert_eq!(fixture.buffer("notes.txt").as_deref(), Some("a\n"));

    // The session knows the file now, and the user types again.
    fixture.editor.open(&path, NOTES);
    let again = json!({"path": path, "content": "b\n"});
    assert_eq!(code(fixture.call("write_text_file", again)), -32013);
    assert_eq!(fixture.buffer("notes.txt").as_deref(), Some(NOTES));
}

#[test]
fn unsaved_changes_are_read_edited_and_reported() {
    let fixture = EditorFixture::new(ScriptedEditor::new(Habits::default()));
    let path = fixture.put("f.txt", "disk\n");
    fixture.editor.open(&path, "buffer\n");
    for (tool, arguments) in [
        ("read_text_file", json!({"path": path})),
        ("text_read", json!({"path": path})),
        ("ReadLines", json!({"file_path": path})),
        (
            "edit_text_file",
            json!({"path": path, "old_string": "buffer", "new_string": "b", "dry_run": true}),
        ),
        ("edit_text_file", json!({"path": path, "old_string": "buffer", "new_string": "edited"})),
        ("write_text_file", json!({"path": path, "content": "edited\n"})),
    ] {
        assert_eq!(answer(fixture.call(tool, arguments))["notes"], json!([UNSAVED]), "{tool}");
    }
    assert_eq!(fixture.buffer("f.txt").as_deref(), Some("edited\n"));
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("disk\n"));
    let hash = recto_text::Digest::of(b"edited\n").to_string();
    let actual = fixture.call("file_remove", json!({"path": path, "hash": hash}));
    let Actual::Error { code, message, .. } = actual else { panic!("{actual:?}") };
    let says = format!("File has unsaved changes in the editor: {}", path.display());
    assert_eq!((code, message), (-32017, says));
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("disk\n"));
}

#[test]
fn an_edit_that_saves_reports_no_unsaved_changes() {
    let fixture =
        EditorFixture::new(ScriptedEditor::new(Habits { saves: true, ..Habits::default() }));
    let path = fixture.put("f.txt", "disk\n");
    fixture.editor.open(&path, "buffer\n");
    let edit = json!({"path": path, "old_string": "buffer", "new_string": "edited"});
    assert_eq!(answer(fixture.call("edit_text_file", edit)).get("notes"), None);
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("edited\n"));
}

#[test]
fn many_files_are_searched_on_the_disk_without_asking() {
    let fixture = EditorFixture::new(ScriptedEditor::new(Habits::default()));
    for n in 0..40 {
        fixture.put(&format!("{n}.txt"), "needle\n");
    }
    let search = json!({"file_path": "*.txt", "match": "needle"});
    let found = answer(fixture.call("ReadLines", search.clone()));
    let on_disk = "searched the files on disk; unsaved changes in the editor are not included";
    assert_eq!(found["rows"].as_array().unwrap().len(), 40);
    assert_eq!(found["notes"], json!([on_disk]));
    assert_eq!(fixture.editor.count(Verb::Read), 0);
    // Known differences are reported.
    fixture.editor.open(&fixture.path("7.txt"), "nothing\n");
    answer(fixture.call("text_read", json!({"path": "7.txt"})));
    let found = answer(fixture.call("ReadLines", search));
    let says = "the editor has unsaved changes; this is the text on disk, without them";
    assert_eq!(found["notes"], json!([on_disk, says]));
    assert_eq!(fixture.editor.count(Verb::Read), 1);
}

#[test]
fn large_files_and_bytes_stay_on_the_disk() {
    let fixture = EditorFixture::new(ScriptedEditor::new(Habits::default()));
    let line = "0123456789abcde\n";
    let path = fixture.put("large.txt", line.repeat((16 << 20) / line.len() + 1));
    let says = json!(["larger than 16 MiB; the file on disk is used, not the editor's text"]);
    for (tool, arguments) in [
        ("read_text_file", json!({"path": path, "limit": 1})),
        ("ReadLines", json!({"file_path": path, "lines": "3"})),
        ("write_text_file", json!({"path": path, "content": "small\n"})),
    ] {
        assert_eq!(answer(fixture.call(tool, arguments))["notes"], says, "{tool}");
    }
    let create = json!({"path": "b.txt", "content": "YQ==", "encoding": "base64"});
    assert_eq!(answer(fixture.call("file_create", create)).get("notes"), None);
    assert_eq!(fixture.disk("b.txt").as_deref(), Some("a"));
    let new = json!({"path": fixture.path("new.txt"), "content": line.repeat((16 << 20) / 15)});
    assert_eq!(answer(fixture.call("write_text_file", new))["notes"], says);
    assert!(fixture.disk("new.txt").is_some());
    // The editor was asked whether it has text of the two new files.
    assert_eq!((fixture.editor.count(Verb::Read), fixture.editor.count(Verb::Write)), (2, 0));
}

#[test]
fn a_hash_from_a_read_only_editor_is_accepted_by_an_edit() {
    let habits = Habits { lacks_write: true, normalises: true, ..Habits::default() };
    let fixture = EditorFixture::new(ScriptedEditor::new(habits));
    fixture.put("f.txt", "a\r\n");
    let read = answer(fixture.call("text_read", json!({"path": "f.txt"})));
    assert_eq!(read["content"], "a\r\n");
    let append = json!({"path": "f.txt", "hash": read["hash"], "content": "b\r\n"});
    answer(fixture.call("text_append", append));
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("a\r\nb\r\n"));
}
