//! Tests of `search`.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

use proptest::prelude::*;

use super::*;

fn needle(text: &str) -> Needle {
    Needle::literal(text, false).unwrap()
}

fn never() -> bool {
    false
}

fn search<'a>(needle: &'a Needle, within: &[Range<u64>], max_hits: usize) -> Search<'a> {
    Search { needle, within: within.to_vec(), max_hits: Some(max_hits), stop: &never }
}

fn found(lines: &[u64], has_more: bool, total_lines: u64) -> Hits {
    let n_lines = lines.len() as u64;
    Hits {
        lines: lines.to_vec(),
        n_lines,
        has_more,
        stopped_at: None,
        is_partial: false,
        total_lines,
    }
}

#[test]
fn a_regex_matches_within_lines() {
    for (pattern, text, lines) in [
        ("^b$", "a\nb\r\nbb\nb", vec![2, 4]),
        ("^$", "\n\r\na\n", vec![1, 2]),
        ("^$", "a\n", vec![]),
        ("^$", "", vec![]),
        ("x*", "a\n\nb", vec![1, 2, 3]),
        (r"a\s+b", "a\nb\na \tb\n", vec![3]),
        (r"[^x]b", "a\nb\nab\n", vec![3]),
        (r"\Ab", "a\nb\n", vec![2]),
        (r"b\z", "b\r\nbc\n", vec![1]),
        (r"a\rb", "a\rb\r\nab\n", vec![1]),
        (r"a\r$", "a\r\na\r", vec![2]),
        (r"\d", "٣\nx\n4\n", vec![1, 3]),
        (r"\p{Greek}+\b", "x\nαβ\n", vec![2]),
        ("(?i)ä", "Ä\n", vec![1]),
        ("Ä", "ä\n", vec![]),
        (r"\w+ing\b", "singing\nings\nings sing\n", vec![1, 3]),
    ] {
        let needle = Needle::regex(pattern, true).unwrap();
        let search = search(&needle, &[0..u64::MAX], 99);
        assert_eq!(search.hits(text).lines, lines, "{pattern} in {text:?}");
        assert_eq!(
            needle.occurs_in(text.as_bytes(), &never),
            !lines.is_empty(),
            "{pattern} in {text:?}"
        );
        for n_bytes in [1, 2, 3] {
            let mut scan = SearchScan::new(&search);
            text.as_bytes().chunks(n_bytes).for_each(|piece| scan.push(piece));
            assert_eq!(scan.finish().lines, lines, "{pattern} in pieces of {text:?}");
        }
    }
}

#[test]
fn a_rejected_regex_shows_where() {
    for (pattern, column, cause) in [
        ("a(b", 2, "unclosed group"),
        ("ä[b", 2, "unclosed character class"),
        (r"a\p{Klingon}", 2, "Unicode property not found"),
        ("a**{2,1}", 4, "invalid repetition count range, the start must be <= the end"),
    ] {
        let error = Needle::regex(pattern, true).unwrap_err();
        assert_eq!(error, BadNeedle::Syntax { column, cause: cause.into() }, "{pattern}");
    }
    assert_eq!(Needle::regex(r"a\nb", true).unwrap_err(), BadNeedle::NotOneLine);
    let huge = r"(?:\w{90}){90}";
    assert_eq!(Needle::regex(huge, true).unwrap_err(), BadNeedle::TooComplex);
}

#[test]
fn a_search_can_be_stopped_and_counts_without_lines() {
    let needle = Needle::regex("x$", true).unwrap();
    let text = "x\n".repeat(CHUNK);
    let search = Search { max_hits: None, ..search(&needle, &[0..u64::MAX], 0) };
    let hits = search.hits(&text);
    assert_eq!((hits.lines, hits.n_lines), (vec![], CHUNK as u64));
    let hits = Search { stop: &|| true, ..search }.hits(&text);
    assert_eq!((hits.n_lines, hits.stopped_at), (CHUNK as u64 / 2, Some(CHUNK as u64 / 2)));
}

