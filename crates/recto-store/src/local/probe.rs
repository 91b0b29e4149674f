//! The wall for those who read more than one file behind a path, such as a git directory: what
//! stands there, its bytes and its names by handle, and which paths a listing may tell.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Result;
use recto_platform::{FileKind, SysError};

use super::roots::Location;
use super::{LocalStore, sys};
use crate::context::{Access, Sandbox};
use crate::path::AbsPath;

/// What stands at a path.
#[derive(Debug, Clone)]
pub struct PathInfo {
    /// The path without links, whether or not something stands there.
    pub real_path: PathBuf,
    /// What stands there.
    pub kind: Option<FileKind>,
}

impl PathInfo {
    /// Whether it is a folder.
    pub fn is_dir(&self) -> bool {
        self.kind == Some(FileKind::Directory)
    }
}

impl From<Location> for PathInfo {
    fn from(location: Location) -> PathInfo {
        PathInfo { real_path: location.real_path, kind: location.kind }
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
    pub fn may_contain(&self, dir: &Path) -> bool {
        self.is_served(dir) || self.store.is_above_root(dir)
    }

    fn is_served(&self, real_path: &Path) -> bool {
        self.store.roots.root_containing(real_path).is_some() && !self.store.roots.hides(real_path)
    }
}

/// Returns the names in a folder, at most so many, in no order; none where there is no folder.
pub(super) fn names(location: &Location, path: &AbsPath, limit: usize) -> Result<Vec<OsString>> {
    if !location.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |errno: SysError| sys::error(errno, path, 0);
    let dir = recto_platform::open_directory_at(&location.dir, &location.name);
    let entries = dir.and_then(recto_platform::entries).map_err(failed)?;
    entries.take(limit).map(|entry| Ok(entry.map_err(failed)?.0)).collect()
}
