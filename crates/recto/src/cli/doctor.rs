//! `recto doctor`: checks the setup and suggests fixes.

mod checks;
mod configured;
mod journal;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::options::{
    DefinitionOptions, JournalOptions, LandlockOptions, LimitOptions, Options, RootOptions,
    ToolSelection,
};
use super::print::print;
use crate::assemble;
use report::Report;

/// Check directories, sandbox, client settings, journal and leftover files, and suggest fixes
#[derive(Args)]
// Tool names do not occur in the report.
#[command(mut_arg("tool_names", |names| names.hide(true)), after_help = "\
Examples:
  recto doctor ~/project
  recto doctor ~/project --clean               remove files left behind by killed processes
  recto doctor ~/project --read-only           skip the checks that write

File system features are tested in a temporary directory .recto-doctor-… in each root. Exit status:
0 if no problems were found, 1 otherwise.")]
pub struct Doctor {
    /// Directories to check [default: the working directory]
    #[arg(value_name = "ROOT")]
    folders: Vec<PathBuf>,

    /// Remove files left behind by killed processes, unless they may contain the only copy of a change
    #[arg(long)]
    clean: bool,

    #[command(flatten)]
    roots: RootOptions,

    #[command(flatten)]
    selection: ToolSelection,

    #[command(flatten)]
    limits: LimitOptions,

    #[command(flatten)]
    definitions: DefinitionOptions,

    #[command(flatten)]
    landlock: LandlockOptions,

    #[command(flatten)]
    journal: JournalOptions,
}

impl Doctor {
    pub fn run(self) -> Result<ExitCode, String> {
        let Doctor { roots, selection, limits, definitions, landlock, journal, .. } = self;
        let options = Options {
            roots,
            selection,
            limits,
            definitions,
            landlock,
            journal,
            ..Options::default()
        };
        let config = options.config(self.folders)?;
        let disk = assemble::open_disk(&config)?;
        let mut report = Report::default();
        checks::roots(&config, &mut report);
        checks::sandbox(&config, &mut report);
        checks::clients(&config, &mut report);
        configured::check(&config, &mut report);
        checks::limits(&config, &mut report);
        checks::leftovers(&disk, self.clean, &mut report);
        journal::check(&config, &mut report);
        checks::git(&config, disk, &mut report);
        checks::editor(&mut report);
        let text = report.to_string();
        print(&text)?;
        Ok(if report.n_problems() == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
