//! Lists files by walking directory handles, several directories at a time.
//!
//! Each directory is opened by name relative to its parent's handle, never through a link, so a
//! swapped link cannot lead outside. A link is listed if it leads to a file inside the roots, or for
//! git wherever it leads, but never descended into. FIFOs, sockets and devices are skipped without being opened.

mod batch;
mod budget;
mod links;
mod matches;
pub(crate) mod memory;
mod queue;

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::Denial;
use crate::error::{Error, Result};
use recto_platform::{FileKind, Handle, RawEntries, SysError};

use super::ignored::{self, ActiveRules, RuleFiles, linked};
use super::roots::{LastLink, Roots};
use super::state_dir::is_state_dir;
use crate::context::{Access, Context, Sandbox};
use crate::glob::{Glob, GlobState};
use crate::limits;
use crate::{ListRequest, Listing};
use batch::Batch;
pub use budget::WalkBudget;
use links::ListedLinks;
use matches::ThreadMatches;
use memory::WalkMemory;
use queue::WalkQueue;

/// The limits of one walk.
const MAX_ENTRIES: u64 = limits::WALK_ENTRIES;
const MAX_DEPTH: usize = limits::WALK_DEPTH;

/// The maximum number of paths that are kept, whatever the caller requests.
const MAX_KEPT: usize = limits::WALK_KEPT;

/// The number of directories that are read before more threads start.
const DIRS_BEFORE_THREADS: usize = 16;
const MAX_THREADS: usize = 8;

/// The maximum size of the names that are processed as one batch.
const MAX_BATCH: usize = 1 << 20;

/// The longest name that file systems allow, in bytes.
const MAX_NAME: usize = 255;

/// About the memory of a directory that is not read yet, and of a match, besides their names. Lists of
/// directories are copied when they grow.
const DIR_BYTES: usize = 288;
const FILE_BYTES: usize = 48;

/// Lists the matching files below a directory.
pub fn list(roots: &Roots, request: &ListRequest<'_>, context: &Context) -> Result<Listing> {
    list_within(roots, request, WalkBudget::whole(context), context)
}

/// Lists the matching files that a walk finds within a budget.
pub fn list_within(
    roots: &Roots,
    request: &ListRequest<'_>,
    budget: WalkBudget,
    context: &Context,
) -> Result<Listing> {
    run(roots, request, budget, ListedLinks::ToFiles, context)
}

fn run(
    roots: &Roots,
    request: &ListRequest<'_>,
    budget: WalkBudget,
    links: ListedLinks,
    context: &Context,
) -> Result<Listing> {
    let sandbox = context.sandbox.resolved(|path| path.canonicalize().ok());
    let location = match roots.resolve(request.folder, LastLink::Follow, &sandbox) {
        // A directory that the client's sandbox denies is listed as empty, like a missing one.
        Err(Error::PermissionDenied { reason: Denial::ClientSandbox, .. }) => {
            return Ok(Listing::default());
        }
        location => location?,
    };
    if !location.is_dir() {
        return Ok(Listing { is_missing: location.kind.is_none(), ..Listing::default() });
    }
    let Some((top, below)) = roots.root_containing(&location.real_path) else {
        return Ok(Listing::default());
    };
    let root = location.real_path.ancestors().nth(below.components().count());
    let walk = ListWalk {
        roots,
        root: root.unwrap_or(&location.real_path),
        glob: request.glob,
        glob_with_hidden: request.glob.clone().showing_hidden(),
        shows_ignored: request.shows_ignored,
        links,
        limit: request.limit.min(MAX_KEPT),
        real_path: location.real_path.clone(),
        n_above: if below.as_os_str().is_empty() { 0 } else { below.as_os_str().len() + 1 },
        sandbox,
        context,
        budget,
        n_entries: AtomicU64::new(0),
        is_stopped: AtomicBool::new(false),
        is_too_deep: AtomicBool::new(false),
        memory: WalkMemory::new(context),
        queue: WalkQueue::default(),
    };
    let rules = match walk.rules_above(top, below) {
        Some(rules) => rules,
        None => return Ok(Listing::default()),
    };
    let path = match walk.n_above {
        0 => OsString::new(),
        _ => [below.as_os_str(), OsStr::new("/")].into_iter().collect(),
    };
    let state = request.glob.start();
    walk.queue.push(vec![PendingDir {
        parent: location.dir,
        name: location.name,
        path,
        state,
        rules,
        depth: 0,
        n_bytes: 0,
    }]);
    let found = walk.run();
    context.cancel.check()?;
    Ok(walk.listing(found))
}

/// A directory that has not been read yet.
struct PendingDir {
    parent: Arc<Handle>,
    name: OsString,
    /// The path relative to the root, with a trailing slash unless it is empty.
    path: OsString,
    state: GlobState,
    /// The rules that apply in the parent directory.
    rules: ActiveRules,
    depth: usize,
    /// About its memory.
    n_bytes: usize,
}

/// What one thread found, and memory that it uses for every directory.
#[derive(Default)]
struct WalkThread {
    found: ThreadMatches,
    buffer: Vec<MaybeUninit<u8>>,
    batch: Batch,
}

