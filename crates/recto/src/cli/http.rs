//! The options of `recto serve --http`, and what they start.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rmcp::ServerHandler;

use super::serve::{instructions, max_running, roots, runtime};
use crate::config::Config;
use crate::http::{self, Accounts, OpenAccount, Token, TokenAccess, TokenFile};
use crate::journal::{self, OpenJournal};
use crate::mcp::handler::Handler;
use crate::{assemble, log, signals};

/// How to serve over HTTP.
#[derive(Args, Default)]
pub struct HttpOptions {
    /// Serve over HTTP at this address instead of stdin and stdout: HOST:PORT, or a port on 127.0.0.1
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,

    /// File outside the roots with a line for each token: NAME read|write TOKEN [ROOT]...
    /// [default: a generated token]
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,

    /// Allow an address that other machines can reach; needs --token-file
    #[arg(long, requires = "token_file")]
    allow_remote: bool,

    /// Name under which clients reach the server, such as that of a proxy; may be repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
}

/// A bound address and the clients that may use it.
pub struct HttpServer {
    listener: TcpListener,
    accounts: Arc<Accounts>,
    /// Where the tokens are.
    token_path: PathBuf,
    hosts: Vec<String>,
    journal: OpenJournal,
}

impl HttpOptions {
    /// Binds the address and reads the tokens, if the server uses HTTP.
    pub fn prepare(self, config: &Config) -> Result<Option<HttpServer>, String> {
        let Some(address) = &self.http else { return Ok(None) };
        let listener = http::bind(address)?;
        let bound = listener.local_addr().map_err(|error| error.to_string())?;
        let mut hosts = self.allow_host;
        if !bound.ip().is_loopback() {
            if !self.allow_remote {
                return Err(format!(
                    "--http {address}: other machines can reach this address; add --allow-remote \
                     and --token-file, and put a proxy with TLS in front"
                ));
            }
            match bound.ip().is_unspecified() {
                true if hosts.is_empty() => {
                    return Err(format!(
                        "--http {address}: name the host that clients connect to with --allow-host"
                    ));
                }
                true => {}
                false => hosts.push(bound.ip().to_string()),
            }
        }
        let journal = assemble::journal(config, "serve")?;
        let open = open_account(config, &journal)?;
        let (accounts, token_path) = match self.token_file {
            Some(path) => {
                let path = std::path::absolute(path).map_err(|error| error.to_string())?;
                let file = TokenFile::new(path.clone(), assemble::open_disk(config)?);
                (Accounts::of_file(file, open)?, path)
            }
            None => {
                let dir = journal::state_dir(&config.journal).map_err(|error| error.to_string())?;
                let path = dir.path().join("http-token");
                (Accounts::of_token(http::generated(&path)?, &*open)?, path)
            }
        };
        Ok(Some(HttpServer { listener, accounts, token_path, hosts, journal }))
    }
}

/// Returns a function that opens what a token permits. Tokens without roots of their own share one
/// store.
fn open_account(config: &Config, journal: &OpenJournal) -> Result<Box<OpenAccount>, String> {
    let (config, journal, shared) =
        (config.clone(), journal.clone(), assemble::open(config, journal)?);
    Ok(Box::new(move |token: &Token| {
        let (calls, served_roots) = match &token.roots[..] {
            [] => (shared.clone(), &config.roots),
            narrower => (assemble::open_part(&config, &journal, narrower)?, &token.roots),
        };
        let calls = match token.access {
            TokenAccess::Read => calls.read_only(),
            TokenAccess::Write => calls,
        };
        let instructions = instructions(&roots(served_roots), calls.served());
        Ok((calls, instructions.into()))
    }))
}

impl HttpServer {
    /// Serves until a signal.
    pub fn serve<H: ServerHandler>(
        self,
        config: &Config,
        wrap: fn(Handler) -> H,
    ) -> Result<ExitCode, String> {
        let HttpServer { listener, accounts, token_path, hosts, journal } = self;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let (runtime, max_running) = (runtime()?, max_running(config));
        let served = runtime.block_on(async {
            let stop = signals::stop().map_err(|error| error.to_string())?;
            // Never the token itself: logs are kept and shared.
            log::say(&format!(
                "serving {} at http://{address}/mcp; clients send a token from {}",
                roots(&config.roots).join(", "),
                token_path.display(),
            ));
            let gate =
                http::Gate::new(accounts, config.wire, max_running, hosts, &journal, stop, wrap);
            http::serve(listener, gate).await
        });
        // A write that is being committed finishes; calls that hang do not delay the exit.
        runtime.shutdown_timeout(Duration::from_secs(5));
        journal.flush();
        served.map(|()| ExitCode::SUCCESS)
    }
}
