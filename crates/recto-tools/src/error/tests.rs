//! The words of hints, and the calls that they lead to.

#![allow(clippy::unwrap_used)]

use recto_text::line_range::Interval;
use recto_text::plan::anchored::{FileText, insert, replace};
use recto_text::plan::{Replacement, TextPart, string};
use serde_json::{Value, json};

use super::*;
use crate::served::{Names, Served};
use crate::tools;

fn source(text: &str) -> FileText<'_> {
    FileText { path: "f", part: text.into() }
}

fn hint(error: impl Into<Error>) -> Hint {
    error.into().hint(&Served::all()).unwrap()
}

fn words(error: impl Into<Error>) -> String {
    hint(error).text
}

#[test]
fn a_relative_path_is_answered_with_how_to_write_it() {
    for (path, root, expected) in [
        ("a.rs", Some("/project"), "Start the path at /: /project/a.rs"),
        ("./src/a.rs", Some("/project"), "Start the path at /: /project/src/a.rs"),
        ("a.rs", Some("/"), "Start the path at /: /a.rs"),
        ("../a.rs", Some("/project"), "Start the path at /. The root is /project."),
        ("", Some("/project"), "Start the path at /. The root is /project."),
        ("a.rs", None, "Start the path at /."),
        ("~/a.rs", None, "~ is not expanded; write the home folder out."),
        ("file:///project/a.rs", None, "Leave file:// off: /project/a.rs"),
        ("file:///a%20b", None, "Write it as a path that starts at /."),
        ("file://host/a", None, "Write it as a path that starts at /."),
    ] {
        let root = root.map(String::from);
        let found = hint(StoreError::RelativePath { path: path.into(), root });
        assert_eq!(found.text, expected, "{path}");
        let shows_path =
            |next: NextCall| expected.ends_with(next.arguments["path"].as_str().unwrap());
        assert!(found.next.is_none_or(shows_path), "{path}");
    }
}

#[test]
fn a_hint_names_only_tools_that_are_served_and_as_they_are_published() {
    let error = Error::from(TextError::NoSuchLine {
        line: 9,
        path: "f".into(),
        n_lines: 0,
        named_as: recto_text::error::NamedAs::Start,
    });
    let shown = |names, served: &[&str]| {
        let tools = served.iter().map(|name| tools::find(name).unwrap()).collect();
        error.hint(&Served::new(tools, names)).unwrap().text
    };
    assert_eq!(shown(Names::Dotted, &["text.append"]), "The file is empty; use text.append.");
    assert_eq!(shown(Names::Underscore, &["text.append"]), "The file is empty; use text_append.");
    assert_eq!(shown(Names::Dotted, &["text.read"]), "The file is empty.");
}

#[test]
fn a_folder_leads_to_the_call_that_lists_it() {
    let error = Error::FolderToList { path: "/p/[a]".into(), commit: Some("HEAD".into()) };
    let found = hint(error.clone());
    let next = found.next.unwrap();
    assert_eq!(next.tool, Some("ListFiles"));
    let arguments = Value::Object(next.arguments);
    assert_eq!(arguments, json!({"pattern": "/p/\\[a]/**", "commit": "HEAD"}));
    let nothing = Served::new(Vec::new(), Names::Dotted);
    assert_eq!(error.hint(&nothing).unwrap(), Hint::from("It is a folder."));
}

#[test]
fn the_hint_names_the_right_place() {
    let hint = |text: &str, lines: [i64; 2], old: &str| {
        let spec = Interval { start: lines[0], end: lines[1] };
        words(replace(source(text), spec, old, "y").unwrap_err())
    };
    assert_eq!(hint("a\nb\nc\n", [1, 2], "c"), "It stands on line 3: lines [3, 4].");
    assert_eq!(hint("a\nb\nc\n", [1, 3], "b\nc"), "It stands on line 2: lines [2, 4].");
    assert_eq!(hint("x\nb\nc\nb\n", [1, 2], "b"), "It stands on lines 2, 4.");
    assert_eq!(hint("a\nb\n", [1, 2], "a\nb"), "Call again with lines [1, 3].");
    let whitespace = hint("    let x = 1;\n", [1, 2], "\tlet x = 1;");
    assert!(whitespace.starts_with("Closest: line 1 (differs only in whitespace"), "{whitespace}");
    assert_eq!(whitespace.matches("whitespace").count(), 1, "{whitespace}");
    assert!(
        hint("a \nb\na\n", [1, 2], "a").starts_with("They differ only in whitespace. It stands on")
    );
    assert_eq!(
        hint("x\ny\nx\n", [1, 4], "x"),
        "It starts on lines 1, 3. Narrow lines to one of them, for example [1, 2]."
    );
    assert_eq!(
        hint("a\nb\n", [2, 9], "b"),
        "The end is exclusive: [2, 3] or [2, 0] goes through the last line."
    );
    assert_eq!(hint("a\nb\n", [1, -3], "b"), "Lines are 1 to 2, or -1 (the last) to -2.");
    assert!(
        hint("a = 1\n", [1, 2], "1: a = 1")
            .ends_with("old carries line numbers, which are not in the file.")
    );
}

