//! MCP on stdin and stdout: [`Reader`] reads requests, [`Output`] writes answers.
//!
//! The transport of `rmcp` drops lines that are too long or are not JSON without an answer, and
//! does not bound requests in flight or answers that the client does not read.

mod admission;
mod json;
mod parse;
mod read;
mod weight;
mod write;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::ServiceExt;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, ServerInitializeError};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use crate::config::Wire;
use crate::limits::AFTER_END_OF_INPUT;
use admission::Admission;
use read::Reader;
use recto_tools::call::Calls;
use write::Output;

/// Serves calls on stdin and stdout until the input ends or `stop` is cancelled.
pub async fn serve(
    calls: Calls,
    wire: Wire,
    instructions: String,
    max_running: usize,
    stop: CancellationToken,
) -> Result<(), String> {
    let ends = Ends::default();
    let transport = Stdio::start(ends.clone()).map_err(|error| error.to_string())?;
    let (patience, input, until_read) = (stop.clone(), ends.input.clone(), stop.clone());
    tokio::spawn(async move {
        // After the end of input, continue as long as the client reads its answers.
        let is_enough = async {
            ends.input.cancelled().await;
            loop {
                let n_given = ends.n_given.load(Ordering::Relaxed);
                tokio::time::sleep(AFTER_END_OF_INPUT).await;
                if ends.n_given.load(Ordering::Relaxed) == n_given {
                    break;
                }
            }
        };
        tokio::select! {
            () = is_enough => {}
            () = ends.output.cancelled() => {}
        }
        patience.cancel();
    });
    let handler = Handler::new(calls, wire, instructions, max_running);
    let served = match handler.serve_with_ct(transport, stop).await {
        Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
        // The client went away, or the server was stopped, before a session began.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    };
    // Answers may still be queued.
    if input.is_cancelled() {
        until_read.cancelled().await;
    }
    served
}

/// The client's pipes as a transport.
struct Stdio {
    reader: Reader,
    output: Output,
    ends: Ends,
}

/// The state of the pipes.
#[derive(Clone, Default)]
struct Ends {
    /// Cancelled when the input has ended.
    input: CancellationToken,
    /// Cancelled when nothing more can be written: a client that takes no answers is gone.
    output: CancellationToken,
    /// How many bytes the client has taken.
    n_given: Arc<AtomicU64>,
}

impl Stdio {
    /// Starts reading and writing in the current runtime.
    fn start(ends: Ends) -> std::io::Result<Stdio> {
        let admission = Arc::new(Admission::default());
        let output = Output::start(admission.clone(), ends.clone())?;
        let input = std::io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Stdio { reader: Reader::new(input, admission, output.clone())?, output, ends })
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let mut sent = self.output.answer(message);
        async move { sent.until_written().await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            message = self.reader.next() => {
                if message.is_none() {
                    self.ends.input.cancel();
                    // On `None`, `rmcp` would wait five seconds for running calls.
                    self.reader.until_answered().await;
                }
                message
            }
            () = self.ends.output.cancelled() => None,
        }
    }

    async fn close(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
