//! What a caller can do next about each refusal. Written for a model; never repeats the message.

use super::denial::absolute_hint;
use super::whereabouts::ambiguous_hint;
use super::{Error, Whereabouts};
use crate::line_spec;
use crate::quote::{is_same_but_whitespace, unseen_difference};

impl Error {
    /// What the caller can do next, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::UnknownArgument { known, .. } => format!("{known}."),
            Error::RelativePath { path, root } => absolute_hint(path, root.as_deref()),
            Error::EmptyText { name: "pattern" } => "**/* lists everything.".into(),
            Error::ParentNotFound { .. } => "A folder on the way is missing; check the path.".into(),
            Error::PermissionDenied { reason, .. } => return reason.hint(),
            Error::BinaryFile { hash: Some(hash), .. } => format!("It is not text in any known encoding. Its hash is {hash}."),
            Error::BinaryFile { hash: None, .. } => "It is not text in any known encoding.".into(),
            Error::DiskFull { .. } => "Nothing was changed. Free some space, then call again.".into(),
            Error::StringNotFound { nearest: Some(nearest), .. } => nearest.to_string(),
            Error::StringNotFound { nearest: None, .. } => "Nothing in the file is similar. Read the file, then copy the text exactly.".into(),
            Error::AmbiguousString { lines, n_matches, n_lines, .. } => ambiguous_hint(lines, *n_matches, *n_lines),
            Error::ConflictingEdits { prior_index, .. } => {
                format!("Edit {prior_index} already changed that text. Nothing was written; join the two edits into one.")
            }
            Error::InEdit { source, .. } => match source.hint() {
                Some(hint) => format!("Nothing was written. {hint}"),
                None => "Nothing was written.".into(),
            },
            Error::Stale { changed, .. } => {
                let changed: Vec<String> = changed.iter().map(|lines| lines.to_string()).collect();
                let which = match changed.as_slice() {
                    [] => String::new(),
                    changed => format!("Changed since: {}. ", changed.join(", ")),
                };
                format!("{which}Nothing was written. Read the file again and make the change for the new hash.")
            }
            Error::NotEncodable { character: '\0', .. } => "Nothing was written. A NUL makes a file binary; file.create with encoding base64 writes bytes.".into(),
            Error::NotEncodable { .. } => "Nothing was written. Use characters that the encoding has, or convert the file first.".into(),
            Error::NotReadable { .. } => "Nothing was written. Convert the file to UTF-8 first.".into(),
            Error::Busy { .. } => "Another process is changing files in this folder. Call again.".into(),
            Error::Hanging => "A network or FUSE mount beneath the folders may be gone. Calls elsewhere work again when it answers, or after a restart.".into(),
            Error::OpenElsewhere { .. } => {
                "Nothing was written. Close it in the other program, or call again.".into()
            }
            Error::Unsaved { .. } => {
                "Nothing was changed. Let the person save or discard them first.".into()
            }
            Error::EditorSilent { .. } => {
                "Nothing was changed. It may show a dialog or be busy; call again later.".into()
            }
            Error::NotTaken { .. } => "It took the change, and then it, or a formatter, took it back, or it has not applied it yet. Read the file before you change it again.".into(),
            Error::OutcomeUnknown | Error::Unanswered { .. } => "Read the file before you change it again.".into(),
            Error::Unstable { .. } => "Another process is writing to it. Call again when it has finished.".into(),
            Error::NotDurable { cause, .. } => format!("The change was made, but {cause}. Do not make it again without reading the file."),
            Error::EmptyRange { meant: (start, end), .. } => format!("Did you mean [{start}, {end}]?"),
            Error::BadLineSpec { lines } => {
                let reversed = line_spec::reversed(lines);
                let meant = reversed.map(|lines| format!("The end comes before the start: {lines}? "));
                format!("{}Lines are {}.", meant.unwrap_or_default(), line_spec::GRAMMAR)
            }
            // Only where lines are such a string; elsewhere they are two integers.
            Error::WrongArgument { name, expected, .. } if name == "lines" && expected == "a string" => {
                format!("Lines are {}. As in \"1,3,5-7\".", line_spec::GRAMMAR)
            }
            Error::BadGlob { cause, .. } => format!("{}. Patterns have *, ?, [abc], {{a,b}} and ** for any folders.", capitalized(cause)),
            Error::NoRepository { cause, .. } | Error::UnknownRevision { cause, .. } => cause.clone(),
            Error::NotInRevision { .. } => "With commit, relative paths start at the top of the repository; ListFiles with the same commit shows what is there.".into(),
            Error::TooLarge { limit, .. } => limit.clone(),
            Error::NotATable { what, .. } => format!("It is {what}."),
            Error::NotAFile { path, instead } => return instead.hint(path),
            Error::FileExists { what: None, .. } => "Change it with the tools that edit, or remove it first.".into(),
            Error::FileExists { what: Some(what), .. } => format!("It is {what}; use another name."),
            Error::FileNotFound { path } if path.ends_with('/') => "A path that ends with / names a folder; leave the / off to name a file.".into(),
            Error::TextMismatch { found, wanted, whereabouts, .. } => {
                let mut hint = whereabouts.hint();
                if matches!(whereabouts, Whereabouts::Near(_) | Whereabouts::PartOf { .. }) {
                    // It shows what differs.
                    return Some(hint);
                }
                if let Some(unseen) = unseen_difference(found, wanted) {
                    hint.insert_str(0, &format!("{unseen} "));
                }
                if is_same_but_whitespace(found, wanted) {
                    hint.insert_str(0, "They differ only in whitespace. ");
                }
                hint
            }
            Error::TextNotInLines { whereabouts, .. } => whereabouts.hint(),
            Error::RangeTooShort { line, n_lines, .. } => {
                format!("Call again with lines [{line}, {}].", line + n_lines)
            }
            Error::LinePastEnd { .. } => "The last lines are [-20, 0].".into(),
            Error::NoSuchLine { line, n_lines, named_as, .. } => named_as.hint(*line, *n_lines),
            Error::MissingArgument { .. }
            | Error::WrongArgument { .. }
            | Error::NulInPath { .. }
            | Error::InvalidLine { .. }
            | Error::InvalidLimit { .. }
            | Error::NoEdits
            | Error::EmptyOldString
            | Error::IdenticalStrings
            | Error::FileNotFound { .. }
            | Error::ReadOnlyFilesystem { .. }
            | Error::IsDirectory { .. }
            | Error::NotADirectory { .. }
            | Error::EmptyText { .. }
            | Error::BrokenRepository { .. }
            | Error::BrokenTable { .. }
            | Error::Cancelled
            | Error::System { .. }
            | Error::Internal { .. } => return None,
        };
        Some(hint)
    }
}

fn capitalized(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}
