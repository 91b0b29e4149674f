//! The cards of calls.

#![allow(clippy::unwrap_used)]

mod sizes;
mod titles;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use recto_store::Note;
use recto_text::Document;
use serde_json::json;

use super::*;
use recto_tools::tools::{self, FileChange};

/// Appends a message to the file named by `RECTO_EVENTS`, one per line, so that another program can
/// validate them against the published schema.
pub(in crate::acp) fn record(message: &Value) {
    let Ok(path) = std::env::var("RECTO_EVENTS") else { return };
    let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{message}\n").as_bytes()).unwrap();
}

fn record_update(update: &Value) {
    let params = json!({"sessionId": "s", "update": update});
    record(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

/// Applies `show` to a call in the directory `/p`.
pub(in crate::acp) fn with_call<T>(
    tool: &str,
    arguments: Value,
    show: impl Fn(&Witnessed<'_>) -> T,
) -> T {
    let tool = tools::find(tool).unwrap();
    let Value::Object(arguments) = arguments else { panic!("{arguments}") };
    show(&Witnessed {
        tool,
        arguments: &arguments,
        id: None,
        root: Path::new("/p"),
        served: &Served::all(),
    })
}

fn begin(tool: &str, arguments: Value) -> Value {
    let update = with_call(tool, arguments, |call| started("c", call));
    record_update(&update);
    update
}

fn end(tool: &str, arguments: Value, result: Result<Answer>) -> Value {
    let update = with_call(tool, arguments, |call| finished("c", call, &result));
    record_update(&update);
    update
}

fn text(text: &str) -> Option<Arc<Document>> {
    Some(Arc::new(Document::new(text).unwrap()))
}

fn answer(structured: Value) -> Answer {
    Answer::new("", structured)
}

fn changed(
    structured: Value,
    before: Option<Arc<Document>>,
    after: Option<Arc<Document>>,
) -> Result<Answer> {
    let change = FileChange { path: "/p/a.txt".into(), moved_from: None, before, after };
    Ok(answer(structured).with_change(Some(change)))
}

fn check(update: &Value, expected: Expect) {
    expected.assert_eq(&format!("{update:#}\n"));
}

fn locations(update: &Value) -> String {
    let location = |location: &Value| match location["line"].as_u64() {
        Some(line) => format!("{}:{line}", location["path"].as_str().unwrap()),
        None => location["path"].as_str().unwrap().to_string(),
    };
    update["locations"].as_array().unwrap().iter().map(location).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_call_before_it_begins() {
    let arguments = json!({"path": "/p/src/main.rs", "line": 10, "limit": 10});
    check(
        &begin("read_text_file", arguments),
        expect![[r#"
        {
          "sessionUpdate": "tool_call",
          "toolCallId": "c",
          "title": "Read src/main.rs (lines 10–19)",
          "kind": "read",
          "name": "read_text_file",
          "locations": [
            {
              "path": "/p/src/main.rs",
              "line": 10
            }
          ],
          "status": "pending",
          "rawInput": {
            "path": "/p/src/main.rs",
            "line": 10,
            "limit": 10
          }
        }
    "#]],
    );
}

#[test]
fn a_read() {
    let arguments = json!({"path": "/p/a.txt"});
    let result = answer(json!({"content": "a\n", "_meta": {"total_lines": 1}}));
    check(
        &end("read_text_file", arguments, Ok(result)),
        expect![[r#"
        {
          "sessionUpdate": "tool_call_update",
          "toolCallId": "c",
          "title": "Read a.txt",
          "kind": "read",
          "name": "read_text_file",
          "locations": [
            {
              "path": "/p/a.txt"
            }
          ],
          "status": "completed",
          "content": [],
          "rawOutput": {
            "content": "a\n",
            "_meta": {
              "total_lines": 1
            }
          }
        }
    "#]],
    );
}

#[test]
fn a_change() {
    let arguments = json!({"path": "/p/a.txt", "edits": [{}, {}]});
    let result = changed(json!({"success": true}), text("a\nb\n"), text("a\nc\n"));
    check(
        &end("multi_edit_text_file", arguments, result),
        expect![[r#"
        {
          "sessionUpdate": "tool_call_update",
          "toolCallId": "c",
          "title": "Edit a.txt (2 edits)",
          "kind": "edit",
          "name": "multi_edit_text_file",
          "locations": [
            {
              "path": "/p/a.txt",
              "line": 2
            }
          ],
          "status": "completed",
          "content": [
            {
              "type": "diff",
              "path": "/p/a.txt",
              "oldText": "a\nb\n",
              "newText": "a\nc\n"
            }
          ],
          "rawOutput": {
            "success": true
          }
        }
    "#]],
    );
}

#[test]
fn a_new_file_has_no_old_text() {
    let arguments = json!({"path": "/p/a.txt", "content": "x\n"});
    let result = changed(json!({"created": true}), None, text("x\n"));
    check(
        &end("write_text_file", arguments, result),
        expect![[r#"
        {
          "sessionUpdate": "tool_call_update",
          "toolCallId": "c",
          "title": "Create a.txt",
          "kind": "edit",
          "name": "write_text_file",
          "locations": [
            {
              "path": "/p/a.txt"
            }
          ],
          "status": "completed",
          "content": [
            {
              "type": "diff",
              "path": "/p/a.txt",
              "newText": "x\n"
            }
          ],
          "rawOutput": {
            "created": true
          }
        }
    "#]],
    );
}

#[test]
fn a_refusal() {
    let arguments = json!({"path": "a.txt"});
    let error = StoreError::RelativePath { path: "a ``` b.txt".into(), root: None }.into();
    check(
        &end("read_text_file", arguments, Err(error)),
        expect![[r#"
        {
          "sessionUpdate": "tool_call_update",
          "toolCallId": "c",
          "title": "Read a.txt",
          "kind": "read",
          "name": "read_text_file",
          "locations": [
            {
              "path": "/p/a.txt"
            }
          ],
          "status": "failed",
          "content": [
            {
              "type": "content",
              "content": {
                "type": "text",
                "text": "````\nPath must be absolute: a ``` b.txt\n\nPass a path that starts with /.\n````"
              }
            }
          ],
          "rawOutput": {
            "error": {
              "code": -32600,
              "message": "Path must be absolute: a ``` b.txt",
              "hint": "Pass a path that starts with /."
            }
          }
        }
    "#]],
    );
}

/// Formats the content of a card, one block per line.
fn blocks(update: &Value) -> String {
    let mut shown = String::new();
    for block in update["content"].as_array().unwrap() {
        let line = match block["type"].as_str().unwrap() {
            "content" => block["content"]["text"].to_string(),
            _ => {
                let meta = block.get("_meta").map(Value::to_string).unwrap_or_default();
                format!("{} → {} {meta}", block["oldText"], block["newText"])
            }
        };
        shown.push_str(&format!("{line}\n"));
    }
    shown
}

#[test]
fn other_outcomes() {
    let file = || json!({"path": "/p/a.txt"});
    let mut table = String::new();
    for (name, tool, result) in [
        ("removed", "file_remove", changed(json!({"removed": true}), text("a\n"), None)),
        ("removed binary", "file_remove", changed(json!({"removed": true}), None, None)),
        ("created", "file_create", changed(json!({"hash": "x"}), None, text(""))),
        ("over binary", "write_text_file", changed(json!({"created": false}), None, text("a"))),
        ("unchanged", "edit_text_file", Ok(answer(json!({"unchanged": true})))),
        ("unchanged read", "text_read", Ok(answer(json!({"unchanged": true})))),
        ("dry run", "edit_text_file", Ok(answer(json!({"dry_run": true, "diff": "-a\n+b\n"})))),
        ("notes", "text_read", Ok(answer(json!({})).with_notes(&[Note::Unsaved, Note::Grew]))),
    ] {
        let update = end(tool, file(), result);
        table.push_str(&format!("{name}: {}\n{}", locations(&update), blocks(&update)));
    }
    expect![[r#"
        removed: /p/a.txt
        "a\n" → "" 
        removed binary: /p/a.txt
        "The file is not text, so there is no diff to show."
        created: /p/a.txt
        null → "" 
        over binary: /p/a.txt
        "" → "a" 
        "The previous content is not text and is not shown."
        unchanged: /p/a.txt
        "No change: the file already contains this text."
        unchanged read: /p/a.txt
        dry run: /p/a.txt
        "Dry run: nothing was written."
        "```diff\n-a\n+b\n```"
        notes: /p/a.txt
        "```\nthe editor has unsaved changes; this is the editor's text, and the file on disk differs\nthe file grew while it was read; this is its earlier content\n```"
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_search_points_to_its_hits() {
    let row = |line, path: &str| json!({"line_number": line, "content": "x", "file_path": path});
    let rows = json!({"rows": [row(3, "/p/a"), row(5, "/p/a"), row(1, "/p/b")]});
    let many = json!({"file_path": "**", "match": "x"});
    assert_eq!(locations(&end("ReadLines", many, Ok(answer(rows)))), "/p/a:3 /p/b:1");
    let one = || answer(json!({"rows": [{"line_number": 7, "content": "x"}]}));
    let update = end("ReadLines", json!({"file_path": "a", "match": "x"}), Ok(one()));
    assert_eq!(locations(&update), "/p/a:7");
    let update = end("ReadLines", json!({"file_path": "a", "commit": "HEAD"}), Ok(one()));
    assert_eq!(locations(&update), "/p/a");
}

/// Any JSON, as an agent may send it.
pub(in crate::acp) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        ("[a\u{1}ä/*]", 0..20_000usize).prop_map(|(c, n)| c.repeat(n).into()),
        (0..3000usize).prop_map(|n| vec![json!({"old_string": "a"}); n].into()),
        Just(json!("/p/a.txt")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    let names = tools::ALL.iter().flat_map(|tool| tool.params).map(|param| param.name.to_string());
    prop_oneof![
        8 => prop::sample::select(names.collect::<Vec<_>>()),
        1 => (0..5000usize).prop_map(|n| "\u{1}".repeat(n)),
    ]
}

pub(in crate::acp) fn any_arguments() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((name(), any_json()), 0..6)
        .prop_map(|members| members.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_arguments_give_bounded_updates(
        tool in 0..tools::ALL.len(),
        arguments in any_arguments(),
        structured in any_arguments(),
    ) {
        let (tool, arguments) = (tools::ALL[tool], Value::Object(arguments));
        let update = begin(tool.name, arguments.clone());
        let title = update["title"].as_str().unwrap();
        prop_assert!(title.chars().count() <= MAX_TITLE && !title.chars().any(char::is_control));
        prop_assert!(n_bytes(&update["rawInput"]) <= MAX_BYTES);
        let error = Error::UnknownArgument { name: arguments.to_string(), known: String::new() };
        for result in [Ok(answer(Value::Object(structured))), Err(error)] {
            let update = end(tool.name, arguments.clone(), result);
            prop_assert!(n_bytes(&update["rawOutput"]) <= MAX_BYTES);
            prop_assert!(n_bytes(&update) <= 8 * MAX_BYTES);
        }
        let shown = with_call(tool.name, arguments, preview);
        prop_assert!(shown.len() <= content::MAX_DIFFS + 1);
    }
}
