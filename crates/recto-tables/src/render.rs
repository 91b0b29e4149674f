//! Formats a table as Markdown for a model.
//!
//! Cells are not padded, because alignment costs tokens.

use crate::table::{Alignment, Table, Value};

/// Replaces a line ending inside a value.
const LINE_ENDING: char = '⏎';

/// Shows an empty text. A missing value is an empty cell.
const EMPTY_TEXT: &str = "\"\"";

/// Returns the table as GitHub Markdown: `name (type)` as header, one line for each row. Empty if
/// there are no columns.
pub fn markdown(table: &Table) -> String {
    let mut text = String::new();
    if table.columns.is_empty() {
        return text;
    }
    for column in &table.columns {
        text.push_str("| ");
        push_escaped(&mut text, &column.name);
        text.push_str(" (");
        push_escaped(&mut text, &column.kind.to_string());
        text.push_str(") ");
    }
    text.push_str("|\n");
    for column in &table.columns {
        text.push_str(match column.kind.alignment() {
            Alignment::Left => "| --- ",
            Alignment::Right => "| --: ",
        });
    }
    text.push_str("|\n");
    text.extend(table.rows.iter().map(|values| row(values)));
    text
}

/// Returns one row.
pub fn row(values: &[Value]) -> String {
    let mut text = String::new();
    for value in values {
        text.push_str("| ");
        push_value(&mut text, value);
        text.push(' ');
    }
    text + "|\n"
}

fn push_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => {}
        Value::Boolean(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Integer(number) => text.push_str(&number.to_string()),
        Value::Number(number) => text.push_str(&serde_json::Value::from(*number).to_string()),
        Value::Text(value) if value.is_empty() => text.push_str(EMPTY_TEXT),
        Value::Text(value) => push_escaped(text, value),
        Value::Json(value) => push_escaped(text, &value.to_string()),
    }
}

/// Returns a text from a file on one line, with nothing invisible.
pub fn visible(value: &str) -> String {
    let mut text = String::new();
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        push_visible(&mut text, c, chars.peek().copied());
    }
    text
}

/// Appends a text so that it stays in its cell and contains nothing invisible.
fn push_escaped(text: &mut String, value: &str) {
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '|' => text.push_str("\\|"),
            // A backslash before a bar would cancel the bar's escape.
            '\\' if chars.peek().is_none_or(|next| *next == '|') => text.push_str("\\\\"),
            c => push_visible(text, c, chars.peek().copied()),
        }
    }
}

fn push_visible(text: &mut String, c: char, next: Option<char>) {
    match c {
        '\r' if next == Some('\n') => {}
        '\n' | '\r' => text.push(LINE_ENDING),
        '\t' => text.push('⇥'),
        // Uses the Unicode block of control pictures.
        '\0'..='\x1f' => text.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('�')),
        '\x7f' => text.push('␡'),
        '\u{2028}' | '\u{2029}' | '\u{85}' => text.push(LINE_ENDING),
        c if c.is_control() || is_hidden(c) => text.push_str(&c.escape_unicode().to_string()),
        c => text.push(c),
    }
}

/// Returns whether a character reorders or hides text around it.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
