//! `ListCommits`: lists commits, newest first, with filters.

use std::fmt::{self, Display, Formatter};

use recto_store::git::{CommitInfo, dates};
use recto_store::git::{Log, LogContinuation, LogEntry, LogQuery};
use recto_text::Size;
use recto_text::quote::Quoted;
use serde_json::{Value, json};

use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use crate::budget::{Budget, json_size};
use crate::error::{Error, Result};

/// The default maximum number of commits.
const DEFAULT_LIMIT: i64 = 30;

/// How many digits of an id the text shows.
pub const N_DIGITS: usize = 10;

/// The longest subject and the longest name of an author, in characters.
const MAX_SUBJECT: usize = 200;
const MAX_AUTHOR: usize = 80;

pub static TOOL: Tool = Tool {
    name: "ListCommits",
    title: "List commits",
    toolset: Toolset::History,
    description: "List git commits, newest first. With path: those that change it, across renames.",
    params: &[
        Param::optional("revision", ParamKind::NumberOrString, "Where to start; default HEAD"),
        Param::optional("path", ParamKind::String, "File or directory"),
        Param::optional("match", ParamKind::NumberOrString, "Text in the message"),
        Param::optional("author", ParamKind::NumberOrString, "Part of name or email"),
        Param::optional(
            "since",
            ParamKind::NumberOrString,
            "Date, such as 2026-01-31 or 2 weeks ago",
        ),
        Param::optional("until", ParamKind::NumberOrString, "Last date, in the same form"),
        Param::optional("containing", ParamKind::NumberOrString, "Text added or removed in files"),
        Param::optional(
            "limit",
            ParamKind::Integer { minimum: Some(1) },
            "Maximum commits; default 30",
        ),
    ],
    output,
    run: Run::Reads(run),
};

struct Request {
    path: Option<String>,
    query: LogQuery,
}

fn request(mut arguments: Arguments) -> Result<Request> {
    let limit = arguments.integer("limit").unwrap_or(DEFAULT_LIMIT);
    let positive = usize::try_from(limit).ok().filter(|limit| *limit > 0);
    let limit = positive.ok_or(Error::InvalidLimit { limit })?;
    let mut text = |name| arguments.optional_string(name).filter(|text: &String| !text.is_empty());
    let date = |name: &'static str, text: Option<String>, parse: fn(&str) -> Option<i64>| {
        let Some(text) = text else { return Ok(None) };
        let time = parse(&text).ok_or_else(|| Error::WrongArgument {
            name: name.into(),
            expected: "a date such as 2026-01-31 or \"2 weeks ago\"".into(),
            value: format!("{text:?}"),
        });
        time.map(Some)
    };
    let query = LogQuery {
        revision: text("revision"),
        message: text("match"),
        author: text("author"),
        since: date("since", text("since"), dates::start)?,
        until: date("until", text("until"), dates::end)?,
        containing: text("containing"),
        limit,
    };
    Ok(Request { path: text("path"), query })
}

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let Request { path, query } = request(arguments)?;
    let history = env.revisions.history(path.as_deref().unwrap_or("."), env.context)?;
    let mut log = history.log(&query)?;
    let mut budget = Budget::content(env.delivery);
    let (mut text, mut rows) = (String::new(), Vec::new());
    for entry in &log.commits {
        let (line, row) = (line_of(entry), row_of(entry));
        if !budget.spend(Size { bytes: line.len(), json: json_size(&row) }) {
            break;
        }
        text.push_str(&line);
        rows.push(row);
    }
    if let Some(cut) = log.commits.get(rows.len()) {
        (log.next, log.stopped) = (Some(cut.from_here.clone()), None);
    }
    let mut structured = json!({"commits": rows});
    if let Some(LogContinuation { revision, path }) = &log.next {
        structured["next"] = json!({"revision": revision});
        if let Some(path) = path {
            structured["next"]["path"] = path.as_str().into();
        }
    }
    let head = head(&log, rows.len(), path.as_deref(), &query);
    Ok(Answer::new(head, structured).with_content(text))
}

/// Returns the line that says how many commits there are and how to continue.
fn head(log: &Log, n_listed: usize, path: Option<&str>, query: &LogQuery) -> String {
    let has_more = log.next.is_some() || log.stopped.is_some();
    let mut head = match (n_listed, has_more) {
        (0, true) => "no commit so far".to_string(),
        (0, false) => "no commit".to_string(),
        (1, false) => "1 commit".to_string(),
        (n, false) => format!("{n} commits"),
        (1, true) => "first commit".to_string(),
        (n, true) => format!("first {n} commits"),
    };
    if let Some(path) = path {
        head.push_str(&format!(" of {}", Quoted(path)));
    }
    if n_listed == 0 && query.containing.is_some() && !has_more {
        head.push_str("; containing matches exact text, including case");
    }
    if log.is_cut_off && !has_more {
        head.push_str("; the clone is shallow, older commits are missing");
    }
    if let Some(stopped) = &log.stopped {
        head.push_str(&format!("; stopped: {stopped}"));
    }
    if let Some(next) = &log.next {
        head.push_str(&format!("; continue with revision {}", next.revision));
        if let Some(path) = &next.path {
            head.push_str(&format!(", path {}", Quoted(path)));
        }
    }
    head
}

/// What answers show of a commit. `Display` is one line.
pub struct Brief<'a> {
    commit: &'a CommitInfo,
    pub author: String,
    pub subject: String,
}

/// Returns what answers show of a commit.
pub fn brief(commit: &CommitInfo) -> Brief<'_> {
    let author = shortened(&commit.author, MAX_AUTHOR);
    Brief { commit, author, subject: shortened(&commit.subject, MAX_SUBJECT) }
}

impl Display for Brief<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Brief { commit, author, subject } = self;
        let day = commit.date.split('T').next().unwrap_or_default();
        write!(f, "{} {day} {author}: {subject}", &commit.id[..N_DIGITS])
    }
}

fn line_of(entry: &LogEntry) -> String {
    let LogEntry { commit, renamed_from, .. } = entry;
    let renamed = renamed_from.as_ref().map(|path| format!(" (path was {})", Quoted(path)));
    format!("{}{}\n", brief(commit), renamed.unwrap_or_default())
}

fn row_of(entry: &LogEntry) -> Value {
    let LogEntry { commit, renamed_from, .. } = entry;
    let Brief { author, subject, .. } = brief(commit);
    let mut row =
        json!({"id": commit.id, "date": commit.date, "author": author, "subject": subject});
    if let Some(path) = renamed_from {
        row["renamed_from"] = path.as_str().into();
    }
    row
}

/// Returns a text without control characters, shortened.
fn shortened(text: &str, max: usize) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = chars.by_ref().take(max).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "commits": {"type": "array", "items": {"type": "object"}},
            "next": {"type": "object"},
        },
        "required": ["commits"],
    })
}
