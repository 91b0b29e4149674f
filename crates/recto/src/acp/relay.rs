//! The relay of `recto acp`: passes messages between an editor and an agent, and gives the agent
//! tools that use the editor's buffers.
//!
//! Four threads move lines: a reader and a writer on each side. [`hub`] handles each line; this
//! module starts and stops everything.

mod agent;
mod editor;
mod hub;
pub(crate) mod inject;
mod log;
pub(crate) mod peek;
mod permissions;
mod turns;

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
use turns::Turns;

/// How many bytes may be queued for one side.
const MAX_WAITING: usize = 256 << 20;

/// The time limit for delivering an agent's last messages to the editor.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// The options of the relay.
pub struct RelayOptions {
    /// The agent's command line.
    pub agent: Vec<OsString>,
    /// Additional variables of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The path of recto, which the agent starts as a server.
    pub program: String,
    /// The server's options, except for its roots.
    pub options: Vec<String>,
    /// The server's roots; if empty, the session's directory.
    pub roots: Vec<String>,
    /// The file to log every message to.
    pub log: Option<PathBuf>,
}

/// Relays until one side ends. Returns the agent's exit code.
pub fn run(
    options: RelayOptions,
    input: impl Read + AsFd + Send + 'static,
    output: impl Into<OwnedFd>,
) -> Result<ExitCode, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(message_of)?.block_on(relay(options, input, output))
}

fn message_of(error: std::io::Error) -> String {
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
    let listener = Listener::new().map_err(|error| format!("cannot create a socket: {error}"))?;
    let socket = listener.socket();
    let socket = socket.to_str().ok_or("the socket's path is not UTF-8")?.to_string();
    let stopped = signals::stop().map_err(message_of)?;
    let (mut agent, agent_input, agent_output) = Agent::start(&options.agent, options.environment)?;

    let turns = Turns::new(options.options.iter().any(|option| option == "--journal-titles"));
    let hub = Arc::new(Hub {
        to_editor: LineSender::start("recto-to-editor", output, MAX_WAITING).map_err(message_of)?,
        to_agent: LineSender::start("recto-to-agent", agent_input, MAX_WAITING)
            .map_err(message_of)?,
        server: Server {
            program: options.program,
            options: options.options,
            roots: options.roots,
            socket,
        },
        tickets: Arc::new(Tickets::default()),
        editor: editor::EditorRequests::new(
            recto_platform::random_hex::<4>().map_err(|error| error.to_string())?,
        ),
        handshake: Default::default(),
        merger: Default::default(),
        permissions: Default::default(),
        rehearsals: Default::default(),
        turns,
        log,
    });
    listener.start(hub.tickets.clone(), hub.clone()).map_err(message_of)?;
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
    // The editor will not answer any more.
    hub.editor.give_up_all();
    hub.tickets.revoke_all();
    hub.to_agent.close();
    let status = agent.end().await;
    // Pass on what the agent sent before its end, if the editor still reads.
    let _ = tokio::time::timeout(DRAIN_LIMIT, agent_done.cancelled()).await;
    hub.to_editor.close();
    let _ = tokio::time::timeout(DRAIN_LIMIT, hub.to_editor.ended()).await;
    Ok(status)
}

/// Reads lines on a new thread and passes each to `take`. The returned token is cancelled at the end
/// of input.
fn read_lines(
    name: &str,
    input: impl Read + AsFd + Send + 'static,
    hub: Arc<Hub>,
    take: fn(&Hub, Vec<u8>),
) -> Result<CancellationToken, String> {
    let done = CancellationToken::new();
    let ended = done.clone().drop_guard();
    let run = move || {
        // Dropped on every exit, including a panic.
        let _ended = ended;
        let mut input = BufReader::with_capacity(64 << 10, Blocking(input));
        loop {
            let mut buffer = Vec::new();
            match line::read(&mut input, &mut buffer, MAX_LINE) {
                Ok(LineRead::Whole) if buffer.iter().all(u8::is_ascii_whitespace) => {}
                Ok(LineRead::Whole) => take(&hub, buffer),
                Ok(LineRead::TooLong { .. }) => {
                    say(&format!("dropped a message longer than {MAX_LINE} bytes"));
                }
                Ok(LineRead::End) | Err(_) => break,
            }
        }
    };
    std::thread::Builder::new().name(name.into()).spawn(run).map_err(message_of)?;
    Ok(done)
}
