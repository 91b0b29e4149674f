//! Tests of `find`.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

use proptest::prelude::*;

use super::*;

fn check(text: &str, needle: &str, expected: &[Range<usize>]) {
    let found = find(text, needle).map_or(Vec::new(), |found| found.places);
    assert_eq!(found, expected, "{needle:?} in {text:?}");
}

fn check_words(text: &str, word: &str, expected: &[Range<usize>]) {
    let found = find(text, Needle { string: word, is_whole_word: true });
    assert_eq!(found.map_or(Vec::new(), |found| found.places), expected, "{word:?} in {text:?}");
}

#[test]
fn overlapping_matches_count() {
    check("aaa", "aa", &[0..2, 1..3]);
    check("abababa", "aba", &[0..3, 2..5, 4..7]);
    check("a a", "a", &[0..1, 2..3]);
    check("abc", "d", &[]);
}

#[test]
fn line_endings_match_each_other_both_ways() {
    check("a\r\nb\r\n", "a\nb", &[0..4]);
    check("a\nb\n", "a\r\nb\r\n", &[0..4]);
    check("a\r\nb\nc", "a\nb\r\nc", &[0..6]);
    check("a\r\nb", "b\n", &[]);
}

#[test]
fn exact_matches_do_not_take_precedence() {
    check("a\nb\r\na\r\nb", "a\nb", &[0..3, 5..9]);
    check("a\r\nb\r\na\r\nb", "a\nb", &[0..4, 6..10]);
}

#[test]
fn no_match_starts_inside_an_ending() {
    check("a\r\nb", "\nb", &[1..4]);
    check("a\r\nb\nb", "\nb", &[1..4, 4..6]);
    check("a\r\nb", "\n", &[1..3]);
    check("a\rb", "\r", &[1..2]);
    check("a\r\nb", "a\r", &[0..2]);
    // An exact match may end inside one.
    check("a\r\nb\r\n", "a\nb\r", &[]);
    check("a\nb\r\n", "a\nb\r", &[0..4]);
    check("a\nb\rc", "a\r\nb\r", &[0..4]);
    check("a\nb\n", "a\nb\r", &[]);
}

#[test]
fn a_whole_word_has_no_word_characters_around_it() {
    check_words("Match GlobMatch Match_ Match(Match)", "Match", &[0..5, 23..28, 29..34]);
    check_words("naïve naïveté", "naïve", &[0..6]);
    // A combining mark belongs to the word.
    check_words("cafe\u{301} cafe", "cafe", &[7..11]);
    check_words("日本語 日本", "日本", &[10..16]);
    check_words("a1 1a a", "a", &[6..7]);
    check_words("x(a", "(a", &[]);
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
    fn matches_are_those_of_every_range(text in "[ab\\r\\n]{0,20}", needle in "[ab\\r\\n]{1,5}") {
        let folded = |text: &str| text.replace("\r\n", "\n");
        let is_in_ending = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
        let mut expected: Vec<Range<usize>> = Vec::new();
        for start in (0..text.len()).filter(|at| !is_in_ending(*at)) {
            let ends = (start + 1..=text.len()).filter(|end| {
                let is_same = folded(&text[start..*end]) == folded(&needle);
                let is_tolerant = needle.contains('\n') && is_same && !is_in_ending(*end);
                text[start..*end] == needle || is_tolerant
            });
            expected.extend(ends.map(|end| start..end));
        }
        let found = find(&text, needle.as_str());
        prop_assert_eq!(found.as_ref().map_or(0, |found| found.n_matches), expected.len());
        expected.truncate(MAX_PLACES);
        prop_assert_eq!(found.map_or(Vec::new(), |found| found.places), expected);
    }

    #[test]
    fn pieces_give_the_same_matches(
        text in "[aä_\\r\\n ]{0,60}",
        needles in proptest::collection::vec(("[aä_\\r\\n ]{1,5}", any::<bool>()), 1..4),
        sizes in proptest::collection::vec(1usize..9, 1..70),
    ) {
        let needles: Vec<Needle<'_>> = needles
            .iter()
            .map(|(string, is_whole_word)| Needle { string, is_whole_word: *is_whole_word })
            .collect();
        let mut stream = StreamFinder::new(&needles);
        let mut rest = text.as_bytes();
        for size in sizes {
            let (piece, later) = rest.split_at(size.min(rest.len()));
            stream.push(piece);
            rest = later;
        }
        stream.push(rest);
        for (needle, streamed) in needles.into_iter().zip(stream.finish()) {
            let found = find(&text, needle).unwrap_or(Matches { n_matches: 0, places: Vec::new() });
            let places: Vec<Range<u64>> = found.places.iter().map(|place| place.start as u64..place.end as u64).collect();
            prop_assert_eq!((streamed.n_matches, streamed.first_few), (found.n_matches, places), "{:?} in {:?}", needle, text);
        }
    }
}
