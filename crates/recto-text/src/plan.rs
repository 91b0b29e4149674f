//! From what a caller asked for to the edits that do it.
//!
//! A plan is made for one text and changes nothing; applying and writing are left to others.

pub mod anchored;
mod strings;

pub use strings::{Replacement, string, strings};

use crate::edits::Edits;
use crate::find::MatchKind;
use crate::line::LineRange;

/// What will be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The changes.
    pub edits: Edits,
    /// The lines that each replacement was found on, in the text just before it.
    pub line_ranges: Vec<LineRange>,
    /// `Eol` if any replacement was found that way.
    pub kind: MatchKind,
}
