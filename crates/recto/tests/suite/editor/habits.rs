//! Behaviour of real editors: other line endings, formatting on save, buffers that lag behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_store::Context;
use recto_store::local::{HiddenPaths, Options};
use recto_store::path::AbsPath;
use recto_store::workspace::Workspace;
use recto_store::{LocalStore, Store, Text};
use serde_json::{Value, json};

use crate::client::Actual;
use crate::scripted_editor::{Accident, EditorFixture, Habits, ScriptedEditor, Verb};

fn answer(actual: Actual) -> Value {
    match actual {
        Actual::Answer { structured, .. } => structured,
        Actual::Error { .. } => panic!("{actual:?}"),
    }
}

/// LF in the buffer, saved with the file's endings; a missing file is empty.
fn zed() -> Habits {
    Habits { saves: true, normalises: true, is_empty_for_missing: true, ..Habits::default() }
}

#[test]
fn a_crlf_file_is_lf_in_the_editor_and_stays_crlf_on_the_disk() {
    let fixture = EditorFixture::new(ScriptedEditor::new(zed()));
    let path = fixture.put("f.txt", "one\r\ntwo\r\n");
    let read = answer(fixture.call("text_read", json!({"path": "f.txt"})));
    assert_eq!((&read["content"], read.get("notes")), (&json!("one\ntwo\n"), None));
    let replaced = answer(fixture.call(
        "text_replace",
        json!({"path": "f.txt", "hash": read["hash"], "lines": [1, 2], "old": "one", "new": "1"}),
    ));
    assert_eq!(replaced.get("notes"), None);
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("1\r\ntwo\r\n"));
    let edit = json!({"path": path, "old_string": "1\r\ntwo", "new_string": "1\r\n2"});
    let edited = answer(fixture.call("edit_text_file", edit));
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("1\r\n2\r\n"));
    let removed = fixture.call("file_remove", json!({"path": "f.txt", "hash": edited["hash"]}));
    assert_eq!(answer(removed)["removed"], true);
    assert_eq!(fixture.disk("f.txt"), None);
}

#[test]
fn a_missing_file_is_reported_even_if_the_editor_returns_text_for_it() {
    let fixture = EditorFixture::new(ScriptedEditor::new(zed()));
    for (tool, arguments) in [
        ("read_text_file", json!({"path": fixture.path("new.txt")})),
        ("text_read", json!({"path": "new.txt"})),
        ("ReadLines", json!({"file_path": "new.txt"})),
        ("ReadAsTable", json!({"file_path": "new.txt"})),
        ("text_append", json!({"path": "new.txt", "hash": "000000000000", "content": "x\n"})),
        ("file_remove", json!({"path": "new.txt", "hash": "000000000000"})),
    ] {
        let actual = fixture.call(tool, arguments);
        assert!(matches!(actual, Actual::Error { code: -32001, .. }), "{tool}: {actual:?}");
    }
    let create = json!({"path": "a/b/new.txt", "content": "x\n"});
    answer(fixture.call("file_create", create.clone()));
    assert_eq!(fixture.disk("a/b/new.txt").as_deref(), Some("x\n"));
    let again = fixture.call("file_create", create);
    assert!(matches!(again, Actual::Error { code: -32006, .. }), "{again:?}");
}

#[test]
fn the_reported_hash_is_that_of_the_text_the_editor_saved() {
    let formats = |text: &str| text.replace("a=1", "a = 1");
    let habits = Habits { formats: Some(formats), ..zed() };
    let fixture = EditorFixture::new(ScriptedEditor::new(habits));
    let path = fixture.put("f.txt", "old\n");
    let edit = json!({"path": path, "old_string": "old", "new_string": "a=1"});
    let edited = answer(fixture.call("edit_text_file", edit));
    assert_eq!(edited["notes"], json!(["the editor changed the text while saving it"]));
    let append = json!({"path": "f.txt", "hash": edited["hash"], "content": "b\n"});
    let appended = answer(fixture.call("text_append", append));
    assert_eq!(appended.get("notes"), None);
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("a = 1\nb\n"));
    let created = answer(fixture.call("file_create", json!({"path": "g.txt", "content": "a=1"})));
    let read = answer(fixture.call("text_read", json!({"path": "g.txt"})));
    assert_eq!((&read["content"], &read["hash"]), (&json!("a = 1"), &created["hash"]));
}

