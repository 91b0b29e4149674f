//! Errors of planning edits and selecting lines.
//!
//! `Display` states the fact in one line. The fields contain the evidence from which the crate that
//! knows the tools makes a hint.

use thiserror::Error;

use crate::line::{self, LineRange};
use crate::nearest::{Meant, Nearest};
use crate::plan::MAX_REPLACED;
use crate::quote::{Differing, Lines, Quoted, Truncated};

/// The result of planning an edit or selecting lines.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A rejected plan or selection. `path` is the file as the caller named it; lines count from 1.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs)]
pub enum Error {
    /// An edit whose old text is empty.
    #[error("old_string cannot be empty")]
    EmptyOldString,

    /// An edit whose new text equals its old text.
    #[error("old_string and new_string are identical")]
    IdenticalStrings,

    /// A range that covers no line. `meant` is the range that the caller probably wanted.
    #[error("Empty line range [{start}, {end}]: the end is exclusive")]
    EmptyRange { start: i64, end: i64, meant: (i64, i64) },

    /// A line specification that does not follow the grammar.
    #[error("Invalid line specification: {}", Quoted(lines))]
    BadLineSpec { lines: String },

    /// The text to replace does not occur in the file.
    #[error("String not found in file: {}", Truncated(old_string))]
    StringNotFound { old_string: String, nearest: Option<Nearest> },

    /// The text to replace occurs in the file more than once. `places` are the first few; `n_lines` is
    /// its length where the caller named the lines to search.
    #[error("String appears {n_matches} times (must be unique): {}", Truncated(old_string))]
    AmbiguousString {
        n_matches: usize,
        old_string: String,
        places: Vec<Occurrence>,
        n_lines: Option<usize>,
    },

    /// The text of which all occurrences are to be replaced has too many of them.
    #[error("String appears more than {MAX_REPLACED} times: {}", Truncated(old_string))]
    TooManyToReplace { old_string: String },

    /// The replaced places and the text that they add need too much memory.
    #[error("Edits change too much at once: {n_places} places, {n_added} more bytes")]
    TooMuchAtOnce { n_places: usize, n_added: usize },

    /// The strings of one call, or the occurrences of one string, are too far apart in a file of which
    /// only an excerpt is read.
    #[error("File too large ({n_bytes} bytes): {}", Quoted(path))]
    TooFarApart { path: String, n_bytes: u64 },

    /// An earlier edit of the same call changed the text that this one names. Counted from 0.
    #[error("Edit {index} conflicts with edit {prior_index}")]
    ConflictingEdits { index: usize, prior_index: usize },

    /// One of several edits was rejected, so none was applied. Counted from 0.
    #[error("Edit {index}: {}", source.within_an_edit())]
    InEdit { index: usize, source: Box<Error> },

    /// Several edits of one call were rejected: the first few, how many, and how many were not tried
    /// for lack of time.
    #[error("{}", failures[0])]
    Several { failures: Vec<Error>, n_failed: usize, n_untried: usize },

    /// A line that the caller named contains another text.
    #[error("Line {line} contains {}, not {}", Differing(found, wanted), Differing(wanted, found))]
    TextMismatch { line: usize, found: String, wanted: String, whereabouts: Whereabouts },

    /// None of the lines that the caller named contains the text, whose first line is `wanted`.
    #[error("Lines {}-{} do not contain {}", lines.start, lines.end, Differing(wanted, wanted))]
    TextNotInLines { lines: LineRange, wanted: String, whereabouts: Whereabouts },

    /// The text is at the place that the caller named, but has more lines than the range.
    #[error("The range covers {n_covered} of the {n_lines} lines of old")]
    RangeTooShort { line: usize, n_covered: usize, n_lines: usize },

