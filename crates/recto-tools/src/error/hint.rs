//! Hints: the next step after an error, worded for a model. A hint does not repeat the message.

mod files;
mod text;

use std::fmt;

use recto_store::error::{Denial, Error as StoreError, Instead, SizeLimit};
use recto_text::line_spec;
use recto_text::quote::{Escaped, OneLine, Quoted};
use serde_json::{Map, Value};

use super::Error;
use crate::served::Served;

/// Advice after a rejected call.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint {
    /// The advice, which includes the next call.
    pub text: String,
    /// The same advice as data, where it is a call. Clients get the text; tests make the call.
    pub next: Option<NextCall>,
}

/// A call to make next.
#[derive(Debug, Clone, PartialEq)]
pub struct NextCall {
    /// The declared name of the tool; `None` for the tool that was called. The other arguments of the
    /// call that the tool declares stay unchanged.
    pub tool: Option<&'static str>,
    /// The arguments to send.
    pub arguments: Map<String, Value>,
}

impl<T: Into<String>> From<T> for Hint {
    fn from(text: T) -> Hint {
        Hint { text: text.into(), next: None }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Hint {
    /// Suggests the same call with a different argument, whose value replaces `{}` in the text.
    fn again(text: &str, name: &str, value: Value) -> Hint {
        let shown = match &value {
            Value::String(text) => Quoted(text).to_string(),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                format!("[{}]", items.join(", "))
            }
            value => value.to_string(),
        };
        let arguments = Map::from_iter([(name.to_string(), value)]);
        Hint { text: text.replace("{}", &shown), next: Some(NextCall { tool: None, arguments }) }
    }
}

impl Error {
    /// Returns the next step, if there is one. Names only `served` tools.
    pub fn hint(&self, served: &Served) -> Option<Hint> {
        let hint: Hint = match self {
            Error::Text(error) => return text::hint(error, served),
            Error::Store(error) => return store_hint(error, served),
            Error::Missing { .. }
            | Error::MissingAt { .. }
            | Error::MissingParent { .. }
            | Error::NothingToOverwrite { .. }
            | Error::NotAbsolute { .. } => return files::missing_hint(self, served),
            Error::FolderToList { path, commit } => folder_hint(path, commit.as_deref(), served),
            Error::UnknownArgument { known, .. } | Error::MissingArgument { known, .. } => {
                format!("{known}.").into()
            }
            Error::TwoNames { name, .. } => {
                format!("They name the same file; send only {name}.").into()
            }
            Error::EmptyText { name: name @ "pattern" } => {
                Hint::again("Use {} to list all files.", name, "**/*".into())
            }
            // Other tools take `lines` as two integers.
            Error::WrongArgument { name, expected, .. }
                if name == "lines" && expected == "a string" =>
            {
                format!("Valid forms: {}. Example: \"1,3,5-7\".", line_spec::GRAMMAR).into()
            }
            Error::NotATable { what, is_text, .. } => {
                let reader = served.name("ReadLines").filter(|_| *is_text);
                let advice = reader.map(|tool| format!(" Read it with {tool}.")).unwrap_or_default();
                format!("The file is {what}.{advice}").into()
            }
            Error::Stale { changed, retry, .. } => {
                let changed: Vec<String> = changed.iter().map(|lines| lines.to_string()).collect();
                let which = match changed.as_slice() {
                    [] => String::new(),
                    changed => format!("Changed since then: {}. ", changed.join(", ")),
                };
                match retry {
                    None => format!("{which}Nothing was written. Read the file again, then retry with the new hash.").into(),
                    Some(arguments) => {
                        let shown: Vec<String> =
                            arguments.iter().map(|(name, value)| format!("{name} {value}")).collect();
                        let text = format!("{which}Nothing was written. The text that you named is unchanged; retry with {}.", shown.join(" and "));
                        let next = NextCall { tool: None, arguments: (**arguments).clone() };
                        Hint { text, next: Some(next) }
                    }
                }
            }
            Error::Unversioned { path } => files::unversioned_hint(path, served),
            Error::Unseen { path, seen, changed } => files::unseen_hint(path, *seen, changed.as_ref(), served),
            Error::NoPlan => Hint::again("Call with dry_run {} first; its answer has the plan.", "dry_run", true.into()),
            Error::OtherPlan { .. } => "Nothing was changed. Files changed since the dry run, or the changes are not the same; call again with dry_run true and without plan.".into(),
            Error::TooManyMatches { .. } => "Nothing was changed, and more files may match. Narrow the glob, for example to one directory, and use several calls.".into(),
            Error::NoneWithText { .. } => "Ignored, hidden and binary files do not match.".into(),
            Error::InFile { source, .. } => files::in_file_hint(source, served).into(),
            Error::SeveralFiles { failures } => files::several_files_hint(failures, served).into(),
            Error::Hanging => "A network or FUSE mount under the roots may have stopped responding. Calls work again once it responds or recto is restarted.".into(),
            Error::CannotUndo { can_undo_dependents: true, .. } => {
                Hint::again(
                    "Retry with with_dependents {} to undo those changes too.",
                    "with_dependents",
                    true.into(),
                )
            }
            Error::CannotUndo { .. } | Error::NoChanges { .. } => return None,
            Error::OutcomeUnknown => "Read the file before editing it again.".into(),
            Error::WrongArgument { .. }
            | Error::InvalidLine { .. }
            | Error::InvalidLimit { .. }
            | Error::NoEdits
            | Error::EmptyText { .. }
            | Error::BrokenTable { .. }
            | Error::Internal { .. } => return None,
        };
        Some(hint)
    }
}

fn store_hint(error: &StoreError, served: &Served) -> Option<Hint> {
    let hint: Hint = match error {
        StoreError::RelativePath { path, root } => absolute_hint(path, root.as_deref()),
        StoreError::ParentNotFound { .. } => "A parent directory does not exist; check the path.".into(),
        StoreError::PermissionDenied { reason, .. } => return denial_hint(reason),
        StoreError::BinaryFile { hash: Some(hash), .. } => {
            format!("The content is not text in any supported encoding. Its hash is {hash}.").into()
        }
        StoreError::BinaryFile { hash: None, .. } => "The content is not text in any supported encoding.".into(),
        StoreError::DiskFull { .. } => {
            "Nothing was changed. Free some disk space, then retry.".into()
        }
        StoreError::Busy { .. } => {
            "Another call or process is changing files in this directory. Retry.".into()
        }
        StoreError::MemoryBusy { .. } => {
            "Nothing was changed. Retry when other calls on large files have finished.".into()
        }
        StoreError::OpenElsewhere { .. } => {
            "Nothing was written. Retry, or close the file in the other program.".into()
        }
        StoreError::Unsaved { .. } => {
            "Nothing was changed. Ask the user to save or discard the changes first.".into()
        }
        StoreError::EditorSilent { .. } => {
            "Nothing was changed. The editor may be busy or showing a dialog; retry later.".into()
        }
        StoreError::NotTaken { .. } => "The editor accepted the change, but it or a formatter reverted it, or has not applied it yet. Read the file before editing it again.".into(),
        StoreError::Unanswered { .. } => "Read the file before editing it again.".into(),
        StoreError::Unstable { .. } => {
            "Another process is writing to the file. Retry when it has finished.".into()
        }
        StoreError::NotDurable { cause, .. } => format!("The change was written, but {cause}. Read the file before repeating the change.").into(),
        StoreError::BadGlob { cause, .. } => format!("{}. Patterns support *, ?, [abc], {{a,b}} and ** (any number of directories).", capitalized(cause)).into(),
        StoreError::NoRepository { cause, .. } | StoreError::UnknownRevision { cause, .. } => {
            Escaped(cause).to_string().into()
        }
        StoreError::NotInRevision { .. } => files::not_in_revision_hint(served),
        StoreError::TooLarge { limit, .. } => match limit {
            SizeLimit::GitObject => "With commit, only files up to 64 MiB can be read; write a larger one to a file with `git show`.",
            SizeLimit::Change => "This change has to read the whole file, which is possible only up to 64 MiB.",
            SizeLimit::Remove => "Only files up to 1 GiB can be removed.",
            SizeLimit::Memory => "The call needs more memory than all calls together may use.",
            SizeLimit::Preview => "Only changes to files up to 16 MiB can be previewed.",
        }
        .into(),
        StoreError::NotTogether { .. } => {
            "Nothing was changed. Change this file in a call of its own.".into()
        }
        StoreError::TooMany { .. } => "Nothing was changed. Use several calls.".into(),
        StoreError::NotAFile { instead, .. } => match instead {
            Instead::Folder => "It is a directory.".into(),
            Instead::Special(what) => format!("It is {what}.").into(),
            Instead::Other => return None,
        },
        StoreError::FileExists { what: None, .. } => {
            "Edit the existing file, or remove it first.".into()
        }
        StoreError::FileExists { what: Some(what), .. } => {
            format!("It is {what}; use another name.").into()
        }
        StoreError::FileNotFound { path } if path.ends_with('/') => {
            "A path that ends with / names a directory; remove the trailing / to name a file.".into()
        }
        StoreError::EmptyPath { .. }
        | StoreError::NulInPath { .. }
        | StoreError::PathTooLong { .. }
        | StoreError::FileNotFound { .. }
        | StoreError::ReadOnlyFilesystem { .. }
        | StoreError::IsDirectory { .. }
        | StoreError::NotADirectory { .. }
        | StoreError::BrokenRepository { .. }
        | StoreError::Cancelled
        | StoreError::System { .. } => return None,
    };
    Some(hint)
}

fn denial_hint(denial: &Denial) -> Option<Hint> {
    let hint: Hint = match denial {
        Denial::Outside { roots } => {
            format!("Only files under these roots are accessible: {roots}").into()
        }
        Denial::AboveRoot { roots, below } => format!("With commit, relative paths start at the repository root; those under the served root start with {}/. Only files under these roots are accessible: {roots}", Quoted(below)).into(),
        Denial::RootReplaced { root } => format!("The root {} was moved, removed or replaced after recto started; recto must be restarted.", Quoted(root)).into(),
        Denial::GitFolder => "Writing inside .git is not permitted; the user can start recto with --allow-git-writes.".into(),
        Denial::ClientSandbox => "The client's sandbox does not permit it.".into(),
        Denial::Editor { message } if message.is_empty() => "The editor rejected the request.".into(),
        Denial::Editor { message } => format!("The editor reported: {}", Quoted(message)).into(),
        Denial::System => return None,
        Denial::ForeignOwner => "The file belongs to another user or group; edits replace the file, which would change its owner.".into(),
        Denial::AppendOnlyFolder => "The directory is append-only (chattr +a): files can be created in it, but not replaced or removed.".into(),
        Denial::Folder => "The directory is not writable; edits replace the file, so write permission on the directory is required.".into(),
        Denial::NotRecorded { cause } => format!("Changes must be recorded (--journal required), but the journal cannot record this one: {}. The user can run recto doctor.", Escaped(cause)).into(),
        Denial::MountPoint => "The file is a mount point; edits replace the file, which is not possible here.".into(),
    };
    Some(hint)
}

/// Returns the hint for a directory whose files can be listed.
fn folder_hint(path: &str, commit: Option<&str>, served: &Served) -> Hint {
    let Some(tool) = served.name("ListFiles") else { return "It is a directory.".into() };
    let pattern = everything_below(path);
    let same_commit = if commit.is_some() { " and the same commit" } else { "" };
    let text = format!(
        "It is a directory; {tool} with pattern {}{same_commit} lists its files.",
        OneLine(&pattern)
    );
    let mut arguments = Map::from_iter([("pattern".to_string(), pattern.into())]);
    if let Some(commit) = commit {
        arguments.insert("commit".into(), commit.into());
    }
    Hint { text, next: Some(NextCall { tool: Some("ListFiles"), arguments }) }
}

/// Returns the hint for a path that does not start with `/`.
fn absolute_hint(path: &str, root: Option<&str>) -> Hint {
    let the_root = root.map(|root| format!(" The root is {}.", Quoted(root))).unwrap_or_default();
    if let Some(rest) = path.strip_prefix("file://") {
        // Paths are not percent-decoded, so a URL with escapes cannot be turned into a path.
        return match rest.starts_with('/') && !rest.contains('%') {
            true => Hint::again("Remove the file:// prefix: {}", "path", rest.into()),
            false => "Pass a path that starts with /.".into(),
        };
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    match root {
        Some(root) if !path.is_empty() && !path.split('/').any(|part| part == "..") => {
            let whole = format!("{}/{path}", root.trim_end_matches('/'));
            Hint::again("Pass the absolute path: {}", "path", whole.into())
        }
        _ => format!("Pass a path that starts with /.{the_root}").into(),
    }
}

/// Returns the pattern for all files under a directory.
fn everything_below(folder: &str) -> String {
    let mut pattern = String::new();
    for c in folder.trim_end_matches('/').chars() {
        if matches!(c, '*' | '?' | '[' | '{' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "/**"
}

fn capitalized(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}
