//! Checks any bytes as a table: a table whose rows match its columns, or an error, within limits.
//!
//! An input is a byte for the name, one for the limits, and then the file.

use std::collections::HashSet;
use std::sync::Arc;

use recto_tables::{Request, Value, preview, render};

/// The possible names of the file; the first byte selects one.
pub const NAMES: &[&str] = &[
    "a.csv",
    "a.tsv",
    "a.psv",
    "a.json",
    "a.ndjson",
    "a.parquet",
    "a.xlsx",
    "a.xls",
    "a.xlsb",
    "a.ods",
    "a.csv.gz",
    "a.json.zst",
    "a.db",
    "a.txt",
    "a",
    "a.rs",
];

const LIMITS: &[(usize, usize)] = &[(100, 1 << 20), (3, 1 << 20), (1, 100), (0, 0), (1000, 5000)];

/// Checks one input.
pub fn check(input: &[u8]) {
    let [name, limits, bytes @ ..] = input else { return };
    let name = NAMES[usize::from(*name) % NAMES.len()];
    let (limit, max_bytes) = LIMITS[usize::from(*limits) % LIMITS.len()];
    let sheet = (*limits >= 128).then_some("t");
    let request = Request { sheet, ..Request::new(name, limit, max_bytes) };
    let table = match preview(Arc::new(bytes.to_vec()), &request) {
        Ok(table) => table,
        Err(error) => return assert!(error.to_string().len() < 1000, "{error}"),
    };
    assert!(table.rows.len() <= limit);
    let mut names = HashSet::new();
    for column in &table.columns {
        assert!(!column.name.is_empty(), "a column without a name");
        assert!(names.insert(&column.name), "two columns are called {:?}", column.name);
    }
    for value in table.rows.iter().flatten() {
        assert!(!matches!(value, Value::Number(number) if !number.is_finite()));
    }
    assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
    let n_rows = if table.columns.is_empty() { 0 } else { table.rows.len() + 2 };
    let shown = render::markdown(&table);
    assert_eq!(shown.matches('\n').count(), n_rows, "{shown}");
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
}
