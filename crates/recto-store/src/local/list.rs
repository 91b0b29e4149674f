//! Listing files: a walk over folder handles, several folders at a time.
//!
//! A folder is opened by its name in the handle of the one above it and never through a link, so
//! that nothing swapped in meanwhile leads out. Links are listed where they lead to a file
//! inside the roots, and never walked into. What is no file (FIFOs, sockets, devices) is passed
//! by without being touched.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::error::Denial;
use crate::error::{Error, Result};
use recto_platform::{FileKind, Handle, RawEntries, SysError};

use super::ignored::{self, InForce, Present, linked};
use super::roots::{LastLink, Roots};
use crate::context::{Access, Context, Sandbox};
use crate::glob::{Glob, GlobState};
use crate::limits;
use crate::path::AbsPath;
use crate::sync::{lock, wait};
use crate::{ListRequest, Listing};

/// What one walk may cost.
const MAX_ENTRIES: u64 = limits::WALK_ENTRIES;
const MAX_TIME: Duration = limits::WALK_TIME;
const MAX_DEPTH: usize = limits::WALK_DEPTH;

/// The most paths that are kept, whatever the caller wants.
const MAX_KEPT: usize = limits::WALK_KEPT;

/// Folders that are read before others help.
const N_ALONE: usize = 16;
const MAX_THREADS: usize = 8;

/// Entries of a folder are taken up to this many bytes of names at a time.
const MAX_BATCH: usize = 1 << 20;

