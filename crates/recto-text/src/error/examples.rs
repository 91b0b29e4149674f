//! Every refusal as a reader of the documentation meets it.

use super::{Denial, Error, Instead, NamedAs, Whereabouts};
use crate::digest::Digest;
use crate::line::LineRange;

/// One example of every variant, for the documentation.
pub fn examples() -> Vec<Error> {
    let path = || "/project/src/main.rs".to_string();
    let digest = |byte: &[u8]| Digest::of(byte);
    vec![
        Error::MissingArgument { name: "path".into() },
        Error::UnknownArgument {
            name: "file".into(),
            known: "This tool takes: path, line, limit".into(),
        },
        Error::WrongArgument {
            name: "line".into(),
            expected: "an integer".into(),
            value: "\"ten\"".into(),
        },
        Error::RelativePath { path: "src/main.rs".into(), root: Some("/project".into()) },
        Error::NulInPath { path: "/project/a␀b".into() },
        Error::InvalidLine { line: 0 },
        Error::InvalidLimit { limit: 0 },
        Error::NoEdits,
        Error::EmptyOldString,
        Error::IdenticalStrings,
        Error::EmptyText { name: "content" },
        Error::EmptyRange { start: 7, end: 3, meant: (3, 8) },
        Error::BadLineSpec { lines: "10..12".into() },
        Error::BadGlob { pattern: "src/[".into(), cause: "a bracket is not closed".into() },
        Error::NoRepository {
            path: path(),
            cause: "No .git stands in its folders up to the root.".into(),
        },
        Error::BrokenRepository { path: path(), cause: "its HEAD is not a reference".into() },
        Error::UnknownRevision {
            revision: "v9".into(),
            cause: "No branch, tag or object has that name.".into(),
        },
        Error::NotInRevision { path: "src/main.rs".into(), revision: "HEAD~3".into() },
        Error::TooLarge {
            path: path(),
            n_bytes: 100_000_000,
            limit: "At a commit files up to 64 MiB can be read.".into(),
        },
        Error::NotATable { path: path(), what: "plain text. Read it with ReadLines".into() },
        Error::BrokenTable { path: path(), cause: "the file ends inside a row".into() },
        Error::FileNotFound { path: path() },
        Error::ParentNotFound { parent: "/project/src".into() },
        Error::PermissionDenied {
            path: "/etc/passwd".into(),
            reason: Denial::Outside { roots: "/project".into() },
        },
        Error::PermissionDenied {
            path: path(),
            reason: Denial::Editor { message: "Write declined by the user".into() },
        },
        Error::ReadOnlyFilesystem { path: path() },
        Error::NotAFile {
            path: "/project/src".into(),
            instead: Instead::ListedFolder { is_at_commit: false },
        },
        Error::IsDirectory { path: "/project/src".into() },
        Error::NotADirectory { path: "/project/src".into() },
        Error::FileExists { path: path(), what: None },
        Error::BinaryFile {
            verb: "read",
            path: "/project/logo.png".into(),
            hash: Some(digest(b"png")),
        },
        Error::DiskFull { n_bytes: 1_048_576, path: path() },
        Error::StringNotFound {
            old_string: "let x = 1;".into(),
            nearest: crate::nearest::nearest(
                "fn main() {\n    let x  = 1;\n}\n",
                "let x = 1;",
                crate::nearest::Meant::Text,
            ),
        },
        Error::AmbiguousString {
            n_matches: 3,
            old_string: "let".into(),
            lines: vec![2, 5, 9],
            n_lines: None,
        },
        Error::ConflictingEdits { index: 1, prior_index: 0 },
        Error::InEdit {
            index: 1,
            source: Box::new(Error::StringNotFound { old_string: "line 3".into(), nearest: None }),
        },
        Error::Stale {
            path: path(),
            expected: digest(b"old"),
            now: digest(b"new"),
            changed: vec![LineRange { start: 3, end: 5 }],
        },
        Error::TextMismatch {
            line: 42,
            found: "    let x = 1;\n".into(),
            wanted: "    let x = 2;".into(),
            whereabouts: Whereabouts::Lines { starts: vec![57], n_lines: 1 },
        },
        Error::TextNotInLines {
            lines: LineRange { start: 40, end: 44 },
            wanted: "    let x = 2;".into(),
            whereabouts: Whereabouts::Lines { starts: vec![57, 80], n_lines: 2 },
        },
        Error::RangeTooShort { line: 42, n_covered: 1, n_lines: 3 },
        Error::LinePastEnd { line: 500, path: path(), n_lines: 120 },
        Error::NoSuchLine { line: 121, path: path(), n_lines: 120, named_as: NamedAs::Anchor },
        Error::NotEncodable { encoding: "windows-1252", character: '你' },
        Error::NotReadable { encoding: "Shift_JIS", path: path() },
        Error::Busy { path: path() },
        Error::Hanging,
        Error::OpenElsewhere { path: path() },
        Error::Unsaved { path: path() },
        Error::Unstable { path: path() },
        Error::NotDurable {
            path: path(),
            cause: "syncing it to disk failed: Input/output error".into(),
        },
        Error::OutcomeUnknown,
        Error::Unanswered { path: path() },
        Error::NotTaken { path: path() },
        Error::EditorSilent { path: path() },
        Error::Cancelled,
        Error::System { path: path(), cause: "Input/output error".into() },
        Error::Internal { cause: "a bug in recto".into() },
    ]
}
