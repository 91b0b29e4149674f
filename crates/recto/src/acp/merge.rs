//! Merges recto's updates about a call with the agent's, so that an editor shows one card.
//!
//! Title, kind, locations, diff and outcome come from recto, because the tool knows them and an
//! agent does not. The agent's event creates the card if it comes first, as for calls that need
//! permission, and ends it if recto never receives the call. Everything else passes unchanged.

mod agent_call;
mod calls;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use recto_store::lru::Lru;
use recto_tools::Served;
use serde_json::{Map, Value, json};

use self::agent_call::{Agent, AgentCall};
use self::calls::{
    CallSignature, Key, MissingHalf, Permission, ToolState, TrackedCall, TrackedCalls,
};
use super::line_sender::LineSender;
use super::updates;
use recto_tools::call::Witnessed;
use recto_tools::tools::{self, Effect, Tool};

/// The maximum number of sessions whose directories are remembered.
const MAX_SESSIONS: usize = 1000;

/// Members of an update that contain nothing about the call.
const ENVELOPE: &[&str] = &["sessionUpdate", "toolCallId"];

/// Members that recto's updates provide; the agent's are dropped.
const RECTO_MEMBERS: &[&str] =
    &["title", "kind", "name", "locations", "rawInput", "status", "content", "rawOutput"];

/// Members that describe a call and follow from its arguments.
const CARD: &[&str] = &["title", "kind", "name", "locations", "rawInput"];

/// A call that an agent requests permission for.
pub struct PermissionRequest {
    /// Its session.
    pub session: String,
    /// The tool's name.
    pub tool: &'static str,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// The editor's answer to a permission request.
#[derive(Debug, PartialEq, Eq)]
pub struct PermissionAnswer {
    /// The session of the call.
    pub session: String,
    /// The id of the call.
    pub id: String,
    /// The id of the request, as JSON.
    pub request: String,
    /// Whether the permission was granted.
    pub is_granted: bool,
}

/// The state of all sessions between an editor and an agent.
#[derive(Default)]
pub struct Merger {
    agent: Agent,
    calls: TrackedCalls,
    roots: Lru<String, PathBuf, MAX_SESSIONS>,
}

impl Merger {
    /// Sets the agent, which decides how its events are read.
    pub fn set_agent(&mut self, agent: Agent) {
        self.agent = agent;
    }

    /// Sets the directory that a session's relative paths are relative to. Without it, the agent's
    /// events about relative paths have no locations.
    pub fn open(&mut self, session_id: &str, root: PathBuf) {
        self.roots.insert(session_id.into(), root);
    }

    /// Forgets the calls of a session, which an agent is about to replay, except running ones.
    pub fn reopen(&mut self, session_id: &str) {
        self.calls.forget_session(session_id);
    }

    /// Takes an update of recto and returns the message for the editor.
    pub fn from_recto(&mut self, session_id: &str, update: Value) -> Value {
        let update = self.merge_update(session_id, update);
        // Not in the macro, which would copy the update.
        let mut message = json!({
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": session_id, "update": null},
        });
        message["params"]["update"] = update;
        message
    }

    /// Assigns the call of a message to a server, so that it ends when the server disconnects.
    pub fn assign_server(&mut self, message: &Value, server: &LineSender) {
        if let Some(CallRef { key, .. }) = self.call_ref(message)
            && let Some(call) = self.calls.get_mut(&key)
        {
            call.server = (call.ours == ToolState::Running).then(|| server.clone());
        }
    }

    /// Marks the running calls of a disconnected server as failed.
    pub fn give_up(&mut self, session_id: &str, server: &LineSender) -> Vec<Value> {
        let ids = self.calls.of_server(session_id, server);
        let failed = |id: String| json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed"});
        ids.into_iter().map(|id| self.from_recto(session_id, failed(id))).collect()
    }

    /// Takes the editor's answer to a permission request. Stops waiting for a call that the user
    /// declined, which recto should not receive.
    pub fn answer(&mut self, answer: &PermissionAnswer) {
        let PermissionAnswer { session, id, request, is_granted } = answer;
        let (Some(key), is_granted) = (Key::new(session, id), *is_granted) else { return };
        let known = self.calls.resolve(key);
        let Some(call) = self.calls.get_mut(&known) else { return };
        if let Some(permission) = call.permission.as_mut().filter(|it| it.request == *request) {
            permission.is_granted = is_granted;
        }
        if !is_granted && call.ours == ToolState::Awaited {
            self.calls.settle(&known);
        }
    }

    /// Returns the call that a message requests permission for, if it is one of recto's that modifies
    /// a file.
    pub fn permission_request(&mut self, message: &Value) -> Option<PermissionRequest> {
        let CallRef { key, pointer, root, is_update } = self.call_ref(message)?;
        let event = message.pointer(pointer).filter(|_| !is_update)?;
        let session = message.pointer("/params/sessionId")?.as_str()?.to_string();
        let known = self.recognise(&key, &root, event)?;
        let name = self.calls.get_mut(&known)?.card.get("name")?.as_str()?;
        let tool = tools::find(name).filter(|tool| tool.effect() != Effect::Reads)?;
        let arguments = self.calls.kept(&known)?.clone();
        Some(PermissionRequest { session, tool: tool.name, arguments })
    }