#[test]
fn a_regex_matches_the_start_of_a_very_long_line() {
    let needle = Needle::regex("b[0-9]+$|^x+y", true).unwrap();
    let search = search(&needle, &[0..u64::MAX], 9);
    let mut scan = SearchScan::new(&search);
    for _ in 0..MAX_REGEX_LINE / MAX_BUFFERED - 1 {
        scan.push(&vec![b'x'; MAX_BUFFERED]);
    }
    scan.push(b"y");
    for _ in 0..4 {
        scan.push(&vec![b'x'; MAX_BUFFERED]);
    }
    assert!(scan.buffered.len() <= MAX_REGEX_LINE);
    scan.push(b"\nb12");
    assert_eq!(scan.finish(), found(&[1, 2], false, 2));
}

/// If the long line had more `a`, matching it would take more than 10^10 steps.
#[test]
fn a_complex_regex_matches_the_start_of_a_long_line() {
    let needle = Needle::regex("(?-u)(?:a.{0,3000}){3}b", true).unwrap();
    assert!((1 << 15..1 << 17).contains(&needle.max_line), "{}", needle.max_line);
    let text = format!("aaab\n{}aaab\naaab\nx\nb", "x".repeat(2 << 20));
    let mut found = found(&[1, 3], false, 5);
    found.is_partial = true;
    let search_all = search(&needle, &[0..u64::MAX], 9);
    assert_eq!(search_all.hits(&text), found);
    let mut scan = SearchScan::new(&search_all);
    text.as_bytes().chunks(100_000).for_each(|piece| scan.push(piece));
    assert_eq!(scan.finish(), found);
    assert!(!search(&needle, &[2..9], 9).hits(&text).is_partial);
    assert!(needle.occurs_in(&text.as_bytes()[5..], &never));
    assert_eq!(needle.find_in(&text[5..]), None);
    for ordinary in [r"\bfunction\s+\w+\(", "(?i)export.{0,40}default", r#""id":\s*"[^"]+""#] {
        let needle = Needle::regex(ordinary, true).unwrap();
        assert!(needle.max_line >= 8 << 20, "{ordinary}: {}", needle.max_line);
    }
}

#[test]
fn only_the_case_of_letters_is_ignored() {
    for (wanted, text, lines) in [
        ("b", "a\nb\nc\n", vec![2]),
        ("B", "abc\nABC\nx", vec![1, 2]),
        ("%", "100%\n100\n", vec![1]),
        ("_", "a_b\nab\n", vec![1]),
        (".*", "x\n.*\n", vec![2]),
        ("ÄÖ", "äö\nao\n", vec![1]),
        ("a", "", vec![]),
        ("a", "a", vec![1]),
        ("a\r", "a\r\nb\r\n", vec![]),
        ("a\r", "a\rb\r\na\r", vec![1, 2]),
        ("\r", "a\r\n\r\n\r\r\n", vec![3]),
        ("a", "aaa\n", vec![1]),
        ("b c", "a\nb c\nb\nc\n", vec![2]),
    ] {
        let needle = needle(wanted);
        let search = search(&needle, &[0..u64::MAX], 99);
        assert_eq!(search.hits(text).lines, lines, "{wanted} in {text:?}");
        let mut scan = SearchScan::new(&search);
        text.as_bytes().chunks(2).for_each(|piece| scan.push(piece));
        assert_eq!(scan.finish().lines, lines, "{wanted} in pieces of {text:?}");
    }
}

#[test]
fn only_the_named_lines_are_searched() {
    let text = "x\n".repeat(10);
    let hits = search(&needle("x"), &[1..3, 7..8], 99).hits(&text);
    assert_eq!(hits, found(&[2, 3, 8], false, 10));
    let hits = search(&needle("x"), &[1..3, 7..8], 2).hits(&text);
    assert_eq!(hits, found(&[2, 3], true, 10));
    assert_eq!(search(&needle("x"), &[], 9).hits(&text).lines, []);
    assert_eq!(search(&needle("x"), &[20..30], 9).hits(&text).lines, []);
}

