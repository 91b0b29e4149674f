//! Tests of `render`.

use super::markdown;
use crate::table::{Alignment, Column, Table, Type, Value};

fn check(kind: Type, value: Value, expected: &str) {
    let columns = vec![Column { name: "a".into(), kind }];
    let rows = vec![vec![value]];
    let table = Table { columns, n_columns: None, rows, has_more: false, notes: Vec::new() };
    let text = markdown(&table);
    assert_eq!(text.lines().nth(2), Some(expected));
    assert_eq!(text.lines().count(), 3);
}

fn check_text(value: &str, expected: &str) {
    check(Type::Text, Value::Text(value.into()), expected);
}

#[test]
fn names_the_type_and_aligns_numbers() {
    let column = |name: &str, kind| Column { name: name.into(), kind };
    let columns = vec![column("a|b", Type::Text), column("n", Type::Integer)];
    let rows = vec![vec![Value::Text("x".into()), Value::Integer(5)]];
    let table = Table { columns, n_columns: None, rows, has_more: false, notes: Vec::new() };
    expect_test::expect![[r#"
        | a\|b (text) | n (integer) |
        | --- | --: |
        | x | 5 |
    "#]]
    .assert_eq(&markdown(&table));
}

#[test]
fn keeps_a_value_in_its_cell() {
    check_text("a|b", r"| a\|b |");
    check_text(r"a\|b", r"| a\\\|b |");
    check_text(r"a\", r"| a\\ |");
    check_text(r"a\b", r"| a\b |");
    check_text("a\nb\r\nc\rd", "| a⏎b⏎c⏎d |");
}

#[test]
fn makes_invisible_characters_visible() {
    check_text("a\tb\0c\x1bd", "| a⇥b␀c␛d |");
    check_text("a\u{202e}b", r"| a\u{202e}b |");
}

#[test]
fn distinguishes_empty_text_from_null() {
    check_text("", "| \"\" |");
    check(Type::Text, Value::Null, "|  |");
}

#[test]
fn writes_numbers_as_json_does() {
    check(Type::Number, Value::Number(1.0), "| 1.0 |");
    check(Type::Number, Value::Number(1e300), "| 1e+300 |");
    check(Type::Boolean, Value::Boolean(true), "| true |");
    check(Type::Json, Value::Json(serde_json::json!({"a": [1, "x"]})), r#"| {"a":[1,"x"]} |"#);
}

#[test]
fn is_empty_without_columns() {
    let table =
        Table { columns: vec![], n_columns: None, rows: vec![], has_more: false, notes: vec![] };
    assert_eq!(markdown(&table), "");
}

#[test]
fn keeps_a_type_in_its_cell() {
    let kind = Type::Exact("a|\n\u{1b}b".into(), Alignment::Left);
    let columns = vec![Column { name: "n".into(), kind }];
    let table = Table { columns, n_columns: None, rows: vec![], has_more: false, notes: vec![] };
    assert_eq!(markdown(&table), "| n (a\\|⏎␛b) |\n| --- |\n");
}
