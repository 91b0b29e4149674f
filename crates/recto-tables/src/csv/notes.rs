//! Notes on how a delimited text was read.

use std::collections::BTreeMap;

use recto_text::Encoding;

use super::expected_delimiter;
use super::header::Layout;
use super::types::Reading;
use crate::moments::MomentKind;
use crate::names::NO_HEADER;
use crate::table::Column;
use crate::text::{self, INVALID};

/// Notes, the most important ones first.
pub struct Notes {
    notes: Vec<String>,
}

impl Notes {
    /// Creates the notes on the layout.
    pub fn new(layout: &Layout, encoding: Encoding, name: &str) -> Notes {
        let mut notes = Vec::new();
        match layout.dialect.delimiter {
            Some(delimiter) if expected_delimiter(name) != Some(delimiter) => {
                notes.push(format!("The delimiter is {}.", delimiter_name(delimiter)));
            }
            _ => {}
        }
        if !matches!(encoding, Encoding::Utf8 | Encoding::Utf8Bom) {
            notes.push(format!("The encoding is {}.", encoding.name()));
        }
        match layout.n_preamble {
            0 => {}
            1 => notes.push("1 line above the table was skipped.".into()),
            n_lines => notes.push(format!("{n_lines} lines above the table were skipped.")),
        }
        if layout.header.is_none() && layout.n_columns > 0 {
            notes.push(NO_HEADER.into());
        }
        Notes { notes }
    }

    /// Notes that some bytes are not text in the encoding.
    pub fn invalid(&mut self) {
        self.notes.push(INVALID.into());
    }

    /// Notes that nothing was read beyond so many bytes.
    pub fn not_read(&mut self, n_bytes: usize) {
        self.notes.push(text::only_first(n_bytes));
    }

    /// Notes that lines among the rows were skipped as comments.
    pub fn comments(&mut self, mark: Option<u8>) {
        let mark = char::from(mark.unwrap_or(b'#'));
        self.notes.push(format!("Lines starting with {mark} were skipped."));
    }

    /// Notes that the header has fewer names than there are columns.
    pub fn missing_names(&mut self, n_names: usize, n_columns: usize, has_row_names: bool) {
        let names = if n_names == 1 { "name" } else { "names" };
        let which = if has_row_names { "; the first column has none" } else { "" };
        self.notes
            .push(format!("The header has {n_names} {names} for {n_columns} columns{which}."));
    }

    /// Notes that some rows have fewer fields than there are columns.
    pub fn short_rows(&mut self) {
        self.notes.push("Some rows are short; their missing values are null.".into());
    }

    /// Notes that a row has more fields than there are columns.
    pub fn long_row(&mut self, row: usize, n_columns: usize) {
        self.notes.push(format!(
            "Row {row} has more than {n_columns} values; columns were added for them."
        ));
    }

    /// Notes values whose form was interpreted.
    pub fn readings(&mut self, columns: &[Column], readings: &[Reading]) {
        let with_comma: Vec<&str> = columns
            .iter()
            .zip(readings)
            .filter(|(_, reading)| **reading == Reading::DecimalComma)
            .map(|(column, _)| column.name.as_str())
            .collect();
        if !with_comma.is_empty() {
            self.notes
                .push(format!("Commas were read as decimal commas in: {}.", with_comma.join(", ")));
        }
        let mut assumed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (column, reading) in columns.iter().zip(readings) {
            if let Reading::Moment(MomentKind::Date | MomentKind::Timestamp, styles) = reading
                && let Some(order) = styles.assumption()
            {
                assumed.entry(order).or_default().push(&column.name);
            }
        }
        for (order, names) in assumed {
            self.notes.push(format!("Dates were read with {order} in: {}.", names.join(", ")));
        }
    }

    /// Returns all notes.
    pub fn into_vec(self) -> Vec<String> {
        self.notes
    }
}

fn delimiter_name(delimiter: u8) -> String {
    match delimiter {
        b',' => "a comma".into(),
        b';' => "a semicolon".into(),
        b'\t' => "a tab".into(),
        b'|' => "a bar".into(),
        b' ' => "a space".into(),
        other => format!("`{}`", char::from(other)),
    }
}
