//! Handles each message. Most are passed on unchanged, byte for byte.
//!
//! From the editor, the hub reads the capabilities in `initialize`, adds recto's server to requests
//! that start a session, and removes answers to its own requests. From the agent, it reads the
//! answers to those requests, and merges events about recto's calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::editor::EditorRequests;
use super::inject::{Negotiated, Server, SessionParams, Splice};
use super::log::MessageLog;
use super::peek::{MessageKind, Peek, batch, classify};
use super::permissions::Permissions;
use super::turns::Turns;
use crate::acp::line_sender::LineSender;
use crate::acp::link::Welcome;
use crate::acp::link::rehearsals::Rehearsals;
use crate::acp::link::server::{Answer, ChangeRequest, Host};
use crate::acp::link::tickets::{Ticket, Tickets};
use crate::acp::merge::{Merger, PermissionRequest};
use crate::clients::{self, Client};
use crate::log::say;
use recto_store::record::Turn;
use recto_store::sync::lock;
use recto_tools::tools::as_integer;

/// How many bytes of an invalid line are shown.
const MAX_NOISE: usize = 500;

/// The state that both directions share.
pub struct Hub {
    /// Sends to the editor.
    pub to_editor: LineSender,
    /// Sends to the agent.
    pub to_agent: LineSender,
    /// The server to add to sessions.
    pub server: Server,
    /// The tokens of sessions.
    pub tickets: Arc<Tickets>,
    /// The relay's requests to the editor.
    pub editor: EditorRequests,
    /// The results of the handshake.
    pub handshake: Mutex<Handshake>,
    /// Merges recto's events with the agent's.
    pub merger: Mutex<Merger>,
    /// The permission requests that the editor has not answered yet.
    pub permissions: Permissions,
    /// The rehearsals requested from servers.
    pub rehearsals: Rehearsals,
    /// What the sessions are about.
    pub turns: Turns,
    /// The log of messages.
    pub log: Option<MessageLog>,
}

/// What editor and agent agreed on, and the editor's requests whose answers the relay needs.
#[derive(Default)]
pub struct Handshake {
    can_read: bool,
    can_write: bool,
    agreed: Negotiated,
    /// Requests of the editor whose answers the relay needs, by id.
    asked: HashMap<String, AwaitedAnswer>,
}

enum AwaitedAnswer {
    Initialize,
    /// The answer contains the session's id.
    NewSession(InjectedSession),
    /// The session's id is known.
    OldSession(Arc<Ticket>),
}

/// A session that recto's server was added to.
struct InjectedSession {
    ticket: Arc<Ticket>,
    /// The directory that its relative paths are relative to.
    root: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize {
    /// A number, also as `1.0` or `"1"`, so that an unusual spelling does not hide the other members.
    #[serde(default)]
    protocol_version: Value,
    /// The editor's capabilities.
    #[serde(default)]
    client_capabilities: Value,
    /// The agent's capabilities.
    #[serde(default)]
    agent_capabilities: Value,
    /// The agent's name and version.
    #[serde(default)]
    agent_info: Value,
    /// How to sign in to the agent.
    #[serde(default)]
    auth_methods: Value,
    /// The capabilities of either, in version 2.
    #[serde(default)]
    capabilities: Value,
}

impl Initialize {
    /// Returns the version, if it is valid.
    fn version(&self) -> Option<u64> {
        let version = as_integer(&self.protocol_version)?;
        u64::try_from(version).ok()
    }

    /// Returns the agent, if it is known. Goose reports no name.
    fn agent(&self) -> Option<&'static Client> {
        let methods = self.auth_methods.as_array().into_iter().flatten();
        let is_goose = || methods.into_iter().any(|method| method["id"] == "goose-provider");
        match self.agent_info["name"].as_str() {
            Some(name) => clients::find(name),
            None => is_goose().then(|| clients::find("goose")).flatten(),
        }
    }

