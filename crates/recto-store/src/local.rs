//! Files on disk below the roots, which are directories opened once at startup.
//!
//! [`roots`] resolves every path component by component from a root's handle. Later calls use only
//! the resulting handle and one name, so a swapped symbolic link cannot lead outside. Every change
//! goes through the write protocol in [`replace`].

pub mod abilities;
mod bulk;
mod change_memory;
mod content;
pub(crate) mod editor_hold;
mod excerpt;
mod hidden;
mod identity;
pub(crate) mod ignored;
mod index;
mod large;
pub mod leftovers;
mod letter_case;
pub(crate) mod list;
mod lock;
pub(crate) mod locked;
mod metadata;
mod new_dirs;
pub mod probe;
mod read;
mod recent_writers;
mod recorded;
mod replace;
mod roots;
mod state_dir;
pub mod survey;
pub mod sys;
mod transaction;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::Denial;
use crate::error::{Error, Result};
use recto_platform::{FileKind, Handle, Linux, Sys};

use crate::context::{Access, Context};
use crate::limits;
use crate::nearby;
use crate::path::AbsPath;
use crate::record::Recording;
use crate::{
    BulkReader, Bytes, FileStep, Hold, ListRequest, Listing, Nearby, Removal, Slot, StepError,
    Store, Text, Transaction, WriteStore,
};
use bulk::LocalBulk;
use editor_hold::{EditorHold, OnDisk};
pub use hidden::HiddenPaths;
use index::{Index, Indexes};
use large::LargeFile;
use leftovers::Leftovers;
use list::WalkBudget;
use lock::Locks;
use locked::{LockedPath, Purpose};
use probe::{PathInfo, Visible};
use read::OpenFile;
use recent_writers::RecentWriters;
use roots::{LastLink, Location, Roots};
pub use state_dir::{STATE_MARKER, STATE_MARKER_MODE};
use survey::{Cleaning, Survey};
use transaction::LocalTransaction;

/// The size from which recto remembers where the lines of a file are.
const MIN_INDEXED: u64 = 1 << 20;

/// The startup options of a local store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directories to serve.
    pub roots: Vec<PathBuf>,
    /// Paths that are rejected as if they were outside the roots.
    pub hidden: HiddenPaths,
    /// Whether files in `.git` directories may be written.
    pub allows_git_writes: bool,
    /// Whether a write syncs to disk before it returns.
    pub is_durable: bool,
}

/// The files below the roots.
pub struct LocalStore {
    roots: Roots,
    allows_git_writes: bool,
    is_durable: bool,
    sys: Arc<dyn Sys>,
    locks: Locks,
    leftovers: Leftovers,
    recent_writers: RecentWriters,
    indexes: Indexes,
    max_whole_change: u64,
    recording: Recording,
}

impl LocalStore {
    /// Opens the roots.
    pub fn open(options: Options) -> std::io::Result<LocalStore> {
        LocalStore::with_sys(options, Arc::new(Linux::new()))
    }

    /// Opens the roots with another implementation of the system calls, for tests.
    pub fn with_sys(options: Options, sys: Arc<dyn Sys>) -> std::io::Result<LocalStore> {
        Ok(LocalStore {
            roots: Roots::open(&options.roots, options.hidden)?,
            allows_git_writes: options.allows_git_writes,
            is_durable: options.is_durable,
            sys,
            locks: Locks::default(),
            leftovers: Leftovers::default(),
            recent_writers: RecentWriters::default(),
            indexes: Indexes::default(),
            max_whole_change: limits::WHOLE_CHANGE,
            recording: Recording::default(),
        })
    }

    /// Records every change.
    pub fn with_recording(self, recording: Recording) -> LocalStore {
        LocalStore { recording, ..self }
    }

    /// Lowers the size from which a change reads only the lines it needs, for tests.
    pub fn with_max_whole_change(self, max_whole_change: u64) -> LocalStore {
        LocalStore { max_whole_change, ..self }
    }

    /// Advances the clock that decides whether a file is old enough to be identified by its
    /// timestamps, for tests.
    pub fn with_clock_ahead(mut self, clock_ahead: Duration) -> LocalStore {
        self.indexes.clock_ahead = clock_ahead;
        self
    }

