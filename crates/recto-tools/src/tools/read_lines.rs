//! `ReadLines`: reads lines of a file by number or by content, on disk or at a commit; with a glob,
//! of many files.

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
use super::search::ManyFiles;
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use crate::limits;
use recto_store::error::Error as StoreError;
use recto_store::glob::Glob;
use recto_store::path::AbsPath;
use recto_store::{AtRevision, ListRequest, Listing, Store};

pub static TOOL: Tool = Tool {
    name: "ReadLines",
    title: "Read lines",
    toolset: Toolset::Files,
    description: "Read numbered lines, also at a git revision, or search: match is literal text (no \
        regex), case-insensitive. A glob as file_path reads or searches many files.",
    params: &[
        Param::required("file_path", ParamKind::String, "Path or glob"),
        Param::optional(
            "lines",
            ParamKind::NumberOrString,
            "5, 2-4 (inclusive), 8- (to the end), -3 (first 3), +10- (last 10), 5 +/-2, or \
             1,3,5-7",
        ),
        Param::optional("ctx", ParamKind::Integer { minimum: Some(0) }, "Context lines"),
        Param::optional(
            "match",
            ParamKind::NumberOrString,
            "Return only lines containing this text",
        ),
        COMMIT,
        Param::optional(
            "column",
            ParamKind::Integer { minimum: Some(1) },
            "First character, of one line",
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
}

fn request(mut arguments: Arguments) -> Result<Request> {
    let lines = arguments.optional_string("lines");
    let context = arguments.integer("ctx").unwrap_or(0);
    let needle = arguments.optional_string("match").filter(|text| !text.is_empty());
    let wanted = Wanted {
        lines: lines.as_deref().map(LineSpec::parse).transpose()?,
        context: u64::try_from(context).map_err(|_| Error::WrongArgument {
            name: "ctx".into(),
            expected: "0 or more".into(),
            value: context.to_string(),
        })?,
        needle: needle.as_deref().map(parse_needle).transpose()?,
        column: arguments.integer("column").map(parse_column).transpose()?,
    };
    if let (Some(_), Some(column)) = (&wanted.needle, wanted.column) {
        return Err(column_without_line(column));
    }
    let n_first = lines.as_ref().and_then(|lines| lines.trim().strip_prefix('-')?.parse().ok());
    let is_like_regex = needle.as_deref().is_some_and(is_like_regex);
    let commit = arguments.optional_string("commit");
    let file_path = arguments.string("file_path");
    Ok(Request { file_path, commit, lines, wanted, n_first, is_like_regex })
}

fn parse_column(column: i64) -> Result<u64> {
    let positive = u64::try_from(column).ok().filter(|column| *column > 0);
    positive.ok_or_else(|| Error::WrongArgument {
        name: "column".into(),
        expected: "1 or more".into(),
        value: column.to_string(),
    })
}

fn parse_needle(text: &str) -> Result<Needle> {
    Needle::parse(text).map_err(|error| Error::WrongArgument {
        name: "match".into(),
        expected: match error {
            BadNeedle::NotOneLine => "a string within one line".into(),
            BadNeedle::TooLong => format!("at most {MAX_NEEDLE} bytes").into(),
            BadNeedle::TooComplex => "a shorter string".into(),
        },
        value: format!("{text:?}"),
    })
}

fn is_like_regex(text: &str) -> bool {
    let marks = [".*", ".+", "\\b", "\\d", "\\s", "\\w", "|"];
    text.starts_with('^') || text.ends_with('$') || marks.iter().any(|mark| text.contains(mark))
}

/// The note for a `match` that looks like a regular expression and matches nothing.
const IS_LITERAL: &str = "match is literal text, not a regex";

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(arguments)?;
    let path = AbsPath::resolve("file_path", request.file_path.clone(), env.root)?;
    match &request.commit {
        None => {
            let is_one = is_one(env, env.store, &path, &request)?;
            if is_one {
                return of_one(env, env.store, &path, &request);
            }
            let (start, glob) = Glob::parse(&request.file_path)?;
            let list = |folder: &AbsPath| list(env, env.store, folder, &glob);
            let matches = list_in_roots(env, &start, &request.file_path, list)?;
            of_many(env, env.store, &matches, &request)
        }
        Some(commit) => {
            let at = |path: &str| env.revisions.at(commit, path, env.context);
            if !Glob::is_glob(&request.file_path) {
                let one = at(&request.file_path)?;
                return of_one(env, &*one.store, &one.path, &request);
            }
            let (folder, glob) = Glob::parse(&request.file_path)?;
            match at(&request.file_path) {
                Ok(one) if is_one(env, &*one.store, &one.path, &request)? => {
                    return of_one(env, &*one.store, &one.path, &request);
                }
                // The name is not accessible as a file, but may match other files as a pattern.
                Ok(_) | Err(StoreError::PermissionDenied { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            let folder = at(if folder.is_empty() { "." } else { &folder })
                .map_err(|error| named(error, &request.file_path))?;
            let AtRevision { store, path: folder, shown, .. } = folder;
            let listing = list(env, &*store, &folder, &glob.showing_hidden())?;
            of_many(env, &*store, &Matches { listing, folder, shown }, &request)
        }
    }
}

/// Whether a path names one file: it has no wildcard, or a file with exactly this name exists.
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
        is_file => Ok(is_file?),
    }
}

fn of_one(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    request: &Request,
) -> Result<Answer> {
    let budget = Budget::content(env.delivery);
    let limits = Limits { budget, max_rows: usize::MAX, max_line: Size::utf8(limits::LINE) };
    let text = store.text(path, env.context);
    let text = text.map_err(|error| listed(error, request.commit.as_deref()))?;
    let read = rows::read(text, path, &request.wanted, limits)?;
    if let Some(document) = &read.document {
        env.versions.remember(read.digest, document);
    }
    let mut text = String::new();
    write_rows(&mut text, &read.rows);
    let mut structured = json!({
        "rows": read.rows.iter().map(|row| row.to_json(None)).collect::<Vec<_>>(),
        "total_lines": read.total_lines,
        "hash": read.digest.to_string(),
    });
    match &read.next {
        Some(NextLines::Lines(next)) => structured["next"] = next.as_str().into(),
        Some(next @ NextLines::SameFrom(_)) => structured["note"] = next.to_string().into(),
        None => {}
    }
    let answer = Answer::new(position(&read, request), structured).with_version(read.digest);
    Ok(answer.with_content(text))
}

/// Returns the line that reports the position and version of the rows.
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
    if let Some(next) = &read.next {
        part.push_str(&format!("; {next}"));
    }
    format!("{part}, hash {}", read.digest)
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
    let search = ManyFiles::new(env, store, folder, &request.wanted, listing);
    let (chosen, is_cut) = search.choose(shown)?;
    let mut text = String::new();
    let (mut rows, mut seen) = (Vec::new(), Vec::new());
    for (path, read) in &chosen {
        if request.commit.is_none() {
            seen.push((path.into(), read.digest));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{path}\n"));
        write_rows(&mut text, &read.rows);
        rows.extend(read.rows.iter().map(|row| row.to_json(Some(path))));
    }
    let n_files = match listing.total {
        1 => "1 file".to_string(),
        n_files => format!("{n_files} files"),
    };
    let count = match (listing.total, rows.len()) {
        (0, _) if request.commit.is_some() => "no file matches".to_string(),
        (0, _) => "no file matches; ignored and hidden files are not searched".to_string(),
        (_, 0) if request.wanted.needle.is_some() => format!("no match in {n_files}"),
        (_, 0) => format!("no such line in {n_files}"),
        (_, 1) => format!("1 row in 1 of {n_files}"),
        (_, n_rows) => format!("{n_rows} rows in {} of {n_files}", chosen.len()),
    };
    let mut notes = vec![count];
    if rows.is_empty() && request.is_like_regex {
        notes.push(IS_LITERAL.into());
    }
    notes.extend(search.time_is_over());
    if is_cut {
        notes.push("there are more; narrow file_path or match".into());
    }
    let n_binary = search.n_binary();
    let n_unreadable = search.n_unreadable() + listing.n_unreadable;
    if n_binary > 0 {
        notes.push(format!("skipped, binary: {n_binary}"));
    }
    if n_unreadable > 0 {
        notes.push(format!("skipped, not readable: {n_unreadable}"));
    }
    let left_out = [(listing.n_hidden, "hidden"), (listing.n_ignored, "ignored")];
    let left_out = left_out.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let left_out: Vec<String> = left_out.collect();
    let left_out = format!("not searched: {}", left_out.join(", "));
    let mut structured = json!({
        "rows": rows,
        "files": listing.total,
        "binary_files": n_binary,
        "truncated": is_cut,
    });
    if listing.n_hidden + listing.n_ignored > 0 {
        structured["note"] = left_out.as_str().into();
        notes.push(left_out);
    }
    Ok(Answer { seen, ..Answer::new(notes.join("; "), structured).with_content(text) })
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
            "files": {"type": "integer"},
            "binary_files": {"type": "integer"},
            "truncated": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["rows"],
    })
}
