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

use super::sys::{self, SysResult};
use crate::caller::Caller;
use crate::limits;
use crate::path::AbsPath;

/// How often a call that waits looks whether it was taken back.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long a call waits before it answers that the folder is busy.
const MAX_WAIT: Duration = limits::LOCK_WAIT;

/// A folder's device and inode.
type FolderId = (u64, u64);

/// The folders that this process holds or waits for.
#[derive(Default)]
pub struct Locks {
    folders: Arc<Folders>,
}

#[derive(Default)]
struct Folders {
    taken: Mutex<HashSet<FolderId>>,
    released: Condvar,
}

/// A folder that is this call's among those of this process.
struct Taken {
    folders: Arc<Folders>,
    id: FolderId,
}

/// A locked folder. Dropping it lets the next one in.
pub struct FolderLock {
    // Dropped first: the kernel's lock ends when the last handle is closed.
    folder: Arc<OwnedFd>,
    taken: Taken,
    is_shared_with_processes: bool,
}

impl Locks {
    /// Waits for the folder.
    pub fn lock(&self, folder: &OwnedFd, path: &AbsPath, caller: &Caller) -> Result<FolderLock> {
        let failed = |errno| match errno {
            Errno::NOENT => Error::ParentNotFound { parent: path.parent() },
            errno => sys::error(errno, path, 0),
        };
        let busy = || Error::Busy { path: path.to_string() };
        let deadline = Instant::now() + MAX_WAIT;
        // A handle of its own: the lock belongs to the open file, not to the process.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(folder, ".", flags, Mode::empty()).map_err(failed)?;
        let status = rustix::fs::fstat(&folder).map_err(failed)?;
        let folder = Arc::new(folder);
        let id = (status.st_dev, status.st_ino);
        let taken = self.take(id, deadline, caller)?.ok_or_else(busy)?;
        match sys::retry(|| rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => Ok(FolderLock { folder, taken, is_shared_with_processes: true }),
            Err(Errno::AGAIN) => {
                let taken = wait(&folder, taken, deadline, caller)?.ok_or_else(busy)?;
                Ok(FolderLock { folder, taken, is_shared_with_processes: true })
            }
            // Some network filesystems have no locks on folders. Lost updates are still noticed
            // by the exchange of the write protocol.
            Err(_) => Ok(FolderLock { folder, taken, is_shared_with_processes: false }),
        }
    }

    fn take(&self, id: FolderId, deadline: Instant, caller: &Caller) -> Result<Option<Taken>> {
        let mut taken = self.folders.lock();
        while !taken.insert(id) {
            caller.cancel.check()?;
            if Instant::now() >= deadline {
                return Ok(None);
            }
            let waited = self.folders.released.wait_timeout(taken, PATIENCE);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(Some(Taken { folders: self.folders.clone(), id }))
    }
}

/// A thread waits in the kernel's queue, which is first come, first served; polling with back-off
/// was seen to starve a process for over a second.
///
/// The thread of a call that gave up keeps the folder taken until it has been through the queue,
/// so that no folder has more than one.
fn wait(
    folder: &Arc<OwnedFd>,
    taken: Taken,
    deadline: Instant,
    caller: &Caller,
) -> Result<Option<Taken>> {
    let (sender, receiver) = sync_channel::<SysResult<Taken>>(1);
    let folder = folder.clone();
    let queue = move || {
        let locked = sys::retry(|| rustix::fs::flock(&folder, FlockOperation::LockExclusive));
        // Where nobody listens any more, this is the last handle, and closing it unlocks.
        drop(folder);
        let _ = sender.send(locked.map(|()| taken));
    };
    if std::thread::Builder::new().name("recto-lock".into()).spawn(queue).is_err() {
        return Ok(None);
    }
    while Instant::now() < deadline {
        match receiver.recv_timeout(PATIENCE) {
            Ok(locked) => return Ok(locked.ok()),
            Err(RecvTimeoutError::Timeout) => caller.cancel.check()?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(None)
}

impl FolderLock {
    /// The folder, open for reading.
    pub fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// The folder's device and inode.
    pub fn id(&self) -> FolderId {
        self.taken.id
    }

    /// Whether other processes that run recto are kept out too.
    pub fn is_shared_with_processes(&self) -> bool {
        self.is_shared_with_processes
    }
}

impl Folders {
    fn lock(&self) -> MutexGuard<'_, HashSet<FolderId>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.folders.lock().remove(&self.id);
        self.folders.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn open(path: &std::path::Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
    }

    #[test]
    fn calls_that_give_up_leave_one_thread_and_the_folder_comes_free() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = open(folder.path());
        rustix::fs::flock(&foreign, FlockOperation::LockExclusive).unwrap();
        let (locks, handle) = (Locks::default(), open(folder.path()));
        let path = AbsPath::parse("/f".into()).unwrap();
        let n_threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let n_before = n_threads();
        for _ in 0..5 {
            let caller = Caller::default();
            caller.cancel.raise();
            assert_eq!(locks.lock(&handle, &path, &caller).err(), Some(Error::Cancelled));
        }
        // Other tests of this process start and end threads too.
        assert!(n_threads() <= n_before + 3, "{} then {}", n_before, n_threads());
        drop(foreign);
        let lock = locks.lock(&handle, &path, &Caller::default()).unwrap();
        assert!(lock.is_shared_with_processes());
    }
}
