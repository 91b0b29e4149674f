//! One example of every error, for the documentation and for tests about all of them.

use std::collections::HashSet;
use std::mem::discriminant;

use recto_store::Nearby;
use recto_store::error::{Denial, Error as StoreError, Instead, SizeLimit};
use recto_text::Digest;
use recto_text::error::{Error as TextError, NamedAs, Occurrence, Whereabouts};
use recto_text::line::LineRange;
use recto_tools::Error;
use recto_tools::error::ChangedText;

/// Returns the examples.
pub fn examples() -> Vec<Error> {
    let text = text_examples().into_iter().map(Error::from);
    let store = store_examples().into_iter().map(Error::from);
    own_examples().into_iter().chain(text).chain(store).collect()
}

fn path() -> String {
    "/project/src/main.rs".into()
}

fn digest(bytes: &[u8]) -> Digest {
    Digest::of(bytes)
}

fn own_examples() -> Vec<Error> {
    vec![
        Error::MissingArgument {
            name: "path".into(),
            known: "This tool accepts: path, line".into(),
        },
        Error::Missing {
            path: "/project/src/mian.rs".into(),
            argument: "path",
            nearby: Nearby { files: vec![path()], folder: Some("/project/src".into()) },
        },
        Error::MissingAt {
            path: "src/mian.rs".into(),
            revision: "HEAD".into(),
            argument: "file_path",
            nearby: Nearby { files: vec!["src/main.rs".into()], folder: None },
        },
        Error::MissingParent { parent: "/project/new".into() },
        Error::NothingToOverwrite { path: path(), nearby: Nearby::default() },
        Error::NotAbsolute {
            path: "~/src/main.rs".into(),
            argument: "path",
            nearby: Nearby { files: Vec::new(), folder: Some("/project".into()) },
        },
        Error::TwoNames { name: "path", alias: "file_path" },
        Error::UnknownArgument {
            name: "file".into(),
            known: "This tool accepts: path, line, limit".into(),
        },
        Error::WrongArgument {
            name: "line".into(),
            expected: "an integer".into(),
            value: "\"ten\"".into(),
        },
        Error::InvalidLine { line: 0 },
        Error::InvalidLimit { limit: 0 },
        Error::NoEdits,
        Error::EmptyText { name: "content" },
        Error::NotATable { path: path(), what: "plain text".into(), is_text: true },
        Error::BrokenTable { path: path(), cause: "the file ends inside a row".into() },
        Error::Stale {
            path: path(),
            expected: digest(b"old").tag(),
            now: digest(b"new"),
            changed: vec![LineRange { start: 3, end: 5 }],
            retry: None,
        },
        Error::Stale {
            path: path(),
            expected: digest(b"old").tag(),
            now: digest(b"new"),
            changed: vec![LineRange { start: 3, end: 5 }],
            retry: Some(Box::new(serde_json::Map::from_iter([
                ("hash".to_string(), digest(b"new").to_string().into()),
                ("lines".to_string(), serde_json::json!([9, 12])),
            ]))),
        },
        Error::Unseen {
            path: path(),
            seen: digest(b"old"),
            changed: Some(ChangedText {
                ranges: vec![LineRange { start: 3, end: 3 }],
                lines: vec![(3, "let n = 2;\n".into())],
            }),
        },
        Error::Unversioned { path: path() },
        Error::NoPlan,
        Error::OtherPlan { n_files: 3 },
        Error::NoneWithText { glob: "src/**/*.rs".into() },
        Error::TooManyMatches {
            glob: "**/*".into(),
            n_files: 257,
            what: "files",
            n: 257,
            limit: 256,
        },
        Error::InFile {
            path: "src/main.rs".into(),
            source: Box::new(TextError::EmptyOldString.into()),
        },
        Error::SeveralFiles {
            failures: vec![
                StoreError::FileNotFound { path: path() }.into(),
                StoreError::FileExists { path: "/project/src/lib.rs".into(), what: None }.into(),
            ],
        },
        Error::Hanging,
        Error::OutcomeUnknown,
        Error::CannotUndo {
            change: 17,
            cause: "the later change 19 overlaps it".into(),
            can_undo_dependents: true,
        },
        Error::NoChanges { cause: "this call does not belong to a known session".into() },
        Error::Internal { cause: "a bug in recto".into() },
        Error::FolderToList { path: "/project/src".into(), commit: None },
    ]
}

