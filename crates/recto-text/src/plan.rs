//! Computes the edits that carry out a caller's request. Nothing is applied or written here.

pub mod anchored;
mod endings;
mod independent;
mod strings;

pub use strings::{Replacement, string, strings};

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
    /// The ending of every line of the text, if the part is inside a line and lacks it.
    pub ending: Option<Ending>,
    /// The index of the first string that is too far from the others to be in this part, and the
    /// error for it.
    pub far: Option<&'a (usize, Error)>,
}

impl TextPart<'_> {
    /// Whether this is the whole text.
    fn is_whole(&self) -> bool {
        self.lines_before == 0 && self.lines_after == 0 && self.ending.is_none()
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
        TextPart { text, lines_before: 0, lines_after: 0, ending: None, far: None }
    }
}

/// The planned changes to a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The changes.
    pub edits: Edits,
    /// The lines on which each replacement was found, in the text as the previous ones left it.
    pub line_ranges: Vec<LineRange>,
    /// `Eol` if any replacement matched with other line endings.
    pub kind: MatchKind,
}
