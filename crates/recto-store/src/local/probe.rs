//! Checked access for callers that need more than one file, such as the git store: what exists at a
//! path, the names in a directory, and which paths a caller may see.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Result;
use recto_platform::{FileKind, SysError};

use super::roots::Location;
use super::{LocalStore, sys};
use crate::context::{Access, Sandbox};
use crate::path::AbsPath;

/// What exists at a path.
#[derive(Debug, Clone)]
pub struct PathInfo {
    /// The canonical path, whether or not it exists.
    pub real_path: PathBuf,
    /// What exists there.
    pub kind: Option<FileKind>,
}

impl PathInfo {
    /// Returns whether it is a directory.
    pub fn is_dir(&self) -> bool {
        self.kind == Some(FileKind::Directory)
    }
}

impl From<Location> for PathInfo {
    fn from(location: Location) -> PathInfo {
        PathInfo { real_path: location.real_path, kind: location.kind }
    }
}

/// The paths that a caller may see.
pub struct Visible<'a> {
    pub(super) store: &'a LocalStore,
    pub(super) sandbox: Sandbox,
}

impl Visible<'_> {
    /// Returns whether a canonical path is inside a root, is not hidden, and may be read.
    pub fn contains(&self, real_path: &Path) -> bool {
        self.is_served(real_path) && self.sandbox.access(real_path, |_| None) != Access::None
    }

    /// Returns whether a directory may contain visible paths.
    pub fn may_contain(&self, dir: &Path) -> bool {
        self.is_served(dir) || self.store.is_above_root(dir)
    }

    fn is_served(&self, real_path: &Path) -> bool {
        self.store.roots.root_containing(real_path).is_some()
            && !self.store.roots.hides_in_tree(real_path)
    }
}

/// Returns up to `limit` names in a directory, unsorted, or none if there is no such directory.
pub(super) fn names(location: &Location, path: &AbsPath, limit: usize) -> Result<Vec<OsString>> {
    if !location.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |errno: SysError| sys::error(errno, path, 0);
    let dir = recto_platform::open_directory_at(&location.dir, &location.name);
    let entries = dir.and_then(recto_platform::entries).map_err(failed)?;
    entries.take(limit).map(|entry| Ok(entry.map_err(failed)?.0)).collect()
}
