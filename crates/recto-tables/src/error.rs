//! Why a file cannot be shown as a table.

use std::io;

use thiserror::Error;

/// What a preview answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file cannot be shown as a table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// It is none of the formats that are known: source code, prose, an image.
    #[error("it is {what}")]
    NotATable {
        /// What it is instead, with its article: `plain text`, `a binary file`.
        what: String,
        /// Whether it is text all the same.
        is_text: bool,
    },

    /// It wants to be a table, but is damaged.
    #[error("{cause}")]
    Broken {
        /// What is wrong and where, for people.
        cause: String,
    },

    /// Showing it would need more than a preview may use.
    #[error("{cause}")]
    TooLarge {
        /// What is too large, and the limit.
        cause: String,
    },

    /// The bytes could not be read.
    #[error("{cause}")]
    Read {
        /// What the source said.
        cause: String,
    },

    /// The caller has lost interest.
    #[error("stopped")]
    Stopped,
}

/// Errors travel through [`std::io::Read`] and come out as what they were.
impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        io::Error::other(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        match error.downcast::<Error>() {
            Ok(ours) => ours,
            Err(other) => Error::Read { cause: other.to_string() },
        }
    }
}
