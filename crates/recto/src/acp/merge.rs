//! One card for one call: what our tools tell of it and what the agent tells of it, made into
//! what an editor shows once.
//!
//! Title, kind, locations, diff and outcome are ours, because the tool knows them and an agent
//! does not. The agent's event is what makes the card when it comes first, as it does for calls
//! that ask for permission, and what ends it when we never hear of the call. Everything else
//! passes as it is.

mod agent_call;
mod calls;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use recto_store::lru::Lru;
use recto_tools::Served;
use serde_json::{Map, Value, json};

use self::agent_call::AgentCall;
use self::calls::{CallSignature, Calls, Key, MissingHalf, ToolState, TrackedCall};
use super::line_sender::LineSender;
use super::updates;
use recto_tools::call::Witnessed;
use recto_tools::tools::{self, Effect, Tool};

/// The most sessions whose folders are remembered.
const MAX_SESSIONS: usize = 1000;

/// Members of an update that say nothing about the call.
const FRAME: &[&str] = &["sessionUpdate", "toolCallId"];

/// What our half of a call knows better than the agent.
const OWN: &[&str] =
    &["title", "kind", "name", "locations", "rawInput", "status", "content", "rawOutput"];

/// What names a call, known from its arguments.
const CARD: &[&str] = &["title", "kind", "name", "locations", "rawInput"];

/// A call that an agent asks leave for.
pub struct PermissionRequest {
    /// Its session.
    pub session: String,
    /// The tool's name.
    pub tool: &'static str,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// The state of all sessions between an editor and an agent.
#[derive(Default)]
pub struct Merger {
    calls: Calls,
    roots: Lru<String, PathBuf, MAX_SESSIONS>,
}

impl Merger {
    /// Says where the relative paths of a session start. Without it, the agent's events about
    /// relative paths have no locations.
    pub fn open(&mut self, session_id: &str, root: PathBuf) {
        self.roots.insert(session_id.into(), root);
    }

    /// Forgets the calls of a session, which an agent is about to tell again. What still runs is
    /// shown where it is.
    pub fn reopen(&mut self, session_id: &str) {
        self.calls.forget_session(session_id);
    }

    /// Takes an update of ours and returns the message for the editor.
    pub fn from_recto(&mut self, session_id: &str, update: Value) -> Value {
        let update = self.own(session_id, update);
        // Put there rather than written in the macro, which copies what it is given.
        let mut message = json!({
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": session_id, "update": null},
        });
        message["params"]["update"] = update;
        message
    }

    /// Says which server the call of such a message belongs to. It ends with that server.
    pub fn belongs(&mut self, message: &Value, server: &LineSender) {
        if let Some(CallRef { key, .. }) = self.place(message)
            && let Some(call) = self.calls.get_mut(&key)
        {
            call.server = (call.ours == ToolState::Running).then(|| server.clone());
        }
    }

    /// Ends the calls of a server that is gone, for it will not tell.
    pub fn give_up(&mut self, session_id: &str, server: &LineSender) -> Vec<Value> {
        let ids = self.calls.of_server(session_id, server);
        let failed = |id: String| json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed"});
        ids.into_iter().map(|id| self.from_recto(session_id, failed(id))).collect()
    }

    /// The call of ours that a message asks leave for, if it changes a file.
    pub fn asking(&mut self, message: &Value) -> Option<PermissionRequest> {
        let CallRef { key, place, root, is_update } = self.place(message)?;
        let event = message.pointer(place).filter(|_| !is_update)?;
        let session = message.pointer("/params/sessionId")?.as_str()?.to_string();
        let known = self.recognise(&key, &root, event)?;
        let name = self.calls.get_mut(&known)?.card.get("name")?.as_str()?;
        let tool = tools::find(name).filter(|tool| tool.effect() != Effect::Reads)?;
        let arguments = self.calls.kept(&known)?.clone();
        Some(PermissionRequest { session, tool: tool.name, arguments })
    }

    /// Takes a message of the agent and returns what the editor gets for it. What is not about a
    /// call of ours comes back as it is. `foreseen` is what the call would do that the message
    /// asks leave for, where that is known.
    pub fn from_agent(&mut self, message: Value, foreseen: Option<Vec<Value>>) -> Option<Value> {
        let mut message = message;
        let Some(CallRef { key, place, root, is_update }) = self.place(&message) else {
            return Some(message);
        };
        let update = message.pointer_mut(place)?;
        if is_update {
            let taken = update.take();
            *update = self.agents(key, &root, taken)?;
        } else {
            self.permission(key, &root, update, foreseen);
        }
        Some(message)
    }

    /// Where a message tells of a call, and of which.
    fn place(&mut self, message: &Value) -> Option<CallRef> {
        let method = message.get("method").and_then(Value::as_str)?;
        let place = match method {
            "session/update" => "/params/update",
            "session/request_permission" => "/params/toolCall",
            _ => return None,
        };
        let session = message.pointer("/params/sessionId")?.as_str()?;
        let id = message.pointer(place)?.get("toolCallId")?.as_str()?;
        let key = Key::new(session, id)?;
        let root = self.roots.get(session).cloned().unwrap_or_default();
        Some(CallRef { key, place, root, is_update: method == "session/update" })
    }

