//! A file of the disk that a call changes: its directory is locked, its content is read, and the
//! change is handed to the write protocol.

use std::ffi::OsStr;

use recto_platform::{FileKind, SysError};
use recto_text::digest::Digester;
use recto_text::{Digest, Document};

use super::LocalStore;
use super::content::{Change, Content, Digests, Part};
use super::excerpt::Pass;
use super::folders::NewFolders;
use super::lock::FolderLock;
use super::read::{Lease, OpenFile};
use super::roots::{LastLink, Place};
use super::{replace, sys};
use crate::context::{Access, Context};
use crate::error::{Denial, Error, Result, SizeLimit};
use crate::limits;
use crate::path::AbsPath;
use crate::{
    Excerpt, ExcerptSnapshot, HeldFile, Hold, Removal, Remove, Removed, Replace, ReplaceExcerpt,
    Slot, Snapshot, Where, Whole, WriteError, Written,
};

/// What a place is locked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To change a file, or to create it in a directory that exists. Links are followed.
    Change,
    /// To create a file, with its directories. Whatever has the name is in the way, also a link.
    Create,
    /// To remove a file. A link goes itself, not what it leads to.
    Remove,
}

/// A place on disk whose directory is locked.
pub struct Locked<'a> {
    pub store: &'a LocalStore,
    pub context: &'a Context,
    pub path: AbsPath,
    pub place: Place,
    lock: FolderLock,
    /// Whether nothing had the name when the lock was taken.
    pub is_vacant: bool,
    pub new_folders: NewFolders,
}

/// A locked file that was opened, and read as far as a change needs it.
struct Opened<'a> {
    locked: Locked<'a>,
    file: OpenFile,
}

impl<'a> Locked<'a> {
    /// Locks the directory of a file that is to change.
    pub(super) fn lock(
        store: &'a LocalStore,
        path: &AbsPath,
        purpose: Purpose,
        context: &'a Context,
    ) -> Result<Locked<'a>> {
        let last_link = match purpose {
            Purpose::Change => LastLink::Follow,
            Purpose::Create | Purpose::Remove => LastLink::Keep,
        };
        let mut new_folders = NewFolders::default();
        // What was looked at may be another thing once the lock is there, and then everything
        // starts again.
        for _ in 0..8 {
            let place = store.resolve(path, last_link, context, Access::Write)?;
            match purpose {
                Purpose::Create if place.kind.is_some() => {
                    // A link that leads out says so, whatever stands at its other end.
                    let place = store.resolve(path, LastLink::Follow, context, Access::Write)?;
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
                    let parent = missing_folder(store, path, &place, context);
                    return Err(Error::ParentNotFound { parent });
                }
                _ => {}
            }
            let lock = store.locks.lock(&place.folder, path, context)?;
            let kind = match sys::retry(|| store.sys.status(&place.folder, &place.name)) {
                Ok(status) => Some(status.kind()),
                Err(SysError::NOENT) => None,
                Err(errno) => return Err(sys::error(errno, path, 0)),
            };
            if kind == Some(FileKind::Symlink) && purpose == Purpose::Change {
                continue;
            }
            store.leftovers.clean(&*store.sys, &lock);
            let (path, is_vacant) = (path.clone(), kind.is_none());
            return Ok(Locked { store, context, path, place, lock, is_vacant, new_folders });
        }
        Err(Error::Busy { path: path.to_string() })
    }
    /// Returns the next state.
    pub fn into_hold(self) -> Hold<'a> {
        match self.is_vacant {
            true => Hold::Vacant(Box::new(self)),
            false => Hold::File(Box::new(self)),
        }
    }

    /// Reads the file to remove it.
    pub fn into_removal(self) -> Result<Removal<'a>> {
        if self.is_link() {
            // What it leads to is read, but stays.
            self.check_folder_writable()?;
            let file = self.store.open_to_read(&self.path, self.context)?;
            self.check_size(&file)?;
            let bytes = file.read_whole(&self.path, self.context)?;
            return Ok(Removal::new(bytes, Box::new(LockedLink(self))));
        }
        let Some(opened) = self.open()? else {
            return Err(Error::FileNotFound { path: self.path.to_string() });
        };
        let (bytes, opened) = self.read_whole(opened)?;
        Ok(Removal::new(bytes, Box::new(opened)))
    }

    /// Opens the file; `None` where it is gone.
    fn open(&self) -> Result<Option<OpenFile>> {
        self.open_to_change()?.map(|file| self.leased(file)).transpose()
    }

    fn read_whole(self, file: OpenFile) -> Result<(Vec<u8>, Opened<'a>)> {
        self.check_size(&file)?;
        let bytes = file.read_whole(&self.path, self.context)?;
        Ok((bytes, Opened { locked: self, file }))
    }

    /// Reads the lines that a change needs, where the file is too large to be held. `None` where it
    /// is not, or where all of it is needed.
    fn excerpt(&self, file: &OpenFile, place: &Where<'_>) -> Result<Option<Excerpt>> {
        if file.status.size <= self.store.max_whole_change {
            return Ok(None);
        }
        let pass = Pass { file, path: &self.path, context: self.context };
        file.read_stable(&self.path, |_| {
            let excerpt = pass.excerpt(place)?;
            let n_bytes = excerpt.as_ref().map_or(file.status.size, |found| found.n_bytes);
            Ok((n_bytes, excerpt))
        })
    }

    fn create(&mut self, bytes: &[u8]) -> Result<Written, WriteError<'static>> {
        self.context.cancel.check()?;
        let mut written = self.protocol().create(bytes);
        let exists = matches!(written, Ok(_) | Err(WriteError::Failed(Error::NotDurable { .. })));
        if exists && let Err(errno) = self.new_folders.keep(self.store.is_durable) {
            written = Err(sys::not_durable(errno, &self.path).into());
        }
        self.made(written)
    }
}

