//! One thread that writes lines to one stream, in the order in which they were given.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The way to a stream. Everybody who holds a clone writes to the same one.
#[derive(Clone)]
pub struct Outlet(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// A line waits while this many bytes wait before it. Nothing that is read from one stream
    /// may stop for long because another is not read, for an answer may stand behind it.
    max_bytes: usize,
    ended: CancellationToken,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<Vec<u8>>,
    n_bytes: usize,
    is_closed: bool,
}

impl Outlet {
    /// Starts the thread. It drops `output` when the outlet is closed and everything is written,
    /// or when nothing more can be.
    pub fn start(
        name: &str,
        mut output: impl Write + Send + 'static,
        max_bytes: usize,
    ) -> std::io::Result<Outlet> {
        let outlet = Outlet(Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            max_bytes,
            ended: CancellationToken::new(),
        }));
        let shared = outlet.0.clone();
        std::thread::Builder::new().name(name.into()).spawn(move || {
            while let Some(mut line) = shared.next() {
                line.push(b'\n');
                if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                    break;
                }
            }
            shared.end();
            drop(output);
            shared.ended.cancel();
        })?;
        Ok(outlet)
    }

    /// Gives a line, without its ending. Whether there is still a stream to write it to.
    pub fn send(&self, line: Vec<u8>) -> bool {
        let shared = &self.0;
        let mut queue = shared.lock();
        while queue.n_bytes > shared.max_bytes && !queue.is_closed {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if queue.is_closed {
            return false;
        }
        queue.n_bytes += line.len();
        queue.lines.push_back(line);
        drop(queue);
        shared.changed.notify_all();
        true
    }

    /// Takes no more lines. Those that were given are still written.
    pub fn close(&self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }

    /// Ends when nothing more will be written.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Vec<u8>> {
        let mut queue = self.lock();
        loop {
            if let Some(line) = queue.lines.pop_front() {
                queue.n_bytes -= line.len();
                drop(queue);
                self.changed.notify_all();
                return Some(line);
            }
            if queue.is_closed {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self) {
        let mut queue = self.lock();
        *queue = Queue { is_closed: true, ..Queue::default() };
        drop(queue);
        self.changed.notify_all();
    }
}
