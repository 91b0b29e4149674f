//! The journal when servers are killed, the power is cut, the disk is full or the database is damaged:
//! what `recto log` lists must be what happened.

mod calls;
mod damage;
mod kills;
mod power;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use recto_dev::client::{Client, Limits};
use recto_dev::servers::{Server, ServerKind};
use serde_json::Value;

use super::Trial;
use crate::Result;
use crate::cell::Cell;
use crate::session::Session;

pub const CALLS: Trial = Trial {
    name: "journal-calls",
    rows: &[
        ("journal: crash at every system call of an edit: wrong records", "0"),
        ("– of a creation", "0"),
        ("– of a removal", "0"),
        ("– of a change of two files together: wrong records or mixtures", "0"),
    ],
    run: |_, server| of_recto(server, calls::run),
};

pub const KILLS: Trial = Trial {
    name: "journal-kills",
    rows: &[
        (
            "journal: kill -9 at random moments, 4 processes: changes without a record / records of \
             what did not happen / uncertain without a foreign writer",
            "0 / 0 / 0 of 10,000",
        ),
        ("– files that differ after everything is undone", "0"),
    ],
    run: |effort, server| of_recto(server, |server| kills::run(effort, server)),
};

pub const POWER: Trial = Trial {
    name: "journal-power",
    rows: &[
        (
            "journal: power cuts, ext4: changes without a record / records of what did not happen",
            "0 / 0 of 200",
        ),
        ("– XFS", "0 / 0 of 200"),
    ],
    run: |effort, server| of_recto(server, |server| power::run(effort, server)),
};

pub const DAMAGE: Trial = Trial {
    name: "journal-damage",
    rows: &[
        ("journal: disk full at any point: wrong files / wrong records", "0 / 0"),
        ("journal: database damaged at any point: wrong files / servers that ended", "0 / 0"),
    ],
    run: |effort, server| of_recto(server, |server| damage::run(effort, server)),
};

fn of_recto(server: &Server, run: impl FnOnce(&Server) -> Result<Vec<Cell>>) -> Result<Vec<Cell>> {
    match server.kind {
        ServerKind::Recto => run(server),
        _ => Ok(vec![Cell::none()]),
    }
}

/// A directory with a journal of its own.
struct Place<'a> {
    server: &'a Server,
    root: PathBuf,
    state: PathBuf,
}

/// How many of a file's changes are listed in which state.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listed {
    n_done: usize,
    n_not_done: usize,
    n_uncertain: usize,
    n_unfinished: usize,
    n_foreign: usize,
}

impl<'a> Place<'a> {
    fn new(server: &'a Server, folder: &Path) -> Result<Place<'a>> {
        let folder = folder.canonicalize()?;
        let (root, state) = (folder.join("root"), folder.join("state"));
        std::fs::create_dir_all(&root)?;
        Ok(Place { server, root, state })
    }

    fn serve(&self) -> Result<Session> {
        self.serve_with(&[])
    }

    /// Starts a server that makes no change without a record, so that an error says why there is none.
    fn serve_recorded(&self) -> Result<Session> {
        self.serve_with(&["--journal", "required"])
    }

    fn serve_with(&self, options: &[&str]) -> Result<Session> {
        let mut command = self.server.command(&self.root);
        command.arg("--state-dir").arg(&self.state).args(options);
        let mut client = Client::start(&mut command)?;
        client.limits = Some(Limits { patience: Duration::from_secs(30), megabytes: 1024.0 });
        client.initialize()?;
        Ok(Session { kind: ServerKind::Recto, client })
    }

    /// Starts a server whose first call finishes or undoes what a killed one left.
    fn recover(&self, path: &Path) -> Result<()> {
        let mut session = self.serve()?;
        session.read(path)?;
        session.client.stop()
    }

    /// Runs a command of recto on the journal. Returns its output, or its error.
    fn run(
        &self,
        arguments: &[&str],
        path: Option<&Path>,
    ) -> Result<std::result::Result<String, String>> {
        // The command of a server starts with the program.
        let program = self.server.command(&self.root).get_program().to_os_string();
        let mut command = Command::new(program);
        command.args(arguments).args(path).arg("--state-dir").arg(&self.state);
        let output = command.current_dir(&self.root).stdin(Stdio::null()).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.code() {
            Some(0) => Ok(Ok(text(&output.stdout))),
            Some(101) | None => Err(format!("recto crashed: {}", text(&output.stderr)).into()),
            Some(_) => Ok(Err(text(&output.stderr))),
        }
    }

    /// Lists the changes of a file.
    fn listed(&self, path: &Path) -> Result<Listed> {
        let mut listed = Listed::default();
        let text = match self.run(&["log", "--json"], Some(path))? {
            Ok(text) => text,
            Err(error) if error.contains("no changes are recorded") => return Ok(listed),
            Err(error) => return Err(error.into()),
        };
        for line in text.lines() {
            let change: Value = serde_json::from_str(line)?;
            match (change["kind"].as_str(), change["state"].as_str()) {
                (Some("foreign"), _) => listed.n_foreign += 1,
                (_, Some("done")) => listed.n_done += 1,
                (_, Some("did not happen")) => listed.n_not_done += 1,
                (_, Some("uncertain")) => listed.n_uncertain += 1,
                (_, Some("unfinished")) => listed.n_unfinished += 1,
                _ => return Err(format!("unknown change: {line}").into()),
            }
        }
        Ok(listed)
    }
}
