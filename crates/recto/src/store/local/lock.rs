//! One change at a time in a folder, in this process and among all that run recto.
//!
//! The lock is the kernel's own on the folder, so that it leaves no file behind and goes away
//! with a killed process.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use recto_text::{Error, Result};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::sys;
use crate::caller::Caller;
use crate::path::AbsPath;

/// How often a call that waits looks whether it was taken back.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long a call waits before it answers that the folder is busy.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// A folder's device and inode.
type FolderId = (u64, u64);

/// The folders that this process holds.
#[derive(Default)]
pub struct Locks {
    held: Mutex<HashSet<FolderId>>,
    released: Condvar,
}

/// A locked folder. Dropping it lets the next one in.
pub struct FolderLock<'a> {
    locks: &'a Locks,
    id: FolderId,
    folder: Arc<OwnedFd>,
    is_shared_with_processes: bool,
}

impl Locks {
    /// Waits for the folder.
    pub fn lock(
        &self,
        folder: &OwnedFd,
        path: &AbsPath,
        caller: &Caller,
    ) -> Result<FolderLock<'_>> {
        let failed = |errno| match errno {
            Errno::NOENT => Error::ParentNotFound { parent: path.parent() },
            errno => sys::error(errno, path, 0),
        };
        let deadline = Instant::now() + MAX_WAIT;
        // A handle of its own: the lock belongs to the open file, not to the process.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(folder, ".", flags, Mode::empty()).map_err(failed)?;
        let status = rustix::fs::fstat(&folder).map_err(failed)?;
        let id = (status.st_dev, status.st_ino);
        if !self.enter(id, deadline, caller)? {
            return Err(Error::Busy { path: path.to_string() });
        }
        let mut lock = FolderLock {
            locks: self,
            id,
            folder: Arc::new(folder),
            is_shared_with_processes: true,
        };
        match flock(&lock.folder, deadline, caller)? {
            Ok(()) => Ok(lock),
            Err(Errno::AGAIN) => Err(Error::Busy { path: path.to_string() }),
            // Some network filesystems have no locks on folders. Lost updates are still noticed
            // by the exchange of the write protocol.
            Err(_) => {
                lock.is_shared_with_processes = false;
                Ok(lock)
            }
        }
    }

    /// Whether the folder became ours in time.
    fn enter(&self, id: FolderId, deadline: Instant, caller: &Caller) -> Result<bool> {
        let mut held = self.held();
        while !held.insert(id) {
            caller.cancel.check()?;
            if Instant::now() >= deadline {
                return Ok(false);
            }
            let waited = self.released.wait_timeout(held, PATIENCE);
            held = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(true)
    }

    fn held(&self) -> MutexGuard<'_, HashSet<FolderId>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FolderLock<'_> {
    /// The folder, open for reading.
    pub fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// The folder's device and inode.
    pub fn id(&self) -> FolderId {
        self.id
    }

    /// Whether other processes that run recto are kept out too.
    pub fn is_shared_with_processes(&self) -> bool {
        self.is_shared_with_processes
    }
}

impl Drop for FolderLock<'_> {
    fn drop(&mut self) {
        if self.is_shared_with_processes {
            // The handle is closed right after, which releases the lock too.
            let _ = rustix::fs::flock(&self.folder, FlockOperation::Unlock);
        }
        self.locks.held().remove(&self.id);
        self.locks.released.notify_all();
    }
}

/// Locks without waiting if possible. Otherwise a thread waits in the kernel's queue, which is
/// first come, first served; polling with back-off was seen to starve a process for over a second.
/// The thread of a call that gave up takes the lock once it can, and lets go at once.
fn flock(
    folder: &Arc<OwnedFd>,
    deadline: Instant,
    caller: &Caller,
) -> Result<std::result::Result<(), Errno>> {
    match sys::retry(|| rustix::fs::flock(folder, FlockOperation::NonBlockingLockExclusive)) {
        Err(Errno::AGAIN) => {}
        done => return Ok(done),
    }
    let (sender, receiver) = sync_channel(1);
    let waiting = folder.clone();
    let wait = move || {
        let locked = sys::retry(|| rustix::fs::flock(&waiting, FlockOperation::LockExclusive));
        let _ = sender.send(locked);
    };
    if std::thread::Builder::new().name("recto-lock".into()).spawn(wait).is_err() {
        return Ok(Err(Errno::AGAIN));
    }
    while Instant::now() < deadline {
        match receiver.recv_timeout(PATIENCE) {
            Ok(locked) => return Ok(locked),
            Err(RecvTimeoutError::Timeout) => caller.cancel.check()?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(Err(Errno::AGAIN))
}
