//! Delimited text: comma- and tab-separated values and similar formats.
//!
//! The start of a file determines its dialect and its columns, and provides the rows to show. The
//! rest is not read.

use std::io::Read;

use crate::Request;
use crate::budget::{Budget, MAX_COLUMNS, MAX_MEMORY, cut, max_cell_chars};
use crate::error::{Error, Result};
use crate::names;
use crate::table::{Column, Table, Value};
use crate::text::Text;

mod dialect;

mod form;

mod header;

mod notes;

mod splitter;

mod types;

use header::Layout;
use notes::Notes;
use splitter::ParsedLine;
use types::{Candidates, Reading};

/// The number of rows from which column types are detected.
const SAMPLE_ROWS: usize = 20_480;

/// The most bytes of text from which column types are detected.
const SAMPLE_BYTES: usize = 4 << 20;

/// The most bytes of text read to find rows to show. Some files have endless blank lines or
/// comments.
const MAX_BYTES: usize = 64 << 20;

/// The same if rows are skipped.
const MAX_SKIPPED_BYTES: usize = 1 << 30;

/// The longest record. A quote may have been opened by mistake.
pub(crate) const MAX_RECORD_BYTES: usize = 16 << 20;

/// Returns the first rows of a delimited text.
pub fn preview(input: &mut dyn Read, request: &Request<'_>) -> Result<Table> {
    let mut text = Text::open(input)?.within(request.max_memory);
    let layout = layout(&mut text, expected_delimiter(request.name))?;
    let mut rows = CsvRows::new(&layout, request);
    let mut n_bytes = 0;
    let max_bytes = if request.offset > 0 { MAX_SKIPPED_BYTES } else { MAX_BYTES };
    let mut is_full = false;
    while n_bytes < max_bytes && !rows.is_complete(n_bytes) {
        let is_last = is_full || text.is_complete() || text.rest().len() >= MAX_RECORD_BYTES;
        let mut fields = Vec::with_capacity(layout.n_columns);
        let next = match layout.dialect.split(text.rest(), is_last, &mut fields) {
            ParsedLine::Record(next) if layout.may_be_comment(&fields) => {
                rows.has_comments = true;
                next
            }
            ParsedLine::Record(next) => {
                rows.push(&fields);
                next
            }
            ParsedLine::Blank(next) => {
                rows.push_blank();
                next
            }
            ParsedLine::Comment(next) => {
                rows.has_comments |= rows.n_records > 0;
                next
            }
            ParsedLine::Incomplete => {
                is_full = !has_grown(&mut text, request.max_memory)?;
                continue;
            }
            ParsedLine::End if text.is_complete() => break,
            ParsedLine::End => {
                text.fill()?;
                continue;
            }
        };
        drop(fields);
        is_full = false;
        n_bytes += next;
        text.advance(next);
    }
    let is_at_end = text.is_complete() && text.rest().is_empty();
    let mut notes = Notes::new(&layout, text.encoding(), request.name);
    if text.has_invalid() {
        notes.invalid();
    }
    if n_bytes >= max_bytes && !rows.is_complete(n_bytes) {
        notes.not_read(max_bytes);
    }
    Ok(rows.into_table(notes, is_at_end))
}

/// Buffers more of a record. Returns whether there is memory for it: a record that needs more than
/// any preview may use ends where the buffer does.
fn has_grown(text: &mut Text<'_>, max_memory: u64) -> Result<bool> {
    match text.fill() {
        Ok(()) => Ok(true),
        Err(Error::OutOfMemory { .. }) if max_memory >= MAX_MEMORY => Ok(false),
        Err(Error::OutOfMemory { n_bytes }) => {
            Err(Error::OutOfMemory { n_bytes: n_bytes.min(MAX_MEMORY) })
        }
        Err(error) => Err(error),
    }
}