struct ListWalk<'a> {
    roots: &'a Roots,
    glob: &'a Glob,
    /// The same glob, to count the matches that it omits.
    glob_with_hidden: Glob,
    shows_ignored: bool,
    links: ListedLinks,
    limit: usize,
    /// The root that contains the start of the walk.
    root: &'a Path,
    /// The start of the walk.
    real_path: PathBuf,
    /// The length of the path from the root to the start, in bytes.
    n_above: usize,
    sandbox: Sandbox,
    context: &'a Context,
    budget: WalkBudget,
    n_entries: AtomicU64,
    is_stopped: AtomicBool,
    is_too_deep: AtomicBool,
    memory: WalkMemory<'a>,
    queue: WalkQueue<PendingDir>,
}

impl ListWalk<'_> {
    fn run(&self) -> Vec<ThreadMatches> {
        let mut first = WalkThread::default();
        for _ in 0..DIRS_BEFORE_THREADS {
            let Some((dir, _busy)) = self.queue.take() else {
                return vec![first.found];
            };
            self.queue.push(self.read(dir, &mut first));
        }
        let n_threads = limits::n_threads();
        let n_more = n_threads.min(MAX_THREADS) - 1;
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..n_more).map(|_| scope.spawn(|| self.work(WalkThread::default()))).collect();
            let found = self.work(first);
            // A panic in a thread is a bug in recto, and ends the call.
            let others = threads.into_iter().map(|thread| match thread.join() {
                Ok(found) => found,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            [found].into_iter().chain(others).collect()
        })
    }

    /// Reads directories until none are left. Returns the sorted matches of this thread.
    fn work(&self, mut thread: WalkThread) -> ThreadMatches {
        while let Some((dir, _busy)) = self.queue.take() {
            self.queue.push(self.read(dir, &mut thread));
        }
        thread.found.files.sort_unstable();
        thread.found
    }

    /// Returns whether the walk has reached a limit or was cancelled.
    fn should_stop(&self) -> bool {
        let n_entries = self.n_entries.load(Ordering::Relaxed);
        if self.memory.is_used_up() || self.budget.is_spent(n_entries) {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        self.is_stopped.load(Ordering::Relaxed) || self.context.cancel.check().is_err()
    }

    /// Reads one directory: collects matching files, and returns the subdirectories to read.
    fn read(&self, dir: PendingDir, thread: &mut WalkThread) -> Vec<PendingDir> {
        let WalkThread { found, buffer, batch } = thread;
        let mut dirs = Vec::new();
        self.memory.give_back(dir.n_bytes);
        if self.should_stop() {
            return dirs;
        }
        let handle = match recto_platform::open_directory_at(&dir.parent, &dir.name) {
            Ok(handle) => Arc::new(handle),
            // It was removed or replaced.
            Err(SysError::NOENT | SysError::NOTDIR | SysError::LOOP) => return dirs,
            Err(_) => {
                found.n_unreadable += u64::from(self.is_readable(Path::new(&dir.path)));
                return dirs;
            }
        };
        let mut entries = RawEntries::new(&handle, buffer);
        let mut rules = None;
        batch.clear();
        loop {
            let is_last = match entries.visit_next(|name, kind| batch.push(name, kind)) {
                Some(Ok(())) => false,
                Some(Err(_)) => {
                    found.n_unreadable += 1;
                    true
                }
                None => true,
            };
            if !is_last && batch.names.len() < MAX_BATCH {
                continue;
            }
            if rules.is_none() {
                // If the directory did not fit in one batch, the marker and `.gitignore` may come
                // later.
                if (batch.has_marker || !is_last) && is_state_dir(&handle) {
                    return dirs;
                }
                let present = match is_last {
                    true => batch.present,
                    false => RuleFiles { rules: true, repository: exists(&handle, ".git") },
                };
                rules = Some(match self.shows_ignored {
                    true => None,
                    false => self.rules_in(&dir.rules, &handle, &dir.path, present),
                });
            }
            self.n_entries.fetch_add(batch.entries.len() as u64, Ordering::Relaxed);
            if let Some(rules) = &rules {
                self.add_batch(&dir, &handle, rules, batch, &mut dirs, found);
            }
            if is_last || self.should_stop() {
                return dirs;
            }
            batch.clear();
        }
    }

    fn add_batch(
        &self,
        dir: &PendingDir,
        handle: &Arc<Handle>,
        rules: &ActiveRules,
        batch: &Batch,
        dirs: &mut Vec<PendingDir>,
        found: &mut ThreadMatches,
    ) {
        let mut path = Vec::with_capacity(dir.path.len() + MAX_NAME);
        path.extend_from_slice(dir.path.as_bytes());
        let mut last_state = None;
        for (index, (name, kind)) in batch.iter().enumerate() {
            if index % 64 == 63 && self.should_stop() {
                return;
            }
            let kind = match kind {
                FileKind::Unknown => kind_of(handle, name),
                kind => kind,
            };
            path.truncate(dir.path.len());
            path.extend_from_slice(name.as_bytes());
            let whole = Path::new(OsStr::from_bytes(&path));
            let is_dotted = name.as_bytes().starts_with(b".");
            let glob = if is_dotted { &self.glob_with_hidden } else { self.glob };
            match kind {
                FileKind::Directory => {
                    let Some(state) = self.glob.enter(&dir.state, name) else {
                        let is_match = || self.glob_with_hidden.enter(&dir.state, name).is_some();
                        let is_counted = is_dotted && name != ".git" && is_match();
                        found.n_hidden += u64::from(is_counted && self.may_count(handle, whole));
                        continue;
                    };
                    if self.is_hidden(handle, whole) {
                        continue;
                    }
                    if ignored::is_ignored(rules, whole, true) {
                        found.n_ignored += u64::from(self.may_count(handle, whole));
                        continue;
                    }
                    if dir.depth >= MAX_DEPTH {
                        self.is_too_deep.store(true, Ordering::Relaxed);
                        continue;
                    }
                    let path = [path.as_slice(), b"/"].concat();
                    let state = state.shared_with(last_state.as_ref());
                    // It is shared with the directory before it, unless it differs.
                    let is_shared = last_state.as_ref() == Some(&state);
                    let n_state = if is_shared { 0 } else { state.n_bytes() };
                    let n_bytes = DIR_BYTES + 2 * path.len() + n_state;
                    self.memory.take(n_bytes);
                    last_state = Some(state.clone());
                    dirs.push(PendingDir {
                        parent: handle.clone(),
                        name: name.to_os_string(),
                        path: OsString::from_vec(path),
                        state,
                        rules: rules.clone(),
                        depth: dir.depth + 1,
                        n_bytes,
                    });
                }
                FileKind::File | FileKind::Symlink
                    if glob.is_match(&dir.state, name)
                        && self.may_count(handle, whole)
                        && (kind == FileKind::File || self.is_listed_link(whole)) =>
                {
                    if is_dotted && !self.glob.is_match(&dir.state, name) {
                        found.n_hidden += 1;
                    } else if ignored::is_ignored(rules, whole, false) {
                        found.n_ignored += 1;
                    } else {
                        let n_kept = found.files.len();
                        found.add(&path[self.n_above..], self.limit);
                        if found.files.len() > n_kept {
                            self.memory.take(FILE_BYTES + path.len());
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn real_path_of(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    /// Returns whether `--deny` hides a path.
    fn is_hidden(&self, dir: &Handle, path: &Path) -> bool {
        self.roots.has_hidden() && self.roots.hides_listed(dir, &self.real_path_of(path))
    }

    /// Returns whether an answer may reveal that a path exists.
    fn may_count(&self, dir: &Handle, path: &Path) -> bool {
        !self.is_hidden(dir, path) && self.is_readable(path)
    }

    /// Returns whether the client's sandbox allows reading a path.
    fn is_readable(&self, path: &Path) -> bool {
        match &self.sandbox {
            Sandbox::Unlimited => true,
            limited => limited.access(&self.real_path_of(path), |_| None) != Access::None,
        }
    }

    fn rules_in(
        &self,
        above: &ActiveRules,
        handle: &Arc<Handle>,
        path: &OsStr,
        present: RuleFiles,
    ) -> ActiveRules {
        let linked = || linked::rules(self.roots, &self.sandbox, &self.root.join(path));
        ignored::enter(above, handle, path.len(), present, linked)
    }

    /// Returns the rules of the directories between the root and the start of the walk, or `None`
    /// if one of those directories is ignored.
    fn rules_above(&self, top: &Arc<Handle>, below: &Path) -> Option<ActiveRules> {
        let mut rules = None;
        if self.shows_ignored {
            return Some(rules);
        }
        let mut handle = top.clone();
        let mut path = OsString::new();
        for name in below.components() {
            let present = RuleFiles { rules: true, repository: exists(&handle, ".git") };
            rules = self.rules_in(&rules, &handle, &path, present);
            path.push(name);
            if ignored::is_ignored(&rules, Path::new(&path), true) {
                return None;
            }
            path.push("/");
            handle = Arc::new(recto_platform::open_path_at(&handle, name).ok()?);
        }
        Some(rules)
    }

    fn listing(&self, found: Vec<ThreadMatches>) -> Listing {
        let folder = self.real_path.clone();
        let mut listing = Listing { folder, ..matches::merged(found) };
        listing.files.truncate(self.limit);
        if self.is_too_deep.load(Ordering::Relaxed) {
            listing.stopped = Some("256 directory levels");
        }
        if self.is_stopped.load(Ordering::Relaxed) {
            listing.stopped = Some(match self.n_entries.load(Ordering::Relaxed) > MAX_ENTRIES {
                true => "5,000,000 entries",
                false => "20 seconds",
            });
        }
        if self.memory.is_used_up() {
            listing.stopped = Some("all memory for calls was in use");
        }
        listing
    }
}

fn exists(dir: &Handle, name: &str) -> bool {
    recto_platform::status_at(dir, name).is_ok()
}

fn kind_of(dir: &Handle, name: &OsStr) -> FileKind {
    recto_platform::status_at(dir, name).map_or(FileKind::Unknown, |status| status.kind())
}

#[cfg(test)]
mod tests;