    /// Whether the agent supports additional directories in a session.
    fn has_additional_directories(&self) -> bool {
        let first = &self.agent_capabilities["sessionCapabilities"]["additionalDirectories"];
        let second = &self.capabilities["session"]["additionalDirectories"];
        first.is_object() || second.is_object()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionAnswer {
    session_id: Option<String>,
}

/// Parses JSON that may be absent.
fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

/// How a message must be handled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Concern {
    /// Passed on unchanged.
    None,
    /// Answers a request of the relay.
    OurAnswer,
    /// Answers a request of the editor whose answer the relay needs.
    Answer,
    /// Answers a permission request of the agent.
    Permission,
    /// Starts the handshake.
    Initialize,
    /// Starts a session.
    Session,
    /// Starts a turn, or selects a model.
    Turn,
    /// Reports a call, or requests permission for one.
    Event,
}

impl Hub {
    /// Handles a line from the editor.
    pub fn take_from_editor(&self, line: Vec<u8>) {
        match batch(&line).filter(|items| concerns(items, |item| self.editor_concern(item))) {
            Some(items) => {
                items.iter().for_each(|item| self.take_editor_message(item.get().into()))
            }
            None => self.take_editor_message(line),
        }
    }

    fn take_editor_message(&self, mut line: Vec<u8>) {
        let splice = match classify(&line) {
            MessageKind::Message(message) => match self.editor_concern(&message) {
                Concern::OurAnswer => {
                    self.note("editor", "recto", &line);
                    if let Some(next) = self.editor.settle(&message) {
                        self.note("recto", "editor", &next);
                        // Must not block here, where the editor's answers are read.
                        self.to_editor.send_at_once(next);
                    }
                    return;
                }
                Concern::Initialize => {
                    self.read_editor_capabilities(&message);
                    None
                }
                Concern::Permission => {
                    self.permissions.answer(&message);
                    None
                }
                Concern::Session => self.add_server(&line, &message),
                Concern::Turn => {
                    self.turns.read_request(&message);
                    None
                }
                Concern::None | Concern::Answer | Concern::Event => None,
            },
            // The agent rejects invalid messages itself, such as a batch in a batch.
            MessageKind::Batch | MessageKind::Unclear | MessageKind::Noise => None,
        };
        match splice {
            None => self.note("editor", "agent", &line),
            Some(Splice { place, text }) => {
                self.note("editor", "recto", &line);
                line.splice(place, text.into_bytes());
                self.note("recto", "agent", &line);
            }
        }
        self.to_agent.send(line);
    }

    /// Handles a line from the agent.
    pub fn take_from_agent(&self, line: Vec<u8>) {
        match batch(&line).filter(|items| concerns(items, |item| self.agent_concern(item))) {
            Some(items) => items.iter().for_each(|item| self.take_agent_message(item.get().into())),
            None => self.take_agent_message(line),
        }
    }

    fn take_agent_message(&self, line: Vec<u8>) {
        match classify(&line) {
            MessageKind::Message(message) => match self.agent_concern(&message) {
                Concern::Event => return self.merge(line),
                Concern::Answer => {
                    let begun = self.read_agent_answer(&message);
                    self.pass_to_editor(line);
                    // The editor must learn of a session before it receives a call's update.
                    if let Some((begun, session)) = begun {
                        self.name(&begun, &session);
                    }
                    return;
                }
                Concern::None
                | Concern::OurAnswer
                | Concern::Permission
                | Concern::Initialize
                | Concern::Session
                | Concern::Turn => {}
            },
            MessageKind::Batch | MessageKind::Unclear => {}
            MessageKind::Noise => {
                self.note("agent", "recto", &line);
                let start = String::from_utf8_lossy(&line[..line.len().min(MAX_NOISE)]);
                return say(&format!(
                    "ignored a line from the agent that is not a message: {start}"
                ));
            }
        }
        self.pass_to_editor(line);
    }

    fn editor_concern(&self, message: &Peek<'_>) -> Concern {
        match message.method.as_deref() {
            None if self.editor.is_ours(message) => Concern::OurAnswer,
            None if self.permissions.is_answer(message) => Concern::Permission,
            Some("initialize") => Concern::Initialize,
            Some("session/new" | "session/load" | "session/resume" | "session/fork") => {
                Concern::Session
            }
            Some(method) if self.turns.concern(method) => Concern::Turn,
            _ => Concern::None,
        }
    }