    /// Takes a message of the agent and returns the message for the editor, if any. Messages that are
    /// not about recto's calls are returned unchanged. `rehearsed` is the rehearsed content of the
    /// call that the message requests permission for, if it is known.
    pub fn from_agent(&mut self, message: Value, rehearsed: Option<Vec<Value>>) -> Option<Value> {
        let mut message = message;
        let Some(CallRef { key, pointer, root, is_update }) = self.call_ref(&message) else {
            return Some(message);
        };
        let request = message["id"].to_string();
        let update = message.pointer_mut(pointer)?;
        if is_update {
            let taken = update.take();
            *update = self.merge_event(key, &root, taken)?;
        } else {
            self.permission(key, &root, request, update, rehearsed);
        }
        Some(message)
    }

    /// Finds the call in a message.
    fn call_ref(&mut self, message: &Value) -> Option<CallRef> {
        let method = message.get("method").and_then(Value::as_str)?;
        let pointer = match method {
            "session/update" => "/params/update",
            "session/request_permission" => "/params/toolCall",
            _ => return None,
        };
        let session = message.pointer("/params/sessionId")?.as_str()?;
        let id = message.pointer(pointer)?.get("toolCallId")?.as_str()?;
        let key = Key::new(session, id)?;
        let root = self.roots.get(session).cloned().unwrap_or_default();
        Some(CallRef { key, pointer, root, is_update: method == "session/update" })
    }

    /// Merges an update of recto.
    fn merge_update(&mut self, session_id: &str, mut update: Value) -> Value {
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
        let mut warning = None;
        let is_shown = match self.calls.get_mut(&known) {
            Some(call) => {
                if !card.is_empty() {
                    call.card = card;
                }
                call.ours = ours;
                call.signature = if is_start { signature } else { call.signature.or(signature) };
                warning = call.warning();
                std::mem::replace(&mut call.is_shown, true) || call.is_announced
            }
            None => {
                let call = TrackedCall::new(card, ours, signature);
                self.calls.insert(&known, TrackedCall { is_shown: true, ..call });
                false
            }
        };
        // The agent's event was matched, or will be by its id.
        if known != key || !updates::is_own_id(key.id()) {
            self.calls.settle(&known);
        }
        update["toolCallId"] = known.id().into();
        if let Some(warning) = warning {
            let content = update["content"].as_array_mut().map(std::mem::take);
            let blocks =
                std::iter::once(updates::words(warning)).chain(content.into_iter().flatten());
            update["content"] = blocks.collect();
        }
        if is_shown && is_start {
            // Permission was requested and granted.
            update["status"] = "in_progress".into();
        }
        update["sessionUpdate"] = if is_shown { "tool_call_update" } else { "tool_call" }.into();
        update
    }

