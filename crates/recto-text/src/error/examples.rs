//! Every refusal as a reader of the documentation meets it.

use super::{Denial, Error};
use crate::digest::Digest;

/// One example of every variant, for the documentation.
pub fn examples() -> Vec<Error> {
    let path = || "/project/src/main.rs".to_string();
    let digest = |byte: &[u8]| Digest::of(byte);
    vec![
        Error::MissingArgument { name: "path".into() },
        Error::UnknownArgument { name: "file".into(), known: "path, line, limit".into() },
        Error::WrongArgument {
            name: "line".into(),
            expected: "an integer",
            value: "\"ten\"".into(),
        },
        Error::RelativePath { path: "src/main.rs".into() },
        Error::NulInPath { path: "/project/a␀b".into() },
        Error::InvalidLine { line: 0 },
        Error::InvalidLimit { limit: 0 },
        Error::NoEdits,
        Error::EmptyOldString,
        Error::IdenticalStrings,
        Error::FileNotFound { path: path() },
        Error::ParentNotFound { parent: "/project/src".into() },
        Error::PermissionDenied {
            path: "/etc/passwd".into(),
            reason: Denial::Outside { roots: "/project".into() },
        },
        Error::ReadOnlyFilesystem { path: path() },
        Error::NotAFile { path: "/project/src".into() },
        Error::IsDirectory { path: "/project/src".into() },
        Error::BinaryFile {
            verb: "read",
            path: "/project/logo.png".into(),
            hash: Some(digest(b"png")),
        },
        Error::DiskFull { n_bytes: 1_048_576, path: path() },
        Error::StringNotFound {
            old_string: "let x = 1;".into(),
            nearest: crate::nearest::nearest("fn main() {\n    let x  = 1;\n}\n", "let x = 1;"),
        },
        Error::AmbiguousString { n_matches: 3, old_string: "let".into(), lines: vec![2, 5, 9] },
        Error::ConflictingEdits { index: 1, prior_index: 0 },
        Error::InEdit {
            index: 1,
            source: Box::new(Error::StringNotFound { old_string: "line 3".into(), nearest: None }),
        },
        Error::Stale { path: path(), expected: digest(b"old"), now: digest(b"new") },
        Error::NotEncodable { encoding: "windows-1252", character: '你' },
        Error::NotReadable { encoding: "Shift_JIS", path: path() },
        Error::Busy { path: path() },
        Error::Unstable { path: path() },
        Error::NotDurable { path: path(), cause: "Input/output error".into() },
        Error::Cancelled,
        Error::System { path: path(), cause: "Input/output error".into() },
        Error::Internal { cause: "a bug in recto".into() },
    ]
}
