//! Tests of `moments`.

#![allow(clippy::unwrap_used)]

use super::{Moment, MomentKind, Styles};

fn check(text: &str, expected: &str) {
    let moment = Moment::parse(text).unwrap_or_else(|| panic!("{text} is no moment"));
    assert_eq!(moment.to_iso(Styles::ALL), expected, "{text}");
}

#[test]
fn writes_dates_as_iso() {
    check("2024-12-31", "2024-12-31");
    check("2024/1/5", "2024-01-05");
    check("31.12.2024", "2024-12-31");
    check("31/12/2024", "2024-12-31");
    check("12/31/2024", "2024-12-31");
    check("31 12 2024", "2024-12-31");
}

#[test]
fn reads_two_digit_years_by_their_separator() {
    check("24-12-31", "2024-12-31");
    check("10.2.24", "2024-02-10");
    check("1/13/99", "1999-01-13");
}

#[test]
fn writes_times_as_iso() {
    check("9:30", "09:30:00");
    check("23:59:59.250", "23:59:59.250");
    check("9:30 PM", "21:30:00");
    check("12:00 am", "00:00:00");
}

#[test]
fn writes_timestamps_as_iso() {
    check("2024-01-01 12:00", "2024-01-01T12:00:00");
    check("2024-01-01T12:00:00Z", "2024-01-01T12:00:00Z");
    check("2024-01-01 12:00:00 UTC", "2024-01-01T12:00:00Z");
    check("2024-01-01T12:00:00.5-0530", "2024-01-01T12:00:00.5-05:30");
    check("2024-01-01 12:00:00+02", "2024-01-01T12:00:00+02:00");
    check("31/12/2024 1:05:00 PM", "2024-12-31T13:05:00");
    check("2024-01-01 12:00:00 CET", "2024-01-01T12:00:00 CET");
    check("1/31/2024 9:05 PM EST", "2024-01-31T21:05:00 EST");
    check("2024-01-01T10:00 America/New_York", "2024-01-01T10:00:00 America/New_York");
    check("2024-01-01T10:00Z[UTC]", "2024-01-01T10:00:00Z[UTC]");
}

#[test]
fn lets_the_column_decide_between_day_and_month() {
    let ambiguous = Moment::parse("03/04/2024").unwrap();
    let american = Moment::parse("12/31/2024").unwrap();
    assert_eq!(ambiguous.to_iso(ambiguous.styles()), "2024-04-03");
    assert_eq!(ambiguous.to_iso(american.styles()), "2024-03-04");
}

#[test]
fn finds_no_style_for_contradicting_dates() {
    let day_first = Moment::parse("31/12/2024").unwrap();
    let month_first = Moment::parse("12/31/2024").unwrap();
    assert!(day_first.styles().and(month_first.styles()).is_empty());
    let dots = Moment::parse("31.12.2024").unwrap();
    assert!(day_first.styles().and(dots.styles()).is_empty());
}

#[test]
fn distinguishes_dates_times_and_timestamps() {
    assert_eq!(Moment::parse("2024-12-31").unwrap().shape(), MomentKind::Date);
    assert_eq!(Moment::parse("12:30").unwrap().shape(), MomentKind::Time);
    assert_eq!(Moment::parse("2024-12-31 12:30").unwrap().shape(), MomentKind::Timestamp);
}

#[test]
fn leaves_the_rest_alone() {
    let others = [
        "2024",
        "20241231",
        "2024-02-30",
        "1.2.3",
        "3:4",
        "25:00:00",
        "12:60",
        "10:00:00Z",
        "99/99/9999",
        "2024-01-01 10",
        "2024-13-01",
        "2024-01-01T",
        "1-2",
        "2024-01-01-01",
        "2024-01/01",
        "13:00 PM",
        "2024-01-01T10:00:00 Europe",
        "2024-01-01T10:00:00 XYZ",
        "10:00:00 CET",
        "2024-01-01T10:00:00[Europe/Berlin]",
        "a:b",
        "12:30:5",
        "2024-01-01T10:00:00+99:00",
        "1:é",
        "12:30 é",
    ];
    for text in others {
        assert_eq!(Moment::parse(text), None, "{text}");
    }
}
