//! Rehearsals that the relay requested from servers.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use recto_store::sync::lock;
use serde_json::{Map, Value};

use super::RelayMessage;
use crate::acp::line_sender::LineSender;

/// The time limit of a rehearsal. The user's permission request waits for it.
const LIMIT: Duration = Duration::from_secs(2);

/// The unanswered rehearsals.
#[derive(Default)]
pub struct Rehearsals(Mutex<PendingRehearsals>);

#[derive(Default)]
struct PendingRehearsals {
    last: u64,
    answers: HashMap<u64, Sender<Option<Vec<Value>>>>,
}

impl Rehearsals {
    /// Requests a rehearsal and waits for the content to show to the user. `None` if the server does
    /// not know it or does not answer in time.
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

    /// Takes the result of a rehearsal. Late results are ignored.
    pub fn settle(&self, id: u64, content: Option<Vec<Value>>) {
        if let Some(waiting) = lock(&self.0).answers.remove(&id) {
            // The receiver may have timed out.
            let _ = waiting.send(content);
        }
    }
}
