//! From what a caller asked for to the edits that do it.
//!
//! A plan is made for one text and changes nothing; applying and writing are left to others.

pub mod anchored;
mod apart;
mod strings;

pub use strings::{Replacement, string, strings};

use crate::edits::Edits;
use crate::error::Error;
use crate::find::MatchKind;
use crate::line::LineRange;

/// A text, or as much of a long one as a plan needs. Whole lines.
#[derive(Debug, Clone, Copy)]
pub struct TextPart<'a> {
    /// The lines.
    pub text: &'a str,
    /// How many lines stand before them.
    pub lines_before: usize,
    /// How many lines follow.
    pub lines_after: usize,
    /// The string that stands too far from those before it to be in this part, and what is to be
    /// said about it.
    pub far: Option<&'a (usize, Error)>,
}

impl TextPart<'_> {
    /// Whether this is all there is.
    fn is_whole(&self) -> bool {
        self.lines_before == 0 && self.lines_after == 0
    }
}

impl<'a> From<&'a str> for TextPart<'a> {
    fn from(text: &'a str) -> TextPart<'a> {
        TextPart { text, lines_before: 0, lines_after: 0, far: None }
    }
}

/// What will be done to a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The changes.
    pub edits: Edits,
    /// The lines that each replacement was found on, in the text just before it.
    pub line_ranges: Vec<LineRange>,
    /// `Eol` if any replacement was found that way.
    pub kind: MatchKind,
}