/// Returns whether a text without a table's extension is a table: at least two records, all with
/// the same number of fields, at least two, and none that looks like code.
pub fn is_convincing(head: &str) -> bool {
    let is_whole = head.len() < crate::source::HEAD_BYTES / 2;
    let sample = dialect::detect(head, is_whole, None);
    let records = &sample.records;
    let is_even = records.iter().all(|record| record.len() == sample.n_columns);
    if sample.n_columns < 2 || records.len() < 2 || !is_even {
        return false;
    }
    // Arguments of calls are separated by commas, and lines of code end with commas and semicolons.
    // Tabs and pipes do not occur like that, and some programs write one after every field.
    let may_be_code = !matches!(sample.dialect.delimiter, Some(b'\t' | b'|'));
    let has_end = !may_be_code && sample.n_columns > 2;
    let n_columns = if has_end { sample.n_columns - 1 } else { sample.n_columns };
    let has_code = may_be_code && records.iter().flatten().any(|field| is_unbalanced(field));
    let is_empty_column = |column_idx: &usize| {
        records.iter().all(|record| record.get(*column_idx).is_none_or(|f| f.trim().is_empty()))
    };
    let has_types = (0..sample.n_columns).any(|column_idx| {
        let mut candidates = Candidates::new();
        let values = records.iter().skip(1).filter_map(|record| record.get(column_idx));
        values.for_each(|field| candidates.observe(field));
        candidates.has_fields() && candidates.reading(sample.dialect.delimiter) != Reading::Text
    });
    // Lines of prose may well have one comma each, with a space after it.
    let is_tabbed = sample.dialect.delimiter == Some(b'\t');
    let is_tight = sample.dialect.delimiter == Some(b',')
        && records.len() > 3
        && !records.iter().flatten().any(|field| field.starts_with(' '));
    let is_rich = has_types || sample.n_columns > 2 || is_tabbed || is_tight;
    // Records of a database have many empty fields, and no other text has so many tabs.
    let n_empty = (0..n_columns).filter(is_empty_column).count();
    let is_wide = is_tabbed && n_columns >= n_empty + 3;
    !has_code && is_rich && (n_empty == 0 || is_wide)
}

/// Returns whether a field has an unmatched bracket, as arguments of a call do.
fn is_unbalanced(field: &str) -> bool {
    let count = |bracket: char| field.matches(bracket).count();
    count('(') != count(')') || count('{') != count('}') || count('[') != count(']')
}

fn expected_delimiter(name: &str) -> Option<u8> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("csv") => Some(b','),
        Some("tsv" | "tab") => Some(b'\t'),
        Some("psv") => Some(b'|'),
        _ => None,
    }
}

/// Detects the layout from the start of the text, reading more while there are no two records.
fn layout(text: &mut Text<'_>, expected: Option<u8>) -> Result<Layout> {
    loop {
        let sample = dialect::detect(text.rest(), text.is_complete(), expected);
        if sample.records.len() > 1 || text.is_complete() {
            return Ok(Layout::find(text.rest(), &sample));
        }
        if text.rest().len() >= MAX_RECORD_BYTES {
            let cause = format!("its first lines are longer than {} MiB", MAX_RECORD_BYTES >> 20);
            return Err(Error::TooLarge { cause });
        }
        text.fill()?;
    }
}

/// The rows to show and the types of the columns, collected record by record.
struct CsvRows<'a> {
    layout: &'a Layout,
    budget: Budget,
    max_chars: usize,
    /// The first rows, with fields cut to the characters that are shown.
    shown: Vec<Vec<String>>,
    columns: Vec<Candidates>,
    n_records: usize,
    /// Consecutive blank lines, which are rows only if another row follows.
    n_blank: usize,
    n_rows: usize,
    /// The number of rows before those that are shown.
    offset: usize,
    /// The most fields of a shown row, up to its last value.
    n_filled: usize,
    has_short: bool,
    first_long_row: Option<usize>,
    /// Whether there are comments below the first record.
    has_comments: bool,
}

