//! `recto acp`: stands between an editor and an agent, hands on what they say, and gives the agent
//! tools that go through the editor.
//!
//! Four threads move lines: one reads and one writes on each side. What is done with a line is
//! decided in [`hub`]; this file starts everything and sees to it that everything ends.

mod agent;
mod editor;
mod hub;
pub(crate) mod inject;
mod log;
pub(crate) mod peek;

use std::ffi::OsString;
use std::io::{BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::line_sender::LineSender;
use super::link::MAX_LINE;
use super::link::server::Listener;
use super::link::tickets::Tickets;
use crate::line::{self, Blocking, LineRead};
use crate::log::say;
use crate::signals;
use agent::Agent;
use hub::Hub;
use inject::Server;
use log::MessageLog;

/// How many bytes may wait to be written to one side.
const MAX_WAITING: usize = 256 << 20;

/// How long the last words of an agent may take to reach the editor.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the relay is told.
pub struct RelayOptions {
    /// The agent's command line.
    pub agent: Vec<OsString>,
    /// What its environment holds beyond ours.
    pub environment: Vec<(OsString, OsString)>,
    /// Our own program, which the agent starts as a server.
    pub program: String,
    /// The server's options, except for its roots.
    pub options: Vec<String>,
    /// The server's roots; the session's folder if there are none.
    pub roots: Vec<String>,
    /// Where every message is noted.
    pub log: Option<PathBuf>,
}

/// Relays until one side ends. The result is the agent's.
pub fn run(
    options: RelayOptions,
    input: impl Read + AsFd + Send + 'static,
    output: impl Into<OwnedFd>,
) -> Result<ExitCode, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(told)?.block_on(relay(options, input, output))
}

fn told(error: std::io::Error) -> String {
    error.to_string()
}

async fn relay(
    options: RelayOptions,
    input: impl Read + AsFd + Send + 'static,
    output: impl Into<OwnedFd>,
) -> Result<ExitCode, String> {
    let log = match &options.log {
        Some(path) => Some(MessageLog::open(path)?),
        None => None,
    };
    let listener = Listener::new().map_err(|error| format!("cannot make a socket: {error}"))?;
    let socket = listener.socket();
    let socket = socket.to_str().ok_or("the socket's path is not UTF-8")?.to_string();
    let stopped = signals::stop().map_err(told)?;
    let (mut agent, agent_input, agent_output) = Agent::start(&options.agent, options.environment)?;

    let hub = Arc::new(Hub {
        to_editor: LineSender::start("recto-to-editor", output, MAX_WAITING).map_err(told)?,
        to_agent: LineSender::start("recto-to-agent", agent_input, MAX_WAITING).map_err(told)?,
        server: Server {
            program: options.program,
            options: options.options,
            roots: options.roots,
            socket,
        },
        tickets: Arc::new(Tickets::default()),
        editor: editor::Requests::new(
            recto_platform::random_hex::<4>().map_err(|error| error.to_string())?,
        ),
        negotiated: Default::default(),
        merger: Default::default(),
        rehearsals: Default::default(),
        log,
    });
    listener.start(hub.tickets.clone(), hub.clone()).map_err(told)?;
    let editor_done = read_lines("recto-from-editor", input, hub.clone(), Hub::take_from_editor)?;
    let agent_done =
        read_lines("recto-from-agent", agent_output, hub.clone(), Hub::take_from_agent)?;

    tokio::select! {
        () = agent.ended() => {}
        () = agent_done.cancelled() => {}
        () = hub.to_agent.ended() => {}
        () = editor_done.cancelled() => {}
        () = hub.to_editor.ended() => {}
        () = stopped.cancelled() => {}
    }
    // Nobody answers for the editor any more, so nobody should wait for it.
    hub.editor.give_up_all();
    hub.tickets.revoke_all();
    hub.to_agent.close();
    let status = agent.end().await;
    // What an agent said before its end is passed on, if the editor still takes it.
    let _ = tokio::time::timeout(LAST_WORDS, agent_done.cancelled()).await;
    hub.to_editor.close();
    let _ = tokio::time::timeout(LAST_WORDS, hub.to_editor.ended()).await;
    Ok(status)
}

/// Reads lines in a thread of their own, each into a buffer of its own that is handed on as it
/// is. The token is cancelled at the end.
fn read_lines(
    name: &str,
    input: impl Read + AsFd + Send + 'static,
    hub: Arc<Hub>,
    take: fn(&Hub, Vec<u8>),
) -> Result<CancellationToken, String> {
    let done = CancellationToken::new();
    let ended = done.clone().drop_guard();
    let run = move || {
        // Whatever ends this thread, others hear of it.
        let _ended = ended;
        let mut input = BufReader::with_capacity(64 << 10, Blocking(input));
        loop {
            let mut buffer = Vec::new();
            match line::read(&mut input, &mut buffer, MAX_LINE) {
                Ok(LineRead::Whole) if buffer.iter().all(u8::is_ascii_whitespace) => {}
                Ok(LineRead::Whole) => take(&hub, buffer),
                Ok(LineRead::TooLong { .. }) => {
                    say(&format!("a message of more than {MAX_LINE} bytes was not passed on"));
                }
                Ok(LineRead::End) | Err(_) => break,
            }
        }
    };
    std::thread::Builder::new().name(name.into()).spawn(run).map_err(told)?;
    Ok(done)
}
