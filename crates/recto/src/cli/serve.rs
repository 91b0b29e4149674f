//! `recto serve`: MCP on stdin and stdout.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tracing::{info, warn};

use super::Options;
use crate::acp::link::{LinkClient, LinkWitness, Rehearser};
use crate::config::Config;
use crate::wall::Status;
use crate::{assemble, limits, log, mcp, signals};
use recto_tools::tools::{Effect, Tool, Toolset};

/// Serve folders to an MCP client on stdin and stdout
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto serve ~/project                        one folder
  recto serve ~/project --read-only            look, but do not touch
  recto serve --root ~/a --root ~/b --deny '*.pem' --deny .env

Ends when its input ends or at SIGTERM.")]
pub struct Serve {
    /// Folders to serve; the working directory if none is named
    #[arg(value_name = "ROOT")]
    folders: Vec<PathBuf>,

    #[command(flatten)]
    options: Options,
}

/// How much a pipe to the client holds: the most that everybody may ask for.
const PIPE: usize = 1 << 20;

impl Serve {
    pub fn run(self) -> Result<ExitCode, String> {
        let settings = self.options.logging.settings()?;
        let config = self.options.config(self.folders)?;
        // Before anything that starts a thread, which would stand outside.
        let wall = assemble::raise_wall(&config)?;
        log::start(settings);
        match wall {
            Status::Full { .. } => info!(target: log::TARGET, "Landlock is {wall}"),
            Status::Partial { .. } => warn!(target: log::TARGET, "Landlock is {wall}"),
            _ => warn!(target: log::TARGET, "Landlock is {wall}; recto's own wall stands alone"),
        }
        let link = editor();
        let calls = match &link {
            Some(link) => {
                let witness = Arc::new(LinkWitness::new(link.clone()));
                let calls = assemble::open_with_editor(&config, link.clone(), witness)?;
                link.rehearse_with(Rehearser::new(calls.clone()));
                calls
            }
            None => assemble::open(&config)?,
        };
        if std::io::stdin().is_terminal() {
            explain(&config);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // One more, so that long requests are parsed also where all calls hang.
            .max_blocking_threads(limits::CALL_THREADS + 1)
            .build()
            .map_err(|error| error.to_string())?;
        let max_running = limits::running_calls(config.max_read_bytes);
        // A long answer then waits less often for its reader.
        recto_platform::grow_pipe(std::io::stdout(), PIPE);
        let instructions = instructions(&config, calls.served().tools());
        let served = runtime.block_on(async {
            let stop = signals::stop().map_err(|error| error.to_string())?;
            mcp::serve(calls, config.wire, instructions, max_running, stop).await
        });
        if let Some(link) = link {
            link.close();
        }
        // A write in its commit section finishes; anything that hangs does not keep us.
        runtime.shutdown_timeout(Duration::from_secs(5));
        served.map(|()| ExitCode::SUCCESS)
    }
}

/// The editor that started us through a relay, if one did and it is still there.
fn editor() -> Option<Arc<LinkClient>> {
    match LinkClient::from_environment()? {
        Ok(link) => Some(Arc::new(link)),
        Err(error) => {
            warn!(target: log::TARGET, "cannot reach the editor ({error}); files are those on the disk");
            None
        }
    }
}

fn roots(config: &Config) -> Vec<String> {
    let shown = |root: &PathBuf| root.canonicalize().unwrap_or(root.clone()).display().to_string();
    config.roots.iter().map(shown).collect()
}

/// Returns the server instructions that the client passes to the model.
fn instructions(config: &Config, tools: &[&Tool]) -> String {
    let roots = roots(config);
    let edits = tools.iter().any(|tool| tool.effect() != Effect::Reads);
    let verbs = if edits { "Reads and edits" } else { "Reads" };
    let n_strict = tools.iter().filter(|tool| tool.toolset == Toolset::Edit).count();
    let paths = match &roots[..] {
        [first, ..] if n_strict == 0 => format!("Paths are absolute or relative to {first}."),
        [first, ..] if n_strict < tools.len() => {
            format!(
                "*_text_file tools require absolute paths; others also accept paths relative to {first}."
            )
        }
        _ => "Paths are absolute.".into(),
    };
    format!("{verbs} files under {}. {paths}", roots.join(", "))
}

fn explain(config: &Config) {
    let roots = roots(config);
    eprintln!(
        "recto {} serves {} to an MCP client on stdin and stdout.\n\
         A client starts it by itself; to connect one, give it this command:\n\
         \x20   recto serve {}\n\
         `recto demo` shows what it does. Ctrl-C ends it.",
        env!("CARGO_PKG_VERSION"),
        roots.join(", "),
        roots.join(" "),
    );
}
