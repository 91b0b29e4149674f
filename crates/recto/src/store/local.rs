//! Files on a disk beneath the roots, which are folders opened once at start.
//!
//! Every path is resolved by hand from a root's handle ([`roots`]); after that only handles and
//! one name are used, so that nothing swapped in later leads out. Every change goes through one
//! write protocol ([`replace`]).

pub mod abilities;
mod company;
mod content;
mod excerpt;
pub mod filesystem;
mod folders;
mod held;
mod hidden;
mod identity;
pub(crate) mod ignored;
mod index;
mod large;
pub mod leftovers;
mod list;
mod lock;
pub mod look;
mod metadata;
mod read;
mod replace;
pub mod reserve;
mod roots;
pub mod survey;
pub mod sys;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use recto_text::error::Denial;
use recto_text::search::Search;
use recto_text::window::Window;
use recto_text::{Document, Error, Result};
use rustix::fs::FileType;

use crate::caller::{Access, Caller};
use crate::limits;
use crate::path::AbsPath;
use crate::store::{
    Bytes, Held, ListRequest, Listing, Purpose, Store, VersionedHits, VersionedPage, WriteStore,
};
use company::Company;
pub use hidden::HiddenPaths;
use index::{Index, Indexes};
use large::LargeFile;
use leftovers::Leftovers;
use lock::Locks;
use read::OpenFile;
use roots::{LastLink, Place, Roots};
use sys::{Linux, Sys};

/// From this size on it pays to know where the lines of a file are.
const MIN_INDEXED: u64 = 1 << 20;

/// What a local store is told at start.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folders that are served.
    pub roots: Vec<PathBuf>,
    /// Paths that answer as if they lay outside.
    pub hidden: HiddenPaths,
    /// Whether `.git` folders may be written.
    pub allows_git_writes: bool,
    /// Whether a write is answered only once it would survive a power cut.
    pub is_durable: bool,
}

/// The disk beneath the roots.
pub struct LocalStore {
    roots: Roots,
    allows_git_writes: bool,
    is_durable: bool,
    sys: Arc<dyn Sys>,
    locks: Locks,
    leftovers: Leftovers,
    company: Company,
    indexes: Indexes,
    max_whole_change: u64,
}

impl LocalStore {
    /// Opens the roots.
    pub fn open(options: Options) -> std::io::Result<LocalStore> {
        LocalStore::with_sys(options, Arc::new(Linux::new()))
    }

    /// Opens the roots over other system calls, for tests.
    pub fn with_sys(options: Options, sys: Arc<dyn Sys>) -> std::io::Result<LocalStore> {
        Ok(LocalStore {
            roots: Roots::open(&options.roots, options.hidden)?,
            allows_git_writes: options.allows_git_writes,
            is_durable: options.is_durable,
            sys,
            locks: Locks::default(),
            leftovers: Leftovers::default(),
            company: Company::default(),
            indexes: Indexes::default(),
            max_whole_change: limits::WHOLE_CHANGE,
        })
    }

    /// Changes smaller files by their lines too, so that tests need no large ones.
    pub fn with_max_whole_change(self, max_whole_change: u64) -> LocalStore {
        LocalStore { max_whole_change, ..self }
    }

    /// Sets the clock ahead that decides when a file is old enough to be known by its time stamps, so
    /// that tests need not wait.
    pub fn with_clock_ahead(mut self, clock_ahead: Duration) -> LocalStore {
        self.indexes.clock_ahead = clock_ahead;
        self
    }

