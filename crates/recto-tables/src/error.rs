//! Errors: why a file cannot be shown as a table.

use std::io;

use thiserror::Error;

use crate::render::visible;

/// The result of a preview.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file cannot be shown as a table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// It has none of the supported formats: source code, prose, an image.
    #[error("it is {what}")]
    NotATable {
        /// Its actual kind, with an article: `plain text`, `a binary file`.
        what: String,
        /// Whether it is text nevertheless.
        is_text: bool,
    },

    /// It has a supported format, but is damaged.
    #[error("{cause}")]
    Broken {
        /// What is wrong and where.
        cause: String,
    },

    /// A preview would exceed a limit.
    #[error("{cause}")]
    TooLarge {
        /// What is too large, and the limit.
        cause: String,
    },

    /// A preview would need more memory than the request permits.
    #[error("it needs {} MiB of memory", n_bytes.div_ceil(1 << 20))]
    OutOfMemory {
        /// About how much it needs, at least.
        n_bytes: u64,
    },

    /// A sheet was asked for, and the file is not a workbook.
    #[error("the file has no sheets")]
    NoSheets {
        /// The name that was given.
        sheet: String,
    },

    /// The workbook has no sheet with that name.
    #[error("it has no sheet {sheet}")]
    NoSuchSheet {
        /// The name that was given.
        sheet: String,
        /// The names of its sheets.
        known: String,
    },

    /// The table has no columns with these names.
    #[error("it has no columns {columns}")]
    NoSuchColumns {
        /// The names that were not found.
        columns: String,
        /// The names of its columns.
        known: String,
    },

    /// The bytes could not be read.
    #[error("{cause}")]
    Read {
        /// The source's error message.
        cause: String,
    },

    /// The caller cancelled the preview.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// Returns the same error, whose texts from the file are on one line with nothing invisible.
    pub(crate) fn visible(self) -> Error {
        match self {
            Error::Broken { cause } => Error::Broken { cause: visible(&cause) },
            Error::NoSuchSheet { sheet, known } => {
                Error::NoSuchSheet { sheet, known: visible(&known) }
            }
            Error::NoSuchColumns { columns, known } => {
                Error::NoSuchColumns { columns, known: visible(&known) }
            }
            error => error,
        }
    }
}

/// Lets errors pass through [`std::io::Read`] and back without losing their variant.
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
