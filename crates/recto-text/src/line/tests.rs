//! Tests of `line`.

#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn counts_lines() {
    for (text, n_lines) in [
        ("", 0),
        ("a", 1),
        ("a\n", 1),
        ("a\n\n", 2),
        ("\n", 1),
        ("a\r\nb", 2),
        ("a\rb", 1),
        ("a\u{2028}b\u{c}c\n", 1),
    ] {
        assert_eq!(count(text), n_lines, "{text:?}");
        assert_eq!(lines(text).count(), n_lines, "{text:?}");
        assert_eq!(lines(text).collect::<String>(), text);
    }
}

#[test]
fn a_final_newline_belongs_to_its_line() {
    for (range, start, end) in
        [(0..1, 1, 1), (0..2, 1, 1), (0..3, 1, 2), (2..4, 2, 2), (1..2, 1, 1), (1..4, 1, 2)]
    {
        assert_eq!(range_of("a\nb\nc\n", &range), LineRange { start, end }, "{range:?}");
    }
}

#[test]
fn new_text_takes_the_ending_of_its_line_or_an_earlier_one() {
    for (text, offset, ending) in [
        ("", 0, None),
        ("a", 0, None),
        ("a\r\nb\n", 0, Some(Ending::CrLf)),
        ("a\r\nb\n", 3, Some(Ending::Lf)),
        ("a\r\nb", 3, Some(Ending::CrLf)),
        ("a\nb", 2, Some(Ending::Lf)),
        ("a\r\nb", 4, Some(Ending::CrLf)),
    ] {
        assert_eq!(ending_at(text, offset), ending, "{text:?} at {offset}");
    }
}

#[test]
fn the_whole_ending_is_removed() {
    for (line, rest) in
        [("a\n", "a"), ("a\r\n", "a"), ("a\r", "a\r"), ("a", "a"), ("\r\n", ""), ("a\r\r\n", "a\r")]
    {
        assert_eq!(without_ending(line), rest);
    }
}
