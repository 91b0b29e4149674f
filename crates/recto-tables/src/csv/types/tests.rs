//! Tests of `csv::types`.

use super::Candidates;
use crate::table::Value;

/// Returns the type of a column of these fields in a file with that delimiter, and its values as
/// JSON.
fn read(delimiter: u8, fields: &[&str]) -> String {
    let mut candidates = Candidates::new();
    fields.iter().for_each(|field| candidates.observe(field));
    let reading = candidates.reading(Some(delimiter));
    let values = fields.iter().map(|field| reading.value(field));
    let values: Vec<String> = values.map(|value| Value::to_json(value).to_string()).collect();
    format!("{}: {}", reading.kind(), values.join(" "))
}

fn check(fields: &[&str], expected: &str) {
    assert_eq!(read(b',', fields), expected, "{fields:?}");
}

#[test]
fn reads_integers() {
    check(&["1", "-2", "0", "-0"], "integer: 1 -2 0 0");
    check(&["1", "", " 2 "], "integer: 1 null 2");
    check(&["9223372036854775808", "1"], "integer: 9223372036854775808 1");
    check(&["18446744073709551616", "1"], r#"integer: "18446744073709551616" 1"#);
    check(&["9007199254740993", "1e3", "7"], "number: 9007199254740993 1000.0 7.0");
}

#[test]
fn reads_codes_as_text() {
    check(&["007", "12"], r#"text: "007" "12""#);
    check(&["+5", "6"], r#"text: "+5" "6""#);
    check(&["00.5", "1"], r#"text: "00.5" "1""#);
    check(&["1_000", "2"], r#"text: "1_000" "2""#);
    check(&["-", "5"], r#"text: "-" "5""#);
    check(&["0x10"], r#"text: "0x10""#);
}

#[test]
fn reads_numbers() {
    check(&["1", "2.5"], "number: 1.0 2.5");
    check(&[".5", "1.", "1e3", "-2.5E-1"], "number: 0.5 1.0 1000.0 -0.25");
    check(&["1.5", "1e400"], r#"number: 1.5 "1e400""#);
    check(&["1.5.2", "1"], r#"text: "1.5.2" "1""#);
    check(&["1e", "."], r#"text: "1e" ".""#);
}

#[test]
fn nan_words_count_only_among_numbers() {
    check(&["1", "NaN", "-inf"], r#"number: 1.0 "NaN" "-inf""#);
    check(&["nan", "NaN"], r#"number: "nan" "NaN""#);
    check(&["NaN", "x"], r#"text: "NaN" "x""#);
}

#[test]
fn reads_decimal_commas_where_semicolons_delimit() {
    assert_eq!(read(b';', &["1,5", "-2"]), "number: 1.5 -2.0");
    assert_eq!(
        read(b';', &["1.234,5", "2.345.678,25", "1.000"]),
        "number: 1234.5 2345678.25 1000.0"
    );
    assert_eq!(read(b';', &["1.5", "2.25"]), "number: 1.5 2.25");
    assert_eq!(read(b';', &["1,5", "2.25"]), r#"text: "1,5" "2.25""#);
    assert_eq!(read(b';', &["1,5,6"]), r#"text: "1,5,6""#);
    assert_eq!(read(b';', &["01,5"]), r#"text: "01,5""#);
    check(&["1,5", "2,5"], r#"text: "1,5" "2,5""#);
}

#[test]
fn does_not_take_thousands_for_fractions() {
    assert_eq!(read(b'\t', &["1,234", "5,678"]), r#"text: "1,234" "5,678""#);
    assert_eq!(read(b'\t', &["1,234", "5,6"]), "number: 1.234 5.6");
}

#[test]
fn reads_booleans_as_duckdb_does() {
    check(&["true", "F", "Yes", "no"], "boolean: true false true false");
    check(&["y", "n"], r#"text: "y" "n""#);
    check(&["true", "1"], r#"text: "true" "1""#);
}

#[test]
fn reads_dates_by_the_whole_column() {
    check(&["01/02/2024", "31/12/2024"], r#"date: "2024-02-01" "2024-12-31""#);
    check(&["01/02/2024", "12/31/2024"], r#"date: "2024-01-02" "2024-12-31""#);
    check(&["12/31/2024", "31/12/2024"], r#"text: "12/31/2024" "31/12/2024""#);
    check(&["2024-01-01", "01.01.2024"], r#"text: "2024-01-01" "01.01.2024""#);
    check(&["2024-01-01", "12:30"], r#"text: "2024-01-01" "12:30""#);
    check(&["9:30", ""], r#"time: "09:30:00" null"#);
    check(&["2024-01-01", "5"], r#"text: "2024-01-01" "5""#);
}

#[test]
fn a_date_among_timestamps_is_midnight() {
    let (day, morning, noon) = ("2024-01-31", "2024-01-31 08:30", "2024-02-29T12:00:00Z");
    let both = r#""2024-01-31T08:30:00" "2024-02-29T12:00:00Z""#;
    check(&[day, morning, noon], &format!(r#"timestamp: "2024-01-31" {both}"#));
    check(&[morning, noon, "", day], &format!(r#"timestamp: {both} null "2024-01-31""#));
    check(&[morning, day], r#"text: "2024-01-31 08:30" "2024-01-31""#);
    check(&[day, morning, day], r#"text: "2024-01-31" "2024-01-31 08:30" "2024-01-31""#);
    check(&[day, day], r#"date: "2024-01-31" "2024-01-31""#);
}

#[test]
fn such_a_date_must_match_the_style_of_the_timestamps() {
    check(
        &["1/2/2024 8:30", "31/1/2024", "1/3/2024 9:30"],
        r#"timestamp: "2024-02-01T08:30:00" "2024-01-31" "2024-03-01T09:30:00""#,
    );
    check(
        &["1/2/2024 8:30", "1/31/2024", "1/3/2024 9:30"],
        r#"timestamp: "2024-01-02T08:30:00" "2024-01-31" "2024-01-03T09:30:00""#,
    );
    check(
        &["2024-01-31 8:30", "2024/01/31", "2024-01-31 9:30"],
        r#"text: "2024-01-31 8:30" "2024/01/31" "2024-01-31 9:30""#,
    );
    check(
        &["2024-01-31 8:30", "9:30", "2024-01-31 9:30"],
        r#"text: "2024-01-31 8:30" "9:30" "2024-01-31 9:30""#,
    );
}

#[test]
fn keeps_text_as_written() {
    check(&[" a ", "b"], r#"text: " a " "b""#);
    check(&["NULL", "NA", ""], r#"text: "NULL" "NA" null"#);
    check(&["", ""], "text: null null");
    check(&["5%", "$5"], r#"text: "5%" "$5""#);
}
