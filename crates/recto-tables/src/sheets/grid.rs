//! Turns the cells of a sheet into a table: finds the header and drops everything around the table.

use std::collections::BTreeMap;

use super::cell::{self, SheetCell};
use crate::Request;
use crate::budget::{Budget, MAX_COLUMNS, MAX_MEMORY, cut, max_cell_chars};
use crate::error::{Error, Result};
use crate::names::{self, NO_HEADER};
use crate::table::{Column, Table, Value};

/// The number of rows above a header that may contain titles and notes.
const MAX_ABOVE: usize = 10;

/// The number of rows that are read to find the header.
const MAX_HEAD: usize = MAX_ABOVE + 2;

/// The most characters that are reported of text above a header.
const MAX_ABOVE_CHARS: usize = 200;

/// The characters that are kept of a cell beyond the size of an answer.
const MIN_CELL_CHARS: usize = 16;

/// About the memory of a cell besides its text.
const CELL_BYTES: usize = 80;

/// The first rows of a sheet that have cells.
pub struct Grid {
    /// Each has at least one cell.
    rows: BTreeMap<u32, BTreeMap<u32, SheetCell>>,
    max_rows: usize,
    /// The first rows that are certainly above those that are shown.
    n_above: usize,
    /// The rows below those that may contain the header, and above those that are shown.
    skipped: Skipped,
    /// The bytes of rows that may be shown, of the last row, and the most.
    n_bytes: usize,
    n_row_bytes: usize,
    max_bytes: usize,
    max_cell: usize,
    has_more: bool,
    last_column: u32,
    /// About the memory of all cells, and the most.
    n_memory: u64,
    max_memory: u64,
}

/// Rows that are counted and not kept.
struct Skipped {
    n_rows: usize,
    max_rows: usize,
    /// The last one.
    last: Option<u32>,
}

impl Grid {
    /// Creates a grid for as many rows as a preview can show.
    pub fn new(request: &Request<'_>) -> Grid {
        Grid {
            rows: BTreeMap::new(),
            max_rows: request.limit.saturating_add(MAX_HEAD + request.offset.min(MAX_HEAD)),
            n_above: request.offset.min(MAX_HEAD),
            skipped: Skipped {
                n_rows: 0,
                max_rows: request.offset.saturating_sub(MAX_HEAD),
                last: None,
            },
            n_bytes: 0,
            n_row_bytes: 0,
            max_bytes: request.max_bytes,
            max_cell: max_cell_chars(1, request.max_bytes),
            has_more: false,
            last_column: 0,
            n_memory: 0,
            max_memory: request.max_memory,
        }
    }

    /// Returns how many rows may be read.
    pub fn max_rows(&self) -> usize {
        self.max_rows.saturating_add(self.skipped.max_rows)
    }

    /// Returns the most characters of a cell.
    pub fn max_cell(&self) -> usize {
        self.max_cell
    }

    /// Returns whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a cell and returns whether the grid takes more. Cells come row by row.
    pub fn push(&mut self, row: u32, column: u32, cell: SheetCell) -> bool {
        let is_new = !self.rows.contains_key(&row);
        let is_full = self.n_bytes > self.max_bytes && self.has_enough_rows();
        if is_new && self.rows.len() >= MAX_HEAD && self.skip(row) {
            return true;
        }
        if is_new && (self.rows.len() >= self.max_rows || is_full) {
            self.has_more = true;
            return false;
        }
        if self.n_memory > self.max_memory {
            self.has_more = true;
            return false;
        }
        if is_new {
            self.n_row_bytes = 0;
        }
        if is_new && self.rows.len() == self.n_above {
            self.n_bytes = 0;
        }
        self.last_column = self.last_column.max(column);
        // Columns behind so many cells are counted, but not shown.
        if self.rows.get(&row).is_some_and(|row| row.len() >= MAX_COLUMNS) {
            return true;
        }
        // A row that alone exceeds the answer has many columns, which will be cut further.
        let is_wide = self.n_row_bytes > self.max_bytes.saturating_mul(2);
        let cell = cell.cut(if is_wide { MIN_CELL_CHARS } else { self.max_cell });
        self.n_bytes = self.n_bytes.saturating_add(cell.size() + 8);
        self.n_row_bytes = self.n_row_bytes.saturating_add(cell.size() + 8);
        self.n_memory += (cell.size() + CELL_BYTES) as u64;
        self.rows.entry(row).or_default().insert(column, cell);
        true
    }

