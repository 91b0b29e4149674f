//! Tests of `fit`.

use super::{fit, truncate_columns};
use crate::render::markdown;
use crate::table::{Column, Table, Type, Value};

/// Cuts a table with that many columns and rows to `max_bytes`. Returns how many of both are left,
/// whether there are more rows, and the notes.
fn check(n_columns: usize, n_rows: usize, max_bytes: usize) -> (usize, usize, bool, Vec<String>) {
    let column = |idx: usize| Column { name: format!("name of {idx:04}"), kind: Type::Text };
    let row = |_| vec![Value::Text("value".into()); n_columns];
    let table = Table {
        columns: (0..n_columns).map(column).collect(),
        n_columns: Some(n_columns),
        rows: (0..n_rows).map(row).collect(),
        has_more: false,
        notes: Vec::new(),
    };
    let table = fit(table, max_bytes);
    assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
    if table.columns.len() > 1 && table.rows.len() > 1 {
        assert!(markdown(&table).len() <= max_bytes);
    }
    (table.columns.len(), table.rows.len(), table.has_more, table.notes)
}

#[test]
fn keeps_a_table_that_fits() {
    assert_eq!(check(3, 5, 1_000), (3, 5, false, vec![]));
    assert_eq!(check(0, 0, 1_000), (0, 0, false, vec![]));
}

#[test]
fn counts_names_before_rows() {
    assert_eq!(check(3, 100, 1_000), (3, 32, true, vec![]));
}

#[test]
fn drops_columns_whose_names_do_not_fit() {
    let note = vec!["Only the first 10 of 4000 columns are shown.".to_string()];
    assert_eq!(check(4_000, 3, 1_000), (10, 3, false, note));
}

#[test]
fn keeps_one_column_and_row_of_any_size() {
    let note = vec!["Only the first 1 of 2 columns are shown.".to_string()];
    assert_eq!(check(2, 2, 1), (1, 1, true, note));
}

#[test]
fn cuts_notes_that_name_every_column() {
    let notes = vec!["name, ".repeat(1_000); 100];
    let table = Table { columns: vec![], n_columns: Some(0), rows: vec![], has_more: false, notes };
    let few = fit(table.clone(), 1_000).notes;
    assert_eq!(few.len(), 1);
    let notes = fit(table, 100_000).notes;
    assert_eq!(notes.len(), 16);
    assert!(notes[0].len() < 600);
}

#[test]
fn a_table_fits_as_text_and_as_json() {
    let values = [
        Value::Text("ä\"\n\u{1}".repeat(400)),
        Value::Json(serde_json::json!({ "a": "long ".repeat(2_000) })),
        Value::Integer(7),
    ];
    let column = |idx: usize| Column { name: format!("{idx}\"name"), kind: Type::Text };
    for max_bytes in [1_000, 2_000, 40_000] {
        let table = Table {
            columns: (0..3).map(column).collect(),
            n_columns: Some(3),
            rows: vec![values.to_vec(); 50],
            has_more: false,
            notes: vec!["A note.".into(); 10],
        };
        let table = fit(table, max_bytes);
        let n_notes: usize = table.notes.iter().map(|note| note.len() + 1).sum();
        assert!(markdown(&table).len() + n_notes <= max_bytes, "{max_bytes}");
        let names: Vec<_> =
            table.columns.iter().map(|it| (&it.name, it.kind.to_string())).collect();
        let names = serde_json::to_string(&names).map_or(0, |names| names.len());
        let rows = table.rows.into_iter().map(|row| row.into_iter().map(Value::to_json).collect());
        let rows: Vec<serde_json::Value> = rows.collect();
        let n_rows = serde_json::to_string(&rows).map_or(0, |rows| rows.len());
        assert!(names + n_rows + n_notes <= max_bytes, "{max_bytes}");
    }
}

#[test]
fn says_once_how_many_columns_are_shown() {
    let column = |idx: usize| Column { name: idx.to_string(), kind: Type::Integer };
    let mut table = fit(
        Table {
            columns: (0..100).map(column).collect(),
            n_columns: Some(5_000),
            rows: vec![vec![Value::Integer(1); 100]],
            has_more: false,
            notes: vec!["Another note.".into()],
        },
        100_000,
    );
    truncate_columns(&mut table, 7);
    let note = "Only the first 7 of 5000 columns are shown; the first 4096 can be selected.";
    assert_eq!(table.notes, ["Another note.", note]);
    assert_eq!((table.columns.len(), table.rows[0].len()), (7, 7));
}

#[test]
fn a_note_is_one_line_and_ends_with_a_period() {
    let notes = vec!["In: a\n\n5 rows\u{1b}\u{202e}|.".into(), "x".repeat(600)];
    let table = Table { columns: vec![], n_columns: Some(0), rows: vec![], has_more: false, notes };
    let notes = fit(table, 10_000).notes;
    assert_eq!(notes[0], "In: a⏎⏎5 rows␛\\u{202e}|.");
    assert!(notes[1].ends_with("x… (+100 characters)."), "{notes:?}");
}

#[test]
fn a_number_that_was_cut_is_not_large() {
    let column = |name: &str| Column { name: name.into(), kind: Type::Number };
    let table = |text: &str| Table {
        columns: vec![column("a")],
        n_columns: Some(1),
        rows: vec![vec![Value::Text(text.into())]],
        has_more: false,
        notes: vec![],
    };
    assert_eq!(fit(table("0.12345… (+44 characters)"), 1_000).notes, [""; 0]);
    let note = "Numbers beyond 64 bits are text in: a.";
    assert_eq!(fit(table("18446744073709551616"), 1_000).notes, [note]);
}
