//! `recto review`: shows what agents changed in a web page, to keep or undo it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use recto_journal::StateDir;

use super::options::{LandlockOptions, StateDirOption};
use super::print::print;
use super::recorded;
use super::serve::runtime;
use crate::config::JournalConfig;
use crate::http::Secret;
use crate::journal::{self, OpenJournal};
use crate::landlock::AllowedPaths;
use crate::review::{Gate, Model, Server, open, page, value};
use crate::signals;

/// Review what agents changed in a web page: keep it or undo it, hunk by hunk
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto review                                 review the working directory in the browser
  recto review ~/project --no-open             print the address instead
  recto review --export review.html            the last session as one file, to attach to a pull request
  recto review --json --session serve-1a2b3c4d

Serves on 127.0.0.1 until Ctrl-C, or until no page has been open for 30 minutes. Changes of running
agents appear by themselves. Only changes below the directory are shown and undone.")]
pub struct Review {
    /// Directory to review [default: the working directory]
    dir: Option<PathBuf>,

    /// Print the address instead of opening the browser
    #[arg(long)]
    no_open: bool,

    /// Write one session to a static HTML file
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    export: Option<PathBuf>,

    /// Print sessions, files and hunks as JSON
    #[arg(long)]
    json: bool,

    /// Only this session [default: for --export the last, otherwise all]
    #[arg(long, value_name = "NAME")]
    session: Option<String>,

    #[command(flatten)]
    state_dir: StateDirOption,

    #[command(flatten)]
    landlock: LandlockOptions,
}

impl Review {
    pub fn run(self) -> Result<ExitCode, String> {
        let root = recorded::real_path(self.dir.as_deref().unwrap_or(".".as_ref()))?;
        if !root.is_dir() {
            return Err(format!("{} is not a directory", root.display()));
        }
        let config =
            JournalConfig { state_dir: self.state_dir.state_dir.clone(), ..Default::default() };
        let dir = journal::state_dir(&config).map_err(|error| error.to_string())?;
        if dir.database().exists() {
            // Judges changes of killed processes.
            recorded::open(&self.state_dir)?;
        }
        let journal = OpenJournal::new(&config, "review");
        let store = recorded::store(&root, journal.recording())?;
        let mut model = Model::new(root.clone(), dir.clone(), store);
        model.refresh()?;
        if self.json || self.export.is_some() {
            return self.print(&model);
        }
        let served = self.serve(&root, &dir, model);
        journal.flush();
        served
    }

    fn print(&self, model: &Model) -> Result<ExitCode, String> {
        let is_wanted = |name: &str| self.session.as_ref().is_none_or(|wanted| wanted == name);
        let mut sessions: Vec<_> =
            model.sessions.iter().filter(|session| is_wanted(&session.key)).collect();
        if let (Some(name), true) = (&self.session, sessions.is_empty()) {
            return Err(format!("no session {name} changed files below {}", model.root.display()));
        }
        let Some(file) = &self.export else {
            print(&format!("{}\n", value(model, &sessions)))?;
            return Ok(ExitCode::SUCCESS);
        };
        sessions.truncate(1);
        let session = sessions.first().ok_or("no changes are recorded below this directory")?;
        let text = page(model, session)?;
        std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        eprintln!("{} contains parts of the changed files", file.display());
        Ok(ExitCode::SUCCESS)
    }

    fn serve(&self, root: &Path, dir: &StateDir, model: Model) -> Result<ExitCode, String> {
        let failed = |error: std::io::Error| error.to_string();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let token = Secret::random().map_err(failed)?;
        let address = format!("http://127.0.0.1:{port}/");
        let with_token = format!("{address}#t={}", token.expose());
        // Before Landlock, which the browser would inherit.
        let mut opened = match self.no_open {
            true => None,
            false => Some(open(dir.path(), port, &with_token)?),
        };
        eprintln!("Reviewing {} at {address}. Press Ctrl-C to stop.", root.display());
        let writable = vec![root.to_path_buf(), dir.path().to_path_buf()];
        let allowed_paths = AllowedPaths { readable: Vec::new(), writable };
        let landlock = allowed_paths.restrict_thread(self.landlock.mode())?;
        if !landlock.is_full() {
            eprintln!("Landlock is {landlock}");
        }
        let line = format!("{with_token}\n");
        match &mut opened {
            None => print(&line)?,
            Some(opened) => opened.or_else(move || drop(print(&line))),
        }
        let runtime = runtime()?;
        let served = runtime.block_on(async {
            let stop = signals::stop().map_err(|error| error.to_string())?;
            Server::new(Gate { port, token }, model, stop).run(listener).await
        });
        // An undo that is being written finishes.
        runtime.shutdown_timeout(Duration::from_secs(5));
        drop(opened);
        served.map(|()| ExitCode::SUCCESS)
    }
}
