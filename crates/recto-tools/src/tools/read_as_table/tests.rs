//! Tests of `ReadAsTable` that need no file.

use recto_tables::{Column, Table, Type, Value};

use super::{Request, count};

fn check(offset: usize, n_rows: usize, has_more: bool, expected: &str) {
    let table = Table {
        columns: vec![Column { name: "a".into(), kind: Type::Integer }],
        n_columns: Some(1),
        rows: vec![vec![Value::Integer(1)]; n_rows],
        has_more,
        notes: Vec::new(),
    };
    let file_path = "a.csv".into();
    let columns = Vec::new();
    let request = Request { file_path, limit: 100, offset, columns, sheet: None, commit: None };
    assert_eq!(count(&table, &request), expected);
}

#[test]
fn never_names_the_same_offset_again() {
    check(0, 0, false, "0 rows");
    check(0, 0, true, "0 rows; further rows cannot be read");
    check(12, 0, true, "no rows from offset 12 on; further rows cannot be read");
    check(12, 0, false, "no rows from offset 12 on");
    check(12, 2, true, "rows 13-14; there are more than the size limit allows: offset 14");
}
