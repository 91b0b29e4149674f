//! `recto undo`: undoes recorded changes, file by file.
//!
//! Everything is planned before anything is written. Each file is then written by the same protocol
//! as an edit, which fails if the file changed since it was read, and the undo is recorded too.

mod plan;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::options::StateDirOption;
use super::recorded;
use crate::config::JournalConfig;
use crate::journal::OpenJournal;
use plan::{FilePlan, PlanOptions};

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
    #[arg(long, value_name = "N")]
    hunk: Option<u32>,

    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Also undo later changes that overlap, but none by other programs
    #[arg(long)]
    with_dependents: bool,

    /// Undo what can be undone, and report the rest
    #[arg(long)]
    partial: bool,

    /// Directory that may be written [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    #[command(flatten)]
    state_dir: StateDirOption,
}

impl Undo {
    pub fn run(self) -> Result<ExitCode, String> {
        let reader = recorded::open(&self.state_dir)?;
        let root = recorded::real_path(self.root.as_deref().unwrap_or(".".as_ref()))?;
        let targets = self.targets(&reader, &root)?;
        let (mut plans, mut rejections) = (Vec::new(), Vec::new());
        let options = PlanOptions {
            with_dependents: self.with_dependents,
            is_partial: self.partial,
            skips_undone: self.session.is_some() || self.file.is_some(),
        };
        for target in targets {
            match FilePlan::make(&reader, target, &root, options)? {
                (Some(plan), rejected) => {
                    plans.push(plan);
                    rejections.extend(rejected);
                }
                (None, rejected) => rejections.extend(rejected),
            }
        }
        for rejection in &rejections {
            eprintln!("{}", report::rejection(&reader, rejection)?);
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
            let diffs: String = plans.iter().map(FilePlan::diff).collect();
            recorded::page(&diffs)?;
        } else {
            let config =
                JournalConfig { state_dir: self.state_dir.state_dir, ..Default::default() };
            let journal = OpenJournal::new(&config, "undo");
            for plan in plans {
                let shown = recorded::shown(plan.path());
                match plan.write(&reader, &journal) {
                    Ok(()) => super::print::print(&format!("undone: {shown}\n"))?,
                    Err(error) => {
                        eprintln!("{shown}: {error}");
                        is_complete = false;
                    }
                }
            }
            journal.flush();
        }
        Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
