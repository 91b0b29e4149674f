//! Lines: a line ends with `\n`, and a `\r` before it is part of the ending.
//!
//! A lone `\r`, a form feed and U+2028 are ordinary characters. `""` has no lines, `"a"` and
//! `"a\n"` have one, `"a\n\n"` has two.

use std::fmt;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

/// A line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
}

impl Ending {
    /// Returns the characters of the ending.
    pub fn as_str(self) -> &'static str {
        match self {
            Ending::Lf => "\n",
            Ending::CrLf => "\r\n",
        }
    }
}

/// A range of lines, one-based and inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The first line.
    pub start: usize,
    /// The last line.
    pub end: usize,
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.start == self.end {
            write!(f, "line {}", self.start)
        } else {
            write!(f, "lines {}-{}", self.start, self.end)
        }
    }
}

/// Counts the lines of `text`.
pub fn count(text: &str) -> usize {
    n_endings(text) + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Iterates over the lines of `text`, each with its ending.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (line, later) = rest.split_at(end_of(rest, 0));
        rest = later;
        (!line.is_empty()).then_some(line)
    })
}

/// Returns how many line endings a text has.
pub fn n_endings(text: &str) -> usize {
    memchr_iter(b'\n', text.as_bytes()).count()
}

/// Returns a line without its ending.
pub fn without_ending(line: &str) -> &str {
    match line.strip_suffix('\n') {
        Some(rest) => rest.strip_suffix('\r').unwrap_or(rest),
        None => line,
    }
}

/// Returns the ending of a line, if it has one.
pub fn ending(line: &str) -> Option<Ending> {
    line.ends_with('\n').then(|| ending_of(line.as_bytes()))
}

/// Returns the offset where the line that contains `offset` starts.
pub fn start_of(text: &str, offset: usize) -> usize {
    memrchr(b'\n', &text.as_bytes()[..offset]).map_or(0, |newline| newline + 1)
}

/// Returns the offset after the line that contains `offset`, including its ending.
pub fn end_of(text: &str, offset: usize) -> usize {
    memchr(b'\n', &text.as_bytes()[offset..]).map_or(text.len(), |newline| offset + newline + 1)
}

/// Returns the lines that overlap a non-empty byte range. A final `\n` belongs to its line.
pub fn range_of(text: &str, range: &Range<usize>) -> LineRange {
    let bytes = text.as_bytes();
    let start = 1 + memchr_iter(b'\n', &bytes[..range.start]).count();
    let last = range.end.saturating_sub(1).max(range.start);
    let end = start + memchr_iter(b'\n', &bytes[range.start..last]).count();
    LineRange { start, end }
}

/// Returns the ending of the line at `offset`, or of the nearest earlier line if it has none.
pub fn ending_at(text: &str, offset: usize) -> Option<Ending> {
    let bytes = text.as_bytes();
    match memchr(b'\n', &bytes[offset..]) {
        Some(found) => Some(ending_of(&bytes[..=offset + found])),
        None => ending_before(text, offset),
    }
}

/// Returns the last line ending before `offset`.
pub fn ending_before(text: &str, offset: usize) -> Option<Ending> {
    let newline = memrchr(b'\n', &text.as_bytes()[..offset])?;
    Some(ending_of(&text.as_bytes()[..=newline]))
}

/// Returns the ending of a line that has one.
fn ending_of(line: &[u8]) -> Ending {
    if line.ends_with(b"\r\n") { Ending::CrLf } else { Ending::Lf }
}

/// Whether a line of a text ends with CRLF.
pub fn has_crlf(text: &[u8]) -> bool {
    // A single byte is found faster than two.
    memchr_iter(b'\r', text).any(|at| text.get(at + 1) == Some(&b'\n'))
}

#[cfg(test)]
mod tests;
