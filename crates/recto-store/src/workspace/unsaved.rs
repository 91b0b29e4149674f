//! Tracks files whose text in the editor differed from the disk when it was last read.
//!
//! A file that is not on disk exists only if it is tracked here: some editors answer "" for a
//! missing file, so their answer is not proof. Once the file is on disk, the disk decides.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::lru::Lru;
use crate::sync::lock;

/// The most files that are tracked.
const MAX_FILES: usize = 4096;

/// Files by path, with links resolved.
#[derive(Default)]
pub struct Unsaved(Mutex<Lru<PathBuf, UnsavedState, MAX_FILES>>);

/// How the disk differs from the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsavedState {
    /// The file is not on disk: it was written through the editor, or begun by the user, and not
    /// saved.
    New,
    /// The file on disk has another text.
    Differs,
}

impl Unsaved {
    /// Tracks a file.
    pub fn insert(&self, path: &Path, state: UnsavedState) {
        lock(&self.0).insert(path.to_path_buf(), state);
    }

    /// Stops tracking a file that was saved, or that the editor no longer has.
    pub fn remove(&self, path: &Path) {
        lock(&self.0).remove(path);
    }

    /// Whether a file has unsaved text.
    pub fn contains(&self, path: &Path) -> bool {
        lock(&self.0).get(path).is_some()
    }

    /// Whether a file exists only in the editor.
    pub fn is_new(&self, path: &Path) -> bool {
        lock(&self.0).get(path) == Some(&mut UnsavedState::New)
    }

    /// Whether a file below a directory exists only in the editor.
    pub fn has_new_below(&self, folder: &Path) -> bool {
        let files = lock(&self.0);
        files.iter().any(|(path, state)| *state == UnsavedState::New && path.starts_with(folder))
    }

    /// Whether no file is tracked.
    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}
