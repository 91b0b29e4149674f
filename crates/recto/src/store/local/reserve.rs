//! The disk's side of a file that somebody else reads and writes: an editor.
//!
//! Everything is checked as for a read or a change of our own, and the folder is locked during a
//! change, so that those who run recto stay one behind the other. There is no lease: an editor
//! that saves would wait for us to give it back, and we for the editor.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use recto_text::Result;

use super::read::{Identity, OpenFile};
use super::roots::{LastLink, Place};
use super::{HeldFile, LocalStore};
use crate::caller::{Access, Caller};
use crate::path::AbsPath;
use crate::store::{Held, Purpose};

/// A file as it stands on the disk.
#[derive(Debug, Clone)]
pub struct OnDisk {
    /// Its path without links.
    pub real_path: PathBuf,
    /// The same beneath the root as that was given, which is how an editor knows it.
    pub given_path: PathBuf,
    /// What it holds.
    pub content: Content,
    /// When it was last written, where it stands.
    pub modified: Option<SystemTime>,
    /// Tells by itself that the content is the same, where the file is old enough for that.
    identity: Option<Identity>,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// No file stands there.
    Nothing,
    /// More than is read whole.
    Large,
    /// These bytes.
    Bytes(Vec<u8>),
}

impl LocalStore {
    /// What stands at a path. Refuses what a read would refuse, except that a file may be missing.
    pub fn on_disk(&self, path: &AbsPath, caller: &Caller) -> Result<OnDisk> {
        let place = self.resolve(path, LastLink::Follow, caller, Access::Read)?;
        let file = OpenFile::open_found(&*self.sys, &place, path)?;
        self.describe(&place, file, path, caller)
    }

    /// Holds a place, as for a change, while somebody else changes the file.
    pub fn reserve<'a>(
        &'a self,
        path: &AbsPath,
        purpose: Purpose,
        caller: &'a Caller,
    ) -> Result<Reserved<'a>> {
        self.hold_file(path, purpose, caller).map(Reserved)
    }

    fn describe(
        &self,
        place: &Place,
        file: Option<OpenFile>,
        path: &AbsPath,
        caller: &Caller,
    ) -> Result<OnDisk> {
        let content = match &file {
            None => Content::Nothing,
            Some(file) if file.is_large() => Content::Large,
            Some(file) => Content::Bytes(file.read_whole(path, caller)?),
        };
        let identity = file.as_ref().and_then(|file| Identity::settled(&file.status));
        let modified = file.and_then(|file| {
            let since_epoch = Duration::from_secs(u64::try_from(file.status.st_mtime).ok()?);
            UNIX_EPOCH.checked_add(since_epoch)
        });
        let given_path = self.roots.as_given(&place.real_path);
        let real_path = place.real_path.clone();
        Ok(OnDisk { real_path, given_path, content, modified, identity })
    }
}

/// A place that is held. Dropping it lets go.
pub struct Reserved<'a>(HeldFile<'a>);

impl<'a> Reserved<'a> {
    /// What stands there. Refuses what a change would refuse.
    pub fn on_disk(&self) -> Result<OnDisk> {
        let HeldFile { store, caller, path, place, .. } = &self.0;
        if self.0.is_link() {
            self.0.check_writable(".")?;
            return store.on_disk(path, caller);
        }
        let file = self.0.open_to_change()?;
        store.describe(place, file, path, caller)
    }

    /// Whether the same still stands there. Refuses what a change would refuse.
    pub fn is_unmoved(&self, seen: &OnDisk) -> Result<bool> {
        Ok(self.is_untouched(seen) || self.on_disk()?.content == seen.content)
    }

    /// What stands there now.
    pub fn on_disk_after(&self, seen: OnDisk) -> Result<OnDisk> {
        if self.is_untouched(&seen) { Ok(seen) } else { self.on_disk() }
    }

    /// Whether the file need not be read again.
    fn is_untouched(&self, seen: &OnDisk) -> bool {
        let HeldFile { store, place, .. } = &self.0;
        let Some(identity) = seen.identity.filter(|_| !self.0.is_link()) else { return false };
        let status = store.sys.status(&place.folder, &place.name);
        status.is_ok_and(|status| Identity::of(&status) == identity)
    }

    /// Refuses a folder where no file can be created.
    pub fn check_folder(&self) -> Result<()> {
        self.0.check_writable(".")
    }

    /// The file stands, or soon will, so that the folders made for it stay.
    pub fn keep_folders(&mut self) {
        // Whether they survive a power cut is for whoever writes the file to say.
        let _ = self.0.new_folders.keep(false);
    }

    /// The same place for a change of our own.
    pub fn held(&mut self) -> &mut (dyn Held + 'a) {
        &mut self.0
    }
}
