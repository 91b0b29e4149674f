//! The disk's side of a file that an editor reads and writes.
//!
//! recto makes the same checks as for its own reads and changes, and locks the directory during a
//! change so that other recto processes wait. It takes no lease: the editor would block on saving
//! until recto released the lease, and recto waits for the editor.

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
use crate::record::Intent;

/// A file on disk at the time it was read.
#[derive(Debug, Clone)]
pub struct OnDisk {
    /// The canonical path.
    pub real_path: PathBuf,
    /// The path below the root as the user spelled the root, which is how the editor knows it.
    pub given_path: PathBuf,
    /// The content.
    pub content: DiskContent,
    /// The modification time, if the file exists.
    pub modified: Option<SystemTime>,
    /// Identifies the content by its timestamps. `None` for a file modified too recently for that.
    identity: Option<Identity>,
}

/// The content of a file on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskContent {
    /// The file does not exist.
    Missing,
    /// The file is too large to be read whole.
    Large,
    /// The whole content.
    Bytes(Vec<u8>),
}

impl OnDisk {
    /// Reads a file that was opened at a location.
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
            Some(file) => {
                let kept = context.keep_memory(file.n_needed_to_read());
                kept.map_err(|reason| reason.for_file(path, file.status.size))?;
                DiskContent::Bytes(file.read_whole(path, context)?)
            }
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

/// A path whose directory stays locked until this is dropped.
pub struct EditorHold<'a>(pub(super) LockedPath<'a>);

impl<'a> EditorHold<'a> {
    /// Reads the file. Fails if a change would be rejected.
    pub fn on_disk(&self) -> Result<OnDisk> {
        let LockedPath { store, context, path, location, .. } = &self.0;
        if self.0.is_link() {
            self.0.check_writable(".")?;
            return store.on_disk(path, context);
        }
        let file = self.0.open_to_change()?;
        OnDisk::read(store, location, file, path, context)
    }

    /// Returns whether the file still has the content that was read.
    pub fn has_same_content(&self, seen: &OnDisk) -> Result<bool> {
        Ok(self.has_same_identity(seen) || self.on_disk()?.content == seen.content)
    }

    /// Returns the current state of the file, and reads it only if it changed.
    pub fn refresh(&self, seen: OnDisk) -> Result<OnDisk> {
        if self.has_same_identity(&seen) { Ok(seen) } else { self.on_disk() }
    }

    /// Returns whether the timestamps prove that the file is unchanged.
    fn has_same_identity(&self, seen: &OnDisk) -> bool {
        let LockedPath { store, location, .. } = &self.0;
        let Some(identity) = seen.identity.filter(|_| !self.0.is_link()) else { return false };
        let status = store.sys.status(&location.dir, &location.name);
        status.is_ok_and(|status| Identity::of(&status) == identity)
    }

    /// Fails if no file can be created in the directory.
    pub fn check_dir(&self) -> Result<()> {
        self.0.check_writable(".")
    }

    /// Keeps the directories that were created for the file, because the editor creates it.
    pub fn keep_dirs(&mut self) {
        // The editor decides whether the file is durable, so the directories are not synced.
        let _ = self.0.new_dirs.keep(false);
    }

    /// Records a change that the editor is asked to make.
    pub fn intend(&self, before: Option<&[u8]>, after: &[u8]) -> Result<Intent<'_>> {
        self.0.intend_in_editor(before, after)
    }

    /// Returns whether the name did not exist on disk when the directory was locked.
    pub fn is_vacant(&self) -> bool {
        self.0.is_vacant
    }

    /// Returns the locked path, for a write by recto itself.
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

    /// Writes a file until its timestamps differ.
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
    fn identifies_an_old_file_by_its_timestamps_and_reads_a_new_one() {
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
        // The content is the same, but the timestamps differ.
        write_later(&file, "old");
        check(&root, &read_old, false, true);
        std::fs::rename(&file, root.join("g")).unwrap();
        check(&root, &read_old, false, false);
    }
}
