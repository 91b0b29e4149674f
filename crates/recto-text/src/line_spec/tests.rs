//! Tests of `line_spec`.

#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

use super::*;

/// Returns the lines, from 1, that a specification selects in a file of ten.
fn lines(spec: &str) -> Vec<u64> {
    let spec = LineSpec::parse(spec).unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    spec.resolve(10, 0).into_iter().flatten().map(|line_idx| line_idx + 1).collect()
}

#[test]
fn selects_lines_of_a_file_of_ten() {
    for (spec, expected) in [
        ("5", vec![5]),
        ("1", vec![1]),
        ("10", vec![10]),
        ("11", vec![]),
        ("2-4", vec![2, 3, 4]),
        ("2...4", vec![2, 3, 4]),
        ("4-4", vec![4]),
        ("-3", vec![1, 2, 3]),
        ("...3", vec![1, 2, 3]),
        ("-1", vec![1]),
        ("-20", (1..=10).collect()),
        ("8-", vec![8, 9, 10]),
        ("8...", vec![8, 9, 10]),
        ("11-", vec![]),
        ("9-99", vec![9, 10]),
        ("20-30", vec![]),
        ("+1", vec![10]),
        ("+10", vec![1]),
        ("+11", vec![]),
        ("+11 +/-3", vec![]),
        ("+20-+15", vec![]),
        ("+20-+10", vec![1]),
        ("+3-", vec![8, 9, 10]),
        ("+3...", vec![8, 9, 10]),
        ("+10-", (1..=10).collect()),
        ("+99-", (1..=10).collect()),
        ("+4-+2", vec![7, 8, 9]),
        ("+4...+2", vec![7, 8, 9]),
        ("+1-+1", vec![10]),
        ("2-+2", (2..=9).collect()),
        ("8-+3", vec![8]),
        ("9-+5", vec![]),
        ("9-+5 +/-9", vec![]),
        ("3 +/-1", vec![2, 3, 4]),
        ("3+/-1", vec![2, 3, 4]),
        ("3 +/-0", vec![3]),
        ("1 +/-2", vec![1, 2, 3]),
        ("10 +/-2", vec![8, 9, 10]),
        ("3 -2", vec![1, 2, 3]),
        ("3 +2", vec![3, 4, 5]),
        ("3 -1+2", vec![2, 3, 4, 5]),
        ("3  -1+2", vec![2, 3, 4, 5]),
        ("4-6 +/-1", vec![3, 4, 5, 6, 7]),
        ("4-6 -1", vec![3, 4, 5, 6]),
        ("4-6 +1", vec![4, 5, 6, 7]),
        ("+2 +/-1", vec![8, 9, 10]),
        ("-2 +1", vec![1, 2, 3]),
        ("11 +/-3", vec![]),
        ("1,3,5-7", vec![1, 3, 5, 6, 7]),
        ("5-7,1,3", vec![1, 3, 5, 6, 7]),
        ("1, 3, 5-7", vec![1, 3, 5, 6, 7]),
        ("2-5,4-6", vec![2, 3, 4, 5, 6]),
        ("1-2,3-4", vec![1, 2, 3, 4]),
        ("5,5,5", vec![5]),
        ("1,+1", vec![1, 10]),
        ("2 +/-1,9 +/-1", vec![1, 2, 3, 8, 9, 10]),
        ("1,50", vec![1]),
        (" 5 ", vec![5]),
        ("5-18446744073709551616", (5..=10).collect()),
        ("99999999999999999999999", vec![]),
        ("5 +/-99999999999999999999999", (1..=10).collect()),
    ] {
        assert_eq!(lines(spec), expected, "{spec:?}");
    }
}

#[test]
fn anything_else_is_an_error() {
    for spec in [
        "",
        " ",
        ",",
        "1,",
        ",1",
        "0",
        "-0",
        "0-3",
        "+0",
        "5-3",
        "5...3",
        "+2-+4",
        "10..12",
        "5..",
        "..5",
        "5+/-2x",
        "5 +/-",
        "5 +/-x",
        "5 2",
        "5 -",
        "5 +",
        "5 -1-2",
        "5 +1+2",
        "5 +1-2",
        "5 /2",
        "abc",
        "1-a",
        "a-1",
        "1--3",
        "--3",
        "-",
        "...",
        "+",
        "+-3",
        "1-2-3",
        "1...2...3",
        "1;2",
        "1.5",
        "１",
        "5 +/--2",
        "1-2 3-4",
        "-+3",
        "+3-2",
        "+5-8",
        "+5...8",
    ] {
        let error = LineSpec::parse(spec).unwrap_err();
        assert_eq!(error, Error::BadLineSpec { lines: spec.into() });
    }
}

#[test]
fn more_context_widens_every_range() {
    let spec = LineSpec::parse("3,8").unwrap();
    assert_eq!(spec.resolve(10, 1), [1..4, 6..9]);
    assert_eq!(spec.resolve(10, 2), [0..10]);
    assert_eq!(spec.resolve(10, u64::MAX), [0..10]);
    assert_eq!(spec.resolve(0, 5), Vec::<Range<u64>>::new());
}

#[test]
fn continuing_keeps_the_specification() {
    let spec = LineSpec::parse("1,3 +/-2 from 4").unwrap();
    assert_eq!((spec.from(), spec.resolve(9, 0)), (4, vec![0..5]));
    assert_eq!(LineSpec::from_line(Some(&spec), 7), "1,3 +/-2 from 7");
    assert_eq!(LineSpec::from_line(None, 7), "1- from 7");
    for wrong in ["1 from", "1 from 0", "1 from x", "from 3", "1 from 3 from 4", "1 from 3,5"] {
        assert!(LineSpec::parse(wrong).is_err(), "{wrong}");
    }
}

/// Found by the target `lines` of `dev/fuzz`.
#[test]
fn a_file_without_lines_has_no_ranges() {
    for spec in ["+8-+4", "1-", "+1", "-3", "5 +/-9"] {
        assert_eq!(LineSpec::parse(spec).unwrap().resolve(0, 3), [], "{spec}");
    }
}
