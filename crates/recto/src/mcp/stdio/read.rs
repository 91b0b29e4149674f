//! Reads requests from stdin within the limits, and rejects invalid lines.

use std::io::IsTerminal;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetExtensions,
    GetMeta, JsonRpcMessage, ProtocolVersion, RequestId,
};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::task::coop::consume_budget;

use super::admission::Admission;
use super::write::{Output, Sent};
use super::{parse, weight};
use crate::line::{self, Incoming, LineRead};
use crate::{limits, log};

/// The maximum length of a line.
const MAX_LINE: usize = limits::REQUEST_LINE;

/// Longer lines are parsed on another thread, so that other requests are answered meanwhile.
const MAX_PARSED_HERE: usize = 64 << 10;

/// Reads requests.
pub struct Reader {
    incoming: Incoming,
    admission: Arc<Admission>,
    output: Output,
    /// Whether a request has started a session. Until then `rmcp` stops the server if it receives
    /// anything but a request.
    has_started: bool,
    last_line: LastLine,
    /// Whether a user types the input.
    is_terminal: bool,
}

/// The state of the last line. It is kept here because `rmcp` drops the future of
/// [`Reader::next`] whenever something else happens.
enum LastLine {
    Nothing,
    /// It is being parsed.
    Parsing(JoinHandle<Parsed>),
    /// It is a request, which waits for space.
    Request {
        message: Box<ClientJsonRpcMessage>,
        id: RequestId,
        weight: usize,
    },
    /// It was refused. The next line is read when the refusal is written, so that a flood of bad
    /// lines does not pile up answers.
    Refused(Sent),
}

/// The result of parsing a line.
enum Parsed {
    Message { message: Box<ClientJsonRpcMessage>, weight: usize },
    Refused(ErrorData, Option<RequestId>),
}

impl Reader {
    /// Reads from `input`, in the current runtime. Refusals go to `output`.
    pub fn new(
        input: OwnedFd,
        admission: Arc<Admission>,
        output: Output,
    ) -> std::io::Result<Reader> {
        let is_terminal = input.is_terminal();
        let incoming = Incoming::new(input, MAX_LINE)?;
        let last_line = LastLine::Nothing;
        Ok(Reader { incoming, admission, output, has_started: false, last_line, is_terminal })
    }

    /// Waits until every request is answered.
    pub async fn until_answered(&self) {
        self.admission.until_answered().await;
    }

    /// Waits for the next message; `None` at the end of input. Cancel safe.
    pub async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match &mut self.last_line {
                LastLine::Nothing => {}
                LastLine::Parsing(parsing) => {
                    let parsed = parsing.await.unwrap_or_else(|error| {
                        Parsed::Refused(ErrorData::internal_error(error.to_string(), None), None)
                    });
                    self.last_line = LastLine::Nothing;
                    if let Some(message) = self.take(parsed) {
                        return Some(message);
                    }
                    continue;
                }
                LastLine::Request { id, weight, .. } => {
                    let slot = self.admission.admit(id, *weight).await;
                    let last_line = std::mem::replace(&mut self.last_line, LastLine::Nothing);
                    let LastLine::Request { mut message, id, .. } = last_line else {
                        unreachable!("matched above")
                    };
                    if let Some(slot) = slot {
                        if let JsonRpcMessage::Request(request) = &mut *message {
                            request.request.extensions_mut().insert(slot);
                        }
                        return Some(*message);
                    }
                    let message = "A request with this id is pending";
                    self.refuse(ErrorData::invalid_request(message, None), Some(id));
                    continue;
                }
                LastLine::Refused(sent) => {
                    let written = sent.until_written().await;
                    self.last_line = LastLine::Nothing;
                    written.ok()?;
                }
            }
            // A client that never stops sending must not keep other tasks from running.
            consume_budget().await;
            match self.incoming.next().await {
                Ok(LineRead::Whole) => {}
                Ok(LineRead::TooLong { id }) => {
                    let id = id.and_then(|id| serde_json::from_str(&id).ok());
                    let message = format!("Request is longer than {MAX_LINE} bytes");
                    self.refuse(ErrorData::invalid_request(message, None), id);
                    continue;
                }
                Ok(LineRead::End) | Err(_) => return None,
            }
            let line = self.incoming.line();
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if line.len() > MAX_PARSED_HERE {
                let line = std::mem::take(line);
                self.last_line =
                    LastLine::Parsing(tokio::task::spawn_blocking(move || parsed(&line)));
                continue;
            }
            let parsed = parsed(line);
            if let Some(message) = self.take(parsed) {
                return Some(message);
            }
        }
    }

    /// Returns the message if it can be passed on at once.
    fn take(&mut self, parsed: Parsed) -> Option<ClientJsonRpcMessage> {
        let (message, weight) = match parsed {
            Parsed::Message { message, weight } => (message, weight),
            Parsed::Refused(error, id) => {
                if self.is_terminal && error.code == ErrorCode::PARSE_ERROR {
                    log::say(
                        "this is not a JSON-RPC message. An MCP client is expected here; to call \
                         a tool by hand, press Ctrl-C and run `recto call`.",
                    );
                }
                self.refuse(error, id);
                return None;
            }
        };
        match &*message {
            JsonRpcMessage::Request(request) => {
                self.has_started |= begins_session(&request.request);
                let id = request.id.clone();
                self.last_line = LastLine::Request { message, id, weight };
                return None;
            }
            JsonRpcMessage::Notification(notification) => {
                // A cancelled request is never answered.
                if self.has_started
                    && let ClientNotification::CancelledNotification(cancelled) =
                        &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.admission.cancel(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.has_started.then_some(*message)
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.last_line = LastLine::Refused(self.output.refuse(JsonRpcMessage::error(error, id)));
    }
}

fn parsed(line: &[u8]) -> Parsed {
    let id = || line::id_of(line).and_then(|id| serde_json::from_str(&id).ok());
    let Some(weight) = weight::of(line) else {
        let message = format!("Request contains more than {} values", limits::REQUEST_VALUES);
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
            let cause = error.to_string();
            // Both messages of serde_json are about surrogates only.
            let is_surrogate = ["surrogate", "unexpected end of hex escape"];
            let advice = match is_surrogate.iter().any(|part| cause.contains(part)) {
                true => {
                    "; a \\u escape is half of a surrogate pair, so the string is not valid Unicode: \
                         send both halves, or the character itself"
                }
                false => "",
            };
            let message = format!("Parse error: {cause}{advice}");
            Parsed::Refused(ErrorData::parse_error(message, None), id())
        }
    }
}

/// Whether a request starts a session in `rmcp`: a handshake, or a request with its own metadata.
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
