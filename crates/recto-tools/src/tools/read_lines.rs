//! `ReadLines`: reads lines of a file by number or by content, on disk or at a commit; with a glob or
//! a directory, of many files.

mod blame;
mod many;

use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

use crate::budget::Budget;
use crate::error::{Error, Result};
use recto_text::Size;
use recto_text::line_spec::LineSpec;
use recto_text::quote::Lines;
use recto_text::search::{BadNeedle, MAX_NEEDLE, Needle};
use serde_json::{Value, json};

use super::paths::{COMMIT, Matches, list_in_roots, listed, named};
use super::row::write_rows;
use super::rows::{
    self, FileRows, Limits, MAX_LINES_ARGUMENT, NextLines, Wanted, column_without_line,
};
use super::search::{FoundFile, ManyFiles};
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use crate::limits;
use many::{Found, in_text, report};
use recto_store::error::{Error as StoreError, Instead};
use recto_store::glob::Glob;
use recto_store::path::AbsPath;
use recto_store::{AtRevision, ListRequest, Listing, Note, Store, Text};

pub static TOOL: Tool = Tool {
    name: "ReadLines",
    title: "Read lines",
    toolset: Toolset::Files,
    description: "Read numbered lines, also at a git revision, or search with match or regex. \
        file_path may be a glob, or a directory to search.",
    params: &[
        Param::required("file_path", ParamKind::String, "Path or glob"),
        Param::optional(
            "lines",
            ParamKind::NumberOrString,
            "5, 2-4 (inclusive), 8- (to the end), -3 (first 3), +10- (last 10), 5 +/-2, or \
             1,3,5-7",
        ),
        Param::optional("ctx", ParamKind::Integer { minimum: None }, "Context lines"),
        Param::optional("match", ParamKind::NumberOrString, "Only lines with this literal text"),
        Param::optional("regex", ParamKind::NumberOrString, "Instead of match: a Rust regex"),
        Param::optional(
            "case_sensitive",
            ParamKind::Boolean,
            "Default: true for regex, false for match",
        ),
        Param::optional("only", ParamKind::Word(&["files"]), "Paths with match counts"),
        COMMIT,
        Param::optional("blame", ParamKind::Boolean, "Add the commit of each line"),
        Param::optional(
            "column",
            ParamKind::Integer { minimum: None },
            "First character of a single line, 1-based",
        ),
    ],
    output,
    run: Run::Reads(run),
};

struct Request {
    file_path: String,
    commit: Option<String>,
    /// The `lines` argument, unparsed.
    lines: Option<String>,
    wanted: Wanted,
    /// N for `lines` of `-N`, the first N lines, which callers mistake for the last N.
    n_first: Option<u64>,
    /// Whether `match` looks like a regular expression.
    is_like_regex: bool,
    /// Whether the commits of the lines are wanted.
    is_blame: bool,
}

fn request(mut arguments: Arguments) -> Result<Request> {
    let lines = arguments.optional_string("lines");
    let context = arguments.integer("ctx").unwrap_or(0);
    let literal = arguments.optional_string("match").filter(|text| !text.is_empty());
    let regex = arguments.optional_string("regex").filter(|text| !text.is_empty());
    let case_sensitive = arguments.optional_boolean("case_sensitive");
    let needle = match (&literal, &regex) {
        (Some(_), Some(regex)) => {
            return Err(wrong_needle("regex", "used without match", regex));
        }
        (Some(text), None) => {
            let needle = Needle::literal(text, case_sensitive.unwrap_or(false));
            Some(needle.map_err(|error| bad_needle("match", error, text))?)
        }
        (None, Some(regex)) => {
            let needle = Needle::regex(regex, case_sensitive.unwrap_or(true));
            Some(needle.map_err(|error| bad_needle("regex", error, regex))?)
        }
        (None, None) => None,
    };
    let wanted = Wanted {
        lines: lines.as_deref().map(LineSpec::parse).transpose()?,
        context: u64::try_from(context).map_err(|_| Error::WrongArgument {
            name: "ctx".into(),
            expected: "0 or more".into(),
            value: context.to_string(),
        })?,
        needle,
        is_count: arguments.optional_string("only").is_some(),
        column: arguments.integer("column").map(parse_column).transpose()?,
    };
    let is_blame = arguments.boolean("blame");
    if wanted.is_count && wanted.needle.is_none() {
        return Err(wrong_needle("only", "used with match or regex", "files"));
    }
    if is_blame && wanted.is_count {
        return Err(wrong_use("blame", "used without only", "true"));
    }
    if let (Some(_), Some(column)) = (&wanted.needle, wanted.column) {
        return Err(column_without_line(column));
    }
    let n_first = lines.as_ref().and_then(|lines| lines.trim().strip_prefix('-')?.parse().ok());
    let is_like_regex = literal.as_deref().is_some_and(is_like_regex);
    let commit = arguments.optional_string("commit");
    let file_path = arguments.string("file_path");
    Ok(Request { file_path, commit, lines, wanted, n_first, is_like_regex, is_blame })
}

