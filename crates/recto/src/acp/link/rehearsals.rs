//! Calls that a server was asked to rehearse, and who waits to hear of them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use recto_store::sync::lock;
use serde_json::{Map, Value};

use super::RelayMessage;
use crate::acp::line_sender::LineSender;

/// How long a server may take. A person waits for the question behind it.
const LIMIT: Duration = Duration::from_secs(2);

/// What was asked and not answered yet.
#[derive(Default)]
pub struct Rehearsals(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    last: u64,
    answers: HashMap<u64, Sender<Option<Vec<Value>>>>,
}

impl Rehearsals {
    /// Asks a server what a call would do, and waits for what a person is shown. `None` where it
    /// does not know or does not say in time.
    pub fn ask(
        &self,
        server: &LineSender,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Option<Vec<Value>> {
        let (sender, receiver) = channel();
        let mut waiting = lock(&self.0);
        waiting.last += 1;
        let id = waiting.last;
        waiting.answers.insert(id, sender);
        drop(waiting);
        let ask = RelayMessage::<&str>::Rehearse { id, tool: tool.into(), arguments };
        let is_sent = server.send(super::line(&ask));
        let answer = if is_sent { receiver.recv_timeout(LIMIT).ok() } else { None };
        lock(&self.0).answers.remove(&id);
        answer.flatten()
    }

    /// Hands on what a server found out. What comes too late is ignored.
    pub fn settle(&self, id: u64, content: Option<Vec<Value>>) {
        if let Some(waiting) = lock(&self.0).answers.remove(&id) {
            // Whoever waited may have given up just now.
            let _ = waiting.send(content);
        }
    }
}
