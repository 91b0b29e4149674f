//! The disk's side of a file that somebody else reads and writes: an editor.
//!
//! Everything is checked as for a read or a change of our own, and the folder is locked during a
//! change, so that those who run recto stay one behind the other. There is no lease: an editor
//! that saves would wait for us to give it back, and we for the editor.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::Result;

use super::LocalStore;
use super::identity::Identity;
use super::locked::LockedPath;
use super::read::OpenFile;
use super::roots::Location;
use crate::context::Context;
use crate::path::AbsPath;

/// A file as it stands on the disk.
#[derive(Debug, Clone)]
pub struct OnDisk {
    /// Its path without links.
    pub real_path: PathBuf,
    /// The same beneath the root as that was given, which is how an editor knows it.
    pub given_path: PathBuf,
    /// What it holds.
    pub content: DiskContent,
    /// When it was last written, where it stands.
    pub modified: Option<SystemTime>,
    /// The same as long as the content is, as far as the system tells. Only of a file that is old
    /// enough for that.
    identity: Option<Identity>,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskContent {
    /// No file stands there.
    Missing,
    /// More than is read whole.
    Large,
    /// These bytes.
    Bytes(Vec<u8>),
}

impl OnDisk {
    /// Reads a file that was opened at a place.
    pub(super) fn read(
        store: &LocalStore,
        location: &Location,
        file: Option<OpenFile>,
        path: &AbsPath,
        context: &Context,
    ) -> Result<OnDisk> {
        let content = match &file {
            None => DiskContent::Missing,
            Some(file) if file.is_large() => DiskContent::Large,
            Some(file) => DiskContent::Bytes(file.read_whole(path, context)?),
        };
        let identity = file.as_ref().and_then(|file| store.indexes.settled(&file.status));
        let modified = file.and_then(|file| {
            let since_epoch = Duration::from_secs(u64::try_from(file.status.modified.0).ok()?);
            UNIX_EPOCH.checked_add(since_epoch)
        });
        let given_path = store.roots.as_given(&location.real_path);
        let real_path = location.real_path.clone();
        Ok(OnDisk { real_path, given_path, content, modified, identity })
    }
}

/// A place that is held. Dropping it lets go.
pub struct EditorHold<'a>(pub(super) LockedPath<'a>);

impl<'a> EditorHold<'a> {
    /// What stands there. Refuses what a change would refuse.
    pub fn on_disk(&self) -> Result<OnDisk> {
        let LockedPath { store, context, path, location, .. } = &self.0;
        if self.0.is_link() {
            self.0.check_writable(".")?;
            return store.on_disk(path, context);
        }
        let file = self.0.open_to_change()?;
        OnDisk::read(store, location, file, path, context)
    }

    /// Whether the same still stands there.
    pub fn has_same_content(&self, seen: &OnDisk) -> Result<bool> {
        Ok(self.has_same_identity(seen) || self.on_disk()?.content == seen.content)
    }

    /// What stands there now.
    pub fn refresh(&self, seen: OnDisk) -> Result<OnDisk> {
        if self.has_same_identity(&seen) { Ok(seen) } else { self.on_disk() }
    }

    /// Whether the file need not be read again.
    fn has_same_identity(&self, seen: &OnDisk) -> bool {
        let LockedPath { store, location, .. } = &self.0;
        let Some(identity) = seen.identity.filter(|_| !self.0.is_link()) else { return false };
        let status = store.sys.status(&location.dir, &location.name);
        status.is_ok_and(|status| Identity::of(&status) == identity)
    }

    /// Refuses a folder where no file can be created.
    pub fn check_dir(&self) -> Result<()> {
        self.0.check_writable(".")
    }

    /// The file stands, or soon will, so that the folders made for it stay.
    pub fn keep_dirs(&mut self) {
        // Whether they survive a power cut is for whoever writes the file to say.
        let _ = self.0.new_dirs.keep(false);
    }

    /// Whether nothing had the name on disk when it was locked.
    pub fn is_vacant(&self) -> bool {
        self.0.is_vacant
    }

    /// Returns the same place for a change of our own.
    pub fn into_locked(self) -> LockedPath<'a> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::*;
    use crate::local::Options;
    use crate::local::locked::Purpose;

    /// Opens a store, and returns it with the path of a file in it.
    fn open(root: &Path) -> (LocalStore, AbsPath) {
        let options = Options {
            roots: vec![root.to_path_buf()],
            hidden: Default::default(),
            allows_git_writes: false,
            is_durable: false,
        };
        let path = AbsPath::parse(root.join("f").to_str().unwrap().into()).unwrap();
        (LocalStore::open(options).unwrap(), path)
    }

    fn read_at_clock(root: &Path, clock_ahead: Duration) -> OnDisk {
        let (store, path) = open(root);
        store.with_clock_ahead(clock_ahead).on_disk(&path, &Context::default()).unwrap()
    }

    /// Writes a file until its time stamps differ.
    fn write_later(file: &Path, text: &str) {
        let before = file.metadata().unwrap().modified().unwrap();
        while file.metadata().unwrap().modified().unwrap() == before {
            std::fs::write(file, text).unwrap();
        }
    }

    fn check(root: &Path, seen: &OnDisk, has_same_identity: bool, has_same_content: bool) {
        let (store, path) = open(root);
        let context = Context::default();
        let location = store.hold_for_editor(&path, Purpose::Change, &context).unwrap();
        assert_eq!(location.has_same_identity(seen), has_same_identity);
        assert_eq!(location.has_same_content(seen).unwrap(), has_same_content);
    }

    #[test]
    fn an_old_file_is_known_by_its_time_stamps_and_a_new_one_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let file = root.join("f");
        std::fs::write(&file, "old").unwrap();
        let read_new = read_at_clock(&root, Duration::ZERO);
        check(&root, &read_new, false, true);
        let read_old = read_at_clock(&root, Duration::from_secs(2));
        check(&root, &read_old, true, true);
        check(&root, &read_new, false, true);
        write_later(&file, "new");
        check(&root, &read_old, false, false);
        // The same again, but by another write.
        write_later(&file, "old");
        check(&root, &read_old, false, true);
        std::fs::rename(&file, root.join("g")).unwrap();
        check(&root, &read_old, false, false);
    }
}
