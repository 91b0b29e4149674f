//! What is done with each message. Most are handed on as the bytes they came in.
//!
//! From the editor: `initialize` tells what it can do, a request that begins a session gets our
//! server, and an answer to a request of ours is taken out. From the agent: the answers to those,
//! and events, which may concern calls of ours.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::editor::Requests;
use super::inject::{Agreed, Server, SessionParams, Splice};
use super::log::MessageLog;
use super::peek::{MessageKind, Peek, classify};
use crate::acp::line_sender::LineSender;
use crate::acp::link::Welcome;
use crate::acp::link::rehearsals::Rehearsals;
use crate::acp::link::server::{Answer, ChangeRequest, Host};
use crate::acp::link::tickets::{Ticket, Tickets};
use crate::acp::merge::{Merger, PermissionRequest};
use crate::log::say;
use recto_store::sync::lock;
use recto_tools::tools::as_integer;

/// How much of a line that is no message is shown.
const MAX_NOISE: usize = 500;

/// Everything that both directions share.
pub struct Hub {
    /// The editor's end.
    pub to_editor: LineSender,
    /// The agent's end.
    pub to_agent: LineSender,
    /// What is put into sessions.
    pub server: Server,
    /// Which server belongs to which session.
    pub tickets: Arc<Tickets>,
    /// What we asked the editor.
    pub editor: Requests,
    /// What was said so far.
    pub negotiated: Mutex<Negotiated>,
    /// Makes one of our events and the agent's.
    pub merger: Mutex<Merger>,
    /// What we asked our servers.
    pub rehearsals: Rehearsals,
    /// Where messages are noted.
    pub log: Option<MessageLog>,
}

/// What the two sides said that matters later.
#[derive(Default)]
pub struct Negotiated {
    can_read: bool,
    can_write: bool,
    agreed: Agreed,
    /// Requests of the editor whose answers matter, by id.
    asked: HashMap<String, AwaitedAnswer>,
}

enum AwaitedAnswer {
    Initialize,
    /// The session is called as the answer says.
    NewSession(InjectedSession),
    /// The session has its name.
    OldSession(Arc<Ticket>),
}

/// A session with our server in it.
struct InjectedSession {
    ticket: Arc<Ticket>,
    /// Where its relative paths start.
    root: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize {
    /// A number, also as `1.0` or `"1"`: what else is said here counts however that is spelled.
    #[serde(default)]
    protocol_version: Value,
    /// The editor's.
    #[serde(default)]
    client_capabilities: Value,
    /// The agent's.
    #[serde(default)]
    agent_capabilities: Value,
    /// Either's, in the second version.
    #[serde(default)]
    capabilities: Value,
}

impl Initialize {
    /// The version, if one is told.
    fn version(&self) -> Option<u64> {
        let version = as_integer(&self.protocol_version)?;
        u64::try_from(version).ok()
    }

