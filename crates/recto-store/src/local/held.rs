//! A file of the disk that a call changes: its folder locked, what it holds read, and the change
//! handed to the write protocol.

use recto_text::digest::Digester;
use recto_text::error::Denial;
use recto_text::{Digest, Error, Result};
use rustix::fs::{Access as Mode, AtFlags, FileType};
use rustix::io::Errno;

use super::LocalStore;
use super::content::{Change, Content, Digests, Part};
use super::excerpt::Pass;
use super::folders::NewFolders;
use super::lock::FolderLock;
use super::read::{Lease, OpenFile};
use super::roots::{LastLink, Place};
use super::{replace, sys};
use crate::caller::{Access, Caller};
use crate::limits;
use crate::path::AbsPath;
use crate::{Excerpt, Held, Purpose, Removed, Where, WriteError, Written};

/// The largest file that is held for a change, which holds it twice.
const MAX_CHANGED: u64 = limits::CHANGED_FILE;

impl LocalStore {
    /// Locks the folder of a file that is to change.
    pub(super) fn hold_file<'a>(
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
pub struct HeldFile<'a> {
    pub store: &'a LocalStore,
    pub caller: &'a Caller,
    pub path: AbsPath,
    pub place: Place,
    lock: FolderLock,
    /// The file, once it was opened.
    file: Option<OpenFile>,
    pub new_folders: NewFolders,
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
        self.made(self.protocol().replace(self.file_that_was_read(), change))
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
        self.made(self.protocol().replace(self.file_that_was_read(), change))
    }

    fn create(&mut self, bytes: &[u8]) -> Result<Written, WriteError> {
        self.caller.cancel.check()?;
        let mut written = self.protocol().create(bytes);
        let stands = matches!(written, Ok(_) | Err(WriteError::Failed(Error::NotDurable { .. })));
        if stands && let Err(errno) = self.new_folders.keep(self.store.is_durable) {
            written = Err(sys::not_durable(errno, &self.path).into());
        }
        self.made(written)
    }

    fn remove(&mut self, before: &[u8]) -> Result<Removed, WriteError> {
        self.caller.cancel.check()?;
        let removed = match self.is_link() {
            true => self.protocol().remove_link().map(|()| Removed::Link),
            false => {
                self.protocol().remove(self.file_that_was_read(), before).map(|()| Removed::File)
            }
        };
        self.made(removed)
    }
}

impl HeldFile<'_> {
    pub fn is_link(&self) -> bool {
        self.place.kind == Some(FileType::Symlink)
    }

    /// Refuses a file that is too large to be held, as it has to be here.
    fn check_size(&self, file: &OpenFile) -> Result<()> {
        let n_bytes = file.status.st_size as u64;
        if n_bytes <= MAX_CHANGED {
            return Ok(());
        }
        let limit = "it is larger than 1 GiB, the most that is held to change a file".into();
        Err(Error::TooLarge { path: self.path.to_string(), n_bytes, limit })
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
    fn made<T>(&self, made: Result<T, WriteError>) -> Result<T, WriteError> {
        self.store.leftovers.remember(&self.lock);
        if made.as_ref().is_err_and(|error| *error == WriteError::Moved) {
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
            has_company: self.store.company.is_near(),
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

    pub fn check_writable(&self, name: impl rustix::path::Arg) -> Result<()> {
        let flags = AtFlags::EACCESS;
        match rustix::fs::accessat(&self.place.folder, name, Mode::WRITE_OK, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(sys::error(errno, &self.path, 0)),
        }
    }
}
