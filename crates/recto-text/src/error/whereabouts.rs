//! What is known of a text, or of a line, that is not where a caller said.

use crate::line::LineRange;
use crate::nearest::{Meant, Nearest};
use crate::quote::Differing;

/// Where a text stands that does not stand on the lines that a caller named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// Lines to replace stand elsewhere.
    Lines {
        /// The first few lines where they start.
        starts: Vec<usize>,
        /// How many they are.
        n_lines: usize,
    },
    /// The line to insert before is another one: the first few.
    Line(Vec<usize>),
    /// It is less than the lines it stands on.
    PartOf {
        /// The lines.
        lines: LineRange,
        /// What they hold, where that is one short line.
        line: Option<String>,
        /// What it was to be.
        meant: Meant,
    },
    /// One line was to be named, and these are several.
    SeveralLines,
    /// It stands nowhere, but something like it does.
    Near(Nearest),
    /// Neither it nor anything like it stands in the file.
    Nowhere,
    /// Only a part of the file was looked at.
    Unknown,
}

impl Whereabouts {
    /// What a caller can do next.
    pub(super) fn hint(&self) -> String {
        match self {
            Whereabouts::Lines { starts, n_lines } => match starts.as_slice() {
                [line] => format!("It stands on line {line}: lines [{line}, {}].", line + n_lines),
                starts => format!("It stands on lines {}.", listed(starts)),
            },
            Whereabouts::Line(lines) => match lines.as_slice() {
                [line] => format!("It stands on line {line}: call again with line {line}."),
                lines => format!("It stands on lines {}.", listed(lines)),
            },
            Whereabouts::PartOf { lines, line, meant } => {
                let end = match meant {
                    Meant::Lines => "; this tool replaces whole lines",
                    Meant::Text | Meant::Line => "",
                };
                let whole = match line {
                    Some(line) => format!("the whole line: {}", Differing(line, "")),
                    None if lines.start == lines.end => "the whole line.".into(),
                    None => "the whole lines.".into(),
                };
                format!("{} is only a part of {lines}{end}. Copy {whole}", meant.argument())
            }
            Whereabouts::SeveralLines => {
                "anchor is one line: the text of the line to insert before.".into()
            }
            Whereabouts::Near(nearest) => nearest.to_string(),
            Whereabouts::Nowhere => {
                "It stands nowhere in the file. Read the lines again and copy them exactly.".into()
            }
            Whereabouts::Unknown => "Read the lines again and copy them exactly.".into(),
        }
    }
}

/// What a line that is not there was named as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedAs {
    /// The line to insert before.
    Anchor,
    /// The first line of a range.
    Start,
    /// The line after the last of a range.
    End {
        /// The first line, which is there, as given.
        start: i64,
    },
}

impl NamedAs {
    /// What a caller can do next in a file of `n_lines`.
    pub(super) fn hint(self, line: i64, n_lines: usize) -> String {
        match (self, n_lines) {
            (NamedAs::Anchor, 0) => {
                "The file is empty: insert before line 1 with anchor \"\", or use text.append."
                    .into()
            }
            (_, 0) => "The file is empty; use text.append.".into(),
            (NamedAs::Anchor, n_lines) => format!(
                "Lines are 1 to {n_lines}; line 1 inserts at the top, text.append adds at the end."
            ),
            (NamedAs::End { start }, n_lines) if line > 0 => format!(
                "The end is exclusive: [{start}, {}] or [{start}, 0] goes through the last line.",
                n_lines + 1
            ),
            (_, n_lines) => format!("Lines are 1 to {n_lines}, or -1 (the last) to -{n_lines}."),
        }
    }
}

/// Where a string stands that stands in several places, and how to name one of them.
pub(super) fn ambiguous_hint(lines: &[usize], n_matches: usize, n_lines: Option<usize>) -> String {
    let more = if n_matches > lines.len() { " and more" } else { "" };
    let which = match (n_lines, lines) {
        (Some(n_lines), [line, ..]) => {
            format!("Narrow lines to one of them, for example [{line}, {}].", line + n_lines)
        }
        _ => "Add surrounding text to name one.".into(),
    };
    format!("It starts on lines {}{more}. {which}", listed(lines))
}

fn listed(lines: &[usize]) -> String {
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    lines.join(", ")
}
