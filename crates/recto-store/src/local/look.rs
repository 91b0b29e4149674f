//! The wall for those who read more than one file behind a path, such as a git directory: what
//! stands there, its bytes and its names by handle, and which paths a listing may tell.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Result;
use recto_platform::{FileKind, SysError};

use super::roots::Place;
use super::{LocalStore, sys};
use crate::context::{Access, Sandbox};
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
    pub(super) store: &'a LocalStore,
    pub(super) sandbox: Sandbox,
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

/// Returns the names in a folder, at most so many, in no order; none where there is no folder.
pub(super) fn names(place: &Place, path: &AbsPath, limit: usize) -> Result<Vec<OsString>> {
    if !place.is_folder() {
        return Ok(Vec::new());
    }
    let failed = |errno: SysError| sys::error(errno, path, 0);
    let folder = recto_platform::open_directory_at(&place.folder, &place.name);
    let entries = folder.and_then(recto_platform::entries).map_err(failed)?;
    entries.take(limit).map(|entry| Ok(entry.map_err(failed)?.0)).collect()
}
