//! Cuts a table to the size of an answer, names and types included, and notes omitted columns. The
//! formats count only values, to stop reading in time.

use crate::budget::cut;
use crate::render;
use crate::table::{Column, Table, Type, Value};

/// The cost of a column in addition to its name and type.
const COLUMN_BYTES: usize = 32;

/// The most notes, and the most characters of one: some list the columns that they concern.
const MAX_NOTES: usize = 16;
const MAX_NOTE_CHARS: usize = 500;

/// Drops the last columns if all would take more than half of the bytes, and the last rows if they
/// exceed the rest. One column and one row always remain.
pub fn fit(mut table: Table, max_bytes: usize) -> Table {
    table.notes.extend(large_numbers(&table));
    table.notes.truncate(MAX_NOTES);
    for note in &mut table.notes {
        *note = cut(note, MAX_NOTE_CHARS);
    }
    let size = |column: &Column| column.name.len() + column.kind.to_string().len() + COLUMN_BYTES;
    let (n_columns, n_bytes) = n_fitting(table.columns.iter().map(size), max_bytes / 2);
    table.columns.truncate(n_columns);
    table.rows.iter_mut().for_each(|row| row.truncate(n_columns));
    match table.n_columns {
        Some(n_all) if n_all == n_columns => {}
        Some(n_all) => {
            table.notes.push(format!("Only the first {n_columns} of {n_all} columns are shown."));
        }
        None => table.notes.push(format!("Only {n_columns} columns are shown; there are more.")),
    }
    let sizes = table.rows.iter().map(|row| render::row(row).len());
    let (n_rows, _) = n_fitting(sizes, max_bytes.saturating_sub(n_bytes));
    table.has_more |= n_rows < table.rows.len();
    table.rows.truncate(n_rows);
    table
}

/// Notes the columns of numbers in which some are texts, to keep their digits.
fn large_numbers(table: &Table) -> Option<String> {
    let is_large = |value: &Value| match value {
        Value::Text(text) => text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()),
        _ => false,
    };
    let has_large = |(column_idx, column): &(usize, &Column)| {
        matches!(column.kind, Type::Integer | Type::Number)
            && table.rows.iter().any(|row| is_large(&row[*column_idx]))
    };
    let columns: Vec<&str> = table
        .columns
        .iter()
        .enumerate()
        .filter(has_large)
        .map(|(_, column)| column.name.as_str())
        .collect();
    let note = || format!("Numbers beyond 64 bits are text in: {}.", columns.join(", "));
    (!columns.is_empty()).then(note)
}

/// Returns how many of the first items fit, at least one, and their total size.
fn n_fitting(sizes: impl Iterator<Item = usize>, max_bytes: usize) -> (usize, usize) {
    let (mut n, mut n_bytes) = (0, 0);
    for size in sizes {
        if n > 0 && n_bytes + size > max_bytes {
            break;
        }
        (n, n_bytes) = (n + 1, n_bytes + size);
    }
    (n, n_bytes)
}

#[cfg(test)]
mod tests;
