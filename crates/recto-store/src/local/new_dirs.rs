//! Directories that are created for a new file, and removed if the file is not created.

use std::ffi::OsString;
use std::sync::Arc;

use crate::error::{Error, Result};
use recto_platform::{Handle, SysError, SysResult};

use super::roots::Location;
use super::sys;
use crate::path::AbsPath;

/// The number of directories that are open at the same time while they are removed.
const MAX_OPEN: usize = 32;

/// The created directories. Dropping this removes those that are still empty.
#[derive(Default)]
pub struct NewDirs(Vec<NewChain>);

/// Directories that were created inside each other.
struct NewChain {
    /// The directory that contains the first.
    parent: Arc<Handle>,
    names: Vec<OsString>,
}

impl NewDirs {
    /// Creates the missing directories of a location, each inside the previous one.
    pub fn make(&mut self, location: &Location, path: &AbsPath) -> Result<()> {
        let mut dir = location.dir.clone();
        let mut is_new = false;
        for (index, name) in location.missing_dirs.iter().enumerate() {
            match recto_platform::create_directory_at(&dir, name, 0o777) {
                Ok(()) => {
                    if !is_new {
                        self.0.push(NewChain { parent: dir.clone(), names: Vec::new() });
                    }
                    is_new = true;
                    self.0.last_mut().expect("a chain was pushed").names.push(name.clone());
                }
                // Another process created it, or it is not a directory: opening it shows.
                Err(SysError::EXIST) => is_new = false,
                Err(errno) => return Err(sys::error(errno, path, 0)),
            }
            let inner = recto_platform::open_path_at(&dir, name);
            dir = Arc::new(inner.map_err(|errno| match errno {
                SysError::NOTDIR | SysError::LOOP => {
                    let n_below = location.missing_dirs.len() - index;
                    Error::NotADirectory { path: path.ancestor(n_below) }
                }
                errno => sys::error(errno, path, 0),
            })?);
        }
        Ok(())
    }

    /// Keeps the directories because the file exists, and syncs their parents if requested.
    pub fn keep(&mut self, is_durable: bool) -> SysResult<()> {
        for NewChain { parent, names } in std::mem::take(&mut self.0) {
            let mut dir = parent;
            for name in names.iter().filter(|_| is_durable) {
                let parent = recto_platform::open_directory_at(&dir, ".")?;
                sys::retry(|| parent.sync())?;
                dir = Arc::new(recto_platform::open_path_at(&dir, name)?);
            }
        }
        Ok(())
    }
}

impl NewChain {
    /// Removes the directories that are empty, the innermost first.
    fn remove(&mut self) -> SysResult<()> {
        while !self.names.is_empty() {
            let start = self.names.len().saturating_sub(MAX_OPEN);
            let inner = self.names.split_off(start);
            let mut dir = self.parent.clone();
            for name in &self.names {
                dir = Arc::new(recto_platform::open_path_at(&dir, name)?);
            }
            let mut parents = vec![dir];
            for name in &inner[..inner.len() - 1] {
                let parent = parents.last().expect("it starts with one");
                // Another process may have removed it already.
                let Ok(dir) = recto_platform::open_path_at(parent, name) else { break };
                parents.push(Arc::new(dir));
            }
            for (parent, name) in parents.iter().zip(&inner).rev() {
                match recto_platform::remove_directory_at(parent, name) {
                    Ok(()) | Err(SysError::NOENT) => {}
                    Err(errno) => return Err(errno),
                }
            }
        }
        Ok(())
    }
}

impl Drop for NewDirs {
    fn drop(&mut self) {
        for chain in self.0.iter_mut().rev() {
            // If one is not empty, its parents are not empty either.
            let _ = chain.remove();
        }
    }
}
