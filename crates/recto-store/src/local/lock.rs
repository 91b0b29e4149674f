//! Serializes changes in a directory, within this process and among all recto processes.
//!
//! The lock is the kernel's `flock` on the directory. It needs no lock file, and the kernel
//! releases it when a process is killed.

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

/// How often a waiting call checks whether it was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a call waits for the one before it until it fails because the directory is busy.
const MAX_WAIT: Duration = limits::LOCK_WAIT;

/// A directory's device and inode.
type DirId = (u64, u64);

/// The directories that this process has locked or waits for.
#[derive(Default)]
pub struct Locks {
    dirs: Arc<DirQueues>,
}

#[derive(Default)]
struct DirQueues {
    queues: Mutex<Queues>,
    released: Condvar,
}

/// The calls that wait for each directory, in order of arrival. An editor may take long over each
/// change, so an unfair queue would starve some calls.
#[derive(Default)]
struct Queues {
    last: u64,
    /// The first in a queue has the directory. No queue is empty.
    by_dir: HashMap<DirId, VecDeque<u64>>,
}

impl Queues {
    fn first(&self, id: DirId) -> Option<u64> {
        self.by_dir.get(&id).and_then(VecDeque::front).copied()
    }
}

/// A position in this process's queue for a directory. The first one has the directory. Dropping it
/// advances the queue.
struct QueueTicket {
    dirs: Arc<DirQueues>,
    id: DirId,
    number: u64,
}

/// A locked directory. Dropping it unlocks the directory.
pub struct DirLock {
    // Dropped first: the kernel releases the lock when the last handle is closed.
    dir: Arc<Handle>,
    ticket: QueueTicket,
    excludes_other_processes: bool,
}

impl Locks {
    /// Waits for the lock on a directory.
    pub fn lock(&self, dir: &Handle, path: &AbsPath, context: &Context) -> Result<DirLock> {
        let failed = |errno| match errno {
            SysError::NOENT => Error::ParentNotFound { parent: path.parent() },
            errno => sys::error(errno, path, 0),
        };
        let busy = || Error::Busy { path: path.to_string() };
        // The lock belongs to the open file, not to the process, so it needs a handle of its own.
        let dir = recto_platform::open_directory_at(dir, ".").map_err(failed)?;
        let status = dir.status().map_err(failed)?;
        let dir = Arc::new(dir);
        let id = status.id();
        let ticket = self.wait_in_queue(id, context)?.ok_or_else(busy)?;
        match sys::retry(|| dir.try_lock()) {
            Ok(()) => Ok(DirLock { dir, ticket, excludes_other_processes: true }),
            Err(SysError::AGAIN) => {
                let waiting = context.waiting();
                let ticket = wait_for_kernel_lock(&dir, ticket, context)?.ok_or_else(busy)?;
                drop(waiting);
                Ok(DirLock { dir, ticket, excludes_other_processes: true })
            }
            // Some network file systems do not support locks on directories. The exchange of the
            // write protocol still detects lost updates.
            Err(_) => Ok(DirLock { dir, ticket, excludes_other_processes: false }),
        }
    }

    /// Waits in this process's queue. The deadline restarts whenever the queue advances, so that
    /// many calls waiting for a slow editor are all served.
    fn wait_in_queue(&self, id: DirId, context: &Context) -> Result<Option<QueueTicket>> {
        let ticket = QueueTicket::queue(&self.dirs, id);
        if self.dirs.lock().first(id) == Some(ticket.number) {
            return Ok(Some(ticket));
        }
        let _waiting = context.waiting();
        let mut queues = self.dirs.lock();
        let (mut first, mut deadline) = (None, Instant::now());
        loop {
            let now_first = queues.first(id);
            if now_first == Some(ticket.number) {
                return Ok(Some(ticket));
            }
            if now_first != first {
                (first, deadline) = (now_first, Instant::now() + MAX_WAIT);
            }
            context.cancel.check()?;
            if Instant::now() >= deadline {
                return Ok(None);
            }
            queues = wait_timeout(&self.dirs.released, queues, POLL_INTERVAL);
        }
    }
}

/// Waits for the kernel's lock in a thread. The kernel's queue is fair; polling with back-off was
/// seen to starve a process for over a second.
///
/// The thread of a call that gave up keeps its ticket until it gets the lock, so each directory has
/// at most one such thread.
fn wait_for_kernel_lock(
    dir: &Arc<Handle>,
    ticket: QueueTicket,
    context: &Context,
) -> Result<Option<QueueTicket>> {
    let deadline = Instant::now() + MAX_WAIT;
    let (sender, receiver) = sync_channel::<SysResult<QueueTicket>>(1);
    let dir = dir.clone();
    let queue = move || {
        let locked = sys::retry(|| dir.lock());
        // If the call gave up, this is the last handle, and closing it releases the lock.
        drop(dir);
        let _ = sender.send(locked.map(|()| ticket));
    };
    if std::thread::Builder::new().name("recto-lock".into()).spawn(queue).is_err() {
        return Ok(None);
    }
    while Instant::now() < deadline {
        match receiver.recv_timeout(POLL_INTERVAL) {
            Ok(locked) => return Ok(locked.ok()),
            Err(RecvTimeoutError::Timeout) => context.cancel.check()?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(None)
}

impl DirLock {
    /// Returns the directory, open for reading.
    pub fn dir(&self) -> &Handle {
        &self.dir
    }

    /// Returns the directory's device and inode.
    pub fn id(&self) -> DirId {
        self.ticket.id
    }

    /// Returns whether the lock also excludes other recto processes.
    pub fn excludes_other_processes(&self) -> bool {
        self.excludes_other_processes
    }
}

impl DirQueues {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        lock(&self.queues)
    }
}

impl QueueTicket {
    fn queue(dirs: &Arc<DirQueues>, id: DirId) -> QueueTicket {
        let mut queues = dirs.lock();
        queues.last += 1;
        let number = queues.last;
        queues.by_dir.entry(id).or_default().push_back(number);
        QueueTicket { dirs: dirs.clone(), id, number }
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        let mut queues = self.dirs.lock();
        if let Some(queue) = queues.by_dir.get_mut(&self.id) {
            queue.retain(|number| *number != self.number);
            if queue.is_empty() {
                queues.by_dir.remove(&self.id);
            }
        }
        drop(queues);
        self.dirs.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use recto_platform::open_directory;

    use super::*;

    #[test]
    fn cancelled_calls_leave_one_thread_and_the_lock_is_released() {
        let dir = tempfile::tempdir().unwrap();
        let other = open_directory(dir.path()).unwrap();
        other.lock().unwrap();
        let (locks, handle) = (Locks::default(), open_directory(dir.path()).unwrap());
        let path = AbsPath::parse("/f".into()).unwrap();
        // Counts threads that wait for a lock; a thread may exit while it is inspected.
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
        drop(other);
        let lock = locks.lock(&handle, &path, &Context::default()).unwrap();
        assert!(lock.excludes_other_processes());
    }

    #[test]
    fn serves_calls_in_order_of_arrival() {
        let dir = tempfile::tempdir().unwrap();
        let (locks, handle) = (Locks::default(), open_directory(dir.path()).unwrap());
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
                // Start the next thread once this one is in the queue.
                let n_waiting = || locks.dirs.lock().by_dir.values().next().unwrap().len();
                while n_waiting() < number + 2 {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*served.lock().unwrap(), (0..20).collect::<Vec<_>>());
        assert!(locks.dirs.lock().by_dir.is_empty());
    }
}