fn parse_column(column: i64) -> Result<u64> {
    let positive = u64::try_from(column).ok().filter(|column| *column > 0);
    positive.ok_or_else(|| Error::WrongArgument {
        name: "column".into(),
        expected: "1 or more".into(),
        value: column.to_string(),
    })
}

fn bad_needle(name: &str, error: BadNeedle, text: &str) -> Error {
    let expected = match error {
        BadNeedle::NotOneLine => "within one line".into(),
        BadNeedle::TooLong => format!("at most {MAX_NEEDLE} bytes"),
        BadNeedle::TooComplex => "simpler: it is too large to compile".into(),
        BadNeedle::Syntax { column, cause } => {
            format!("a regular expression; {cause} at character {column}")
        }
    };
    wrong_needle(name, expected, text)
}

fn wrong_needle(name: &str, expected: impl Into<Cow<'static, str>>, text: &str) -> Error {
    wrong_use(name, expected, &format!("{text:?}"))
}

fn wrong_use(name: &str, expected: impl Into<Cow<'static, str>>, value: &str) -> Error {
    Error::WrongArgument { name: name.into(), expected: expected.into(), value: value.into() }
}

fn is_like_regex(text: &str) -> bool {
    let marks = [".*", ".+", "\\b", "\\d", "\\s", "\\w", "|"];
    text.starts_with('^') || text.ends_with('$') || marks.iter().any(|mark| text.contains(mark))
}

/// The note for a `match` that looks like a regular expression and matches nothing.
const IS_LITERAL: &str = "match is literal text; use regex for a pattern";

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(arguments)?;
    match &request.commit {
        None => on_disk(env, &request),
        Some(commit) => at_commit(env, &request, commit),
    }
}

fn on_disk(env: &ReadEnv<'_>, request: &Request) -> Result<Answer> {
    let env = &ReadEnv { context: &env.context.with_walk_deadline(), ..*env };
    let path = AbsPath::resolve("file_path", request.file_path.clone(), env.root)?;
    let (start, glob) = match is_one(env, env.store, &path, request)? {
        false => Glob::parse(&request.file_path)?,
        true => match of_one(env, env.store, &path, None, request) {
            Err(error) if may_be_folder(env, &error, request) => {
                let (_, everything) = Glob::parse("**")?;
                let list = |path: &AbsPath| match env.store.is_file(path, env.context) {
                    Ok(true) => Ok(only(path)),
                    _ => list(env, env.store, path, &everything),
                };
                let start = request.file_path.as_str();
                let matches = list_in_roots(env, start, start, list)?;
                return match matches.listing.is_missing {
                    true => Err(error),
                    false => of_many(env, env.store, &matches, request),
                };
            }
            answer => return answer,
        },
    };
    let list = |folder: &AbsPath| list(env, env.store, folder, &glob);
    let matches = list_in_roots(env, &start, &request.file_path, list)?;
    of_many(env, env.store, &matches, request)
}

/// Returns the listing of a file that was named.
fn only(path: &AbsPath) -> Listing {
    let folder = path.as_path().to_path_buf();
    // Absolute, so it replaces the directory that it is joined to.
    let files = vec![folder.display().to_string()];
    Listing { folder, files, total: 1, ..Listing::default() }
}

/// Whether a search that failed for one file can be a search of a directory, or of a file in another
/// root.
fn may_be_folder(env: &ReadEnv<'_>, error: &Error, request: &Request) -> bool {
    let is_missing = matches!(error, Error::Store(StoreError::FileNotFound { .. }));
    let is_folder = matches!(error, Error::FolderToList { .. });
    let has_more = || !env.more_roots.is_empty() && !request.file_path.starts_with('/');
    request.wanted.needle.is_some() && (is_folder || (is_missing && has_more()))
}

