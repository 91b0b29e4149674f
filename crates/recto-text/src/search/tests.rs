//! Tests of `search`.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

use proptest::prelude::*;

use super::*;

fn needle(text: &str) -> Needle {
    Needle::parse(text).unwrap()
}

fn search<'a>(needle: &'a Needle, within: &[Range<u64>], max_hits: usize) -> Search<'a> {
    Search { needle, within: within.to_vec(), max_hits }
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
    assert_eq!(hits, Hits { lines: vec![2, 3, 8], has_more: false, total_lines: 10 });
    let hits = search(&needle("x"), &[1..3, 7..8], 2).hits(&text);
    assert_eq!(hits, Hits { lines: vec![2, 3], has_more: true, total_lines: 10 });
    assert_eq!(search(&needle("x"), &[], 9).hits(&text).lines, []);
    assert_eq!(search(&needle("x"), &[20..30], 9).hits(&text).lines, []);
}

#[test]
fn rejects_text_that_no_line_can_contain() {
    for needle in ["", "a\nb", &"x".repeat(MAX_NEEDLE + 1)] {
        assert!(Needle::parse(needle).is_err());
    }
    assert!(Needle::parse(&"ä".repeat(MAX_NEEDLE / 2)).is_ok());
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
    assert_eq!(scan.finish(), Hits { lines: vec![1], has_more: false, total_lines: 2 });
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