#[test]
fn a_part_of_a_line_is_told_from_the_line() {
    let text = "fn f() {\n    let x = 1;\n    let y = 2;\n}\n";
    let hint = |lines: [i64; 2], old: &str| {
        let spec = Interval { start: lines[0], end: lines[1] };
        words(replace(source(text), spec, old, "y").unwrap_err())
    };
    let part = "; this tool replaces whole lines. Copy the whole line";
    assert_eq!(
        hint([2, 3], "let"),
        format!("old is only a part of line 2{part}: \"    let x = 1;\"")
    );
    // The lines that the caller looks at come first.
    assert_eq!(
        hint([3, 4], "let"),
        format!("old is only a part of line 3{part}: \"    let y = 2;\"")
    );
    assert_eq!(
        hint([4, 5], "let"),
        format!("old is only a part of line 2{part}: \"    let x = 1;\"")
    );
    assert_eq!(hint([0, 0], "x = 1;\n    let"), format!("old is only a part of lines 2-3{part}s."));
    // What lacks only the indentation is another line, and so it is shown.
    assert!(hint([2, 3], "let x = 1;").starts_with("Closest: line 2 (differs only in whitespace"));
    let long = format!("{}\n", "a long line ".repeat(20));
    let all = Interval { start: 0, end: 0 };
    let error = replace(source(&long), all, "long", "y").unwrap_err();
    assert_eq!(words(error), format!("old is only a part of line 1{part}."));
}

#[test]
fn the_hint_names_the_line_to_insert_before() {
    let text = "a\nlet b = 1;\na\n";
    let hint =
        |line: i64, anchor: &str| words(insert(source(text), line, anchor, "y").unwrap_err());
    assert_eq!(hint(1, "let b = 1;"), "It stands on line 2: call again with line 2.");
    assert_eq!(hint(2, "a"), "It stands on lines 1, 3.");
    assert_eq!(
        hint(1, "a\nlet b = 1;"),
        "anchor is one line: the text of the line to insert before."
    );
    assert_eq!(
        hint(2, "b"),
        "anchor is only a part of line 2. Copy the whole line: \"let b = 1;\""
    );
    assert!(hint(1, "let b = 2;").starts_with("Closest: line 2\n2 file: let b = 1;"));
    assert!(hint(2, "2: let b = 1;").contains("anchor carries line numbers"));
    assert_eq!(
        hint(1, "quite another"),
        "It stands nowhere in the file. Read the lines again and copy them exactly."
    );
    for line in [0, 4, -4] {
        assert_eq!(
            hint(line, "a"),
            "Lines are 1 to 3; line 1 inserts at the top, text.append adds at the end."
        );
    }
}

#[test]
fn nothing_is_said_of_lines_that_were_not_looked_at() {
    let part = TextPart { lines_before: 10, ..TextPart::from("a\nlet b = 1;\n") };
    let lines = Interval { start: 11, end: 12 };
    let hint = |old: &str| {
        let source = FileText { path: "f", part };
        words(replace(source, lines, old, "y").unwrap_err())
    };
    assert_eq!(hint("x"), "Read the lines again and copy them exactly.");
    assert!(hint("b").starts_with("old is only a part of line 12;"));
}

#[test]
fn an_ambiguous_string_names_its_lines() {
    let error =
        string("a\nb\na\n", &Replacement::parse("a".into(), "c".into()).unwrap()).unwrap_err();
    assert_eq!(words(error), "It starts on lines 1, 3. Add surrounding text to name one.");
}