    /// The roots as their real paths.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.roots.real_paths()
    }

    fn resolve(
        &self,
        path: &AbsPath,
        last_link: LastLink,
        caller: &Caller,
        wants: Access,
    ) -> Result<Place> {
        let place = self.roots.resolve_next(path, last_link, caller)?;
        let denied = |reason| Err(Error::PermissionDenied { path: path.to_string(), reason });
        if wants == Access::Write && !self.allows_git_writes && place.is_in_git_folder() {
            return denied(Denial::GitFolder);
        }
        match (wants, caller.sandbox.access(&place.real_path, |path| path.canonicalize().ok())) {
            (_, Access::None) | (Access::Write, Access::Read) => denied(Denial::ClientSandbox),
            _ => Ok(place),
        }
    }

    fn open_to_read(&self, path: &AbsPath, caller: &Caller) -> Result<OpenFile> {
        let place = self.resolve(path, LastLink::Follow, caller, Access::Read)?;
        let file = OpenFile::open_found(&*self.sys, &place, path)?;
        file.ok_or_else(|| Error::FileNotFound { path: path.to_string() })
    }

    /// The whole text, unless it is too large to be held or its lines are known, so that a page is
    /// read faster without it.
    fn document_of(
        &self,
        file: &OpenFile,
        path: &AbsPath,
        caller: &Caller,
    ) -> Result<Option<Document>> {
        let is_indexed = file.status.st_size as u64 >= MIN_INDEXED;
        if is_indexed && self.indexes.get(&file.status).is_some() {
            return Ok(None);
        }
        let document = file.document(path, caller)?;
        if let Some(document) = document.as_ref().filter(|_| is_indexed)
            && file.is_unchanged()
        {
            self.indexes.remember(&file.status, &Arc::new(Index::of(document)));
        }
        Ok(document)
    }

    fn large<'a>(
        &'a self,
        file: &'a OpenFile,
        path: &'a AbsPath,
        caller: &'a Caller,
    ) -> LargeFile<'a> {
        LargeFile { file, indexes: &self.indexes, path, caller }
    }
}

impl Store for LocalStore {
    fn document(&self, path: &AbsPath, caller: &Caller) -> Result<Option<Document>> {
        let file = self.open_to_read(path, caller)?;
        self.document_of(&file, path, caller)
    }

    fn page(&self, path: &AbsPath, window: Window, caller: &Caller) -> Result<VersionedPage> {
        let file = self.open_to_read(path, caller)?;
        match self.document_of(&file, path, caller)? {
            Some(document) => Ok(VersionedPage::of(&document, window)),
            None => self.large(&file, path, caller).page(window),
        }
    }

    fn search(
        &self,
        path: &AbsPath,
        search: &Search<'_>,
        caller: &Caller,
    ) -> Result<VersionedHits> {
        let file = self.open_to_read(path, caller)?;
        match self.document_of(&file, path, caller)? {
            Some(document) => Ok(VersionedHits::of(&document, search)),
            None => self.large(&file, path, caller).search(search),
        }
    }

    fn open(&self, path: &AbsPath, caller: &Caller) -> Result<Box<dyn Bytes>> {
        let file = self.open_to_read(path, caller)?;
        Ok(Box::new(FileBytes { file, path: path.clone(), caller: caller.clone() }))
    }

    fn is_file(&self, path: &AbsPath, caller: &Caller) -> Result<bool> {
        let place = self.resolve(path, LastLink::Follow, caller, Access::Read)?;
        Ok(place.kind == Some(FileType::RegularFile))
    }

    fn list(&self, request: &ListRequest<'_>, caller: &Caller) -> Result<Listing> {
        list::list(&self.roots, request, caller)
    }
}

/// The bytes of a file of the disk.
struct FileBytes {
    file: OpenFile,
    path: AbsPath,
    caller: Caller,
}

impl Bytes for FileBytes {
    fn size(&self) -> u64 {
        self.file.status.st_size as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.caller.cancel.check()?;
        self.file.read_at(&self.path, buffer, offset)
    }

    fn check_unchanged(&self) -> Result<()> {
        match self.file.is_unchanged() || self.file.has_grown(&self.caller) {
            true => Ok(()),
            false => Err(Error::Unstable { path: self.path.to_string() }),
        }
    }
}

impl WriteStore for LocalStore {
    fn hold<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        caller: &'a Caller,
    ) -> Result<Box<dyn Held + 'a>> {
        Ok(Box::new(self.hold_file(path, purpose, caller)?))
    }
}
