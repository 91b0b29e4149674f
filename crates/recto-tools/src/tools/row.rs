//! A numbered line in an answer, as text and as an object.

use recto_text::Size;
use recto_text::search::LineMatches;
use serde_json::{Value, json};

/// A line, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The line number, 1-based.
    pub line: u64,
    /// The text without its line ending.
    pub content: String,
    /// What is missing, if the line is truncated.
    pub cut: Option<Cut>,
}

/// The missing parts of a truncated line.
#[derive(Debug, PartialEq, Eq)]
pub struct Cut {
    /// The character after the shown ones, from 1, if there are more.
    pub next_column: Option<u64>,
    /// The matches of the searched string in the whole line.
    pub matches: Option<LineMatches>,
}

/// The part of a long line that is shown.
pub struct Excerpt<'a> {
    /// The text from the first shown character on.
    pub text: &'a str,
    /// The first shown character, from 1.
    pub first_column: u64,
    /// Whether the line continues after the text.
    pub has_more: bool,
    /// The matches in the whole line.
    pub matches: Option<LineMatches>,
}

impl Row {
    /// Appends the row as text, with the number right-aligned.
    fn write(&self, text: &mut String, width: usize) {
        let Row { line, content, cut } = self;
        text.push_str(&format!("{line:>width$}\t{content}"));
        if let Some(Cut { next_column, matches }) = cut {
            let mut notes = Vec::new();
            if let Some(LineMatches { column, n_matches, may_be_more, .. }) = matches {
                let which = if *n_matches == 1 { "match" } else { "first match" };
                notes.push(format!("{which} at column {column}"));
                if *n_matches > 1 {
                    let or_more = if *may_be_more { " or more" } else { "" };
                    notes.push(format!("{n_matches}{or_more} in this line"));
                }
            }
            if let Some(column) = next_column {
                notes.push(format!("continue with lines {line}, column {column}"));
            }
            text.push_str(&format!(" … (truncated; {})", notes.join("; ")));
        }
        text.push('\n');
    }

    /// Returns the row as an object.
    pub fn to_json(&self, file_path: Option<&str>) -> Value {
        let mut value = json!({"line_number": self.line, "content": self.content});
        if let Some(Cut { next_column, matches }) = &self.cut {
            value["cut"] = true.into();
            if let Some(column) = next_column {
                value["next_column"] = (*column).into();
            }
            if let Some(LineMatches { column, n_matches, .. }) = matches {
                value["column"] = (*column).into();
                value["matches"] = (*n_matches).into();
            }
        }
        if let Some(file_path) = file_path {
            value["file_path"] = file_path.into();
        }
        value
    }

    /// Returns the most bytes that the row takes besides its content, as text and as an object.
    pub fn overhead(total_lines: u64, is_cut: bool) -> Size {
        // `--`, the number, a tab and the end of the line; `{"content":"","line_number":}` and a comma.
        let n_digits = total_lines.max(1).ilog10() as usize + 1;
        let whole = Size { bytes: 5 + n_digits, json: 32 + n_digits };
        let cut = Size { bytes: 160, json: 100 };
        if is_cut { whole.plus(cut) } else { whole }
    }

    /// Returns the most bytes that the row takes, as text and as an object without `file_path`.
    pub fn size(&self, total_lines: u64) -> Size {
        Row::overhead(total_lines, self.cut.is_some()).plus(Size::of(&self.content))
    }
}

/// Writes lines with right-aligned numbers and `--` between lines that are not adjacent. `above`
/// returns text to write above a line.
pub fn write_rows<'a>(text: &mut String, rows: &'a [Row], above: impl Fn(&'a Row) -> &'a str) {
    let width = rows.last().map_or(1, |row| row.line.to_string().len());
    let mut expected = None;
    for row in rows {
        if expected.is_some_and(|expected| expected != row.line) {
            text.push_str("--\n");
        }
        expected = Some(row.line + 1);
        text.push_str(above(row));
        row.write(text, width);
    }
}
