//! `ReadDiff`: shows what differs between two revisions, or between a revision and the disk.

use std::path::PathBuf;

use recto_store::error::Error as StoreError;
use recto_store::git::{Changes, FileChange, History, Status, Versions};
use recto_text::diff::header_name;
use recto_text::line_diff::{LineDiff, is_comparable};
use recto_text::quote::OneLine;
use recto_text::{Digest, Size};
use serde_json::{Value, json};

use super::paths::COMMIT;
use super::{Answer, Arguments, Param, ParamKind, ReadEnv, Run, Tool, Toolset};
use crate::budget::{Budget, json_size};
use crate::error::{Error, Result};

/// The default number of context lines.
const DEFAULT_CONTEXT: i64 = 3;

/// The part of the answer that the summary may use.
const SUMMARY_SHARE: usize = 3;

/// The bytes of the smallest hunk with its header.
const SMALLEST_HUNK: usize = 32;

pub static TOOL: Tool = Tool {
    name: "ReadDiff",
    title: "Read diff",
    toolset: Toolset::History,
    description: "Compare two git revisions, or one with the files on disk. Returns the changed \
        files, with hashes of those on disk, then hunks.",
    params: &[
        Param::required("from", ParamKind::NumberOrString, COMMIT.description),
        Param::optional("to", ParamKind::NumberOrString, "Default: the files on disk"),
        Param::optional("path", ParamKind::String, "File or directory"),
        Param::optional(
            "context",
            ParamKind::Integer { minimum: Some(0) },
            "Context lines; default 3",
        ),
    ],
    output,
    run: Run::Reads(run),
};

struct Request {
    from: String,
    to: Option<String>,
    path: Option<String>,
    context: usize,
}

fn request(mut arguments: Arguments) -> Result<Request> {
    let context = arguments.integer("context").unwrap_or(DEFAULT_CONTEXT);
    let context = usize::try_from(context).map_err(|_| Error::WrongArgument {
        name: "context".into(),
        expected: "0 or more".into(),
        value: context.to_string(),
    })?;
    let to = arguments.optional_string("to");
    let path = arguments.optional_string("path");
    Ok(Request { from: arguments.string("from"), to, path, context })
}

fn run(env: &ReadEnv<'_>, arguments: Arguments) -> Result<Answer> {
    let request = request(arguments)?;
    let history = env.revisions.history(request.path.as_deref().unwrap_or("."), env.context)?;
    let changes = match &request.to {
        Some(to) => history.changes(&request.from, to)?,
        None => history.changes_on_disk(&request.from)?,
    };
    let top = history.top().display().to_string();
    let whole = Budget::content(env.delivery).without(top.len());
    let mut files = Vec::new();
    let mut summary = Summary { top, text: String::new(), rows: Vec::new() };
    let mut left = whole.without(whole.left().bytes / SUMMARY_SHARE * (SUMMARY_SHARE - 1));
    for change in &changes.files {
        let file = measured(env, &history, change)?;
        if !summary.add(change, &file, &mut left) {
            break;
        }
        files.push(file);
    }
    let mut left = whole;
    left.spend(summary.size());
    let mut hunks = Hunks::default();
    for (change, file) in changes.files.iter().zip(&files) {
        hunks.add(env, &history, (change, file), request.context, &mut left)?;
    }
    let advice = match &changes.files[..] {
        [change] => hunks.left_out.as_ref().and_then(|part| part.advice(env, change, &request)),
        _ => Some("name a path to read the rest".into()),
    };
    Ok(answer(&history, &changes, &files, summary, hunks, advice))
}

/// A changed file, measured.
#[derive(Default)]
struct Measured {
    /// Added and removed lines; `None` if they were not counted.
    counts: Option<(usize, usize)>,
    is_binary: bool,
    /// Whether a version is too large to be compared.
    is_large: bool,
    /// Whether there was no time to compare it.
    is_unread: bool,
    /// The version on disk.
    digest: Option<Digest>,
}

fn measured(env: &ReadEnv<'_>, history: &History, change: &FileChange) -> Result<Measured> {
    let versions = match versions_in_time(env, history, change)? {
        None => return Ok(Measured { is_unread: true, ..Measured::default() }),
        Some(None) => return Ok(Measured { is_large: true, ..Measured::default() }),
        Some(Some(versions)) => versions,
    };
    let digest = change.is_on_disk().then(|| Digest::of(&versions.after));
    if versions.is_binary {
        return Ok(Measured { is_binary: true, digest, ..Measured::default() });
    }
    if !is_comparable(&versions.before, &versions.after) {
        return Ok(Measured { is_large: true, digest, ..Measured::default() });
    }
    let diff = LineDiff::new(&versions.before, &versions.after);
    let counts = Some((diff.n_added(), diff.n_removed()));
    Ok(Measured { counts, digest, ..Measured::default() })
}