    /// New text with a character that the file's encoding lacks.
    #[error("Character not in the file's encoding ({encoding}): U+{:04X}", u32::from(*character))]
    NotEncodable { encoding: &'static str, character: char },

    /// New text whose bytes would be read back as other text.
    #[error("Text would not be read back as {encoding}: {}", Quoted(path))]
    NotReadable { encoding: &'static str, path: String },

    /// A read that starts after the last line.
    #[error("Line {line} is past the end: {} has {}", Quoted(path), Lines(*n_lines))]
    LinePastEnd { line: i64, path: String, n_lines: u64 },

    /// A change of a line that does not exist.
    #[error("Line {line} is not in the file: {} has {}", Quoted(path), Lines(*n_lines as u64))]
    NoSuchLine { line: i64, path: String, n_lines: usize, named_as: NamedAs },
}

impl Error {
    /// How many rejected edits of one call are described.
    pub const MAX_DESCRIBED: usize = 10;

    /// Returns the error for rejected edits of one call, if there are any. `n_more` were rejected but
    /// are not described, `n_untried` were not tried.
    pub fn several(mut failures: Vec<Error>, n_more: usize, n_untried: usize) -> Option<Error> {
        let n_failed = failures.len() + n_more;
        failures.truncate(Error::MAX_DESCRIBED);
        match n_failed {
            0 => None,
            1 if n_untried == 0 => failures.pop(),
            _ => Some(Error::Several { failures, n_failed, n_untried }),
        }
    }

    /// Returns the message as it reads after "Edit 1: ". Two messages are shorter there.
    fn within_an_edit(&self) -> String {
        match self {
            Error::StringNotFound { old_string, .. } => {
                format!("String not found: {}", Truncated(old_string))
            }
            Error::AmbiguousString { n_matches, old_string, .. } => {
                format!("String appears {n_matches} times: {}", Truncated(old_string))
            }
            other => other.to_string(),
        }
    }
}

/// One occurrence of a text that occurs more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The line where it starts.
    pub line: usize,
    /// The character of the line at which it starts, where the line is too long to show.
    pub column: Option<usize>,
    /// The line, or the text around the occurrence.
    pub text: String,
}

impl Occurrence {
    /// How many bytes before and after the start of an occurrence are used.
    pub const MAX_BYTES: usize = 800;

    /// How many characters of a line are shown, and how many of a long line before the occurrence.
    const MAX_CHARS: usize = 100;
    const MAX_HEAD: usize = 30;

    /// Describes an occurrence after `n_chars` characters of a line, if that is known. `head` and
    /// `rest` are the text before and from there on; more than the line is ignored.
    pub fn new(line: usize, n_chars: Option<usize>, head: &str, rest: &str) -> Occurrence {
        let head = &head[line::start_of(head, head.len())..];
        let rest = line::without_ending(&rest[..line::end_of(rest, 0)]);
        let n_head = head.chars().count();
        if n_chars == Some(n_head) && n_head + rest.chars().count() <= Occurrence::MAX_CHARS {
            return Occurrence { line, column: None, text: format!("{head}{rest}") };
        }
        let n_skipped = n_head.saturating_sub(Occurrence::MAX_HEAD);
        let head: String = head.chars().skip(n_skipped).collect();
        let n_rest = Occurrence::MAX_CHARS - head.chars().count();
        let shown: String = rest.chars().take(n_rest).collect();
        let is_cut = n_skipped > 0 || n_chars != Some(n_head);
        let (before, after) =
            (if is_cut { "…" } else { "" }, if shown.len() < rest.len() { "…" } else { "" });
        let column = n_chars.map(|n_chars| n_chars + 1);
        Occurrence { line, column, text: format!("{before}{head}{shown}{after}") }
    }
}

/// Where a text occurs if it is not on the lines that the caller named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// Lines to replace occur elsewhere.
    Lines {
        /// The first few lines where they start.
        starts: Vec<usize>,
        /// How many they are.
        n_lines: usize,
    },
    /// The line to insert before is another one: the first few.
    Line(Vec<usize>),
    /// The text is only a part of the lines it occurs on.
    PartOf {
        /// The lines.
        lines: LineRange,
        /// Their text, where that is one short line.
        line: Option<String>,
        /// Which argument the text is.
        meant: Meant,
    },
    /// One line was expected, and the text has several.
    SeveralLines,
    /// It occurs nowhere, but something similar does.
    Near(Nearest),
    /// Neither it nor anything similar occurs in the file.
    Nowhere,
    /// Only a part of the file was searched.
    Unknown,
}

/// The role of a line number that is not in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedAs {
    /// The line to insert before.
    Anchor,
    /// The first line of a range.
    Start,
    /// The line after the last of a range.
    End {
        /// The first line, which exists, as given.
        start: i64,
        /// Whether the text to replace, if any, is in the lines up to the end of the file.
        has_text: bool,
    },
}

#[cfg(test)]
mod tests;