fn text_examples() -> Vec<TextError> {
    vec![
        TextError::EmptyOldString,
        TextError::IdenticalStrings,
        TextError::EmptyRange { start: 7, end: 3, meant: (3, 8) },
        TextError::BadLineSpec { lines: "10..12".into() },
        TextError::StringNotFound {
            old_string: "let x = 1;".into(),
            nearest: recto_text::nearest::nearest(
                "fn main() {\n    let x  = 1;\n}\n",
                "let x = 1;",
                recto_text::nearest::Meant::Text,
            ),
        },
        TextError::AmbiguousString {
            n_matches: 3,
            old_string: "let".into(),
            places: [(2, "let a = 1;"), (5, "let b = 2;"), (9, "let c = 3;")]
                .map(|(line, text)| Occurrence::new(line, Some(0), "", text))
                .to_vec(),
            n_lines: None,
        },
        TextError::ConflictingEdits { index: 1, prior_index: 0 },
        TextError::InEdit {
            index: 1,
            source: Box::new(TextError::StringNotFound {
                old_string: "line 3".into(),
                nearest: None,
            }),
        },
        TextError::Several {
            failures: [0, 2]
                .map(|index| TextError::InEdit {
                    index,
                    source: Box::new(TextError::IdenticalStrings),
                })
                .to_vec(),
            n_failed: 2,
            n_untried: 0,
        },
        TextError::TextMismatch {
            line: 42,
            found: "    let x = 1;\n".into(),
            wanted: "    let x = 2;".into(),
            whereabouts: Whereabouts::Lines { starts: vec![57], n_lines: 1 },
        },
        TextError::TextNotInLines {
            lines: LineRange { start: 40, end: 44 },
            wanted: "    let x = 2;".into(),
            whereabouts: Whereabouts::Lines { starts: vec![57, 80], n_lines: 2 },
        },
        TextError::RangeTooShort { line: 42, n_covered: 1, n_lines: 3 },
        TextError::LinePastEnd { line: 500, path: path(), n_lines: 120 },
        TextError::NoSuchLine { line: 121, path: path(), n_lines: 120, named_as: NamedAs::Anchor },
        TextError::NotEncodable { encoding: "windows-1252", character: '你' },
        TextError::NotReadable { encoding: "Shift_JIS", path: path() },
        TextError::TooManyToReplace { old_string: "a".into() },
        TextError::TooMuchAtOnce { n_places: 500_000, n_added: 50_000_000 },
        TextError::TooFarApart { path: path(), n_bytes: 100_000_000 },
    ]
}

fn store_examples() -> Vec<StoreError> {
    vec![
        StoreError::RelativePath { path: "src/main.rs".into(), root: Some("/project".into()) },
        StoreError::NulInPath { path: "/project/a␀b".into() },
        StoreError::BadGlob { pattern: "src/[".into(), cause: "a bracket is not closed".into() },
        StoreError::NoRepository {
            path: path(),
            cause: "No .git was found between this path and the root.".into(),
        },
        StoreError::BrokenRepository {
            path: path(),
            cause: "HEAD is not a valid reference".into(),
        },
        StoreError::UnknownRevision {
            revision: "v9".into(),
            cause: "No branch, tag or object has that name.".into(),
        },
        StoreError::NotInRevision { path: "src/main.rs".into(), revision: "HEAD~3".into() },
        StoreError::TooLarge { path: path(), n_bytes: 100_000_000, limit: SizeLimit::GitObject },
        StoreError::FileNotFound { path: path() },
        StoreError::ParentNotFound { parent: "/project/src".into() },
        StoreError::PermissionDenied {
            path: "/etc/passwd".into(),
            reason: Denial::Outside { roots: "/project".into() },
        },
        StoreError::PermissionDenied {
            path: path(),
            reason: Denial::Editor { message: "Write declined by the user".into() },
        },
        StoreError::ReadOnlyFilesystem { path: path() },
        StoreError::NotAFile { path: "/project/pipe".into(), instead: Instead::Special("a FIFO") },
        StoreError::IsDirectory { path: "/project/src".into() },
        StoreError::NotADirectory { path: "/project/src".into() },
        StoreError::FileExists { path: path(), what: None },
        StoreError::BinaryFile {
            verb: "read",
            path: "/project/logo.png".into(),
            hash: Some(digest(b"png")),
        },
        StoreError::DiskFull { n_bytes: 1_048_576, path: path() },
        StoreError::Busy { path: path() },
        StoreError::MemoryBusy { path: path() },
        StoreError::OpenElsewhere { path: path() },
        StoreError::Unsaved { path: path() },
        StoreError::Unstable { path: path() },
        StoreError::NotDurable {
            path: path(),
            cause: "syncing it to disk failed: Input/output error".into(),
        },
        StoreError::Unanswered { path: path() },
        StoreError::NotTaken { path: path() },
        StoreError::EditorSilent { path: path() },
        StoreError::NotTogether {
            path: path(),
            cause: "files cannot be moved to another file system".into(),
        },
        StoreError::TooMany { what: "files", n: 300, limit: 256 },
        StoreError::Cancelled,
        StoreError::System { path: path(), cause: "Input/output error".into() },
        StoreError::EmptyPath { argument: "path" },
        StoreError::PathTooLong { path: path() },
    ]
}

#[test]
fn every_error_has_an_example() {
    let n_messages = |source: &str| source.matches("#[error(\"").count();
    let own: HashSet<_> = own_examples().iter().map(discriminant).collect();
    assert_eq!(own.len(), n_messages(include_str!("../../../recto-tools/src/error.rs")));
    let text: HashSet<_> = text_examples().iter().map(discriminant).collect();
    assert_eq!(text.len(), n_messages(include_str!("../../../recto-text/src/error.rs")));
    let store: HashSet<_> = store_examples().iter().map(discriminant).collect();
    assert_eq!(store.len(), n_messages(include_str!("../../../recto-store/src/error.rs")));
}
