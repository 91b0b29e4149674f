//! The commits that lines come from, for `blame`.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use recto_store::error::Error as StoreError;
use recto_store::git::BlameRun;
use recto_store::path::AbsPath;
use recto_store::{Store, limits, read_all};
use recto_text::quote::Quoted;
use recto_text::{Document, Size};
use serde_json::{Value, json};

use super::super::list_commits::{N_DIGITS, brief};
use super::super::row::Row;
use super::{Request, wrong_use};
use crate::budget::{Budget, json_size};
use crate::error::Result;
use crate::tools::ReadEnv;
use crate::tools::rows::FileRows;

/// The longest earlier path of a file that is shown, in bytes.
const MAX_PATH: usize = 200;

/// The part of an answer that is kept free for commits.
pub const SHARE: usize = 4;

/// The origin of the rows of an answer.
pub struct Blamed {
    runs: Vec<Run>,
    /// Whether a run may be older than its commit.
    pub is_cut_off: bool,
}

/// Consecutive lines from one commit, as an answer shows them.
struct Run {
    /// The lines, from 0.
    lines: Range<u64>,
    text: String,
    row: Value,
}

/// Returns the text that was read, which must have the lines that git sees.
pub fn document(
    env: &ReadEnv<'_>,
    store: &(impl Store + ?Sized),
    path: &AbsPath,
    read: &FileRows,
) -> Result<Arc<Document>> {
    let document = match &read.document {
        Some(document) => document.clone(),
        None => {
            let file = store.open(path, env.context)?;
            if file.size() > limits::GIT_OBJECT {
                return Err(wrong_use("blame", "used with a file of at most 64 MiB", "true"));
            }
            let unstable = || StoreError::Unstable { path: path.to_string() };
            let document = Document::parse(read_all(&*file)?).map_err(|_| unstable())?;
            if Some(document.digest()) != read.digest {
                return Err(unstable().into());
            }
            Arc::new(document)
        }
    };
    match document.encoding().name().starts_with("UTF-16") {
        true => Err(wrong_use("blame", "used with a file that is not UTF-16", "true")),
        false => Ok(document),
    }
}

/// Finds the commits of the rows.
pub fn find(
    env: &ReadEnv<'_>,
    path: &AbsPath,
    document: &Document,
    rows: &[Row],
    request: &Request,
) -> Result<Blamed> {
    let wanted = consecutive(rows);
    let runs = match &request.commit {
        Some(commit) => {
            let history = env.revisions.history(&request.file_path, env.context)?;
            history.blame(commit, None, wanted)?
        }
        None => {
            let real = env.store.real_path(path, env.context);
            let real = real.as_deref().and_then(Path::to_str).unwrap_or(path.as_str());
            let history = env.revisions.history(real, env.context)?;
            history.blame("HEAD", Some(document.bytes()), wanted)?
        }
    };
    let is_cut_off = runs.iter().any(|run| run.may_be_older);
    let mut known = HashSet::new();
    let runs = runs.into_iter().map(|run| Run::new(run, &mut known)).collect();
    Ok(Blamed { runs, is_cut_off })
}

/// Returns the ranges of lines, from 0, that rows consist of.
fn consecutive(rows: &[Row]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for row in rows {
        let index = (row.line - 1) as usize;
        match ranges.last_mut() {
            Some(last) if last.end == index => last.end += 1,
            _ => ranges.push(index..index + 1),
        }
    }
    ranges
}

impl Run {
    /// Words a run. Only the first run of a commit has its date, author and subject.
    fn new(run: BlameRun, known: &mut HashSet<String>) -> Run {
        let lines = run.lines.start as u64..run.lines.end as u64;
        let mut row = json!({"start": lines.start + 1, "end": lines.end});
        let Some(commit) = run.commit else {
            row["uncommitted"] = true.into();
            return Run { lines, text: "not committed\n".into(), row };
        };
        row["commit"] = commit.id.as_str().into();
        let mut text = commit.id[..N_DIGITS].to_string();
        if known.insert(commit.id.clone()) {
            let shown = brief(&commit);
            text = shown.to_string();
            row["date"] = commit.date.as_str().into();
            (row["author"], row["subject"]) = (shown.author.into(), shown.subject.into());
        }
        if let Some(path) = run.path.filter(|path| path.len() <= MAX_PATH) {
            text.push_str(&format!(" (path was {})", Quoted(&path)));
            row["path"] = path.into();
        }
        text.push('\n');
        Run { lines, text, row }
    }

    fn size(&self) -> Size {
        Size { bytes: self.text.len(), json: json_size(&self.row) }
    }
}

impl Blamed {
    /// Returns how many rows fit together with their commits. If none does, the first one fits
    /// without the details of its commit.
    pub fn fit(&mut self, read: &FileRows, mut budget: Budget) -> usize {
        let fits = |row: &&Row| {
            let run = self.starting_at(row).map_or(Size::default(), Run::size);
            budget.spend(row.size(read.total_lines).plus(run))
        };
        let n_fitting = read.rows.iter().take_while(fits).count();
        if n_fitting == 0
            && let Some(Run { text, row: Value::Object(row), .. }) = self.runs.first_mut()
        {
            text.replace_range(N_DIGITS..text.len() - 1, "");
            row.retain(|name, _| ["start", "end", "commit"].contains(&name.as_str()));
        }
        n_fitting.max(1)
    }

    /// Returns the line of text above a row.
    pub fn above(&self, row: &Row) -> &str {
        self.starting_at(row).map_or("", |run| &run.text)
    }

    fn starting_at(&self, row: &Row) -> Option<&Run> {
        let found = self.runs.binary_search_by_key(&(row.line - 1), |run| run.lines.start);
        found.ok().map(|index| &self.runs[index])
    }

    /// Returns the runs of some rows as objects.
    pub fn to_json(&self, rows: &[Row]) -> Vec<Value> {
        let end = rows.last().map_or(0, |row| row.line);
        let shown = self.runs.iter().take_while(|run| run.lines.start < end);
        shown
            .map(|run| {
                let mut row = run.row.clone();
                row["end"] = run.lines.end.min(end).into();
                row
            })
            .collect()
    }
}
