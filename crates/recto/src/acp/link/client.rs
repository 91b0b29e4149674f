//! A server's end of the link: implements the editor for the workspace.
//!
//! Calls send requests concurrently. A call writes its request directly if the socket does not
//! block, which saves two thread switches; otherwise a writer thread does. A reader thread receives
//! the replies, and each call waits for its own.
//!
//! If the link breaks, the progress of each request matters: if its last byte was not written to
//! the socket, it had no effect and may be done another way; otherwise it may have had an effect
//! and must not be repeated.

use std::collections::{HashMap, VecDeque};
use std::io::{BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use recto_text::Digest;
use serde_json::Value;

use super::Rehearser;
use super::change_timeout::ChangeTimeout;
use super::socket::{DeadlineReader, check_peer};
use super::{
    HELLO_LIMIT, MAX_EDITOR_TEXT, MAX_LINE, RelayMessage, SOCKET_VARIABLE, ServerMessage,
    TOKEN_VARIABLE, Welcome,
};
use crate::line::{self, LineRead, Polled};
use recto_store::context::Context;
use recto_store::editor::{Editor, EditorError, EditorOutcome, EditorWrite};
use recto_store::record::Turn;
use recto_store::sync::{lock, wait, wait_timeout};

/// The time limit of a read, and of sending an update.
pub const READ_LIMIT: Duration = Duration::from_secs(30);

/// How often a waiting call checks for cancellation.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// A connection to the relay, and through it to the editor.
pub struct LinkClient {
    shared: Arc<Shared>,
    welcome: Welcome,
}

struct Shared {
    state: Mutex<LinkState>,
    /// Notified when the progress of a request changes.
    changed: Condvar,
    /// Notified when the writer has something to do. Separate, so that replies do not wake it.
    has_work: Condvar,
    stream: UnixStream,
    rehearser: OnceLock<Rehearser>,
}

#[derive(Default)]
struct LinkState {
    last_id: u64,
    /// Lines to write, each with the id of its request, or 0 if no call waits for it.
    queue: VecDeque<(u64, Vec<u8>)>,
    /// The rest of a partially written line. It is written before all others.
    rest: Option<(u64, Vec<u8>)>,
    /// Whether the writer is writing a line.
    is_writing: bool,
    /// The progress of every request that a call waits for.
    requests: HashMap<u64, Progress>,
    is_gone: bool,
}

enum Progress {
    Queued,
    /// The writer is writing it, and determines the outcome.
    Sending,
    Sent {
        /// When it was sent, or when the relay last reported it as pending.
        heard: Instant,
    },
    Done(Result<RelayMessage<String>, EditorError>),
}

impl Progress {
    fn sent() -> Progress {
        Progress::Sent { heard: Instant::now() }
    }
}

impl LinkClient {
    /// Connects to the relay named in the environment; `None` if there is none.
    pub fn from_environment() -> Option<Result<LinkClient, String>> {
        let socket = std::env::var_os(SOCKET_VARIABLE)?;
        let Ok(token) = std::env::var(TOKEN_VARIABLE) else {
            return Some(Err(format!("{TOKEN_VARIABLE} is not set")));
        };
        Some(LinkClient::connect(Path::new(&socket), &token))
    }

    /// Connects to a relay.
    pub fn connect(socket: &Path, token: &str) -> Result<LinkClient, String> {
        let (stream, welcome) = handshake(socket, token)?;
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            has_work: Condvar::new(),
            stream,
            rehearser: OnceLock::new(),
        });
        let (reader, writer) = (shared.clone(), shared.clone());
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let spawned = std::thread::Builder::new().name(name.into()).spawn(run);
            spawned.map_err(|error| error.to_string())
        };
        spawn("recto-link-read", Box::new(move || reader.take_replies()))?;
        spawn("recto-link-write", Box::new(move || writer.write_requests()))?;
        Ok(LinkClient { shared, welcome })
    }

    /// Returns the capabilities of the editor.
    pub fn welcome(&self) -> Welcome {
        self.welcome
    }

    /// Sets the rehearser. Without one, rehearsals have no result.
    pub fn rehearse_with(&self, rehearser: Rehearser) {
        // The first one is kept.
        let _ = self.shared.rehearser.set(rehearser);
    }

    /// Closes the link. All pending requests fail.
    pub fn close(&self) {
        self.shared.disconnect();
    }

    /// Updates a call's card in the editor. Returns once the update is sent, so that the agent's
    /// reaction to the answer comes later.
    pub fn update(&self, update: Value) {
        self.shared.send_and_wait(ServerMessage::Update(update));
    }

    /// Returns the current turn of the session. It is empty if the relay does not know it.
    pub fn turn(&self) -> Turn {
        let ask = |id| ServerMessage::Turn { id };
        match self.request(ask, WaitLimit::Limited, &Context::default()) {
            Ok(RelayMessage::Turn { model, title, .. }) => Turn { model, title },
            _ => Turn::default(),
        }
    }

    fn request<'a>(
        &self,
        ask: impl FnOnce(u64) -> ServerMessage<&'a str>,
        limit: WaitLimit,
        context: &Context,
    ) -> Result<RelayMessage<String>, EditorError> {
        let is_cancelled = || context.cancel.check().is_err();
        if is_cancelled() {
            return Err(EditorError::Cancelled);
        }
        let (id, mut state) = self.shared.enqueue(ask).ok_or(EditorError::NotSent)?;
        let start = Instant::now();
        let mut timeout = ChangeTimeout::new(start);
        loop {
            let progress = state.requests.get(&id).expect("only this call removes it");
            let given_up = match (progress, limit) {
                (Progress::Done(_), _) => {
                    let Some(Progress::Done(result)) = state.requests.remove(&id) else {
                        unreachable!("checked above")
                    };
                    return result;
                }
                (Progress::Queued, _) if is_cancelled() => Some(EditorError::Cancelled),
                (_, WaitLimit::Limited) if is_cancelled() => Some(EditorError::Cancelled),
                (_, WaitLimit::Limited) if start.elapsed() >= READ_LIMIT => {
                    Some(EditorError::Silent)
                }
                _ => None,
            };
            if let Some(error) = given_up {
                state.forget(id);
                return Err(error);
            }
            if let (Progress::Sent { heard }, WaitLimit::Unlimited) = (progress, limit) {
                if timeout.is_ignored(*heard) {
                    state.forget(id);
                    return Err(EditorError::Unanswered);
                }
                if let Some(after_ms) = timeout.is_due(*heard, is_cancelled()) {
                    self.shared.push(&mut state, 0, &ServerMessage::GiveUp { id, after_ms });
                }
            }
            state = self.shared.wait(state);
        }
    }
}