/// The text afterwards equals the text before, although the editor accepted the write.
#[test]
fn a_write_succeeds_if_the_editor_normalises_it_to_the_old_text() {
    let with_newline = |text: &str| format!("{}\n", text.trim_end_matches('\n'));
    for (formats, content) in [
        (None, "a\r\nb\r\n"),
        (None, "a\r\nb\n"),
        (Some(with_newline as fn(&str) -> String), "a\nb"),
    ] {
        let fixture = EditorFixture::new(ScriptedEditor::new(Habits { formats, ..zed() }));
        let path = fixture.put("f.txt", "a\nb\n");
        let written =
            answer(fixture.call("write_text_file", json!({"path": path, "content": content})));
        let says = json!(["the editor changed the text while saving it"]);
        assert_eq!(written["notes"], says, "{content:?}");
        let read = answer(fixture.call("text_read", json!({"path": "f.txt"})));
        assert_eq!(read["hash"], written["hash"], "{content:?}");
    }
}

#[test]
fn a_bom_in_the_buffer_is_kept_and_not_shown_as_text() {
    let fixture =
        EditorFixture::new(ScriptedEditor::new(Habits { saves: true, ..Habits::default() }));
    let path = fixture.put("f.txt", "\u{feff}a\n");
    let read = answer(fixture.call("read_text_file", json!({"path": path})));
    assert_eq!(read["content"], "a\n");
    let edit = json!({"path": path, "old_string": "a", "new_string": "b"});
    answer(fixture.call("edit_text_file", edit));
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("\u{feff}b\n"));
}

#[test]
fn a_file_whose_encoding_the_editor_would_lose_is_written_to_disk() {
    let fixture =
        EditorFixture::new(ScriptedEditor::new(Habits { saves: true, ..Habits::default() }));
    let path = fixture.put("f.txt", b"d\xe9j\xe0 vu, caf\xe9 cr\xe8me\n");
    let read = answer(fixture.call("read_text_file", json!({"path": path})));
    assert_eq!(read["content"], "déjà vu, café crème\n");
    let says = "the editor does not support this file's encoding; this is the file on disk";
    assert_eq!(read["notes"], json!([says]));
    let edit = json!({"path": path, "old_string": "vu", "new_string": "lu"});
    answer(fixture.call("edit_text_file", edit));
    assert_eq!(std::fs::read(&path).unwrap(), b"d\xe9j\xe0 lu, caf\xe9 cr\xe8me\n");
    assert_eq!(fixture.editor.count(Verb::Write), 0);
}

#[test]
fn an_editor_that_saves_in_place_is_not_blocked_by_a_lease() {
    let fixture = EditorFixture::new(ScriptedEditor::new(zed()));
    let path = fixture.put("f.txt", "a\n");
    let started = Instant::now();
    answer(fixture.call("write_text_file", json!({"path": path, "content": "b\n"})));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("b\n"));
}

#[test]
fn an_edit_does_not_undo_a_recent_write_to_disk() {
    let editor = ScriptedEditor::new(Habits { saves: true, ..Habits::default() });
    // The editor notices the change only before the third request.
    let fixture = EditorFixture::new(editor.with(Verb::Read, 3, Accident::Types("let a = 1;\n")));
    let path = fixture.put("f.rs", "let a=1;\n");
    fixture.editor.open(&path, "let a=1;\n");
    std::fs::write(&path, "let a = 1;\n").unwrap();
    let edit = json!({"path": path, "old_string": "1", "new_string": "2"});
    assert_eq!(answer(fixture.call("edit_text_file", edit)).get("notes"), None);
    assert_eq!(fixture.disk("f.rs").as_deref(), Some("let a = 2;\n"));
}

