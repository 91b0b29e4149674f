//! The wall for those who read more than one file behind a path, such as a git directory: what
//! stands there, its bytes and its names by handle, and which paths a listing may tell.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::Result;
use recto_platform::{FileKind, SysError};

use super::read::OpenFile;
use super::roots::{LastLink, Place};
use super::{LocalStore, sys};
use crate::context::{Access, Context, Sandbox};
use crate::path::AbsPath;

/// What stands at a path.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The path without links, whether or not something stands there.
    pub real_path: PathBuf,
    /// What stands there.
    pub kind: Option<FileKind>,
}

impl Seen {
    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == Some(FileKind::Directory)
    }
}

impl From<Place> for Seen {
    fn from(place: Place) -> Seen {
        Seen { real_path: place.real_path, kind: place.kind }
    }
}

/// Which paths one caller may learn of.
pub struct Visible<'a> {
    store: &'a LocalStore,
    sandbox: Sandbox,
}

impl Visible<'_> {
    /// Whether a path without links lies beneath a root, is not hidden, and may be read.
    pub fn contains(&self, real_path: &Path) -> bool {
        self.is_served(real_path) && self.sandbox.access(real_path, |_| None) != Access::None
    }

    /// Whether something beneath a folder may be visible, so that it pays to look.
    pub fn may_hold(&self, folder: &Path) -> bool {
        self.is_served(folder) || self.store.is_above_root(folder)
    }

    fn is_served(&self, real_path: &Path) -> bool {
        self.store.roots.beneath(real_path).is_some() && !self.store.roots.hides(real_path)
    }
}

impl LocalStore {
    /// What stands at a path, where links lead. Refuses what a read would refuse.
    pub fn look(&self, path: &AbsPath, context: &Context) -> Result<Seen> {
        self.resolve(path, LastLink::Follow, context, Access::Read).map(Seen::from)
    }

    /// What stands at a path, which may be a link itself.
    pub fn look_at_link(&self, path: &AbsPath, context: &Context) -> Result<Seen> {
        self.resolve(path, LastLink::Keep, context, Access::Read).map(Seen::from)
    }

    /// The folder that a place lacks, as a message names it: that of the file a link leads to, not
    /// that of the link.
    pub(super) fn missing_folder(
        &self,
        path: &AbsPath,
        place: &Place,
        context: &Context,
    ) -> String {
        let link = self.look_at_link(path, context);
        match (link.map(|link| link.kind), place.real_path.parent()) {
            (Ok(Some(FileKind::Symlink)), Some(parent)) => {
                self.roots.as_given(parent).display().to_string()
            }
            _ => path.parent(),
        }
    }

    /// Opens a regular file, or `None` where nothing stands.
    pub fn open_file(&self, path: &AbsPath, context: &Context) -> Result<Option<File>> {
        let place = self.resolve(path, LastLink::Follow, context, Access::Read)?;
        let file = OpenFile::open_found(&*self.sys, &place, path)?;
        Ok(file.map(|file| File::from(file.fd)))
    }

    /// The names in a folder, at most so many, in no order; none where no folder stands.
    pub fn names(&self, path: &AbsPath, limit: usize, context: &Context) -> Result<Vec<OsString>> {
        let place = self.resolve(path, LastLink::Follow, context, Access::Read)?;
        if !place.is_folder() {
            return Ok(Vec::new());
        }
        let failed = |errno: SysError| sys::error(errno, path, 0);
        let folder = recto_platform::open_directory_at(&place.folder, &place.name);
        let entries = folder.and_then(recto_platform::entries).map_err(failed)?;
        entries.take(limit).map(|entry| Ok(entry.map_err(failed)?.0)).collect()
    }

    /// Whether a root lies beneath a folder, which then is no secret.
    pub fn is_above_root(&self, folder: &Path) -> bool {
        self.roots().iter().any(|root| root.starts_with(folder))
    }

    /// Which paths a caller may learn of, for many questions.
    pub fn visible(&self, context: &Context) -> Visible<'_> {
        let sandbox = context.sandbox.resolved(|path| path.canonicalize().ok());
        Visible { store: self, sandbox }
    }
}
