//! A path that a call changes: locks its directory, reads the file, and passes the change to the
//! write protocol.

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use recto_platform::{FileKind, Handle, SysError};
use recto_text::Digest;
use recto_text::digest::Digester;
use recto_text::encoding::Encoding;

use super::LocalStore;
use super::content::{self, ChangeDigests, ContentChange, ContentSource, Patch};
use super::excerpt::ExcerptScan;
use super::lock::DirLock;
use super::new_dirs::NewDirs;
use super::read::{Lease, OpenFile};
use super::replace::{self, Completed, DraftMetadata};
use super::roots::{LastLink, Location};
use super::sys;
use crate::context::{Access, Context};
use crate::error::{Denial, Error, Result, SizeLimit};
use crate::limits;
use crate::path::AbsPath;
use crate::{
    Excerpt, ExcerptSnapshot, HeldFile, Hold, Removal, Remove, Removed, RemovedContent, Replace,
    ReplaceExcerpt, Slot, Snapshot, Where, Whole, WriteError, Written,
};

/// How long a resolved directory is used without resolving its path again.
const MAX_RESOLVED: Duration = Duration::from_millis(10);

/// The number of bytes from which the encoding of a large file is detected.
const SNIFFED: usize = 256 << 10;

/// The purpose of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Change a file, or create it in an existing directory. Follows links.
    Change,
    /// Create a file and its missing directories. Fails if the name exists, even as a link.
    Create,
    /// Remove a file. Removes a link itself, not its target.
    Remove,
}

/// A path whose directory is locked.
pub struct LockedPath<'a> {
    pub store: &'a LocalStore,
    pub context: &'a Context,
    pub path: AbsPath,
    pub location: Location,
    lock: DirLock,
    /// Whether the directory contains no leftovers.
    is_clean: bool,
    /// Whether the name did not exist when the directory was locked.
    pub is_vacant: bool,
    pub new_dirs: NewDirs,
}

/// A file in a locked directory, open for reading.
struct LockedFile<'a> {
    locked: LockedPath<'a>,
    file: OpenFile,
}