    /// Merges an event of the agent. Returns the remaining members, if any.
    fn merge_event(&mut self, key: Key, root: &Path, mut update: Value) -> Option<Value> {
        if !matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update")) {
            return Some(update);
        }
        let Some(known) = self.recognise(&key, root, &update) else {
            if update["sessionUpdate"] == "tool_call" {
                self.calls.announce(&key);
            }
            return Some(update);
        };
        let parsed = AgentCall::parse(&update, self.agent);
        let has_arguments = parsed.as_ref().is_some_and(|call| call.arguments.is_some());
        let repeats_arguments = parsed.is_some_and(|call| call.repeats_arguments);
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
                if repeats_arguments {
                    fields.shift_remove("content");
                }
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
            // The server may have died without an update; if not, its own update replaces this one.
            ToolState::Running if is_end => {
                let own = RECTO_MEMBERS.iter().filter(|name| **name != "status");
                own.for_each(|name| drop(fields.shift_remove(*name)));
            }
            ToolState::Running | ToolState::Finished => {
                RECTO_MEMBERS.iter().for_each(|name| drop(fields.shift_remove(*name)));
            }
        }
        if is_end && ours == ToolState::Awaited {
            self.calls.settle(&known);
        }
        if was_shown {
            fields.insert("sessionUpdate".into(), "tool_call_update".into());
            let says_something = fields.keys().any(|name| !ENVELOPE.contains(&name.as_str()));
            return says_something.then_some(update);
        }
        Some(update)
    }

    /// Adds the card, and what the call would do, to a permission request.
    fn permission(
        &mut self,
        key: Key,
        root: &Path,
        request: String,
        asked: &mut Value,
        rehearsed: Option<Vec<Value>>,
    ) {
        let Some(known) = self.recognise(&key, root, asked) else { return };
        // The user may see nothing else of a call whose title the model chose.
        let is_repeated = |call: AgentCall<'_>| call.is_certain && call.repeats_arguments;
        let repeats_arguments = AgentCall::parse(asked, self.agent).is_some_and(is_repeated);
        let Some(call) = self.calls.get_mut(&known) else { return };
        // A later request, for example with other arguments, needs an answer of its own.
        call.permission = Some(Permission { request, call: call.signature, is_granted: false });
        let card = call.card.clone();
        let arguments = self.calls.kept(&known);
        let tool = card.get("name").and_then(Value::as_str).and_then(tools::find);
        let shown = tool.zip(arguments).map(|(tool, arguments)| {
            let preview = || with_call(tool, arguments, root, updates::preview);
            (updates::cut(arguments), rehearsed.unwrap_or_else(preview))
        });
        let Some(fields) = asked.as_object_mut() else { return };
        fields.insert("toolCallId".into(), known.id().into());
        fields.extend(card);
        let Some((raw, mut blocks)) = shown else { return };
        fields.insert("rawInput".into(), raw);
        if let Some(Value::Array(theirs)) = fields.get_mut("content")
            && !repeats_arguments
        {
            blocks.append(theirs);
        }
        if !blocks.is_empty() || repeats_arguments {
            fields.insert("content".into(), blocks.into());
        }
    }

    /// Returns the key of the call in an agent's event, if it is one of recto's. Remembers the card
    /// of a new call, or of new arguments.
    fn recognise(&mut self, key: &Key, root: &Path, event: &Value) -> Option<Key> {
        let agent = self.agent;
        let mut known = self.calls.resolve(key.clone());
        if let Some(call) = self.calls.get_mut(&known)
            && is_different_call(call, event, agent)
        {
            // Agents should not reuse ids. If one does, the user must see, and may be asked to
            // permit, the new call.
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
        let Some(AgentCall { tool, arguments, .. }) = AgentCall::parse(event, agent) else {
            return ours.map(|_| known);
        };
        let arguments = arguments.as_deref();
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
                let is_announced =
                    self.calls.is_announced(&known) && event["sessionUpdate"] != "tool_call";
                let call = TrackedCall::new(card, ToolState::Awaited, Some(signature));
                self.calls.insert(&known, TrackedCall { is_announced, ..call });
            }
        }
        self.calls.wait(MissingHalf::ToolState, signature, &known);
        if let Some(arguments) = arguments {
            self.calls.keep(&known, arguments);
        }
        Some(known)
    }
}

/// Whether an event ends a call.
fn is_end(event: &Value) -> bool {
    matches!(event["status"].as_str(), Some("completed" | "failed" | "cancelled"))
}

/// Whether an event is about a different call than the known one with the same id. If in doubt,
/// it is: a permission request must never show another call's description.
fn is_different_call(call: &TrackedCall, event: &Value, agent: Agent) -> bool {
    let is_over = call.is_ended || call.ours == ToolState::Finished;
    let is_named = ["title", "name"].iter().any(|name| event[*name].is_string());
    let is_asking = match event["sessionUpdate"].as_str() {
        None if is_over => return true,
        None => true,
        Some(_) if call.ours == ToolState::Running => return false,
        Some("tool_call") => false,
        Some(_) => return false,
    };
    if agent_call::names_other_tool(event) {
        return true;
    }
    // The id is reused.
    if call.is_ended && !is_asking && !is_end(event) {
        return true;
    }
    let Some(signature) = &call.signature else { return is_asking };
    if let Some(AgentCall { tool, arguments, .. }) = AgentCall::parse(event, agent) {
        // While it is awaited, its arguments may still arrive; its end may spell them differently.
        let is_compared = is_over || call.ours != ToolState::Awaited;
        let arguments =
            arguments.as_deref().filter(|_| is_compared && (is_asking || !is_end(event)));
        return !signature.is_like(&CallSignature::new(tool, arguments));
    }
    let has_arguments = match event.get("rawInput") {
        None | Some(Value::Null) => None,
        Some(Value::Object(raw)) if raw.is_empty() => None,
        Some(Value::Object(raw)) if signature.has_arguments(raw) => Some(true),
        // The arguments may be wrapped in an unknown member.
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

/// The call in a message.
struct CallRef {
    key: Key,
    /// The JSON pointer to the call.
    pointer: &'static str,
    /// The directory that the session's relative paths are relative to.
    root: PathBuf,
    is_update: bool,
}

fn with_call<T>(
    tool: &'static Tool,
    arguments: &Map<String, Value>,
    root: &Path,
    show: impl Fn(&Witnessed<'_>) -> T,
) -> T {
    let arguments = &tool.normalized(arguments.clone());
    show(&Witnessed { tool, arguments, id: None, root, served: &Served::all() })
}

/// Returns the named members of an object.
fn members(object: &Value, names: &[&str]) -> Map<String, Value> {
    let member = |name: &&str| Some((name.to_string(), object.get(*name)?.clone()));
    names.iter().filter_map(member).collect()
}
