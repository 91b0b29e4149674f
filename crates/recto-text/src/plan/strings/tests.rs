//! Tests of `strings`.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, clippy::type_complexity)]

use proptest::prelude::*;

use super::*;
use crate::diff::{Bounds, OldSide, Texts, unified};
use crate::line::LineRange;

fn replacement((old, new): (&str, &str)) -> Replacement {
    Replacement::parse(old.into(), new.into()).unwrap()
}

/// Checks one replacement: the new text, and how it matched.
fn check(text: &str, edit: (&str, &str), after: &str, kind: MatchKind) {
    let plan = string::<Error>(text, &replacement(edit), |_| Ok(())).unwrap();
    assert_eq!((plan.edits.apply(text).as_str(), plan.kind), (after, kind), "{edit:?} in {text:?}");
}

/// Checks several: the new text and the lines, or the message.
fn check_all<const N: usize>(
    text: &str,
    edits: [(&str, &str); N],
    expected: Result<(&str, &[(usize, usize)]), &str>,
) {
    let found = strings::<Error>(text, &edits.map(replacement), |_| Ok(()), || true).map(|plan| {
        let ranges: Vec<_> = plan
            .found
            .iter()
            .map(Found::hull)
            .map(|LineRange { start, end }| (start, end))
            .collect();
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
    // \r\n in new has no effect, except in a text without line breaks.
    check("a\nb\n", ("a", "x\r\ny\nz"), "x\ny\nz\nb\n", Exact);
    check("a", ("a", "x\r\ny\nz"), "x\r\ny\nz", Exact);
    // old matched with other endings: line by line.
    check("a\r\nb\r\n", ("a\nb\n", "x\ny\n"), "x\r\ny\r\n", Eol);
    check("a\nb\n", ("a\r\nb", "x\r\ny"), "x\ny\n", Eol);
    check("a\r\nb\nc\n", ("a\nb\nc\n", "x\ny\nz\n"), "x\r\ny\nz\n", Eol);
    check("a\nb\r\n", ("a\nb\n", "x\ny\nz\n"), "x\ny\r\nz\r\n", Eol);
    check("a\r\nb\nc\r\n", ("a\nb\nc\n", "a\nx\nb\nc\n"), "a\r\nx\r\nb\nc\r\n", Eol);
    check("a\r\nb\nc\r\n", ("b\nc\n", "x\nb\nc\n"), "a\r\nx\r\nb\nc\r\n", Eol);
    check("b\nc\r\n", ("b\nc\n", "x\nb\nc\n"), "x\nb\nc\r\n", Eol);
    check("a\r\nb\nc", ("a\nb\nc", "a\nb\nc\nd"), "a\r\nb\nc\nd", Eol);
    check("a\r\nb\n", ("a\nb", "a\nx\ny"), "a\r\nx\ny\n", Eol);
    check("a\r\nb\r\nc\n", ("\nb\r\nc", "\nb\r\nd"), "a\r\nb\r\nd\n", Eol);
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

/// Returns the offsets at which a string can start or end without cutting a line ending.
fn boundaries(text: &str) -> Vec<usize> {
    let is_in_ending = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
    (0..=text.len()).filter(|at| text.is_char_boundary(*at) && !is_in_ending(*at)).collect()
}

fn folded(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns how often a string occurs if line endings are ignored.
fn n_folded(text: &str, wanted: &str) -> usize {
    let (text, wanted) = (folded(text), folded(wanted));
    (0..text.len())
        .filter(|at| text.is_char_boundary(*at) && text[*at..].starts_with(&wanted))
        .count()
}

/// Replaces part of a text that is named with the endings of `spell`. If the edit is accepted, it
/// changed only that place; if it is rejected, there are several.
fn check_place(text: &str, ends: (usize, usize), new: &str, spell: impl Fn(&str) -> String) {
    let boundaries = boundaries(text);
    let (one, other) = (ends.0 % boundaries.len(), ends.1 % boundaries.len());
    let place = boundaries[one.min(other)]..boundaries[one.max(other)];
    let old = spell(&text[place.clone()]);
    let Ok(replacement) = Replacement::parse(old.clone(), new.into()) else { return };
    match string::<Error>(text, &replacement, |_| Ok(())) {
        Ok(plan) => {
            let after = plan.edits.apply(text);
            let tail = &text[place.end..];
            assert!(after.starts_with(&text[..place.start]), "{old:?} in {text:?}: {after:?}");
            assert!(after.ends_with(tail), "{old:?} in {text:?}: {after:?}");
            let middle = &after[place.start..after.len() - tail.len()];
            assert_eq!(folded(middle), folded(new), "{old:?} in {text:?}: {after:?}");
            if old.contains('\n') && old == text[place.clone()] {
                assert_eq!(middle, new, "the new text is literal");
            }
        }
        Err(Error::AmbiguousString { .. }) => assert!(n_folded(text, &old) > 1),
        Err(error) => panic!("{old:?} in {text:?}: {error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_string_copied_from_the_text_replaces_that_place(
        text in "([abä]{0,3}(\n|\r\n)){0,8}[ab]{0,2}",
        ends in (0usize..40, 0usize..40),
        new in "([xy]{0,2}(\n|\r\n)){0,3}[xy]{0,2}",
    ) {
        check_place(&text, ends, &new, str::to_string);
    }

    #[test]
    fn strings_with_only_lf_or_only_crlf_edit_no_other_place(
        text in "([abä]{0,3}(\n|\r\n)){0,8}[ab]{0,2}",
        ends in (0usize..40, 0usize..40),
        new in "([xya]{0,2}\n){0,4}[xy]{0,2}",
        is_crlf in any::<bool>(),
    ) {
        let spell = |text: &str| match is_crlf {
            true => folded(text).replace('\n', "\r\n"),
            false => folded(text),
        };
        check_place(&text, ends, &spell(&new), spell);
    }
}

#[test]
fn rejected_edits_are_tried_and_counted_while_there_is_time() {
    let edits: Vec<Replacement> =
        (0..30).map(|n| replacement((&format!("missing {n}"), "x"))).collect();
    let error = |n_calls: usize| {
        let n_left = std::cell::Cell::new(n_calls);
        let has_time = || {
            n_left.set(n_left.get().saturating_sub(1));
            n_left.get() > 0
        };
        strings::<Error>("text", &edits, |_| Ok(()), has_time).unwrap_err()
    };
    for (n_calls, n_described, counted, untried) in [(100, 10, 30, 0), (5, 4, 4, 26), (1, 1, 1, 29)]
    {
        let Error::Several { failures, n_failed, n_untried } = error(n_calls) else { panic!() };
        assert_eq!((failures.len(), n_failed, n_untried), (n_described, counted, untried));
        assert_eq!(failures[0].to_string(), "Edit 0: String not found: missing 0");
    }
}

#[test]
fn all_places_are_replaced_as_if_one_by_one_from_the_end() {
    let everywhere = |text: &str, edit: (&str, &str)| {
        let plan = string::<Error>(text, &replacement(edit).everywhere(true), |_| Ok(())).unwrap();
        (plan.edits.apply(text), plan.found[0].n_places)
    };
    assert_eq!(everywhere("a\r\nb\na\n", ("a", "x\ny")), ("x\r\ny\r\nb\nx\ny\n".into(), 2));
    assert_eq!(everywhere("a\n\n\n\nb", ("\n\n", "\n")), ("a\n\nb".into(), 2));
    assert_eq!(everywhere("aaa", ("a", "")), (String::new(), 3));
}

#[test]
fn a_plan_asks_before_it_adds_text() {
    let edits = [("a", "bb\nbb"), ("b", "cc")].map(|edit| replacement(edit).everywhere(true));
    let asked = std::cell::RefCell::new(Vec::new());
    let ask = |max_added: usize| {
        asked.take();
        let may_grow = |Growth { n_added, n_places }| {
            asked.borrow_mut().push((n_added, n_places));
            let error = Error::TooMuchAtOnce { n_places, n_added };
            if n_added <= max_added { Ok(()) } else { Err(error) }
        };
        strings("a a\n", &edits, may_grow, || true).map(|plan| plan.edits.apply("a a\n"))
    };
    // Line breaks count twice, because they may become CRLF.
    assert_eq!(ask(18).as_deref(), Ok("cccc\ncccc cccc\ncccc\n"));
    assert_eq!(asked.take(), [(0, 0), (10, 2), (10, 2), (18, 10)]);
    let error = ask(17).unwrap_err().to_string();
    assert_eq!(error, "Edits change too much at once: 10 places, 18 more bytes");
    assert_eq!(ask(9), Err(Error::TooMuchAtOnce { n_places: 2, n_added: 10 }));
}

#[test]
fn a_string_with_too_many_places_is_not_replaced() {
    let edit = replacement(("a", "")).everywhere(true);
    let plan = |n: usize| string::<Error>("a".repeat(n).as_str(), &edit, |_| Ok(()));
    assert_eq!(plan(MAX_REPLACED).unwrap().found[0].n_places, MAX_REPLACED);
    let error = plan(MAX_REPLACED + 1).unwrap_err().to_string();
    assert_eq!(error, "String appears more than 1000000 times: a");
}

#[test]
fn an_optional_replacement_is_left_out_where_it_never_occurs() {
    let edits = |edits: &[(&str, &str)]| -> Vec<Replacement> {
        edits.iter().map(|edit| replacement(*edit).everywhere(true).optional()).collect()
    };
    let plan = |text: &'static str, edits: &[Replacement]| {
        let plan = strings::<Error>(text, edits, |_| Ok(()), || true);
        plan.map(|plan| (plan.edits.apply(text), plan.found.len()))
    };
    let swap = edits(&[("A", "TMP"), ("B", "A"), ("TMP", "B")]);
    assert_eq!(plan("A B", &swap), Ok(("B A".into(), 3)));
    assert_eq!(plan("B", &swap), Ok(("A".into(), 1)));
    assert_eq!(plan("A", &edits(&[("x", "y"), ("A", "B"), ("B", "C")])), Ok(("C".into(), 2)));
    // It occurred, but an earlier edit removed it.
    let error = plan("AB", &edits(&[("AB", "x"), ("B", "y")])).unwrap_err();
    assert_eq!(error, Error::ConflictingEdits { index: 1, prior_index: 0 });
}

#[test]
fn a_long_line_with_many_places_is_searched_once() {
    // If each place were followed to the end of its line, this would take half a minute.
    const N_PLACES: usize = 300_000;
    let text = "\r\n".to_string() + &"a.........".repeat(N_PLACES);
    let edit = replacement(("a", "b\n")).everywhere(true);
    let plan = string::<Error>(text.as_str(), &edit, |_| Ok(())).unwrap();
    let after = plan.edits.apply(&text);
    assert_eq!(after.matches("b\r\n.........").count(), N_PLACES);
    let edit = replacement(("a", "b")).everywhere(true);
    let plan = string::<Error>(text.as_str(), &edit, |_| Ok(())).unwrap();
    let after = plan.edits.apply(&text);
    let texts = Texts::whole(&text, &after, &plan.edits);
    let diff = unified("f", OldSide::File, &texts, Bounds::NONE);
    let has = |part: &str| diff.text.contains(part);
    assert!(has("\n-") && has("a.........a") && has("\n+") && has("b.........b"), "{}", diff.text);
}