impl<'a> CsvRows<'a> {
    fn new(layout: &'a Layout, request: &Request<'_>) -> CsvRows<'a> {
        CsvRows {
            layout,
            budget: Budget::new(request.limit, request.max_bytes),
            max_chars: max_cell_chars(layout.n_columns.min(MAX_COLUMNS), request.max_bytes),
            shown: Vec::new(),
            columns: vec![Candidates::new(); layout.n_columns.min(MAX_COLUMNS)],
            n_records: 0,
            n_blank: 0,
            n_rows: 0,
            offset: request.offset,
            n_filled: 0,
            has_short: false,
            first_long_row: None,
            has_comments: false,
        }
    }

    /// Returns whether more text would change nothing.
    fn is_complete(&self, n_bytes: usize) -> bool {
        let is_sampled = self.n_rows + self.n_blank >= SAMPLE_ROWS || n_bytes >= SAMPLE_BYTES;
        let has_more = self.n_rows > self.n_shown_or_skipped();
        is_sampled && has_more
    }

    fn push<F: AsRef<str>>(&mut self, fields: &[F]) {
        self.n_records += 1;
        if self.n_records <= self.layout.n_skipped {
            return;
        }
        for _ in 0..std::mem::take(&mut self.n_blank) {
            self.push_row::<&str>(&[]);
        }
        self.push_row(fields);
    }

    /// Counts a blank line, which is a row if rows have one field, which may be empty.
    fn push_blank(&mut self) {
        if self.layout.n_columns == 1 && self.n_records >= self.layout.n_skipped.max(1) {
            self.n_blank += 1;
        }
    }

    fn push_row<F: AsRef<str>>(&mut self, fields: &[F]) {
        self.n_rows += 1;
        if self.n_rows > SAMPLE_ROWS && self.n_rows <= self.offset {
            return;
        }
        for (candidates, field) in self.columns.iter_mut().zip(fields) {
            candidates.observe(field.as_ref());
        }
        if self.n_rows <= self.offset || self.budget.is_spent() {
            return;
        }
        let n_filled = fields.iter().rposition(|field| !field.as_ref().is_empty());
        let n_filled = n_filled.map_or(0, |last_idx| last_idx + 1);
        let n_shown = fields.len().min(self.layout.n_columns.max(n_filled)).min(MAX_COLUMNS);
        let row: Vec<String> =
            fields[..n_shown].iter().map(|field| cut(field.as_ref(), self.max_chars)).collect();
        if !self.budget.admits(row.iter().map(String::len).sum(), row.len()) {
            return;
        }
        self.has_short |= fields.len() < self.layout.n_columns && !fields.is_empty();
        self.n_filled = self.n_filled.max(n_filled);
        if n_shown > self.layout.n_columns {
            self.first_long_row.get_or_insert(self.n_rows);
        }
        // Columns that only this row has are null in the rows above it.
        for field in &fields[self.columns.len().min(n_shown)..n_shown] {
            let mut candidates = Candidates::new();
            candidates.observe(field.as_ref());
            self.columns.push(candidates);
        }
        self.shown.push(row);
    }

    /// Returns how many rows are skipped or shown.
    fn n_shown_or_skipped(&self) -> usize {
        self.offset.saturating_add(self.shown.len())
    }

    fn into_table(mut self, mut notes: Notes, is_at_end: bool) -> Table {
        let has_more = self.n_rows > self.n_shown_or_skipped() || !is_at_end;
        self.drop_trailing_columns();
        let n_columns = self.n_columns();
        let readings = self.readings();
        let header = self.layout.header.as_deref().unwrap_or_default();
        let names = (0..readings.len()).map(|column_idx| header.get(column_idx).map_or("", |n| n));
        let columns: Vec<Column> = names::unique(names, n_columns)
            .into_iter()
            .zip(&readings)
            .map(|(name, reading)| Column { name, kind: reading.kind() })
            .collect();
        let rows: Vec<Vec<Value>> = self
            .shown
            .iter()
            .map(|row| {
                let field = |column_idx: usize| row.get(column_idx).map_or("", |field| field);
                let values = readings.iter().enumerate();
                values.map(|(idx, reading)| reading.value(field(idx))).collect()
            })
            .collect();
        if self.has_comments {
            notes.comments(self.layout.dialect.comment);
        }
        let n_names = header.len() - usize::from(self.layout.has_row_names);
        if !header.is_empty() && self.first_long_row.is_none() && n_names < n_columns {
            notes.missing_names(n_names, n_columns, self.layout.has_row_names);
        }
        if self.has_short {
            notes.short_rows();
        }
        if let Some(row) = self.first_long_row {
            notes.long_row(row, self.layout.n_columns);
        }
        notes.readings(&columns, &readings);
        Table { columns, n_columns: Some(n_columns), rows, has_more, notes: notes.into_vec() }
    }

    /// Returns the reading of each column. In a file that has decimal commas, and no points that can
    /// only be decimal points, all points separate thousands.
    fn readings(&self) -> Vec<Reading> {
        let delimiter = self.layout.dialect.delimiter;
        let mut readings: Vec<Reading> =
            self.columns.iter().map(|candidates| candidates.reading(delimiter)).collect();
        let has_point = |(reading, candidates): (&Reading, &Candidates)| {
            *reading == Reading::Number && !candidates.may_have_decimal_comma()
        };
        let has_points = readings.iter().zip(&self.columns).any(has_point);
        if readings.contains(&Reading::DecimalComma) && !has_points {
            let numbers = readings.iter_mut().filter(|reading| **reading == Reading::Number);
            numbers.for_each(|reading| *reading = Reading::DecimalComma);
        }
        readings
    }

    /// Returns the number of columns, including those that are not shown. Below a header, only
    /// columns with a name or a value count.
    fn n_columns(&self) -> usize {
        if self.columns.len() < MAX_COLUMNS {
            return self.columns.len();
        }
        let is_named = |name: &String| !name.trim().is_empty();
        let n_named = match &self.layout.header {
            Some(header) => header.iter().rposition(is_named).map_or(0, |last_idx| last_idx + 1),
            None => self.layout.n_columns,
        };
        n_named.max(self.n_filled).max(self.columns.len())
    }

    /// Drops columns at the end without a name or a value: every line ends with a delimiter.
    fn drop_trailing_columns(&mut self) {
        let Some(header) = &self.layout.header else { return };
        while self.columns.len() > header.len()
            && self.columns.last().is_some_and(|candidates| !candidates.has_fields())
        {
            self.columns.pop();
        }
    }
}

#[cfg(test)]
mod tests;