/// How long a call waits for a reply.
#[derive(Clone, Copy)]
enum WaitLimit {
    /// Up to [`READ_LIMIT`], or until the call is cancelled.
    Limited,
    /// Unlimited: the editor may be waiting for its user, and a sent write cannot be cancelled.
    Unlimited,
}

impl Editor for LinkClient {
    fn can_read(&self) -> bool {
        self.welcome.can_read
    }

    fn can_write(&self) -> bool {
        self.welcome.can_write
    }

    fn read(&self, path: &Path, context: &Context) -> Result<String, EditorError> {
        // An editor cannot have opened a file whose name is not valid in JSON.
        let path = path.to_str().ok_or(EditorError::NoSuchFile)?;
        match self.request(|id| ServerMessage::Read { id, path }, WaitLimit::Limited, context)? {
            RelayMessage::Text { content, .. } => Ok(content),
            RelayMessage::Failed { code: -32002, .. } => Err(EditorError::NoSuchFile),
            reply => Err(refusal(reply)),
        }
    }

    fn write(
        &self,
        path: &Path,
        change: &EditorWrite<'_>,
        context: &Context,
    ) -> Result<EditorOutcome, EditorError> {
        let path = path.to_str().ok_or(EditorError::Unsupported)?;
        let content = change.after;
        if content.len() > MAX_EDITOR_TEXT {
            let message = format!("the text is longer than {MAX_EDITOR_TEXT} bytes");
            return Err(EditorError::Refused { code: -32602, message });
        }
        let expects = change.before.map(|before| Digest::of(before.as_bytes()).to_string());
        let ask = |id| ServerMessage::Change { id, path, expects, content };
        match self.request(ask, WaitLimit::Unlimited, context)? {
            RelayMessage::Written { content, .. } => {
                Ok(EditorOutcome::Written { text_after: content })
            }
            RelayMessage::Moved { .. } => Ok(EditorOutcome::Conflict),
            RelayMessage::GivenUp { .. } if context.cancel.check().is_err() => {
                Err(EditorError::Cancelled)
            }
            RelayMessage::GivenUp { is_gone: true, .. } => Err(EditorError::NotSent),
            RelayMessage::GivenUp { .. } => Err(EditorError::Silent),
            reply => Err(refusal(reply)),
        }
    }
}

