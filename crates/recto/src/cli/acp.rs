//! `recto acp`: between an editor and an agent.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::Options;
use crate::acp::relay;
use crate::assemble;

/// Stand between an editor and an ACP agent, and give the agent tools that go through the editor
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto acp -- codex-acp                       the editor's folder
  recto acp ~/project --read-only -- codex-acp one folder, look but do not touch
  recto acp --log-messages /tmp/acp.jsonl -- my-agent --some-option

An editor starts it in the agent's place and speaks ACP with it on stdin and stdout. Ends when the
editor or the agent does, with the agent's status.")]
pub struct Acp {
    /// Folders to serve; the session's if none is named
    #[arg(value_name = "ROOT")]
    pub(super) folders: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) options: Options,

    /// Note every message in a file, as a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub(super) log_messages: Option<PathBuf>,

    /// The agent and its arguments
    #[arg(value_name = "AGENT", last = true, required = true)]
    pub(super) agent: Vec<OsString>,
}

impl Acp {
    pub fn run(self) -> Result<ExitCode, String> {
        self.run_with(Vec::new())
    }

    /// The same, with more in the agent's environment.
    pub(super) fn run_with(
        mut self,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<ExitCode, String> {
        let mut roots = std::mem::take(&mut self.folders);
        roots.append(&mut self.options.roots);
        let roots = roots.iter().map(|root| spelled(root)).collect::<Result<Vec<_>, _>>()?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let relay_options = relay::RelayOptions {
            agent: self.agent,
            environment,
            program: spelled(&program)?,
            options: self.options.arguments()?,
            roots,
            log: self.log_messages,
        };
        // A mistake in the options is told here, not by a server that starts unseen. Which folders a
        // session has is not known yet.
        let folders =
            if relay_options.roots.is_empty() { &["/".into()] } else { &relay_options.roots[..] };
        let config = self.options.config(folders.iter().map(PathBuf::from).collect())?;
        assemble::check(&config)?;
        if std::io::stdin().is_terminal() {
            eprintln!(
                "recto {} waits for an editor's ACP messages on stdin. An editor starts it by \
                 itself. Ctrl-C ends it.",
                env!("CARGO_PKG_VERSION")
            );
        }
        let output = std::io::stdout().as_fd().try_clone_to_owned();
        let output = output.map_err(|error| format!("cannot write to the editor: {error}"))?;
        relay::run(relay_options, std::io::stdin(), output)
    }
}

/// A path as it stands in JSON, absolute, because the server starts in a folder of its client's choice.
pub(super) fn spelled(path: &Path) -> Result<String, String> {
    let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
    let spelled = absolute.to_str().map(String::from);
    spelled.ok_or_else(|| format!("{} is not UTF-8", path.display()))
}