/// Reads both versions of a file, or returns `None` if the time is over.
fn versions_in_time(
    env: &ReadEnv<'_>,
    history: &History,
    change: &FileChange,
) -> Result<Option<Option<Versions>>> {
    if history.is_time_over() {
        return Ok(None);
    }
    match history.versions(change, env.store) {
        Err(StoreError::BrokenRepository { .. }) if history.is_time_over() => Ok(None),
        versions => Ok(Some(versions?)),
    }
}

/// The list of files.
struct Summary {
    top: String,
    text: String,
    rows: Vec<Value>,
}

impl Summary {
    /// Adds a file, if it fits.
    fn add(&mut self, change: &FileChange, file: &Measured, left: &mut Budget) -> bool {
        let path = change.shown();
        let mut line = format!("{} ", change.status.letter());
        let mut row = json!({
            "path": format!("{}/{path}", self.top),
            "status": change.status.letter().to_string(),
        });
        if let Some(old_path) = change.shown_old() {
            line.push_str(&format!("{old_path} -> "));
            row["old_path"] = format!("{}/{old_path}", self.top).into();
        }
        line.push_str(&path);
        if let Some((n_added, n_removed)) = file.counts {
            line.push_str(&format!(" +{n_added} -{n_removed}"));
            (row["added"], row["removed"]) = (n_added.into(), n_removed.into());
        }
        if file.is_binary {
            line.push_str(" binary");
            row["binary"] = true.into();
        }
        if file.is_large {
            line.push_str(" too large to compare");
        }
        if let Some(mode) = change.mode_change() {
            line.push_str(&format!(" {mode}"));
        }
        if let Some(digest) = file.digest {
            line.push_str(&format!(" hash {digest}"));
            row["hash"] = digest.to_string().into();
        }
        line.push('\n');
        let fits = left.spend(Size { bytes: line.len(), json: json_size(&row) });
        if fits {
            self.text.push_str(&line);
            self.rows.push(row);
        }
        fits
    }

    fn size(&self) -> Size {
        Size { bytes: self.text.len() + 1, json: self.rows.iter().map(json_size).sum() }
    }
}

/// The hunks.
#[derive(Default)]
struct Hunks {
    text: String,
    /// The file of which only the first hunks are shown. Later files have none.
    cut_in: Option<String>,
    /// The first file without hunks because they do not fit, and how many there are.
    without: Option<String>,
    n_without: usize,
    /// The first part that does not fit.
    left_out: Option<LeftOut>,
    /// Whether hunks were left out because the time was over.
    is_stopped: bool,
    /// The versions on disk of which all hunks are shown.
    seen: Vec<(PathBuf, Digest)>,
}

/// A hunk that does not fit.
struct LeftOut {
    /// Its first line in the new version, or in the old one of a removed file, from 1.
    line: usize,
    /// Whether more changes fit without context.
    fits_without_context: bool,
}

impl LeftOut {
    fn new(diff: &LineDiff<'_>, n_written: usize, context: usize, max: Size) -> Option<LeftOut> {
        let first = diff.changes().get(n_written)?;
        // A removed file has one hunk, which starts at its first line.
        let line = first.after.start - context.min(first.before.start) + 1;
        let fits_without_context =
            context > 0 && diff.write_hunks(&mut String::new(), 0, max) > n_written;
        Some(LeftOut { line, fits_without_context })
    }

    /// Returns how to read the rest of the only file that differs, if there is a way.
    fn advice(&self, env: &ReadEnv<'_>, change: &FileChange, request: &Request) -> Option<String> {
        let commit = match change.status {
            Status::Removed => Some(&request.from),
            _ => request.to.as_ref(),
        };
        let commit = commit.map(|commit| format!(", commit {}", OneLine(commit)));
        let lines = format!("lines {}-{}", self.line, commit.unwrap_or_default());
        let read = env.served.name("ReadLines").map(|tool| format!("{tool} with {lines}"));
        match (self.fits_without_context, read) {
            (true, Some(read)) => Some(format!("use context 0, or {read}")),
            (true, None) => Some("use context 0".into()),
            (false, read) => read.map(|read| format!("use {read}")),
        }
    }
}

impl Hunks {
    /// Returns the part of the first line that says where hunks are missing.
    fn missing(&self) -> Option<String> {
        let files = |n: usize| match n {
            1 => "1 more file".to_string(),
            n => format!("{n} more files"),
        };
        Some(match (&self.cut_in, &self.without, self.n_without) {
            (Some(path), _, 0) => format!("hunks are cut in {path}"),
            (Some(path), _, n) => format!("hunks are cut in {path} and left out for {}", files(n)),
            (None, Some(path), 1) => format!("hunks are left out for {path}"),
            (None, Some(path), n) => {
                format!("hunks are left out for {path} and {}", files(n - 1))
            }
            (None, None, _) => return None,
        })
    }

    fn leave_out(&mut self, path: String) {
        self.without.get_or_insert(path);
        self.n_without += 1;
    }

