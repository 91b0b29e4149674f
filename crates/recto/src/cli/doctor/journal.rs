//! The section on the journal.

use std::path::Path;

use recto_journal::{Reader, StateDir, keeping};

use super::report::Report;
use crate::config::{Config, JournalMode};
use crate::journal::state_path;
use crate::limits::Amount;

/// Checks whether changes can be recorded. Creates nothing.
pub fn check(config: &Config, report: &mut Report) {
    report.section("journal (recto log, recto undo)");
    if config.journal.mode == JournalMode::Off {
        return report.note("off: changes are not recorded and cannot be undone");
    }
    if config.is_read_only {
        return report.fact("not needed (read-only)");
    }
    let path = match state_path(&config.journal) {
        Ok(path) => path,
        Err(error) => return report.problem(error.to_string(), REMEDY),
    };
    report.fact(path.display().to_string());
    let Some(dir) = StateDir::find(&path) else { return check_new(&path, report) };
    if let Some(name) = dir.network() {
        report.note(format!(
            "on a network file system ({name}): recorded without a write-ahead log, which is slower; \
             --state-dir names another directory"
        ));
    }
    if let Err(error) = StateDir::create(&path) {
        return report.problem(error.to_string(), REMEDY);
    }
    match Reader::open(&dir) {
        Ok(None) => report.fact("nothing recorded yet"),
        Ok(Some(_)) => match keeping::size(&dir) {
            Ok(size) => {
                let n_changes: u64 = size.roots.iter().map(|root| root.n_changes).sum();
                report.fact(format!("{n_changes} changes, {}", Amount::Bytes(size.n_bytes)));
            }
            Err(error) => report.problem(format!("cannot be read: {error}"), DAMAGED),
        },
        Err(error) => report.problem(format!("cannot be used: {error}"), DAMAGED),
    }
}

const REMEDY: &str = "Name a directory of your own with --state-dir or RECTO_STATE_DIR. Until then \
    changes are made, but not recorded.";

const DAMAGED: &str = "Use a newer recto, or move journal.db away; a new one is created. Until then \
    changes are made, but not recorded.";

fn check_new(path: &Path, report: &mut Report) {
    if path.exists() {
        return report.problem("it exists, but is not a state directory of recto", REMEDY);
    }
    let parent = path.ancestors().skip(1).find(|parent| parent.exists());
    let is_writable = parent.is_some_and(|parent| {
        let dir = recto_platform::open_path(parent);
        dir.and_then(|dir| recto_platform::check_writable_at(&dir, ".")).is_ok()
    });
    match is_writable {
        true => report.fact("created when a server starts that can write"),
        false => report.problem("it does not exist and cannot be created", REMEDY),
    }
}