impl<'a> LockedPath<'a> {
    /// Locks the directory of a file that a call is about to change.
    pub(super) fn lock(
        store: &'a LocalStore,
        path: &AbsPath,
        purpose: Purpose,
        context: &'a Context,
    ) -> Result<LockedPath<'a>> {
        let last_link = match purpose {
            Purpose::Change => LastLink::Follow,
            Purpose::Create | Purpose::Remove => LastLink::Keep,
        };
        let mut new_dirs = NewDirs::default();
        // The file may have been replaced before the lock was acquired. In that case, start over.
        for _ in 0..8 {
            let resolved = Instant::now();
            let location = store.resolve(path, last_link, context, Access::Write)?;
            match purpose {
                Purpose::Create if location.kind.is_some() => {
                    // A link that leads outside fails with that error, whatever its target is.
                    let location = store.resolve(path, LastLink::Follow, context, Access::Write)?;
                    return Err(Error::FileExists {
                        path: path.to_string(),
                        what: location.describe_non_file(),
                    });
                }
                Purpose::Create if !location.missing_dirs.is_empty() => {
                    new_dirs.make(&location, path)?;
                    continue;
                }
                _ if location.is_dir() => {
                    return Err(Error::IsDirectory { path: path.to_string() });
                }
                _ if location.is_dir_missing => {
                    let parent = missing_dir(store, path, &location, context);
                    return Err(Error::ParentNotFound { parent });
                }
                _ => {}
            }
            // Before the lock, so that no call waits for memory while others wait for the lock.
            store.keep_memory_to_change(&location, purpose, path, context)?;
            let lock = store.locks.lock(&location.dir, path, context)?;
            // The directory may have been moved while this call waited, also out of the roots.
            if resolved.elapsed() > MAX_RESOLVED
                && !store.resolves_to(path, last_link, location.name_in_dir(), context)?
            {
                continue;
            }
            let kind = match sys::retry(|| store.sys.status(&location.dir, &location.name)) {
                Ok(status) => Some(status.kind()),
                Err(SysError::NOENT) => None,
                Err(errno) => return Err(sys::error(errno, path, 0)),
            };
            if kind == Some(FileKind::Symlink) && purpose == Purpose::Change {
                continue;
            }
            let is_clean = store.leftovers.clean(&*store.sys, &lock);
            let (path, is_vacant) = (path.clone(), kind.is_none());
            return Ok(LockedPath {
                store,
                context,
                path,
                location,
                lock,
                is_clean,
                is_vacant,
                new_dirs,
            });
        }
        Err(Error::Busy { path: path.to_string() })
    }
    /// Returns the file, or the free name, for the caller to continue with.
    pub fn into_hold(self) -> Hold<'a> {
        match self.is_vacant {
            true => Hold::Vacant(Box::new(self)),
            false => Hold::File(Box::new(self)),
        }
    }

    /// Reads the file before its removal.
    pub fn into_removal(self) -> Result<Removal<'a>> {
        if self.is_link() {
            // The target of the link is read, but not removed.
            self.check_dir_writable()?;
            let file = self.store.open_to_read(&self.path, self.context)?;
            return Ok(match self.read_to_remove(&file)? {
                RemovedContent::Bytes(bytes) => Removal::new(bytes, Box::new(LockedLink(self))),
                RemovedContent::Digest(digest) => {
                    Removal::of_large(digest, Box::new(LockedLink(self)))
                }
            });
        }
        let Some(opened) = self.open()? else {
            return Err(Error::FileNotFound { path: self.path.to_string() });
        };
        let content = self.read_to_remove(&opened)?;
        let opened = Box::new(LockedFile { locked: self, file: opened });
        Ok(match content {
            RemovedContent::Bytes(bytes) => Removal::new(bytes, opened),
            RemovedContent::Digest(digest) => Removal::of_large(digest, opened),
        })
    }

    /// Reads a file before its removal, or only hashes it if it is large.
    fn read_to_remove(&self, file: &OpenFile) -> Result<RemovedContent> {
        let (n_bytes, path) = (file.status.size, self.path.to_string());
        if n_bytes > limits::REMOVED_FILE {
            return Err(Error::TooLarge { path, n_bytes, limit: SizeLimit::Remove });
        }
        if file.is_large() {
            return self.digest_of(file).map(RemovedContent::Digest);
        }
        file.read_whole(&self.path, self.context).map(RemovedContent::Bytes)
    }

    /// Hashes a file in pieces.
    fn digest_of(&self, file: &OpenFile) -> Result<Digest> {
        file.read_stable(&self.path, |_| {
            let mut n_bytes = 0;
            let digest = content::digest_of(&*self.store.sys, &file.fd, |n_read| {
                n_bytes = n_read;
                self.context.cancel.check().map_err(|_| SysError::CANCELED)
            });
            match digest {
                Ok(digest) => Ok((n_bytes, digest)),
                Err(SysError::CANCELED) => Err(Error::Cancelled),
                Err(errno) => Err(sys::error(errno, &self.path, 0)),
            }
        })
    }

    /// Opens the file. Returns `None` if it does not exist.
    fn open(&self) -> Result<Option<OpenFile>> {
        self.open_to_change()?.map(|file| self.with_lease(file)).transpose()
    }

    fn read_whole(self, file: OpenFile) -> Result<(Vec<u8>, LockedFile<'a>)> {
        self.check_size(&file)?;
        self.keep_memory_to_decode(&file)?;
        let bytes = file.read_whole(&self.path, self.context)?;
        Ok((bytes, LockedFile { locked: self, file }))
    }

    /// Reads the lines that a change needs if the file is too large to be read whole. Returns
    /// `None` if it is not, or if the change needs the whole file.
    fn excerpt(&self, file: &OpenFile, wanted: &Where<'_>) -> Result<Option<Excerpt>> {
        if file.status.size <= self.store.max_whole_change {
            return Ok(None);
        }
        let scan = ExcerptScan { file, path: &self.path, context: self.context };
        file.read_stable(&self.path, |_| {
            let excerpt = scan.excerpt(wanted)?;
            let n_bytes = excerpt.as_ref().map_or(file.status.size, |found| found.n_bytes);
            Ok((n_bytes, excerpt))
        })
    }
}

impl Slot for LockedPath<'_> {
    fn check(&self) -> Result<()> {
        self.check_writable(".")
    }

    fn create_bytes(self: Box<Self>, bytes: &[u8]) -> Result<Written, WriteError<'static>> {
        self.create(bytes, DraftMetadata::New)
    }
}

impl LockedPath<'_> {
    /// Creates the file.
    pub fn create(
        mut self,
        bytes: &[u8],
        metadata: DraftMetadata<'_>,
    ) -> Result<Written, WriteError<'static>> {
        self.context.cancel.check()?;
        let protocol = self.protocol();
        let draft = || protocol.draft_creation(bytes, metadata);
        let (intent, draft) = self.intend_creation(bytes, draft);
        let intent =
            intent.inspect_err(|_| _ = draft.as_ref().is_ok_and(|it| protocol.discard(it)))?;
        let mut written = draft.and_then(|draft| protocol.create(draft));
        intent.settle_with(&written);
        let exists = matches!(written, Ok(_) | Err(WriteError::Failed(Error::NotDurable { .. })));
        if exists && let Err(errno) = self.new_dirs.keep(self.store.is_durable) {
            written = Err(sys::not_durable(errno, &self.path).into());
        }
        self.finish(written)
    }
}