/// Lists what matches beneath a folder.
pub fn list(roots: &Roots, request: &ListRequest<'_>, context: &Context) -> Result<Listing> {
    let sandbox = context.sandbox.resolved(|path| path.canonicalize().ok());
    let place = match roots.resolve(request.folder, LastLink::Follow, &sandbox) {
        // What the client closes is empty, as what does not exist is.
        Err(Error::PermissionDenied { reason: Denial::ClientSandbox, .. }) => {
            return Ok(Listing::default());
        }
        place => place?,
    };
    if !place.is_folder() {
        return Ok(Listing { is_missing: place.kind.is_none(), ..Listing::default() });
    }
    let Some((top, below)) = roots.beneath(&place.real_path) else {
        return Ok(Listing::default());
    };
    let root = place.real_path.ancestors().nth(below.components().count());
    let walk = Walk {
        roots,
        root: root.unwrap_or(&place.real_path),
        glob: request.glob,
        shows_ignored: request.shows_ignored,
        limit: request.limit.min(MAX_KEPT),
        real_path: place.real_path.clone(),
        n_above: if below.as_os_str().is_empty() { 0 } else { below.as_os_str().len() + 1 },
        sandbox,
        context,
        started: Instant::now(),
        n_entries: AtomicU64::new(0),
        is_stopped: AtomicBool::new(false),
        is_too_deep: AtomicBool::new(false),
        queue: Mutex::default(),
        changed: Condvar::new(),
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
    walk.push(vec![Folder {
        parent: place.folder,
        name: place.name,
        path,
        state,
        rules,
        depth: 0,
    }]);
    let found = walk.run();
    context.cancel.check()?;
    Ok(walk.listing(found))
}

/// A folder that is still to be read.
struct Folder {
    parent: Arc<Handle>,
    name: OsString,
    /// Its path from the root on, with a slash at the end unless it is empty.
    path: OsString,
    state: GlobState,
    /// What is ignored in the folder that holds it.
    rules: InForce,
    depth: usize,
}

#[derive(Default)]
struct Queue {
    folders: Vec<Folder>,
    /// How many are being read, which may bring more.
    n_busy: usize,
}

/// What one thread found.
#[derive(Default)]
struct Found {
    /// Relative to where the walk began.
    files: Vec<String>,
    total: u64,
    n_unnamable: u64,
    n_unreadable: u64,
}

struct Walk<'a> {
    roots: &'a Roots,
    glob: &'a Glob,
    shows_ignored: bool,
    limit: usize,
    /// The root that it is in.
    root: &'a Path,
    /// Where the walk begins.
    real_path: PathBuf,
    /// How many bytes of a path lie above that.
    n_above: usize,
    sandbox: Sandbox,
    context: &'a Context,
    started: Instant,
    n_entries: AtomicU64,
    is_stopped: AtomicBool,
    is_too_deep: AtomicBool,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Walk<'_> {
    fn run(&self) -> Vec<Found> {
        let mut buffer = Vec::new();
        let mut found = Found::default();
        for _ in 0..N_ALONE {
            let Some(folder) = lock(&self.queue).folders.pop() else {
                return vec![found];
            };
            let folders = self.read(folder, &mut buffer, &mut found);
            self.push(folders);
        }
        let n_threads = limits::n_threads();
        let n_more = n_threads.min(MAX_THREADS) - 1;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..n_more)
                .map(|_| {
                    scope.spawn(|| {
                        let mut found = Found::default();
                        self.work(&mut Vec::new(), &mut found);
                        found
                    })
                })
                .collect();
            self.work(&mut buffer, &mut found);
            // A thread that panics is a mistake of ours, and ends the call.
            let others = threads.into_iter().map(|thread| match thread.join() {
                Ok(found) => found,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            [found].into_iter().chain(others).collect()
        })
    }

    /// Reads folders until there are none.
    fn work(&self, buffer: &mut Vec<MaybeUninit<u8>>, found: &mut Found) {
        /// Whoever leaves, even by a panic, is no longer waited for.
        struct Busy<'a, 'b>(&'a Walk<'b>);
        impl Drop for Busy<'_, '_> {
            fn drop(&mut self) {
                let mut queue = lock(&self.0.queue);
                queue.n_busy -= 1;
                if queue.n_busy == 0 && queue.folders.is_empty() {
                    self.0.changed.notify_all();
                }
            }
        }
        loop {
            let mut queue = lock(&self.queue);
            let folder = loop {
                if let Some(folder) = queue.folders.pop() {
                    break folder;
                }
                if queue.n_busy == 0 {
                    return;
                }
                queue = wait(&self.changed, queue);
            };
            queue.n_busy += 1;
            drop(queue);
            let _busy = Busy(self);
            let folders = self.read(folder, buffer, found);
            self.push(folders);
        }
    }

    fn push(&self, mut folders: Vec<Folder>) {
        if folders.is_empty() {
            return;
        }
        let is_one = folders.len() == 1;
        lock(&self.queue).folders.append(&mut folders);
        if is_one { self.changed.notify_one() } else { self.changed.notify_all() }
    }

    /// Whether the walk has cost what it may, or nobody waits for it any more.
    fn is_over(&self) -> bool {
        if self.n_entries.load(Ordering::Relaxed) > MAX_ENTRIES || self.started.elapsed() > MAX_TIME
        {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        self.is_stopped.load(Ordering::Relaxed) || self.context.cancel.check().is_err()
    }

    /// Reads one folder: its files that match, and the folders in it where more can.
    fn read(
        &self,
        folder: Folder,
        buffer: &mut Vec<MaybeUninit<u8>>,
        found: &mut Found,
    ) -> Vec<Folder> {
        let mut folders = Vec::new();
        if self.is_over() {
            return folders;
        }
        let handle = match recto_platform::open_directory_at(&folder.parent, &folder.name) {
            Ok(handle) => Arc::new(handle),
            // It went away, or is something else by now.
            Err(SysError::NOENT | SysError::NOTDIR | SysError::LOOP) => return folders,
            Err(_) => {
                found.n_unreadable += u64::from(self.is_readable(Path::new(&folder.path)));
                return folders;
            }
        };
        let mut entries = RawEntries::new(&handle, buffer);
        let mut rules = None;
        let mut batch = Batch::default();
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
                // Where the folder did not fit at once, its rules may come later.
                let present = match is_last {
                    true => batch.present,
                    false => Present { rules: true, repository: exists(&handle, ".git") },
                };
                rules = Some(match self.shows_ignored {
                    true => None,
                    false => self.rules_in(&folder.rules, &handle, &folder.path, present),
                });
            }
            self.n_entries.fetch_add(batch.entries.len() as u64, Ordering::Relaxed);
            if let Some(rules) = &rules {
                self.take(&folder, &handle, rules, &batch, &mut folders, found);
            }
            if is_last || self.is_over() {
                return folders;
            }
            batch = Batch::default();
        }
    }

    fn take(
        &self,
        folder: &Folder,
        handle: &Arc<Handle>,
        rules: &InForce,
        batch: &Batch,
        folders: &mut Vec<Folder>,
        found: &mut Found,
    ) {
        let mut path = folder.path.clone().into_vec();
        for (index, (name, kind)) in batch.iter().enumerate() {
            if index % 64 == 63 && self.is_over() {
                return;
            }
            let kind = match kind {
                FileKind::Unknown => kind_of(handle, name),
                kind => kind,
            };
            path.truncate(folder.path.len());
            path.extend_from_slice(name.as_bytes());
            let whole = Path::new(OsStr::from_bytes(&path));
            match kind {
                FileKind::Directory => {
                    let Some(state) = self.glob.enter(&folder.state, name) else { continue };
                    if ignored::is_ignored(rules, whole, true) || self.is_closed(whole) {
                        continue;
                    }
                    if folder.depth >= MAX_DEPTH {
                        self.is_too_deep.store(true, Ordering::Relaxed);
                        continue;
                    }
                    let mut path = path.clone();
                    path.push(b'/');
                    folders.push(Folder {
                        parent: handle.clone(),
                        name: name.to_os_string(),
                        path: OsString::from_vec(path),
                        state,
                        rules: rules.clone(),
                        depth: folder.depth + 1,
                    });
                }
                FileKind::File | FileKind::Symlink
                    if self.glob.is_match(&folder.state, name)
                        && !ignored::is_ignored(rules, whole, false)
                        && !self.is_closed(whole)
                        && self.is_readable(whole)
                        && (kind == FileKind::File || self.leads_to_file(whole)) =>
                {
                    found.add(&path[self.n_above..], self.limit);
                }
                _ => {}
            }
        }
    }

    fn real_path_of(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }

    /// Whether the person who started the server hid it.
    fn is_closed(&self, path: &Path) -> bool {
        self.roots.has_hidden() && self.roots.hides(&self.real_path_of(path))
    }

    /// Whether the client's sandbox lets it be read.
    fn is_readable(&self, path: &Path) -> bool {
        match &self.sandbox {
            Sandbox::Unlimited => true,
            limited => limited.access(&self.real_path_of(path), |_| None) != Access::None,
        }
    }

    fn leads_to_file(&self, path: &Path) -> bool {
        let Some(path) = self.real_path_of(path).to_str().map(str::to_string) else { return false };
        let place = AbsPath::parse(path)
            .and_then(|path| self.roots.resolve(&path, LastLink::Follow, &self.sandbox));
        place.is_ok_and(|place| {
            let is_allowed = match &self.sandbox {
                Sandbox::Unlimited => true,
                limited => limited.access(&place.real_path, |_| None) != Access::None,
            };
            is_allowed && place.kind == Some(FileKind::File)
        })
    }

    fn rules_in(
        &self,
        above: &InForce,
        handle: &Arc<Handle>,
        path: &OsStr,
        present: Present,
    ) -> InForce {
        let linked = || linked::rules(self.roots, &self.sandbox, &self.root.join(path));
        ignored::enter(above, handle, path.len(), present, linked)
    }

    /// The rules of the folders between the root and where the walk begins, or `None` where one
    /// of those is ignored itself.
    fn rules_above(&self, top: &Arc<Handle>, below: &Path) -> Option<InForce> {
        let mut rules = None;
        if self.shows_ignored {
            return Some(rules);
        }
        let mut handle = top.clone();
        let mut path = OsString::new();
        for name in below.components() {
            let present = Present { rules: true, repository: exists(&handle, ".git") };
            rules = self.rules_in(&rules, &handle, &path, present);
            path.push(name);
            if ignored::is_ignored(&rules, Path::new(&path), true) {
                return None;
            }
            path.push("/");
            handle = Arc::new(recto_platform::enter(&handle, name).ok()?);
        }
        Some(rules)
    }

    fn listing(&self, found: Vec<Found>) -> Listing {
        let mut listing = Listing { folder: self.real_path.clone(), ..Listing::default() };
        for part in found {
            listing.files.extend(part.files);
            listing.total += part.total;
            listing.n_unnamable += part.n_unnamable;
            listing.n_unreadable += part.n_unreadable;
        }
        listing.files.sort_unstable();
        listing.files.truncate(self.limit);
        if self.is_too_deep.load(Ordering::Relaxed) {
            listing.stopped = Some("256 folders downwards");
        }
        if self.is_stopped.load(Ordering::Relaxed) {
            listing.stopped = Some(match self.n_entries.load(Ordering::Relaxed) > MAX_ENTRIES {
                true => "5,000,000 entries",
                false => "20 seconds",
            });
        }
        listing
    }
}

