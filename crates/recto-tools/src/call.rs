//! The path of every call, independent of the protocol: run the tool, catch panics, return the
//! answer and notify the witness.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_store::error::{Error as StoreError, Instead};
use recto_store::path::AbsPath;
use recto_store::preview::PreviewStore;
use recto_store::record::{Origin, OriginSession};
use recto_store::{Context, Revisions, WriteStore};
use serde_json::{Map, Value};
use tracing::{Level, debug, error};

use crate::LOG_TARGET;
use crate::delivery::Delivery;
use crate::error::{Error, Result};
use crate::recorded::RecordedChanges;
use crate::seen::Seen;
use crate::served::{Names, Served};
use crate::tools::{Answer, Env, FROM_PATH, SUBJECTS, Tool};
use crate::versions::Versions;

/// The maximum number of new directories that a hint suggests to create.
const MAX_NEW_DIRS: usize = 32;

/// One call. The worker that runs it owns it and may outlive the request.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The id that the client gave the call, which it also uses towards an editor.
    pub id: Option<String>,
    /// The context for file access.
    pub context: Context,
}

/// Observes every call, for example to show it to an editor's user.
pub trait Witness: Send + Sync {
    /// Called before anything is read or written.
    fn started(&self, call: &Witnessed<'_>);

    /// Called when the call has ended.
    fn finished(&self, call: &Witnessed<'_>, result: &Result<Answer>);
}

/// The part of a call that a witness sees.
#[derive(Clone, Copy)]
pub struct Witnessed<'a> {
    /// The tool.
    pub tool: &'static Tool,
    /// Its normalized but unchecked arguments.
    pub arguments: &'a Map<String, Value>,
    /// The id that the client gave the call.
    pub id: Option<&'a str>,
    /// The base of relative paths.
    pub root: &'a Path,
    /// The tools that a hint may name.
    pub served: &'a Served,
}

/// The served tools and the store they work on.
#[derive(Clone)]
pub struct Calls {
    store: Arc<dyn WriteStore>,
    revisions: Arc<dyn Revisions>,
    changes: Option<Arc<dyn RecordedChanges>>,
    served: Served,
    /// The base of relative paths.
    root: PathBuf,
    /// The other roots, which relative patterns also cover.
    more_roots: Arc<[PathBuf]>,
    delivery: Delivery,
    versions: Arc<Versions>,
    seen: Arc<Seen>,
    has_session: bool,
    witness: Option<Arc<dyn Witness>>,
}

impl Calls {
    /// Serves tools over a store. Relative paths are resolved against `root`.
    pub fn new(
        store: Arc<dyn WriteStore>,
        revisions: Arc<dyn Revisions>,
        served: Served,
        root: PathBuf,
        delivery: Delivery,
    ) -> Calls {
        let (versions, seen, witness) = (Arc::default(), Arc::default(), None);
        let (more_roots, has_session) = (Arc::default(), true);
        Calls {
            store,
            revisions,
            changes: None,
            served,
            root,
            more_roots,
            delivery,
            versions,
            seen,
            has_session,
            witness,
        }
    }

    /// Returns the same with more roots, which relative patterns also cover.
    pub fn with_more_roots(self, more_roots: Vec<PathBuf>) -> Calls {
        Calls { more_roots: more_roots.into(), ..self }
    }

    /// Returns the same with the recorded changes, of which a session gets its own.
    pub fn with_changes(self, changes: Option<Arc<dyn RecordedChanges>>) -> Calls {
        Calls { changes, ..self }
    }

    /// Returns the same with a witness for every call.
    pub fn with_witness(self, witness: Arc<dyn Witness>) -> Calls {
        Calls { witness: Some(witness), ..self }
    }

    /// Returns the same for a client that gets its answers in another way.
    pub fn for_client(&self, names: Names, delivery: Delivery) -> Calls {
        Calls { served: self.served.spelled(names), delivery, ..self.clone() }
    }

    /// Returns the same for another session, which has not seen any file yet.
    pub fn for_new_session(&self) -> Calls {
        Calls { seen: Arc::default(), ..self.clone() }
    }

