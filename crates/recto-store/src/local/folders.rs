//! Folders that are made for a new file, and taken away again if the file is not created.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::error::{Error, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::roots::Place;
use super::sys;
use crate::path::AbsPath;

/// The folders that were made, outermost first. Dropping this removes those that are still empty.
#[derive(Default)]
pub struct NewFolders(Vec<(Arc<OwnedFd>, OsString)>);

impl NewFolders {
    /// Makes the folders that a place lacks, one beneath the other.
    pub fn make(&mut self, place: &Place, path: &AbsPath) -> Result<()> {
        let mut folder = place.folder.clone();
        for (index, name) in place.missing_folders.iter().enumerate() {
            match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => self.0.push((folder.clone(), name.clone())),
                // Somebody made it meanwhile, or it is no folder: opening it tells.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(sys::error(errno, path, 0)),
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let inner = rustix::fs::openat(&folder, name, flags, Mode::empty());
            folder = Arc::new(inner.map_err(|errno| match errno {
                Errno::NOTDIR | Errno::LOOP => {
                    let n_below = place.missing_folders.len() - index;
                    Error::NotADirectory { path: path.ancestor(n_below) }
                }
                errno => sys::error(errno, path, 0),
            })?);
        }
        Ok(())
    }

    /// The file stands, so its folders stay, each made durable in the folder above it.
    pub fn keep(&mut self, is_durable: bool) -> sys::SysResult<()> {
        for (parent, _) in std::mem::take(&mut self.0) {
            if is_durable {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let parent = rustix::fs::openat(&parent, ".", flags, Mode::empty())?;
                sys::retry(|| rustix::fs::fsync(&parent))?;
            }
        }
        Ok(())
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for (parent, name) in self.0.drain(..).rev() {
            let _ = rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        }
    }
}