    /// Returns whether there are rows to show after those that may contain the header and those above.
    fn has_enough_rows(&self) -> bool {
        self.rows.len() > MAX_HEAD + self.n_above
    }

    /// Fails if more memory would give rows to show.
    pub fn check_memory(&self) -> Result<()> {
        let is_short = self.n_memory > self.max_memory && !self.has_enough_rows();
        if is_short && self.max_memory < MAX_MEMORY {
            let n_bytes = (2 * self.n_memory).min(MAX_MEMORY);
            return Err(Error::OutOfMemory { n_bytes });
        }
        Ok(())
    }

    /// Counts a row if it is one of those to skip.
    fn skip(&mut self, row: u32) -> bool {
        let skipped = &mut self.skipped;
        if skipped.last == Some(row) {
            return true;
        }
        if skipped.n_rows >= skipped.max_rows {
            return false;
        }
        skipped.n_rows += 1;
        skipped.last = Some(row);
        true
    }

    /// Records that there are rows that were not read.
    pub fn set_has_more(&mut self) {
        self.has_more = true;
    }

    /// Returns the table, with notes on what was left out.
    pub fn into_table(self, request: &Request<'_>) -> Table {
        let mut notes = Vec::new();
        let columns = self.rows.values().flat_map(|row| row.keys().copied());
        let first = columns.min().unwrap_or(0);
        let n_all = if self.rows.is_empty() { 0 } else { (self.last_column - first) as usize + 1 };
        let n_columns = n_all.min(MAX_COLUMNS);

        let mut rows: Vec<(u32, BTreeMap<u32, SheetCell>)> = self.rows.into_iter().collect();
        let names = match find_header(&rows, n_columns) {
            Some(header_idx) => {
                let mut rest = rows.split_off(header_idx);
                std::mem::swap(&mut rows, &mut rest);
                notes.extend(text_above(&rest));
                rows.remove(0).1
            }
            None => {
                notes.extend((n_columns > 0).then(|| NO_HEADER.into()));
                BTreeMap::new()
            }
        };
        let columns = (first..).take(n_columns);
        let names = columns.clone().map(|it| names.get(&it).map(name).unwrap_or_default());
        let names = names::unique(names.collect::<Vec<_>>().iter().map(String::as_str), n_all);
        // Skipped rows are behind those that may contain the header, and count too.
        let n_skipped = request.offset.saturating_sub(self.skipped.n_rows).min(rows.len());
        rows.drain(..n_skipped);
        let is_more = self.has_more || rows.len() > request.limit;
        rows.truncate(request.limit);
        let n_blank = n_blank_between(&rows);
        if n_blank > 0 {
            let (plural, verb) = if n_blank == 1 { ("", "is") } else { ("s", "are") };
            notes.push(format!("{n_blank} empty row{plural} {verb} left out."));
        }

        let kind = |column: u32| cell::kind_of(rows.iter().filter_map(|(_, row)| row.get(&column)));
        let columns: Vec<(u32, Column)> =
            columns.zip(names).map(|(at, name)| (at, Column { name, kind: kind(at) })).collect();
        let mut budget = Budget::new(request.limit, request.max_bytes);
        let n_rows = rows.len();
        let mut values = Vec::new();
        let mut n_not_computed = 0;
        for (_, mut row) in rows {
            let n_bytes = row.values().map(SheetCell::size).sum();
            if !budget.admits(n_bytes, n_columns) {
                break;
            }
            let is_not_computed = |cell: &&SheetCell| **cell == SheetCell::NotComputed;
            n_not_computed += row.values().filter(is_not_computed).count();
            let value = |(at, column): &(u32, Column)| match row.remove(at) {
                Some(cell) => cell.into_value(&column.kind),
                None => Value::Null,
            };
            values.push(columns.iter().map(value).collect());
        }
        match n_not_computed {
            0 => {}
            1 => notes.push("1 formula has no stored value and is shown as empty.".into()),
            n => notes.push(format!("{n} formulas have no stored value and are shown as empty.")),
        }
        Table {
            columns: columns.into_iter().map(|(_, column)| column).collect(),
            n_columns: Some(n_all),
            has_more: is_more || values.len() < n_rows,
            rows: values,
            notes,
        }
    }
}

