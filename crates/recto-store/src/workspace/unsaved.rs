//! Files whose text in the editor was last seen not to be on the disk.
//!
//! A file that the disk lacks exists while it is known here: some editors answer "" for a file
//! that is nowhere, so that their word is no proof. Once it is seen on the disk, the disk decides.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use crate::sync::lock;

/// The most files that are known.
const MAX_FILES: usize = 4096;

/// Files by their paths without links.
#[derive(Default)]
pub struct Unsaved(Mutex<Known>);

#[derive(Default)]
struct Known {
    files: HashMap<PathBuf, State>,
    /// The one that has been known longest stands first.
    order: VecDeque<PathBuf>,
}

/// How the disk lags behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has no such file: it was written through the editor and not saved.
    New,
    /// It has another text.
    Differs,
}

impl Unsaved {
    /// Takes note of a file.
    pub fn insert(&self, path: &Path, state: State) {
        let mut known = self.lock();
        if known.files.insert(path.to_path_buf(), state).is_none() {
            known.order.push_back(path.to_path_buf());
        }
        if known.files.len() > MAX_FILES
            && let Some(oldest) = known.order.pop_front()
        {
            known.files.remove(&oldest);
        }
    }

    /// The disk has the file, or the editor does not.
    pub fn remove(&self, path: &Path) {
        let mut known = self.lock();
        if known.files.remove(path).is_some() {
            known.order.retain(|other| other != path);
        }
    }

    /// Whether the disk lags behind.
    pub fn contains(&self, path: &Path) -> bool {
        self.lock().files.contains_key(path)
    }

    /// Whether the editor alone has the file.
    pub fn is_new(&self, path: &Path) -> bool {
        self.lock().files.get(path) == Some(&State::New)
    }

    /// Whether the editor alone has a file somewhere beneath a folder.
    pub fn has_new_beneath(&self, folder: &Path) -> bool {
        let known = self.lock();
        known.files.iter().any(|(path, state)| *state == State::New && path.starts_with(folder))
    }

    /// Whether nothing is known to lag behind.
    pub fn is_empty(&self) -> bool {
        self.lock().files.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let unsaved = Unsaved::default();
        let path = |n: usize| PathBuf::from(format!("/{n}"));
        for n in 0..=MAX_FILES {
            unsaved.insert(&path(n), State::New);
        }
        assert!(!unsaved.contains(&path(0)));
        assert!(unsaved.is_new(&path(1)) && unsaved.is_new(&path(MAX_FILES)));
        unsaved.remove(&path(1));
        let known = unsaved.lock();
        assert_eq!(known.files.len(), known.order.len());
    }
}
