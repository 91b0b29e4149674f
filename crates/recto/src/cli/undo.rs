//! `recto undo`: undoes recorded changes, those of several files in one transaction.

mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use recto_journal::undo::Dependents;
use recto_journal::undo_files::{
    self, FilePlan, NoChange, PlanOptions, Selection, Target, Undoer, WrittenFiles,
};
use recto_journal::{Reader, SessionName};
use recto_store::WriteStore;

use super::options::StateDirOption;
use super::recorded;
use crate::config::JournalConfig;
use crate::journal::OpenJournal;

const NO_SESSION: &str = "a session has a name; changes without one are undone by number or file";

/// Undo recorded changes and keep everything that was changed since
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto undo --last                            the last change below the working directory
  recto undo 17 --dry-run                      show what would change
  recto undo 17 --hunk 2
  recto undo --session serve-1a2b3c4d
  recto undo --file src/main.rs

A change is found by following every later change, so later text stays. A change that a later one
overlaps is rejected, unless --with-dependents undoes that one too. An undo is recorded and can itself
be undone. Exit status: 0 if everything was undone, 1 if something was rejected, 2 for invalid usage.")]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Undo {
    /// Numbers of changes, from `recto log`
    #[arg(value_name = "ID", group = "what")]
    ids: Vec<u64>,

    /// All changes of a session
    #[arg(long, value_name = "NAME", group = "what")]
    session: Option<String>,

    /// All recorded changes of a file
    #[arg(long, value_name = "PATH", group = "what")]
    file: Option<PathBuf>,

    /// The last change that is not undone
    #[arg(long, group = "what")]
    last: bool,

    /// Only this hunk of the change, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    hunk: Option<u32>,

    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Also undo later changes that overlap, as a whole, but none by other programs
    #[arg(long)]
    with_dependents: bool,

    /// Undo what can be undone, and report the rest
    #[arg(long)]
    partial: bool,

    /// With --session, also undo hunks that are kept in `recto review`
    #[arg(long, requires = "session")]
    with_kept: bool,

    /// Directory that may be written [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    #[command(flatten)]
    state_dir: StateDirOption,
}

impl Undo {
    pub fn run(self) -> Result<ExitCode, String> {
        let failed = |error: recto_journal::Error| error.to_string();
        let reader = recorded::open(&self.state_dir)?;
        let root = recorded::real_path(self.root.as_deref().unwrap_or(".".as_ref()))?;
        let config =
            JournalConfig { state_dir: self.state_dir.state_dir.clone(), ..Default::default() };
        let journal = OpenJournal::new(&config, "undo");
        let store = recorded::store(&root, journal.recording())?;
        store.recover();
        let targets = self.targets(&reader, &root)?;
        let options = PlanOptions {
            dependents: match self.with_dependents {
                true => Dependents::UndoChanges,
                false => Dependents::Reject,
            },
            is_partial: self.partial,
            skips_undone: self.session.is_some() || self.file.is_some() || self.last,
            skips_kept: self.session.is_some() && !self.with_kept,
        };
        let client = ("recto undo".to_string(), env!("CARGO_PKG_VERSION").to_string());
        let undoer = Undoer { reader: &reader, store: &store, root: &root, client };
        let (mut plans, mut rejections) = (Vec::new(), Vec::new());
        for target in targets {
            let (plan, rejected) = undoer.plan(target, options).map_err(failed)?;
            plans.extend(plan);
            rejections.extend(rejected);
        }
        for rejection in &rejections {
            eprintln!("{}", report::rejection(&reader, &root, rejection)?);
        }
        if !rejections.is_empty() && !self.partial {
            eprintln!("Nothing was changed.");
            return Ok(ExitCode::from(1));
        }
        if plans.is_empty() && rejections.is_empty() {
            return Err("everything is undone already".into());
        }
        let mut is_complete = rejections.is_empty();
        if self.dry_run {
            let diffs: String = plans.iter().map(diff).collect();
            recorded::page(&diffs)?;
        } else {
            is_complete &= write(&undoer, &plans, self.partial)?;
            journal.flush();
        }
        Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    /// Returns the changes to undo, by file.
    fn targets(&self, reader: &Reader, root: &Path) -> Result<Vec<Target>, String> {
        let what = match (&self.session, &self.file) {
            (Some(session), _) => Selection::Session(SessionName::new(session).ok_or(NO_SESSION)?),
            (_, Some(file)) => Selection::File(recorded::real_path(file)?),
            _ if self.last => Selection::Last(root.to_path_buf()),
            _ => Selection::Changes(self.ids.clone()),
        };
        let targets = undo_files::select(reader, &what).map_err(|error| error.to_string())?;
        let mut targets = targets.map_err(|NoChange(id)| format!("no change {id}"))?;
        let n_changes: usize = targets.iter().map(Target::n_changes).sum();
        match (n_changes, self.hunk) {
            (0, _) => return Err("no change that can be undone".into()),
            (2.., Some(_)) => return Err("--hunk needs exactly one change".into()),
            (_, Some(hunk)) => {
                if let Some(id) = targets.iter().find_map(Target::any_move) {
                    return Err(format!("change {id} moved a file; it has no hunks"));
                }
                targets.iter_mut().for_each(|target| target.keep_hunk(hunk - 1));
            }
            _ => {}
        }
        Ok(targets)
    }
}

/// Writes the files, and returns whether all of them were written.
fn write(undoer: &Undoer<'_>, plans: &[FilePlan], is_partial: bool) -> Result<bool, String> {
    let WrittenFiles { written, failed } = undoer.write_all(plans, is_partial);
    for plan in written {
        let shown = recorded::shown(plan.path());
        let to = plan.move_to().map(|to| format!(" (moved back to {})", recorded::shown(to)));
        super::print::print(&format!("undone: {shown}{}\n", to.unwrap_or_default()))?;
    }
    for (path, error) in &failed {
        eprintln!("{}: {error}", recorded::shown(path));
    }
    if !failed.is_empty() && plans.len() > 1 && !is_partial {
        eprintln!("Nothing was changed in these {} files; --partial undoes the rest.", plans.len());
    }
    Ok(failed.is_empty())
}

/// Returns the difference that undoing makes.
fn diff(plan: &FilePlan) -> String {
    let [before, after] = plan.contents();
    let moved = plan.move_to().map(|to| {
        format!("rename from {}\nrename to {}\n", recorded::shown(plan.path()), recorded::shown(to))
    });
    moved.unwrap_or_default() + &recorded::diff(plan.path(), before, after)
}
