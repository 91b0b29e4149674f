//! The relay's end of the link: accepts servers and passes their requests to a host.

use std::io::{BufReader, Result, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_store::record::Turn;
use recto_text::Tag;
use serde_json::Value;
use serde_json::value::RawValue;

use super::socket::{DeadlineReader, LinkSocket, check_peer};
use super::tickets::{Admitted, Tickets};
use super::{HELLO_LIMIT, MAX_LINE, RelayMessage, ServerMessage, Welcome};
use crate::acp::line_sender::LineSender;
use crate::line::{self, LineRead, Polled};
use crate::log::say;

/// Handles the requests of servers. Paths and texts are JSON strings.
pub trait Host: Send + Sync + 'static {
    /// Returns the capabilities of the editor.
    fn welcome(&self) -> Welcome;

    /// Reads the text of a file.
    fn read(&self, session: &str, path: &RawValue, answer: Answer);

    /// Replaces the text of a file if it still has the expected text, and reads the result.
    fn change(&self, session: &str, change: ChangeRequest<'_>, answer: Answer);

    /// Abandons the reads of a change that have taken at least `after`.
    fn give_up(&self, change: &Answer, after: Duration);

    /// Updates a call's card in the editor.
    fn update(&self, session: &str, update: Value, server: &LineSender);

    /// Forgets the requests of a disconnected server and marks its running calls as failed.
    fn gone(&self, session: Option<&str>, server: &LineSender);

    /// Returns the current turn of a session.
    fn turn(&self, session: &str) -> Turn;

    /// Takes the result of a rehearsal.
    fn rehearsed(&self, id: u64, content: Option<Vec<Value>>);
}

/// A change of a file.
pub struct ChangeRequest<'a> {
    /// The file.
    pub path: &'a RawValue,
    /// The tag of the expected text; `None` for a new file.
    pub expects: Option<Tag>,
    /// The new text.
    pub content: &'a RawValue,
}

/// Sends the reply to a server's request.
pub struct Answer {
    id: u64,
    sender: LineSender,
}

impl Answer {
    /// Creates the reply to the request `id` of a server.
    pub fn new(id: u64, sender: LineSender) -> Answer {
        Answer { id, sender }
    }

    /// Sends the text that was read, as a JSON string.
    pub fn text(self, content: &RawValue) {
        self.sender.send(super::line(&RelayMessage::Text { id: self.id, content }));
    }

    /// Reports a completed write, with the file's text after it as a JSON string.
    pub fn written(self, content: Option<&RawValue>) {
        self.sender.send(super::line(&RelayMessage::Written { id: self.id, content }));
    }

    /// Reports that the file does not have the expected text.
    pub fn moved(self) {
        self.sender.send(super::line(&RelayMessage::<&str>::Moved { id: self.id }));
    }

    /// Reports an abandoned change. Nothing was written.
    pub fn given_up(self, is_gone: bool) {
        self.sender.send(super::line(&RelayMessage::<&str>::GivenUp { id: self.id, is_gone }));
    }

    /// Reports that the change is not finished yet.
    pub fn pending(&self) {
        self.sender.send(super::line(&RelayMessage::<&str>::Pending { id: self.id }));
    }

    /// Whether both reply to the same request.
    pub fn is_same(&self, other: &Answer) -> bool {
        self.id == other.id && self.goes_to(&other.sender)
    }

    /// Whether the reply goes to `server`.
    pub fn goes_to(&self, server: &LineSender) -> bool {
        self.sender.is_same(server)
    }

    /// Sends the current turn.
    pub fn turn(self, Turn { model, title }: Turn) {
        self.sender.send(super::line(&RelayMessage::<&str>::Turn { id: self.id, model, title }));
    }

    /// Reports the editor's error.
    pub fn failed(self, code: i64, message: String) {
        self.sender.send(super::line(&RelayMessage::<&str>::Failed { id: self.id, code, message }));
    }
}

/// A socket that servers connect to. It is removed when this is dropped.
pub struct Listener {
    place: LinkSocket,
    listener: UnixListener,
}

impl Listener {
    /// Creates the socket.
    pub fn new() -> Result<Listener> {
        let (place, listener) = LinkSocket::listen()?;
        Ok(Listener { place, listener })
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.place.socket()
    }

