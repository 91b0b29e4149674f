//! Tests of `json`.

#![allow(clippy::unwrap_used)]

use super::{is_convincing, preview};
use crate::{Request, Table, Value};

fn read(name: &str, text: &str, limit: usize) -> Table {
    preview(&mut text.as_bytes(), &Request::new(name, limit, 10_000)).unwrap()
}

fn names(table: &Table) -> Vec<String> {
    table.columns.iter().map(|column| format!("{} {}", column.name, column.kind)).collect()
}

#[test]
fn reports_whether_there_are_more_rows() {
    let text = r#"[{"a": 1}, {"a": 2}, {"a": 3}]"#;
    assert!(read("a.json", text, 2).has_more);
    assert!(!read("a.json", text, 3).has_more);
}

#[test]
fn uses_keys_and_types_of_rows_that_are_not_shown() {
    let table = read("a.json", r#"[{"a": 1}, {"a": 2.5, "b": true}]"#, 1);
    assert_eq!(names(&table), ["a number", "b boolean"]);
    assert_eq!(table.rows, [[Value::Number(1.0), Value::Null]]);
}

#[test]
fn ignores_errors_after_the_requested_rows() {
    let text = "{\"a\": 1}\n{\"a\": 2}\n{broken\n";
    assert_eq!(read("a.ndjson", text, 1).rows.len(), 1);
    let request = Request::new("a.ndjson", 5, 10_000);
    assert!(preview(&mut text.as_bytes(), &request).is_err());
}

#[test]
fn skips_an_incomplete_last_line() {
    let whole = "{\"a\": 1}\n{\"a\": 2}\n";
    for part in ["{", "{\"a", "{\"a\": tr", "{\"a\": [1, {\"b\": \"x\\", "\"x", "tru", "[1,"] {
        let table = read("a.ndjson", &format!("{whole}{part}"), 5);
        assert_eq!(table.rows.len(), 2, "{part}");
        assert_eq!(table.notes, ["The last line is incomplete and was skipped."], "{part}");
    }
    // Errors elsewhere, or of another kind, are still reported.
    for text in ["{\"a\": ", "[{\"a\": 1}, {\"a\": ", "{\"a\": 1}\n{\"a\": \n", "{}\n{\"a\" 1"] {
        let request = Request::new("a.ndjson", 5, 10_000);
        assert!(preview(&mut text.as_bytes(), &request).is_err(), "{text}");
    }
}

#[test]
fn reports_the_number_of_columns_if_known() {
    let object = |n_keys: usize| {
        let members: Vec<String> = (0..n_keys).map(|key| format!("\"k{key}\": 1")).collect();
        format!("[{{{}}}]", members.join(", "))
    };
    assert_eq!(read("a.json", &object(4_096), 1).n_columns, Some(4_096));
    assert_eq!(read("a.json", &object(4_097), 1).n_columns, None);
}

#[test]
fn shows_objects_without_common_keys_whole() {
    let text: String = (0..1_000).map(|row| format!("{{\"key{row}\": {row}}}\n")).collect();
    let table = read("a.ndjson", &text, 2);
    assert_eq!(names(&table), ["json json"]);
    assert_eq!(table.rows[0], [Value::Json(serde_json::json!({"key0": 0}))]);
}

#[test]
fn flattens_features() {
    let text = r#"{"type": "FeatureCollection", "features": [
        {"type": "Feature", "id": 7, "geometry": null, "properties": {"a": 1, "id": 2}},
        {"type": "Feature", "geometry": {"type": "Point"}, "properties": null}]}"#;
    let table = read("a.geojson", text, 5);
    assert_eq!(names(&table), ["geometry json", "id integer", "a integer", "id_1 integer"]);
    assert_eq!(table.rows.len(), 2);
}

#[test]
fn reads_only_as_much_as_it_needs() {
    let endless = std::io::Read::chain(&b"[1"[..], Elements);
    let request = Request::new("a.json", 10, 10_000);
    let table = preview(&mut { endless }, &request).unwrap();
    assert_eq!(table.rows.len(), 10);
    assert!(table.has_more);
}

/// An endless array.
struct Elements;

impl std::io::Read for Elements {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n_bytes = buffer.len() / 2 * 2;
        buffer[..n_bytes].chunks_mut(2).for_each(|pair| pair.copy_from_slice(b",1"));
        Ok(n_bytes)
    }
}

#[test]
fn accepts_only_json() {
    let json = [
        "{\"a\": 1}",
        "[1, 2]\n",
        "{\"a\": 1}\n{\"a\": 2}",
        "[{\"a\": 1}, {\"a\"",
        " {\n \"a\": [",
    ];
    for text in json {
        assert!(is_convincing(text), "{text:?}");
    }
    let others = [
        "",
        "5",
        "[link](x)",
        "[1]: https://x",
        "[section]\na = 1",
        "{ let a = 1; }",
        "[1] and more",
    ];
    for text in others {
        assert!(!is_convincing(text), "{text:?}");
    }
}

#[test]
fn notes_large_integers_in_every_kind_of_column() {
    for text in [
        r#"[{"a": 18446744073709551616, "b": 1}]"#,
        r#"[{"a": 18446744073709551616, "b": 1}, {"a": "x"}]"#,
        r#"[{"a": {"c": [18446744073709551616]}, "b": 1}]"#,
    ] {
        let table = crate::fit::fit(read("a.json", text, 5), 1_000);
        assert_eq!(table.notes, ["Numbers beyond 64 bits are text in: a."], "{text}");
    }
    let exact = crate::fit::fit(read("a.json", r#"[{"a": [1]}, {"a": "1[x]"}]"#, 5), 1_000);
    assert!(exact.notes.is_empty());
}

#[test]
fn names_the_limit_where_reading_ended() {
    let text = format!("\"{}\"\n", "x".repeat(1 << 20)).repeat(65);
    let table = preview(&mut text.as_bytes(), &Request::new("a.ndjson", 100, 1 << 30)).unwrap();
    assert!(table.has_more);
    assert_eq!(table.notes, ["Only the first 64 MiB of the text were read."]);
}
