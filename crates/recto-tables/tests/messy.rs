//! Messy files as they occur in practice, and the expected table of each.
//!
//! The files and `expected.toml` are in `messy/`. `dev/bench/tables_vs_duckdb.py` compares the same
//! files with DuckDB.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_tables::{Request, Result, Table, Value, preview};
use serde_json::{Value as Json, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messy")
}

fn expectations() -> Vec<toml::Table> {
    let text = fs::read_to_string(folder().join("expected.toml")).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    table.remove("file").unwrap().try_into().unwrap()
}

fn show(name: &str, bytes: Vec<u8>) -> Result<Table> {
    preview(Arc::new(bytes), &Request::new(name, 100, 1 << 20))
}

/// Summarises the result in the format of `expected.toml`.
fn summary(answer: &Result<Table>) -> Json {
    let table = match answer {
        Ok(table) => table,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let columns: Vec<String> =
        table.columns.iter().map(|column| format!("{} {}", column.name, column.kind)).collect();
    let first = table.rows.first().cloned();
    let first = first.map(|row| row.into_iter().map(Value::to_json).collect::<Json>());
    json!({ "columns": columns, "rows": table.rows.len(), "first": first })
}

fn expected_summary(expectation: &toml::Table) -> Json {
    if let Some(error) = expectation.get("error") {
        return json!({ "error": error.as_str().unwrap() });
    }
    let columns: Vec<&str> =
        expectation["columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    let first = expectation.get("first").map(|first| first.as_str().unwrap());
    let first: Json = first.map_or(Json::Null, |first| serde_json::from_str(first).unwrap());
    json!({ "columns": columns, "rows": expectation["rows"].as_integer().unwrap(), "first": first })
}

#[test]
fn every_file_is_read_as_expected() {
    let mut wrong = Vec::new();
    for expectation in expectations() {
        let name = expectation["name"].as_str().unwrap();
        let answer = show(name, fs::read(folder().join(name)).unwrap());
        let (expected, found) = (expected_summary(&expectation), summary(&answer));
        if expected != found {
            wrong.push(format!("{name}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_file_has_an_expectation() {
    let named: BTreeSet<String> =
        expectations().iter().map(|e| e["name"].as_str().unwrap().to_owned()).collect();
    let present: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "expected.toml" && !name.starts_with('.'))
        .collect();
    assert_eq!(named, present);
    assert!(named.len() >= 80);
}

#[test]
fn every_file_is_the_same_when_compressed() {
    for expectation in expectations() {
        let name = expectation["name"].as_str().unwrap();
        let bytes = fs::read(folder().join(name)).unwrap();
        let plain = summary(&show(name, bytes.clone()));
        assert_eq!(summary(&show(&format!("{name}.gz"), gzip(&bytes))), plain, "{name}.gz");
        let zstd = zstd::encode_all(bytes.as_slice(), 3).unwrap();
        assert_eq!(summary(&show(&format!("{name}.zst"), zstd)), plain, "{name}.zst");
    }
}

/// A preview of some rows is the start of the preview of all.
#[test]
fn fewer_rows_are_the_first_ones() {
    for expectation in expectations() {
        let name = expectation["name"].as_str().unwrap();
        let bytes = Arc::new(fs::read(folder().join(name)).unwrap());
        let ask = |limit| preview(bytes.clone(), &Request::new(name, limit, 1 << 20));
        let Ok(all) = ask(100) else { continue };
        let one = ask(1).unwrap();
        assert_eq!(one.has_more, all.rows.len() > 1, "{name}");
        assert_eq!(
            one.rows.first().map(|row| &row[..]),
            all.rows.first().map(|row| &row[..one.columns.len()]),
            "{name}"
        );
    }
}

/// Truncated and damaged files get an answer.
#[test]
fn answers_damaged_files() {
    for expectation in expectations() {
        let name = expectation["name"].as_str().unwrap();
        let bytes = fs::read(folder().join(name)).unwrap();
        for n_bytes in (0..bytes.len().min(300)).step_by(3) {
            let _ = show(name, bytes[..n_bytes].to_vec());
            let mut damaged = bytes.clone();
            damaged[n_bytes] ^= 0x55;
            let _ = show(name, damaged);
        }
    }
}

/// Any content gets an answer, and a table has a value for every column.
#[test]
fn answers_random_bytes() {
    let pieces: [&[u8]; 24] = [
        b",",
        b";",
        b"\t",
        b"|",
        b"\"",
        b"'",
        b"\\",
        b"\n",
        b"\r\n",
        b"\r",
        b"#",
        b" ",
        b"1",
        b"-2.5",
        b"a",
        "\u{e4}\u{2028}\u{1f600}".as_bytes(),
        b"2024-01-01",
        b"12:30",
        b"{\"a\":",
        b"}",
        b"[",
        b"]",
        b"NaN",
        b"\xff\xe9",
    ];
    let mut state: u64 = 1;
    for round in 0..4_000 {
        let mut bytes = Vec::new();
        for _ in 0..round % 60 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let n_pieces = if round % 2 == 0 { 14 } else { pieces.len() };
            bytes.extend(pieces[(state >> 33) as usize % n_pieces]);
        }
        for name in ["a.csv", "a.tsv", "a.json", "a.geojson", "a"] {
            let Ok(table) = show(name, bytes.clone()) else { continue };
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
            let names: BTreeSet<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
            assert_eq!(names.len(), table.columns.len());
            let text = recto_tables::render::markdown(&table);
            let n_lines = if table.columns.is_empty() { 0 } else { table.rows.len() + 2 };
            assert_eq!(text.lines().count(), n_lines, "{text}");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
