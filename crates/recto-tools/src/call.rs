//! The one path of every call, whatever protocol it came by: find the tool, run it, catch a panic,
//! answer, and tell the witness.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_store::preview::PreviewStore;
use recto_store::{Context, Revisions, WriteStore};
use serde_json::{Map, Value};
use tracing::{Level, debug, error};

use crate::LOG_TARGET;
use crate::error::{Error, Result};
use crate::served::Served;
use crate::tools::{Answer, Env, SUBJECTS, Tool};
use crate::versions::Versions;

/// One call, owned by the worker that runs it, which may outlive an abandoned answer.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// What the client calls it elsewhere, such as to an editor, where it says so.
    pub id: Option<String>,
    /// What concerns files.
    pub context: Context,
}

/// Sees every call, such as for an editor's user.
pub trait Witness: Send + Sync {
    /// A call has come, and nothing has been read or written for it.
    fn started(&self, call: &Witnessed<'_>);

    /// It is over.
    fn finished(&self, call: &Witnessed<'_>, result: &Result<Answer>);
}

/// A call as a witness sees it.
#[derive(Clone, Copy)]
pub struct Witnessed<'a> {
    /// The tool.
    pub tool: &'static Tool,
    /// Its arguments as they came, unchecked.
    pub arguments: &'a Map<String, Value>,
    /// What the client calls it, where it says so.
    pub id: Option<&'a str>,
    /// Where relative paths start.
    pub root: &'a Path,
    /// The tools that a hint may name.
    pub served: &'a Served,
}

/// The tools that are served, and the store they work on.
#[derive(Clone)]
pub struct Calls {
    store: Arc<dyn WriteStore>,
    revisions: Arc<dyn Revisions>,
    served: Served,
    /// Where relative paths start.
    root: PathBuf,
    max_read_bytes: usize,
    versions: Arc<Versions>,
    witness: Option<Arc<dyn Witness>>,
}

impl Calls {
    /// Serves tools over a store. Relative paths start at `root`.
    pub fn new(
        store: Arc<dyn WriteStore>,
        revisions: Arc<dyn Revisions>,
        served: Served,
        root: PathBuf,
        max_read_bytes: usize,
    ) -> Calls {
        let (versions, witness) = (Arc::default(), None);
        Calls { store, revisions, served, root, max_read_bytes, versions, witness }
    }

    /// Returns the same, with a witness of every call.
    pub fn with_witness(self, witness: Arc<dyn Witness>) -> Calls {
        Calls { witness: Some(witness), ..self }
    }

    /// Returns the tools that are served.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// Runs one call. A bug in recto ends the call, not the server.
    pub fn call(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        call: &Call,
    ) -> Result<Answer> {
        if !tracing::enabled!(target: LOG_TARGET, Level::DEBUG) {
            return self.witnessed(tool, arguments, call);
        }
        let path = path_of(&arguments).map(str::to_string).unwrap_or_default();
        let start = Instant::now();
        let result = self.witnessed(tool, arguments, call);
        note(tool, &path, start.elapsed(), &result);
        result
    }

    fn witnessed(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        call: &Call,
    ) -> Result<Answer> {
        let run =
            |arguments| self.run(tool, arguments, &call.context, &*self.store, &self.versions);
        let Some(witness) = &self.witness else { return run(arguments) };
        let seen = arguments.clone();
        let id = call.id.as_deref();
        let call = Witnessed { tool, arguments: &seen, id, root: &self.root, served: &self.served };
        witness.started(&call);
        let result = run(arguments);
        witness.finished(&call, &result);
        result
    }

    /// Finds out what a call would do, now, without doing it. No witness sees it.
    pub fn rehearse(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        context: &Context,
    ) -> Result<Answer> {
        let store = PreviewStore(&*self.store);
        // What would be written is not yet a version of the file.
        self.run(tool, arguments, context, &store, &Versions::default())
    }

    /// Returns where relative paths start.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn run(
        &self,
        tool: &Tool,
        arguments: Map<String, Value>,
        context: &Context,
        store: &dyn WriteStore,
        versions: &Versions,
    ) -> Result<Answer> {
        let env = Env {
            store,
            revisions: &*self.revisions,
            context,
            root: &self.root,
            max_read_bytes: self.max_read_bytes,
            versions,
            served: &self.served,
        };
        // The store guards its own state against panics; nothing else outlives the call.
        let run = AssertUnwindSafe(|| tool.call(&env, arguments));
        let result = catch_unwind(run).unwrap_or_else(|panic| {
            let cause = panic
                .downcast_ref::<&str>()
                .map(|text| text.to_string())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "unknown".into());
            error!(target: LOG_TARGET, tool = tool.name, "a bug in recto ended a call");
            Err(Error::Internal { cause })
        });
        result.map(|answer| answer.with_notes(&context.notes.take()))
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
