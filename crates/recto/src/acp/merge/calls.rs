//! The calls that a merger remembers, in a bounded number.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use crate::acp::line_sender::LineSender;
use crate::acp::updates::cut;
use recto_store::lru::Lru;
use recto_tools::tools::{self, Tool};

/// The maximum number of remembered calls.
pub const MAX_CALLS: usize = 10_000;

/// The maximum number of calls that wait for the other side's event.
const MAX_WAITING: usize = 1000;

/// The maximum size of the arguments that are kept for permission requests.
const MAX_KEPT: usize = 16 << 20;

/// The maximum length of an id; calls with longer ids are not remembered.
const MAX_ID: usize = 512;

/// Identifies a call. Ids are unique only within a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    session: String,
    id: String,
}

impl Key {
    /// Creates a key; `None` if an id is too long.
    pub fn new(session: &str, id: &str) -> Option<Key> {
        let is_short = session.len() <= MAX_ID && id.len() <= MAX_ID;
        is_short.then(|| Key { session: session.into(), id: id.into() })
    }

    /// Returns the key of another call of the same session.
    pub fn sibling(&self, id: &str) -> Key {
        Key { session: self.session.clone(), id: id.into() }
    }

    /// Returns the id of the call.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// The state of a call in recto's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolState {
    /// The server has not received it yet.
    Awaited,
    /// The server is executing it.
    Running,
    /// The server has finished it.
    Finished,
}

/// A remembered call.
pub struct TrackedCall {
    /// Title, kind, name and locations, as the editor shows them.
    pub card: Map<String, Value>,
    /// The state in recto's server.
    pub ours: ToolState,
    /// Whether the agent has reported its end.
    pub is_ended: bool,
    /// Whether the editor has received an event with this card.
    pub is_shown: bool,
    /// Whether the editor has received a card of the agent before the call was recognised.
    pub is_announced: bool,
    /// The tool and arguments, if known.
    pub signature: Option<CallSignature>,
    /// The permission that the agent requested for it.
    pub permission: Option<Permission>,
    /// The server that is executing it.
    pub server: Option<LineSender>,
}

/// A permission that an agent requested.
#[derive(Debug)]
pub struct Permission {
    /// The id of the request, as JSON.
    pub request: String,
    /// The call that the user was shown, if it is known.
    pub call: Option<CallSignature>,
    /// Whether the editor has granted it.
    pub is_granted: bool,
}

impl TrackedCall {
    /// Creates a call that is not shown yet.
    pub fn new(
        card: Map<String, Value>,
        ours: ToolState,
        signature: Option<CallSignature>,
    ) -> TrackedCall {
        let (is_ended, is_shown, is_announced) = (false, false, false);
        let (permission, server) = (None, None);
        TrackedCall { card, ours, is_ended, is_shown, is_announced, signature, permission, server }
    }

    /// Returns what the user must know about the permission of a call that was made: the agent asks,
    /// and nothing forces it to keep to the answer.
    pub fn warning(&self) -> Option<&'static str> {
        let &Permission { call, is_granted, .. } = self.permission.as_ref()?;
        let is_same = call.zip(self.signature).is_none_or(|(asked, made)| asked.is_like(&made));
        match (is_granted, is_same) {
            (true, true) => None,
            (true, false) => Some("This is not the call that the agent requested permission for."),
            (false, _) => Some("The agent requested permission for this call and did not get it."),
        }
    }
}

/// The tool and arguments of a call, to match events that have no common id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSignature {
    tool: &'static str,
    /// The hash of the arguments; `None` if they are not known.
    arguments: Option<u64>,
}

impl CallSignature {
    /// Creates the signature of a call of `tool`.
    pub fn new(tool: &Tool, arguments: Option<&Map<String, Value>>) -> CallSignature {
        CallSignature { tool: tool.name, arguments: arguments.map(|given| hash_of(tool, given)) }
    }

    /// Whether the call is known to have these arguments.
    pub fn has_arguments(&self, arguments: &Map<String, Value>) -> bool {
        let tool = tools::find(self.tool).expect("a signature is of a tool");
        self.arguments == Some(hash_of(tool, arguments))
    }

    /// Whether both may be the same call.
    pub fn is_like(&self, other: &CallSignature) -> bool {
        let is_same = |(one, other)| one == other;
        self.tool == other.tool && self.arguments.zip(other.arguments).is_none_or(is_same)
    }
}

/// The side whose event about a call is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingHalf {
    /// Recto's update is missing.
    ToolState,
    /// The agent's event is missing.
    Agents,
}

/// The calls of all sessions.
#[derive(Default)]
pub struct TrackedCalls {
    /// In insertion order: entries are only peeked at.
    known: Lru<Key, KnownId, MAX_CALLS>,
    waiting: VecDeque<(MissingHalf, CallSignature, Key)>,
    /// Arguments for permission requests.
    kept: Lru<Key, Map<String, Value>, MAX_WAITING, MAX_KEPT>,
}

/// The meaning of an id.
enum KnownId {
    /// A call that the editor knows by this id.
    Call(TrackedCall),
    /// The other id by which the editor knows the call.
    Alias(String),
    /// A card of the agent that was not recognised as a call of recto's, at least not yet.
    Announced,
}

impl TrackedCalls {
    /// Returns the key by which the editor knows a call.
    pub fn resolve(&self, key: Key) -> Key {
        match self.known.peek(&key) {
            Some(KnownId::Alias(id)) => key.sibling(id),
            _ => key,
        }
    }