impl Slot for Locked<'_> {
    fn check(&self) -> Result<()> {
        self.check_writable(".")
    }

    fn create_text(mut self: Box<Self>, text: &Document) -> Result<Written, WriteError<'static>> {
        self.create(text.bytes())
    }

    fn create_bytes(mut self: Box<Self>, bytes: &[u8]) -> Result<Written, WriteError<'static>> {
        self.create(bytes)
    }
}

impl<'a> HeldFile<'a> for Locked<'a> {
    fn whole(self: Box<Self>) -> Result<Whole<'a>, WriteError<'a>> {
        let Some(file) = self.open()? else { return Err(WriteError::Conflict) };
        let (bytes, opened) = self.read_whole(file)?;
        Ok(Whole::new(bytes, Box::new(opened)))
    }

    fn snapshot(self: Box<Self>, place: &Where<'_>) -> Result<Snapshot<'a>, WriteError<'a>> {
        let Some(file) = self.open()? else { return Err(WriteError::Conflict) };
        if let Some(excerpt) = self.excerpt(&file, place)? {
            let target = Box::new(Opened { locked: *self, file });
            return Ok(Snapshot::Excerpt(ExcerptSnapshot::new(excerpt, target)));
        }
        let (bytes, opened) = self.read_whole(file)?;
        Ok(Snapshot::Whole(Whole::new(bytes, Box::new(opened))))
    }
}

impl Opened<'_> {
    fn replace(&self, change: Change<'_>) -> Result<Written, WriteError<'static>> {
        self.locked.context.cancel.check()?;
        self.locked.made(self.locked.protocol().replace(&self.file, change))
    }
}

impl<'a> Replace<'a> for Opened<'a> {
    fn replace(self: Box<Self>, before: &[u8], after: &[u8]) -> Result<Written, WriteError<'a>> {
        Opened::replace(&self, Change::Whole { before, after })
    }
}

