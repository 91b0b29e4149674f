//! Writes messages to the client, in order.
//!
//! The sender writes a short message itself if no other is queued and the pipe accepts it at once,
//! which saves a thread switch for most calls. A thread writes all others while it serialises them,
//! so that the client can read a long message meanwhile and no second copy of it is made.

use std::io::{BufWriter, Error, ErrorKind, PipeWriter, Result, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use recto_store::sync::lock;
use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage};
use tokio::sync::{mpsc, oneshot};

use super::admission::Admission;
use super::{Ends, json};
use crate::line::Blocking;
use crate::mcp::handler::Slot;

/// The size of the output buffer.
const BUFFER: usize = 64 << 10;

/// Sends messages to the client. Clones send to the same client.
#[derive(Clone)]
pub struct Output {
    shared: Arc<Shared>,
    queue: mpsc::UnboundedSender<Queued>,
}

struct Shared {
    admission: Arc<Admission>,
    /// The number of queued messages that are not written yet.
    n_queued: AtomicUsize,
    stream: Mutex<Stream>,
}

struct Stream {
    output: BufWriter<Counted>,
    /// The end of a message whose start is written. It is written before any other.
    rest: Vec<u8>,
}

/// A message that is left to the thread.
struct Queued {
    /// `None` to write only the rest of the last one.
    message: Option<ServerJsonRpcMessage>,
    /// Whether it may answer a request that was admitted.
    is_answer: bool,
    written: oneshot::Sender<Result<()>>,
}

/// A message that is being sent.
pub enum Sent {
    Written,
    Queued(oneshot::Receiver<Result<()>>),
}

impl Sent {
    /// Waits until the message is written or has failed. Cancel safe.
    pub async fn until_written(&mut self) -> Result<()> {
        match self {
            Sent::Written => Ok(()),
            Sent::Queued(written) => {
                written.await.unwrap_or_else(|_| Err(Error::from(ErrorKind::BrokenPipe)))
            }
        }
    }
}

impl Output {
    /// Starts the thread. `ends.output` is cancelled when nothing more can be written.
    pub fn start(admission: Arc<Admission>, ends: Ends) -> Result<Output> {
        // Not `Stdout`, which would search every answer for line endings.
        let stdout = PipeWriter::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        let counted = Counted { output: Blocking(stdout), n_given: ends.n_given };
        let output = BufWriter::with_capacity(BUFFER, counted);
        let stream = Mutex::new(Stream { output, rest: Vec::new() });
        let shared = Arc::new(Shared { admission, n_queued: AtomicUsize::new(0), stream });
        let (queue, queued) = mpsc::unbounded_channel();
        let writer = shared.clone();
        std::thread::Builder::new().name("recto-write".into()).spawn(move || {
            writer.write_queued(queued);
            ends.output.cancel();
        })?;
        Ok(Output { shared, queue })
    }

    /// Sends an answer to a request that was admitted, or any other message of `rmcp`.
    pub fn answer(&self, mut message: ServerJsonRpcMessage) -> Sent {
        match self.shared.write_now(&mut message) {
            Some(Progress::Complete) => Sent::Written,
            Some(Progress::Partial) => self.enqueue(None, true),
            None => self.enqueue(Some(message), true),
        }
    }

    /// Sends an answer to a line that was never admitted.
    pub fn refuse(&self, message: ServerJsonRpcMessage) -> Sent {
        self.enqueue(Some(message), false)
    }

    fn enqueue(&self, message: Option<ServerJsonRpcMessage>, is_answer: bool) -> Sent {
        let (written, sent) = oneshot::channel();
        self.shared.n_queued.fetch_add(1, Ordering::SeqCst);
        // If the thread has ended, the receiver finds out.
        let _ = self.queue.send(Queued { message, is_answer, written });
        Sent::Queued(sent)
    }
}

/// How much of a message is written.
enum Progress {
    Complete,
    Partial,
}

impl Shared {
    /// Writes a short message if none is queued. `None` if it is left to the thread.
    fn write_now(&self, message: &mut ServerJsonRpcMessage) -> Option<Progress> {
        if self.n_queued.load(Ordering::SeqCst) > 0 || !json::is_short(message) {
            return None;
        }
        let mut stream = self.stream.try_lock().ok()?;
        let mut bytes = Vec::new();
        json::write(&mut bytes, message)
            .expect("messages are JSON, and writing to memory succeeds");
        bytes.push(b'\n');
        let slot = self.finish(message);
        let n_written = recto_platform::write_now(&stream.output.get_ref().output.0, &bytes);
        drop(slot);
        if n_written == bytes.len() {
            return Some(Progress::Complete);
        }
        bytes.drain(..n_written);
        stream.rest = bytes;
        Some(Progress::Partial)
    }

    /// Forgets the request that a message answers. A client that has read the answer may use its id
    /// again at once, so the id must be free before the last byte is written. The slot of its call
    /// stays occupied until the result is dropped.
    fn finish(&self, message: &ServerJsonRpcMessage) -> Option<Slot> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        self.admission.finish(id?)
    }

    /// Writes queued messages until the queue or the pipe is closed.
    fn write_queued(&self, mut queue: mpsc::UnboundedReceiver<Queued>) {
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
        let mut stream = lock(&self.stream);
        let Stream { output, rest } = &mut *stream;
        output.write_all(&std::mem::take(rest))?;
        let Some(mut message) = message else { return output.flush() };
        let serialised = json::write(output, &mut message).and_then(|()| output.write_all(b"\n"));
        let slot = if is_answer { self.finish(&message) } else { None };
        let result = serialised.and_then(|()| output.flush());
        drop(slot);
        result
    }
}

/// Counts the bytes of queued messages that the client has accepted.
struct Counted {
    output: Blocking<PipeWriter>,
    n_given: Arc<AtomicU64>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        // In small pieces, so that a slow reader makes visible progress.
        let n_written = self.output.write(&bytes[..bytes.len().min(BUFFER)])?;
        self.n_given.fetch_add(n_written as u64, Ordering::Relaxed);
        Ok(n_written)
    }

    fn flush(&mut self) -> Result<()> {
        self.output.flush()
    }
}
