//! Hints: the next step after an error, worded for a model. A hint does not repeat the message.

mod files;

use std::fmt;

use recto_store::error::{Denial, Error as StoreError, Instead, SizeLimit};
use recto_text::error::{Error as TextError, NamedAs, Occurrence, Whereabouts};
use recto_text::line_spec;
use recto_text::nearest::Meant;
use recto_text::quote::{
    Differing, Escaped, OneLine, Quoted, is_same_but_whitespace, unseen_difference,
};
use serde_json::{Map, Value, json};

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
            Error::Text(error) => return text_hint(error, served),
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
            Error::Hanging => "A network or FUSE mount under the roots may have stopped responding. Calls work again once it responds or recto is restarted.".into(),
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

fn text_hint(error: &TextError, served: &Served) -> Option<Hint> {
    let hint: Hint = match error {
        TextError::EmptyOldString | TextError::IdenticalStrings => return None,
        TextError::EmptyRange { meant: (start, end), .. } => {
            Hint::again("Did you mean {}?", "lines", json!([start, end]))
        }
        TextError::BadLineSpec { lines } => {
            let grammar = format!("Valid forms: {}.", line_spec::GRAMMAR);
            match line_spec::reversed(lines) {
                Some(meant) => Hint::again(
                    &format!("The range is reversed; did you mean {{}}? {grammar}"),
                    "lines",
                    meant.into(),
                ),
                None => grammar.into(),
            }
        }
        TextError::StringNotFound { nearest: Some(nearest), .. } => nearest.to_string().into(),
        TextError::StringNotFound { nearest: None, .. } => {
            "The file contains no similar text. Read it and copy the text exactly.".into()
        }
        TextError::AmbiguousString { places, n_matches, n_lines, .. } => {
            ambiguous_hint(places, *n_matches, *n_lines)
        }
        TextError::TooFarApart { .. } => "In a file this large, all strings of one call must be within 16 MiB of each other, and with replace_all all occurrences; split the edits into separate calls, each for one place.".into(),
        TextError::ConflictingEdits { prior_index, .. } => {
            format!("Edit {prior_index} already changed that text. Nothing was written; merge the two edits into one.").into()
        }
        TextError::InEdit { source, .. } => match text_hint(source, served) {
            Some(hint) => format!("Nothing was written. {hint}").into(),
            None => "Nothing was written.".into(),
        },
        TextError::Several { failures, n_failed, n_untried } => {
            several_hint(failures, *n_failed, *n_untried, served).into()
        }
        TextError::TextMismatch { found, wanted, whereabouts, .. } => {
            let mut hint = whereabouts_hint(whereabouts);
            if matches!(whereabouts, Whereabouts::Near(_) | Whereabouts::PartOf { .. }) {
                // This hint already shows the difference.
                return Some(hint);
            }
            if let Some(unseen) = unseen_difference(found, wanted) {
                hint.text.insert_str(0, &format!("{unseen} "));
            }
            if is_same_but_whitespace(found, wanted) {
                hint.text.insert_str(0, "The two texts differ only in whitespace. ");
            }
            hint
        }
        TextError::TextNotInLines { whereabouts, .. } => whereabouts_hint(whereabouts),
        TextError::RangeTooShort { line, n_lines, .. } => {
            Hint::again("Retry with lines {}.", "lines", json!([line, line + n_lines]))
        }
        TextError::LinePastEnd { .. } => {
            Hint::again("For the last lines, retry with lines {}.", "lines", json!([-20, 0]))
        }
        TextError::NoSuchLine { line, n_lines, named_as, .. } => {
            line_hint(*named_as, *line, *n_lines, served)
        }
        TextError::NotEncodable { character: '\0', .. } => {
            let instead = served.name("file_create");
            let instead = instead.map(|tool| format!("; for binary data use {tool} with encoding base64"));
            let instead = instead.unwrap_or_default();
            format!("Nothing was written. Text files cannot contain NUL{instead}.").into()
        }
        TextError::NotEncodable { .. } => "Nothing was written. Use only characters that the encoding supports, or convert the file to UTF-8 first.".into(),
        TextError::NotReadable { .. } => {
            "Nothing was written. Convert the file to UTF-8 first.".into()
        }
    };
    Some(hint)
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
            "Another process is changing files in this directory. Retry.".into()
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
            SizeLimit::Change => "A change of this file needs all of it, which is possible up to 64 MiB.",
            SizeLimit::Remove => "Only files up to 1 GiB can be removed.",
            SizeLimit::Memory => "It needs more memory than recto uses for all calls together.",
            SizeLimit::Preview => "Only changes to files up to 16 MiB can be previewed.",
        }
        .into(),
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

