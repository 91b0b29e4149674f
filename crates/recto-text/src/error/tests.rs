//! The words of the refusals.

use std::collections::HashSet;

use super::*;

#[test]
fn every_variant_has_an_example() {
    let source = include_str!("../error.rs");
    let n_variants =
        source.lines().filter(|line| line.trim_start().starts_with("#[error(")).count();
    let kinds: HashSet<_> = examples().iter().map(std::mem::discriminant).collect();
    assert_eq!(kinds.len(), n_variants);
}

#[test]
fn an_edit_of_several_is_worded_as_the_contract_words_it() {
    let not_found = Error::StringNotFound { old_string: "line 3".into(), nearest: None };
    assert_eq!(not_found.to_string(), "String not found in file: line 3");
    let in_edit = Error::InEdit { index: 1, source: Box::new(not_found) };
    assert_eq!(in_edit.to_string(), "Edit 1: String not found: line 3");
    assert_eq!(in_edit.code(), -32010);

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

#[test]
fn a_relative_path_is_answered_with_how_to_write_it() {
    for (path, root, hint) in [
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
        let error = Error::RelativePath { path: path.into(), root: root.map(String::from) };
        assert_eq!(error.hint().as_deref(), Some(hint), "{path}");
    }
}