type Row = (u32, BTreeMap<u32, SheetCell>);

/// Finds the header: the first row that is as wide as the table and contains only names.
fn find_header(rows: &[Row], n_columns: usize) -> Option<usize> {
    // A title above the table does not make it wider.
    let find_wide = |n_columns: usize| {
        rows.iter().take(MAX_ABOVE).position(|(_, row)| row.len() * 2 > n_columns)
    };
    // A cell far from the others makes it wider than any row.
    let usual_width = Some(usual_width(rows)).filter(|width| *width > 1);
    let header_idx = find_wide(n_columns).or_else(|| find_wide(usual_width?))?;
    let (header, rest) = (&rows[header_idx].1, &rows[header_idx + 1..]);
    let below = |column: &u32| {
        let column = *column;
        rest.iter().take(MAX_HEAD).filter_map(move |(_, row)| row.get(&column))
    };
    let (mut has_text, mut n_moments) = (false, 0);
    for (column, cell) in header {
        match cell {
            SheetCell::Text(_) => has_text = true,
            SheetCell::NotComputed => {}
            // `2019`, `2020` can be names if the values below are different.
            cell if is_year(cell) => {
                below(column).next().filter(|below| !is_year(below))?;
            }
            // Several dates can be names of numbers. One may be a value that has a name beside it.
            cell if is_moment(cell) => {
                n_moments += 1;
                below(column).next().filter(|below| matches!(below, SheetCell::Number(_)))?;
                below(column).all(|below| !is_moment(below)).then_some(())?;
            }
            _ => return None,
        }
    }
    (has_text && n_moments != 1).then_some(header_idx)
}

/// Returns the median width of the first rows, from the first to the last cell of each.
fn usual_width(rows: &[Row]) -> usize {
    let width = |(_, row): &Row| match (row.first_key_value(), row.last_key_value()) {
        (Some((first, _)), Some((last, _))) => (last - first) as usize + 1,
        _ => 0,
    };
    let mut widths: Vec<usize> = rows.iter().take(MAX_HEAD).map(width).collect();
    widths.sort_unstable();
    widths.get(widths.len() / 2).copied().unwrap_or(0)
}

fn is_moment(cell: &SheetCell) -> bool {
    matches!(cell, SheetCell::Date(_) | SheetCell::Time(_) | SheetCell::Timestamp(_))
}

fn is_year(cell: &SheetCell) -> bool {
    matches!(cell, SheetCell::Number(number) if cell::is_integral(*number)
        && (1800.0..2200.0).contains(number))
}

fn name(cell: &SheetCell) -> String {
    match cell {
        SheetCell::Text(text)
        | SheetCell::Date(text)
        | SheetCell::Time(text)
        | SheetCell::Timestamp(text) => text.clone(),
        SheetCell::Number(number) => number.to_string(),
        SheetCell::Boolean(_) | SheetCell::NotComputed => String::new(),
    }
}

/// Returns the text above the header.
fn text_above(rows: &[Row]) -> Option<String> {
    let texts = rows.iter().flat_map(|(_, row)| row.values().map(name));
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    let note = || format!("Above the header: {}.", cut(&texts.join(" | "), MAX_ABOVE_CHARS));
    (!rows.is_empty()).then(note)
}

fn n_blank_between(rows: &[Row]) -> u64 {
    match rows {
        [first, .., last] => u64::from(last.0 - first.0) + 1 - rows.len() as u64,
        _ => 0,
    }
}
