//! `recto serve`: serves MCP on stdin and stdout, or over HTTP.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rmcp::ServerHandler;
use tokio::runtime::Runtime;
use tracing::{debug, warn};

use super::http::HttpOptions;
use super::options::Options;
use crate::acp::link::{LinkClient, LinkWitness, Rehearser};
use crate::config::Config;
use crate::landlock::Enforcement;
use crate::mcp::handler::Handler;
use crate::{assemble, limits, log, mcp, signals};
use recto_tools::Served;
use recto_tools::tools::Toolset;

/// Serve directories to an MCP client on stdin and stdout, or to several over HTTP
#[derive(Args)]
#[command(after_help = "\
Examples:
  recto serve ~/project                        serve one directory; `recto ~/project` is the same
  recto serve ~/project --read-only            serve it read-only
  recto serve --root ~/a --root ~/b --deny '*.pem' --deny .env
  recto serve --http 8123 ~/project            serve it at http://127.0.0.1:8123/mcp

Stops at the end of its input (not with --http) or at SIGTERM.")]
pub struct Serve {
    /// Directories to serve [default: the working directory]
    #[arg(value_name = "ROOT")]
    folders: Vec<PathBuf>,

    #[command(flatten)]
    http: HttpOptions,

    #[command(flatten)]
    options: Options,
}

/// The capacity of the pipe to the client: the maximum that an unprivileged process may set.
const PIPE: usize = 1 << 20;

impl Serve {
    pub fn run(self) -> Result<ExitCode, String> {
        self.run_with(std::convert::identity)
    }

    /// Serves. Over HTTP, what `wrap` returns answers requests.
    pub fn run_with<H: ServerHandler>(self, wrap: fn(Handler) -> H) -> Result<ExitCode, String> {
        let settings = self.options.logging.settings()?;
        let config = self.options.config(self.folders)?;
        // Before Landlock, which denies what this needs.
        let http = self.http.prepare(&config)?;
        // Before any other thread starts: Landlock does not apply to threads that run already.
        let landlock = assemble::apply_landlock(&config)?;
        log::start(settings);
        match landlock {
            Enforcement::Full { .. } | Enforcement::Off => {
                debug!(target: log::TARGET, "Landlock is {landlock}");
            }
            Enforcement::Partial { .. } => warn!(target: log::TARGET, "Landlock is {landlock}"),
            _ => {
                warn!(target: log::TARGET, "Landlock is {landlock}; only recto's own path checks apply")
            }
        }
        if let Some(http) = http {
            return http.serve(&config, wrap);
        }
        let link = editor();
        let journal = assemble::journal(&config, "serve")?;
        let calls = match &link {
            Some(link) => {
                let witness = Arc::new(LinkWitness::new(link.clone()));
                let calls = assemble::open_with_editor(&config, &journal, link.clone(), witness)?;
                link.rehearse_with(Rehearser::new(calls.clone()));
                if config.journal.has_titles {
                    let link = link.clone();
                    journal.record_turns(move || link.turn());
                }
                calls
            }
            None => assemble::open(&config, &journal)?,
        };
        if std::io::stdin().is_terminal() {
            explain(&config);
        }
        let (runtime, max_running) = (runtime()?, max_running(&config));
        // Long answers then block less often.
        recto_platform::grow_pipe(std::io::stdout(), PIPE);
        let instructions = instructions(&roots(&config.roots), calls.served());
        let served = runtime.block_on(async {
            let stop = signals::stop().map_err(|error| error.to_string())?;
            mcp::serve(calls, config.wire, instructions, max_running, stop).await
        });
        if let Some(link) = link {
            link.close();
        }
        // A write that is being committed finishes; calls that hang do not delay the exit.
        runtime.shutdown_timeout(Duration::from_secs(5));
        journal.flush();
        served.map(|()| ExitCode::SUCCESS)
    }
}

/// Returns the runtime of a server.
pub fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // One more, so that long requests are parsed even if all calls hang.
        .max_blocking_threads(limits::CALL_THREADS + 1)
        .build()
        .map_err(|error| error.to_string())
}

/// Returns how many calls run at once.
pub fn max_running(config: &Config) -> usize {
    limits::running_calls(config.wire.max_answer_bytes.unwrap_or(limits::ANSWER_BYTES))
}

/// Connects to the editor, if a relay started this server and is still reachable.
fn editor() -> Option<Arc<LinkClient>> {
    match LinkClient::from_environment()? {
        Ok(link) => Some(Arc::new(link)),
        Err(error) => {
            warn!(target: log::TARGET, "cannot reach the editor ({error}); using files on disk");
            None
        }
    }
}

/// Returns the canonical paths of roots, to show them.
pub fn roots(roots: &[PathBuf]) -> Vec<String> {
    let shown = |root: &PathBuf| root.canonicalize().unwrap_or(root.clone()).display().to_string();
    roots.iter().map(shown).collect()
}

/// Returns the server instructions that the client passes to the model: which tool to use for what.
pub fn instructions(roots: &[String], served: &Served) -> String {
    const USES: [(&str, &str); 10] = [
        ("find files", "ListFiles"),
        ("search, or read lines or old revisions", "ReadLines"),
        ("read exact text", "read_text_file"),
        ("change text", "edit_text_file"),
        ("change several places", "multi_edit_text_file"),
        ("change several files", "changes_apply"),
        ("replace a whole file", "write_text_file"),
        ("create a file", "file_create"),
        ("preview data files", "ReadAsTable"),
        ("edit by line and hash", "text_replace"),
    ];
    let uses: Vec<_> = USES
        .into_iter()
        .filter_map(|(task, tool)| Some(format!("{task}: {}", served.name(tool)?)))
        .collect();
    let uses = if uses.is_empty() { String::new() } else { format!(" To {}.", uses.join("; ")) };
    let tools = served.tools();
    let n_absolute = tools.iter().filter(|tool| tool.toolset == Toolset::Edit).count();
    let paths = match roots {
        [first, ..] if n_absolute == 0 => format!("Paths are absolute or relative to {first}."),
        [first, ..] if n_absolute < tools.len() => {
            format!(
                "*_text_file need absolute paths; others also accept paths relative to {first}."
            )
        }
        _ => "Paths are absolute.".into(),
    };
    format!("Files under {}.{uses} {paths}", roots.join(", "))
}

fn explain(config: &Config) {
    let roots = roots(&config.roots);
    eprintln!(
        "recto {} is serving {} to an MCP client on stdin and stdout.\n\
         Usually a client starts this command. To connect one, configure it to run:\n\
         \x20   recto serve {}\n\
         Run `recto demo` for a demonstration. Press Ctrl-C to stop.",
        env!("CARGO_PKG_VERSION"),
        roots.join(", "),
        roots.join(" "),
    );
}