fn at_commit(env: &ReadEnv<'_>, request: &Request, commit: &str) -> Result<Answer> {
    let at = |path: &str| env.revisions.at(commit, path, env.context);
    let everything = || Ok::<_, Error>((request.file_path.clone(), Glob::parse("**")?.1));
    let (mut folder, mut glob) = match Glob::is_glob(&request.file_path) {
        true => Glob::parse(&request.file_path)?,
        false => everything()?,
    };
    match at(&request.file_path) {
        Ok(one) if is_one(env, &*one.store, &one.path, request)? => {
            match of_one(env, &*one.store, &one.path, Some(&one.shown), request) {
                // A directory with exactly this name, whose brackets are literal.
                Err(error) if may_be_folder(env, &error, request) => {
                    (folder, glob) = everything()?;
                }
                answer => return answer,
            }
        }
        // The name is not accessible as a file, but may match other files as a pattern.
        Ok(_) => {}
        Err(StoreError::PermissionDenied { .. }) if Glob::is_glob(&request.file_path) => {}
        Err(error) => return Err(error.into()),
    }
    let folder = at(if folder.is_empty() { "." } else { &folder })
        .map_err(|error| named(error, &request.file_path))?;
    let AtRevision { store, path: folder, shown, .. } = folder;
    let listing = list(env, &*store, &folder, &glob.showing_hidden())?;
    of_many(env, &*store, &Matches { listing, folder, shown }, request)
}

/// Whether a path names one file: it has no wildcard, or a file with exactly this name exists, or for
/// a search, such a directory.
fn is_one(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    request: &Request,
) -> Result<bool> {
    if !Glob::is_glob(&request.file_path) {
        return Ok(true);
    }
    match store.is_file(path, env.context) {
        // Not a readable file name, but possibly a valid pattern.
        Err(StoreError::PathTooLong { .. } | StoreError::PermissionDenied { .. }) => Ok(false),
        Ok(false) if request.wanted.needle.is_some() => {
            let text = store.text(path, env.context);
            Ok(matches!(text, Err(StoreError::NotAFile { instead: Instead::Folder, .. })))
        }
        is_file => Ok(is_file?),
    }
}

/// Reads one file. `shown` is its path in an answer, if that is not the absolute one.
fn of_one(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    shown: Option<&Path>,
    request: &Request,
) -> Result<Answer> {
    let budget = Budget::content(env.delivery);
    let limits = Limits { budget, max_rows: usize::MAX, max_line: Size::utf8(limits::LINE) };
    let text = store.text(path, env.context);
    let text = text.map_err(|error| listed(error, request.commit.as_deref()))?;
    let started = Instant::now();
    let stop = || started.elapsed() > limits::SEARCH_TIME || env.context.cancel.check().is_err();
    let wanted = &request.wanted;
    let for_rows = match request.is_blame {
        true => limits.budget.without(limits.budget.left().bytes / blame::SHARE),
        false => limits.budget,
    };
    let mut read = rows::read(text, path, wanted, Limits { budget: for_rows, ..limits }, &stop)?;
    env.context.cancel.check().map_err(StoreError::from)?;
    env.context.notes.set(Note::LongLinesCut, read.is_partial);
    let mut blamed = None;
    if request.is_blame && !read.rows.is_empty() {
        let document = blame::document(env, store, path, &read)?;
        let mut found = blame::find(env, path, &document, &read.rows, request)?;
        let max_rows = found.fit(&read, limits.budget);
        if max_rows < read.rows.len() {
            let limits = Limits { budget: for_rows, max_rows, ..limits };
            let text = Text::Whole((*document).clone());
            read = rows::read(text, path, wanted, limits, &stop)?;
        }
        blamed = Some(found);
    }
    let Some(digest) = read.digest else {
        let path = shown.unwrap_or(path.as_path()).display().to_string();
        let in_text = in_text(env, &path, request);
        let is_cut = read.is_stopped;
        let chosen = match read.n_hits {
            0 => Vec::new(),
            _ => vec![FoundFile { path, in_text, read }],
        };
        let listing = Listing { total: 1, ..Listing::default() };
        return Ok(report(env, request, &listing, Found { chosen, is_cut, ..Found::default() }));
    };
    if let Some(document) = &read.document {
        env.versions.remember(digest, document);
    }
    let mut text = String::new();
    write_rows(&mut text, &read.rows, |row| blamed.as_ref().map_or("", |it| it.above(row)));
    let mut structured = json!({
        "rows": read.rows.iter().map(|row| row.to_json(None)).collect::<Vec<_>>(),
        "total_lines": read.total_lines,
        "hash": digest.to_string(),
    });
    match &read.next {
        Some(NextLines::Lines(next)) => structured["next"] = next.as_str().into(),
        Some(next @ NextLines::SameFrom(_)) => structured["note"] = next.to_string().into(),
        None => {}
    }
    let mut head = format!("{}, hash {digest}", position(&read, request));
    if let Some(blamed) = blamed {
        structured["blame"] = blamed.to_json(&read.rows).into();
        if blamed.is_cut_off {
            let note = "the clone is shallow; lines from its oldest commits may be older";
            structured["note"] = note.into();
            head.push_str(&format!("; {note}"));
        }
    }
    let answer = Answer::new(head, structured).with_version(digest);
    Ok(answer.with_content(text))
}

