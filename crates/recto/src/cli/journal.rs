//! `recto journal`: inspects and reduces what is stored.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use recto_journal::Reader;
use recto_journal::keeping::{self, Limits};

use super::options::StateDirOption;
use super::print::print;
use super::recorded;
use crate::limits::Amount;

/// Inspect the journal, or remove changes from it
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto journal size
  recto journal forget ~/project/notes.txt     no copy of its content is left")]
pub struct Journal {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    state_dir: StateDirOption,
}

#[derive(Subcommand)]
enum Command {
    /// Show how much is stored for each root
    Size,
    /// Check the database and every stored content
    Verify,
    /// Remove changes beyond the limits now
    Prune,
    /// Remove all changes of a file, or of all files below a directory
    Forget {
        /// The file or directory
        path: PathBuf,
    },
}

impl Journal {
    pub fn run(self) -> Result<ExitCode, String> {
        let dir = recorded::state_dir(&self.state_dir)?;
        let failed = |error: recto_journal::Error| error.to_string();
        let only_reads = matches!(self.command, Command::Size | Command::Verify);
        if only_reads && Reader::open(&dir).map_err(failed)?.is_none() {
            print(&format!("{}\n", recto_journal::Error::Unfinished))?;
            return Ok(ExitCode::SUCCESS);
        }
        match self.command {
            Command::Size => {
                let size = keeping::size(&dir).map_err(failed)?;
                let total = Amount::Bytes(size.n_bytes);
                let mut out = format!("{}: {total}\n", recorded::shown(&dir.database()));
                for root in size.roots {
                    let (n_changes, n_bytes) = (root.n_changes, Amount::Bytes(root.n_bytes));
                    let shown = recorded::shown(&root.root);
                    let _ = writeln!(out, "  {shown}: {n_changes} changes, {n_bytes}");
                }
                print(&out)?;
            }
            Command::Verify => {
                let verified = keeping::verify(&dir).map_err(failed)?;
                let mut out = format!("{} changes\n", verified.n_changes);
                for problem in &verified.problems {
                    let _ = writeln!(out, "! {problem}");
                }
                print(&out)?;
                if !verified.problems.is_empty() {
                    return Ok(ExitCode::from(1));
                }
            }
            Command::Prune => {
                let n_removed = keeping::prune(&dir, Limits::default()).map_err(failed)?;
                print(&format!("{n_removed} changes removed\n"))?;
            }
            Command::Forget { path } => {
                let path = recorded::real_path(&path)?;
                let n_removed = keeping::forget(&dir, &path).map_err(failed)?;
                print(&format!("{n_removed} changes removed\n"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
