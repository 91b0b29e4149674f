//! The first rows of a Parquet file.
//!
//! Only the metadata at the end and the first pages of each column are read. The library parses the
//! metadata and decodes values; [`footer`] and [`pages`] first check the sizes that determine its
//! memory and time.

mod codec;
mod decimal;
mod delta;
pub(crate) mod footer;
mod header;
mod leaf;
mod node;
pub(crate) mod pages;
mod rows;
mod scalar;
mod thrift;
mod variant;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::file::metadata::RowGroupMetaData;

use crate::Request;
use crate::budget::{MAX_COLUMNS, max_cell_chars};
use crate::error::{Error, Result};
use crate::names;
use crate::source::Source;
use crate::table::{Column, Table, Value};

use footer::broken;
use leaf::{Leaf, ReadExtent};
use node::{Builder, Leaves, Node};
use rows::RowBudget;

/// The most values in the lists of a field, in all its columns together.
const MAX_IN_LISTS: u64 = 1 << 18;

/// The most values in the lists of a column in which rows are skipped.
const MAX_SKIPPED_IN_LISTS: u64 = 1 << 21;

/// The least number of values that is read of a column of lists.
const MIN_IN_LISTS: u64 = 64;

/// Returns the first rows of a file.
pub fn preview(source: Arc<dyn Source>, request: &Request<'_>) -> Result<Table> {
    // The library panics on some malformed files.
    catch_unwind(AssertUnwindSafe(|| read(source, request)))
        .unwrap_or_else(|_| Err(broken("it is damaged in a way that its reader does not expect")))
}

fn read(source: Arc<dyn Source>, request: &Request<'_>) -> Result<Table> {
    let footer = footer::read(&*source, request.offset, request.limit, request.max_memory)?;
    let schema = footer.metadata.file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    let n_all = fields.len();
    let n_columns = n_all.min(MAX_COLUMNS);
    let fields = &fields[..n_columns];

    let n_after = footer.n_rows.saturating_sub(request.offset as u64);
    let n_rows = usize::try_from(n_after).unwrap_or(usize::MAX).min(request.limit);
    let mut table = ColumnReader {
        source,
        row_groups: footer.metadata.row_groups(),
        n_skipped: request.offset.saturating_sub(footer.n_before as usize),
        rows: RowBudget::new(n_rows, n_columns, request.max_bytes),
        max_cell: max_cell_chars(n_columns, request.max_bytes),
        max_memory: request.max_memory,
    };
    let mut builder = Builder::default();
    let mut columns = Vec::new();
    let mut values = Vec::new();
    let names = names::unique(fields.iter().map(|it| it.name()), n_all);
    for (field, name) in fields.iter().zip(names) {
        let node = builder.field(field);
        let is_wanted = request.columns.is_empty() || request.columns.contains(&name);
        let column = if is_wanted { table.column(&node) } else { Ok(Vec::new()) };
        values.push(column.map_err(|error| in_column(error, &name))?);
        columns.push(Column { name, kind: node.kind() });
    }

    let n_rows = if columns.is_empty() { 0 } else { table.rows.n_rows() };
    let has_more = !columns.is_empty() && (n_rows as u64) < n_after;
    let rows = if footer.n_rows == 1 { "row" } else { "rows" };
    let note = has_more.then(|| format!("The file has {} {rows}.", grouped(footer.n_rows)));
    Ok(Table {
        rows: transpose(values, n_rows),
        has_more,
        columns,
        n_columns: Some(n_all),
        notes: note.into_iter().collect(),
    })
}

/// A file that is read column by column.
struct ColumnReader<'a> {
    source: Arc<dyn Source>,
    row_groups: &'a [RowGroupMetaData],
    /// The rows to skip at the start of the first row group.
    n_skipped: usize,
    rows: RowBudget,
    max_cell: usize,
    max_memory: u64,
}

impl ColumnReader<'_> {
    /// Returns the values of a column in the first rows. It may turn out that fewer rows fit.
    fn column(&mut self, node: &Node) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        let n_in_lists = (MAX_IN_LISTS / node.leaves.len().max(1) as u64).max(MIN_IN_LISTS);
        for (index, row_group) in self.row_groups.iter().enumerate() {
            if values.len() >= self.rows.n_rows() {
                break;
            }
            let n_skipped = if index == 0 { self.n_skipped } else { 0 };
            let n_rows = usize::try_from(row_group.num_rows()).unwrap_or(0);
            let extent = ReadExtent {
                first_row: values.len(),
                n_skipped,
                n_rows: n_rows.saturating_sub(n_skipped),
                max_cell: self.max_cell,
                n_in_lists: if n_skipped > 0 { MAX_SKIPPED_IN_LISTS } else { n_in_lists },
                max_memory: self.max_memory,
            };
            let mut leaves = Vec::new();
            for (index, scalar) in node.leaves.clone().zip(node.scalars()) {
                let (source, chunk) = (self.source.clone(), row_group.column(index));
                leaves.push(Leaf::read(source, chunk, scalar, extent, &mut self.rows)?);
            }
            let end = self.rows.n_rows().min(extent.first_row + extent.n_rows);
            for _ in extent.first_row..end {
                let mut row = Leaves::new(&mut leaves, node.leaves.start, self.max_cell);
                values.push(node.take(&mut row));
            }
        }
        // Row groups with too much metadata were left out.
        self.rows.limit_to(values.len());
        Ok(values)
    }
}

/// Turns columns into rows. Each column has at least as many values as there are rows.
fn transpose(columns: Vec<Vec<Value>>, n_rows: usize) -> Vec<Vec<Value>> {
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    (0..n_rows)
        .map(|_| columns.iter_mut().map(|it| it.next().unwrap_or(Value::Null)).collect())
        .collect()
}

fn in_column(error: Error, name: &str) -> Error {
    match error {
        Error::Broken { cause } => Error::Broken { cause: format!("column {name}: {cause}") },
        Error::TooLarge { cause } => Error::TooLarge { cause: format!("column {name}: {cause}") },
        error => error,
    }
}

/// Formats a number as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests;