    /// Our half.
    fn own(&mut self, session_id: &str, mut update: Value) -> Value {
        let id = update.get("toolCallId").and_then(Value::as_str);
        let Some(key) = id.and_then(|id| Key::new(session_id, id)) else { return update };
        let is_start = update["sessionUpdate"] == "tool_call";
        let tool = update["name"].as_str().and_then(tools::find);
        let mut known = self.calls.resolve(key.clone());
        if let Some(tool) = tool.filter(|_| is_start && updates::is_own_id(key.id()))
            && self.calls.get_mut(&known).is_none()
        {
            let signature = CallSignature::new(tool, update["rawInput"].as_object());
            match self.calls.partner(MissingHalf::ToolState, &signature, &key) {
                Some(partner) => {
                    self.calls.alias(&key, &partner);
                    known = partner;
                }
                None => self.calls.wait(MissingHalf::Agents, signature, &key),
            }
        }
        let ours = if is_start { ToolState::Running } else { ToolState::Finished };
        let card = members(&update, &["title", "kind", "name", "locations"]);
        let signature = tool.map(|tool| CallSignature::new(tool, update["rawInput"].as_object()));
        let is_shown = match self.calls.get_mut(&known) {
            Some(call) => {
                if !card.is_empty() {
                    call.card = card;
                }
                call.ours = ours;
                call.signature = if is_start { signature } else { call.signature.or(signature) };
                std::mem::replace(&mut call.is_shown, true)
            }
            None => {
                let call = TrackedCall::new(card, ours, signature);
                self.calls.insert(&known, TrackedCall { is_shown: true, ..call });
                false
            }
        };
        // The agent's half is there, or the id says which it will be.
        if known != key || !updates::is_own_id(key.id()) {
            self.calls.settle(&known);
        }
        update["toolCallId"] = known.id().into();
        if is_shown && is_start {
            // Permission was asked for and given.
            update["status"] = "in_progress".into();
        }
        update["sessionUpdate"] = if is_shown { "tool_call_update" } else { "tool_call" }.into();
        update
    }

    /// The agent's half: what is left of it, if anything is.
    fn agents(&mut self, key: Key, root: &Path, mut update: Value) -> Option<Value> {
        if !matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update")) {
            return Some(update);
        }
        let Some(known) = self.recognise(&key, root, &update) else { return Some(update) };
        let has_arguments =
            AgentCall::parse(&update).is_some_and(|generic| generic.arguments.is_some());
        let is_end = is_end(&update);
        let call = self.calls.get_mut(&known)?;
        let was_shown = std::mem::replace(&mut call.is_shown, true);
        call.is_ended |= is_end;
        let ours = call.ours;
        update["toolCallId"] = known.id().into();
        let fields = update.as_object_mut()?;
        match ours {
            ToolState::Awaited => {
                let raw = fields.get("rawInput").cloned();
                CARD.iter().for_each(|name| drop(fields.shift_remove(*name)));
                if has_arguments || !was_shown {
                    fields.extend(call.card.clone());
                }
                match self.calls.kept(&known) {
                    Some(arguments) if has_arguments || !was_shown => {
                        fields.insert("rawInput".into(), updates::cut(arguments));
                    }
                    _ => fields.extend(raw.map(|raw| ("rawInput".into(), raw))),
                }
            }
            // The tool may be gone and never tell; its own end overrules this one.
            ToolState::Running if is_end => {
                let own = OWN.iter().filter(|name| **name != "status");
                own.for_each(|name| drop(fields.shift_remove(*name)));
            }
            ToolState::Running | ToolState::Finished => {
                OWN.iter().for_each(|name| drop(fields.shift_remove(*name)));
            }
        }
        if is_end && ours == ToolState::Awaited {
            self.calls.settle(&known);
        }
        if was_shown {
            fields.insert("sessionUpdate".into(), "tool_call_update".into());
            let says_something = fields.keys().any(|name| !FRAME.contains(&name.as_str()));
            return says_something.then_some(update);
        }
        Some(update)
    }

    /// A request for permission: the card, and what the call would do.
    fn permission(
        &mut self,
        key: Key,
        root: &Path,
        request: &mut Value,
        foreseen: Option<Vec<Value>>,
    ) {
        let Some(known) = self.recognise(&key, root, request) else { return };
        let Some(call) = self.calls.get_mut(&known) else { return };
        let card = call.card.clone();
        let arguments = self.calls.kept(&known);
        let tool = card.get("name").and_then(Value::as_str).and_then(tools::find);
        let shown = tool.zip(arguments).map(|(tool, arguments)| {
            let preview = || with_call(tool, arguments, root, updates::preview);
            (updates::cut(arguments), foreseen.unwrap_or_else(preview))
        });
        let Some(fields) = request.as_object_mut() else { return };
        fields.insert("toolCallId".into(), known.id().into());
        fields.extend(card);
        let Some((raw, mut blocks)) = shown else { return };
        fields.insert("rawInput".into(), raw);
        if let Some(Value::Array(theirs)) = fields.get_mut("content") {
            blocks.append(theirs);
        }
        if !blocks.is_empty() {
            fields.insert("content".into(), blocks.into());
        }
    }