fn refusal(reply: RelayMessage<String>) -> EditorError {
    match reply {
        RelayMessage::Failed { code: -32601, .. } => EditorError::Unsupported,
        RelayMessage::Failed { code, message, .. } => EditorError::Refused { code, message },
        _ => EditorError::Refused { code: -32603, message: "unexpected answer".into() },
    }
}

fn handshake(socket: &Path, token: &str) -> Result<(UnixStream, Welcome), String> {
    const MAX_WELCOME: usize = 4096;
    let told = |error: std::io::Error| error.to_string();
    let mut stream = UnixStream::connect(socket).map_err(told)?;
    check_peer(&stream).map_err(told)?;
    let mut hello = super::line(&ServerMessage::<&str>::Hello { token: token.into() });
    hello.push(b'\n');
    stream.set_write_timeout(Some(HELLO_LIMIT)).map_err(told)?;
    stream.write_all(&hello).map_err(told)?;
    let until = DeadlineReader { stream: &stream, deadline: Instant::now() + HELLO_LIMIT };
    let mut buffer = Vec::new();
    // Reads byte by byte, so that no byte of the next line is consumed.
    match line::read(&mut BufReader::with_capacity(1, until), &mut buffer, MAX_WELCOME) {
        Ok(LineRead::Whole) => {}
        Ok(_) => return Err("the connection was closed".into()),
        Err(error) => return Err(told(error)),
    }
    let welcome = match serde_json::from_slice::<RelayMessage<String>>(&buffer) {
        Ok(RelayMessage::Welcome(welcome)) => welcome,
        Ok(RelayMessage::Unwelcome { reason }) => return Err(reason),
        _ => return Err("unexpected answer".into()),
    };
    stream.set_read_timeout(None).map_err(told)?;
    stream.set_write_timeout(None).map_err(told)?;
    Ok((stream, welcome))
}

impl LinkState {
    /// Forgets a request. If it was not started, it is not sent.
    fn forget(&mut self, id: u64) {
        self.queue.retain(|(queued, _)| *queued != id);
        self.requests.remove(&id);
    }

    fn disconnect(&mut self) {
        self.is_gone = true;
        self.queue.clear();
        // The writer has not taken it yet and will not report its outcome.
        if let Some(progress) = self.rest.take().and_then(|(id, _)| self.requests.get_mut(&id)) {
            *progress = Progress::Done(Err(EditorError::NotSent));
        }
        for progress in self.requests.values_mut() {
            match progress {
                Progress::Queued => *progress = Progress::Done(Err(EditorError::NotSent)),
                Progress::Sent { .. } => *progress = Progress::Done(Err(EditorError::Unanswered)),
                Progress::Sending | Progress::Done(_) => {}
            }
        }
    }
}

