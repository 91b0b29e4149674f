//! `ReadLines`: reads lines of a file by number or by content, on disk or at a commit; with a glob,
//! of many files.

use std::borrow::Cow;
use std::path::PathBuf;

use crate::error::{Error, Result};
use recto_text::line_spec::LineSpec;
use recto_text::quote::{Lines, OneLine, Quoted};
use recto_text::search::{BadNeedle, MAX_NEEDLE, Needle};
use serde_json::{Value, json};

use super::paths::{COMMIT, listed, named, shown, start_folder};
use super::rows::{self, Budget, FileRows, Row, Wanted};
use super::search::ManyFiles;
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use crate::limits;
use recto_store::error::Error as StoreError;
use recto_store::glob::Glob;
use recto_store::path::AbsPath;
use recto_store::{ListRequest, Store};

pub static TOOL: Tool = Tool {
    name: "ReadLines",
    title: "Read lines",
    toolset: Toolset::Files,
    description: "Read numbered lines, or search: match is literal text (no regex), \
        case-insensitive. A glob as file_path reads or searches many files.",
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
    };
    let n_first = lines.as_ref().and_then(|lines| lines.trim().strip_prefix('-')?.parse().ok());
    let is_like_regex = needle.as_deref().is_some_and(is_like_regex);
    let commit = arguments.optional_string("commit");
    let file_path = arguments.string("file_path");
    Ok(Request { file_path, commit, lines, wanted, n_first, is_like_regex })
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
            let (folder, glob) = Glob::parse(&request.file_path)?;
            let folder = start_folder(env.root, &folder, &request.file_path);
            of_many(env, env.store, &folder, None, &glob, &request)
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
            let (store, shown) = (&*folder.store, Some(folder.shown));
            of_many(env, store, &folder.path, shown, &glob.showing_hidden(), &request)
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
    let budget = Budget {
        max_bytes: env.delivery.max_bytes,
        max_rows: usize::MAX,
        max_line: limits::LINE.min(env.delivery.max_bytes),
    };
    let text = store.text(path, env.context);
    let text = text.map_err(|error| listed(error, request.commit.as_deref()))?;
    let read = rows::read(text, path, &request.wanted, budget)?;
    let reader = reader_of_long_lines(env, request);
    let mut text = String::new();
    write_rows(&mut text, &read.rows, reader.as_deref());
    let mut structured = json!({
        "rows": read.rows.iter().map(|row| row_of(row, None)).collect::<Vec<_>>(),
        "total_lines": read.total_lines,
        "hash": read.digest.to_string(),
    });
    if let Some(next) = &read.next {
        structured["next"] = next.as_str().into();
    }
    Ok(Answer::new(position(&read, request), structured).with_content(text))
}

/// Returns the line that reports the position and version of the rows.
fn position(read: &FileRows, request: &Request) -> String {
    let total_lines = read.total_lines;
    let within = request.lines.as_ref().map(|lines| format!(" in lines {}", Quoted(lines)));
    let within = within.unwrap_or_default();
    let mut part = match (&read.rows[..], &request.wanted.needle) {
        ([], _) if total_lines == 0 => "empty file".to_string(),
        ([], Some(_)) => format!("no match{within}; the file has {}", Lines(total_lines)),
        ([], None) => format!("no such line; the file has {}", Lines(total_lines)),
        (rows, Some(_)) if read.next.is_some() => match request.wanted.context {
            0 => {
                format!("first {} matches{within}; the file has {}", rows.len(), Lines(total_lines))
            }
            _ => format!("first matches{within}; the file has {}", Lines(total_lines)),
        },
        (_, Some(_)) if !within.is_empty() => {
            let matches = if read.n_hits == 1 { "match" } else { "matches" };
            format!("{} {matches}{within}; the file has {}", read.n_hits, Lines(total_lines))
        }
        (_, Some(_)) => format!("{} of {total_lines} lines match", read.n_hits),
        (rows, None) if rows.len() as u64 == total_lines => Lines(total_lines).to_string(),
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
    if let Some(next) = &read.next {
        part.push_str(&format!("; continue with lines {}", Quoted(next)));
    }
    format!("{part}, hash {}", read.digest)
}

fn of_many(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    folder: &AbsPath,
    // The directory as shown in paths, at a commit.
    at_commit: Option<PathBuf>,
    glob: &Glob,
    request: &Request,
) -> Result<Answer> {
    let list = ListRequest { folder, glob, shows_ignored: false, limit: limits::SEARCHED_FILES };
    let listing = store.list(&list, env.context)?;
    let search = ManyFiles::new(env, store, folder, &request.wanted, &listing);
    let (chosen, is_cut) = search.choose()?;
    let reader = reader_of_long_lines(env, request);
    let mut text = String::new();
    let (mut rows, mut seen) = (Vec::new(), Vec::new());
    let is_current = at_commit.is_none();
    let shown = at_commit.unwrap_or_else(|| shown(folder, &listing));
    for (file, read) in &chosen {
        if is_current {
            seen.push((shown.join(file), read.digest));
        }
        let path = shown.join(file).display().to_string();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{}\n", OneLine(&path)));
        write_rows(&mut text, &read.rows, reader.as_deref());
        rows.extend(read.rows.iter().map(|row| row_of(row, Some(&path))));
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
    let structured = json!({
        "rows": rows,
        "files": listing.total,
        "binary_files": n_binary,
        "truncated": is_cut,
    });
    Ok(Answer { seen, ..Answer::new(notes.join("; "), structured).with_content(text) })
}

/// Returns the name of the tool that reads more of a long line. It cannot read commits.
fn reader_of_long_lines(env: &ReadEnv<'_>, request: &Request) -> Option<Cow<'static, str>> {
    env.served.name("read_text_file").filter(|_| request.commit.is_none())
}

/// Writes lines with right-aligned numbers and `--` between lines that are not adjacent.
fn write_rows(text: &mut String, rows: &[Row], reader: Option<&str>) {
    let width = rows.last().map_or(1, |row| row.line.to_string().len());
    let mut expected = None;
    for row in rows {
        if expected.is_some_and(|expected| expected != row.line) {
            text.push_str("--\n");
        }
        expected = Some(row.line + 1);
        text.push_str(&format!("{:>width$}\t{}", row.line, row.content));
        match reader {
            Some(tool) if row.is_cut => {
                text.push_str(&format!(" … (truncated; {tool} returns more of line {})", row.line));
            }
            None if row.is_cut => text.push_str(" … (truncated)"),
            _ => {}
        }
        text.push('\n');
    }
}

fn row_of(row: &Row, file_path: Option<&str>) -> Value {
    let mut value = json!({"line_number": row.line, "content": row.content});
    if row.is_cut {
        value["cut"] = true.into();
    }
    if let Some(file_path) = file_path {
        value["file_path"] = file_path.into();
    }
    value
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
        },
        "required": ["rows"],
    })
}
