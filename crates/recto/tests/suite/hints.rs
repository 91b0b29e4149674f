//! Hints of errors: the call that a hint suggests works.

use std::path::Path;
use std::sync::Arc;

use recto_store::MemoryStore;
use recto_store::memory::Node;
use recto_text::Digest;
use recto_tools::call::{Call, Calls};
use recto_tools::error::Hint;
use recto_tools::tools::Answer;
use recto_tools::{Error, Served};
use serde_json::{Value, json};

use crate::in_process::in_memory;

/// One process with one file.
struct Process {
    store: Arc<MemoryStore>,
    calls: Calls,
}

const FILE: &str = "/test/f.txt";

impl Process {
    fn with(text: &str) -> Process {
        let root = Path::new("/test");
        let nodes = [(FILE.into(), Node::File(text.into()))].into();
        let (calls, store) = in_memory(root, nodes, 1 << 20);
        Process { store, calls }
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<Answer, Error> {
        let Value::Object(mut arguments) = arguments.clone() else { unreachable!() };
        arguments.insert("path".into(), "f.txt".into());
        self.calls.call(self.calls.served().find(tool).unwrap(), arguments, &Call::default())
    }

    fn text(&self) -> String {
        match self.store.nodes().remove(Path::new(FILE)) {
            Some(Node::File(bytes)) => String::from_utf8(bytes).unwrap(),
            _ => unreachable!(),
        }
    }
}

fn hash(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

fn hint(error: &Error) -> Hint {
    error.hint(&Served::all()).unwrap()
}

/// Makes a call that fails, then the one that the error suggests.
fn check(
    text: &str,
    tool: &str,
    mut arguments: Value,
    propose: impl Fn(&Error, &mut Value),
    after: &str,
) {
    let process = Process::with(text);
    let error = process.call(tool, &arguments).unwrap_err();
    assert_eq!(process.text(), text, "refused");
    propose(&error, &mut arguments);
    process
        .call(tool, &arguments)
        .unwrap_or_else(|again| panic!("{error}: {:?}: {again}", hint(&error)));
    assert_eq!(process.text(), after, "{error}");
}

/// Makes the call that the hint suggests.
fn take_next(error: &Error, arguments: &mut Value) {
    let next = hint(error).next.unwrap();
    assert_eq!(next.tool, None);
    for (name, value) in next.arguments {
        arguments[name] = value;
    }
}

#[test]
fn the_call_that_a_hint_proposes_works() {
    let text = "a\nb\nc\nd\n";
    let replace = |lines: Value, old: &str| json!({"hash": hash(text), "lines": lines, "old": old, "new": "x"});
    // The text is elsewhere.
    check(text, "text_replace", replace(json!([1, 2]), "c"), take_next, "a\nb\nx\nd\n");
    check(text, "text_replace", replace(json!([3, 5]), "a\nb"), take_next, "x\nc\nd\n");
    // The range is too short, empty or reversed.
    check(text, "text_replace", replace(json!([2, 3]), "b\nc"), take_next, "a\nx\nd\n");
    check(text, "text_replace", replace(json!([2, 2]), "b"), take_next, "a\nx\nc\nd\n");
    check(text, "text_replace", replace(json!([3, 2]), "b\nc"), take_next, "a\nx\nd\n");
    // The end is past the end of the file.
    check(text, "text_replace", replace(json!([2, 9]), "d"), take_next, "a\nb\nc\nx\n");
    // The text occurs more than once.
    let twice = json!({"hash": hash("a\na\n"), "lines": [1, 3], "old": "a", "new": "x"});
    check("a\na\n", "text_replace", twice, take_next, "x\na\n");
    // The anchor is another line.
    let insert = json!({"hash": hash(text), "line": 1, "anchor": "c", "content": "x"});
    check(text, "text_insert", insert, take_next, "a\nb\nx\nc\nd\n");
    // Only part of the line was given.
    let part = json!({"hash": hash("\tlet a;\n"), "lines": [1, 2], "old": "let", "new": "x"});
    let take_line = |error: &Error, arguments: &mut Value| {
        let hint = hint(error).text;
        arguments["old"] = serde_json::from_str(hint.rsplit(": ").next().unwrap()).unwrap();
    };
    check("\tlet a;\n", "text_replace", part, take_line, "x\n");
    // The hash is stale, but the lines are unchanged.
    let stale = json!({"hash": "0123456789ab", "lines": [2, 3], "old": "b", "new": "x"});
    check(text, "text_replace", stale, take_next, "a\nx\nc\nd\n");
    let stale = json!({"hash": "0123456789ab", "line": 2, "anchor": "b", "content": "x"});
    check(text, "text_insert", stale, take_next, "a\nx\nb\nc\nd\n");
    // Past the end: the hint names the tool that appends.
    let process = Process::with(text);
    let insert = json!({"hash": hash(text), "line": 5, "anchor": "", "content": "e"});
    let error = process.call("text_insert", &insert).unwrap_err();
    assert!(hint(&error).text.contains("text_append"), "{error}");
    process.call("text_append", &json!({"hash": hash(text), "content": "e\n"})).unwrap();
    assert_eq!(process.text(), "a\nb\nc\nd\ne\n");
}

/// Reads a file, changes it with `change` and makes a call with the old hash, then the call that the
/// hint suggests.
fn check_stale(tool: &str, arguments: Value, change: (&str, &str), after: Option<&str>) {
    let process = Process::with("a\nb\nc\nb\nd\n");
    let seen = process.call("text_read", &json!({})).unwrap().structured["hash"].clone();
    let mut arguments = arguments;
    let is_text = tool.starts_with("text");
    arguments[if is_text { "hash" } else { "expected_hash" }] = seen;
    let call = |tool: &str, mut arguments: Value| {
        arguments["path"] = FILE.into();
        let Value::Object(arguments) = arguments else { unreachable!() };
        let tool = process.calls.served().find(tool).unwrap();
        process.calls.call(tool, arguments, &Call::default())
    };
    call("edit_text_file", json!({"old_string": change.0, "new_string": change.1})).unwrap();
    let error = call(tool, arguments.clone()).unwrap_err();
    assert_eq!(error.code(), -32013);
    match after {
        None => assert_eq!(hint(&error).next, None, "{error}: {:?}", hint(&error)),
        Some(after) => {
            take_next(&error, &mut arguments);
            call(tool, arguments).unwrap();
            assert_eq!(process.text(), after, "{:?}", hint(&error));
        }
    }
}

#[test]
fn a_stale_hash_with_unchanged_lines_is_retried_without_a_read() {
    let replace = |lines: Value, old: &str| json!({"lines": lines, "old": old, "new": "x"});
    let insert = |line: i64, anchor: &str| json!({"line": line, "anchor": anchor, "content": "x"});
    let top = ("a\n", "1\n2\na\n");
    // The lines moved; the second b is meant.
    check_stale("text_replace", replace(json!([4, 5]), "b"), top, Some("1\n2\na\nb\nc\nx\nd\n"));
    check_stale("text_replace", replace(json!([-2, -1]), "b"), top, Some("1\n2\na\nb\nc\nx\nd\n"));
    check_stale("text_replace", replace(json!([1, 3]), "a\nb"), ("d\n", ""), Some("x\nc\nb\n"));
    check_stale("text_insert", insert(4, "b"), top, Some("1\n2\na\nb\nc\nx\nb\nd\n"));
    check_stale("text_insert", insert(5, "d"), ("a\nb\n", ""), Some("c\nb\nx\nd\n"));
    check_stale("text_append", json!({"content": "x"}), top, Some("1\n2\na\nb\nc\nb\nd\nx\n"));
    let edit = json!({"old_string": "c", "new_string": "x"});
    check_stale("edit_text_file", edit.clone(), top, Some("1\n2\na\nb\nx\nb\nd\n"));
    let edits = json!({"edits": [edit, {"old_string": "d", "new_string": "y"}]});
    check_stale("multi_edit_text_file", edits, top, Some("1\n2\na\nb\nx\nb\ny\n"));
    // The lines changed, or other lines have their text now.
    check_stale("text_replace", replace(json!([1, 2]), "a"), ("a\n", "A\n"), None);
    check_stale("text_replace", replace(json!([3, 4]), "c"), ("c\n", "C\n"), None);
    check_stale("text_insert", insert(5, "d"), ("d\n", "D\n"), None);
    check_stale("text_append", json!({"content": "x"}), ("d\n", "D\n"), None);
    check_stale("text_append", json!({"content": "x"}), ("d\n", "d\ne\n"), None);
    let edit = json!({"old_string": "a", "new_string": "x"});
    check_stale("edit_text_file", edit, ("a\n", "A\n"), None);
}

#[test]
fn a_stale_hash_of_a_remembered_version_reports_the_changed_lines() {
    let process = Process::with("a\nb\nc\nd\n");
    let read = process.call("text_read", &json!({})).unwrap();
    let seen = read.structured["hash"].clone();
    let append = json!({"hash": seen, "content": "e\n"});
    process.call("text_append", &append).unwrap();
    let edit = json!({"path": FILE, "old_string": "b\n", "new_string": "B\n"});
    let Value::Object(edit) = edit else { unreachable!() };
    process
        .calls
        .call(process.calls.served().find("edit_text_file").unwrap(), edit, &Call::default())
        .unwrap();
    let error = process.call("text_append", &append).unwrap_err();
    assert_eq!(error.code(), -32013);
    assert!(
        hint(&error).text.starts_with("Changed since then: line 2, line 5."),
        "{:?}",
        hint(&error)
    );
}

#[test]
fn a_read_with_since_returns_only_changed_lines() {
    let text: String = (1..=2000).map(|n| format!("line {n}\n")).collect();
    let process = Process::with(&text);
    let seen =
        process.call("text_read", &json!({"lines": [1, 20]})).unwrap().structured["hash"].clone();
    let unchanged = process.call("text_read", &json!({"since": seen})).unwrap();
    assert_eq!(unchanged.structured["unchanged"], true);
    let n_chars: usize = unchanged.blocks().map(|block| block.chars().count()).sum();
    assert!(n_chars / 4 < 40, "{}", unchanged.head);
    let structured = Value::Object(unchanged.structured).to_string();
    assert!(structured.len() / 4 < 40, "{structured}");

    let change = json!({"hash": seen, "lines": [1000, 1002], "old": "line 1000\nline 1001", "new": "one line"});
    process.call("text_replace", &change).unwrap();
    let changed = process.call("text_read", &json!({"since": seen})).unwrap();
    assert_eq!(
        changed.structured["changes"],
        json!([{"start": 1000, "end": 1001, "content": "one line\n", "removed": 2}])
    );
    assert_eq!(changed.structured["total_lines"], 1999);
    assert_eq!(changed.content, "changed, formerly lines 1000-1001, now line 1000:\none line\n");
}

#[test]
fn a_read_with_since_and_lines_returns_changes_that_touch_the_lines() {
    let text: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let process = Process::with(&text);
    // A search remembers the version, too.
    let (calls, file) = (&process.calls, json!({"file_path": FILE, "match": "line 9"}));
    let search = calls.served().find("ReadLines").unwrap();
    let found = calls.call(search, file.as_object().unwrap().clone(), &Call::default()).unwrap();
    let seen = found.structured["hash"].clone();
    let mut hash = seen.clone();
    for (lines, old, new) in [([7, 8], "line 7", ""), ([3, 4], "line 3", "three")] {
        let change = json!({"hash": hash, "lines": lines, "old": old, "new": new});
        hash = process.call("text_replace", &change).unwrap().structured["hash"].clone();
    }
    let three = json!({"start": 3, "end": 4, "content": "three\n", "removed": 1});
    let seven = json!({"start": 7, "end": 7, "content": "", "removed": 1});
    for (lines, changes) in [
        ([1, 3], vec![]),
        ([1, 4], vec![&three]),
        ([4, 6], vec![]),
        ([5, 7], vec![&seven]),
        ([7, 8], vec![&seven]),
        ([8, 9], vec![]),
        ([0, 0], vec![&three, &seven]),
    ] {
        let changed = process.call("text_read", &json!({"since": seen, "lines": lines})).unwrap();
        assert_eq!(changed.structured["changes"], json!(changes), "{lines:?}");
        let is_unchanged = changed.head.contains("unchanged");
        assert_eq!(is_unchanged, changes.is_empty(), "{}", changed.head);
    }
}

#[test]
fn a_created_file_is_a_remembered_version() {
    let process = Process::with("old\n");
    let old = json!({"hash": hash("old\n")});
    process.call("file_remove", &old).unwrap();
    let created = process.call("file_create", &json!({"content": "one\ntwo\n"})).unwrap();
    let seen = created.structured["hash"].clone();
    let change = json!({"hash": seen, "lines": [2, 3], "old": "two", "new": "2"});
    process.call("text_replace", &change).unwrap();
    let changed = process.call("text_read", &json!({"since": seen})).unwrap();
    let expected = json!([{"start": 2, "end": 3, "content": "2\n", "removed": 1}]);
    assert_eq!(changed.structured["changes"], expected);
    let error = process.call("file_remove", &json!({"hash": seen})).unwrap_err();
    assert!(hint(&error).text.starts_with("Changed since then: line 2."), "{:?}", hint(&error));
}

#[test]
fn a_rehearsal_does_not_count_as_a_read() {
    let process = Process::with("a\n");
    let write = json!({"path": FILE, "content": "new\n"});
    let Value::Object(write) = write else { unreachable!() };
    let tool = |name| process.calls.served().find(name).unwrap();
    let rehearse = || {
        let context = recto_store::Context::default();
        process.calls.rehearse(tool("write_text_file"), write.clone(), &context)
    };
    rehearse().unwrap();
    process.call("text_read", &json!({})).unwrap();
    process.store.extend([(FILE.into(), Node::File("b\n".into()))].into());
    // The user sees that the call would fail.
    assert_eq!(rehearse().unwrap_err().code(), -32013);
    let read = json!({"path": FILE});
    let Value::Object(read) = read else { unreachable!() };
    process.calls.rehearse(tool("text_read"), read, &recto_store::Context::default()).unwrap();
    let again = process.calls.call(tool("write_text_file"), write.clone(), &Call::default());
    assert_eq!(again.unwrap_err().code(), -32013);
    assert_eq!(process.text(), "b\n");
}
