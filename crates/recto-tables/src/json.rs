//! JSON as a table: an array of objects, one object, or a sequence of values.
//!
//! Keys become columns. Values that are not objects are in one column called `json`, as in DuckDB.
//! Nested values stay JSON.

use std::io::Read;

use serde::de::IgnoredAny;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::Request;
use crate::budget::{Budget, max_cell_chars};
use crate::error::Result;
use crate::names;
use crate::table::{Column, Table, Type, Value};
use crate::text::{self, INVALID, Text};

mod columns;

mod members;

pub(crate) mod stream;

pub use columns::has_large_integer;
use columns::{Columns, JsonCell, Kinds};
use members::{each_member, each_member_of_feature};
use stream::{ValueExtent, Values, extent};

/// The number of values from which column types are detected.
const SAMPLE_ROWS: usize = 20_480;

/// The most bytes of text from which column types are detected. Parsing costs more than for
/// delimited text.
const SAMPLE_BYTES: usize = 1 << 20;

/// The most bytes of text read to find rows to show.
const MAX_BYTES: usize = 64 << 20;

/// The same if rows are skipped.
const MAX_SKIPPED_BYTES: usize = 1 << 30;

/// The column of values that are not objects.
const ONLY_COLUMN: &str = "json";

/// Returns the first rows of a JSON text.
pub fn preview(input: &mut dyn Read, request: &Request<'_>) -> Result<Table> {
    let mut values = Values::new(Text::open(input)?.within(request.max_memory))?;
    let is_geojson = request.name.to_ascii_lowercase().ends_with(".geojson");
    if is_geojson {
        values.enter_member("features");
    }
    let items = if is_geojson { None } else { values.enter_items()? };
    let mut rows = JsonRows::new(request);
    let mut failed = None;
    let max_bytes = if request.offset > 0 { MAX_SKIPPED_BYTES } else { MAX_BYTES };
    while values.n_bytes() < max_bytes && !rows.is_complete(values.n_bytes()) {
        match values.next_value() {
            Ok(Some(value)) => rows.push(&value, is_geojson),
            Ok(None) => break,
            // An error after the requested rows does not affect them.
            Err(_) if rows.has_more() => break,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if let Some(error) = failed.take_if(|_| rows.n_rows == 0 || !values.ends_unfinished()) {
        return Err(error);
    }
    let is_cut_short = values.n_bytes() >= max_bytes;
    let is_complete = rows.is_complete(values.n_bytes());
    let mut table = rows.into_table(is_cut_short);
    if is_cut_short && !is_complete {
        table.notes.push(text::only_first(max_bytes));
    }
    if let Some(key) = items {
        table.notes.push(format!("The rows are the {key} of a JSON object."));
    }
    if failed.is_some() {
        table.notes.push("The last line is incomplete and was skipped.".into());
    }
    if values.has_invalid() {
        table.notes.push(INVALID.into());
    }
    if values.has_nan() {
        table.notes.push("NaN and Infinity are shown as null.".into());
    }
    Ok(table)
}

/// Returns whether a text without a JSON extension is JSON: it starts with an object or an array,
/// and only more of them follow.
pub fn is_convincing(head: &str) -> bool {
    let head = head.trim_start();
    if !head.starts_with(['{', '[']) {
        return false;
    }
    match extent(head) {
        ValueExtent::Whole(n_bytes) => {
            let (value, rest) = head.split_at(n_bytes);
            let is_end = |rest: &str| rest.is_empty() || rest.starts_with(['{', '[']);
            is_end(rest.trim_start()) && serde_json::from_str::<IgnoredAny>(value).is_ok()
        }
        ValueExtent::Open => {
            serde_json::from_str::<IgnoredAny>(head).is_err_and(|error| error.is_eof())
        }
        ValueExtent::TooDeep => false,
    }
}

/// The rows to show and the types of the columns, collected value by value.
struct JsonRows<'a> {
    request: &'a Request<'a>,
    budget: Budget,
    shown: Vec<Row>,
    columns: Columns,
    /// The types of the values as a whole.
    whole: Kinds,
    has_others: bool,
    n_rows: usize,
}

enum Row {
    Object(Vec<(usize, JsonCell)>),
    Other(JsonCell),
}

impl<'a> JsonRows<'a> {
    fn new(request: &'a Request<'a>) -> JsonRows<'a> {
        JsonRows {
            request,
            budget: Budget::new(request.limit, request.max_bytes),
            shown: Vec::new(),
            columns: Columns::default(),
            whole: Kinds::default(),
            has_others: false,
            n_rows: 0,
        }
    }

    fn has_more(&self) -> bool {
        self.n_rows > self.request.offset.saturating_add(self.shown.len())
    }

    /// Returns whether more text would change nothing.
    fn is_complete(&self, n_bytes: usize) -> bool {
        let is_sampled = self.n_rows >= SAMPLE_ROWS || n_bytes >= SAMPLE_BYTES;
        is_sampled && self.has_more()
    }

    fn push(&mut self, value: &str, is_geojson: bool) {
        self.n_rows += 1;
        let is_skipped = self.n_rows <= self.request.offset;
        if is_skipped && self.n_rows > SAMPLE_ROWS {
            return;
        }
        self.whole.observe(value);
        let is_shown = !is_skipped && !self.budget.is_spent();
        if !value.starts_with('{') {
            self.has_others |= value != "null";
            if is_shown {
                let cell = JsonCell::new(value, max_cell_chars(1, self.request.max_bytes));
                self.show(cell.n_bytes(), 1, Row::Other(cell));
            }
            return;
        }
        let max_chars = max_cell_chars(self.columns.keys.len(), self.request.max_bytes);
        let columns = &mut self.columns;
        columns.count_object();
        let mut cells = Vec::new();
        let mut n_bytes = 0;
        let visit = |key: String, value: &RawValue| {
            let Some(column_idx) = columns.column(key) else { return };
            columns.kinds[column_idx].observe(value.get());
            if is_shown {
                let cell = JsonCell::new(value.get(), max_chars);
                n_bytes += cell.n_bytes();
                cells.push((column_idx, cell));
            }
        };
        if is_geojson {
            each_member_of_feature(value, visit);
        } else {
            each_member(value, visit);
        }
        if is_shown {
            let n_columns = self.columns.keys.len();
            self.show(n_bytes, n_columns, Row::Object(cells));
        }
    }

    fn show(&mut self, n_bytes: usize, n_columns: usize, row: Row) {
        if self.budget.admits(n_bytes, n_columns) {
            self.shown.push(row);
        }
    }

    fn into_table(self, is_cut_short: bool) -> Table {
        let has_more = self.has_more() || is_cut_short;
        let mut notes = Vec::new();
        if self.n_rows == 0 {
            let (columns, rows) = (Vec::new(), Vec::new());
            return Table { columns, n_columns: Some(0), rows, has_more, notes };
        }
        let are_maps = self.columns.are_maps();
        if self.has_others || self.columns.keys.is_empty() || are_maps {
            if are_maps {
                notes.push("The objects have hardly a key in common; they are shown whole.".into());
            }
            let kind = self.whole.kind();
            let keys = &self.columns.keys;
            let rows =
                self.shown.into_iter().map(|row| vec![row.into_value(keys, &kind)]).collect();
            let columns = vec![Column { name: ONLY_COLUMN.into(), kind }];
            return Table { columns, n_columns: Some(1), rows, has_more, notes };
        }
        let n_shown = self.columns.keys.len();
        let n_columns = (!self.columns.has_left_out).then_some(n_shown);
        let kinds: Vec<Type> = self.columns.kinds.iter().map(Kinds::kind).collect();
        let rows = self.shown.into_iter().map(|row| row.into_values(&kinds)).collect();
        let columns = names::unique(self.columns.keys.iter().map(String::as_str), n_shown)
            .into_iter()
            .zip(kinds)
            .map(|(name, kind)| Column { name, kind })
            .collect();
        Table { columns, n_columns, rows, has_more, notes }
    }
}

impl Row {
    /// Returns one value for every column.
    fn into_values(self, kinds: &[Type]) -> Vec<Value> {
        let mut values = vec![Value::Null; kinds.len()];
        if let Row::Object(cells) = self {
            for (column_idx, cell) in cells {
                values[column_idx] = cell.into_value(&kinds[column_idx]);
            }
        }
        values
    }

    /// Returns the row as one value.
    fn into_value(self, keys: &[String], kind: &Type) -> Value {
        match self {
            Row::Other(cell) => cell.into_value(kind),
            Row::Object(cells) => {
                let member = |(idx, cell): (usize, JsonCell)| (keys[idx].clone(), cell.into_json());
                Value::Json(Json::Object(cells.into_iter().map(member).collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
