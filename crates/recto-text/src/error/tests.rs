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
        lines: vec![1],
        n_lines: None,
    };
    assert_eq!(ambiguous.to_string(), "String appears 2 times (must be unique): A");
    let in_edit = Error::InEdit { index: 1, source: Box::new(ambiguous) };
    assert_eq!(in_edit.to_string(), "Edit 1: String appears 2 times: A");
}