    /// Whether an agent takes more folders for a session than one.
    fn has_more_folders(&self) -> bool {
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

/// Why a message is not just handed on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Concern {
    /// It is.
    None,
    /// It answers something that we asked.
    OurAnswer,
    /// It answers something whose answer matters.
    Answer,
    /// It begins everything.
    Initialize,
    /// It begins a session.
    Session,
    /// It tells of a call, or asks for leave to make one.
    Event,
}

impl Hub {
    /// Takes a line of the editor's.
    pub fn take_from_editor(&self, mut line: Vec<u8>) {
        let splice = match classify(&line) {
            MessageKind::Message(message) => match self.concern_of_editors(&message) {
                Concern::OurAnswer => {
                    self.note("editor", "recto", &line);
                    if let Some(next) = self.editor.settle(&message) {
                        self.note("recto", "editor", &next);
                        // An editor that waits until its answers are read must not wait for us.
                        self.to_editor.send_at_once(next);
                    }
                    return;
                }
                Concern::Initialize => {
                    self.learn_of_editor(&message);
                    None
                }
                Concern::Session => self.give_server(&line, &message),
                Concern::None | Concern::Answer | Concern::Event => None,
            },
            MessageKind::Batch(items) if concerns(&items, |item| self.concern_of_editors(item)) => {
                return items.iter().for_each(|item| self.take_from_editor(item.get().into()));
            }
            // What is no JSON is the agent's to refuse.
            MessageKind::Batch(_) | MessageKind::Unclear | MessageKind::Noise => None,
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

    /// Takes a line of the agent's.
    pub fn take_from_agent(&self, line: Vec<u8>) {
        match classify(&line) {
            MessageKind::Message(message) => match self.concern_of_agents(&message) {
                Concern::Event => return self.merge(line),
                Concern::Answer => {
                    let begun = self.learn_of_agent(&message);
                    self.pass_to_editor(line);
                    // The editor must know a session before it hears of a call in it.
                    if let Some((begun, session)) = begun {
                        self.name(&begun, &session);
                    }
                    return;
                }
                Concern::None | Concern::OurAnswer | Concern::Initialize | Concern::Session => {}
            },
            MessageKind::Batch(items) if concerns(&items, |item| self.concern_of_agents(item)) => {
                return items.iter().for_each(|item| self.take_from_agent(item.get().into()));
            }
            MessageKind::Batch(_) | MessageKind::Unclear => {}
            MessageKind::Noise => {
                self.note("agent", "recto", &line);
                let start = String::from_utf8_lossy(&line[..line.len().min(MAX_NOISE)]);
                return say(&format!("the agent said what is no message: {start}"));
            }
        }
        self.pass_to_editor(line);
    }

    fn concern_of_editors(&self, message: &Peek<'_>) -> Concern {
        match message.method.as_deref() {
            None if self.editor.is_ours(message) => Concern::OurAnswer,
            Some("initialize") => Concern::Initialize,
            Some("session/new" | "session/load" | "session/resume" | "session/fork") => {
                Concern::Session
            }
            _ => Concern::None,
        }
    }

    fn concern_of_agents(&self, message: &Peek<'_>) -> Concern {
        match message.method.as_deref() {
            Some("session/update" | "session/request_permission") if self.shows_calls() => {
                Concern::Event
            }
            None => {
                let id = message.id();
                let matters = id.is_some_and(|id| lock(&self.negotiated).asked.contains_key(&id));
                if matters { Concern::Answer } else { Concern::None }
            }
            Some(_) => Concern::None,
        }
    }

    /// Whether calls are shown to the editor. In the draft of version 2 that is left to the agent.
    fn shows_calls(&self) -> bool {
        lock(&self.negotiated).agreed.protocol_version < 2
    }

    fn learn_of_editor(&self, initialize: &Peek<'_>) {
        let params = initialize.params.map_or("null", RawValue::get);
        let Ok(params) = serde_json::from_str::<Initialize>(params) else { return };
        let offers = |name: &str| params.client_capabilities["fs"][name] == true;
        let mut negotiated = lock(&self.negotiated);
        negotiated.can_read = offers("readTextFile");
        negotiated.can_write = offers("writeTextFile");
        negotiated.agreed.protocol_version = params.version().unwrap_or_default();
        if let Some(id) = initialize.id() {
            negotiated.asked.insert(id, AwaitedAnswer::Initialize);
        }
    }

    /// Learns from an answer of the agent's. A session that has begun, and whose it is.
    fn learn_of_agent(&self, answer: &Peek<'_>) -> Option<(InjectedSession, String)> {
        let asked = lock(&self.negotiated).asked.remove(&answer.id()?)?;
        let result = answer.result.map_or("null", RawValue::get);
        match asked {
            AwaitedAnswer::Initialize => {
                let Ok(answer) = serde_json::from_str::<Initialize>(result) else { return None };
                let mut negotiated = lock(&self.negotiated);
                negotiated.agreed.has_more_folders = answer.has_more_folders();
                if let Some(version) = answer.version() {
                    negotiated.agreed.protocol_version = version;
                    // Version 2 has no such methods, whatever the editor offered for version 1.
                    negotiated.can_read &= version < 2;
                    negotiated.can_write &= version < 2;
                }
            }
            AwaitedAnswer::OldSession(ticket) if answer.error.is_some() => {
                self.tickets.revoke(&ticket)
            }
            AwaitedAnswer::OldSession(_) => {}
            AwaitedAnswer::NewSession(begun) => match serde_json::from_str(result) {
                Ok(SessionAnswer { session_id: Some(session) }) => return Some((begun, session)),
                _ => self.tickets.revoke(&begun.ticket),
            },
        }
        None
    }

    /// How the request must change to give the session our server.
    fn give_server(&self, line: &[u8], request: &Peek<'_>) -> Option<Splice> {
        let (id, params) = (request.id()?, request.params?);
        let session = SessionParams::parse(params)?;
        let ticket = self.tickets.issue().ok()?;
        let agreed = lock(&self.negotiated).agreed;
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
                // One that is resumed is not told again.
                if is_loaded {
                    lock(&self.merger).reopen(session);
                }
                self.name(&begun, session);
                AwaitedAnswer::OldSession(begun.ticket)
            }
            _ => AwaitedAnswer::NewSession(begun),
        };
        lock(&self.negotiated).asked.insert(id, asked);
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
        let foreseen = self.foresee(&event);
        // Kept until everything is sent, so that nothing comes in between.
        let mut merger = lock(&self.merger);
        let merged = merger.from_agent(event.clone(), foreseen);
        if merged.as_ref() == Some(&event) {
            return self.pass_to_editor(line);
        }
        self.note("agent", "recto", &line);
        if let Some(event) = merged {
            self.tell_editor(&event);
        }
    }

    /// What a call would do that the agent asks leave for. Nothing more of the agent's is read
    /// until it is known, so that what comes later stays later.
    fn foresee(&self, event: &Value) -> Option<Vec<Value>> {
        let PermissionRequest { session, tool, arguments } = lock(&self.merger).asking(event)?;
        let server = self.tickets.server_of(&session)?;
        self.rehearsals.ask(&server, tool, arguments)
    }

    fn tell_editor(&self, message: &Value) {
        self.send_to_editor(serde_json::to_vec(message).expect("values are JSON"));
    }

    /// Sends a line of our own.
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
        let negotiated = lock(&self.negotiated);
        Welcome { can_read: negotiated.can_read, can_write: negotiated.can_write }
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
            self.tell_editor(&event);
        }
    }

    fn update(&self, session_id: &str, update: Value, server: &LineSender) {
        if !self.shows_calls() {
            return;
        }
        // Kept until the event is sent, so that nothing comes in between.
        let mut merger = lock(&self.merger);
        let event = merger.from_recto(session_id, update);
        merger.belongs(&event, server);
        self.tell_editor(&event);
    }

    fn rehearsed(&self, id: u64, content: Option<Vec<Value>>) {
        self.rehearsals.settle(id, content);
    }
}

fn concerns(items: &[&RawValue], concern: impl Fn(&Peek<'_>) -> Concern) -> bool {
    items.iter().any(|item| match classify(item.get().as_bytes()) {
        MessageKind::Message(message) => concern(&message) != Concern::None,
        MessageKind::Batch(_) | MessageKind::Unclear | MessageKind::Noise => false,
    })
}
