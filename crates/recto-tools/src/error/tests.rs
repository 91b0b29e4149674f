//! The wording of hints and the calls that they suggest.

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
fn a_relative_path_is_answered_with_an_absolute_one() {
    for (path, root, expected) in [
        ("a.rs", Some("/project"), "Pass the absolute path: /project/a.rs"),
        ("./src/a.rs", Some("/project"), "Pass the absolute path: /project/src/a.rs"),
        ("a.rs", Some("/"), "Pass the absolute path: /a.rs"),
        ("../a.rs", Some("/project"), "Pass a path that starts with /. The root is /project."),
        ("", Some("/project"), "Pass a path that starts with /. The root is /project."),
        ("a.rs", None, "Pass a path that starts with /."),
        ("file:///project/a.rs", None, "Remove the file:// prefix: /project/a.rs"),
        ("file:///a%20b", None, "Pass a path that starts with /."),
        ("file://host/a", None, "Pass a path that starts with /."),
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
    assert_eq!(shown(Names::Dotted, &["text_append"]), "The file is empty; use text.append.");
    assert_eq!(shown(Names::Underscore, &["text_append"]), "The file is empty; use text_append.");
    assert_eq!(shown(Names::Dotted, &["text_read"]), "The file is empty.");
}

#[test]
fn a_directory_leads_to_the_call_that_lists_it() {
    let error = Error::FolderToList { path: "/p/[a]".into(), commit: Some("HEAD".into()) };
    let found = hint(error.clone());
    let next = found.next.unwrap();
    assert_eq!(next.tool, Some("ListFiles"));
    let arguments = Value::Object(next.arguments);
    assert_eq!(arguments, json!({"pattern": "/p/\\[a]/**", "commit": "HEAD"}));
    let nothing = Served::new(Vec::new(), Names::Dotted);
    assert_eq!(error.hint(&nothing).unwrap(), Hint::from("It is a directory."));
}

#[test]
fn the_hint_names_the_right_place() {
    let hint = |text: &str, lines: [i64; 2], old: &str| {
        let spec = Interval { start: lines[0], end: lines[1] };
        words(replace(source(text), spec, old, "y").unwrap_err())
    };
    assert_eq!(hint("a\nb\nc\n", [1, 2], "c"), "Found at line 3; retry with lines [3, 4].");
    assert_eq!(hint("a\nb\nc\n", [1, 3], "b\nc"), "Found at line 2; retry with lines [2, 4].");
    assert_eq!(hint("x\nb\nc\nb\n", [1, 2], "b"), "Found at lines 2, 4.");
    assert_eq!(hint("a\nb\n", [1, 2], "a\nb"), "Retry with lines [1, 3].");
    let whitespace = hint("    let x = 1;\n", [1, 2], "\tlet x = 1;");
    assert!(whitespace.starts_with("Closest: line 1 (differs only in whitespace"), "{whitespace}");
    assert_eq!(whitespace.matches("whitespace").count(), 1, "{whitespace}");
    assert!(
        hint("a \nb\na\n", [1, 2], "a")
            .starts_with("The two texts differ only in whitespace. Found at")
    );
    assert_eq!(
        hint("x\ny\nx\n", [1, 4], "x"),
        "Matches start at:\nline 1: x\nline 3: x\nNarrow lines to one of them, e.g. [1, 2]."
    );
    assert_eq!(
        hint("a\nb\n", [2, 9], "b"),
        "The end is exclusive; use [2, 3] or [2, 0] to include the last line."
    );
    assert_eq!(hint("a\nb\n", [1, -3], "b"), "Valid lines are 1 to 2, or -1 (the last) to -2.");
    assert!(
        hint("a = 1\n", [1, 2], "1: a = 1")
            .ends_with("old includes line numbers, which are not in the file.")
    );
}

#[test]
fn a_part_of_a_line_is_distinguished_from_the_line() {
    let text = "fn f() {\n    let x = 1;\n    let y = 2;\n}\n";
    let hint = |lines: [i64; 2], old: &str| {
        let spec = Interval { start: lines[0], end: lines[1] };
        words(replace(source(text), spec, old, "y").unwrap_err())
    };
    let part = "; this tool replaces whole lines. Copy the whole line";
    assert_eq!(
        hint([2, 3], "let"),
        format!("old matches only part of line 2{part}: \"    let x = 1;\"")
    );
    // The lines that the caller named come first.
    assert_eq!(
        hint([3, 4], "let"),
        format!("old matches only part of line 3{part}: \"    let y = 2;\"")
    );
    assert_eq!(
        hint([4, 5], "let"),
        format!("old matches only part of line 2{part}: \"    let x = 1;\"")
    );
    assert_eq!(
        hint([0, 0], "x = 1;\n    let"),
        format!("old matches only part of lines 2-3{part}s.")
    );
    // A line without its indentation is not a part: the closest line is shown.
    assert!(hint([2, 3], "let x = 1;").starts_with("Closest: line 2 (differs only in whitespace"));
    let long = format!("{}\n", "a long line ".repeat(20));
    let all = Interval { start: 0, end: 0 };
    let error = replace(source(&long), all, "long", "y").unwrap_err();
    assert_eq!(words(error), format!("old matches only part of line 1{part}."));
}

#[test]
fn the_hint_names_the_line_to_insert_before() {
    let text = "a\nlet b = 1;\na\n";
    let hint =
        |line: i64, anchor: &str| words(insert(source(text), line, anchor, "y").unwrap_err());
    assert_eq!(hint(1, "let b = 1;"), "Found at line 2; retry with line 2.");
    assert_eq!(hint(2, "a"), "Found at lines 1, 3.");
    assert_eq!(
        hint(1, "a\nlet b = 1;"),
        "anchor must be one line: the text of the line to insert before."
    );
    assert_eq!(
        hint(2, "b"),
        "anchor matches only part of line 2. Copy the whole line: \"let b = 1;\""
    );
    assert!(hint(1, "let b = 2;").starts_with("Closest: line 2\n2 file: let b = 1;"));
    assert!(hint(2, "2: let b = 1;").contains("anchor includes line numbers"));
    assert_eq!(
        hint(1, "quite another"),
        "Not found anywhere in the file. Read the lines again and copy them exactly."
    );
    for line in [0, 4, -4] {
        assert_eq!(
            hint(line, "a"),
            "Valid lines are 1 to 3. Use line 1 to insert at the top, or use text_append to add at the end."
        );
    }
}

#[test]
fn a_hint_makes_no_claim_about_lines_that_were_not_read() {
    let part = TextPart { lines_before: 10, ..TextPart::from("a\nlet b = 1;\n") };
    let lines = Interval { start: 11, end: 12 };
    let hint = |old: &str| {
        let source = FileText { path: "f", part };
        words(replace(source, lines, old, "y").unwrap_err())
    };
    assert_eq!(hint("x"), "Read the lines again and copy them exactly.");
    assert!(hint("b").starts_with("old matches only part of line 12;"));
}

#[test]
fn an_ambiguous_string_names_its_lines() {
    let error =
        string::<Error>("a\nb\na\n", &Replacement::parse("a".into(), "c".into()).unwrap(), |_| {
            Ok(())
        })
        .unwrap_err();
    assert_eq!(
        words(error),
        "Matches start at:\nline 1: a\nline 3: a\nInclude surrounding text to match only one, or set \
         replace_all to true."
    );
}
