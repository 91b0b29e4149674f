//! Runs rehearsals in a server: executes a call without writing, and returns the content that
//! [`updates`](crate::acp::updates) would show.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::acp::updates;
use recto_store::context::Context;
use recto_tools::call::{Calls, Witnessed};
use recto_tools::tools::Effect;

/// The maximum number of concurrent rehearsals; further ones have no result.
const MAX_RUNNING: usize = 8;

/// Rehearses calls, each on a thread of its own.
#[derive(Clone)]
pub struct Rehearser {
    calls: Arc<Calls>,
    /// Cloned by every running rehearsal, so that the reference count limits them.
    running: Arc<()>,
}

impl Rehearser {
    /// Creates a rehearser for `calls`.
    pub fn new(calls: Calls) -> Rehearser {
        Rehearser { calls: Arc::new(calls), running: Arc::default() }
    }

    /// Rehearses a call and passes the content to show to the user to `answer`.
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
    let arguments = tool.normalized(arguments);
    let rehearsed = calls.rehearse(tool, arguments.clone(), &Context::default());
    let (root, served) = (calls.root(), calls.served());
    let call = Witnessed { tool, arguments: &arguments, id: None, root, served };
    updates::rehearsed(&call, &rehearsed)
}
