//! Where every tool reads and writes, by the editor's capabilities and failures.

use expect_test::expect;
use recto_store::editor::EditorError;
use serde_json::{Value, json};

use crate::client::Actual;
use crate::scripted_editor::{Accident, EditorFixture, Habits, ScriptedEditor, Verb};

const DISK: &str = "name,n\ndisk,1\n";
const BUFFER: &str = "name,n\nbuffer,1\n";

fn refused() -> EditorError {
    EditorError::Refused { code: -32603, message: "declined".into() }
}

/// Editors with unsaved text.
fn editors() -> Vec<(String, ScriptedEditor)> {
    let plain = || ScriptedEditor::new(Habits::default());
    let habits = |lacks_read, lacks_write| {
        ScriptedEditor::new(Habits { lacks_read, lacks_write, ..Habits::default() })
    };
    let mut editors = vec![
        ("does all".to_string(), plain()),
        ("cannot read".to_string(), habits(true, false)),
        ("cannot write".to_string(), habits(false, true)),
    ];
    for verb in [Verb::Read, Verb::Write] {
        for error in [
            refused(),
            EditorError::NoSuchFile,
            EditorError::Unsupported,
            EditorError::NotSent,
            EditorError::Unanswered,
            EditorError::Silent,
            EditorError::Cancelled,
        ] {
            let name = match &error {
                EditorError::Refused { .. } => "Refused".to_string(),
                error => format!("{error:?}"),
            };
            let editor = plain().with(verb, 0, Accident::Fails(error));
            editors.push((format!("{verb:?} {name}"), editor));
        }
    }
    editors
}

/// Calls and their files.
fn calls(fixture: &EditorFixture) -> Vec<(&'static str, &'static str, Value)> {
    let (old, new) = (fixture.path("f.csv"), fixture.path("new.txt"));
    vec![
        ("read_text_file", "f.csv", json!({"path": old})),
        ("ReadLines", "f.csv", json!({"file_path": "f.csv", "match": ","})),
        ("ReadLines", "f.csv", json!({"file_path": "*.csv"})),
        ("ReadAsTable", "f.csv", json!({"file_path": "f.csv"})),
        (
            "edit_text_file",
            "f.csv",
            json!({"path": old, "old_string": "name", "new_string": "title"}),
        ),
        ("write_text_file", "f.csv", json!({"path": old, "content": "written\n"})),
        ("write_text_file", "new.txt", json!({"path": new, "content": "written\n"})),
        ("file_create", "sub/new.txt", json!({"path": "sub/new.txt", "content": "created\n"})),
        ("file_remove", "f.csv", json!({"path": old, "hash": ""})),
    ]
}

/// Summarises the result: what was read, what was changed, or the code; + marks notes.
fn outcome(fixture: &EditorFixture, tool: &str, name: &str, mut arguments: Value) -> String {
    if tool == "file_remove" {
        let hash = match fixture.call("text_read", json!({"path": name})) {
            Actual::Answer { structured, .. } => structured["hash"].clone(),
            Actual::Error { .. } => recto_text::Digest::of(DISK.as_bytes()).to_string().into(),
        };
        arguments["hash"] = hash;
    }
    let before = (fixture.buffer(name), fixture.disk(name));
    let actual = fixture.call(tool, arguments);
    let after = (fixture.buffer(name), fixture.disk(name));
    let mut words = Vec::new();
    if after.0 != before.0 {
        words.push("buffer".to_string());
    }
    if after.1 != before.1 {
        words.push(if after.1.is_some() { "disk".into() } else { "gone".into() });
    }
    assert!(words.len() <= 1, "{tool}: written twice");
    assert!(fixture.editor.count(Verb::Write) <= 1, "{tool}: sent twice");
    let leftovers = std::fs::read_dir(fixture.path("")).unwrap().flatten();
    let n_folders = leftovers.filter(|entry| entry.file_type().unwrap().is_dir()).count();
    let has_notes = match &actual {
        Actual::Error { code, .. } => {
            words.push(code.to_string());
            assert!(n_folders == 0 || *code == -32018, "{tool}: leaves a folder behind");
            false
        }
        Actual::Answer { structured, text } => {
            let read =
                text.last().is_some_and(|block| block.contains("buffer")).then_some("buffer");
            if words.is_empty() {
                words.push(read.unwrap_or("disk").to_string());
            }
            structured.get("notes").is_some()
        }
    };
    words.join(" ") + if has_notes { "+" } else { "" }
}

