//! `recto trace export`: who wrote which lines, as agent-trace records.
//!
//! The format is <https://github.com/cursor/agent-trace>, version 0.1.0.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use recto_journal::blame::{self, Author};
use recto_journal::{Change, Filter, Kind, Reader, Session};
use recto_platform::random_hex;
use recto_store::git::{GitRevisions, LogQuery};
use recto_store::record::Recording;
use recto_store::{Context, Revisions};
use serde_json::{Value, json};

use super::blame::read;
use super::options::StateDirOption;
use super::print::print;
use super::recorded;

const VERSION: &str = "0.1.0";

/// Export who wrote which lines
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto trace export > traces.jsonl            the files of this work tree as they are now
  recto trace export --commit HEAD

Prints agent-trace 0.1 records, one JSON object per line and session. A record lists the lines that recto
wrote for that session; lines that are not listed were not written by recto.")]
pub struct Trace {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Export(Export),
}

/// Print agent-trace records
#[derive(Args)]
struct Export {
    /// Only files that this commit changed, as they are in it [default: the files on disk]
    #[arg(long, value_name = "REV")]
    commit: Option<String>,

    /// Allow reading this git directory outside the work tree; may be repeated
    #[arg(long, value_name = "DIR")]
    git_dir: Vec<PathBuf>,

    #[command(flatten)]
    state_dir: StateDirOption,
}

/// The lines of one session.
#[derive(Default)]
struct SessionLines {
    session: Option<Session>,
    changes: BTreeSet<u64>,
    /// The time of the newest change, in milliseconds since 1970.
    time: i64,
    /// First and last lines, by file and contributor.
    files: BTreeMap<String, BTreeMap<&'static str, Ranges>>,
}

/// First and last lines.
type Ranges = Vec<(usize, usize)>;

impl Trace {
    pub fn run(self) -> Result<ExitCode, String> {
        let Command::Export(export) = self.command;
        export.run()
    }
}

impl Export {
    fn run(self) -> Result<ExitCode, String> {
        let reader = recorded::open(&self.state_dir)?;
        let top = top(&recorded::real_path(".".as_ref())?);
        let commit = match &self.commit {
            Some(revision) => Some(Commit::open(&top, revision, self.git_dir.clone())?),
            None => None,
        };
        let filter = Filter { below: Some(top.clone()), ..Filter::default() };
        let changes = reader.changes(&filter).map_err(|error| error.to_string())?;
        let paths: BTreeSet<&PathBuf> = changes.iter().map(|change| &change.path).collect();
        let by_id: HashMap<u64, &Change> =
            changes.iter().map(|change| (change.id, change)).collect();
        let mut sessions = BTreeMap::new();
        for path in paths {
            let content = match &commit {
                Some(commit) => commit.changed(path),
                None => read(path)?,
            };
            if let (Some(content), Ok(below)) = (content, path.strip_prefix(&top)) {
                let authors = authors(&reader, path, &content)?;
                add(&mut sessions, below, &authors, &by_id);
            }
        }
        let mut out = String::new();
        for lines in sessions.values() {
            let _ = writeln!(out, "{}", lines.record(commit.as_ref())?);
        }
        print(&out)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the top of the work tree that contains a directory, or the directory itself.
fn top(dir: &Path) -> PathBuf {
    let top = dir.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok());
    top.unwrap_or(dir).to_path_buf()
}

fn authors(reader: &Reader, path: &Path, content: &[u8]) -> Result<Vec<Author>, String> {
    let steps = reader.steps_to_version(path, content).map_err(|error| error.to_string())?;
    Ok(blame::authors(&steps, content).unwrap_or_default())
}

/// Adds the lines of one file to the sessions that wrote them.
fn add(
    sessions: &mut BTreeMap<Option<String>, SessionLines>,
    path: &Path,
    authors: &[Author],
    changes: &HashMap<u64, &Change>,
) {
    for (index, author) in authors.iter().enumerate() {
        let Author::Change(id) = author else { continue };
        let Some(change) = changes.get(id) else { continue };
        let name = change.session.as_ref().map(|session| session.name.clone());
        let lines = sessions.entry(name).or_default();
        lines.session = change.session.clone();
        lines.changes.insert(*id);
        lines.time = lines.time.max(change.time);
        let file = lines.files.entry(path.display().to_string()).or_default();
        let ranges = file.entry(contributor(change)).or_default();
        match ranges.last_mut() {
            Some((_, last)) if *last == index => *last = index + 1,
            _ => ranges.push((index + 1, index + 1)),
        }
    }
}

/// Returns what made a change: a model, unless it was made with recto's own commands.
fn contributor(change: &Change) -> &'static str {
    let client = change.session.as_ref().map_or("", |session| &session.client);
    match change.kind == Kind::Undo || client.is_empty() || client.starts_with("recto ") {
        true => "unknown",
        false => "ai",
    }
}

