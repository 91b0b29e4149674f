//! The directories of a transaction, and their locks.

use recto_platform::Handle;

use super::super::LocalStore;
use super::super::lock::DirLock;
use super::super::roots::Location;
use super::super::sys;
use super::places::open_dir;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::path::AbsPath;

/// The directories of a transaction.
#[derive(Default)]
pub struct Dirs<'a> {
    pub found: Vec<FoundDir<'a>>,
}

pub struct FoundDir<'a> {
    pub id: (u64, u64),
    /// Open for reading.
    pub dir: Handle,
    pub path: &'a AbsPath,
}

impl<'a> Dirs<'a> {
    /// Returns the index of the directory of a location.
    pub fn add(&mut self, location: &Location, path: &'a AbsPath) -> Result<usize> {
        let failed = |errno| sys::error(errno, path, 0);
        let id = location.dir.status().map_err(failed)?.id();
        if let Some(index) = self.found.iter().position(|found| found.id == id) {
            return Ok(index);
        }
        self.found.push(FoundDir { id, dir: open_dir(&location.dir, path)?, path });
        Ok(self.found.len() - 1)
    }

    /// Locks all directories. All processes lock them in the same order, so that none waits for
    /// one that waits for it.
    pub fn lock(&self, store: &LocalStore, context: &Context) -> Result<Vec<DirLock>> {
        let mut order: Vec<usize> = (0..self.found.len()).collect();
        order.sort_by_key(|index| self.found[*index].id);
        let mut locks: Vec<Option<DirLock>> = self.found.iter().map(|_| None).collect();
        for index in order {
            let FoundDir { dir, path, .. } = &self.found[index];
            let lock = store.locks.lock(dir, path, context)?;
            if !lock.excludes_other_processes() {
                let cause = "the file system does not lock directories".into();
                return Err(Error::NotTogether { path: path.to_string(), cause });
            }
            locks[index] = Some(lock);
        }
        Ok(locks.into_iter().flatten().collect())
    }
}
