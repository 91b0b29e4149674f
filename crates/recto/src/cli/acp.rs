//! `recto acp`: relays ACP between an editor and an agent.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::options::Options;
use crate::acp::relay;
use crate::assemble;

/// Relay ACP between an editor and an agent, and give the agent tools that use the editor's buffers
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto acp -- codex-acp                       serve the session's directory
  recto acp ~/project --read-only -- codex-acp serve one directory, read-only
  recto acp --log-messages /tmp/acp.jsonl -- my-agent --some-option

Configure your editor to run this command as its agent. It speaks ACP on stdin and stdout, ends when
the editor or the agent ends, and exits with the agent's status.")]
pub struct Acp {
    /// Directories to serve [default: the session's directory]
    #[arg(value_name = "ROOT")]
    pub(super) folders: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) options: Options,

    /// Append every message to a file, one JSON object per line
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

    /// Like [`Acp::run`], with additional variables in the agent's environment.
    pub(super) fn run_with(
        mut self,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<ExitCode, String> {
        let mut roots = std::mem::take(&mut self.folders);
        roots.append(&mut self.options.roots.roots);
        let roots =
            roots.iter().map(|root| absolute_string(root)).collect::<Result<Vec<_>, _>>()?;
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let relay_options = relay::RelayOptions {
            agent: self.agent,
            environment,
            program: absolute_string(&program)?,
            options: self.options.arguments()?,
            roots,
            log: self.log_messages,
        };
        // Report invalid options here, because nobody sees the stderr of the server that the agent
        // starts. The session's directory is not known yet.
        let folders =
            if relay_options.roots.is_empty() { &["/".into()] } else { &relay_options.roots[..] };
        let config = self.options.config(folders.iter().map(PathBuf::from).collect())?;
        assemble::check(&config)?;
        if std::io::stdin().is_terminal() {
            eprintln!(
                "recto {} is waiting for ACP messages on stdin. Usually an editor starts this \
                 command. Press Ctrl-C to stop.",
                env!("CARGO_PKG_VERSION")
            );
        }
        let output = std::io::stdout().as_fd().try_clone_to_owned();
        let output = output.map_err(|error| format!("cannot write to the editor: {error}"))?;
        relay::run(relay_options, std::io::stdin(), output)
    }
}

/// Returns a path as an absolute string, because the agent may start the server in any directory.
pub(super) fn absolute_string(path: &Path) -> Result<String, String> {
    let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
    let text = absolute.to_str().map(String::from);
    text.ok_or_else(|| format!("{} is not UTF-8", path.display()))
}
