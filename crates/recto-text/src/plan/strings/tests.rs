//! Tests of `strings`.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, clippy::type_complexity)]

use super::*;
use crate::line::LineRange;

fn replacement((old, new): (&str, &str)) -> Replacement {
    Replacement::parse(old.into(), new.into()).unwrap()
}

/// Checks one replacement: the new text, and how it matched.
fn check(text: &str, edit: (&str, &str), after: &str, kind: MatchKind) {
    let plan = string(text, &replacement(edit)).unwrap();
    assert_eq!((plan.edits.apply(text).as_str(), plan.kind), (after, kind), "{edit:?} in {text:?}");
}

/// Checks several: the new text and the lines, or the message.
fn check_all<const N: usize>(
    text: &str,
    edits: [(&str, &str); N],
    expected: Result<(&str, &[(usize, usize)]), &str>,
) {
    let found = strings::<Error>(text, &edits.map(replacement), || Ok(())).map(|plan| {
        let ranges: Vec<_> =
            plan.line_ranges.iter().map(|LineRange { start, end }| (*start, *end)).collect();
        (plan.edits.apply(text), ranges)
    });
    match (found, expected) {
        (Ok((after, ranges)), Ok(expected)) => {
            assert_eq!((after.as_str(), ranges.as_slice()), expected)
        }
        (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

#[test]
fn new_text_takes_the_endings_of_its_location() {
    use MatchKind::{Eol, Exact};
    // No line break in old: each \n takes the ending of the line.
    check("a\r\nb\r\n", ("a", "x\ny"), "x\r\ny\r\nb\r\n", Exact);
    check("a\nb\r\n", ("a", "x\ny"), "x\ny\nb\r\n", Exact);
    check("a\r\nb", ("b", "x\ny"), "a\r\nx\r\ny", Exact);
    check("a", ("a", "x\ny"), "x\ny", Exact);
    // old has a line break and matched exactly: literal.
    check("a\r\nb\r\n", ("a\r\nb", "x\ny"), "x\ny\r\n", Exact);
    check("a\nb\r\n", ("a\nb", "x\ny"), "x\ny\r\n", Exact);
    // new has \r\n itself: literal.
    check("a\nb\n", ("a", "x\r\ny\nz"), "x\r\ny\nz\nb\n", Exact);
    // old matched with other endings: the ending of the first matched line.
    check("a\r\nb\r\n", ("a\nb\n", "x\ny\n"), "x\r\ny\r\n", Eol);
    check("a\nb\n", ("a\r\nb", "x\ny"), "x\ny\n", Eol);
}

#[test]
fn edits_see_the_result_of_earlier_ones() {
    check_all("AAA", [("AAA", "BBB"), ("BBB", "CCC")], Ok(("CCC", &[(1, 1), (1, 1)])));
    check_all(
        "a\nb\n",
        [("a\n", "1\n2\n3\n"), ("b", "B")],
        Ok(("1\n2\n3\nB\n", &[(1, 1), (4, 4)])),
    );
    check_all("foo", [("foo", "bar"), ("foo", "baz")], Err("Edit 1: String not found: foo"));
    check_all("A", [("A", "AA"), ("A", "B")], Err("Edit 1: String appears 2 times: A"));
}

#[test]
fn text_that_an_earlier_edit_removed_is_a_conflict() {
    check_all(
        "hello world",
        [("hello", "bye"), ("hello world", "x")],
        Err("Edit 1 conflicts with edit 0"),
    );
    check_all(
        "one two three",
        [("three", "3"), ("two", "2"), ("one two", "x")],
        Err("Edit 2 conflicts with edit 1"),
    );
    // The string never occurred.
    check_all("one", [("one", "two"), ("three", "x")], Err("Edit 1: String not found: three"));
    // The string was created and removed by earlier edits.
    check_all("x", [("x", "y"), ("y", "z"), ("x", "w")], Err("Edit 2: String not found: x"));
}

#[test]
fn a_replacement_is_validated_without_a_text() {
    assert_eq!(Replacement::parse(String::new(), "x".into()), Err(Error::EmptyOldString));
    assert_eq!(Replacement::parse("x".into(), "x".into()), Err(Error::IdenticalStrings));
}
