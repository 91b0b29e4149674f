//! Files on a disk beneath the roots, which are folders opened once at start.
//!
//! Every path is resolved by hand from a root's handle ([`roots`]); after that only handles and
//! one name are used, so that nothing swapped in later leads out. Every change goes through one
//! write protocol ([`replace`]).

pub mod abilities;
mod content;
mod excerpt;
mod folders;
mod hidden;
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

use recto_text::digest::Digester;
use recto_text::error::Denial;
use recto_text::search::Search;
use recto_text::window::Window;
use recto_text::{Digest, Document, Error, Result};
use rustix::fs::{Access as Mode, AtFlags, FileType};
use rustix::io::Errno;

use crate::caller::{Access, Caller};
use crate::limits;
use crate::path::AbsPath;
use crate::store::{
    Bytes, Excerpt, Held, ListRequest, Listing, Purpose, Removed, Store, VersionedHits,
    VersionedPage, Where, WriteError, WriteStore, Written,
};
use content::{Change, Content, Digests, Part};
use excerpt::Pass;
use folders::NewFolders;
pub use hidden::HiddenPaths;
use index::{Index, Indexes};
use large::LargeFile;
use leftovers::Leftovers;
use lock::{FolderLock, Locks};
use read::{Lease, OpenFile};
use roots::{LastLink, Place, Roots};
use sys::{Linux, Sys};

/// The largest file that is held for a change, which holds it twice.
const MAX_CHANGED: i64 = limits::CHANGED_FILE;

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
            indexes: Indexes::default(),
            max_whole_change: limits::WHOLE_CHANGE,
        })
    }

    /// Changes smaller files by their lines too, so that tests need no large ones.
    pub fn with_max_whole_change(self, max_whole_change: u64) -> LocalStore {
        LocalStore { max_whole_change, ..self }
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

impl LocalStore {
    fn hold_file<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        caller: &'a Caller,
    ) -> Result<HeldFile<'a>> {
        let last_link = match purpose {
            Purpose::Change => LastLink::Follow,
            Purpose::Create | Purpose::Remove => LastLink::Keep,
        };
        let mut new_folders = NewFolders::default();
        // What was looked at may be another thing once the lock is there, and then everything
        // starts again.
        for _ in 0..8 {
            let place = self.resolve(path, last_link, caller, Access::Write)?;
            match purpose {
                Purpose::Create if place.kind.is_some() => {
                    // A link that leads out says so, whatever stands at its other end.
                    let place = self.resolve(path, LastLink::Follow, caller, Access::Write)?;
                    return Err(Error::FileExists { path: path.to_string(), what: place.what() });
                }
                Purpose::Create if !place.missing_folders.is_empty() => {
                    new_folders.make(&place, path)?;
                    continue;
                }
                _ if place.is_folder() => {
                    return Err(Error::IsDirectory { path: path.to_string() });
                }
                _ if place.is_folder_missing => {
                    let parent = self.missing_folder(path, &place, caller);
                    return Err(Error::ParentNotFound { parent });
                }
                _ => {}
            }
            let lock = self.locks.lock(&place.folder, path, caller)?;
            let kind = match sys::retry(|| self.sys.status(&place.folder, &place.name)) {
                Ok(status) => Some(FileType::from_raw_mode(status.st_mode)),
                Err(Errno::NOENT) => None,
                Err(errno) => return Err(sys::error(errno, path, 0)),
            };
            if kind == Some(FileType::Symlink) && purpose == Purpose::Change {
                continue;
            }
            self.leftovers.clean(&*self.sys, &lock);
            let path = path.clone();
            let file = None;
            return Ok(HeldFile { store: self, caller, path, place, lock, file, new_folders });
        }
        Err(Error::Busy { path: path.to_string() })
    }
}

/// A file of the disk, its folder locked.
struct HeldFile<'a> {
    store: &'a LocalStore,
    caller: &'a Caller,
    path: AbsPath,
    place: Place,
    lock: FolderLock,
    /// The file, once it was opened.
    file: Option<OpenFile>,
    new_folders: NewFolders,
}

