//! Lines to one stream, in the order in which they were given.
//!
//! Whoever gives a line writes it itself where nothing waits before it and the stream takes it at
//! once, which saves two changes of threads. What the stream does not take is left to a thread,
//! so that nobody stands still because somebody else does not read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use recto_store::sync::{lock, wait};
use tokio_util::sync::CancellationToken;

use crate::line::Blocking;

/// The way to a stream. Everybody who holds a clone writes to the same one.
#[derive(Clone)]
pub struct LineSender(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// A line waits while this many bytes wait before it. Nothing that is read from one stream
    /// may stop for long because another is not read, for an answer may stand behind it.
    max_bytes: usize,
    ended: CancellationToken,
}

struct Queue {
    /// `None` once nothing more can be written.
    output: Option<Arc<File>>,
    waiting: VecDeque<Waiting>,
    n_bytes: usize,
    /// Whether the thread is at a line.
    is_writing: bool,
    is_closed: bool,
}

/// A line with its ending, the first `n_written` bytes of which are written.
struct Waiting {
    line: Vec<u8>,
    n_written: usize,
}

impl Waiting {
    fn rest(&self) -> &[u8] {
        &self.line[self.n_written..]
    }
}

impl LineSender {
    /// Starts the thread. `output` is closed when the sender is and everything is written, or when
    /// nothing more can be.
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

    /// Gives a line, without its ending, once there is room for it. Whether there is still a stream
    /// to write it to.
    pub fn send(&self, line: Vec<u8>) -> bool {
        let shared = &self.0;
        let mut queue = lock(&shared.queue);
        while queue.n_bytes > shared.max_bytes && !queue.is_closed {
            queue = wait(&shared.changed, queue);
        }
        shared.add(queue, line)
    }

    /// The same without waiting for room, for lines of which there are few.
    pub fn send_at_once(&self, line: Vec<u8>) -> bool {
        self.0.add(lock(&self.0.queue), line)
    }

    /// Takes no more lines. Those that were given are still written.
    pub fn close(&self) {
        lock(&self.0.queue).is_closed = true;
        self.0.changed.notify_all();
    }

    /// Whether both lead to the same stream.
    pub fn is_same(&self, other: &LineSender) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Ends when nothing more will be written.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }
}

impl Queue {
    /// Writes as much of a line as the stream takes without waiting, if nothing is before it.
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
        let waiting = Waiting { line, n_written };
        queue.n_bytes += waiting.rest().len();
        queue.waiting.push_back(waiting);
        drop(queue);
        self.changed.notify_all();
        true
    }

    fn next(&self) -> Option<Waiting> {
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
    fn a_full_outlet_takes_what_cannot_wait_and_keeps_the_order() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let sender = LineSender::start("test", writer, 1 << 20).unwrap();
        // More than the pipe holds and more than may wait, so that the next one would.
        assert!(sender.send(vec![b'a'; 2 << 20]));
        assert!(sender.send(vec![b'b'; 2 << 20]));
        assert!(sender.send_at_once(b"c".to_vec()));
        let waiting = sender.clone();
        let next = std::thread::spawn(move || waiting.send(b"d".to_vec()));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!next.is_finished(), "there is no room");
        let mut all = vec![0; (4 << 20) + 6];
        reader.read_exact(&mut all).unwrap();
        assert!(next.join().unwrap());
        assert_eq!(&all[(2 << 20) - 1..(2 << 20) + 2], b"a\nb");
        assert_eq!(&all[(4 << 20) + 1..], b"\nc\nd\n");
    }
}
