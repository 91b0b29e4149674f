//! Tests of `line_range`.

#![allow(clippy::unwrap_used)]

use super::*;

/// Returns the lines, from 1, that a pair covers, or the kind of error.
fn read(start: i64, end: i64, n_lines: u64) -> Result<(u64, u64), ErrorKind> {
    let range = Interval { start, end }.to_read("f", n_lines).map_err(kind)?;
    Ok((range.start + 1, range.end))
}

fn change(start: i64, end: i64, n_lines: usize) -> Result<(usize, usize), ErrorKind> {
    let range = Interval { start, end }.to_change("f", n_lines).map_err(kind)?;
    Ok((range.start + 1, range.end))
}

const NOTHING: Result<(u64, u64), ErrorKind> = Ok((1, 0));

#[derive(Debug, PartialEq)]
enum ErrorKind {
    Empty,
    Outside,
}

const EMPTY: ErrorKind = ErrorKind::Empty;
const OUTSIDE: ErrorKind = ErrorKind::Outside;

fn kind(error: Error) -> ErrorKind {
    match error {
        Error::EmptyRange { .. } => EMPTY,
        Error::LinePastEnd { .. } | Error::NoSuchLine { .. } => OUTSIDE,
        other => panic!("{other}"),
    }
}

#[test]
fn reads_clamp() {
    for (start, end, n_lines, expected) in [
        (0, 0, 5, Ok((1, 5))),
        (1, 0, 5, Ok((1, 5))),
        (2, 3, 5, Ok((2, 2))),
        (2, 4, 5, Ok((2, 3))),
        (5, 6, 5, Ok((5, 5))),
        (1, -1, 5, Ok((1, 4))),
        (-1, 0, 5, Ok((5, 5))),
        (-20, 0, 5, Ok((1, 5))),
        (-3, -1, 5, Ok((3, 4))),
        (3, 99, 5, Ok((3, 5))),
        (0, 2, 5, Ok((1, 1))),
        (6, 0, 5, Err(OUTSIDE)),
        (6, 7, 5, Err(OUTSIDE)),
        (5, 5, 5, Err(EMPTY)),
        (4, 2, 5, Err(EMPTY)),
        (-1, -3, 5, Err(EMPTY)),
        (1, -9, 5, Err(EMPTY)),
        (0, 1, 5, Err(EMPTY)),
        (i64::MIN, i64::MAX, 5, Ok((1, 5))),
        (i64::MAX, i64::MIN, 5, Err(OUTSIDE)),
        (0, 0, 0, NOTHING),
        (1, 5, 0, NOTHING),
        (-4, 0, 0, NOTHING),
        (2, 0, 0, Err(OUTSIDE)),
        (0, 0, 1, Ok((1, 1))),
        (-1, 0, 1, Ok((1, 1))),
        (1, 2, 1, Ok((1, 1))),
        (1, -1, 1, Err(EMPTY)),
        (2, 3, 1, Err(OUTSIDE)),
    ] {
        assert_eq!(read(start, end, n_lines), expected, "[{start}, {end}] of {n_lines}");
    }
}

#[test]
fn changes_do_not_clamp() {
    for (start, end, n_lines, expected) in [
        (0, 0, 5, Ok((1, 5))),
        (2, 3, 5, Ok((2, 2))),
        (5, 6, 5, Ok((5, 5))),
        (-5, 0, 5, Ok((1, 5))),
        (-1, 0, 5, Ok((5, 5))),
        (1, -1, 5, Ok((1, 4))),
        (-6, 0, 5, Err(OUTSIDE)),
        (6, 0, 5, Err(OUTSIDE)),
        (3, 7, 5, Err(OUTSIDE)),
        (1, -6, 5, Err(OUTSIDE)),
        (3, 3, 5, Err(EMPTY)),
        (4, 2, 5, Err(EMPTY)),
        (0, 0, 0, Err(OUTSIDE)),
        (1, 1, 0, Err(OUTSIDE)),
        (1, 2, 1, Ok((1, 1))),
        (i64::MIN, i64::MAX, 5, Err(OUTSIDE)),
    ] {
        assert_eq!(change(start, end, n_lines), expected, "[{start}, {end}] of {n_lines}");
    }
}

#[test]
fn a_line_is_named_from_either_end() {
    for (line, n_lines, expected) in [
        (1, 3, Some(0)),
        (3, 3, Some(2)),
        (-1, 3, Some(2)),
        (-3, 3, Some(0)),
        (0, 3, None),
        (4, 3, None),
        (-4, 3, None),
        (1, 0, None),
        (i64::MIN, 3, None),
        (i64::MAX, 3, None),
    ] {
        assert_eq!(line_to_change(line, "f", n_lines).ok(), expected, "{line} of {n_lines}");
    }
}

#[test]
fn an_empty_range_suggests_the_probable_range() {
    for (start, end, meant) in [(5, 5, (5, 6)), (7, 3, (3, 8)), (-1, -3, (8, 11)), (0, 1, (1, 2))] {
        let error = Interval { start, end }.to_read("f", 10).unwrap_err();
        assert_eq!(error, Error::EmptyRange { start, end, meant });
    }
}

#[test]
fn every_pair_of_integers_is_a_range_or_an_error() {
    let numbers = [i64::MIN, -1000, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 1000, i64::MAX];
    for start in numbers {
        for end in numbers {
            for n_lines in [0, 1, 3, usize::MAX] {
                let spec = Interval { start, end };
                if let Ok(range) = spec.to_read("f", n_lines as u64) {
                    assert!(range.start <= range.end && range.end <= n_lines as u64);
                }
                if let Ok(range) = spec.to_change("f", n_lines) {
                    assert!(range.start < range.end && range.end <= n_lines);
                }
            }
        }
    }
}