#[test]
fn rejects_text_that_no_line_can_contain() {
    for needle in ["", "a\nb", &"x".repeat(MAX_NEEDLE + 1)] {
        assert!(Needle::literal(needle, false).is_err());
    }
    assert!(Needle::literal(&"ä".repeat(MAX_NEEDLE / 2), false).is_ok());
}

#[test]
fn a_line_of_megabytes_needs_little_memory() {
    let needle = needle("needle");
    let search = search(&needle, &[0..u64::MAX], 9);
    let mut scan = SearchScan::new(&search);
    for piece in [b"nee".as_slice(), b"dle"] {
        scan.push(&vec![b'x'; MAX_BUFFERED]);
        scan.push(piece);
        assert!(scan.buffered.len() <= MAX_BUFFERED + 64);
    }
    scan.push(&vec![b'x'; 3 * MAX_BUFFERED]);
    scan.push(b"nee");
    scan.push(b"DLE");
    scan.push(&vec![b'x'; 3 * MAX_BUFFERED]);
    scan.push(b"\nxx");
    assert_eq!(scan.finish(), found(&[1], false, 2));
}

proptest! {
    /// Searching in pieces, as a whole and with a plain loop gives the same lines.
    #[test]
    fn pieces_make_no_difference(
        text in "[abAB\n]{0,60}",
        cuts in prop::collection::vec(0usize..60, 0..6),
        (start, len) in (0u64..8, 0u64..8),
    ) {
        let needle = needle("ab");
        let search = search(&needle, std::slice::from_ref(&(start..start + len)), 3);
        let whole = search.hits(&text);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort();
        let mut scan = SearchScan::new(&search);
        let mut from = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            scan.push(&text.as_bytes()[from..cut]);
            from = cut;
        }
        prop_assert_eq!(&scan.finish(), &whole);
        let expected: Vec<u64> = crate::line::lines(&text)
            .zip(1..)
            .filter(|(line, number)| {
                (start + 1..start + len + 1).contains(number) && line.to_lowercase().contains("ab")
            })
            .map(|(_, number)| number)
            .collect();
        prop_assert_eq!(whole.has_more, expected.len() > 3);
        prop_assert_eq!(whole.lines, &expected[..expected.len().min(3)]);
        prop_assert_eq!(whole.total_lines as usize, crate::line::count(&text));
    }
}

#[test]
fn one_line_of_any_length_is_searched() {
    let needle = needle("hit");
    let long = "ä".repeat(MAX_BUFFERED);
    for (line, matches) in [
        (format!("{long}HIT{long}hithit"), Some((long.len() / 2 + 1, long.len() + 3, 3))),
        ("ä hit".into(), Some((3, 6, 1))),
        ("hi t".into(), None),
    ] {
        let text = format!("hit\n{line}\r\nhit\n");
        for size in [3, 1000, MAX_BUFFERED - 1, text.len()] {
            let mut scan = LineScan::inside(&needle, 1, 0);
            text.as_bytes().chunks(size).for_each(|piece| scan.push(piece));
            assert!(scan.is_done());
            let found = scan.finish();
            assert_eq!(found, needle.find_in(&line));
            let found =
                found.map(|found| (found.column as usize, found.end as usize, found.n_matches));
            assert_eq!(found, matches, "{size}");
        }
    }
}

#[test]
fn counting_the_matches_of_a_regex_in_a_long_line_is_bounded() {
    // Every match of `a` looks for a `b` in the rest of the line: 10^11 steps for all of them.
    let line = "a".repeat(1 << 20);
    let found = Needle::regex(".*b|a", true).unwrap().find_in(&line).unwrap();
    assert_eq!((found.column, found.n_matches, found.may_be_more), (1, MAX_REGEX_MATCHES, true));
    let few = Needle::regex("a.*", true).unwrap().find_in(&line).unwrap();
    assert_eq!((few.end, few.n_matches, few.may_be_more), (1 << 20, 1, false));
    // A string is counted in one pass.
    let all = Needle::literal("a", true).unwrap().find_in(&line).unwrap();
    assert_eq!((all.n_matches, all.may_be_more), (1 << 20, false));
}
