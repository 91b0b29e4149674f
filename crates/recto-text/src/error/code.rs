//! The contract's code for each refusal.

use super::Error;

impl Error {
    /// The contract's code.
    pub fn code(&self) -> i32 {
        match self {
            Error::MissingArgument { .. }
            | Error::UnknownArgument { .. }
            | Error::WrongArgument { .. }
            | Error::RelativePath { .. }
            | Error::NulInPath { .. }
            | Error::InvalidLine { .. }
            | Error::InvalidLimit { .. }
            | Error::NoEdits
            | Error::EmptyOldString
            | Error::IdenticalStrings
            | Error::EmptyText { .. }
            | Error::EmptyRange { .. }
            | Error::BadLineSpec { .. }
            | Error::BadGlob { .. }
            | Error::TooLarge { .. } => -32600,
            Error::FileNotFound { .. }
            | Error::ParentNotFound { .. }
            | Error::NoRepository { .. }
            | Error::UnknownRevision { .. }
            | Error::NotInRevision { .. } => -32001,
            Error::PermissionDenied { .. } | Error::ReadOnlyFilesystem { .. } => -32002,
            Error::NotAFile { .. } | Error::IsDirectory { .. } | Error::NotADirectory { .. } => {
                -32003
            }
            Error::FileExists { .. } => -32006,
            Error::BinaryFile { .. } | Error::NotATable { .. } | Error::BrokenTable { .. } => {
                -32004
            }
            Error::DiskFull { .. } => -32005,
            Error::StringNotFound { .. } => -32010,
            Error::AmbiguousString { .. } => -32011,
            Error::ConflictingEdits { .. } => -32012,
            Error::Stale { .. } => -32013,
            Error::TextMismatch { .. }
            | Error::TextNotInLines { .. }
            | Error::RangeTooShort { .. } => -32014,
            Error::LinePastEnd { .. } | Error::NoSuchLine { .. } => -32015,
            Error::NotEncodable { .. } | Error::NotReadable { .. } => -32016,
            Error::Busy { .. }
            | Error::Hanging
            | Error::OpenElsewhere { .. }
            | Error::Unsaved { .. }
            | Error::EditorSilent { .. }
            | Error::Unstable { .. } => -32017,
            Error::NotDurable { .. }
            | Error::OutcomeUnknown
            | Error::Unanswered { .. }
            | Error::NotTaken { .. } => -32018,
            Error::Cancelled => -32800,
            Error::System { .. } | Error::Internal { .. } | Error::BrokenRepository { .. } => {
                -32603
            }
            Error::InEdit { source, .. } => source.code(),
        }
    }
}
