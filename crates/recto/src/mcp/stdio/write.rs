//! Messages to the client, in the order in which they were sent.
//!
//! The caller writes a short message itself if no other waits and the pipe takes it at once, which
//! saves a change of threads for nearly every call. All others are left to a thread, which writes
//! while it serialises: the client reads a long message meanwhile and no second copy of it is made.

use std::io::{BufWriter, Error, ErrorKind, PipeWriter, Result, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use tokio::sync::{mpsc, oneshot};

use super::admission::Admission;
use super::{Ends, json};
use crate::line::{self, Patient};
use crate::mcp::handler::Slot;

/// How much is gathered before it is written.
const BUFFER: usize = 64 << 10;

/// Sends messages to the client. Clones send to the same client.
#[derive(Clone)]
pub struct Output {
    shared: Arc<Shared>,
    queue: mpsc::UnboundedSender<Queued>,
}

struct Shared {
    admission: Arc<Admission>,
    /// How many messages were left to the thread and are not written.
    n_queued: AtomicUsize,
    stream: Mutex<Stream>,
}

struct Stream {
    output: BufWriter<Counted>,
    /// The end of a message whose start is written. It is written before any other.
    rest: Vec<u8>,
}

/// Counts what the client takes of long messages.
struct Counted {
    output: Patient<PipeWriter>,
    n_given: Arc<AtomicU64>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        // In pieces that even a slow reader takes in a moment: only bytes that it took count.
        let n_written = self.output.write(&bytes[..bytes.len().min(BUFFER)])?;
        self.n_given.fetch_add(n_written as u64, Ordering::Relaxed);
        Ok(n_written)
    }

    fn flush(&mut self) -> Result<()> {
        self.output.flush()
    }
}

/// A message that is left to the thread.
struct Queued {
    /// `None` if only the rest of one is to be written.
    message: Option<ServerJsonRpcMessage>,
    /// Whether it answers a request that was admitted.
    is_answer: bool,
    written: oneshot::Sender<Result<()>>,
}

/// A message on its way.
pub enum Sent {
    Written,
    Waiting(oneshot::Receiver<Result<()>>),
}

impl Sent {
    /// Ends when the message is written, or cannot be. May be dropped and called again until then.
    pub async fn until_written(&mut self) -> Result<()> {
        match self {
            Sent::Written => Ok(()),
            Sent::Waiting(written) => written.await.unwrap_or_else(|_| Err(closed())),
        }
    }
}

fn closed() -> Error {
    Error::from(ErrorKind::BrokenPipe)
}

impl Output {
    /// Starts the thread. `ends.output` is cancelled when nothing more can be written.
    pub fn start(admission: Arc<Admission>, ends: Ends) -> Result<Output> {
        // Not `Stdout` itself, which would search every answer for line ends.
        let stdout = PipeWriter::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        let counted = Counted { output: Patient(stdout), n_given: ends.n_given };
        let output = BufWriter::with_capacity(BUFFER, counted);
        let shared = Arc::new(Shared {
            admission,
            n_queued: AtomicUsize::new(0),
            stream: Mutex::new(Stream { output, rest: Vec::new() }),
        });
        let (queue, queued) = mpsc::unbounded_channel();
        let writer = shared.clone();
        std::thread::Builder::new().name("recto-write".into()).spawn(move || {
            writer.write_all(queued);
            ends.output.cancel();
        })?;
        Ok(Output { shared, queue })
    }

    /// Sends an answer to a request that was admitted, or any other message of `rmcp`.
    pub fn answer(&self, mut message: ServerJsonRpcMessage) -> Sent {
        match self.shared.write_now(&mut message) {
            Some(Written::Whole) => Sent::Written,
            Some(Written::Part) => self.enqueue(None, true),
            None => self.enqueue(Some(message), true),
        }
    }

    /// Sends an answer to a line that was never admitted.
    pub fn refuse(&self, message: ServerJsonRpcMessage) -> Sent {
        self.enqueue(Some(message), false)
    }

    fn enqueue(&self, message: Option<ServerJsonRpcMessage>, is_answer: bool) -> Sent {
        let (sender, written) = oneshot::channel();
        self.shared.n_queued.fetch_add(1, Ordering::SeqCst);
        // If the thread has ended, the receiver finds out.
        let _ = self.queue.send(Queued { message, is_answer, written: sender });
        Sent::Waiting(written)
    }
}

/// How much of a message is written.
enum Written {
    Whole,
    Part,
}

impl Shared {
    /// Writes a short message if no other waits. `None` if it is left to the thread.
    fn write_now(&self, message: &mut ServerJsonRpcMessage) -> Option<Written> {
        if self.n_queued.load(Ordering::SeqCst) > 0 || !json::is_short(message) {
            return None;
        }
        let mut stream = self.stream.try_lock().ok()?;
        let mut bytes = Vec::new();
        json::write(&mut bytes, message).expect("messages are JSON, and memory takes them");
        bytes.push(b'\n');
        let finished = self.finish(message);
        let n_written = line::write_now(&stream.output.get_ref().output, &bytes);
        drop(finished);
        if n_written == bytes.len() {
            return Some(Written::Whole);
        }
        bytes.drain(..n_written);
        stream.rest = bytes;
        Some(Written::Part)
    }

    /// Forgets the request that a message answers. A client that has read the answer may use its id
    /// again at once, so the id must be free before the last byte is written. The slot of its call
    /// is not, until the result is dropped.
    fn finish(&self, message: &ServerJsonRpcMessage) -> Option<Slot> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        self.admission.finish(id?)
    }

    /// Writes the messages that are left to the thread, until the queue or the pipe is closed.
    fn write_all(&self, mut queue: mpsc::UnboundedReceiver<Queued>) {
        while let Some(Queued { message, is_answer, written }) = queue.blocking_recv() {
            let result = self.write(message, is_answer);
            self.n_queued.fetch_sub(1, Ordering::SeqCst);
            let is_open = result.is_ok();
            // The receiver may be gone.
            let _ = written.send(result);
            if !is_open {
                return;
            }
        }
    }

    fn write(&self, message: Option<ServerJsonRpcMessage>, is_answer: bool) -> Result<()> {
        let mut stream = self.lock();
        let Stream { output, rest } = &mut *stream;
        output.write_all(&std::mem::take(rest))?;
        let Some(mut message) = message else { return output.flush() };
        let serialised = json::write(output, &mut message).and_then(|()| output.write_all(b"\n"));
        let finished = if is_answer { self.finish(&message) } else { None };
        let result = serialised.and_then(|()| output.flush());
        drop(finished);
        result
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