impl SessionLines {
    fn record(&self, commit: Option<&Commit>) -> Result<Value, String> {
        let conversation = |(kind, ranges): (&&str, &Ranges)| {
            let range =
                |(start, end): &(usize, usize)| json!({"start_line": start, "end_line": end});
            let ranges: Vec<Value> = ranges.iter().map(range).collect();
            json!({"contributor": {"type": kind}, "ranges": ranges})
        };
        let file = |(path, conversations): (&String, &BTreeMap<&'static str, _>)| {
            let conversations: Vec<Value> = conversations.iter().map(conversation).collect();
            json!({"path": path, "conversations": conversations})
        };
        let files: Vec<Value> = self.files.iter().map(file).collect();
        let mut record = json!({
            "version": VERSION,
            "id": uuid()?,
            "timestamp": recorded::moment(self.time).to_string(),
        });
        if let Some(commit) = commit {
            record["vcs"] = json!({"type": "git", "revision": commit.id});
        }
        let session = self.session.as_ref();
        if let Some(session) = session.filter(|session| !session.client.is_empty()) {
            record["tool"] = json!({"name": session.client, "version": session.version});
        }
        record["files"] = files.into();
        let name = session.map(|session| &session.name);
        record["metadata"] = json!({"recto": {"session": name, "changes": self.changes}});
        Ok(record)
    }
}

/// Returns a random UUID, version 4.
fn uuid() -> Result<String, String> {
    let hex = random_hex::<16>().map_err(|error| error.to_string())?;
    let (time, version, variant) = (&hex[..12], &hex[13..16], &hex[17..20]);
    Ok(format!("{}-{}-4{version}-8{variant}-{}", &time[..8], &time[8..], &hex[20..]))
}

/// A commit whose files are exported.
struct Commit {
    id: String,
    revisions: GitRevisions,
}

impl Commit {
    fn open(top: &Path, revision: &str, git_dirs: Vec<PathBuf>) -> Result<Commit, String> {
        let store = recorded::store(top, Recording::default())?;
        let revisions = GitRevisions::new(Arc::new(store), git_dirs);
        let failed = |error: recto_store::Error| error.to_string();
        let path = top.display().to_string();
        let history = revisions.history(&path, &Context::default()).map_err(failed)?;
        let query = LogQuery { revision: Some(revision.into()), limit: 1, ..LogQuery::default() };
        let log = history.log(&query).map_err(failed)?;
        let entry = log.commits.first().ok_or_else(|| format!("no commit {revision}"))?;
        Ok(Commit { id: entry.commit.id.clone(), revisions })
    }

    /// Returns the content of a file, if the commit changed it.
    fn changed(&self, path: &Path) -> Option<Vec<u8>> {
        let (path, context) = (path.display().to_string(), Context::default());
        let file = |revision: &str| self.revisions.file(revision, &path, &context).ok();
        let content = file(&self.id)?.bytes;
        // The first commit has no parent.
        let before = file(&format!("{}~1", self.id)).map(|file| file.bytes);
        (before.as_ref() != Some(&content)).then_some(content)
    }
}
