//! Writes messages to the client, in order.
//!
//! A thread writes while it serialises, so that the client can read a long message meanwhile and no
//! second copy of it is made.

use std::io::{BufWriter, Error, ErrorKind, PipeWriter, Result, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
    queue: mpsc::UnboundedSender<Queued>,
}

struct Queued {
    message: ServerJsonRpcMessage,
    /// Whether it may answer a request that was admitted.
    is_answer: bool,
    written: oneshot::Sender<Result<()>>,
}

/// A message that is being sent.
pub struct Sent(oneshot::Receiver<Result<()>>);

impl Sent {
    /// Waits until the message is written or has failed. Cancel safe.
    pub async fn until_written(&mut self) -> Result<()> {
        (&mut self.0).await.unwrap_or_else(|_| Err(Error::from(ErrorKind::BrokenPipe)))
    }
}

impl Output {
    /// Starts the thread. `ends.output` is cancelled when nothing more can be written.
    pub fn start(admission: Arc<Admission>, ends: Ends) -> Result<Output> {
        // Not `Stdout` itself, which would search every answer for line ends.
        let stdout = PipeWriter::from(std::io::stdout().as_fd().try_clone_to_owned()?);
        let counted = Counted { output: Blocking(stdout), n_given: ends.n_given };
        let mut writer = Writer { output: BufWriter::with_capacity(BUFFER, counted), admission };
        let (queue, mut queued) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("recto-write".into()).spawn(move || {
            while let Some(Queued { message, is_answer, written }) = queued.blocking_recv() {
                let result = writer.write(message, is_answer);
                let is_open = result.is_ok();
                // The receiver may be gone.
                let _ = written.send(result);
                if !is_open {
                    break;
                }
            }
            ends.output.cancel();
        })?;
        Ok(Output { queue })
    }

    /// Sends an answer to a request that was admitted, or any other message of `rmcp`.
    pub fn answer(&self, message: ServerJsonRpcMessage) -> Sent {
        self.enqueue(message, true)
    }

    /// Sends an answer to a line that was never admitted.
    pub fn refuse(&self, message: ServerJsonRpcMessage) -> Sent {
        self.enqueue(message, false)
    }

    fn enqueue(&self, message: ServerJsonRpcMessage, is_answer: bool) -> Sent {
        let (written, sent) = oneshot::channel();
        // If the thread has ended, the receiver finds out.
        let _ = self.queue.send(Queued { message, is_answer, written });
        Sent(sent)
    }
}

/// The state of the writer thread.
struct Writer {
    output: BufWriter<Counted>,
    admission: Arc<Admission>,
}

impl Writer {
    fn write(&mut self, mut message: ServerJsonRpcMessage, is_answer: bool) -> Result<()> {
        let output = &mut self.output;
        let serialised = json::write(output, &mut message).and_then(|()| output.write_all(b"\n"));
        // A client that has read the answer may use its id again at once, so the id must be free
        // before the last byte is written. The slot of the call is not.
        let slot = if is_answer { self.finish(&message) } else { None };
        let result = serialised.and_then(|()| self.output.flush());
        drop(slot);
        result
    }

    /// Forgets the request that a message answers.
    fn finish(&self, message: &ServerJsonRpcMessage) -> Option<Slot> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        self.admission.finish(id?)
    }
}

/// Counts the bytes that the client has accepted.
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
