//! `recto log`: lists recorded changes.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use recto_journal::undo_files::undone;
use recto_journal::{Change, Filter, Kind};
use recto_store::git::dates;
use serde_json::{Value, json};

use super::options::StateDirOption;
use super::recorded;

/// List the changes that recto recorded, newest first
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto log                                    changes below the working directory
  recto log src/main.rs --since '2 hours ago'
  recto log / --session serve-1a2b3c4d --json

Times are UTC. A change marked \"not by recto\" was made by another program; recto notices it when it
next changes the file. Changes are ordered by their number, not by time.")]
pub struct Log {
    /// File or directory [default: the working directory]
    path: Option<PathBuf>,

    /// Only changes of this session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,

    /// Only changes since a time, such as 2026-11-16 or '2 hours ago'
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// At most this many changes
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    state_dir: StateDirOption,
}

impl Log {
    pub fn run(self) -> Result<ExitCode, String> {
        let below = recorded::real_path(self.path.as_deref().unwrap_or(".".as_ref()))?;
        let since = match &self.since {
            None => None,
            Some(text) => {
                let seconds = dates::start(text);
                Some(seconds.ok_or_else(|| format!("--since: not a time: {text}"))? * 1000)
            }
        };
        let reader = recorded::open(&self.state_dir)?;
        let (below, session, limit) = (Some(below), self.session, self.limit);
        let filter = Filter { below, session, since, limit, ..Filter::default() };
        let changes = reader.changes(&filter).map_err(|error| error.to_string())?;
        // Of all changes: an undo need not match the filter.
        let undone = undone(&reader.undos().map_err(|error| error.to_string())?);
        let mut out = String::new();
        let mut newest_first = changes.iter().rev().peekable();
        while let Some(change) = newest_first.next() {
            if self.json {
                let _ = writeln!(out, "{}", object(change, undone.get(&change.id)));
                continue;
            }
            // A move is shown under the old name, if that is listed too.
            let is_other = |other: &&Change| {
                other.transaction == change.transaction
                    && other.moved.as_ref() == Some(&change.path)
            };
            if change.is_arrival() && newest_first.peek().is_some_and(is_other) {
                continue;
            }
            // A checkout changes many files, but is one event.
            let mut n_more = 0;
            while change.kind == Kind::Foreign
                && newest_first.next_if(|next| next.kind == Kind::Foreign).is_some()
            {
                n_more += 1;
            }
            write_line(&mut out, change, n_more, undone.get(&change.id));
        }
        recorded::page(&out)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn write_line(out: &mut String, change: &Change, n_more: usize, undone: Option<&u64>) {
    let path = match n_more {
        0 => recorded::shown_names(change),
        1 => format!("{} and 1 more file", recorded::shown(&change.path)),
        _ => format!("{} and {n_more} more files", recorded::shown(&change.path)),
    };
    let size = match change.n_bytes {
        [Some(before), Some(after)] => format!(" ({:+} bytes)", after as i64 - before as i64),
        [None, Some(n_bytes)] if change.kind != Kind::Foreign => format!(" ({n_bytes} bytes)"),
        _ => String::new(),
    };
    let undone = undone.map(|by| format!(" [undone by {by}]")).unwrap_or_default();
    let (kind, time, who) = (change.kind.name(), recorded::time(change), recorded::who(change));
    let notes = recorded::notes(change);
    let id = change.id;
    let turn = recorded::turn(change).map(|turn| format!("  {turn}")).unwrap_or_default();
    let _ = writeln!(out, "{id:>5}  {time}  {kind:<7} {path}{size}  {who}{notes}{undone}{turn}");
}

/// Returns a change as JSON.
pub fn object(change: &Change, undone_by: Option<&u64>) -> Value {
    let session = change.session.as_ref();
    json!({
        "id": change.id,
        "time": change.time,
        "root": change.root.to_string_lossy(),
        "path": change.path.to_string_lossy(),
        "kind": change.kind.name(),
        "state": change.state.name(),
        "in_editor": change.is_in_editor,
        "session": session.map(|session| &session.name).filter(|name| !name.is_empty()),
        "client": session.map(|session| &session.client),
        "client_version": session.map(|session| &session.version),
        "call": change.call,
        "model": change.turn.model,
        "title": change.turn.title,
        "bytes_before": change.n_bytes[0],
        "bytes_after": change.n_bytes[1],
        "encoding": change.form,
        "content_stored": change.has_content,
        "undoes": change.undoes.iter().map(|hunk| hunk.change).collect::<Vec<_>>(),
        "undone_by": undone_by,
        "transaction": change.transaction,
        "moved": change.moved.as_ref().map(|path| path.to_string_lossy()),
    })
}
