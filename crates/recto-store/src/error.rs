//! Errors of all stores.

use recto_text::Digest;
use recto_text::quote::{Escaped, Quoted};
use thiserror::Error;

use crate::context::Cancelled;

/// The result of an operation on files.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A rejected or failed operation. Nothing was changed unless the variant says otherwise. `path` is
/// the file as the caller named it; `cause` explains the error to the user or model.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs)]
pub enum Error {
    /// A relative path where an absolute one is required. The caller may have meant it to start at
    /// `root`.
    #[error("Path must be absolute: {}", Quoted(path))]
    RelativePath { path: String, root: Option<String> },

    /// An empty path in the named argument.
    #[error("{argument} cannot be empty")]
    EmptyPath { argument: &'static str },

    /// A path with a NUL character, which is shown as ␀.
    #[error("Path cannot contain a NUL character: {}", Quoted(path))]
    NulInPath { path: String },

    /// A path or a name that is longer than the file system allows.
    #[error("Path is too long for the file system: {}", Quoted(path))]
    PathTooLong { path: String },

    /// A pattern with a syntax error, or beyond a limit.
    #[error("Invalid pattern: {}", Quoted(pattern))]
    BadGlob { pattern: String, cause: String },

    /// The path is in no repository, or in one that may not be used.
    #[error("No git repository: {}", Quoted(path))]
    NoRepository { path: String, cause: String },

    /// A repository that cannot be read.
    #[error("Cannot read git repository {}: {}", Quoted(path), Escaped(cause))]
    BrokenRepository { path: String, cause: String },

    /// A revision that the repository does not have.
    #[error("Unknown revision: {}", Quoted(revision))]
    UnknownRevision { revision: String, cause: String },

    /// A file that a revision does not have.
    #[error("File not found at {}: {}", Quoted(revision), Quoted(path))]
    NotInRevision { path: String, revision: String },

    /// A file beyond a size limit.
    #[error("File too large ({n_bytes} bytes): {}", Quoted(path))]
    TooLarge { path: String, n_bytes: u64, limit: SizeLimit },

    /// No file exists at the path.
    #[error("File not found: {}", Quoted(path))]
    FileNotFound { path: String },

    /// The directory of a new file does not exist.
    #[error("Parent directory not found: {}", Quoted(parent))]
    ParentNotFound { parent: String },

    /// Access to the path is denied. Existing and missing files give the same error.
    #[error("Permission denied: {}", Quoted(path))]
    PermissionDenied { path: String, reason: Denial },

    /// The file system is mounted read-only.
    #[error("Read-only filesystem: {}", Quoted(path))]
    ReadOnlyFilesystem { path: String },

    /// A directory, FIFO, device, socket or pseudo-file where a regular file is required.
    #[error("{} is not a file", Quoted(path))]
    NotAFile { path: String, instead: Instead },

    /// A directory where a file is to be written.
    #[error("{} is a directory", Quoted(path))]
    IsDirectory { path: String },

    /// A file where a directory is required.
    #[error("{} is not a directory", Quoted(path))]
    NotADirectory { path: String },

    /// Something already exists at the path of a new file: `what`, unless it is a file.
    #[error("File already exists: {}", Quoted(path))]
    FileExists { path: String, what: Option<&'static str> },

    /// A file whose bytes are not text. `verb` is `read` or `edit`; `hash` is set if the whole file
    /// was read.
    #[error("Cannot {verb} binary file: {}", Quoted(path))]
    BinaryFile { verb: &'static str, path: String, hash: Option<Digest> },

    /// No space for the new content; the old content is unchanged.
    #[error("Disk full: cannot write {n_bytes} bytes to {}", Quoted(path))]
    DiskFull { n_bytes: usize, path: String },

    /// Another call or process holds the lock of the file's directory, or keeps replacing a link.
    #[error("The file's directory is busy: {}", Quoted(path))]
    Busy { path: String },

    /// Other calls use the memory that the call needs.
    #[error("Memory is in use by other calls: {}", Quoted(path))]
    MemoryBusy { path: String },

    /// Another program has the file open for writing; its later writes would be lost.
    #[error("File is open for writing elsewhere: {}", Quoted(path))]
    OpenElsewhere { path: String },

    /// An editor has text of the file that is not on disk.
    #[error("File has unsaved changes in the editor: {}", Quoted(path))]
    Unsaved { path: String },

    /// The file kept changing while it was read.
    #[error("File keeps changing while it is read: {}", Quoted(path))]
    Unstable { path: String },

    /// The new content is in the file, but may not survive a power cut.
    #[error("Written, but not known to be durable: {}", Quoted(path))]
    NotDurable { path: String, cause: String },

    /// An editor was asked to write and never answered.
    #[error("Outcome unknown: the editor did not answer: {}", Quoted(path))]
    Unanswered { path: String },

    /// An editor accepted a text, but still has the previous one.
    #[error("The editor still has the previous text: {}", Quoted(path))]
    NotTaken { path: String },

    /// An editor was asked for its text and did not answer.
    #[error("The editor does not answer: {}", Quoted(path))]
    EditorSilent { path: String },

    /// A file that cannot be changed in one transaction with the others.
    #[error("Cannot change {} together with other files: {}", Quoted(path), Escaped(cause))]
    NotTogether { path: String, cause: String },

    /// A transaction beyond a limit.
    #[error("Too many {what} in one call: {n} of at most {limit}")]
    TooMany { what: &'static str, n: u64, limit: u64 },

    /// The caller cancelled the call.
    #[error("Call was cancelled")]
    Cancelled,

    /// A system error that no other variant covers.
    #[error("Cannot access {}: {}", Quoted(path), Escaped(cause))]
    System { path: String, cause: String },
}

impl From<Cancelled> for Error {
    fn from(_: Cancelled) -> Error {
        Error::Cancelled
    }
}

/// Which size limit a file exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeLimit {
    /// [`crate::limits::GIT_OBJECT`]
    GitObject,
    /// [`crate::limits::WHOLE_CHANGE`]
    Change,
    /// [`crate::limits::REMOVED_FILE`]
    Remove,
    /// [`crate::limits::MEMORY`]
    Memory,
    /// [`crate::limits::PREVIEWED_FILE`]
    Preview,
}

/// The reason why access to a path is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// The path is outside the roots, leaves them through a link, or is hidden by `--deny`.
    Outside {
        /// The roots, as the user wrote them.
        roots: String,
    },
    /// Like `Outside`, for a path relative to the top of a repository that contains the root.
    AboveRoot {
        /// The roots, as the user wrote them.
        roots: String,
        /// The root, relative to the top.
        below: String,
    },
    /// The root was moved or replaced.
    RootReplaced {
        /// The root.
        root: String,
    },
    /// The path is in a `.git` directory.
    GitFolder,
    /// The client's sandbox denies it.
    ClientSandbox,
    /// The editor or its user rejected it.
    Editor {
        /// The editor's message.
        message: String,
    },
    /// The operating system denies it.
    System,
    /// The operating system denies writing to the file's directory.
    Folder,
    /// The directory is append-only, so files in it can be created but not replaced or removed.
    AppendOnlyFolder,
    /// The file belongs to another user, and replacing it would change its owner.
    ForeignOwner,
    /// The file is a mount point and cannot be replaced.
    MountPoint,
    /// Every change must be recorded, and this one cannot be.
    NotRecorded {
        /// Why the journal cannot record it.
        cause: String,
    },
}

/// What exists where a regular file is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// A directory.
    Folder,
    /// Something else, with its article: `a FIFO`.
    Special(&'static str),
    /// Anything else.
    Other,
}