    /// The call that an agent tells of, if it is one of ours. A call that is new, or whose
    /// arguments are, is remembered with its card.
    fn recognise(&mut self, key: &Key, root: &Path, event: &Value) -> Option<Key> {
        let mut known = self.calls.resolve(key.clone());
        if let Some(call) = self.calls.get_mut(&known)
            && is_another(call, event)
        {
            // Agents should not use an id again. Where one does, what a person is shown, and may be
            // asked to allow, is the call that is meant now.
            if call.ours == ToolState::Running {
                return None;
            }
            self.calls.forget(&known);
            self.calls.forget(key);
            known = key.clone();
        }
        let ours = self.calls.get_mut(&known).map(|call| call.ours);
        if matches!(ours, Some(ToolState::Running | ToolState::Finished)) {
            return Some(known);
        }
        let Some(AgentCall { tool, arguments }) = AgentCall::parse(event) else {
            return ours.map(|_| known);
        };
        if ours.is_some() && arguments.is_none() {
            return Some(known);
        }
        let signature = CallSignature::new(tool, arguments);
        if ours.is_none()
            && let Some(partner) = self.calls.partner(MissingHalf::Agents, &signature, key)
        {
            self.calls.alias(key, &partner);
            return Some(partner);
        }
        let empty = Map::new();
        let card = with_call(tool, arguments.unwrap_or(&empty), root, updates::card);
        match self.calls.get_mut(&known) {
            Some(call) => {
                call.card = card;
                call.signature = Some(signature);
            }
            None => {
                self.calls
                    .insert(&known, TrackedCall::new(card, ToolState::Awaited, Some(signature)));
            }
        }
        self.calls.wait(MissingHalf::ToolState, signature, &known);
        if let Some(arguments) = arguments {
            self.calls.keep(&known, arguments);
        }
        Some(known)
    }
}

/// Whether an agent tells that a call has ended.
fn is_end(event: &Value) -> bool {
    matches!(event["status"].as_str(), Some("completed" | "failed" | "cancelled"))
}

/// Whether an agent tells of another call than the one that is known by the same id. Where that is
/// not clear, it is: nobody may be asked to allow one call in the words of another.
fn is_another(call: &TrackedCall, event: &Value) -> bool {
    let is_over = call.is_ended || call.ours == ToolState::Finished;
    let is_named = ["title", "name"].iter().any(|name| event[*name].is_string());
    let is_asking = match event["sessionUpdate"].as_str() {
        None if is_over => return true,
        None => true,
        Some(_) if call.ours == ToolState::Running => return false,
        Some("tool_call") => false,
        Some(_) => return false,
    };
    // An id that is used again.
    if call.is_ended && !is_asking && !is_end(event) {
        return true;
    }
    let Some(signature) = &call.signature else { return is_asking };
    if let Some(AgentCall { tool, arguments }) = AgentCall::parse(event) {
        // While it is awaited, its arguments may still come; at its end they may be event otherwise.
        let is_compared = is_over || call.ours != ToolState::Awaited;
        let arguments = arguments.filter(|_| is_compared && (is_asking || !is_end(event)));
        return !signature.is_like(&CallSignature::new(tool, arguments));
    }
    let has_arguments = match event.get("rawInput") {
        None | Some(Value::Null) => None,
        Some(Value::Object(raw)) if raw.is_empty() => None,
        Some(Value::Object(raw)) if signature.has_arguments(raw) => Some(true),
        // In a wrapping that is not known.
        Some(Value::Object(raw)) if !is_asking => {
            let mut inner = raw.values().filter_map(Value::as_object);
            Some(inner.any(|inner| signature.has_arguments(inner)))
        }
        Some(_) => Some(false),
    };
    if is_asking {
        return is_named || has_arguments == Some(false);
    }
    let is_other =
        |name: &str| event[name].is_string() && call.card.get(name) != Some(&event[name]);
    let is_clear = has_arguments == Some(false) || is_over || event["sessionUpdate"] == "tool_call";
    has_arguments != Some(true) && is_clear && (is_other("title") || is_other("kind"))
}

/// Where a message tells of a call.
struct CallRef {
    key: Key,
    /// A JSON pointer.
    place: &'static str,
    /// Where the session's relative paths start.
    root: PathBuf,
    is_update: bool,
}

fn with_call<T>(
    tool: &'static Tool,
    arguments: &Map<String, Value>,
    root: &Path,
    show: impl Fn(&Witnessed<'_>) -> T,
) -> T {
    show(&Witnessed { tool, arguments, id: None, root, served: &Served::all() })
}

/// Some members of an object.
fn members(object: &Value, names: &[&str]) -> Map<String, Value> {
    let member = |name: &&str| Some((name.to_string(), object.get(*name)?.clone()));
    names.iter().filter_map(member).collect()
}