    /// Returns the ids of the calls of a session that a server is executing.
    pub fn of_server(&self, session: &str, server: &LineSender) -> Vec<String> {
        let is_its = |key: &Key, known: &KnownId| match known {
            KnownId::Call(TrackedCall { server: Some(its), .. }) => {
                key.session == session && its.is_same(server)
            }
            _ => false,
        };
        let calls = self.known.iter().filter(|(key, known)| is_its(key, known));
        calls.map(|(key, _)| key.id.clone()).collect()
    }

    /// Forgets a call, so that its id can be reused.
    pub fn forget(&mut self, key: &Key) {
        self.known.remove(key);
        self.settle(key);
    }

    /// Forgets the calls of a session, except running ones and their aliases.
    pub fn forget_session(&mut self, session: &str) {
        let is_running = |key: &Key| match self.known.peek(&self.resolve(key.clone())) {
            Some(KnownId::Call(call)) => call.ours == ToolState::Running,
            _ => false,
        };
        let keys = self.known.iter().map(|(key, _)| key);
        let is_over = |key: &&Key| key.session == session && !is_running(key);
        let forgotten: Vec<Key> = keys.filter(is_over).cloned().collect();
        forgotten.iter().for_each(|key| self.forget(key));
    }

    /// Returns a remembered call.
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut TrackedCall> {
        match self.known.peek_mut(key)? {
            KnownId::Call(call) => Some(call),
            KnownId::Alias(_) | KnownId::Announced => None,
        }
    }

    /// Remembers a call.
    pub fn insert(&mut self, key: &Key, call: TrackedCall) {
        self.remember(key, KnownId::Call(call));
    }

    /// Remembers another id for a call that the editor knows.
    pub fn alias(&mut self, other: &Key, known: &Key) {
        self.remember(other, KnownId::Alias(known.id.clone()));
    }

    /// Remembers that the editor has a card with this id, unless it is known already.
    pub fn announce(&mut self, key: &Key) {
        if self.known.peek(key).is_none() {
            self.remember(key, KnownId::Announced);
        }
    }

    /// Whether the editor has a card with this id.
    pub fn is_announced(&self, key: &Key) -> bool {
        matches!(self.known.peek(key), Some(KnownId::Announced))
    }

    fn remember(&mut self, key: &Key, known: KnownId) {
        for (oldest, _) in self.known.insert(key.clone(), known) {
            self.settle(&oldest);
        }
    }

    /// Registers a call that waits for the other side's event. A call that already waits keeps its
    /// position.
    pub fn wait(&mut self, side: MissingHalf, signature: CallSignature, key: &Key) {
        if let Some(waiting) = self.waiting.iter_mut().find(|(_, _, waiting)| waiting == key) {
            waiting.1 = signature;
            return;
        }
        self.waiting.push_back((side, signature, key.clone()));
        if self.waiting.len() > MAX_WAITING {
            self.waiting.pop_front();
        }
    }

    /// Removes and returns the oldest waiting call of the same session that matches.
    pub fn partner(
        &mut self,
        side: MissingHalf,
        signature: &CallSignature,
        key: &Key,
    ) -> Option<Key> {
        let found = self.waiting.iter().position(|(waits_for, other, waiting)| {
            *waits_for == side && waiting.session == key.session && other.is_like(signature)
        })?;
        let (_, _, partner) = self.waiting.remove(found)?;
        Some(partner)
    }

    /// Ends the wait of a call and drops its kept arguments.
    pub fn settle(&mut self, key: &Key) {
        self.waiting.retain(|(_, _, waiting)| waiting != key);
        self.kept.remove(key);
    }

    /// Keeps the arguments of a call for a permission request that may not contain them.
    pub fn keep(&mut self, key: &Key, arguments: &Map<String, Value>) {
        self.kept.remove(key);
        let n_bytes = crate::acp::updates::n_bytes(arguments);
        if n_bytes <= MAX_KEPT {
            self.kept.insert_weighing(key.clone(), arguments.clone(), n_bytes);
        }
    }

    /// Returns the kept arguments.
    pub fn kept(&self, key: &Key) -> Option<&Map<String, Value>> {
        self.kept.peek(key)
    }

    /// Returns the number of remembered ids.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        assert!(self.waiting.len() <= MAX_WAITING);
        self.known.len()
    }
}

/// Hashes the arguments in the form that recto's updates contain: normalized, then truncated.
fn hash_of(tool: &Tool, arguments: &Map<String, Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_value(&cut(&tool.normalized(arguments.clone())), &mut hasher);
    hasher.finish()
}

/// Hashes a value independently of the order of its members. Null members count as absent.
fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.iter().filter(|(_, value)| !value.is_null()).collect();
            members.sort_by_key(|(name, _)| *name);
            members.len().hash(hasher);
            for (name, value) in members {
                name.hash(hasher);
                hash_value(value, hasher);
            }
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        scalar => scalar.to_string().hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn calls_match_whatever_form_their_arguments_have() {
        let tool = tools::find("multi_edit_text_file").unwrap();
        let declared = json!({"path": "/p/a", "edits": [{"old_string": "a", "new_string": "b"}]});
        let sent = json!({
            "file_path": "/p/a",
            "edits": r#"[{"old_string": "a", "new_string": "b"}]"#,
            "dry_run": null,
        });
        let other = json!({"file_path": "/p/b", "edits": []});
        let signature = CallSignature::new(tool, declared.as_object());
        assert!(signature.has_arguments(sent.as_object().unwrap()));
        assert!(signature.is_like(&CallSignature::new(tool, sent.as_object())));
        assert!(!signature.has_arguments(other.as_object().unwrap()));
    }
}
