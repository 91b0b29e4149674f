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
