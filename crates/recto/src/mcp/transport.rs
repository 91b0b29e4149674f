//! stdin and stdout as a transport: one thread reads and parses; [`Output`] writes.
//!
//! The library's own transport drops lines that are too long or not JSON without a word and puts
//! no bound on answers that nobody reads; here both get an answer and a bound.

use std::io::{BufReader, Read};
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::in_flight::InFlight;
use super::output::Output;
use super::weight;
use crate::limits;
use crate::line::{self, Line, Patient};

/// The longest line that is read.
const MAX_LINE: usize = limits::REQUEST_LINE;

/// The room that is kept for the next line.
const KEPT_BUFFER: usize = 256 << 10;

/// The two ends of the client's pipes.
pub struct Stdio {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    output: Output,
    ends: Ends,
}

/// What is told about the pipes.
#[derive(Clone, Default)]
pub struct Ends {
    /// Nothing more comes in.
    pub input: CancellationToken,
    /// Nothing more can be written: a client that takes no answers is gone.
    pub output: CancellationToken,
}

impl Stdio {
    /// Starts the threads. They end with the process; a blocked read cannot be taken back.
    pub fn start(in_flight: Arc<InFlight>, ends: Ends) -> std::io::Result<Stdio> {
        let output = Output::start(in_flight.clone(), ends.output.clone())?;
        let (incoming_sender, incoming) = mpsc::channel(1);
        let input_end = ends.input.clone();
        let reader = Reader {
            in_flight,
            incoming: incoming_sender,
            output: output.clone(),
            has_started: false,
        };
        std::thread::Builder::new().name("recto-read".into()).spawn(move || {
            reader.run(Patient(std::io::stdin()));
            input_end.cancel();
        })?;
        Ok(Stdio { incoming, output, ends })
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
        let written = self.output.answer(message);
        async move { written.until_written().await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            message = self.incoming.recv() => message,
            () = self.ends.output.cancelled() => None,
        }
    }

    async fn close(&mut self) -> std::io::Result<()> {
        self.incoming.close();
        Ok(())
    }
}

struct Reader {
    in_flight: Arc<InFlight>,
    incoming: mpsc::Sender<ClientJsonRpcMessage>,
    output: Output,
    /// Whether a request came that begins a session. Before it, the library takes a stray
    /// notification for a reason to end.
    has_started: bool,
}

impl Reader {
    fn run(mut self, input: impl Read) {
        let mut input = BufReader::with_capacity(64 << 10, input);
        let mut buffer = Vec::new();
        loop {
            let is_open = match line::read(&mut input, &mut buffer, MAX_LINE) {
                Ok(Line::Whole) => self.receive(&buffer),
                Ok(Line::TooLong { id }) => {
                    let id = id.and_then(|id| serde_json::from_str(&id).ok());
                    let message = format!("Request is longer than {MAX_LINE} bytes");
                    self.refuse(ErrorData::invalid_request(message, None), id)
                }
                Ok(Line::End) | Err(_) => return,
            };
            if !is_open {
                return;
            }
            buffer.shrink_to(KEPT_BUFFER);
        }
    }

    fn receive(&mut self, line: &[u8]) -> bool {
        if line.iter().all(u8::is_ascii_whitespace) {
            return true;
        }
        let Some(weight) = weight::of(line) else {
            let id = line::id_of(line).and_then(|id| serde_json::from_str(&id).ok());
            let message = format!("Request holds more than {} values", limits::REQUEST_VALUES);
            return self.refuse(ErrorData::invalid_request(message, None), id);
        };
        let message = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
            Ok(message) => message,
            Err(error) => return self.refuse_unparsed(line, &error),
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                self.has_started |= begins_session(&request.request);
                if !self.in_flight.admit(request.id.clone(), weight) {
                    let message = "A request with this id waits for its answer";
                    let id = Some(request.id.clone());
                    return self.refuse(ErrorData::invalid_request(message, None), id);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if !self.has_started {
                    return true;
                }
                // A request that was taken back is never answered.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_flight.finish(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                if !self.has_started {
                    return true;
                }
            }
        }
        self.incoming.blocking_send(message).is_ok()
    }

    fn refuse_unparsed(&self, line: &[u8], error: &serde_json::Error) -> bool {
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => {
                let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
                let message = format!("Invalid request: {error}");
                self.refuse(ErrorData::invalid_request(message, None), id)
            }
            Err(error) => {
                let id = line::id_of(line).and_then(|id| serde_json::from_str(&id).ok());
                self.refuse(ErrorData::parse_error(format!("Parse error: {error}"), None), id)
            }
        }
    }

    fn refuse(&self, error: ErrorData, id: Option<RequestId>) -> bool {
        let written = self.output.refuse(JsonRpcMessage::error(error, id));
        // Waiting keeps a flood of bad lines from piling up answers.
        written.wait().is_ok()
    }
}

/// Whether the library takes a request for the beginning of a session: a handshake, or one that
/// says itself what it needs.
fn begins_session(request: &ClientRequest) -> bool {
    let meta = request.get_meta();
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        _ => {
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta
                    .protocol_version()
                    .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}