#[test]
fn each_call_uses_the_editor_or_the_disk_as_the_table_says() {
    let mut table = String::new();
    let heads = ["read", "lines", "glob", "table", "edit", "write", "new", "create", "remove"];
    let mut line = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:9}")).collect();
        table.push_str(&format!("{name:18}{}\n", cells.trim_end()));
    };
    line("", heads.map(String::from).to_vec());
    let n_editors = editors().len();
    for idx in 0..n_editors {
        let (mut name, mut cells) = (String::new(), Vec::new());
        for column in 0..heads.len() {
            let (editor_name, editor) = editors().swap_remove(idx);
            name = editor_name;
            let fixture = EditorFixture::new(editor);
            let path = fixture.put("f.csv", DISK);
            fixture.editor.open(&path, BUFFER);
            let (tool, file, arguments) = calls(&fixture).swap_remove(column);
            cells.push(outcome(&fixture, tool, file, arguments));
        }
        line(&name, cells);
    }
    expect![[r#"
                          read     lines    glob     table    edit     write    new      create   remove
        does all          buffer+  buffer+  disk+    buffer+  buffer+  buffer+  buffer+  buffer+  -32017
        cannot read       disk     disk     disk     disk     disk     disk     disk     disk     gone
        cannot write      buffer+  buffer+  disk+    buffer+  -32017   -32017   disk     disk     -32017
        Read Refused      -32002   -32002   disk+    -32002   -32002   -32002   -32002   -32002   -32002
        Read NoSuchFile   disk     disk     disk+    disk     disk     disk     buffer+  buffer+  gone
        Read Unsupported  disk     disk     disk+    disk     disk     disk     disk     disk     gone
        Read NotSent      disk     disk     disk+    disk     disk     disk     disk     disk     gone
        Read Unanswered   disk     disk     disk+    disk     disk     disk     disk     disk     gone
        Read Silent       -32017   -32017   disk+    -32017   -32017   -32017   -32017   -32017   -32017
        Read Cancelled    -32800   -32800   disk+    -32800   -32800   -32800   -32800   -32800   -32800
        Write Refused     buffer+  buffer+  disk+    buffer+  -32002   -32002   -32002   -32002   -32017
        Write NoSuchFile  buffer+  buffer+  disk+    buffer+  -32002   -32002   disk     disk     -32017
        Write Unsupported buffer+  buffer+  disk+    buffer+  -32017   -32017   disk     disk     -32017
        Write NotSent     buffer+  buffer+  disk+    buffer+  disk+    disk+    disk     disk     -32017
        Write Unanswered  buffer+  buffer+  disk+    buffer+  -32018   -32018   -32018   -32018   -32017
        Write Silent      buffer+  buffer+  disk+    buffer+  -32017   -32017   -32017   -32017   -32017
        Write Cancelled   buffer+  buffer+  disk+    buffer+  -32800   -32800   -32800   -32800   -32017
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_refused_write_reports_the_editors_message() {
    let editor = ScriptedEditor::new(Habits::default());
    let fixture = EditorFixture::new(editor.with(Verb::Write, 0, Accident::Fails(refused())));
    let path = fixture.put("f.txt", "a\n");
    let actual = fixture.call("write_text_file", json!({"path": path, "content": "b\n"}));
    let Actual::Error { code, message, hint } = actual else { panic!("{actual:?}") };
    assert_eq!((code, message), (-32002, format!("Permission denied: {}", path.display())));
    assert_eq!(hint.as_deref(), Some("The editor reported: declined"));
    assert_eq!(fixture.disk("f.txt").as_deref(), Some("a\n"));
}
