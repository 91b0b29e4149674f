//! `recto doctor`: whether everything is as it should be, and what to do where it is not.

mod checks;
mod report;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Options;
use crate::assemble;
use report::Report;

/// Look at the folders, the walls and what was left behind, and say what to do
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto doctor ~/project
  recto doctor ~/project --clean               remove what killed processes left behind
  recto doctor ~/project --read-only           without trying to write

What the file system can do is tried in a folder .recto-doctor-… in each root, which is removed
again. Exit status: 0, 1 if something is wrong.")]
pub struct Doctor {
    /// Folders to look at; the working directory if none is named
    #[arg(value_name = "ROOT")]
    folders: Vec<PathBuf>,

    /// Remove what killed processes left behind, where it holds nobody's work
    #[arg(long)]
    clean: bool,

    #[command(flatten)]
    options: Options,
}

impl Doctor {
    pub fn run(self) -> Result<ExitCode, String> {
        let config = self.options.config(self.folders)?;
        let disk = assemble::open_disk(&config)?;
        let mut report = Report::default();
        checks::roots(&config, &mut report);
        checks::sandbox(&config, &mut report);
        checks::limits(&config, &mut report);
        checks::leftovers(&disk, self.clean, &mut report);
        checks::git(&config, disk, &mut report);
        checks::editor(&mut report);
        let text = report.to_string();
        std::io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(if report.n_problems() == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
