//! `recto show` and `recto diff`: recorded changes as diffs.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use recto_journal::{Change, Filter, Reader, State};
use recto_text::quote::Escaped;

use super::options::StateDirOption;
use super::recorded;

/// Show recorded changes with their diffs
#[derive(Args)]
#[command(after_help = "\
Example:
  recto show 17")]
pub struct Show {
    /// Numbers of changes, from `recto log`
    #[arg(value_name = "ID", required = true)]
    ids: Vec<u64>,

    #[command(flatten)]
    state_dir: StateDirOption,
}

/// Show the difference between two recorded states
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto diff 12..17                            what changes 13 to 17 did, file by file
  recto diff --session serve-1a2b3c4d          its files, before and after the session")]
pub struct Diff {
    /// Two changes: the difference from after the first to after the second
    #[arg(value_name = "ID..ID", value_parser = parse_range, required_unless_present = "session")]
    range: Option<(u64, u64)>,

    /// From before the first to after the last change of this session in each file, with what others
    /// changed in between
    #[arg(long, value_name = "NAME", conflicts_with = "range")]
    session: Option<String>,

    #[command(flatten)]
    state_dir: StateDirOption,
}

fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let range = text.split_once("..").and_then(|(first, last)| {
        let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
        Some((first.parse().ok()?, last))
    });
    range.ok_or_else(|| "must be two numbers, as in 12..17".into())
}

impl Show {
    pub fn run(self) -> Result<ExitCode, String> {
        let reader = recorded::open(&self.state_dir)?;
        let mut out = String::new();
        for id in self.ids {
            let change = reader.change(id).map_err(|error| error.to_string())?;
            let change = change.ok_or_else(|| format!("no change {id}"))?;
            write_change(&mut out, &reader, &change).map_err(|error| error.to_string())?;
        }
        recorded::page(&out)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Diff {
    pub fn run(self) -> Result<ExitCode, String> {
        let reader = recorded::open(&self.state_dir)?;
        let failed = |error: recto_journal::Error| error.to_string();
        let (after, last) = self.range.unwrap_or((0, u64::MAX));
        let filter = Filter {
            session: self.session.clone(),
            from: Some(after.saturating_add(1)),
            ..Filter::default()
        };
        let mut changes = reader.changes(&filter).map_err(failed)?;
        changes.retain(|change| change.id <= last && change.state == State::Done);
        changes.sort_by(|one, other| (&one.path, one.id).cmp(&(&other.path, other.id)));
        let mut out = String::new();
        for changes in changes.chunk_by(|one, other| one.path == other.path) {
            let (Some(first), Some(last)) = (changes.first(), changes.last()) else { continue };
            let before = reader.content_before(first.id).map_err(failed)?;
            let after = reader.content_after(last.id).map_err(failed)?;
            match before.zip(after) {
                Some((before, after)) => {
                    out += &recorded::diff(&first.path, before.as_deref(), after.as_deref());
                }
                None => {
                    let _ = writeln!(out, "{}: content not stored", recorded::shown(&first.path));
                }
            }
        }
        recorded::page(&out)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn write_change(out: &mut String, reader: &Reader, change: &Change) -> recto_journal::Result<()> {
    let _ = writeln!(out, "change {}{}", change.id, recorded::notes(change));
    let _ = writeln!(out, "{} {}", change.kind.name(), recorded::shown_names(change));
    let _ = writeln!(out, "by {}, {} UTC", recorded::who(change), recorded::time(change));
    if let Some(call) = &change.call {
        let _ = writeln!(out, "call {}", Escaped(call));
    }
    if let Some(turn) = recorded::turn(change) {
        let _ = writeln!(out, "turn {turn}");
    }
    if let Some(transaction) = change.transaction {
        let together = reader.transaction(transaction)?;
        let others = together.iter().filter(|other| other.path != change.path);
        let others = others.filter(|other| change.moved.as_ref() != Some(&other.path));
        let ids: Vec<String> = others.map(|other| other.id.to_string()).collect();
        if !ids.is_empty() {
            let _ = writeln!(out, "together with {}", ids.join(", "));
        }
    }
    if !change.undoes.is_empty() {
        let mut ids: Vec<String> = change.undoes.iter().map(|id| id.change.to_string()).collect();
        ids.dedup();
        let _ = writeln!(out, "undoes {}", ids.join(", "));
    }
    out.push('\n');
    if change.moved.is_some() {
        return Ok(());
    }
    let before = reader.content_before(change.id)?;
    let hunks = reader.hunks(change.id)?;
    match (before, hunks) {
        (Some(before), Some(hunks)) => {
            let after = hunks.apply(before.as_deref().unwrap_or_default());
            let after = after.filter(|_| change.digests[1].is_some());
            *out += &recorded::diff(&change.path, before.as_deref(), after.as_deref());
        }
        // The whole content is not known, as for a file that is too large to keep.
        (None, Some(hunks)) => {
            for hunk in hunks.iter() {
                let _ = writeln!(out, "@@ byte {} @@", hunk.offset);
                for (sign, bytes) in [('-', &hunk.removed), ('+', &hunk.inserted)] {
                    for line in String::from_utf8_lossy(bytes).lines() {
                        let _ = writeln!(out, "{sign}{line}");
                    }
                }
            }
        }
        (_, None) => out.push_str("content not stored\n"),
    }
    Ok(())
}
