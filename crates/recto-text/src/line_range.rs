//! The line ranges of the text toolset: `[start, end)`, from 1, the end exclusive.
//!
//! A negative number counts from the end (-1 is the last line). 0 means the first line as start,
//! and through the last line as end. Reads clamp ranges to the file; changes reject ranges that are
//! not inside it.

use std::ops::Range;

use crate::error::{Error, NamedAs, Result};

/// A range as the caller wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The first line.
    pub start: i64,
    /// The line after the last.
    pub end: i64,
}

impl Interval {
    /// All lines.
    pub const ALL: Interval = Interval { start: 0, end: 0 };

    /// Returns the lines to read, as indices from 0, in a file of `n_lines`.
    pub fn to_read(self, path: &str, n_lines: u64) -> Result<Range<u64>> {
        let n = as_count(n_lines);
        if self.start > n && !(n == 0 && self.start == 1) {
            return Err(Error::LinePastEnd { line: self.start, path: path.into(), n_lines });
        }
        if n == 0 {
            return Ok(0..0);
        }
        let start = match self.start {
            0 => 1,
            start if start < 0 => (n + 1).saturating_add(start).max(1),
            start => start,
        };
        let end = match self.end {
            0 => n + 1,
            end if end < 0 => (n + 1).saturating_add(end).max(1),
            end => end.min(n + 1),
        };
        self.checked(start, end)
    }

    /// Returns the lines to change, as indices from 0, in a file of `n_lines`.
    pub fn to_change(self, path: &str, n_lines: usize) -> Result<Range<usize>> {
        let n = as_count(n_lines);
        let outside =
            |line, named_as| Error::NoSuchLine { line, path: path.into(), n_lines, named_as };
        let start = match self.start {
            0 if n > 0 => 1,
            start if (1..=n).contains(&start) => start,
            start if (-n..0).contains(&start) => n + 1 + start,
            start => return Err(outside(start, NamedAs::Start)),
        };
        let end = match self.end {
            0 => n + 1,
            end if (1..=n + 1).contains(&end) => end,
            end if (-n..0).contains(&end) => n + 1 + end,
            end => return Err(outside(end, NamedAs::End { start: self.start, has_text: true })),
        };
        let range = self.checked(start, end)?;
        Ok(range.start as usize..range.end as usize)
    }

    fn checked(self, start: i64, end: i64) -> Result<Range<u64>> {
        if start >= end {
            // [5, 5] probably means line 5, and [7, 3] lines 3 to 7.
            let (first, last) = (end.min(start), end.max(start));
            return Err(Error::EmptyRange {
                start: self.start,
                end: self.end,
                meant: (first, last + 1),
            });
        }
        Ok(start as u64 - 1..end as u64 - 1)
    }
}

/// Converts a line count, limited so that the number of the next line does not overflow.
fn as_count(n_lines: impl TryInto<i64>) -> i64 {
    n_lines.try_into().unwrap_or(i64::MAX).min(i64::MAX - 1)
}

/// Returns the index, from 0, of the line that a change names.
pub fn line_to_change(line: i64, path: &str, n_lines: usize) -> Result<usize> {
    let n = as_count(n_lines);
    match line {
        line if (1..=n).contains(&line) => Ok(line as usize - 1),
        line if (-n..0).contains(&line) => Ok((n + line) as usize),
        line => {
            let named_as = NamedAs::Anchor;
            Err(Error::NoSuchLine { line, path: path.into(), n_lines, named_as })
        }
    }
}

#[cfg(test)]
mod tests;
