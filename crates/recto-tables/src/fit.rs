//! What an answer has no room for, names and types included, and what it says of columns that are
//! left out. The formats count only values, so that they stop reading in time.

use crate::budget::cut;
use crate::render;
use crate::table::{Column, Table};

/// What a column costs beyond its name and its type.
const COLUMN_BYTES: usize = 32;

/// The most remarks, and the most characters of one: some name every column that they are about.
const MAX_REMARKS: usize = 16;
const MAX_REMARK_CHARS: usize = 500;

/// Leaves out the last columns where all would take more than half of the bytes, and the last rows
/// where they take more than is left. A column and a row always fit.
pub fn fit(mut table: Table, max_bytes: usize) -> Table {
    table.remarks.truncate(MAX_REMARKS);
    for remark in &mut table.remarks {
        *remark = cut(remark, MAX_REMARK_CHARS);
    }
    let size = |column: &Column| column.name.len() + column.kind.to_string().len() + COLUMN_BYTES;
    let (n_columns, n_bytes) = n_fitting(table.columns.iter().map(size), max_bytes / 2);
    table.columns.truncate(n_columns);
    table.rows.iter_mut().for_each(|row| row.truncate(n_columns));
    match table.n_columns {
        Some(n_all) if n_all == n_columns => {}
        Some(n_all) => {
            table.remarks.push(format!("Only the first {n_columns} of {n_all} columns are shown."));
        }
        None => table.remarks.push(format!("Only {n_columns} columns are shown; there are more.")),
    }
    let sizes = table.rows.iter().map(|row| render::row(row).len());
    let (n_rows, _) = n_fitting(sizes, max_bytes.saturating_sub(n_bytes));
    table.has_more |= n_rows < table.rows.len();
    table.rows.truncate(n_rows);
    table
}

/// How many of the first fit, of which one always does, and how many bytes they have.
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
