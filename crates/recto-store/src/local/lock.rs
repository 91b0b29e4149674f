//! One change at a time in a folder, in this process and among all that run recto.
//!
//! The lock is the kernel's own on the folder, so that it leaves no file behind and goes away
//! with a killed process.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use recto_platform::{Handle, SysError, SysResult};

use super::sys;
use crate::context::Context;
use crate::limits;
use crate::path::AbsPath;
use crate::sync::{lock, wait_timeout};

/// How often a call that waits looks whether it was taken back.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long a call waits for the one before it, until it answers that the folder is busy.
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
    queues: Mutex<Queues>,
    released: Condvar,
}

/// Who wants a folder, first come, first served: an editor may take its time over each change, and
/// whoever comes last must not be the last again and again.
#[derive(Default)]
struct Queues {
    last: u64,
    /// The first in a queue has the folder; no queue is empty.
    by_folder: HashMap<FolderId, VecDeque<u64>>,
}

/// A place in a folder's queue of this process. The first one has the folder. Dropping it gives
/// way to the next.
struct Taken {
    folders: Arc<Folders>,
    id: FolderId,
    number: u64,
}

/// A locked folder. Dropping it lets the next one in.
pub struct FolderLock {
    // Dropped first: the kernel's lock ends when the last handle is closed.
    folder: Arc<Handle>,
    taken: Taken,
    is_shared_with_processes: bool,
}

impl Locks {
    /// Waits for the folder.
    pub fn lock(&self, folder: &Handle, path: &AbsPath, context: &Context) -> Result<FolderLock> {
        let failed = |errno| match errno {
            SysError::NOENT => Error::ParentNotFound { parent: path.parent() },
            errno => sys::error(errno, path, 0),
        };
        let busy = || Error::Busy { path: path.to_string() };
        // A handle of its own: the lock belongs to the open file, not to the process.
        let folder = recto_platform::open_directory_at(folder, ".").map_err(failed)?;
        let status = folder.status().map_err(failed)?;
        let folder = Arc::new(folder);
        let id = status.id();
        let taken = self.take(id, context)?.ok_or_else(busy)?;
        match sys::retry(|| folder.try_lock()) {
            Ok(()) => Ok(FolderLock { folder, taken, is_shared_with_processes: true }),
            Err(SysError::AGAIN) => {
                let taken = wait(&folder, taken, context)?.ok_or_else(busy)?;
                Ok(FolderLock { folder, taken, is_shared_with_processes: true })
            }
            // Some network filesystems have no locks on folders. Lost updates are still noticed
            // by the exchange of the write protocol.
            Err(_) => Ok(FolderLock { folder, taken, is_shared_with_processes: false }),
        }
    }

    /// Waits in this process's queue, for as long as it moves: many calls at once that an editor
    /// takes its time over are all served.
    fn take(&self, id: FolderId, context: &Context) -> Result<Option<Taken>> {
        let taken = Taken::queue(&self.folders, id);
        let mut queues = self.folders.lock();
        let (mut first, mut deadline) = (None, Instant::now());
        loop {
            let now_first = queues.by_folder.get(&id).and_then(VecDeque::front).copied();
            if now_first == Some(taken.number) {
                return Ok(Some(taken));
            }
            if now_first != first {
                (first, deadline) = (now_first, Instant::now() + MAX_WAIT);
            }
            context.cancel.check()?;
            if Instant::now() >= deadline {
                return Ok(None);
            }
            queues = wait_timeout(&self.folders.released, queues, PATIENCE);
        }
    }
}

/// A thread waits in the kernel's queue, which is first come, first served; polling with back-off
/// was seen to starve a process for over a second.
///
/// The thread of a call that gave up keeps the folder taken until it has been through the queue,
/// so that no folder has more than one.
fn wait(folder: &Arc<Handle>, taken: Taken, context: &Context) -> Result<Option<Taken>> {
    let deadline = Instant::now() + MAX_WAIT;
    let (sender, receiver) = sync_channel::<SysResult<Taken>>(1);
    let folder = folder.clone();
    let queue = move || {
        let locked = sys::retry(|| folder.lock());
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
            Err(RecvTimeoutError::Timeout) => context.cancel.check()?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(None)
}

impl FolderLock {
    /// The folder, open for reading.
    pub fn folder(&self) -> &Handle {
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
    fn lock(&self) -> MutexGuard<'_, Queues> {
        lock(&self.queues)
    }
}

impl Taken {
    fn queue(folders: &Arc<Folders>, id: FolderId) -> Taken {
        let mut queues = folders.lock();
        queues.last += 1;
        let number = queues.last;
        queues.by_folder.entry(id).or_default().push_back(number);
        Taken { folders: folders.clone(), id, number }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut queues = self.folders.lock();
        if let Some(queue) = queues.by_folder.get_mut(&self.id) {
            queue.retain(|number| *number != self.number);
            if queue.is_empty() {
                queues.by_folder.remove(&self.id);
            }
        }
        drop(queues);
        self.folders.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use recto_platform::open_directory;

    use super::*;

    #[test]
    fn calls_that_give_up_leave_one_thread_and_the_folder_comes_free() {
        let folder = tempfile::tempdir().unwrap();
        let foreign = open_directory(folder.path()).unwrap();
        foreign.lock().unwrap();
        let (locks, handle) = (Locks::default(), open_directory(folder.path()).unwrap());
        let path = AbsPath::parse("/f".into()).unwrap();
        // Those that wait for a folder; a thread may end while it is looked at.
        let n_threads = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap();
            let names = tasks.map(|task| std::fs::read(task.unwrap().path().join("comm")));
            names.filter(|name| name.as_ref().is_ok_and(|name| name == b"recto-lock\n")).count()
        };
        for _ in 0..5 {
            let context = Context::default();
            context.cancel.raise();
            assert_eq!(locks.lock(&handle, &path, &context).err(), Some(Error::Cancelled));
        }
        assert_eq!(n_threads(), 1);
        drop(foreign);
        let lock = locks.lock(&handle, &path, &Context::default()).unwrap();
        assert!(lock.is_shared_with_processes());
    }

    #[test]
    fn whoever_comes_first_is_served_first() {
        let folder = tempfile::tempdir().unwrap();
        let (locks, handle) = (Locks::default(), open_directory(folder.path()).unwrap());
        let path = AbsPath::parse("/f".into()).unwrap();
        let context = Context::default();
        let first = locks.lock(&handle, &path, &context).unwrap();
        let served = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in 0..20 {
                let (locks, handle, path, context) = (&locks, &handle, &path, &context);
                let served = &served;
                scope.spawn(move || {
                    let _lock = locks.lock(handle, path, context).unwrap();
                    served.lock().unwrap().push(number);
                });
                // The next one comes when this one stands in the queue.
                let n_waiting = || locks.folders.lock().by_folder.values().next().unwrap().len();
                while n_waiting() < number + 2 {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*served.lock().unwrap(), (0..20).collect::<Vec<_>>());
        assert!(locks.folders.lock().by_folder.is_empty());
    }
}