impl<'a> HeldFile<'a> for LockedPath<'a> {
    fn whole(self: Box<Self>) -> Result<Whole<'a>, WriteError<'a>> {
        let Some(file) = self.open()? else { return Err(WriteError::Conflict) };
        let (bytes, opened) = self.read_whole(file)?;
        Ok(Whole::new(bytes, Box::new(opened)))
    }

    fn snapshot(self: Box<Self>, wanted: &Where<'_>) -> Result<Snapshot<'a>, WriteError<'a>> {
        let Some(file) = self.open()? else { return Err(WriteError::Conflict) };
        if let Some(excerpt) = self.excerpt(&file, wanted)? {
            let target = Box::new(LockedFile { locked: *self, file });
            return Ok(Snapshot::Excerpt(ExcerptSnapshot::new(excerpt, target)));
        }
        self.check_text(&file)?;
        let (bytes, opened) = self.read_whole(file)?;
        Ok(Snapshot::Whole(Whole::new(bytes, Box::new(opened))))
    }
}

impl LockedFile<'_> {
    fn replace(&self, change: ContentChange<'_>) -> Result<Written, WriteError<'static>> {
        self.locked.context.cancel.check()?;
        let protocol = self.locked.protocol();
        let draft = || protocol.draft_change(&self.file, &change);
        let (intent, draft) = self.locked.intend_change(&self.file, change, draft);
        let intent =
            intent.inspect_err(|_| _ = draft.as_ref().is_ok_and(|it| protocol.discard(it)))?;
        let written = draft.and_then(|draft| protocol.replace(&self.file, change, draft));
        intent.settle_with(&written);
        self.locked.finish(written)
    }
}

impl<'a> Replace<'a> for LockedFile<'a> {
    fn replace(self: Box<Self>, before: &[u8], after: &[u8]) -> Result<Written, WriteError<'a>> {
        LockedFile::replace(&self, ContentChange::Whole { before, after })
    }
}

impl ReplaceExcerpt for LockedFile<'_> {
    fn digest_with(&self, excerpt: &Excerpt, after: &str) -> Result<Digest> {
        let after = ContentSource::Patched(Patch {
            base: &self.file.fd,
            start: excerpt.start,
            n_replaced: excerpt.lines.bytes().len(),
            end: excerpt.n_bytes,
            bytes: after.as_bytes(),
        });
        let mut digester = Digester::default();
        let digested = after.for_each(&*self.locked.store.sys, |bytes| {
            digester.push(bytes);
            self.locked.context.cancel.check().map_err(|_| SysError::CANCELED)
        });
        match digested {
            Ok(()) => Ok(digester.finish()),
            Err(SysError::CANCELED) => Err(Error::Cancelled),
            Err(errno) => Err(sys::error(errno, &self.locked.path, 0)),
        }
    }

    fn replace(
        self: Box<Self>,
        excerpt: &Excerpt,
        after: &str,
        digest: Digest,
    ) -> Result<Written, WriteError<'static>> {
        LockedFile::replace(
            &self,
            ContentChange::Range {
                start: excerpt.start,
                before: excerpt.lines.bytes(),
                after: after.as_bytes(),
                n_bytes: excerpt.n_bytes,
                digests: ChangeDigests { before: excerpt.digest, after: digest },
            },
        )
    }
}

impl<'a> Remove<'a> for LockedFile<'a> {
    fn remove(self: Box<Self>, before: &RemovedContent) -> Result<Removed, WriteError<'a>> {
        self.locked.context.cancel.check()?;
        let intent = self.locked.intend_removal(&self.file, before)?;
        let removed = self.locked.protocol().remove(&self.file, before);
        intent.settle_with(&removed);
        self.locked.record(removed.is_ok(), removed.map(|()| Removed::File))
    }
}

/// A symbolic link in a locked directory.
struct LockedLink<'a>(LockedPath<'a>);

impl<'a> Remove<'a> for LockedLink<'a> {
    fn remove(self: Box<Self>, _before: &RemovedContent) -> Result<Removed, WriteError<'a>> {
        self.0.context.cancel.check()?;
        let intent = self.0.intend_link_removal()?;
        let removed = self.0.protocol().remove_link();
        intent.settle_with(&removed);
        self.0.record(removed.is_ok(), removed.map(|()| Removed::Link))
    }
}

