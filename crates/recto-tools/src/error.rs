//! The error contract: every way a call can be rejected, with its code, its message and a hint.
//!
//! `Display` gives exactly the contract's message and [`Error::code`] its code. [`Error::hint`] says
//! what to do next; its wording is in [`hint`]. How an error is sent is up to the protocol.

pub mod hint;

use std::borrow::Cow;

use recto_store::Nearby;
use recto_store::error::Error as StoreError;
use recto_text::error::Error as TextError;
use recto_text::line::LineRange;
use recto_text::quote::Quoted;
use recto_text::{Digest, Tag};
use serde_json::{Map, Value};
use thiserror::Error;

pub use hint::{Hint, NextCall};

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A rejected call. Nothing was changed, except where the variant says otherwise.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs)]
pub enum Error {
    /// The edit cannot be planned, or the lines cannot be selected.
    #[error(transparent)]
    Text(#[from] TextError),

    /// The file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// A directory was named where a file is required, by a caller that can list it.
    #[error("{} is not a file", Quoted(path))]
    FolderToList { path: String, commit: Option<String> },

    /// The file that `argument` names does not exist.
    #[error("File not found: {}", Quoted(path))]
    Missing { path: String, argument: &'static str, nearby: Nearby },

    /// The file to overwrite does not exist, but the caller named its version.
    #[error("File not found: {}", Quoted(path))]
    NothingToOverwrite { path: String, nearby: Nearby },

    /// The directory of a new file does not exist, but `file_create` can create it.
    #[error("Parent directory not found: {}", Quoted(parent))]
    MissingParent { parent: String },

    /// The file that `argument` names does not exist at a revision.
    #[error("File not found at {}: {}", Quoted(revision), Quoted(path))]
    MissingAt { path: String, revision: String, argument: &'static str, nearby: Nearby },

    /// A relative path where an absolute one is required, and no file is there below the root.
    #[error("Path must be absolute: {}", Quoted(path))]
    NotAbsolute { path: String, argument: &'static str, nearby: Nearby },

    /// A required argument is absent. Nested ones are named `edits[0].old_string`. `known` lists the
    /// declared ones.
    #[error("Missing argument: {name}")]
    MissingArgument { name: String, known: String },

    /// An argument is given under both of its names, with different values.
    #[error("Arguments {name} and {alias} differ")]
    TwoNames { name: &'static str, alias: &'static str },

    /// An undeclared argument. `known` lists the declared ones.
    #[error("Unknown argument: {}", Quoted(name))]
    UnknownArgument { name: String, known: String },

    /// An argument of the wrong type or form. `expected` includes its article, `value` is JSON.
    #[error("Argument {name} must be {expected}: {}", Quoted(value))]
    WrongArgument { name: String, expected: Cow<'static, str>, value: String },

    /// A line number below 1.
    #[error("Line number must be >= 1: {line}")]
    InvalidLine { line: i64 },

    /// A limit below 1.
    #[error("Limit must be >= 1: {limit}")]
    InvalidLimit { limit: i64 },

    /// An empty list of edits.
    #[error("Edits array cannot be empty")]
    NoEdits,

    /// An empty text where text is required.
    #[error("{name} cannot be empty")]
    EmptyText { name: &'static str },

    /// A file that is not a table. `what` describes its content.
    #[error("Not a table: {}", Quoted(path))]
    NotATable { path: String, what: String, is_text: bool },

    /// A table that cannot be read.
    #[error("Cannot read table {}: {cause}", Quoted(path))]
    BrokenTable { path: String, cause: String },

    /// The file is not the version that the caller named. `changed` lists the lines that differ, if
    /// the caller's version is still remembered; `retry` are the arguments to retry with, if the text
    /// that the caller named is unchanged.
    #[error("File changed since it was read: {} (expected {expected}, now {now})", Quoted(path))]
    Stale {
        path: String,
        expected: Tag,
        now: Digest,
        changed: Vec<LineRange>,
        retry: Option<Box<Map<String, Value>>>,
    },

    /// A whole file is to be overwritten, but its current version is not the one that the session has
    /// last seen. Nothing here contains the current hash, so that a blind retry cannot overwrite it.
    #[error("File changed since this session last read or wrote it: {}", Quoted(path))]
    Unseen { path: String, seen: Digest, changed: Option<ChangedText> },

    /// A whole file is to be overwritten by a call that neither names its version nor belongs to a
    /// session. Nothing here contains the current hash.
    #[error("Overwriting an existing file needs expected_hash here: {}", Quoted(path))]
    Unversioned { path: String },

    /// A pattern in a call that changes files, without the plan of a dry run.
    #[error("A glob needs the plan of a dry run")]
    NoPlan,

    /// The call would not do what the dry run planned.
    #[error("The plan does not match the {n_files} files as they are now")]
    OtherPlan { n_files: usize },

    /// No file matches a pattern and contains the text of an edit.
    #[error("No file that matches {} contains the text", Quoted(glob))]
    NoneWithText { glob: String },

    /// The files that match a pattern are more than one call may change. The rest was not read.
    #[error("Too many {what}: {n} of at most {limit} in {n_files} matches of {}", Quoted(glob))]
    TooManyMatches { glob: String, n_files: u64, what: &'static str, n: u64, limit: u64 },

    /// An error about one of several files, which does not name it.
    #[error("{}: {source}", Quoted(path))]
    InFile { path: String, source: Box<Error> },

    /// Several files or arguments are rejected. The message is that of the first.
    #[error("{}", failures[0])]
    SeveralFiles { failures: Vec<Error> },

    /// A recorded change cannot be undone.
    #[error("Cannot undo change {change}: {cause}")]
    CannotUndo { change: u64, cause: String, can_undo_dependents: bool },

    /// The recorded changes of the session are not available.
    #[error("No recorded changes: {cause}")]
    NoChanges { cause: String },

    /// The call did not end in time and may still take effect.
    #[error("Outcome unknown: the call did not end in time")]
    OutcomeUnknown,

    /// Every worker thread waits for a file system that does not respond.
    #[error("Too many calls hang in a file system that does not answer")]
    Hanging,

    /// A bug in recto. The call ended, the server keeps running.
    #[error("Internal error: {cause}")]
    Internal { cause: String },
}

/// The lines of a file that differ from a version that the session knows.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedText {
    /// The first ranges of changed lines.
    pub ranges: Vec<LineRange>,
    /// The first changed lines with their numbers.
    pub lines: Vec<(usize, String)>,
}

impl Error {
    /// Returns the contract's code.
    pub fn code(&self) -> i32 {
        match self {
            Error::Text(error) => text_code(error),
            Error::Store(error) => store_code(error),
            Error::MissingArgument { .. }
            | Error::TwoNames { .. }
            | Error::NotAbsolute { .. }
            | Error::UnknownArgument { .. }
            | Error::WrongArgument { .. }
            | Error::InvalidLine { .. }
            | Error::InvalidLimit { .. }
            | Error::NoEdits
            | Error::NoPlan
            | Error::EmptyText { .. } => -32600,
            Error::InFile { source, .. } => source.code(),
            Error::SeveralFiles { failures } => failures[0].code(),
            Error::NoneWithText { .. } => -32010,
            Error::TooManyMatches { .. } => -32019,
            Error::Missing { .. }
            | Error::MissingAt { .. }
            | Error::MissingParent { .. }
            | Error::NothingToOverwrite { .. } => -32001,
            Error::FolderToList { .. } => -32003,
            Error::NotATable { .. } | Error::BrokenTable { .. } => -32004,
            Error::Stale { .. }
            | Error::Unseen { .. }
            | Error::Unversioned { .. }
            | Error::OtherPlan { .. } => -32013,
            Error::Hanging => -32017,
            Error::OutcomeUnknown => -32018,
            Error::CannotUndo { .. } | Error::NoChanges { .. } => -32021,
            Error::Internal { .. } => -32603,
        }
    }

    /// Returns the version whose hash the error contains.
    pub fn version(&self) -> Option<Digest> {
        match self {
            Error::Stale { now, .. } => Some(*now),
            Error::Store(StoreError::BinaryFile { hash, .. }) => *hash,
            _ => None,
        }
    }

    /// Whether the caller cancelled the call.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Error::Store(StoreError::Cancelled))
    }
}

impl From<recto_store::context::Cancelled> for Error {
    fn from(cancelled: recto_store::context::Cancelled) -> Error {
        Error::Store(cancelled.into())
    }
}

fn text_code(error: &TextError) -> i32 {
    match error {
        TextError::EmptyOldString
        | TextError::IdenticalStrings
        | TextError::EmptyRange { .. }
        | TextError::BadLineSpec { .. } => -32600,
        TextError::StringNotFound { .. } => -32010,
        TextError::AmbiguousString { .. } => -32011,
        TextError::ConflictingEdits { .. } => -32012,
        TextError::TextMismatch { .. }
        | TextError::TextNotInLines { .. }
        | TextError::RangeTooShort { .. } => -32014,
        TextError::LinePastEnd { .. } | TextError::NoSuchLine { .. } => -32015,
        TextError::NotEncodable { .. } | TextError::NotReadable { .. } => -32016,
        TextError::TooManyToReplace { .. }
        | TextError::TooMuchAtOnce { .. }
        | TextError::TooFarApart { .. } => -32019,
        TextError::InEdit { source, .. } => text_code(source),
        TextError::Several { failures, .. } => text_code(&failures[0]),
    }
}

fn store_code(error: &StoreError) -> i32 {
    match error {
        StoreError::RelativePath { .. }
        | StoreError::EmptyPath { .. }
        | StoreError::NulInPath { .. }
        | StoreError::PathTooLong { .. }
        | StoreError::BadGlob { .. } => -32600,
        StoreError::FileNotFound { .. }
        | StoreError::ParentNotFound { .. }
        | StoreError::NoRepository { .. }
        | StoreError::UnknownRevision { .. }
        | StoreError::NotInRevision { .. } => -32001,
        StoreError::PermissionDenied { .. } | StoreError::ReadOnlyFilesystem { .. } => -32002,
        StoreError::NotAFile { .. }
        | StoreError::IsDirectory { .. }
        | StoreError::NotADirectory { .. } => -32003,
        StoreError::BinaryFile { .. } => -32004,
        StoreError::DiskFull { .. } => -32005,
        StoreError::FileExists { .. } => -32006,
        StoreError::Busy { .. }
        | StoreError::MemoryBusy { .. }
        | StoreError::OpenElsewhere { .. }
        | StoreError::Unsaved { .. }
        | StoreError::EditorSilent { .. }
        | StoreError::Unstable { .. } => -32017,
        StoreError::NotDurable { .. }
        | StoreError::Unanswered { .. }
        | StoreError::NotTaken { .. } => -32018,
        StoreError::TooLarge { .. } | StoreError::TooMany { .. } => -32019,
        StoreError::NotTogether { .. } => -32020,
        StoreError::Cancelled => -32800,
        StoreError::System { .. } | StoreError::BrokenRepository { .. } => -32603,
    }
}

#[cfg(test)]
mod tests;
