//! Finds leftovers of killed processes below all roots, to report or remove them without changing a
//! file in their directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use recto_platform::{FileKind, Handle, SysResult};

use super::LocalStore;
use super::leftovers::{self, LeftoverVerdict};
use crate::context::Context;
use crate::limits;
use crate::path::AbsPath;

/// The leftovers below the roots.
#[derive(Debug, Default)]
pub struct Survey {
    /// The leftovers that remain, and whether they are safe to remove.
    pub left: Vec<(PathBuf, LeftoverVerdict)>,
    /// The number of removed leftovers.
    pub n_removed: usize,
    /// Whether all directories were searched.
    pub is_complete: bool,
}

/// Whether to remove leftovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    /// Remove those that are safe to remove.
    Remove,
    /// Only report them.
    Keep,
}

impl Survey {
    /// Searches for leftovers below the roots of a store.
    pub(super) fn of(store: &LocalStore, cleaning: Cleaning) -> Survey {
        let start = Instant::now();
        let mut survey = Survey { is_complete: true, ..Survey::default() };
        let mut n_entries = 0;
        let mut waiting: Vec<UnvisitedDir> =
            outermost_roots(store).into_iter().map(UnvisitedDir::Root).collect();
        while let Some(dir) = waiting.pop() {
            if n_entries > limits::WALK_ENTRIES || start.elapsed() > limits::WALK_TIME {
                survey.is_complete = false;
                break;
            }
            let Ok(handle) = dir.open() else { continue };
            let (handle, path) = (Arc::new(handle), dir.path());
            let mut has_leftovers = false;
            for (name, kind) in names(&handle, &mut n_entries) {
                match kind {
                    FileKind::Directory => waiting.push(UnvisitedDir::Child {
                        parent: handle.clone(),
                        path: path.join(&name),
                        name,
                    }),
                    _ => has_leftovers |= leftovers::is_name(&name),
                }
            }
            if has_leftovers {
                survey.add_dir(store, path, &handle, cleaning);
            }
        }
        survey
    }

    fn add_dir(&mut self, store: &LocalStore, dir: &Path, handle: &Handle, cleaning: Cleaning) {
        let path = AbsPath::of(dir.to_path_buf(), dir.display().to_string());
        // The process that has the lock may be in the middle of a write.
        let Ok(lock) = store.locks.lock(handle, &path, &Context::default()) else {
            self.is_complete = false;
            return;
        };
        for (name, verdict) in leftovers::find(&*store.sys, &lock) {
            if cleaning == Cleaning::Remove
                && verdict == LeftoverVerdict::Removable
                && leftovers::remove(&*store.sys, &lock, &name)
            {
                self.n_removed += 1;
            } else {
                self.left.push((dir.join(name), verdict));
            }
        }
    }
}

/// Returns the roots that are not inside another root.
fn outermost_roots(store: &LocalStore) -> Vec<PathBuf> {
    let mut roots = store.roots();
    roots.sort();
    // After sorting, the roots inside a root directly follow it.
    roots.dedup_by(|root, before| root.starts_with(before));
    roots
}

/// A directory to search. Leftovers are removed through its handle, so that no link on the way is
/// followed.
enum UnvisitedDir {
    Root(PathBuf),
    Child { parent: Arc<Handle>, name: OsString, path: PathBuf },
}

impl UnvisitedDir {
    fn path(&self) -> &Path {
        match self {
            UnvisitedDir::Root(path) | UnvisitedDir::Child { path, .. } => path,
        }
    }

    fn open(&self) -> SysResult<Handle> {
        match self {
            UnvisitedDir::Root(path) => recto_platform::open_directory(path),
            UnvisitedDir::Child { parent, name, .. } => {
                recto_platform::open_directory_at(parent, name)
            }
        }
    }
}

fn names(dir: &Handle, n_entries: &mut u64) -> Vec<(OsString, FileKind)> {
    let opened = recto_platform::open_directory_at(dir, ".");
    let Ok(entries) = opened.and_then(recto_platform::entries) else { return Vec::new() };
    let names: Vec<_> = entries.flatten().collect();
    *n_entries += names.len() as u64;
    names
}
