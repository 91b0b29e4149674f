//! Cuts a table to the size of an answer, names, types and notes included, and notes omitted columns.
//! The formats count only values, to stop reading in time.

use crate::budget::{MAX_CELL_CHARS, MAX_COLUMNS, cut};
use crate::json::has_large_integer;
use crate::render;
use crate::table::{Column, Table, Type, Value};

/// The cost of a column in addition to its name and type.
const COLUMN_BYTES: usize = 32;

/// The most notes, and the most characters of one: some list the columns that they concern.
const MAX_NOTES: usize = 16;
const MAX_NOTE_CHARS: usize = 500;

/// Cells are not shortened further than this.
const MIN_CELL_CHARS: usize = 4;

/// Drops the last columns if all would take more than half of the bytes, and the last rows if they
/// exceed the rest. One column and one row always remain; a row that alone exceeds the rest has
/// shorter cells.
pub fn fit(mut table: Table, max_bytes: usize) -> Table {
    table.rows.iter_mut().flatten().for_each(bound);
    table.notes.extend(large_numbers(&table));
    table.notes.truncate(MAX_NOTES);
    for note in &mut table.notes {
        // Names in it are from the file, and could look like further lines of the answer.
        *note = cut(&render::visible(note), MAX_NOTE_CHARS);
        if !note.ends_with('.') {
            note.push('.');
        }
    }
    let (n_notes, _) = n_fitting(table.notes.iter().map(String::len), max_bytes / 4);
    table.notes.truncate(n_notes);
    let size = |column: &Column| {
        text_size(&column.name) + text_size(&column.kind.to_string()) + COLUMN_BYTES
    };
    let (n_columns, n_bytes) = n_fitting(table.columns.iter().map(size), max_bytes / 2);
    table.columns.truncate(n_columns);
    table.rows.iter_mut().for_each(|row| row.truncate(n_columns));
    table.notes.extend(column_note(&table));
    let n_note_bytes: usize = table.notes.iter().map(|note| note.len() + 1).sum();
    let max_row_bytes = max_bytes.saturating_sub(n_bytes + n_note_bytes);
    if let Some(first) = table.rows.first_mut() {
        shorten(first, max_row_bytes);
    }
    let (n_rows, _) = n_fitting(table.rows.iter().map(|row| row_size(row)), max_row_bytes);
    table.has_more |= n_rows < table.rows.len();
    table.rows.truncate(n_rows);
    table
}

/// Says how many columns of a table are shown, if not all are.
fn column_note(table: &Table) -> Option<String> {
    let n_columns = table.columns.len();
    match table.n_columns {
        Some(n_all) if n_all == n_columns => None,
        Some(n_all) => {
            let limit = match n_all > MAX_COLUMNS {
                true => format!("; the first {MAX_COLUMNS} can be selected"),
                false => String::new(),
            };
            Some(format!("Only the first {n_columns} of {n_all} columns are shown{limit}."))
        }
        None => Some(format!("Only {n_columns} columns are shown; there are more.")),
    }
}

/// Drops the last columns of a table that was fitted, and corrects the note about them.
pub fn truncate_columns(table: &mut Table, n_columns: usize) {
    let before = column_note(table);
    table.columns.truncate(n_columns);
    table.rows.iter_mut().for_each(|row| row.truncate(n_columns));
    table.notes.retain(|note| Some(note) != before.as_ref());
    table.notes.extend(column_note(table));
}

/// Shows a nested value as text if it is longer than a cell.
fn bound(value: &mut Value) {
    if let Value::Json(nested) = value {
        let text = nested.to_string();
        if text.chars().nth(MAX_CELL_CHARS).is_some() {
            *value = Value::Text(cut(&text, MAX_CELL_CHARS));
        }
    }
}

/// Halves the longest cells of a row until it has `max_bytes`.
fn shorten(row: &mut [Value], max_bytes: usize) {
    let mut max_chars = MAX_CELL_CHARS;
    while row_size(row) > max_bytes && max_chars > MIN_CELL_CHARS {
        max_chars /= 2;
        for value in &mut *row {
            let text = match value {
                Value::Text(text) => std::mem::take(text),
                Value::Json(nested) => nested.to_string(),
                _ => continue,
            };
            let shown: String = text.chars().take(max_chars).collect();
            let is_whole = shown.len() == text.len();
            match value {
                Value::Json(_) if is_whole => {}
                _ => *value = Value::Text(if is_whole { text } else { shown + "…" }),
            }
        }
    }
}

/// Returns the bytes of a row, as Markdown or as JSON, whichever has more.
fn row_size(row: &[Value]) -> usize {
    let json = row.iter().map(|value| match value {
        Value::Null => 5,
        Value::Boolean(_) => 6,
        Value::Integer(number) => number.to_string().len() + 1,
        Value::Number(number) => serde_json::Value::from(*number).to_string().len() + 1,
        Value::Text(text) => text_size(text) + 3,
        Value::Json(nested) => nested.to_string().len() + 1,
    });
    render::row(row).len().max(json.sum::<usize>() + 2)
}

/// Returns the bytes of a text in JSON, without its quotes, or as it is.
fn text_size(text: &str) -> usize {
    let n_escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(n_escaped).sum()
}

/// Notes the columns of numbers in which some are texts, to keep their digits.
fn large_numbers(table: &Table) -> Option<String> {
    let is_large = |value: &Value, kind: &Type| match (value, kind) {
        // It was cut.
        (Value::Text(text), _) if text.contains('…') => false,
        (Value::Text(text), Type::Integer | Type::Number) => {
            text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
        }
        (Value::Text(text), Type::Json) => has_large_integer(text),
        _ => false,
    };
    let has_large = |(column_idx, column): &(usize, &Column)| {
        table.rows.iter().any(|row| is_large(&row[*column_idx], &column.kind))
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
