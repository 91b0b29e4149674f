//! The one path of every call, whatever protocol it came by: find the tool, run it, catch a
//! panic, answer, and tell whoever watches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_text::{Error, Result};
use serde_json::{Map, Value};
use tracing::{Level, debug, error};

use crate::LOG_TARGET;
use crate::tools::{self, Answer, Context, SUBJECTS, Tool};
use crate::versions::Versions;
use recto_store::caller::Caller;
use recto_store::rehearsal::Rehearsal;
use recto_store::{Revisions, WriteStore};

/// Somebody who sees every call, such as an editor's person.
pub trait Witness: Send + Sync {
    /// A call has come and nothing has been read or written for it.
    fn started(&self, call: &Call<'_>);

    /// It is over.
    fn finished(&self, call: &Call<'_>, result: &Result<Answer>);
}

/// A call as a witness sees it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'static Tool,
    /// Its arguments as they came, unchecked.
    pub arguments: &'a Map<String, Value>,
    /// Who calls.
    pub caller: &'a Caller,
    /// Where relative paths start.
    pub root: &'a Path,
}

/// The tools that are served, and the store they work on.
#[derive(Clone)]
pub struct Calls {
    store: Arc<dyn WriteStore>,
    revisions: Arc<dyn Revisions>,
    tools: Vec<&'static Tool>,
    /// Where relative paths start.
    root: PathBuf,
    max_read_bytes: usize,
    versions: Arc<Versions>,
    witness: Option<Arc<dyn Witness>>,
}

impl Calls {
    /// Serves `tools` over `store`. Relative paths start at `root`.
    pub fn new(
        store: Arc<dyn WriteStore>,
        revisions: Arc<dyn Revisions>,
        tools: Vec<&'static Tool>,
        root: PathBuf,
        max_read_bytes: usize,
    ) -> Calls {
        Calls {
            store,
            revisions,
            tools,
            root,
            max_read_bytes,
            versions: Arc::default(),
            witness: None,
        }
    }

    /// The same, with somebody who sees every call.
    pub fn with_witness(self, witness: Arc<dyn Witness>) -> Calls {
        Calls { witness: Some(witness), ..self }
    }

    /// The tools that are served.
    pub fn tools(&self) -> &[&'static Tool] {
        &self.tools
    }

    /// Finds a served tool by either spelling of its name.
    pub fn find(&self, name: &str) -> Option<&'static Tool> {
        tools::find(name).filter(|found| self.tools.iter().any(|tool| tool.name == found.name))
    }

    /// Runs one call. A mistake of ours ends the call, not the server.
    pub fn call(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        caller: &Caller,
    ) -> Result<Answer> {
        if !tracing::enabled!(target: LOG_TARGET, Level::DEBUG) {
            return self.witnessed(tool, arguments, caller);
        }
        let path = path_of(&arguments).map(str::to_string).unwrap_or_default();
        let start = Instant::now();
        let result = self.witnessed(tool, arguments, caller);
        note(tool, &path, start.elapsed(), &result);
        result
    }

    fn witnessed(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        caller: &Caller,
    ) -> Result<Answer> {
        let Some(witness) = &self.witness else {
            return self.run(tool, arguments, caller, &*self.store, &self.versions);
        };
        let seen = arguments.clone();
        let call = Call { tool, arguments: &seen, caller, root: &self.root };
        witness.started(&call);
        let result = self.run(tool, arguments, caller, &*self.store, &self.versions);
        witness.finished(&call, &result);
        result
    }

    /// Finds out what a call would do, now, without doing it. Nobody sees it.
    pub fn rehearse(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        caller: &Caller,
    ) -> Result<Answer> {
        let store = Rehearsal(&*self.store);
        // What would be written is no version of the file yet.
        self.run(tool, arguments, caller, &store, &Versions::default())
    }

    /// Where relative paths start.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn run(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        caller: &Caller,
        store: &dyn WriteStore,
        versions: &Versions,
    ) -> Result<Answer> {
        let context = Context {
            store,
            revisions: &*self.revisions,
            caller,
            root: &self.root,
            max_read_bytes: self.max_read_bytes,
            versions,
        };
        // The store guards its own state against panics; nothing else outlives the call.
        let run = AssertUnwindSafe(|| tool.call(&context, arguments));
        let result = catch_unwind(run).unwrap_or_else(|panic| {
            let cause = panic
                .downcast_ref::<&str>()
                .map(|text| text.to_string())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "unknown".into());
            error!(target: LOG_TARGET, tool = tool.name, "a mistake of recto's ended a call");
            Err(Error::Internal { cause })
        });
        result.map(|answer| answer.with_remarks(caller.remarks.take()))
    }
}

/// The argument that names a file, as it came, as far as a log shows it.
pub fn path_of(arguments: &Map<String, Value>) -> Option<&str> {
    const MAX_BYTES: usize = 2048;
    let path = SUBJECTS.iter().find_map(|name| arguments.get(*name)?.as_str())?;
    Some(&path[..path.floor_char_boundary(MAX_BYTES)])
}

/// Logs a call that is over: what, where, how it ended and how long it took, but nothing of what it
/// read or wrote.
fn note(tool: &Tool, path: &str, took: Duration, result: &Result<Answer>) {
    let micros = took.as_micros() as u64;
    match result {
        Ok(answer) => {
            let bytes = answer.text.iter().map(String::len).sum::<usize>() as u64;
            debug!(target: LOG_TARGET, tool = tool.name, path, outcome = "ok", micros, bytes, "call");
        }
        Err(error) => {
            let outcome = i64::from(error.code());
            debug!(target: LOG_TARGET, tool = tool.name, path, outcome, micros, "call");
        }
    }
}
