//! Cuts a table to the size of an answer, names and types included, and notes omitted columns. The
//! formats count only values, to stop reading in time.

use crate::budget::cut;
use crate::render;
use crate::table::{Column, Table};

/// The cost of a column in addition to its name and type.
const COLUMN_BYTES: usize = 32;

/// The most notes, and the most characters of one: some list the columns that they concern.
const MAX_NOTES: usize = 16;
const MAX_NOTE_CHARS: usize = 500;

/// Drops the last columns if all would take more than half of the bytes, and the last rows if they
/// exceed the rest. One column and one row always remain.
pub fn fit(mut table: Table, max_bytes: usize) -> Table {
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