    /// Starts to accept servers.
    pub fn start(&self, tickets: Arc<Tickets>, host: Arc<dyn Host>) -> Result<()> {
        let listener = self.listener.try_clone()?;
        spawn("recto-accept", move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // Probably out of file descriptors, which is often temporary.
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                };
                let (tickets, host) = (tickets.clone(), host.clone());
                let served = spawn("recto-link", move || {
                    if let Err(error) = serve(&stream, &tickets, &*host) {
                        say(&format!("rejected a connection: {error}"));
                    }
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                });
                if let Err(error) = served {
                    say(&format!("rejected a connection: {error}"));
                }
            }
        })
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(run).map(|_| ())
}

/// Serves one connection until it ends. Fails if the connection is rejected.
fn serve(stream: &UnixStream, tickets: &Tickets, host: &dyn Host) -> Result<()> {
    check_peer(stream)?;
    let admitted = match handshake(stream, tickets) {
        Ok(admitted) => admitted,
        Err(reason) => {
            let mut line = super::line(&RelayMessage::<&str>::Unwelcome { reason: reason.clone() });
            line.push(b'\n');
            // The peer may have disconnected.
            let _ = (&*stream).write_all(&line);
            return Err(std::io::Error::other(reason));
        }
    };
    stream.set_read_timeout(None)?;
    let sender = LineSender::start("recto-link-write", stream.try_clone()?, usize::MAX)?;
    sender.send(super::line(&RelayMessage::<&str>::Welcome(host.welcome())));
    admitted.set_sender(&sender);
    let mut input = BufReader::with_capacity(64 << 10, Polled(stream));
    let mut last_id = 0;
    let mut served = None;
    loop {
        let mut buffer = Vec::new();
        match line::read(&mut input, &mut buffer, MAX_LINE) {
            Ok(LineRead::Whole) => {}
            Ok(LineRead::TooLong { .. } | LineRead::End) | Err(_) => break,
        }
        let Some(session) = admitted.session() else { break };
        let session = served.insert(session);
        if !take(&buffer, session, &mut last_id, &sender, host) {
            break;
        }
    }
    host.gone(served.as_deref(), &sender);
    sender.close();
    Ok(())
}

fn handshake(stream: &UnixStream, tickets: &Tickets) -> std::result::Result<Admitted, String> {
    const MAX_HELLO: usize = 4096;
    let until = DeadlineReader { stream, deadline: Instant::now() + HELLO_LIMIT };
    // Reads byte by byte, so that no byte of the next line is consumed.
    let mut input = BufReader::with_capacity(1, until);
    let mut buffer = Vec::new();
    match line::read(&mut input, &mut buffer, MAX_HELLO) {
        Ok(LineRead::Whole) => {}
        Ok(LineRead::TooLong { .. } | LineRead::End) => return Err("no valid hello".into()),
        Err(error) => return Err(format!("no valid hello: {error}")),
    }
    match serde_json::from_slice(&buffer) {
        Ok(ServerMessage::<String>::Hello { token }) => tickets.admit(&token, stream),
        _ => Err("no valid hello".into()),
    }
}

/// Handles one line. Returns false if it is invalid.
fn take(
    line: &[u8],
    session: &str,
    last_id: &mut u64,
    sender: &LineSender,
    host: &dyn Host,
) -> bool {
    let answer = |id| Answer::new(id, sender.clone());
    let ask = serde_json::from_slice::<ServerMessage<&RawValue>>(line);
    if let Ok(ServerMessage::Read { id, .. } | ServerMessage::Change { id, .. }) = ask {
        // Ids increase, so a repeated line is ignored instead of written twice.
        if id <= *last_id {
            return true;
        }
        *last_id = id;
    }
    match ask {
        Ok(ServerMessage::Read { id, path }) => host.read(session, path, answer(id)),
        Ok(ServerMessage::Change { id, path, expects, content }) => {
            let Ok(expects) = expects.map(|text| text.parse()).transpose() else { return false };
            host.change(session, ChangeRequest { path, expects, content }, answer(id));
        }
        Ok(ServerMessage::GiveUp { id, after_ms }) => {
            host.give_up(&answer(id), Duration::from_millis(after_ms));
        }
        Ok(ServerMessage::Turn { id }) => answer(id).turn(host.turn(session)),
        Ok(ServerMessage::Update(update)) => host.update(session, update, sender),
        Ok(ServerMessage::Rehearsed { id, content }) => host.rehearsed(id, content),
        Ok(ServerMessage::Hello { .. }) => {}
        Err(_) => return false,
    }
    true
}
