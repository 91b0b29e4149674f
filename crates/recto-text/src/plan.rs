//! Computes the edits that carry out a caller's request. Nothing is applied or written here.

pub mod anchored;
mod endings;
mod keys;
mod staged;
mod strings;

pub use strings::{Growth, MAX_REPLACED, Replacement, string, strings};

use crate::edits::Edits;
use crate::error::Error;
use crate::find::MatchKind;
use crate::line::{self, Ending, LineRange};

/// A text, or the lines of a large text that a plan needs.
#[derive(Debug, Clone, Copy)]
pub struct TextPart<'a> {
    /// The lines.
    pub text: &'a str,
    /// How many lines precede them.
    pub lines_before: usize,
    /// How many lines follow.
    pub lines_after: usize,
    /// Whether its first line starts before it, and its last line ends after it.
    pub is_cut: [bool; 2],
    /// The ending of every line of the text, if the part is inside a line and lacks it.
    pub ending: Option<Ending>,
    /// The index of the first string that is too far from the others to be in this part, and the
    /// error for it.
    pub far: Option<&'a (usize, Error)>,
}

impl TextPart<'_> {
    /// Whether this is the whole text.
    fn is_whole(&self) -> bool {
        self.lines_before == 0 && self.lines_after == 0 && self.is_cut == [false; 2]
    }

    /// Returns the ending of the line at `offset`, or of the nearest earlier line if it has none.
    fn ending_at(&self, offset: usize) -> Option<Ending> {
        line::ending_at(self.text, offset).or(self.ending)
    }

    /// Returns the last line ending before `offset`.
    fn ending_before(&self, offset: usize) -> Option<Ending> {
        line::ending_before(self.text, offset).or(self.ending)
    }
}

impl<'a> From<&'a str> for TextPart<'a> {
    fn from(text: &'a str) -> TextPart<'a> {
        TextPart {
            text,
            lines_before: 0,
            lines_after: 0,
            is_cut: [false; 2],
            ending: None,
            far: None,
        }
    }
}

/// The planned changes to a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The changes.
    pub edits: Edits,
    /// Where the text of each replacement was found, in the text as the previous ones left it.
    pub found: Vec<Found>,
    /// `Eol` if any replacement matched with other line endings.
    pub kind: MatchKind,
}

/// The places of one replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Whether all places of the string were to be replaced.
    pub is_all: bool,
    /// How many there are.
    pub n_places: usize,
    /// Their lines, in order, with consecutive ones joined. Not empty.
    pub lines: Vec<LineRange>,
}

impl Found {
    fn new(places: &[LineRange], is_all: bool) -> Found {
        let mut lines: Vec<LineRange> = Vec::new();
        for place in places {
            match lines.last_mut() {
                Some(last) if place.start <= last.end + 1 => last.end = last.end.max(place.end),
                _ => lines.push(*place),
            }
        }
        Found { is_all, n_places: places.len(), lines }
    }

    /// Returns the range from the first line to the last.
    pub fn hull(&self) -> LineRange {
        LineRange { start: self.lines[0].start, end: self.lines[self.lines.len() - 1].end }
    }
}
