//! Sends lines to one stream, in order.
//!
//! The caller writes a line directly if no other line is queued and the stream does not block, which
//! saves two thread switches. A writer thread writes the rest, so that no caller blocks because the
//! other end does not read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use recto_store::sync::{lock, wait};
use tokio_util::sync::CancellationToken;

use crate::line::Blocking;

/// Sends lines to a stream. Clones send to the same stream.
#[derive(Clone)]
pub struct LineSender(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// How many bytes may be queued before [`LineSender::send`] blocks. Large, because a relay that
    /// stops reading one stream to write another may miss the answer it needs.
    max_bytes: usize,
    ended: CancellationToken,
}

struct Queue {
    /// `None` once the stream has failed or ended.
    output: Option<Arc<File>>,
    waiting: VecDeque<QueuedLine>,
    n_bytes: usize,
    /// Whether the thread is writing a line.
    is_writing: bool,
    is_closed: bool,
}

/// A line with its ending, of which `n_written` bytes are already written.
struct QueuedLine {
    line: Vec<u8>,
    n_written: usize,
}

impl QueuedLine {
    fn rest(&self) -> &[u8] {
        &self.line[self.n_written..]
    }
}

impl LineSender {
    /// Starts the writer thread. `output` is closed after a write error, or after the sender was
    /// closed and everything is written.
    pub fn start(
        name: &str,
        output: impl Into<OwnedFd>,
        max_bytes: usize,
    ) -> std::io::Result<LineSender> {
        let output = Arc::new(File::from(output.into()));
        let sender = LineSender(Arc::new(Shared {
            queue: Mutex::new(Queue {
                output: Some(output.clone()),
                waiting: VecDeque::new(),
                n_bytes: 0,
                is_writing: false,
                is_closed: false,
            }),
            changed: Condvar::new(),
            max_bytes,
            ended: CancellationToken::new(),
        }));
        let shared = sender.0.clone();
        std::thread::Builder::new().name(name.into()).spawn(move || {
            while let Some(waiting) = shared.next() {
                if Blocking(&*output).write_all(waiting.rest()).is_err() {
                    break;
                }
            }
            shared.end();
            drop(output);
            shared.ended.cancel();
        })?;
        Ok(sender)
    }

    /// Sends a line, given without its ending, once there is space in the queue. Returns false if
    /// the stream is closed.
    pub fn send(&self, line: Vec<u8>) -> bool {
        let shared = &self.0;
        let mut queue = lock(&shared.queue);
        while queue.n_bytes > shared.max_bytes && !queue.is_closed {
            queue = wait(&shared.changed, queue);
        }
        shared.add(queue, line)
    }

    /// Like [`LineSender::send`], but never waits for space. For rare lines.
    pub fn send_at_once(&self, line: Vec<u8>) -> bool {
        self.0.add(lock(&self.0.queue), line)
    }

    /// Accepts no more lines. Queued lines are still written.
    pub fn close(&self) {
        lock(&self.0.queue).is_closed = true;
        self.0.changed.notify_all();
    }

    /// Whether both send to the same stream.
    pub fn is_same(&self, other: &LineSender) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until nothing more will be written.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }
}

impl Queue {
    /// Writes as much of a line as possible without blocking, if no other line is queued.
    fn write_now(&self, line: &[u8]) -> usize {
        let Some(output) = self.output.as_ref() else { return 0 };
        if self.is_writing || !self.waiting.is_empty() {
            return 0;
        }
        recto_platform::write_now(output, line)
    }
}

impl Shared {
    fn add(&self, mut queue: MutexGuard<'_, Queue>, mut line: Vec<u8>) -> bool {
        line.push(b'\n');
        if queue.is_closed {
            return false;
        }
        let n_written = queue.write_now(&line);
        if n_written == line.len() {
            return true;
        }
        let waiting = QueuedLine { line, n_written };
        queue.n_bytes += waiting.rest().len();
        queue.waiting.push_back(waiting);
        drop(queue);
        self.changed.notify_all();
        true
    }

    fn next(&self) -> Option<QueuedLine> {
        let mut queue = lock(&self.queue);
        queue.is_writing = false;
        loop {
            if let Some(waiting) = queue.waiting.pop_front() {
                queue.n_bytes -= waiting.rest().len();
                queue.is_writing = true;
                drop(queue);
                self.changed.notify_all();
                return Some(waiting);
            }
            if queue.is_closed {
                return None;
            }
            queue = wait(&self.changed, queue);
        }
    }

    fn end(&self) {
        let mut queue = lock(&self.queue);
        queue.is_closed = true;
        queue.output = None;
        queue.waiting.clear();
        queue.n_bytes = 0;
        drop(queue);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Read;

    use super::*;

    #[test]
    fn a_full_queue_accepts_urgent_lines_and_keeps_the_order() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let sender = LineSender::start("test", writer, 1 << 20).unwrap();
        // More than the pipe and the queue have space for, so that the next line would block.
        assert!(sender.send(vec![b'a'; 2 << 20]));
        assert!(sender.send(vec![b'b'; 2 << 20]));
        assert!(sender.send_at_once(b"c".to_vec()));
        let waiting = sender.clone();
        let next = std::thread::spawn(move || waiting.send(b"d".to_vec()));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!next.is_finished(), "there is no space");
        let mut all = vec![0; (4 << 20) + 6];
        reader.read_exact(&mut all).unwrap();
        assert!(next.join().unwrap());
        assert_eq!(&all[(2 << 20) - 1..(2 << 20) + 2], b"a\nb");
        assert_eq!(&all[(4 << 20) + 1..], b"\nc\nd\n");
    }
}
