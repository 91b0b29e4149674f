//! Changes of text at byte positions, which keep every other byte.

use std::fmt;
use std::ops::Range;

/// The reason why recto does not change a file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Creates the error for a file with a structure that recto does not change.
pub fn unsupported<T>(why: impl fmt::Display) -> Result<T, Unsupported> {
    Err(Unsupported(why.to_string()))
}

/// A range of the old text and its replacement.
pub type Splice = (Range<usize>, String);

/// Applies splices, which must not overlap.
pub fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (range, new) in splices {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Returns the line break that a text uses.
pub fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns where the line around a position starts.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns where the line around a position ends, before its line break.
pub fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |offset| at + offset);
    end - usize::from(text[at..end].ends_with('\r'))
}

/// Returns where the next line starts, or the end of the text.
pub fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |offset| at + offset + 1)
}

/// Returns the white space at the start of a text.
pub fn leading_space(text: &str) -> &str {
    let n_bytes = text.find(|c| c != ' ' && c != '\t').unwrap_or(text.len());
    &text[..n_bytes]
}
