//! Tests of `json::columns`.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::{JsonCell, Kinds};
use crate::table::{Type, Value};

fn kind(values: serde_json::Value) -> Type {
    let mut kinds = Kinds::default();
    values.as_array().unwrap().iter().for_each(|value| kinds.observe(&value.to_string()));
    kinds.kind()
}

#[test]
fn finds_the_type_that_fits_all_values() {
    assert_eq!(kind(json!([1, null, 2])), Type::Integer);
    assert_eq!(kind(json!([1, 2.5])), Type::Number);
    assert_eq!(kind(json!([true, false])), Type::Boolean);
    assert_eq!(kind(json!(["a", "1"])), Type::Text);
    assert_eq!(kind(json!([[1], {"a": 1}])), Type::Json);
    assert_eq!(kind(json!([null])), Type::Text);
}

#[test]
fn shows_values_without_a_common_type_as_json() {
    assert_eq!(kind(json!([1, "a"])), Type::Json);
    assert_eq!(kind(json!([1, true])), Type::Json);
    assert_eq!(kind(json!(["a", ["b"]])), Type::Json);
}

#[test]
fn finds_dates_and_times_in_strings() {
    assert_eq!(kind(json!(["2024-01-31", null])), Type::Date);
    assert_eq!(kind(json!(["2024-01-31T10:00:00Z"])), Type::Timestamp);
    assert_eq!(kind(json!(["10:00:00"])), Type::Time);
    assert_eq!(kind(json!(["31/12/2024"])), Type::Text);
    assert_eq!(kind(json!(["2024-01-31", "x"])), Type::Text);
    assert_eq!(kind(json!(["2024-01-31", "10:00"])), Type::Text);
}

#[test]
fn a_date_among_timestamps_is_midnight() {
    let (day, morning, noon) = ("2024-01-31", "2024-01-31T08:30:00", "2024-02-29T12:00:00Z");
    assert_eq!(kind(json!([day, morning, noon])), Type::Timestamp);
    assert_eq!(kind(json!([morning, null, noon, null, day])), Type::Timestamp);
    assert_eq!(kind(json!([morning, day])), Type::Text);
    assert_eq!(kind(json!([day, morning, day])), Type::Text);
    assert_eq!(kind(json!([morning, "31.01.2024", noon])), Type::Text);
    assert_eq!(kind(json!([morning, noon, "08:30:00"])), Type::Text);
}

#[test]
fn keeps_digits_beyond_64_bits() {
    let value = |digits: &str, kind| JsonCell::new(digits, 100).into_value(&kind);
    let digits = "-123456789012345678901234567890";
    assert_eq!(value(digits, Type::Integer), Value::Text(digits.into()));
    assert_eq!(value("18446744073709551615", Type::Integer), Value::Json(u64::MAX.into()));
    assert_eq!(value("9007199254740993", Type::Number), Value::Integer(9_007_199_254_740_993));
    assert_eq!(value("5", Type::Number), Value::Number(5.0));
    let cell = JsonCell::new("1e400", 100);
    assert_eq!(cell.into_value(&Type::Number), Value::Text("1e400".into()));
}

#[test]
fn numbers_are_the_nearest_floats() {
    for text in ["-477.05491412124525", "0.37265156130584526", "1.7976931348623157e308", "5e-324"] {
        let number = Value::Number(text.parse().unwrap());
        assert_eq!(JsonCell::new(text, 100).into_value(&Type::Number), number);
        let nested = JsonCell::new(&format!("{{\"a\":[{text}]}}"), 100).into_value(&Type::Json);
        let Value::Json(nested) = nested else { panic!("{nested:?}") };
        assert_eq!(nested["a"][0].as_f64(), text.parse().ok(), "{text}");
    }
}

#[test]
fn minus_zero_is_a_number() {
    let value = |kind| JsonCell::new("-0", 100).into_value(&kind);
    assert_eq!(value(Type::Integer), Value::Integer(0));
    assert_eq!(value(Type::Number), Value::Number(-0.0));
    assert_eq!(value(Type::Json), Value::Json((-0.0).into()));
}

#[test]
fn cuts_long_values() {
    let nested = JsonCell::new(&format!("{{ \"a\":\n  \"{}\" }}", "x".repeat(50)), 20);
    let expected = format!("{{\"a\":\"{}… (+38 characters)", "x".repeat(14));
    assert_eq!(nested.into_value(&Type::Json), Value::Text(expected));
}

#[test]
fn integers_in_nested_values_keep_their_digits() {
    let is_whole = |value: &str| matches!(JsonCell::new(value, 1_000), JsonCell::Whole(_));
    for value in [
        "[18446744073709551615,-9223372036854775808]",
        r#"{"a":"18446744073709551616"}"#,
        r#"{"a":"\\\"1,18446744073709551616"}"#,
        "[18446744073709551616.5]",
    ] {
        assert!(is_whole(value), "{value}");
    }
    for value in [
        "[18446744073709551616]",
        r#"{"a":{"b":-9223372036854775809}}"#,
        r#"{"a":"x\"y","b":18446744073709551616}"#,
        r#"{"a":"\\","b":18446744073709551616}"#,
    ] {
        assert!(!is_whole(value), "{value}");
        assert_eq!(JsonCell::new(value, 1_000).into_value(&Type::Json), Value::Text(value.into()));
    }
}