impl Shared {
    /// Sends or queues a request; `None` if the link is closed. Ids increase in the order of the
    /// lines.
    fn enqueue<'a>(
        &self,
        ask: impl FnOnce(u64) -> ServerMessage<&'a str>,
    ) -> Option<(u64, MutexGuard<'_, LinkState>)> {
        let mut state = lock(&self.state);
        if state.is_gone {
            return None;
        }
        state.last_id += 1;
        let id = state.last_id;
        let progress = self.push(&mut state, id, &ask(id));
        state.requests.insert(id, progress);
        Some((id, state))
    }

    /// Writes a line or leaves it to the writer, and returns its progress.
    fn push(&self, state: &mut LinkState, id: u64, ask: &ServerMessage<&str>) -> Progress {
        let mut line = super::line(ask);
        line.push(b'\n');
        let n_sent = self.send_now(state, &line);
        if n_sent == line.len() {
            return Progress::sent();
        }
        let progress = if n_sent > 0 {
            state.rest = Some((id, line.split_off(n_sent)));
            Progress::Sending
        } else {
            state.queue.push_back((id, line));
            Progress::Queued
        };
        self.has_work.notify_all();
        progress
    }

    /// Writes as much of a line as possible without blocking, if no other line is queued. Returns the
    /// number of bytes written.
    fn send_now(&self, state: &LinkState, line: &[u8]) -> usize {
        if state.is_writing || state.rest.is_some() || !state.queue.is_empty() {
            return 0;
        }
        recto_platform::write_now(&self.stream, line)
    }

    /// Sends a message that has no reply, and returns when it is sent.
    fn send_and_wait(&self, ask: ServerMessage<&str>) {
        let Some((id, mut state)) = self.enqueue(|_| ask) else { return };
        let deadline = Instant::now() + READ_LIMIT;
        while matches!(state.requests.get(&id), Some(Progress::Queued | Progress::Sending))
            && Instant::now() < deadline
        {
            state = self.wait(state);
        }
        state.requests.remove(&id);
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, LinkState>) -> MutexGuard<'a, LinkState> {
        wait_timeout(&self.changed, state, CANCEL_INTERVAL)
    }

    fn disconnect(&self) {
        // Also unblocks the writer.
        let _ = self.stream.shutdown(Shutdown::Both);
        lock(&self.state).disconnect();
        self.changed.notify_all();
        self.has_work.notify_all();
    }

    fn write_requests(&self) {
        while let Some((id, line)) = self.next_request() {
            let written = (&self.stream).write_all(&line);
            let mut state = lock(&self.state);
            state.is_writing = false;
            let is_gone = state.is_gone;
            if let Some(progress @ Progress::Sending) = state.requests.get_mut(&id) {
                *progress = match &written {
                    Ok(()) if is_gone => Progress::Done(Err(EditorError::Unanswered)),
                    Ok(()) => Progress::sent(),
                    Err(_) => Progress::Done(Err(EditorError::NotSent)),
                };
            }
            drop(state);
            self.changed.notify_all();
            if written.is_err() {
                self.disconnect();
            }
        }
    }

    fn next_request(&self) -> Option<(u64, Vec<u8>)> {
        let mut state = lock(&self.state);
        loop {
            if state.is_gone {
                return None;
            }
            if let Some((id, line)) = state.rest.take().or_else(|| state.queue.pop_front()) {
                state.is_writing = true;
                if let Some(progress) = state.requests.get_mut(&id) {
                    *progress = Progress::Sending;
                }
                return Some((id, line));
            }
            state = wait(&self.has_work, state);
        }
    }

    fn take_replies(self: &Arc<Self>) {
        let mut input = BufReader::with_capacity(64 << 10, Polled(&self.stream));
        loop {
            let mut buffer = Vec::new();
            let Ok(LineRead::Whole) = line::read(&mut input, &mut buffer, MAX_LINE) else { break };
            let Ok(reply) = serde_json::from_slice::<RelayMessage<String>>(&buffer) else { break };
            let id = match &reply {
                RelayMessage::Text { id, .. }
                | RelayMessage::Written { id, .. }
                | RelayMessage::Moved { id }
                | RelayMessage::GivenUp { id, .. }
                | RelayMessage::Turn { id, .. }
                | RelayMessage::Failed { id, .. } => *id,
                RelayMessage::Pending { id } => {
                    if let Some(Progress::Sent { heard }) = lock(&self.state).requests.get_mut(id) {
                        *heard = Instant::now();
                    }
                    continue;
                }
                RelayMessage::Welcome(_) | RelayMessage::Unwelcome { .. } => continue,
                RelayMessage::Rehearse { .. } => {
                    self.rehearse(reply);
                    continue;
                }
            };
            // A cancelled call has removed its request.
            if let Some(progress) = lock(&self.state).requests.get_mut(&id) {
                *progress = Progress::Done(Ok(reply));
            }
            self.changed.notify_all();
        }
        self.disconnect();
    }

    /// Starts a rehearsal. It may read from the editor, so it must not block the reader.
    fn rehearse(self: &Arc<Self>, reply: RelayMessage<String>) {
        let RelayMessage::Rehearse { id, tool, arguments } = reply else { return };
        let shared = self.clone();
        let answer = move |content| shared.send_and_wait(ServerMessage::Rehearsed { id, content });
        match self.rehearser.get() {
            Some(rehearser) => rehearser.start(tool, arguments, answer),
            None => answer(None),
        }
    }
}
