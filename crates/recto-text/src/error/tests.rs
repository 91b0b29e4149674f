//! Tests of `error`.

use super::*;

#[test]
fn messages_inside_an_edit_are_shorter() {
    let not_found = Error::StringNotFound { old_string: "line 3".into(), nearest: None };
    assert_eq!(not_found.to_string(), "String not found in file: line 3");
    let in_edit = Error::InEdit { index: 1, source: Box::new(not_found) };
    assert_eq!(in_edit.to_string(), "Edit 1: String not found: line 3");

    let ambiguous = Error::AmbiguousString {
        n_matches: 2,
        old_string: "A".into(),
        places: Vec::new(),
        n_lines: None,
    };
    assert_eq!(ambiguous.to_string(), "String appears 2 times (must be unique): A");
    let in_edit = Error::InEdit { index: 1, source: Box::new(ambiguous) };
    assert_eq!(in_edit.to_string(), "Edit 1: String appears 2 times: A");
}

#[test]
fn an_occurrence_in_a_long_line_is_an_excerpt() {
    let shown = |occurrence: Occurrence| (occurrence.column, occurrence.text);
    assert_eq!(
        shown(Occurrence::new(1, Some(4), "x\nlet ", "foo;\nbar")),
        (None, "let foo;".into())
    );
    let long = "x".repeat(200);
    let (column, text) = shown(Occurrence::new(1, Some(200), &long, &format!("foo{long}\n")));
    assert_eq!((column, text.chars().count()), (Some(201), 102));
    assert!(text.starts_with('…') && text.contains("xfoox") && text.ends_with('…'), "{text}");
    // The start of the line is not known.
    assert_eq!(shown(Occurrence::new(1, None, "x", "foo")), (None, "…xfoo".into()));
}
