//! Why the journal cannot be read or written.

use std::path::PathBuf;

use thiserror::Error;

/// The result of an operation on the journal.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the journal cannot be read or written.
#[derive(Debug, Error)]
pub enum Error {
    /// The state directory cannot be used.
    #[error("cannot use the state directory {}: {cause}", path.display())]
    StateDir {
        /// The directory.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// A newer version of recto has changed the format.
    #[error(
        "the journal has format {found}, and this version of recto supports up to {supported}; use a newer recto"
    )]
    Newer {
        /// The format of the database.
        found: i64,
        /// The newest format that this version reads.
        supported: i64,
    },
    /// A process was killed while it created the database.
    #[error(
        "nothing is recorded yet: a process was killed while it created the database, and the next change creates it again"
    )]
    Unfinished,
    /// The database was removed or replaced while it was open.
    #[error("the journal was removed or replaced")]
    Replaced,
    /// Another process does not release the lock.
    #[error("another process has locked the journal for more than {seconds} seconds")]
    Locked {
        /// How long this process waited.
        seconds: u64,
    },
    /// A record that cannot be decoded.
    #[error("the record of change {change} is damaged")]
    Damaged {
        /// The change.
        change: u64,
    },
    /// The changes that an undo has to follow are too large.
    #[error(
        "this change of the file and the later ones contain more than {} MiB, which is too much to follow them",
        max_bytes >> 20
    )]
    TooMuchToUndo {
        /// The limit.
        max_bytes: usize,
    },
    /// SQLite failed.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
}