/// Its timestamps are trusted, so they must show the change.
#[test]
fn a_change_to_an_old_file_is_detected() {
    let rows = [
        // Whether the editor saves, what happens on disk, how often it is read.
        (true, None, 3),
        (false, None, 3),
        // All reads repeat, and for longer because the disk is new and the editor differs.
        (false, Some(Accident::Disk("z\n")), 1 + 8 + 2),
    ];
    for (saves, accident, n_reads) in rows {
        let editor = ScriptedEditor::new(Habits { saves, ..Habits::default() });
        let fixture = EditorFixture::with_clock_ahead(match accident {
            Some(accident) => editor.with(Verb::Read, 1, accident),
            None => editor,
        });
        let path = fixture.put("f.txt", "a\n");
        fixture.editor.open(&path, "a\n");
        let edit = json!({"path": fixture.path("f.txt"), "old_string": "a", "new_string": "b"});
        let answer = answer(fixture.call("edit_text_file", edit));
        assert_eq!(answer.get("notes").is_some(), !saves, "{answer}");
        assert_eq!(fixture.buffer("f.txt").as_deref(), Some("b\n"));
        assert_eq!(fixture.editor.count(Verb::Read), n_reads, "{saves}");
    }
}

#[test]
fn a_change_between_read_and_write_is_not_lost() {
    for accident in [Accident::Types("typed\na\n"), Accident::Disk("typed\na\n")] {
        let is_on_disk = matches!(accident, Accident::Disk(_));
        let editor = ScriptedEditor::new(Habits { saves: true, ..Habits::default() });
        let fixture = EditorFixture::new(editor.with(Verb::Read, 2, accident));
        let path = fixture.put("f.txt", "a\n");
        if !is_on_disk {
            fixture.editor.open(&path, "a\n");
        }
        let edit = json!({"path": path, "old_string": "a", "new_string": "b"});
        answer(fixture.call("edit_text_file", edit));
        assert_eq!(fixture.disk("f.txt").as_deref(), Some("typed\nb\n"));
    }
    let editor = ScriptedEditor::new(Habits { saves: true, ..Habits::default() });
    let fixture = EditorFixture::new(editor.with(Verb::Read, 2, Accident::Types("typed\n")));
    fixture.put("f.txt", "a\n");
    let hash = recto_text::Digest::of(b"a\n").to_string();
    let append = json!({"path": "f.txt", "hash": hash, "content": "b\n"});
    let actual = fixture.call("text_append", append);
    assert!(matches!(actual, Actual::Error { code: -32013, .. }), "{actual:?}");
    assert_eq!(fixture.editor.count(Verb::Write), 0);
}

#[test]
fn the_editor_gets_paths_with_its_own_spelling_of_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap().join("real");
    let link = folder.path().canonicalize().unwrap().join("link");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    std::fs::write(real.join("f.txt"), "disk\n").unwrap();
    std::os::unix::fs::symlink("f.txt", real.join("alias")).unwrap();
    let local = LocalStore::open(Options {
        roots: vec![link.clone()],
        hidden: HiddenPaths::default(),
        allows_git_writes: false,
        is_durable: false,
    });
    let editor = ScriptedEditor::new(Habits::default());
    editor.open(&link.join("f.txt"), "buffer\n");
    let workspace = Workspace::new(Arc::new(local.unwrap()), Arc::new(editor));
    for path in [link.join("f.txt"), real.join("f.txt"), link.join("alias"), real.join("alias")] {
        let path = AbsPath::parse(path.to_str().unwrap().into()).unwrap();
        let context = Context::default();
        let Ok(Text::Whole(document)) = workspace.text(&path, &context) else { panic!("{path}") };
        assert_eq!(document.text(), "buffer\n", "{path}");
    }
}