impl Found {
    /// Counts a match, and keeps it while it may be one of the first.
    fn add(&mut self, path: &[u8], limit: usize) {
        let Ok(path) = std::str::from_utf8(path) else {
            self.n_unnamable += 1;
            return;
        };
        self.total += 1;
        self.files.push(path.into());
        if limit == 0 {
            self.files.clear();
        } else if self.files.len() >= 2 * limit + 1024 {
            self.files.select_nth_unstable(limit - 1);
            self.files.truncate(limit);
        }
    }
}

/// Entries of a folder, without `.` and `..`.
#[derive(Default)]
struct Batch {
    names: Vec<u8>,
    /// Where each name ends, and what it names.
    entries: Vec<(usize, FileKind)>,
    present: Present,
}

impl Batch {
    fn push(&mut self, name: &[u8], kind: FileKind) {
        match name {
            b"." | b".." => return,
            b".gitignore" => self.present.rules = true,
            b".git" => self.present.repository = true,
            _ => {}
        }
        self.names.extend_from_slice(name);
        self.entries.push((self.names.len(), kind));
    }

    fn iter(&self) -> impl Iterator<Item = (&OsStr, FileKind)> {
        let mut start = 0;
        self.entries.iter().map(move |(end, kind)| {
            let name = OsStr::from_bytes(&self.names[start..*end]);
            start = *end;
            (name, *kind)
        })
    }
}

fn exists(folder: &Handle, name: &str) -> bool {
    recto_platform::status_at(folder, name).is_ok()
}

fn kind_of(folder: &Handle, name: &OsStr) -> FileKind {
    recto_platform::status_at(folder, name).map_or(FileKind::Unknown, |status| status.kind())
}