/// Returns the line that reports the position of the rows.
fn position(read: &FileRows, request: &Request) -> String {
    let total_lines = read.total_lines;
    let within = match &request.lines {
        None => String::new(),
        Some(lines) if lines.len() <= MAX_LINES_ARGUMENT => format!(" in lines {lines}"),
        Some(_) => " in the named lines".into(),
    };
    let mut part = match (&read.rows[..], &request.wanted.needle) {
        ([], _) if total_lines == 0 => "empty file".to_string(),
        ([], Some(_)) => format!("no match{within}; the file has {}", Lines(total_lines)),
        ([], None) => format!("no such line; the file has {}", Lines(total_lines)),
        (rows, Some(_)) if read.next.is_some() => match request.wanted.context {
            0 if rows.len() > 1 => {
                format!("first {} matches{within}; the file has {}", rows.len(), Lines(total_lines))
            }
            0 => format!("first match{within}; the file has {}", Lines(total_lines)),
            _ => format!("first matches{within}; the file has {}", Lines(total_lines)),
        },
        (_, Some(_)) if !within.is_empty() => {
            let matches = if read.n_hits == 1 { "match" } else { "matches" };
            format!("{} {matches}{within}; the file has {}", read.n_hits, Lines(total_lines))
        }
        (_, Some(_)) if total_lines == 1 => "1 of 1 line matches".to_string(),
        (_, Some(_)) => format!("{} of {total_lines} lines match", read.n_hits),
        (rows, None) if rows.len() as u64 == total_lines && request.wanted.column.is_none() => {
            Lines(total_lines).to_string()
        }
        ([row], None) => format!("line {} of {total_lines}", row.line),
        ([first, .., last], None) if last.line - first.line + 1 == read.rows.len() as u64 => {
            format!("lines {}-{} of {total_lines}", first.line, last.line)
        }
        (rows, None) => format!("{} of {total_lines} lines", rows.len()),
    };
    if let Some(n_first) = request.n_first
        && n_first < total_lines
    {
        part.push_str(&format!("; for the last {n_first} use +{n_first}-"));
    }
    if read.rows.is_empty() && request.is_like_regex {
        part.push_str(&format!("; {IS_LITERAL}"));
    }
    match (&read.rows[..], request.wanted.column) {
        ([row], Some(column)) if row.content.is_empty() && column > 1 => {
            part.push_str(&format!("; it ends before column {column}"));
        }
        ([_], Some(column)) => part.push_str(&format!(" from column {column}")),
        _ => {}
    }
    if read.is_stopped {
        part.push_str(&format!("; stopped after {} s", limits::SEARCH_TIME.as_secs()));
    }
    if let Some(next) = &read.next {
        part.push_str(&format!("; {next}"));
    }
    part
}

fn list(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    folder: &AbsPath,
    glob: &Glob,
) -> Result<Listing> {
    let request = ListRequest { folder, glob, shows_ignored: false, limit: limits::SEARCHED_FILES };
    Ok(store.list(&request, env.context)?)
}

fn of_many(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    Matches { listing, folder, shown }: &Matches,
    request: &Request,
) -> Result<Answer> {
    if let Some(column) = request.wanted.column {
        return Err(column_without_line(column));
    }
    if request.is_blame {
        let expected = "used with one file; search without it first";
        return Err(wrong_use("blame", expected, "true"));
    }
    let search = ManyFiles::new(env, store, folder, &request.wanted, listing);
    let (chosen, is_cut) = search.choose(shown, |path| in_text(env, path, request))?;
    let (skipped, late) = (search.skipped(), search.time_is_over());
    Ok(report(env, request, listing, Found { chosen, is_cut, late, skipped: Some(skipped) }))
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "rows": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "line_number": {"type": "integer"},
                        "content": {"type": "string"},
                        "file_path": {"type": "string"},
                        "cut": {"type": "boolean"},
                        "next_column": {"type": "integer"},
                        "column": {"type": "integer"},
                        "matches": {"type": "integer"},
                    },
                    "required": ["line_number", "content"],
                },
            },
            "total_lines": {"type": "integer"},
            "hash": {"type": "string"},
            "next": {"type": "string"},
            "blame": {"type": "array"},
            "matched_files": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "file_path": {"type": "string"},
                        "hash": {"type": "string"},
                        "matches": {"type": "integer"},
                    },
                },
            },
            "files": {"type": "integer"},
            "binary_files": {"type": "integer"},
            "truncated": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["rows"],
    })
}
