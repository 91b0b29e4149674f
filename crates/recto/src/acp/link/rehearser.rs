//! A server's answer to what a call would do: the call itself, rehearsed, as
//! [`updates`](crate::acp::updates) shows it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::acp::updates;
use recto_store::context::Context;
use recto_tools::call::{Calls, Witnessed};
use recto_tools::tools::Effect;

/// The most rehearsals at once; beyond that nothing is known.
const MAX_RUNNING: usize = 8;

/// Rehearses calls, each in a thread of its own.
#[derive(Clone)]
pub struct Rehearser {
    calls: Arc<Calls>,
    /// Held once by every rehearsal that runs, beside ours.
    running: Arc<()>,
}

impl Rehearser {
    /// Rehearses what `calls` would do.
    pub fn new(calls: Calls) -> Rehearser {
        Rehearser { calls: Arc::new(calls), running: Arc::default() }
    }

    /// Finds out what a call would do, and hands what a person is shown to `answer`.
    pub fn start(
        &self,
        tool: String,
        arguments: Map<String, Value>,
        answer: impl FnOnce(Option<Vec<Value>>) + Clone + Send + 'static,
    ) {
        if Arc::strong_count(&self.running) > MAX_RUNNING {
            return answer(None);
        }
        let (calls, running, done) = (self.calls.clone(), self.running.clone(), answer.clone());
        let run = move || {
            done(rehearse(&calls, &tool, arguments));
            drop(running);
        };
        let started = std::thread::Builder::new().name("recto-rehearse".into()).spawn(run);
        if started.is_err() {
            answer(None);
        }
    }
}

fn rehearse(calls: &Calls, tool: &str, arguments: Map<String, Value>) -> Option<Vec<Value>> {
    let tool = calls.served().find(tool).filter(|tool| tool.effect() != Effect::Reads)?;
    let rehearsed = calls.rehearse(tool, arguments.clone(), &Context::default());
    let (root, served) = (calls.root(), calls.served());
    let call = Witnessed { tool, arguments: &arguments, id: None, root, served };
    updates::foreseen(&call, &rehearsed)
}