impl LockedPath<'_> {
    /// Returns whether no other recto process can change a file in the directory.
    pub fn excludes_other_processes(&self) -> bool {
        self.lock.excludes_other_processes()
    }

    pub fn is_link(&self) -> bool {
        self.location.kind == Some(FileKind::Symlink)
    }

    /// Rejects a file that is too large to be read whole.
    fn check_size(&self, file: &OpenFile) -> Result<()> {
        let (n_bytes, path) = (file.status.size, self.path.to_string());
        if n_bytes <= limits::WHOLE_CHANGE {
            return Ok(());
        }
        Err(Error::TooLarge { path, n_bytes, limit: SizeLimit::Change })
    }

    /// Rejects a large binary file without reading it whole.
    fn check_text(&self, file: &OpenFile) -> Result<()> {
        let is_checked =
            (limits::WHOLE_CHANGE + 1..=limits::REMOVED_FILE).contains(&file.status.size);
        if !is_checked || Encoding::sniff(&self.head(file)?).is_some() {
            return Ok(());
        }
        let hash = Some(self.digest_of(file)?);
        Err(Error::BinaryFile { verb: "edit", path: self.path.to_string(), hash })
    }

    pub fn head(&self, file: &OpenFile) -> Result<Vec<u8>> {
        file.bytes_at(&self.path, SNIFFED, 0)
    }

    pub fn open_to_change(&self) -> Result<Option<OpenFile>> {
        let file = OpenFile::open(&*self.store.sys, &self.location, &self.path)?;
        if file.is_some() {
            // Replacing a file needs no permission on it, but recto respects a read-only file.
            self.check_writable(&self.location.name)?;
            self.check_dir_writable()?;
        }
        Ok(file)
    }

    /// Reports what a write lost.
    fn finish(
        &self,
        result: Result<Completed, WriteError<'static>>,
    ) -> Result<Written, WriteError<'static>> {
        let is_clean = result.as_ref().is_ok_and(|completed| !completed.is_leftover_kept);
        let completed = self.record(is_clean, result)?;
        completed.lost.into_iter().for_each(|note| self.context.notes.add(note));
        Ok(completed.written)
    }

    /// Updates the caches that the next change uses. A change that failed may leave a draft.
    fn record<T>(
        &self,
        is_clean: bool,
        result: Result<T, WriteError<'static>>,
    ) -> Result<T, WriteError<'static>> {
        if self.is_clean && is_clean {
            self.store.leftovers.remember(&self.lock);
        }
        if matches!(result, Err(WriteError::Conflict)) {
            self.store.recent_writers.record();
        }
        result
    }

    /// Takes a lease on the file, to detect writers, where the file system supports it.
    fn with_lease(&self, mut file: OpenFile) -> Result<OpenFile> {
        file.lease = file.lease(&*self.store.sys);
        if file.lease == Lease::WriterOpen {
            self.store.recent_writers.record();
            return Err(Error::OpenElsewhere { path: self.path.to_string() });
        }
        Ok(file)
    }

    fn protocol(&self) -> replace::Protocol<'_> {
        replace::Protocol {
            sys: &*self.store.sys,
            dir: self.lock.dir(),
            name: &self.location.name,
            path: &self.path,
            is_durable: self.store.is_durable,
            has_recent_writers: self.store.recent_writers.is_recent(),
            cancel: &self.context.cancel,
        }
    }

    fn check_dir_writable(&self) -> Result<()> {
        check_dir_writable(self.lock.dir(), &self.path)
    }

    pub fn check_writable(&self, name: impl AsRef<OsStr>) -> Result<()> {
        check_writable(&self.location.dir, name, &self.path)
    }
}

/// Rejects a directory in which no file can be replaced. It must be open for reading.
pub fn check_dir_writable(dir: &Handle, path: &AbsPath) -> Result<()> {
    if dir.flags().is_append_only() {
        let (path, reason) = (path.to_string(), Denial::AppendOnlyFolder);
        return Err(Error::PermissionDenied { path, reason });
    }
    check_writable(dir, ".", path).map_err(|error| match error {
        Error::PermissionDenied { path, .. } => {
            Error::PermissionDenied { path, reason: Denial::Folder }
        }
        error => error,
    })
}

/// Rejects a name that this process may not write.
pub fn check_writable(dir: &Handle, name: impl AsRef<OsStr>, path: &AbsPath) -> Result<()> {
    match recto_platform::check_writable_at(dir, name) {
        Ok(()) | Err(SysError::NOENT) => Ok(()),
        Err(errno) => Err(sys::error(errno, path, 0)),
    }
}

/// Returns the missing directory for an error message. For a link, this is the directory of its
/// target.
fn missing_dir(store: &LocalStore, path: &AbsPath, at: &Location, context: &Context) -> String {
    let link = store.probe_link(path, context);
    match (link.map(|link| link.kind), at.real_path.parent()) {
        (Ok(Some(FileKind::Symlink)), Some(parent)) => {
            store.roots.as_given(parent).display().to_string()
        }
        _ => path.parent(),
    }
}
