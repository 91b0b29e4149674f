//! Tests of `find`.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init, clippy::type_complexity)]

use proptest::prelude::*;

use super::MatchKind::{Eol, Exact};
use super::*;

fn check(text: &str, needle: &str, expected: Option<(MatchKind, &[Range<usize>])>) {
    let found = find(text, needle);
    let found = found.as_ref().map(|found| (found.kind, found.places.as_slice()));
    assert_eq!(found, expected, "{needle:?} in {text:?}");
}

#[test]
fn overlapping_matches_count() {
    check("aaa", "aa", Some((Exact, &[0..2, 1..3])));
    check("abababa", "aba", Some((Exact, &[0..3, 2..5, 4..7])));
    check("a a", "a", Some((Exact, &[0..1, 2..3])));
    check("abc", "d", None);
}

#[test]
fn line_endings_match_each_other_both_ways() {
    check("a\r\nb\r\n", "a\nb", Some((Eol, &[0..4])));
    check("a\nb\n", "a\r\nb\r\n", Some((Eol, &[0..4])));
    check("a\r\nb\nc", "a\nb\r\nc", Some((Eol, &[0..6])));
    check("a\r\nb", "b\n", None);
}

#[test]
fn exact_matches_take_precedence() {
    check("a\nb\r\na\r\nb", "a\nb", Some((Exact, &[0..3])));
    check("a\r\nb\r\na\r\nb", "a\nb", Some((Eol, &[0..4, 6..10])));
}

#[test]
fn no_match_starts_inside_an_ending() {
    check("a\r\nb", "\nb", Some((Eol, &[1..4])));
    check("a\r\nb\nb", "\nb", Some((Exact, &[4..6])));
    check("a\r\nb", "\n", Some((Eol, &[1..3])));
    check("a\rb", "\r", Some((Exact, &[1..2])));
    check("a\r\nb", "a\r", Some((Exact, &[0..2])));
}

#[test]
fn counting_overlapping_matches_is_linear() {
    // A quadratic search would take 10^12 steps.
    let text = "a".repeat(2_000_000);
    let found = find(&text, &text[..1_000_000]).unwrap();
    assert_eq!((found.n_matches, found.places.len()), (1_000_001, MAX_PLACES));
}

proptest! {
    #[test]
    fn agrees_with_trying_every_offset(text in "[ab\\n]{0,40}", needle in "[ab\\n]{1,4}") {
        let expected: Vec<_> = (0..text.len()).filter(|at| text[*at..].starts_with(&needle)).collect();
        let mut found = Vec::new();
        for_each_occurrence(text.as_bytes(), needle.as_bytes(), |at| found.push(at));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn folded_matches_equal_the_needle(text in "[ab\\r\\n]{0,40}", needle in "[ab\\r\\n]{1,5}") {
        if let Some(found) = find(&text, &needle) {
            for place in found.places {
                prop_assert_eq!(text[place].replace("\r\n", "\n"), needle.replace("\r\n", "\n"));
            }
        }
    }

    #[test]
    fn pieces_give_the_same_matches(
        text in "[ab\\r\\n]{0,60}",
        needles in proptest::collection::vec("[ab\\r\\n]{1,5}", 1..4),
        sizes in proptest::collection::vec(1usize..9, 1..70),
    ) {
        let needles: Vec<&str> = needles.iter().map(String::as_str).collect();
        let mut stream = StreamFinder::new(&needles);
        let mut rest = text.as_bytes();
        for size in sizes {
            let (piece, later) = rest.split_at(size.min(rest.len()));
            stream.push(piece);
            rest = later;
        }
        stream.push(rest);
        for (needle, [exact, folded]) in needles.iter().zip(stream.finish()) {
            let (kind, places) = match exact.n_matches {
                0 => (Eol, folded),
                _ => (Exact, exact),
            };
            let streamed = (places.n_matches > 0).then_some((kind, places.n_matches, places.first_few));
            let found = find(&text, needle).map(|found| {
                let starts = found.places.iter().map(|place| place.start as u64).collect();
                (found.kind, found.n_matches, starts)
            });
            prop_assert_eq!(streamed, found, "{:?} in {:?}", needle, text);
        }
    }
}