    fn agent_concern(&self, message: &Peek<'_>) -> Concern {
        match message.method.as_deref() {
            Some("session/update" | "session/request_permission") if self.shows_calls() => {
                Concern::Event
            }
            None => {
                let id = message.id();
                let matters = id.is_some_and(|id| lock(&self.handshake).asked.contains_key(&id));
                if matters { Concern::Answer } else { Concern::None }
            }
            Some(_) => Concern::None,
        }
    }

    /// Whether the relay shows calls to the editor. In the draft of version 2 only the agent does.
    fn shows_calls(&self) -> bool {
        lock(&self.handshake).agreed.protocol_version < 2
    }

    fn read_editor_capabilities(&self, initialize: &Peek<'_>) {
        let params = initialize.params.map_or("null", RawValue::get);
        let Ok(params) = serde_json::from_str::<Initialize>(params) else { return };
        let offers = |name: &str| params.client_capabilities["fs"][name] == true;
        let mut handshake = lock(&self.handshake);
        handshake.can_read = offers("readTextFile");
        handshake.can_write = offers("writeTextFile");
        handshake.agreed.protocol_version = params.version().unwrap_or_default();
        if let Some(id) = initialize.id() {
            handshake.asked.insert(id, AwaitedAnswer::Initialize);
        }
    }

    /// Reads an answer of the agent. Returns the session that it started, with its id.
    fn read_agent_answer(&self, answer: &Peek<'_>) -> Option<(InjectedSession, String)> {
        let asked = lock(&self.handshake).asked.remove(&answer.id()?)?;
        let result = answer.result.map_or("null", RawValue::get);
        match asked {
            AwaitedAnswer::Initialize => {
                let Ok(answer) = serde_json::from_str::<Initialize>(result) else { return None };
                lock(&self.merger).set_agent(answer.agent());
                let mut handshake = lock(&self.handshake);
                handshake.agreed.has_additional_directories = answer.has_additional_directories();
                handshake.agreed.agent = answer.agent();
                if let Some(version) = answer.version() {
                    handshake.agreed.protocol_version = version;
                    // Version 2 does not have these methods, even if the editor offered them.
                    handshake.can_read &= version < 2;
                    handshake.can_write &= version < 2;
                }
            }
            AwaitedAnswer::OldSession(ticket) if answer.error().is_some() => {
                self.tickets.revoke(&ticket)
            }
            AwaitedAnswer::OldSession(ticket) => {
                if let Some(session) = ticket.session() {
                    self.turns.read_models(&session, &parsed(result));
                }
            }
            AwaitedAnswer::NewSession(begun) => match serde_json::from_str(result) {
                Ok(SessionAnswer { session_id: Some(session) }) => {
                    self.turns.read_models(&session, &parsed(result));
                    return Some((begun, session));
                }
                _ => self.tickets.revoke(&begun.ticket),
            },
        }
        None
    }

    /// Returns the change that adds recto's server to a request that starts a session.
    fn add_server(&self, line: &[u8], request: &Peek<'_>) -> Option<Splice> {
        let (id, params) = (request.id()?, request.params?);
        let session = SessionParams::parse(params)?;
        let ticket = self.tickets.issue().ok()?;
        let agreed = lock(&self.handshake).agreed;
        let entry = self.server.entry(&session, &ticket.token, agreed);
        let splice = entry.and_then(|entry| session.with_server(line, params, &entry));
        let Some(splice) = splice else {
            self.tickets.revoke(&ticket);
            return None;
        };
        if let Some(log) = &self.log {
            log.hide(&ticket.token);
        }
        let begun = InjectedSession { ticket, root: self.server.root(&session)?.to_string() };
        let is_loaded = request.method.as_deref() == Some("session/load");
        let is_resumed = request.method.as_deref() == Some("session/resume");
        let asked = match &session.session_id {
            Some(session) if is_loaded || is_resumed => {
                // The agent replays the calls of a loaded session, but not of a resumed one.
                if is_loaded {
                    lock(&self.merger).reopen(session);
                }
                self.name(&begun, session);
                AwaitedAnswer::OldSession(begun.ticket)
            }
            _ => AwaitedAnswer::NewSession(begun),
        };
        lock(&self.handshake).asked.insert(id, asked);
        Some(splice)
    }