fn whereabouts_hint(whereabouts: &Whereabouts) -> Hint {
    match whereabouts {
        Whereabouts::Lines { starts, n_lines } => match starts.as_slice() {
            [line] => Hint::again(
                &format!("Found at line {line}; retry with lines {{}}."),
                "lines",
                json!([line, line + n_lines]),
            ),
            starts => format!("Found at lines {}.", listed(starts)).into(),
        },
        Whereabouts::Line(lines) => match lines.as_slice() {
            [line] => Hint::again("Found at line {}; retry with line {}.", "line", json!(line)),
            lines => format!("Found at lines {}.", listed(lines)).into(),
        },
        Whereabouts::PartOf { lines, line, meant } => {
            let end = match meant {
                Meant::Lines => "; this tool replaces whole lines",
                Meant::Text | Meant::Line => "",
            };
            let whole = match line {
                Some(line) => format!("the whole line: {}", Differing(line, "")),
                None if lines.start == lines.end => "the whole line.".into(),
                None => "the whole lines.".into(),
            };
            format!("{} matches only part of {lines}{end}. Copy {whole}", meant.argument()).into()
        }
        Whereabouts::SeveralLines => {
            "anchor must be one line: the text of the line to insert before.".into()
        }
        Whereabouts::Near(nearest) => nearest.to_string().into(),
        Whereabouts::Nowhere => {
            "Not found anywhere in the file. Read the lines again and copy them exactly.".into()
        }
        Whereabouts::Unknown => "Read the lines again and copy them exactly.".into(),
    }
}

/// Returns the hint for a line number beyond a file of `n_lines`.
fn line_hint(named_as: NamedAs, line: i64, n_lines: usize, served: &Served) -> Hint {
    let append = served.name("text_append");
    let or_append = |text: &str| append.as_ref().map(|tool| text.replace("{}", tool));
    match (named_as, n_lines) {
        (NamedAs::Anchor, 0) => {
            let or_append = or_append(", or use {}").unwrap_or_default();
            format!("The file is empty; insert before line 1 with anchor \"\"{or_append}.").into()
        }
        (_, 0) => {
            let append = or_append("; use {}").unwrap_or_default();
            format!("The file is empty{append}.").into()
        }
        (NamedAs::Anchor, n_lines) => {
            let append = or_append(", or use {} to add at the end").unwrap_or_default();
            format!("Valid lines are 1 to {n_lines}. Use line 1 to insert at the top{append}.")
                .into()
        }
        (NamedAs::End { start, has_text }, n_lines) if line > 0 => {
            let mut hint = Hint::again(
                &format!(
                    "The end is exclusive; use {{}} or [{start}, 0] to include the last line."
                ),
                "lines",
                json!([start, n_lines + 1]),
            );
            if !has_text {
                hint.text.push_str(" These lines do not contain old; read them again.");
                hint.next = None;
            }
            hint
        }
        (_, n_lines) => {
            format!("Valid lines are 1 to {n_lines}, or -1 (the last) to -{n_lines}.").into()
        }
    }
}

/// Returns the hint for a string that occurs in several places.
fn ambiguous_hint(places: &[Occurrence], n_matches: usize, n_lines: Option<usize>) -> Hint {
    let mut shown = String::from("Matches start at:\n");
    for Occurrence { line, column, text } in places {
        let column = column.map(|column| format!(", column {column}")).unwrap_or_default();
        shown.push_str(&format!("line {line}{column}: {text}\n"));
    }
    if n_matches > places.len() {
        shown.push_str(&format!("and {} more\n", n_matches - places.len()));
    }
    let mut hint = match (n_lines, places) {
        (Some(n_lines), [Occurrence { line, .. }, ..]) => Hint::again(
            "Narrow lines to one of them, e.g. {}.",
            "lines",
            json!([line, line + n_lines]),
        ),
        _ => Hint::again(
            "Include surrounding text to match only one, or set replace_all to {}.",
            "replace_all",
            true.into(),
        ),
    };
    hint.text.insert_str(0, &shown);
    hint
}

/// Returns the hint for several rejected edits: that of the first, then the other errors with theirs.
fn several_hint(
    failures: &[TextError],
    n_failed: usize,
    n_untried: usize,
    served: &Served,
) -> String {
    let of = |error: &TextError| text_hint(error, served).map(|hint| hint.text).unwrap_or_default();
    let mut hint = of(&failures[0]);
    for failure in &failures[1..] {
        let advice = match failure {
            TextError::InEdit { source, .. } => of(source),
            failure => of(failure),
        };
        let advice = if advice.is_empty() { advice } else { format!("\n{advice}") };
        hint.push_str(&format!("\nAlso: {failure}{advice}"));
    }
    if n_failed > failures.len() {
        hint.push_str(&format!("\n{} more edits failed.", n_failed - failures.len()));
    }
    if n_untried > 0 {
        hint.push_str(&format!("\nThe last {n_untried} edits were not tried."));
    }
    hint
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

fn listed(lines: &[usize]) -> String {
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    lines.join(", ")
}

fn capitalized(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}