    /// Adds the hunks of a file until one does not fit. If it is the first one, those of later files
    /// may still fit.
    fn add(
        &mut self,
        env: &ReadEnv<'_>,
        history: &History,
        (change, file): (&FileChange, &Measured),
        context: usize,
        left: &mut Budget,
    ) -> Result<()> {
        if file.counts.is_none_or(|counts| counts == (0, 0)) {
            return Ok(());
        }
        let path = change.shown();
        let is_full = self.cut_in.is_some() || left.left().bytes < SMALLEST_HUNK;
        if self.is_stopped || (is_full && self.left_out.is_some()) {
            self.leave_out(path);
            return Ok(());
        }
        let Some(Some(versions)) = versions_in_time(env, history, change)? else {
            self.leave_out(path);
            self.is_stopped = true;
            return Ok(());
        };
        let old_path = change.shown_old().unwrap_or_else(|| path.clone());
        let side = |path: &str, is_there| match is_there {
            true => header_name(path),
            false => "/dev/null".into(),
        };
        let header = format!(
            "--- {}\n+++ {}\n",
            side(&old_path, change.status != Status::Added),
            side(&path, change.status != Status::Removed),
        );
        let diff = LineDiff::new(&versions.before, &versions.after);
        let mut text = header.clone();
        let max = left.left().minus(Size::of(&header)).unwrap_or_default();
        let n_written = diff.write_hunks(&mut text, context, max);
        if n_written > 0 {
            left.spend(Size::of(&text));
            self.text.push_str(&text);
        }
        if n_written == diff.changes().len() {
            self.seen.extend(file.digest.map(|digest| (history.top().join(&path), digest)));
            return Ok(());
        }
        if self.left_out.is_none() {
            self.left_out = LeftOut::new(&diff, n_written, context, max);
        }
        match n_written {
            0 => self.leave_out(path),
            _ => self.cut_in = Some(path),
        }
        Ok(())
    }
}

fn answer(
    history: &History,
    changes: &Changes,
    files: &[Measured],
    summary: Summary,
    hunks: Hunks,
    advice: Option<String>,
) -> Answer {
    let n_files = changes.files.len();
    let n_listed = summary.rows.len();
    let (n_added, n_removed) = files
        .iter()
        .filter_map(|file| file.counts)
        .fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1));
    let top = history.top().display();
    let is_unread = files.iter().any(|file| file.is_unread);
    let counts = match is_unread {
        true => String::new(),
        false => format!(", +{n_added} -{n_removed}"),
    };
    let is_late = is_unread || hunks.is_stopped || changes.is_without_renames;
    let stopped = changes.stopped.clone().or_else(|| is_late.then(|| history.time_limit()));
    let mut head = match n_files {
        0 if stopped.is_some() || changes.n_unreadable + changes.n_unnamable > 0 => {
            format!("no difference found in {top}")
        }
        0 => format!("no difference in {top}"),
        1 => format!("1 file differs in {top}{counts}"),
        n if n_listed < n => format!("first {n_listed} of {n} files that differ in {top}"),
        n => format!("{n} files differ in {top}{counts}"),
    };
    if let Some(stopped) = &stopped {
        head.push_str(&format!("; stopped after {stopped}"));
    }
    if changes.is_without_renames {
        head.push_str("; renames were not searched");
    }
    if n_listed < n_files || stopped.is_some() {
        head.push_str("; name a path to compare less");
    }
    let missing = hunks.missing();
    if let Some(missing) = &missing {
        head.push_str(&format!("; {missing}"));
        head.extend(advice.map(|advice| format!("; {advice}")));
    }
    if changes.n_unreadable > 0 {
        head.push_str(&format!("; directories that cannot be read: {}", changes.n_unreadable));
    }
    if changes.n_submodules > 0 {
        head.push_str(&format!("; submodules not compared: {}", changes.n_submodules));
    }
    if changes.n_nested > 0 {
        head.push_str(&format!("; nested repositories not compared: {}", changes.n_nested));
    }
    if changes.n_unnamable > 0 {
        head.push_str(&format!("; new files skipped, name not UTF-8: {}", changes.n_unnamable));
    }
    let is_cut = n_listed < n_files
        || stopped.is_some()
        || changes.n_unreadable > 0
        || changes.n_unnamable > 0
        || missing.is_some();
    let structured = json!({
        "files": summary.rows,
        "total": n_files,
        "diff": hunks.text,
        "truncated": is_cut,
    });
    let mut content = summary.text;
    if !hunks.text.is_empty() {
        content.push('\n');
        content.push_str(&hunks.text);
    }
    Answer { seen: hunks.seen, ..Answer::new(head, structured).with_content(content) }
}

fn output() -> Value {
    json!({
        "type": "object",
        "properties": {
            "files": {"type": "array", "items": {"type": "object"}},
            "total": {"type": "integer"},
            "diff": {"type": "string"},
            "truncated": {"type": "boolean"},
        },
        "required": ["files", "total", "diff", "truncated"],
    })
}