    /// Returns the same for calls without a session: nothing is known about what the caller has
    /// seen, so overwriting a file needs its version.
    pub fn without_session(&self) -> Calls {
        Calls { has_session: false, ..self.for_new_session() }
    }

    /// Returns the same with only the tools that do not modify files.
    pub fn read_only(self) -> Calls {
        Calls { served: self.served.read_only(), ..self }
    }

    /// Returns the served tools.
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
        let arguments = tool.normalized(arguments);
        if !tracing::enabled!(target: LOG_TARGET, Level::DEBUG) {
            return self.witnessed(tool, arguments, call);
        }
        let path = path_of(&arguments).map(str::to_string).unwrap_or_default();
        let start = Instant::now();
        let result = self.witnessed(tool, arguments, call);
        note(tool, &path, &call.context.origin, start.elapsed(), &result);
        result
    }

    fn witnessed(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        call: &Call,
    ) -> Result<Answer> {
        let run = |arguments: Map<String, Value>| {
            self.store.recover();
            let file = self.file_of(&arguments);
            let result = self.run(tool, arguments, &call.context, &*self.store, &self.versions);
            self.record(file, &result);
            result
        };
        let Some(witness) = &self.witness else { return run(arguments) };
        let seen = arguments.clone();
        let id = call.id.as_deref();
        let call = Witnessed { tool, arguments: &seen, id, root: &self.root, served: &self.served };
        witness.started(&call);
        let result = run(arguments);
        witness.finished(&call, &result);
        result
    }

    /// Returns the result that a call would have now, without writing. The witness is not notified.
    pub fn rehearse(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        context: &Context,
    ) -> Result<Answer> {
        let store = PreviewStore(&*self.store);
        let arguments = tool.normalized(arguments);
        // Text that was not written must not be remembered as a version of the file.
        self.run(tool, arguments, context, &store, &Versions::default())
    }

    /// Adds to an error about the named path what exists near it, so that the hint is a call that works.
    fn with_nearby(
        &self,
        error: Error,
        tool: &Tool,
        path: Option<String>,
        store: &dyn WriteStore,
        context: &Context,
    ) -> Error {
        let absolute = |path: &str| AbsPath::of(self.root.join(path), path.to_string());
        let nearby = |path: &str| store.nearby(&absolute(path), context);
        let is_file = |path: &AbsPath| store.is_file(path, context).unwrap_or(false);
        let param = tool.params.iter().find(|param| SUBJECTS.contains(&param.name));
        let argument = param.map_or("path", |param| param.name);
        let creates = tool.name == "write_text_file";
        match error {
            Error::Store(StoreError::FileNotFound { path }) if creates => {
                let nearby = nearby(&path);
                Error::NothingToOverwrite { path, nearby }
            }
            Error::Store(StoreError::FileNotFound { path }) if !path.ends_with('/') => {
                let nearby = nearby(&path);
                Error::Missing { path, argument, nearby }
            }
            Error::Store(StoreError::ParentNotFound { parent })
                if creates
                    && path.is_some_and(|path| {
                        // Not if a link leads there, or `..` leaves again.
                        absolute(&path).parent() == parent
                            && !parent.split('/').any(|part| part == "..")
                            && can_create_dirs(store, Path::new(&parent), context)
                    }) =>
            {
                Error::MissingParent { parent }
            }
            Error::Store(StoreError::NotInRevision { path, revision }) => {
                let restores = tool.params.iter().any(|param| param.name == FROM_PATH.name);
                let argument = if restores { FROM_PATH.name } else { argument };
                let at = self.revisions.at(&revision, &path, context);
                let nearby = at.map(|at| at.store.nearby(&at.path, context)).unwrap_or_default();
                Error::MissingAt { path, revision, argument, nearby }
            }
            Error::Store(StoreError::RelativePath { path, root })
                if !path.starts_with("file://") && !path.is_empty() =>
            {
                let whole = self.root.join(path.strip_prefix("./").unwrap_or(&path));
                let given =
                    if path.starts_with('~') { path.clone() } else { whole.display().to_string() };
                let nearby = store.nearby(&AbsPath::of(whole.clone(), given), context);
                let has_dir = whole.parent().and_then(Path::to_str) == nearby.folder.as_deref();
                match is_file(&absolute(&path)) || (creates && has_dir) {
                    true => Error::Store(StoreError::RelativePath { path, root }),
                    false => Error::NotAbsolute { path, argument, nearby },
                }
            }
            error => error,
        }
    }

