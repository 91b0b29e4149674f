//! Tests of `window`.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn page(text: &str, first_line: u64, max_lines: u64, max_bytes: usize) -> Page {
    Window::lines(first_line, max_lines, Size::utf8(max_bytes)).page(text)
}

/// Checks content, returned lines, next line and cut.
fn check(text: &str, window: (u64, u64, usize), expected: (&str, u64, Option<u64>, bool)) {
    let page = page(text, window.0, window.1, window.2);
    assert_eq!(page.total_lines, crate::line::count(text) as u64);
    assert_eq!(
        (page.content.as_str(), page.n_lines, page.next_line(), page.is_cut),
        expected,
        "{text:?} {window:?}"
    );
}

#[test]
fn returns_the_requested_lines() {
    let text = "1\n2\r\n3\n4";
    check(text, (1, u64::MAX, 99), (text, 4, None, false));
    check(text, (2, 2, 99), ("2\r\n3\n", 2, Some(4), false));
    check(text, (4, 1, 99), ("4", 1, None, false));
    check(text, (5, 1, 99), ("", 0, None, false));
    check(text, (u64::MAX, u64::MAX, 99), ("", 0, None, false));
    check("", (1, 1, 99), ("", 0, None, false));
    check("a\n\n", (2, 9, 99), ("\n", 1, None, false));
}

#[test]
fn a_full_page_ends_at_a_line_end() {
    check("ab\ncd\nef\n", (1, 9, 6), ("ab\ncd\n", 2, Some(3), false));
    check("ab\ncd\nef\n", (1, 9, 8), ("ab\ncd\n", 2, Some(3), false));
    check("ab\ncd\nef\n", (1, 9, 9), ("ab\ncd\nef\n", 3, None, false));
    check("ab\ncd\nef", (1, 9, 8), ("ab\ncd\nef", 3, None, false));
}

#[test]
fn a_line_longer_than_the_page_is_cut_between_characters() {
    check("abcdef\ng\n", (1, 9, 4), ("abcd", 1, Some(2), true));
    check("ab你好\ng\n", (1, 9, 4), ("ab", 1, Some(2), true));
    check("你好", (1, 9, 2), ("", 1, None, true));
    check("abcd\n", (1, 9, 4), ("abcd", 1, None, true));
    check("x\nabcdef", (2, 9, 3), ("abc", 1, None, true));
}

#[test]
fn a_page_starts_at_a_character_of_its_first_line() {
    let page = |first_column| {
        let window = Window { first_column, ..Window::lines(2, 2, Size::utf8(99)) };
        let page = window.page("0\na你好b\nc\nd\n");
        (page.content.clone(), page.n_lines, page.next_line(), page.total_lines)
    };
    for (column, content) in [(1, "a你好b\nc\n"), (3, "好b\nc\n"), (5, "\nc\n"), (9, "\nc\n")] {
        assert_eq!(page(column), (content.into(), 2, Some(4), 4), "{column}");
    }
}

#[test]
fn escapes_count_in_json() {
    let page = |json| {
        let window = Window::lines(1, 9, Size { bytes: 99, json });
        let page = window.page("a\"\nb\n");
        (page.content, page.is_cut)
    };
    assert_eq!(page(8), ("a\"\nb\n".into(), false));
    assert_eq!(page(7), ("a\"\n".into(), false));
    assert_eq!(page(4), ("a\"".into(), true));
    assert_eq!(page(2), ("a".into(), true));
}

proptest! {
    #[test]
    fn pages_joined_give_the_whole(text in "[ab\\r\\n你]{0,60}", max_lines in 1u64..5, max_bytes in 200usize..300) {
        let (mut joined, mut next) = (String::new(), Some(1));
        while let Some(first_line) = next {
            let page = page(&text, first_line, max_lines, max_bytes);
            joined.push_str(&page.content);
            next = page.next_line();
        }
        prop_assert_eq!(joined, text);
    }

    #[test]
    fn pieces_give_the_same_page(text in "[ab\\n你]{0,40}", first_line in 1u64..6, first_column in 1u64..9, max_lines in 0u64..5, bytes in 0usize..30, json in 0usize..30, size in 1usize..9) {
        let window = Window { first_line, first_column, max_lines, max_size: Size { bytes, json } };
        let mut scan = PageScan::new(window);
        for piece in text.as_bytes().chunks(size) {
            scan.push(piece);
        }
        prop_assert_eq!(scan.finish().unwrap(), window.page(&text));
    }
}