    /// Returns the canonical paths of the roots.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.roots.real_paths()
    }

    /// Returns what exists at a path after following links. Fails where a read would be denied.
    pub fn probe(&self, path: &AbsPath, context: &Context) -> Result<PathInfo> {
        self.resolve(path, LastLink::Follow, context, Access::Read).map(PathInfo::from)
    }

    /// Returns what exists at a path, without following a link at its end.
    pub fn probe_link(&self, path: &AbsPath, context: &Context) -> Result<PathInfo> {
        self.resolve(path, LastLink::Keep, context, Access::Read).map(PathInfo::from)
    }

    /// Opens a regular file. Returns `None` if it does not exist.
    pub fn open_file(&self, path: &AbsPath, context: &Context) -> Result<Option<File>> {
        let location = self.resolve(path, LastLink::Follow, context, Access::Read)?;
        let file = OpenFile::open_found(&*self.sys, &location, path)?;
        Ok(file.map(|file| File::from(file.fd)))
    }

    /// Returns the target of the link at a path, as the link spells it.
    pub fn link_target(&self, path: &AbsPath, context: &Context) -> Result<PathBuf> {
        let location = self.resolve(path, LastLink::Keep, context, Access::Read)?;
        let target = recto_platform::read_link_at(&location.dir, &location.name);
        target.map_err(|errno| sys::error(errno, path, 0))
    }

    /// Returns up to `limit` names in a directory, unsorted, or none if there is no such directory.
    pub fn names(&self, path: &AbsPath, limit: usize, context: &Context) -> Result<Vec<OsString>> {
        let location = self.resolve(path, LastLink::Follow, context, Access::Read)?;
        probe::names(&location, path, limit)
    }

    /// Returns whether a root is inside a directory, so that the directory's path is not a secret.
    pub fn is_above_root(&self, dir: &Path) -> bool {
        self.roots().iter().any(|root| root.starts_with(dir))
    }

    /// Returns a filter for the paths that a caller may see.
    pub fn visible(&self, context: &Context) -> Visible<'_> {
        let sandbox = context.sandbox.resolved(|path| path.canonicalize().ok());
        Visible { store: self, sandbox }
    }

    /// Reads a file that an editor may have open. Fails like a read, except that the file may be
    /// missing.
    pub fn on_disk(&self, path: &AbsPath, context: &Context) -> Result<OnDisk> {
        let location = self.resolve(path, LastLink::Follow, context, Access::Read)?;
        let file = OpenFile::open_found(&*self.sys, &location, path)?;
        OnDisk::read(self, &location, file, path, context)
    }

    /// Locks the directory of a file that an editor is about to change.
    pub fn hold_for_editor<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        context: &'a Context,
    ) -> Result<EditorHold<'a>> {
        LockedPath::lock(self, path, purpose, context).map(EditorHold)
    }

    /// Searches the roots for leftovers, and removes those that are safe to remove.
    pub fn survey(&self, cleaning: Cleaning) -> Survey {
        Survey::of(self, cleaning)
    }
}

impl Store for LocalStore {
    fn text<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Text<'a>> {
        let file = self.open_to_read(path, context)?;
        let kept = context.keep_memory(file.n_needed_to_read());
        kept.map_err(|reason| reason.for_file(path, file.status.size))?;
        self.text_of(file, path, context, false)
    }

    fn bulk<'a>(&'a self, context: &'a Context) -> Box<dyn BulkReader + 'a> {
        Box::new(LocalBulk::new(self, context))
    }

    fn open(&self, path: &AbsPath, context: &Context) -> Result<Box<dyn Bytes>> {
        let file = self.open_to_read(path, context)?;
        Ok(Box::new(FileBytes { file, path: path.clone(), context: context.clone() }))
    }

    fn is_file(&self, path: &AbsPath, context: &Context) -> Result<bool> {
        let location = self.resolve(path, LastLink::Follow, context, Access::Read)?;
        Ok(location.kind == Some(FileKind::File))
    }

    fn real_path(&self, path: &AbsPath, context: &Context) -> Option<PathBuf> {
        let location = self.resolve(path, LastLink::Follow, context, Access::Read);
        location.ok().map(|location| location.real_path)
    }

    fn nearby(&self, path: &AbsPath, context: &Context) -> Nearby {
        let budget = WalkBudget::nearby();
        let list = |request: &ListRequest<'_>| {
            list::list_within(&self.roots, request, budget, context).ok()
        };
        let roots: Vec<PathBuf> =
            self.roots().iter().map(|root| self.roots.as_given(root)).collect();
        nearby::find(path, &roots, list)
    }

    fn list(&self, request: &ListRequest<'_>, context: &Context) -> Result<Listing> {
        list::list(&self.roots, request, context)
    }
}