    /// Returns the path of the current file that a call names.
    fn file_of(&self, arguments: &Map<String, Value>) -> Option<PathBuf> {
        let is_current = !arguments.contains_key("commit");
        Some(self.root.join(subject(arguments)?)).filter(|_| is_current)
    }

    /// Records the versions that a call returns. Rehearsals and dry runs return none that the agent
    /// has read, and neither does an error, whose version can only be used as an argument.
    fn record(&self, file: Option<PathBuf>, result: &Result<Answer>) {
        let version = match result {
            Ok(answer) => answer.version,
            Err(error) => error.version(),
        };
        if let Some(digest) = version {
            self.versions.record(digest);
        }
        let Ok(answer) = result else { return };
        if let Some((file, digest)) = file.zip(version) {
            self.seen.record(&file, digest);
        }
        for (file, digest) in &answer.seen {
            self.versions.record(*digest);
            self.seen.record(file, *digest);
        }
    }

    /// Returns the base of relative paths.
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
            changes: self.changes.as_deref(),
            context,
            root: &self.root,
            more_roots: &self.more_roots,
            delivery: self.delivery,
            versions,
            seen: &self.seen,
            has_session: self.has_session,
            served: &self.served,
        };
        let path = subject(&arguments).map(String::from);
        // The store keeps its state consistent on a panic, and nothing else outlives the call.
        let run = AssertUnwindSafe(|| {
            let result = tool.call(&env, arguments);
            result.map_err(|error| self.with_nearby(error, tool, path, store, context))
        });
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

/// Returns the argument that names a file, unchecked and truncated for the log.
pub fn path_of(arguments: &Map<String, Value>) -> Option<&str> {
    const MAX_BYTES: usize = 2048;
    let path = subject(arguments)?;
    Some(&path[..path.floor_char_boundary(MAX_BYTES)])
}

/// Whether nothing but a directory is in the way of a missing directory.
fn can_create_dirs(store: &dyn WriteStore, dir: &Path, context: &Context) -> bool {
    for dir in dir.ancestors().take(MAX_NEW_DIRS) {
        let dir = AbsPath::of(dir.to_path_buf(), String::new());
        // First, because an editor is asked for a file that is opened.
        if store.is_file(&dir, context).unwrap_or(true) {
            return false;
        }
        match store.open(&dir, context).err() {
            Some(StoreError::FileNotFound { .. }) => {}
            error => {
                let is_folder =
                    |error| matches!(error, StoreError::NotAFile { instead: Instead::Folder, .. });
                return error.is_some_and(is_folder);
            }
        }
    }
    false
}

fn subject(arguments: &Map<String, Value>) -> Option<&str> {
    SUBJECTS.iter().find_map(|name| arguments.get(*name)?.as_str())
}

/// Logs the tool, path, outcome and duration of a finished call, but no file content.
fn note(tool: &Tool, path: &str, origin: &Origin, took: Duration, result: &Result<Answer>) {
    // Not repeated where the process serves one client.
    let client = match origin.session {
        OriginSession::OfProcess => None,
        OriginSession::Named(_) | OriginSession::Unknown => origin.client.as_ref(),
    };
    let client = client.map(|(name, _)| name.as_str());
    let tool = tool.name;
    let micros = took.as_micros() as u64;
    match result {
        Ok(answer) => {
            let bytes = answer.blocks().map(str::len).sum::<usize>() as u64;
            debug!(target: LOG_TARGET, client, tool, path, outcome = "ok", micros, bytes, "call");
        }
        Err(error) => {
            let outcome = i64::from(error.code());
            debug!(target: LOG_TARGET, client, tool, path, outcome, micros, "call");
        }
    }
}
