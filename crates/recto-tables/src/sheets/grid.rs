//! Makes a table of the cells of a sheet: what is around it is left out, and the header found.

use std::collections::BTreeMap;

use super::cell::{self, Cell};
use crate::Request;
use crate::budget::{Budget, MAX_COLUMNS, cut, max_cell_chars};
use crate::names;
use crate::table::{Column, Table, Value};

/// Titles and notes are looked for in so many rows above a header.
const MAX_ABOVE: usize = 10;

/// The most characters of what stands above a header that are told.
const MAX_TOLD: usize = 200;

/// The first rows of a sheet that have cells.
pub struct Grid {
    /// Each has at least one cell.
    rows: BTreeMap<u32, BTreeMap<u32, Cell>>,
    max_rows: usize,
    n_bytes: usize,
    max_bytes: usize,
    max_cell: usize,
    has_more: bool,
}

impl Grid {
    /// Room for as many rows as a preview can show.
    pub fn new(request: &Request<'_>) -> Grid {
        Grid {
            rows: BTreeMap::new(),
            max_rows: request.limit.saturating_add(MAX_ABOVE + 2),
            n_bytes: 0,
            max_bytes: request.max_bytes,
            max_cell: max_cell_chars(1, request.max_bytes),
            has_more: false,
        }
    }

    /// How many rows may be looked at.
    pub fn max_rows(&self) -> usize {
        self.max_rows
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a cell; whether there is room for more. Cells come row by row.
    pub fn push(&mut self, row: u32, column: u32, cell: Cell) -> bool {
        let is_new = !self.rows.contains_key(&row);
        // Beyond the bytes of an answer there must be rows enough to find the header in.
        let is_full = self.n_bytes > self.max_bytes && self.rows.len() > MAX_ABOVE + 2;
        if is_new && (self.rows.len() >= self.max_rows || is_full) {
            self.has_more = true;
            return false;
        }
        let cell = match cell {
            Cell::Text(text) => Cell::Text(cut(&text, self.max_cell)),
            cell => cell,
        };
        self.n_bytes = self.n_bytes.saturating_add(cell.size() + 8);
        self.rows.entry(row).or_default().insert(column, cell);
        true
    }

    /// Says that there are rows which were not looked at.
    pub fn set_has_more(&mut self) {
        self.has_more = true;
    }

    /// The table, with remarks on what was left out.
    pub fn into_table(self, request: &Request<'_>) -> Table {
        let mut remarks = Vec::new();
        let columns = self.rows.values().flat_map(|row| row.keys().copied());
        let (first, last) = columns
            .fold((u32::MAX, 0), |(first, last), column| (first.min(column), last.max(column)));
        let n_all = if self.rows.is_empty() { 0 } else { (last - first) as usize + 1 };
        let n_columns = n_all.min(MAX_COLUMNS);
        if n_all > n_columns {
            remarks.push(format!("only the first {n_columns} of {n_all} columns"));
        }

        let mut rows: Vec<(u32, BTreeMap<u32, Cell>)> = self.rows.into_iter().collect();
        let names = match find_header(&rows, n_columns) {
            Some(header_idx) => {
                let mut rest = rows.split_off(header_idx);
                std::mem::swap(&mut rows, &mut rest);
                remarks.extend(told_above(&rest));
                rows.remove(0).1
            }
            None => BTreeMap::new(),
        };
        let columns = (first..).take(n_columns);
        let names = columns.clone().map(|it| names.get(&it).map(name).unwrap_or_default());
        let names = names::unique(names.collect::<Vec<_>>().iter().map(String::as_str), n_all);
        let n_blank = n_blank_between(&rows);
        if n_blank > 0 {
            let (plural, verb) = if n_blank == 1 { ("", "is") } else { ("s", "are") };
            remarks.push(format!("{n_blank} empty row{plural} {verb} left out"));
        }

        let is_more = self.has_more || rows.len() > request.limit;
        rows.truncate(request.limit);
        let kind = |column: u32| cell::kind_of(rows.iter().filter_map(|(_, row)| row.get(&column)));
        let columns: Vec<(u32, Column)> =
            columns.zip(names).map(|(at, name)| (at, Column { name, kind: kind(at) })).collect();
        let mut budget = Budget::new(request.limit, request.max_bytes);
        let n_rows = rows.len();
        let mut values = Vec::new();
        for (_, mut row) in rows {
            let n_bytes = row.values().map(Cell::size).sum();
            if !budget.admits(n_bytes, n_columns) {
                break;
            }
            let value = |(at, column): &(u32, Column)| match row.remove(at) {
                Some(cell) => cell.into_value(&column.kind),
                None => Value::Null,
            };
            values.push(columns.iter().map(value).collect());
        }
        Table {
            columns: columns.into_iter().map(|(_, column)| column).collect(),
            n_columns: Some(n_all),
            has_more: is_more || values.len() < n_rows,
            rows: values,
            remarks,
        }
    }
}

type Row = (u32, BTreeMap<u32, Cell>);

/// Where the header is: the first row that is as wide as the table and has nothing but names.
fn find_header(rows: &[Row], n_columns: usize) -> Option<usize> {
    // A title above the table does not make it wider.
    let wide = |row: &Row| row.1.len() * 2 > n_columns;
    let header_idx = rows.iter().take(MAX_ABOVE).position(wide)?;
    let (header, rest) = (&rows[header_idx].1, &rows[header_idx + 1..]);
    let mut has_text = false;
    for (column, cell) in header {
        match cell {
            Cell::Text(_) => has_text = true,
            // `2019`, `2020` can be names, if what is below them is something else.
            cell if is_year(cell) => {
                let below = rest.iter().find_map(|(_, row)| row.get(column));
                below.filter(|below| !is_year(below))?;
            }
            _ => return None,
        }
    }
    has_text.then_some(header_idx)
}

fn is_year(cell: &Cell) -> bool {
    matches!(cell, Cell::Number(number) if cell::is_integral(*number)
        && (1800.0..2200.0).contains(number))
}

fn name(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// What stands above the header.
fn told_above(rows: &[Row]) -> Option<String> {
    let texts = rows.iter().flat_map(|(_, row)| row.values().map(name));
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    let told = || format!("above the header: {}", cut(&texts.join(" | "), MAX_TOLD));
    (!rows.is_empty()).then(told)
}

fn n_blank_between(rows: &[Row]) -> u64 {
    match rows {
        [first, .., last] => u64::from(last.0 - first.0) + 1 - rows.len() as u64,
        _ => 0,
    }
}