impl WriteStore for LocalStore {
    fn hold<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Hold<'a>> {
        Ok(LockedPath::lock(self, path, Purpose::Change, context)?.into_hold())
    }

    fn hold_new<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Box<dyn Slot + 'a>> {
        Ok(Box::new(LockedPath::lock(self, path, Purpose::Create, context)?))
    }

    fn hold_to_remove<'a>(&'a self, path: &AbsPath, context: &'a Context) -> Result<Removal<'a>> {
        LockedPath::lock(self, path, Purpose::Remove, context)?.into_removal()
    }

    fn transaction<'a>(
        &'a self,
        steps: &'a [FileStep<'a>],
        context: &'a Context,
    ) -> Result<Box<dyn Transaction + 'a>, Vec<StepError>> {
        Ok(Box::new(LocalTransaction::plan(self, steps, context)?))
    }

    fn recover(&self) {
        transaction::recover(self);
    }
}

/// Shared steps of the operations above.
impl LocalStore {
    fn resolve(
        &self,
        path: &AbsPath,
        last_link: LastLink,
        context: &Context,
        wants: Access,
    ) -> Result<Location> {
        let location = self.roots.resolve(path, last_link, &context.sandbox)?;
        self.check_access(location, path, context, wants)
    }

    /// Returns whether a path that is to be changed still leads to this name in this directory.
    fn resolves_to(
        &self,
        path: &AbsPath,
        last_link: LastLink,
        (dir, name): (&Handle, &OsStr),
        context: &Context,
    ) -> Result<bool> {
        let now = self.resolve(path, last_link, context, Access::Write)?;
        let id = |dir: &Handle| dir.status().map(|status| status.id());
        let is_same = id(&now.dir).and_then(|now| Ok(now == id(dir)?));
        Ok(now.name == name && is_same.map_err(|errno| sys::error(errno, path, 0))?)
    }

    /// Rejects a location that the caller may not access as `wants` says.
    fn check_access(
        &self,
        location: Location,
        path: &AbsPath,
        context: &Context,
        wants: Access,
    ) -> Result<Location> {
        let denied = |reason| Err(Error::PermissionDenied { path: path.to_string(), reason });
        if wants == Access::Write && !self.allows_git_writes && location.is_in_git_dir() {
            return denied(Denial::GitFolder);
        }
        match (wants, context.sandbox.access(&location.real_path, |path| path.canonicalize().ok()))
        {
            (_, Access::None) | (Access::Write, Access::Read) => denied(Denial::ClientSandbox),
            _ => Ok(location),
        }
    }

    fn open_to_read(&self, path: &AbsPath, context: &Context) -> Result<OpenFile> {
        let location = self.resolve(path, LastLink::Follow, context, Access::Read)?;
        self.open_found(&location, path)
    }

    fn open_found(&self, location: &Location, path: &AbsPath) -> Result<OpenFile> {
        let file = OpenFile::open_found(&*self.sys, location, path)?;
        file.ok_or_else(|| Error::FileNotFound { path: path.to_string() })
    }

    /// Reads the whole text. Returns pages instead if the file is too large, or if its line index
    /// is cached, because a page is then faster to read than the file.
    fn text_of<'a>(
        &'a self,
        file: OpenFile,
        path: &AbsPath,
        context: &'a Context,
        is_bulk: bool,
    ) -> Result<Text<'a>> {
        let is_indexed = file.status.size >= MIN_INDEXED;
        let is_known = is_indexed && self.indexes.get(&file.status).is_some();
        if !is_known && let Some(document) = file.document(path, context)? {
            if is_indexed && file.is_unchanged() {
                self.indexes.remember(&file.status, &Arc::new(Index::of(&document)));
            }
            return Ok(Text::Whole(document));
        }
        Ok(Text::Paged(Box::new(LargeFile::new(file, &self.indexes, path, context, is_bulk))))
    }
}

/// The bytes of a file on disk.
struct FileBytes {
    file: OpenFile,
    path: AbsPath,
    context: Context,
}

impl Bytes for FileBytes {
    fn size(&self) -> u64 {
        self.file.status.size
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.context.cancel.check()?;
        self.file.read_at(&self.path, buffer, offset)
    }

    fn check_unchanged(&self) -> Result<()> {
        match self.file.is_unchanged() || self.file.has_grown(&self.context) {
            true => Ok(()),
            false => Err(Error::Unstable { path: self.path.to_string() }),
        }
    }
}
