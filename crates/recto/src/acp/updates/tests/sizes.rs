//! Large files and long arguments, previews, and the format of version 2.

use expect_test::expect;
use serde_json::json;

use super::*;

fn large(n_lines: usize, changes: &[usize]) -> String {
    let line = |index| match changes.contains(&index) {
        true => format!("line {index} is new\n"),
        false => format!("line {index} {}\n", "x".repeat(100)),
    };
    (1..=n_lines).map(line).collect()
}

#[test]
fn of_a_large_file_the_changed_lines_are_shown() {
    let (before, after) = (large(20_000, &[]), large(20_000, &[2, 10_000, 10_005, 20_000]));
    let arguments = json!({"path": "/p/a.txt"});
    let result = changed(json!({}), text(&before), text(&after));
    let update = end("edit_text_file", arguments, result);
    assert_eq!(locations(&update), "/p/a.txt:2");
    expect![[r#"
        "line 1 …\nline 2 …\nline 3 …\nline 4 …\nline 5 …\n" → "line 1 …\nline 2 is new\nline 3 …\nline 4 …\nline 5 …\n" {"recto":{"oldLine":1,"newLine":1}}
        "line 9997 …\nline 9998 …\nline 9999 …\nline 10000 …\nline 10001 …\nline 10002 …\nline 10003 …\nline 10004 …\nline 10005 …\nline 10006 …\nline 10007 …\nline 10008 …\n" → "line 9997 …\nline 9998 …\nline 9999 …\nline 10000 is new\nline 10001 …\nline 10002 …\nline 10003 …\nline 10004 …\nline 10005 is new\nline 10006 …\nline 10007 …\nline 10008 …\n" {"recto":{"oldLine":9997,"newLine":9997}}
        "line 19997 …\nline 19998 …\nline 19999 …\nline 20000 …\n" → "line 19997 …\nline 19998 …\nline 19999 …\nline 20000 is new\n" {"recto":{"oldLine":19997,"newLine":19997}}
        "The file is too large to show whole; only the changed lines are shown, with 3 lines of context."
    "#]]
    .assert_eq(&blocks(&update).replace(&"x".repeat(100), "…"));
}

#[test]
fn large_content_is_described_instead_of_shown() {
    let many: Vec<usize> = (1..100).map(|index| index * 100).collect();
    let rewritten = large(20_000, &[]).replace('x', "y");
    for (before, after, n_blocks, note) in [
        (large(20_000, &[]), large(20_000, &many), 33, "67 changes are not shown."),
        (large(20_000, &[]), rewritten, 1, "1 change is not shown."),
    ] {
        let result = changed(json!({}), text(&before), text(&after));
        let update = end("edit_text_file", json!({"path": "/p/a.txt"}), result);
        let blocks = update["content"].as_array().unwrap();
        let said = blocks[blocks.len() - 1]["content"]["text"].as_str().unwrap();
        assert_eq!(blocks.len(), n_blocks);
        assert!(said.ends_with(note), "{said}");
    }
    let result = changed(json!({}), None, text(&large(20_000, &[])));
    let update = end("file_create", json!({"path": "a.txt"}), result);
    assert_eq!(blocks(&update), "\"Too large to show: 20000 lines, 2228894 bytes.\"\n");
}

#[test]
fn the_first_changed_line() {
    for (before, after, line) in [
        ("a\nb\n", "a\nc\n", 2),
        ("", "a\n", 1),
        ("a\n", "", 1),
        ("a\nb\n", "a\n", 1),
        ("a\n", "a\nb\n", 2),
        ("ä\n", "ö\n", 1),
    ] {
        assert_eq!(content::first_changed_line(before, after), line, "{before:?} {after:?}");
    }
}

#[test]
fn long_input_is_cut_and_its_path_is_not() {
    let path = format!("/p/{}", "d/".repeat(1000));
    let edit = |text: &str| json!({"old_string": text.repeat(3000), "new_string": "b"});
    let arguments = json!({"edits": [edit("a"), edit("ä")], "path": path});
    let update = begin("multi_edit_text_file", arguments);
    assert_eq!(update["rawInput"]["path"], path);
    let old = update["rawInput"]["edits"][1]["old_string"].as_str().unwrap();
    assert!(old.starts_with("ää") && old.ends_with("ä… (+952 characters)"), "{old}");
    assert!(n_bytes(&update["rawInput"]) <= MAX_BYTES);

    let edits: Vec<Value> = (0..5000).map(|_| edit("a")).collect();
    let update = begin("multi_edit_text_file", json!({"path": "/p/a", "edits": edits}));
    let shown = update["rawInput"]["edits"].as_array().unwrap();
    assert_eq!(shown[shown.len() - 1], format!("… (+{} items)", 5001 - shown.len()));
    assert!(n_bytes(&update["rawInput"]) <= MAX_BYTES);
}

#[test]
fn a_preview_is_made_from_the_arguments() {
    let mut table = String::new();
    for (tool, arguments) in [
        ("write_text_file", json!({"path": "/p/a", "content": "\u{feff}a\n"})),
        ("file_create", json!({"path": "a", "content": "a\n"})),
        ("file_create", json!({"path": "a", "content": "AA==", "encoding": "base64"})),
        ("edit_text_file", json!({"path": "/p/a", "old_string": "a", "new_string": "b"})),
        ("edit_text_file", json!({"path": "/p/a", "old_string": "a"})),
        (
            "multi_edit_text_file",
            json!({"path": "/p/a", "edits": [{"old_string": "a", "new_string": "b"}, {}, 5]}),
        ),
        ("text_replace", json!({"path": "a", "old": "a", "new": "b"})),
        ("text_insert", json!({"path": "a", "line": 2, "anchor": "a", "content": "b"})),
        ("text_append", json!({"path": "a", "content": "b\n"})),
        ("file_remove", json!({"path": "a"})),
        ("read_text_file", json!({"path": "/p/a"})),
        ("write_text_file", json!({"path": "/p/a", "content": "a".repeat(MAX_SHOWN_TEXT + 1)})),
    ] {
        let content = with_call(tool, arguments, preview);
        let update = json!({"content": content});
        table.push_str(&format!("{tool}\n{}", blocks(&update)));
    }
    expect![[r#"
        write_text_file
        null → "a\n" 
        "The current content of the file, if it exists, is not shown."
        file_create
        null → "a\n" 
        file_create
        edit_text_file
        "a" → "b" {"recto":{"excerpt":true}}
        edit_text_file
        multi_edit_text_file
        "a" → "b" {"recto":{"excerpt":true}}
        text_replace
        "a" → "b" {"recto":{"excerpt":true}}
        text_insert
        "a\n" → "b\na\n" {"recto":{"excerpt":true}}
        text_append
        "" → "b\n" {"recto":{"excerpt":true}}
        file_remove
        read_text_file
        write_text_file
        "Too large to show: 1 line, 1048577 bytes."
        "The current content of the file, if it exists, is not shown."
    "#]]
    .assert_eq(&table);
}
