//! What a reader should know about how a delimited text was read.

use recto_text::Encoding;

use super::expected_delimiter;
use super::header::Layout;
use super::types::Reading;
use crate::table::{Column, Type};

/// Remarks, in the order in which they matter.
pub struct Remarks {
    remarks: Vec<String>,
}

impl Remarks {
    /// What the layout has to say.
    pub fn new(layout: &Layout, encoding: Encoding, name: &str) -> Remarks {
        let mut remarks = Vec::new();
        match layout.dialect.delimiter {
            Some(delimiter) if expected_delimiter(name) != Some(delimiter) => {
                remarks.push(format!("The delimiter is {}.", delimiter_name(delimiter)));
            }
            _ => {}
        }
        if !matches!(encoding, Encoding::Utf8 | Encoding::Utf8Bom) {
            remarks.push(format!("The encoding is {}.", encoding.name()));
        }
        match layout.n_preamble {
            0 => {}
            1 => remarks.push("1 line above the table was skipped.".into()),
            n_lines => remarks.push(format!("{n_lines} lines above the table were skipped.")),
        }
        if layout.header.is_none() && layout.n_columns > 0 {
            remarks.push("There is no header; the names are made up.".into());
        }
        Remarks { remarks }
    }

    /// Lines among the rows were taken for comments.
    pub fn comments(&mut self, mark: Option<u8>) {
        let mark = char::from(mark.unwrap_or(b'#'));
        self.remarks.push(format!("Lines that start with {mark} were left out."));
    }

    /// Some rows have fewer fields than there are columns.
    pub fn short_rows(&mut self) {
        self.remarks.push("Some rows are short; their missing values are null.".into());
    }

    /// A row has more fields than there are columns.
    pub fn long_row(&mut self, row: usize, n_columns: usize) {
        self.remarks.push(format!(
            "Row {row} has more than {n_columns} values; columns were added for them."
        ));
    }

    /// Values that do not look as they are written.
    pub fn readings(&mut self, columns: &[Column], readings: &[Reading]) {
        let with_comma: Vec<&str> = columns
            .iter()
            .zip(readings)
            .filter(|(_, reading)| **reading == Reading::DecimalComma)
            .map(|(column, _)| column.name.as_str())
            .collect();
        if !with_comma.is_empty() {
            self.remarks.push(format!("Decimal commas were read in: {}.", with_comma.join(", ")));
        }
        for (column, reading) in columns.iter().zip(readings) {
            if let Reading::Moment(_, styles) = reading
                && styles.is_ambiguous()
                && column.kind != Type::Time
            {
                self.remarks
                    .push(format!("The day was read before the month in: {}.", column.name));
            }
        }
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<String> {
        self.remarks
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
