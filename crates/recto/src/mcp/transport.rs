//! stdin and stdout as a transport: [`Incoming`] reads, [`Output`] writes.
//!
//! The library's own transport drops lines that are too long or not JSON without a word and puts
//! no bound on answers that nobody reads; here both get an answer and a bound.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::task::coop::consume_budget;
use tokio_util::sync::CancellationToken;

use super::in_flight::InFlight;
use super::output::{Output, Sent};
use super::{parse, weight};
use crate::limits;
use crate::line::{self, Incoming, Line};

/// The longest line that is read.
const MAX_LINE: usize = limits::REQUEST_LINE;

/// Longer lines are parsed elsewhere, so that meanwhile others get their answers.
const MAX_PARSED_HERE: usize = 64 << 10;

/// The two ends of the client's pipes.
pub struct Stdio {
    reader: Reader,
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
    /// How many bytes the client was given, as far as that is counted.
    pub n_given: Arc<AtomicU64>,
}

impl Stdio {
    /// Starts to read and to write, in the current runtime.
    pub fn start(in_flight: Arc<InFlight>, ends: Ends) -> std::io::Result<Stdio> {
        let output = Output::start(in_flight.clone(), ends.clone())?;
        let input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let reader = Reader {
            incoming: Incoming::new(input, MAX_LINE)?,
            in_flight,
            output: output.clone(),
            has_started: false,
            held: Held::Nothing,
        };
        Ok(Stdio { reader, output, ends })
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
                    // The library would give the answers five seconds.
                    self.reader.in_flight.until_answered().await;
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

struct Reader {
    incoming: Incoming,
    in_flight: Arc<InFlight>,
    output: Output,
    /// Whether a request came that begins a session. Before it, the library takes a stray
    /// notification for a reason to end.
    has_started: bool,
    held: Held,
}

/// How far the last line has come. It is kept here and not in a future, because the library drops
/// the future whenever something else happens.
enum Held {
    Nothing,
    /// It is being parsed.
    Parsing(JoinHandle<Parsed>),
    /// It is a request, which waits for room.
    Request {
        message: Box<ClientJsonRpcMessage>,
        id: RequestId,
        weight: usize,
    },
    /// It was refused. Waiting for that keeps a flood of bad lines from piling up answers.
    Refused(Sent),
}

/// What became of a line.
enum Parsed {
    Message { message: Box<ClientJsonRpcMessage>, weight: usize },
    Refused(ErrorData, Option<RequestId>),
}

impl Reader {
    /// Waits for the next message; `None` where no more come. May be dropped and called again:
    /// nothing is lost.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match &mut self.held {
                Held::Nothing => {}
                Held::Parsing(parsing) => {
                    let parsed = parsing.await.unwrap_or_else(|error| {
                        Parsed::Refused(ErrorData::internal_error(error.to_string(), None), None)
                    });
                    self.held = Held::Nothing;
                    if let Some(message) = self.take(parsed) {
                        return Some(message);
                    }
                    continue;
                }
                Held::Request { id, weight, .. } => {
                    let is_admitted = self.in_flight.admit(id, *weight).await;
                    let held = std::mem::replace(&mut self.held, Held::Nothing);
                    let Held::Request { message, id, .. } = held else {
                        unreachable!("it was one")
                    };
                    if is_admitted {
                        return Some(*message);
                    }
                    let message = "A request with this id waits for its answer";
                    self.refuse(ErrorData::invalid_request(message, None), Some(id));
                    continue;
                }
                Held::Refused(sent) => {
                    let written = sent.until_written().await;
                    self.held = Held::Nothing;
                    written.ok()?;
                }
            }
            // A client that never stops to talk must not keep others from their turn.
            consume_budget().await;
            match self.incoming.next().await {
                Ok(Line::Whole) => {}
                Ok(Line::TooLong { id }) => {
                    let id = id.and_then(|id| serde_json::from_str(&id).ok());
                    let message = format!("Request is longer than {MAX_LINE} bytes");
                    self.refuse(ErrorData::invalid_request(message, None), id);
                    continue;
                }
                Ok(Line::End) | Err(_) => return None,
            }
            let line = self.incoming.line();
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if line.len() > MAX_PARSED_HERE {
                let line = std::mem::take(line);
                self.held = Held::Parsing(tokio::task::spawn_blocking(move || parsed(&line)));
                continue;
            }
            let parsed = parsed(line);
            if let Some(message) = self.take(parsed) {
                return Some(message);
            }
        }
    }

    /// The message, where it is to be handed on at once.
    fn take(&mut self, parsed: Parsed) -> Option<ClientJsonRpcMessage> {
        let (message, weight) = match parsed {
            Parsed::Message { message, weight } => (message, weight),
            Parsed::Refused(error, id) => {
                self.refuse(error, id);
                return None;
            }
        };
        match &*message {
            JsonRpcMessage::Request(request) => {
                self.has_started |= begins_session(&request.request);
                let id = request.id.clone();
                self.held = Held::Request { message, id, weight };
                return None;
            }
            JsonRpcMessage::Notification(notification) => {
                // A request that was taken back is never answered.
                if self.has_started
                    && let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_flight.finish(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.has_started.then_some(*message)
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.held = Held::Refused(self.output.refuse(JsonRpcMessage::error(error, id)));
    }
}

fn parsed(line: &[u8]) -> Parsed {
    let id = || line::id_of(line).and_then(|id| serde_json::from_str(&id).ok());
    let Some(weight) = weight::of(line) else {
        let message = format!("Request holds more than {} values", limits::REQUEST_VALUES);
        return Parsed::Refused(ErrorData::invalid_request(message, None), id());
    };
    let error = match parse::message(line) {
        Ok(message) => return Parsed::Message { message: Box::new(message), weight },
        Err(error) => error,
    };
    match serde_json::from_slice::<Value>(line) {
        Ok(value) => {
            let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            let message = format!("Invalid request: {error}");
            Parsed::Refused(ErrorData::invalid_request(message, None), id)
        }
        Err(error) => {
            Parsed::Refused(ErrorData::parse_error(format!("Parse error: {error}"), None), id())
        }
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
