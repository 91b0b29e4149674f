//! Directories that are created for a new file, and removed if the file is not created.

use std::ffi::OsString;
use std::sync::Arc;

use crate::error::{Error, Result};
use recto_platform::{Handle, SysError, SysResult};

use super::roots::Location;
use super::sys;
use crate::path::AbsPath;

/// The created directories, outermost first. Dropping this removes those that are still empty.
#[derive(Default)]
pub struct NewDirs(Vec<(Arc<Handle>, OsString)>);

impl NewDirs {
    /// Creates the missing directories of a location, each inside the previous one.
    pub fn make(&mut self, location: &Location, path: &AbsPath) -> Result<()> {
        let mut dir = location.dir.clone();
        for (index, name) in location.missing_dirs.iter().enumerate() {
            match recto_platform::create_directory_at(&dir, name, 0o777) {
                Ok(()) => self.0.push((dir.clone(), name.clone())),
                // Another process created it, or it is not a directory: opening it shows.
                Err(SysError::EXIST) => {}
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
        for (parent, _) in std::mem::take(&mut self.0) {
            if is_durable {
                let parent = recto_platform::open_directory_at(&parent, ".")?;
                sys::retry(|| parent.sync())?;
            }
        }
        Ok(())
    }
}

impl Drop for NewDirs {
    fn drop(&mut self) {
        for (parent, name) in self.0.drain(..).rev() {
            let _ = recto_platform::remove_directory_at(&parent, &name);
        }
    }
}
