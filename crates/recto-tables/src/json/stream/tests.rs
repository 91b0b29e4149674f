//! Tests of `json::stream`.

#![allow(clippy::unwrap_used)]

use super::Values;
use crate::error::Error;
use crate::text::Text;

/// Returns the values and the error that ends them.
fn read(text: &str) -> String {
    let mut input = text.as_bytes();
    let mut shown = Vec::new();
    let mut values = match Text::open(&mut input).and_then(Values::new) {
        Ok(values) => values,
        Err(error) => return error.to_string(),
    };
    loop {
        match values.next_value() {
            Ok(Some(value)) => {
                let value: serde_json::Value = serde_json::from_str(&value).unwrap();
                shown.push(value.to_string());
            }
            Ok(None) => return shown.join(" "),
            Err(error) => {
                shown.push(error.to_string());
                return shown.join(" ");
            }
        }
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(read(text), expected, "{text:?}");
}

#[test]
fn reads_the_elements_of_an_array() {
    check("[1, \"a]\", {\"b\": [2]}]", r#"1 "a]" {"b":[2]}"#);
    check(" [ ] ", "");
}

#[test]
fn reads_a_sequence_of_values() {
    check("{\"a\": 1}\n{\"a\": 2}\n", r#"{"a":1} {"a":2}"#);
    check("{}{} [1]", "{} {} [1]");
    check("1 2\ntrue null", "1 2 true null");
    check("[1, 2]\n[3]\n", "[1,2] [3]");
    check("", "");
}

#[test]
fn reports_the_position_of_an_error() {
    check("[1, 2", "1 2 line 1, column 6: the array has no end");
    check("[1 2]", "1 line 1, column 4: expected `,` or `]`");
    check("[1] x", "1 line 1, column 5: something follows the array");
    check("{\"a\": 1}\n  {\"ä\" 2}\n", "{\"a\":1} line 2, column 8: expected `:`");
    check("[{\"a\": 1},\n{\"b\":\n  x}]", "{\"a\":1} line 3, column 3: expected value");
    check("{\"a\": \"b", "line 1, column 8: EOF while parsing a string");
    check("[1,]", "1 line 1, column 4: expected value");
    check("}", "line 1, column 1: expected value");
    check("é", "line 1, column 1: expected value");
}

#[test]
fn reads_nan_as_python_writes_it() {
    check("[NaN, {\"a\": -Infinity, \"b\": \"NaN\"}]", r#"null {"a":null,"b":"NaN"}"#);
}

#[test]
fn refuses_what_is_too_deep_or_too_large() {
    let deep = "[".repeat(100_000);
    assert!(read(&deep).contains("nested deeper than"));
    let mut input = std::io::Read::chain(&b"{\"a\": \""[..], std::io::repeat(b'x'));
    let mut values = Values::new(Text::open(&mut input).unwrap()).unwrap();
    assert!(matches!(values.next_value(), Err(Error::TooLarge { .. })));
    let mut input = std::io::repeat(b' ');
    assert!(matches!(Values::new(Text::open(&mut input).unwrap()), Err(Error::TooLarge { .. })));
}

#[test]
fn enters_a_member_that_is_an_array() {
    let mut input = &br#"{"x": {"features": [0]}, "features": [1, 2], "y": bad}"#[..];
    let mut values = Values::new(Text::open(&mut input).unwrap()).unwrap();
    values.enter_member("features");
    assert_eq!(values.next_value().unwrap(), Some("1".into()));
    assert_eq!(values.next_value().unwrap(), Some("2".into()));
    assert_eq!(values.next_value().unwrap(), None);
}

#[test]
fn a_long_text_is_not_white_space() {
    // Each value ends where a buffer does.
    let line = format!("\"{}\"\n", "x".repeat((64 << 10) - 3));
    let text = line.repeat(1_100);
    let mut input = text.as_bytes();
    let mut values = Values::new(Text::open(&mut input).unwrap()).unwrap();
    let mut n_values = 0;
    while values.next_value().unwrap().is_some() {
        n_values += 1;
    }
    assert_eq!(n_values, 1_100);
}
