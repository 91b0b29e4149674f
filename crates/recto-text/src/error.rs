//! Every way a call can be refused: one variant per condition of the contract.
//!
//! `Display` is the contract's message, exactly, [`Error::code`] its code; [`Error::hint`] tells the
//! caller what to do next. How errors travel is left to the protocol.

use thiserror::Error;

use crate::digest::Digest;
use crate::line::LineRange;
use crate::nearest::Nearest;
use crate::quote::{Differing, Lines, Quoted};

mod code;
mod denial;
mod examples;
mod hint;
mod whereabouts;
mod within;

pub use denial::{Denial, Instead};
pub use examples::examples;
pub use whereabouts::{NamedAs, Whereabouts};

/// A call's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refused call. Nothing was changed, except where the variant says otherwise.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Error {
    /// A required argument is absent.
    #[error("Missing argument: {name}")]
    MissingArgument {
        /// The argument, with its place: `edits[0].old_string`.
        name: String,
    },

    /// An argument that the tool does not take.
    #[error("Unknown argument: {}", Quoted(name))]
    UnknownArgument {
        /// The argument, with its place.
        name: String,
        /// Who takes what instead: `This tool takes: path, limit`.
        known: String,
    },

    /// An argument of the wrong type or form.
    #[error("Argument {name} must be {expected}: {}", Quoted(value))]
    WrongArgument {
        /// The argument, with its place.
        name: String,
        /// What it must be, with its article: `an integer`.
        expected: std::borrow::Cow<'static, str>,
        /// The value that came, as JSON.
        value: String,
    },

    /// A relative path where only absolute ones are taken.
    #[error("Path must be absolute: {}", Quoted(path))]
    RelativePath {
        /// The path as given.
        path: String,
        /// The folder that it may have been meant to start at.
        root: Option<String>,
    },

    /// A path that no file can have.
    #[error("Path cannot contain a NUL character: {}", Quoted(path))]
    NulInPath {
        /// The path, its NULs made visible.
        path: String,
    },

    /// A line number below 1.
    #[error("Line number must be >= 1: {line}")]
    InvalidLine {
        /// The number that came.
        line: i64,
    },

    /// A limit below 1.
    #[error("Limit must be >= 1: {limit}")]
    InvalidLimit {
        /// The number that came.
        limit: i64,
    },

    /// A list of edits without an edit.
    #[error("Edits array cannot be empty")]
    NoEdits,

    /// An edit that names no text.
    #[error("old_string cannot be empty")]
    EmptyOldString,

    /// An edit that would change nothing.
    #[error("old_string and new_string are identical")]
    IdenticalStrings,

    /// An empty text where some is needed.
    #[error("{name} cannot be empty")]
    EmptyText {
        /// The argument.
        name: &'static str,
    },

    /// A range that covers no line.
    #[error("Empty line range [{start}, {end}]: the end is exclusive")]
    EmptyRange {
        /// The start as given.
        start: i64,
        /// The end as given.
        end: i64,
        /// What was probably meant.
        meant: (i64, i64),
    },

    /// Lines that are not written as lines are.
    #[error("Cannot read lines: {}", Quoted(lines))]
    BadLineSpec {
        /// What was given.
        lines: String,
    },

    /// A pattern that is not one.
    #[error("Invalid pattern: {}", Quoted(pattern))]
    BadGlob {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it.
        cause: String,
    },

    /// No repository holds the path, or it may not be used.
    #[error("No git repository: {}", Quoted(path))]
    NoRepository {
        /// The path as given.
        path: String,
        /// What stands in the way.
        cause: String,
    },

    /// A repository that cannot be read.
    #[error("Cannot read git repository {}: {cause}", Quoted(path))]
    BrokenRepository {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        cause: String,
    },

    /// A revision that the repository does not have.
    #[error("Unknown revision: {}", Quoted(revision))]
    UnknownRevision {
        /// The revision as given.
        revision: String,
        /// What is wrong with it.
        cause: String,
    },

    /// A file that a revision does not have.
    #[error("File not found at {}: {}", Quoted(revision), Quoted(path))]
    NotInRevision {
        /// The path as given.
        path: String,
        /// The revision as given.
        revision: String,
    },

    /// A file that is too large for what was asked.
    #[error("File too large ({n_bytes} bytes): {}", Quoted(path))]
    TooLarge {
        /// The path as given.
        path: String,
        /// How large it is.
        n_bytes: u64,
        /// The limit, and what to do instead.
        limit: String,
    },

    /// A file that is not a table.
    #[error("Not a table: {}", Quoted(path))]
    NotATable {
        /// The path as given.
        path: String,
        /// What it is instead, and how that is read.
        what: String,
    },

    /// A table that cannot be read.
    #[error("Cannot read table {}: {cause}", Quoted(path))]
    BrokenTable {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        cause: String,
    },

    /// No file stands at the path.
    #[error("File not found: {}", Quoted(path))]
    FileNotFound {
        /// The path as given.
        path: String,
    },

    /// The folder of a new file does not exist.
    #[error("Parent directory not found: {}", Quoted(parent))]
    ParentNotFound {
        /// The folder.
        parent: String,
    },

    /// The path may not be used. Existing and missing files answer alike.
    #[error("Permission denied: {}", Quoted(path))]
    PermissionDenied {
        /// The path as given.
        path: String,
        /// Who says so.
        reason: Denial,
    },

    /// The file system is mounted read-only.
    #[error("Read-only filesystem: {}", Quoted(path))]
    ReadOnlyFilesystem {
        /// The path as given.
        path: String,
    },

    /// A folder, FIFO, device, socket or pseudo-file where a regular file is needed.
    #[error("{} is not a file", Quoted(path))]
    NotAFile {
        /// The path as given.
        path: String,
        /// What stands there.
        instead: Instead,
    },

    /// A folder where a file is to be written.
    #[error("{} is a directory", Quoted(path))]
    IsDirectory {
        /// The path as given.
        path: String,
    },

    /// A file where a folder is needed.
    #[error("{} is not a directory", Quoted(path))]
    NotADirectory {
        /// The path as given, up to the file.
        path: String,
    },

    /// Something stands where a new file is to be created.
    #[error("File already exists: {}", Quoted(path))]
    FileExists {
        /// The path as given.
        path: String,
        /// What stands there, where that is no file: `a folder`.
        what: Option<&'static str>,
    },

    /// A file whose bytes are not text.
    #[error("Cannot {verb} binary file: {}", Quoted(path))]
    BinaryFile {
        /// What was asked: `read` or `edit`.
        verb: &'static str,
        /// The path as given.
        path: String,
        /// The version, where the whole file was read, so that it can still be replaced.
        hash: Option<Digest>,
    },

    /// No room for the new content; the old content stands.
    #[error("Disk full: cannot write {n_bytes} bytes to {}", Quoted(path))]
    DiskFull {
        /// How much was to be written.
        n_bytes: usize,
        /// The path as given.
        path: String,
    },

    /// The text to replace does not stand in the file.
    #[error("String not found in file: {}", Quoted(old_string))]
    StringNotFound {
        /// The text that was looked for.
        old_string: String,
        /// What comes closest.
        nearest: Option<Nearest>,
    },

    /// The text to replace stands in the file more than once.
    #[error("String appears {n_matches} times (must be unique): {}", Quoted(old_string))]
    AmbiguousString {
        /// How often it stands there.
        n_matches: usize,
        /// The text that was looked for.
        old_string: String,
        /// The first few lines where it starts.
        lines: Vec<usize>,
        /// How many lines it has, where the caller named the lines to look at.
        n_lines: Option<usize>,
    },

    /// An earlier edit of the same call changed the text that this one names.
    #[error("Edit {index} conflicts with edit {prior_index}")]
    ConflictingEdits {
        /// The edit that cannot apply, from 0.
        index: usize,
        /// The edit that changed its text.
        prior_index: usize,
    },

    /// A single edit of several was refused; none was applied.
    #[error("Edit {index}: {}", source.within_an_edit())]
    InEdit {
        /// Which edit, from 0.
        index: usize,
        /// Why.
        source: Box<Error>,
    },

    /// The file is not the version that the caller named.
    #[error("File changed since it was read: {} (expected {expected}, now {now})", Quoted(path))]
    Stale {
        /// The path as given.
        path: String,
        /// The version that the caller named.
        expected: Digest,
        /// The version that stands there.
        now: Digest,
        /// Which lines changed, where the caller's version is still known.
        changed: Vec<LineRange>,
    },

    /// A line that the caller named holds another text.
    #[error("Line {line} contains {}, not {}", Differing(found, wanted), Differing(wanted, found))]
    TextMismatch {
        /// The line, from 1.
        line: usize,
        /// What it holds.
        found: String,
        /// What the caller said.
        wanted: String,
        /// Where the whole text stands.
        whereabouts: Whereabouts,
    },

    /// None of the lines that the caller named holds the text.
    #[error("Lines {}-{} do not contain {}", lines.start, lines.end, Differing(wanted, wanted))]
    TextNotInLines {
        /// The lines.
        lines: LineRange,
        /// The first line of the text.
        wanted: String,
        /// Where the whole text stands.
        whereabouts: Whereabouts,
    },

    /// The text stands at the place, but has more lines than the caller named.
    #[error("The range covers {n_covered} of the {n_lines} lines of old")]
    RangeTooShort {
        /// The first line, from 1.
        line: usize,
        /// How many lines the range has.
        n_covered: usize,
        /// How many lines the text has.
        n_lines: usize,
    },

    /// A read that starts behind the last line.
    #[error("Line {line} is past the end: {} has {}", Quoted(path), Lines(*n_lines))]
    LinePastEnd {
        /// The line as given.
        line: i64,
        /// The path as given.
        path: String,
        /// How many lines there are.
        n_lines: u64,
    },

    /// A change of a line that is not there.
    #[error("Line {line} is not in the file: {} has {}", Quoted(path), Lines(*n_lines as u64))]
    NoSuchLine {
        /// The line as given.
        line: i64,
        /// The path as given.
        path: String,
        /// How many lines there are.
        n_lines: usize,
        /// What it was named as.
        named_as: NamedAs,
    },

    /// New text that the file's encoding has no bytes for.
    #[error("Character not in the file's encoding ({encoding}): U+{:04X}", u32::from(*character))]
    NotEncodable {
        /// The file's encoding.
        encoding: &'static str,
        /// The first such character.
        character: char,
    },

    /// New text whose bytes would be read back as other text.
    #[error("Text would not be read back as {encoding}: {}", Quoted(path))]
    NotReadable {
        /// The file's encoding.
        encoding: &'static str,
        /// The path as given.
        path: String,
    },

    /// Somebody else holds the folder's lock.
    #[error("Folder is busy: {}", Quoted(path))]
    Busy {
        /// The path as given.
        path: String,
    },

    /// Another program has the file open for writing; what it writes later would be lost.
    #[error("File is open for writing elsewhere: {}", Quoted(path))]
    OpenElsewhere {
        /// The path as given.
        path: String,
    },

    /// An editor holds text of the file that is not on the disk.
    #[error("File has unsaved changes in the editor: {}", Quoted(path))]
    Unsaved {
        /// The path as given.
        path: String,
    },

    /// The file kept changing while it was read.
    #[error("File keeps changing while it is read: {}", Quoted(path))]
    Unstable {
        /// The path as given.
        path: String,
    },

    /// The new content stands in the file, but may not survive a power cut.
    #[error("Written, but not known to be durable: {}", Quoted(path))]
    NotDurable {
        /// The path as given.
        path: String,
        /// What the system said.
        cause: String,
    },

    /// The call did not end in time, and may still be carried out.
    #[error("Outcome unknown: the call did not end in time")]
    OutcomeUnknown,

    /// Every thread waits for a file system that does not answer.
    #[error("Too many calls hang in a file system that does not answer")]
    Hanging,

    /// An editor was told to write and never answered.
    #[error("Outcome unknown: the editor did not answer: {}", Quoted(path))]
    Unanswered {
        /// The path as given.
        path: String,
    },

    /// An editor took a text, and has the one from before.
    #[error("The editor still has the text from before: {}", Quoted(path))]
    NotTaken {
        /// The path as given.
        path: String,
    },

    /// An editor was asked for its text and says nothing. Without it nothing is read or changed.
    #[error("The editor does not answer: {}", Quoted(path))]
    EditorSilent {
        /// The path as given.
        path: String,
    },

    /// The caller took the call back.
    #[error("Call was cancelled")]
    Cancelled,

    /// The system failed in a way that no other variant names.
    #[error("Cannot access {}: {cause}", Quoted(path))]
    System {
        /// The path as given.
        path: String,
        /// What the system said.
        cause: String,
    },

    /// A mistake of recto's own. The call ended, the server goes on.
    #[error("Internal error: {cause}")]
    Internal {
        /// What went wrong.
        cause: String,
    },
}

#[cfg(test)]
mod tests;