impl Held for HeldFile<'_> {
    fn read(&mut self) -> Result<Option<Vec<u8>>> {
        if self.is_link() {
            // What it leads to is read, but stays.
            self.check_folder_writable()?;
            let file = self.store.open_to_read(&self.path, self.caller)?;
            self.check_size(&file)?;
            return file.read_whole(&self.path, self.caller).map(Some);
        }
        let opened = match self.file.take() {
            Some(file) => Some(file),
            None => self.open_to_change()?,
        };
        let Some(file) = opened else { return Ok(None) };
        let file = self.leased(file)?;
        self.check_size(&file)?;
        let bytes = file.read_whole(&self.path, self.caller)?;
        self.file = Some(file);
        Ok(Some(bytes))
    }

    fn check_creatable(&self) -> Result<()> {
        self.check_writable(".")
    }

    fn replace(&mut self, before: &[u8], after: &[u8]) -> Result<Written, WriteError> {
        self.caller.cancel.check()?;
        let change = Change::Whole { before, after };
        let written = self.protocol().replace(self.file_that_was_read(), change);
        self.store.leftovers.remember(&self.lock);
        written
    }

    fn excerpt(&mut self, place: &Where<'_>) -> Result<Option<Excerpt>> {
        if self.is_link() {
            return Ok(None);
        }
        let Some(file) = self.open_to_change()? else { return Ok(None) };
        if file.status.st_size as u64 <= self.store.max_whole_change {
            self.file = Some(file);
            return Ok(None);
        }
        let file = self.leased(file)?;
        let pass = Pass { file: &file, path: &self.path, caller: self.caller };
        let excerpt = file.read_stable(&self.path, |_| {
            let excerpt = pass.excerpt(place)?;
            let n_bytes =
                excerpt.as_ref().map_or(file.status.st_size as u64, |found| found.n_bytes);
            Ok((n_bytes, excerpt))
        })?;
        self.file = Some(file);
        Ok(excerpt)
    }

    fn digest_with(&mut self, excerpt: &Excerpt, after: &str) -> Result<Digest> {
        let after = Content::Part(Part {
            around: &self.file_that_was_read().fd,
            start: excerpt.start,
            n_left_out: excerpt.text.len(),
            end: excerpt.n_bytes,
            bytes: after.as_bytes(),
        });
        let mut digester = Digester::default();
        let digested = after.for_each(&*self.store.sys, |bytes| {
            digester.push(bytes);
            self.caller.cancel.check().map_err(|_| Errno::CANCELED)
        });
        match digested {
            Ok(()) => Ok(digester.finish()),
            Err(Errno::CANCELED) => Err(Error::Cancelled),
            Err(errno) => Err(sys::error(errno, &self.path, 0)),
        }
    }

    fn replace_excerpt(
        &mut self,
        excerpt: &Excerpt,
        after: &str,
        digest: Digest,
    ) -> Result<Written, WriteError> {
        self.caller.cancel.check()?;
        let change = Change::Part {
            start: excerpt.start,
            before: excerpt.text.as_bytes(),
            after: after.as_bytes(),
            n_bytes: excerpt.n_bytes,
            digests: Digests { before: excerpt.digest, after: digest },
        };
        let written = self.protocol().replace(self.file_that_was_read(), change);
        self.store.leftovers.remember(&self.lock);
        written
    }

    fn create(&mut self, bytes: &[u8]) -> Result<Written, WriteError> {
        self.caller.cancel.check()?;
        let mut written = self.protocol().create(bytes);
        let stands = matches!(written, Ok(_) | Err(WriteError::Failed(Error::NotDurable { .. })));
        if stands && let Err(errno) = self.new_folders.keep(self.store.is_durable) {
            let (path, cause) = (self.path.to_string(), sys::describe(errno));
            written = Err(Error::NotDurable { path, cause }.into());
        }
        self.store.leftovers.remember(&self.lock);
        written
    }

    fn remove(&mut self, before: &[u8]) -> Result<Removed, WriteError> {
        self.caller.cancel.check()?;
        let removed = match self.is_link() {
            true => self.protocol().remove_link().map(|()| Removed::Link),
            false => {
                self.protocol().remove(self.file_that_was_read(), before).map(|()| Removed::File)
            }
        };
        self.store.leftovers.remember(&self.lock);
        removed
    }
}

impl HeldFile<'_> {
    fn is_link(&self) -> bool {
        self.place.kind == Some(FileType::Symlink)
    }

    /// Refuses a file that is too large to be held, as it has to be here.
    fn check_size(&self, file: &OpenFile) -> Result<()> {
        if file.status.st_size <= MAX_CHANGED {
            return Ok(());
        }
        let limit = limits::Amount::Bytes(MAX_CHANGED as u64);
        let cause = format!("it is larger than {limit}, the most that is held to change a file");
        Err(Error::System { path: self.path.to_string(), cause })
    }

    fn open_to_change(&self) -> Result<Option<OpenFile>> {
        let file = OpenFile::open(&*self.store.sys, &self.place, &self.path)?;
        if file.is_some() {
            // Replacing needs no right to the old file, but a file that is closed to us stays so.
            self.check_writable(&self.place.name)?;
            self.check_folder_writable()?;
        }
        Ok(file)
    }

    /// The file, with the promise to be told of writers where the system gives it.
    fn leased(&self, mut file: OpenFile) -> Result<OpenFile> {
        file.lease = file.lease(&*self.store.sys);
        if file.lease == Lease::WriterOpen {
            return Err(Error::OpenElsewhere { path: self.path.to_string() });
        }
        Ok(file)
    }

    fn file_that_was_read(&self) -> &OpenFile {
        self.file.as_ref().expect("a file is read before it is replaced or removed")
    }

    fn protocol(&self) -> replace::Protocol<'_> {
        replace::Protocol {
            sys: &*self.store.sys,
            folder: self.lock.folder(),
            name: &self.place.name,
            path: &self.path,
            is_durable: self.store.is_durable,
            cancel: &self.caller.cancel,
        }
    }

    fn check_folder_writable(&self) -> Result<()> {
        self.check_writable(".").map_err(|error| match error {
            Error::PermissionDenied { path, .. } => {
                Error::PermissionDenied { path, reason: Denial::Folder }
            }
            error => error,
        })
    }

    fn check_writable(&self, name: impl rustix::path::Arg) -> Result<()> {
        let flags = AtFlags::EACCESS;
        match rustix::fs::accessat(&self.place.folder, name, Mode::WRITE_OK, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(sys::error(errno, &self.path, 0)),
        }
    }
}
