//! Files whose text in the editor was last seen not to be on the disk.
//!
//! A file that the disk lacks exists while it is known here: some editors answer "" for a file
//! that is nowhere, so that their word is no proof. Once it is seen on the disk, the disk decides.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::lru::Lru;
use crate::sync::lock;

/// The most files that are known.
const MAX_FILES: usize = 4096;

/// Files by their paths without links.
#[derive(Default)]
pub struct Unsaved(Mutex<Lru<PathBuf, UnsavedState, MAX_FILES>>);

/// How the disk lags behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsavedState {
    /// It has no such file: it was written through the editor and not saved.
    New,
    /// It has another text.
    Differs,
}

impl Unsaved {
    /// Takes note of a file.
    pub fn insert(&self, path: &Path, state: UnsavedState) {
        lock(&self.0).insert(path.to_path_buf(), state);
    }

    /// The disk has the file, or the editor does not.
    pub fn remove(&self, path: &Path) {
        lock(&self.0).remove(path);
    }

    /// Whether the disk lags behind.
    pub fn contains(&self, path: &Path) -> bool {
        lock(&self.0).get(path).is_some()
    }

    /// Whether the editor alone has the file.
    pub fn is_new(&self, path: &Path) -> bool {
        lock(&self.0).get(path) == Some(&mut UnsavedState::New)
    }

    /// Whether the editor alone has a file somewhere beneath a folder.
    pub fn has_new_beneath(&self, folder: &Path) -> bool {
        let files = lock(&self.0);
        files.iter().any(|(path, state)| *state == UnsavedState::New && path.starts_with(folder))
    }

    /// Whether nothing is known to lag behind.
    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}
