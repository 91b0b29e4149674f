//! The calls that a merger remembers: as many as fit, the oldest forgotten.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use crate::acp::line_sender::LineSender;
use crate::acp::updates::cut;
use recto_store::lru::Lru;
use recto_tools::tools::Tool;

/// The most calls that are remembered.
pub const MAX_CALLS: usize = 10_000;

/// The most calls that wait for their other half.
const MAX_WAITING: usize = 1000;

/// The most bytes of arguments that are kept for permission requests.
const MAX_KEPT: usize = 16 << 20;

/// A longer id is nobody's; remembering it would cost what it likes.
const MAX_ID: usize = 512;

/// A call of a session. Other sessions may use the same ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    session: String,
    id: String,
}

impl Key {
    /// A call that can be remembered.
    pub fn new(session: &str, id: &str) -> Option<Key> {
        let is_short = session.len() <= MAX_ID && id.len() <= MAX_ID;
        is_short.then(|| Key { session: session.into(), id: id.into() })
    }

    /// Another call of the same session.
    pub fn sibling(&self, id: &str) -> Key {
        Key { session: self.session.clone(), id: id.into() }
    }

    /// The id, as the editor knows it.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// How far our half of a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolState {
    /// We have not heard of it from the tool.
    Awaited,
    /// The tool works on it.
    Running,
    /// The tool has ended it.
    Finished,
}

/// What is remembered of a call.
pub struct TrackedCall {
    /// Title, kind, name and locations, as the editor shows them.
    pub card: Map<String, Value>,
    /// How far our half is.
    pub ours: ToolState,
    /// Whether the agent has ended it.
    pub is_ended: bool,
    /// Whether the editor was event of the call by an event.
    pub is_shown: bool,
    /// What was called, as far as it is known.
    pub signature: Option<CallSignature>,
    /// Whose call it is, while the tool works on it.
    pub server: Option<LineSender>,
}

impl TrackedCall {
    /// A call that is not shown yet.
    pub fn new(
        card: Map<String, Value>,
        ours: ToolState,
        signature: Option<CallSignature>,
    ) -> TrackedCall {
        TrackedCall { card, ours, is_ended: false, is_shown: false, signature, server: None }
    }
}

/// Which call it is, where no id says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallSignature {
    tool: &'static str,
    /// `None` where the arguments are not known.
    arguments: Option<u64>,
}

impl CallSignature {
    /// A call of `tool`.
    pub fn new(tool: &Tool, arguments: Option<&Map<String, Value>>) -> CallSignature {
        CallSignature { tool: tool.name, arguments: arguments.map(hash_of) }
    }

    /// Whether it is known to be a call with those arguments.
    pub fn has_arguments(&self, arguments: &Map<String, Value>) -> bool {
        self.arguments == Some(hash_of(arguments))
    }

    /// Whether both can be the same call.
    pub fn is_like(&self, other: &CallSignature) -> bool {
        let is_same = |(one, other)| one == other;
        self.tool == other.tool && self.arguments.zip(other.arguments).is_none_or(is_same)
    }
}

/// Whose other half a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingHalf {
    /// We have not heard of it.
    ToolState,
    /// The agent has not event of it.
    Agents,
}

/// The calls of all sessions.
#[derive(Default)]
pub struct Calls {
    /// In the order in which they came: only looked at, never used.
    known: Lru<Key, KnownId, MAX_CALLS>,
    waiting: VecDeque<(MissingHalf, CallSignature, Key)>,
    /// Arguments for permission requests.
    kept: Lru<Key, Map<String, Value>, MAX_WAITING, MAX_KEPT>,
}

/// What an id means.
enum KnownId {
    /// The editor knows a call by it.
    Call(TrackedCall),
    /// The editor knows the call by this other id.
    Alias(String),
}

impl Calls {
    /// The key under which a call is known to the editor.
    pub fn resolve(&self, key: Key) -> Key {
        match self.known.peek(&key) {
            Some(KnownId::Alias(id)) => key.sibling(id),
            _ => key,
        }
    }

    /// The ids of the calls of a session that a server works on.
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

    /// Forgets a call, whose id then stands for another.
    pub fn forget(&mut self, key: &Key) {
        self.known.remove(key);
        self.settle(key);
    }

    /// Forgets the calls of a session but those that the tool works on, under whatever ids.
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

    /// A call that the editor may know.
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut TrackedCall> {
        match self.known.peek_mut(key)? {
            KnownId::Call(call) => Some(call),
            KnownId::Alias(_) => None,
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

    fn remember(&mut self, key: &Key, known: KnownId) {
        for (oldest, _) in self.known.insert(key.clone(), known) {
            self.settle(&oldest);
        }
    }

    /// A call waits for its other half. It keeps its place if it waits already.
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

    /// The oldest call of the same session that waits for this one.
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

    /// A call waits no longer, and its arguments are not needed.
    pub fn settle(&mut self, key: &Key) {
        self.waiting.retain(|(_, _, waiting)| waiting != key);
        self.kept.remove(key);
    }

    /// Keeps the arguments of a call for a permission request, which may come without them.
    pub fn keep(&mut self, key: &Key, arguments: &Map<String, Value>) {
        self.kept.remove(key);
        let n_bytes = crate::acp::updates::n_bytes(arguments);
        if n_bytes <= MAX_KEPT {
            self.kept.insert_weighing(key.clone(), arguments.clone(), n_bytes);
        }
    }

    /// The arguments that were kept.
    pub fn kept(&self, key: &Key) -> Option<&Map<String, Value>> {
        self.kept.peek(key)
    }

    /// How many calls and ids are remembered.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        assert!(self.waiting.len() <= MAX_WAITING);
        self.known.len()
    }
}

/// ToolState come cut, so that both halves are compared as cut.
fn hash_of(arguments: &Map<String, Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash_value(&cut(arguments), &mut hasher);
    hasher.finish()
}

/// Hashes a value whatever the order of its members. One that is null is as good as none.
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
