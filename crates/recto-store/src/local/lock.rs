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
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a call waits for the one before it, until it answers that the folder is busy.
const MAX_WAIT: Duration = limits::LOCK_WAIT;

/// A folder's device and inode.
type DirId = (u64, u64);

/// The folders that this process holds or waits for.
#[derive(Default)]
pub struct Locks {
    dirs: Arc<DirQueues>,
}

#[derive(Default)]
struct DirQueues {
    queues: Mutex<Queues>,
    released: Condvar,
}

/// Who wants a folder, first come, first served: an editor may take its time over each change, and
/// whoever comes last must not be the last again and again.
#[derive(Default)]
struct Queues {
    last: u64,
    /// The first in a queue has the folder; no queue is empty.
    by_dir: HashMap<DirId, VecDeque<u64>>,
}

/// A place in a folder's queue of this process. The first one has the folder. Dropping it gives
/// way to the next.
struct QueueTicket {
    dirs: Arc<DirQueues>,
    id: DirId,
    number: u64,
}

/// A locked folder. Dropping it lets the next one in.
pub struct DirLock {
    // Dropped first: the kernel's lock ends when the last handle is closed.
    dir: Arc<Handle>,
    ticket: QueueTicket,
    is_shared_with_processes: bool,
}

impl Locks {
    /// Waits for the folder.
    pub fn lock(&self, dir: &Handle, path: &AbsPath, context: &Context) -> Result<DirLock> {
        let failed = |errno| match errno {
            SysError::NOENT => Error::ParentNotFound { parent: path.parent() },
            errno => sys::error(errno, path, 0),
        };
        let busy = || Error::Busy { path: path.to_string() };
        // A handle of its own: the lock belongs to the open file, not to the process.
        let dir = recto_platform::open_directory_at(dir, ".").map_err(failed)?;
        let status = dir.status().map_err(failed)?;
        let dir = Arc::new(dir);
        let id = status.id();
        let ticket = self.wait_in_queue(id, context)?.ok_or_else(busy)?;
        match sys::retry(|| dir.try_lock()) {
            Ok(()) => Ok(DirLock { dir, ticket, is_shared_with_processes: true }),
            Err(SysError::AGAIN) => {
                let ticket = wait_for_kernel_lock(&dir, ticket, context)?.ok_or_else(busy)?;
                Ok(DirLock { dir, ticket, is_shared_with_processes: true })
            }
            // Some network filesystems have no locks on folders. Lost updates are still noticed
            // by the exchange of the write protocol.
            Err(_) => Ok(DirLock { dir, ticket, is_shared_with_processes: false }),
        }
    }

    /// Waits in this process's queue, for as long as it moves: many calls at once that an editor
    /// takes its time over are all served.
    fn wait_in_queue(&self, id: DirId, context: &Context) -> Result<Option<QueueTicket>> {
        let ticket = QueueTicket::queue(&self.dirs, id);
        let mut queues = self.dirs.lock();
        let (mut first, mut deadline) = (None, Instant::now());
        loop {
            let now_first = queues.by_dir.get(&id).and_then(VecDeque::front).copied();
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

/// A thread waits in the kernel's queue, which is first come, first served; polling with back-off
/// was seen to starve a process for over a second.
///
/// The thread of a call that gave up keeps the folder taken until it has been through the queue,
/// so that no folder has more than one.
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
        // Where nobody listens any more, this is the last handle, and closing it unlocks.
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
    /// The folder, open for reading.
    pub fn dir(&self) -> &Handle {
        &self.dir
    }

    /// The folder's device and inode.
    pub fn id(&self) -> DirId {
        self.ticket.id
    }

    /// Whether other processes that run recto are kept out too.
    pub fn is_shared_with_processes(&self) -> bool {
        self.is_shared_with_processes
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
    fn calls_that_give_up_leave_one_thread_and_the_dir_comes_free() {
        let dir = tempfile::tempdir().unwrap();
        let foreign = open_directory(dir.path()).unwrap();
        foreign.lock().unwrap();
        let (locks, handle) = (Locks::default(), open_directory(dir.path()).unwrap());
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
                // The next one comes when this one stands in the queue.
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