    fn name(&self, begun: &InjectedSession, session: &str) {
        lock(&self.merger).open(session, begun.root.clone().into());
        begun.ticket.name(session);
    }

    fn merge(&self, line: Vec<u8>) {
        let Ok(event) = serde_json::from_slice::<Value>(&line) else {
            return self.pass_to_editor(line);
        };
        self.permissions.ask(&event);
        self.turns.read_event(&event);
        let rehearsed = self.rehearse(&event);
        // Locked until the event is sent, so that events stay in order.
        let mut merger = self.lock_merger();
        let merged = merger.from_agent(event.clone(), rehearsed);
        if merged.as_ref() == Some(&event) {
            return self.pass_to_editor(line);
        }
        self.note("agent", "recto", &line);
        if let Some(event) = merged {
            self.send_event(&event);
        }
    }

    /// Rehearses the call that the agent requests permission for. Reads nothing more from the agent
    /// meanwhile, so that its messages stay in order.
    fn rehearse(&self, event: &Value) -> Option<Vec<Value>> {
        let PermissionRequest { session, tool, arguments } =
            self.lock_merger().permission_request(event)?;
        let server = self.tickets.server_of(&session)?;
        self.rehearsals.ask(&server, tool, arguments)
    }

    /// Locks the merger, after it has been informed of the answers to permission requests.
    fn lock_merger(&self) -> MutexGuard<'_, Merger> {
        let mut merger = lock(&self.merger);
        for answer in self.permissions.take_answered() {
            merger.answer(&answer);
        }
        merger
    }

    fn send_event(&self, message: &Value) {
        self.send_to_editor(serde_json::to_vec(message).expect("values are JSON"));
    }

    /// Sends a line that the relay created.
    fn send_to_editor(&self, line: Vec<u8>) {
        self.note("recto", "editor", &line);
        self.to_editor.send(line);
    }

    fn pass_to_editor(&self, line: Vec<u8>) {
        self.note("agent", "editor", &line);
        self.to_editor.send(line);
    }

    fn note(&self, from: &str, to: &str, line: &[u8]) {
        if let Some(log) = &self.log {
            log.note(from, to, line);
        }
    }
}

impl Host for Hub {
    fn welcome(&self) -> Welcome {
        let handshake = lock(&self.handshake);
        Welcome { can_read: handshake.can_read, can_write: handshake.can_write }
    }

    fn read(&self, session_id: &str, path: &RawValue, answer: Answer) {
        self.send_to_editor(self.editor.read(session_id, path, answer));
    }

    fn change(&self, session_id: &str, change: ChangeRequest<'_>, answer: Answer) {
        self.send_to_editor(self.editor.change(session_id, change, answer));
    }

    fn give_up(&self, change: &Answer, after: Duration) {
        self.editor.give_up(change, after);
    }

    fn gone(&self, session: Option<&str>, server: &LineSender) {
        self.editor.forget(server);
        let Some(session) = session else { return };
        let mut merger = lock(&self.merger);
        for event in merger.give_up(session, server) {
            self.send_event(&event);
        }
    }

    fn update(&self, session_id: &str, update: Value, server: &LineSender) {
        if !self.shows_calls() {
            return;
        }
        // Locked until the event is sent, so that events stay in order.
        let mut merger = self.lock_merger();
        let event = merger.from_recto(session_id, update);
        merger.assign_server(&event, server);
        self.send_event(&event);
    }

    fn turn(&self, session: &str) -> Turn {
        self.turns.of(session)
    }

    fn rehearsed(&self, id: u64, content: Option<Vec<Value>>) {
        self.rehearsals.settle(id, content);
    }
}

fn concerns(items: &[&RawValue], concern: impl Fn(&Peek<'_>) -> Concern) -> bool {
    items.iter().any(|item| match classify(item.get().as_bytes()) {
        MessageKind::Message(message) => concern(&message) != Concern::None,
        MessageKind::Batch | MessageKind::Unclear | MessageKind::Noise => false,
    })
}
