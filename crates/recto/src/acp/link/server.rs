//! The relay's end of the link: lets servers in and passes what they ask to a host.

use std::io::{BufReader, Result, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_text::Digest;
use serde_json::Value;
use serde_json::value::RawValue;

use super::socket::{DeadlineReader, LinkSocket, check_peer};
use super::tickets::{Admitted, Tickets};
use super::{HELLO_LIMIT, MAX_LINE, RelayMessage, ServerMessage, Welcome};
use crate::acp::line_sender::LineSender;
use crate::line::{self, LineRead, Polled};
use crate::log::say;

/// Who does what servers ask. Paths and texts are JSON strings.
pub trait Host: Send + Sync + 'static {
    /// What the editor can do.
    fn welcome(&self) -> Welcome;

    /// Asks for the text of a file.
    fn read(&self, session: &str, path: &RawValue, answer: Answer);

    /// Gives a file a new text, if it has the expected one still, and asks for what then stands
    /// there.
    fn change(&self, session: &str, change: ChangeRequest<'_>, answer: Answer);

    /// Waits no longer for what is read for a change, if that has lasted this long.
    fn give_up(&self, change: &Answer, after: Duration);

    /// Shows the editor what a call does.
    fn update(&self, session: &str, update: Value, server: &LineSender);

    /// Forgets what a server asked that is gone, and tells that its calls will not end otherwise.
    fn gone(&self, session: Option<&str>, server: &LineSender);

    /// Takes what a server found out about a call that it was to rehearse.
    fn rehearsed(&self, id: u64, content: Option<Vec<Value>>);
}

/// What a file is to become.
pub struct ChangeRequest<'a> {
    /// The file.
    pub path: &'a RawValue,
    /// The digest of the text that must still be there, where one must.
    pub expects: Option<Digest>,
    /// The new text.
    pub content: &'a RawValue,
}

/// The way back to whoever asked.
pub struct Answer {
    id: u64,
    sender: LineSender,
}

impl Answer {
    /// The way back to a server, for one of its questions.
    pub fn new(id: u64, sender: LineSender) -> Answer {
        Answer { id, sender }
    }

    /// The text that was read, as a JSON string.
    pub fn text(self, content: &RawValue) {
        self.sender.send(super::line(&RelayMessage::Text { id: self.id, content }));
    }

    /// It is written, and this stands there now, as a JSON string.
    pub fn written(self, content: Option<&RawValue>) {
        self.sender.send(super::line(&RelayMessage::Written { id: self.id, content }));
    }

    /// The file has not the expected text.
    pub fn moved(self) {
        self.sender.send(super::line(&RelayMessage::<&str>::Moved { id: self.id }));
    }

    /// Whoever asked does not wait, or the editor is gone, and nothing was written.
    pub fn given_up(self, is_gone: bool) {
        self.sender.send(super::line(&RelayMessage::<&str>::GivenUp { id: self.id, is_gone }));
    }

    /// It is not known yet.
    pub fn pending(&self) {
        self.sender.send(super::line(&RelayMessage::<&str>::Pending { id: self.id }));
    }

    /// Whether both go to the same question.
    pub fn is_same(&self, other: &Answer) -> bool {
        self.id == other.id && self.goes_to(&other.sender)
    }

    /// Whether it goes to that server.
    pub fn goes_to(&self, server: &LineSender) -> bool {
        self.sender.is_same(server)
    }

    /// The editor says no.
    pub fn failed(self, code: i64, message: String) {
        self.sender.send(super::line(&RelayMessage::<&str>::Failed { id: self.id, code, message }));
    }
}

/// A socket that servers come to. It goes when this is dropped.
pub struct Listener {
    place: LinkSocket,
    listener: UnixListener,
}

impl Listener {
    /// Makes the socket.
    pub fn new() -> Result<Listener> {
        let (place, listener) = LinkSocket::listen()?;
        Ok(Listener { place, listener })
    }

    /// Where it is.
    pub fn socket(&self) -> PathBuf {
        self.place.socket()
    }

    /// Lets servers in from now on.
    pub fn start(&self, tickets: Arc<Tickets>, host: Arc<dyn Host>) -> Result<()> {
        let listener = self.listener.try_clone()?;
        spawn("recto-accept", move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // Out of file handles, most likely; others may give some back.
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                };
                let (tickets, host) = (tickets.clone(), host.clone());
                let served = spawn("recto-link", move || {
                    if let Err(error) = serve(&stream, &tickets, &*host) {
                        say(&format!("a server was not let in: {error}"));
                    }
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                });
                if let Err(error) = served {
                    say(&format!("a server was not let in: {error}"));
                }
            }
        })
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(run).map(|_| ())
}

/// Serves one connection to its end. An error means that it was not let in.
fn serve(stream: &UnixStream, tickets: &Tickets, host: &dyn Host) -> Result<()> {
    check_peer(stream)?;
    let admitted = match greet(stream, tickets) {
        Ok(admitted) => admitted,
        Err(reason) => {
            let mut line = super::line(&RelayMessage::<&str>::Unwelcome { reason: reason.clone() });
            line.push(b'\n');
            // Whoever it is may be gone.
            let _ = (&*stream).write_all(&line);
            return Err(std::io::Error::other(reason));
        }
    };
    stream.set_read_timeout(None)?;
    let sender = LineSender::start("recto-link-write", stream.try_clone()?, usize::MAX)?;
    sender.send(super::line(&RelayMessage::<&str>::Welcome(host.welcome())));
    admitted.listens(&sender);
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

fn greet(stream: &UnixStream, tickets: &Tickets) -> std::result::Result<Admitted, String> {
    const MAX_HELLO: usize = 4096;
    let until = DeadlineReader { stream, deadline: Instant::now() + HELLO_LIMIT };
    // A byte at a time, so that nothing of the next line is taken.
    let mut input = BufReader::with_capacity(1, until);
    let mut buffer = Vec::new();
    match line::read(&mut input, &mut buffer, MAX_HELLO) {
        Ok(LineRead::Whole) => {}
        Ok(LineRead::TooLong { .. } | LineRead::End) => return Err("it said no hello".into()),
        Err(error) => return Err(format!("it said no hello: {error}")),
    }
    match serde_json::from_slice(&buffer) {
        Ok(ServerMessage::<String>::Hello { token }) => tickets.admit(&token, stream),
        _ => Err("it said no hello".into()),
    }
}

/// Takes one line. Whether it made sense.
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
        // Ids grow. A line that comes again, by whatever mishap, must not write again.
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
        Ok(ServerMessage::Update(update)) => host.update(session, update, sender),
        Ok(ServerMessage::Rehearsed { id, content }) => host.rehearsed(id, content),
        Ok(ServerMessage::Hello { .. }) => {}
        Err(_) => return false,
    }
    true
}