impl ReplaceExcerpt for Opened<'_> {
    fn digest_with(&self, excerpt: &Excerpt, after: &str) -> Result<Digest> {
        let after = Content::Part(Part {
            around: &self.file.fd,
            start: excerpt.start,
            n_left_out: excerpt.lines.bytes().len(),
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
        Opened::replace(
            &self,
            Change::Part {
                start: excerpt.start,
                before: excerpt.lines.bytes(),
                after: after.as_bytes(),
                n_bytes: excerpt.n_bytes,
                digests: Digests { before: excerpt.digest, after: digest },
            },
        )
    }
}

impl<'a> Remove<'a> for Opened<'a> {
    fn remove(self: Box<Self>, before: &[u8]) -> Result<Removed, WriteError<'a>> {
        self.locked.context.cancel.check()?;
        let removed = self.locked.protocol().remove(&self.file, before);
        self.locked.made(removed.map(|()| Removed::File))
    }
}

/// A locked symbolic link.
struct LockedLink<'a>(Locked<'a>);

impl<'a> Remove<'a> for LockedLink<'a> {
    fn remove(self: Box<Self>, _before: &[u8]) -> Result<Removed, WriteError<'a>> {
        self.0.context.cancel.check()?;
        self.0.made(self.0.protocol().remove_link().map(|()| Removed::Link))
    }
}

impl Locked<'_> {
    pub fn is_link(&self) -> bool {
        self.place.kind == Some(FileKind::Symlink)
    }

    /// Refuses a file that is too large to be held, as it has to be here.
    fn check_size(&self, file: &OpenFile) -> Result<()> {
        let n_bytes = file.status.size;
        if n_bytes <= limits::CHANGED_FILE {
            return Ok(());
        }
        Err(Error::TooLarge { path: self.path.to_string(), n_bytes, limit: SizeLimit::Change })
    }

    pub fn open_to_change(&self) -> Result<Option<OpenFile>> {
        let file = OpenFile::open(&*self.store.sys, &self.place, &self.path)?;
        if file.is_some() {
            // Replacing needs no right to the old file, but a file that is closed to us stays so.
            self.check_writable(&self.place.name)?;
            self.check_folder_writable()?;
        }
        Ok(file)
    }

    /// Notes what is to be known for the next change.
    fn made<T>(&self, made: Result<T, WriteError<'static>>) -> Result<T, WriteError<'static>> {
        self.store.leftovers.remember(&self.lock);
        if matches!(made, Err(WriteError::Conflict)) {
            self.store.company.meet();
        }
        made
    }

    /// The file, with the promise to be told of writers where the system gives it.
    fn leased(&self, mut file: OpenFile) -> Result<OpenFile> {
        file.lease = file.lease(&*self.store.sys);
        if file.lease == Lease::WriterOpen {
            self.store.company.meet();
            return Err(Error::OpenElsewhere { path: self.path.to_string() });
        }
        Ok(file)
    }

    fn protocol(&self) -> replace::Protocol<'_> {
        replace::Protocol {
            sys: &*self.store.sys,
            folder: self.lock.folder(),
            name: &self.place.name,
            path: &self.path,
            is_durable: self.store.is_durable,
            has_company: self.store.company.is_near(),
            cancel: &self.context.cancel,
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

    pub fn check_writable(&self, name: impl AsRef<OsStr>) -> Result<()> {
        match recto_platform::check_writable_at(&self.place.folder, name) {
            Ok(()) | Err(SysError::NOENT) => Ok(()),
            Err(errno) => Err(sys::error(errno, &self.path, 0)),
        }
    }
}

/// The folder that a place lacks, as a message names it: that of the file a link leads to, not
/// that of the link.
fn missing_folder(store: &LocalStore, path: &AbsPath, place: &Place, context: &Context) -> String {
    let link = store.look_at_link(path, context);
    match (link.map(|link| link.kind), place.real_path.parent()) {
        (Ok(Some(FileKind::Symlink)), Some(parent)) => {
            store.roots.as_given(parent).display().to_string()
        }
        _ => path.parent(),
    }
}
