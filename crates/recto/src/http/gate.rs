//! Decides about a request before `rmcp` sees it: path, token, session, body. Then serves it with
//! the calls that the token permits.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{
    AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::ServerHandler;
use rmcp::model::{ConstString, SubscriptionsListenRequestMethod};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::accounts::{Account, Accounts};
use super::body::{Budget, Pieces, Rejected};
use super::sessions::{AccountSessions, InUse, Sessions};
use super::unread::{Piece, Unread};
use crate::config::Wire;
use crate::journal::OpenJournal;
use crate::limits::{HTTP_BODY, HTTP_STREAMS};
use crate::mcp::handler::{Caller, Handler, Slot, Slots, Watches};

/// The header that names a session.
const SESSION_ID: &str = "mcp-session-id";

/// The header that repeats the method of a request since MCP 2026-07-28. `rmcp` rejects a request
/// whose body has another one.
const METHOD: &str = "mcp-method";

/// Headers of which a proxy may see another one than recto, if there are several.
const SINGLE: [&str; 5] = ["host", "origin", "mcp-protocol-version", METHOD, SESSION_ID];

/// What answers requests. `H` is recto's handler, except in the conformance tests.
pub struct Gate<H> {
    pub accounts: Arc<Accounts>,
    pub sessions: Arc<Sessions>,
    pub wire: Wire,
    pub slots: Slots,
    watches: Watches,
    /// The value of `Host` that clients may send besides those of loopback.
    pub hosts: Vec<String>,
    /// Ends streams that have no end of their own.
    pub stop: CancellationToken,
    /// Ends everything.
    pub cut: CancellationToken,
    budget: Budget,
    unread: Arc<Unread>,
    streams: Arc<Semaphore>,
    wrap: fn(Handler) -> H,
}

impl<H: ServerHandler> Gate<H> {
    /// Creates a gate that serves until `stop` is cancelled. `wrap` returns what answers requests.
    pub fn new(
        accounts: Arc<Accounts>,
        wire: Wire,
        max_running: usize,
        hosts: Vec<String>,
        journal: &OpenJournal,
        stop: CancellationToken,
        wrap: fn(Handler) -> H,
    ) -> Gate<H> {
        Gate {
            accounts,
            sessions: Arc::new(Sessions::new(journal.clone())),
            wire,
            slots: Slots::new(max_running),
            watches: Watches::default(),
            hosts,
            stop,
            cut: CancellationToken::new(),
            budget: Budget::default(),
            unread: Arc::default(),
            streams: Arc::new(Semaphore::new(HTTP_STREAMS)),
            wrap,
        }
    }

    /// Answers a request. `close` closes its connection.
    pub async fn answer(
        &self,
        request: Request<Incoming>,
        busy: Busy,
        close: CancellationToken,
    ) -> Response<Counted> {
        let mut response = self.decide(request).await;
        response.body_mut().kept.busy = Some(busy);
        response.map(|answer| Counted { answer, unread: self.unread.clone(), close })
    }

    async fn decide(&self, request: Request<Incoming>) -> Response<Answer> {
        match request.uri().path() {
            "/mcp" => {}
            "/health" => return plain(StatusCode::OK, ""),
            _ => return plain(StatusCode::NOT_FOUND, "MCP is served at /mcp\n"),
        }
        if is_contradictory(&request) {
            return plain(StatusCode::BAD_REQUEST, "The headers contradict each other\n");
        }
        let sent = bearer(request.headers());
        let Some(account) = sent.and_then(|sent| self.accounts.find(sent)) else {
            let mut response = plain(StatusCode::UNAUTHORIZED, "A valid bearer token is needed\n");
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return response;
        };
        let session = request.headers().get(SESSION_ID).and_then(|id| id.to_str().ok());
        let in_use = session.and_then(|id| self.sessions.begin(id, &account));
        match *request.method() {
            Method::POST => self.post(request, account, in_use).await,
            Method::GET => self.get(request, account, in_use).await,
            Method::DELETE if session.is_some() && in_use.is_none() => {
                plain(StatusCode::NOT_FOUND, "Not Found: Session not found")
            }
            _ => self.serve(request.map(|_| Pieces::default()), account, &self.cut).await,
        }
    }

    async fn post(
        &self,
        request: Request<Incoming>,
        account: Arc<Account>,
        in_use: Option<InUse>,
    ) -> Response<Answer> {
        let (mut parts, body) = request.into_parts();
        let (body, reservation) = match self.budget.read(body).await {
            Ok(read) => read,
            Err(Rejected(status, message)) => {
                let mut response = plain(status, message);
                // The rest of the body is not read.
                response.headers_mut().insert(CONNECTION, value("close"));
                if status == StatusCode::SERVICE_UNAVAILABLE {
                    response.headers_mut().insert(RETRY_AFTER, value("1"));
                }
                return response;
            }
        };
        let stream = is_listening(&parts.headers).then(|| self.open_stream(&account)).transpose();
        let stream = match stream {
            Ok(stream) => stream,
            Err(message) => return plain(StatusCode::SERVICE_UNAVAILABLE, message),
        };
        let end = stream.as_ref().map_or(&self.cut, |stream| &stream.end);
        let slot = Slot::default();
        parts.extensions.insert(slot.clone());
        parts.extensions.insert(reservation);
        parts.extensions.insert(in_use.clone());
        let mut response = self.serve(Request::from_parts(parts, body), account, end).await;
        let kept = &mut response.body_mut().kept;
        (kept.slot, kept.in_use, kept.stream) = (Some(slot), in_use, stream);
        response
    }

    /// Opens a stream of events, which occupies a connection until the client closes it.
    async fn get(
        &self,
        request: Request<Incoming>,
        account: Arc<Account>,
        in_use: Option<InUse>,
    ) -> Response<Answer> {
        let stream = match self.open_stream(&account) {
            Ok(stream) => stream,
            Err(message) => return plain(StatusCode::SERVICE_UNAVAILABLE, message),
        };
        let mut response =
            self.serve(request.map(|_| Pieces::default()), account, &stream.end).await;
        let kept = &mut response.body_mut().kept;
        (kept.stream, kept.in_use) = (Some(stream), in_use);
        response
    }

    /// Makes space for a stream of events, which ends at a stop and when the account ends. Returns
    /// why there is none.
    fn open_stream(&self, account: &Account) -> Result<OpenStream, &'static str> {
        let of_token = account.streams.clone().try_acquire_owned();
        let of_token = of_token.map_err(|_| "Too many event streams are open with this token\n")?;
        let of_all = self.streams.clone().try_acquire_owned();
        let of_all = of_all.map_err(|_| "Too many event streams are open\n")?;
        let (end, ended) = (self.stop.child_token(), account.ended.clone());
        let stream = OpenStream { end: end.clone(), _permits: [of_token, of_all] };
        tokio::spawn(async move {
            tokio::select! {
                () = ended.cancelled() => end.cancel(),
                () = end.cancelled() => {}
            }
        });
        Ok(stream)
    }

    async fn serve(
        &self,
        request: Request<Pieces>,
        account: Arc<Account>,
        end: &CancellationToken,
    ) -> Response<Answer> {
        let mut config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_sse_retry(None)
            .with_cancellation_token(end.clone())
            .with_max_request_body_bytes(HTTP_BODY)
            .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
            .enforce_origin_validation();
        config.allowed_hosts.extend(self.hosts.iter().cloned());
        let begun = Arc::new(OnceLock::new());
        let sessions = AccountSessions {
            all: self.sessions.clone(),
            account: account.clone(),
            begun: begun.clone(),
        };
        let (wire, wrap) = (self.wire, self.wrap);
        let shared = (self.slots.clone(), self.watches.clone());
        let handler = move || {
            let caller = Caller { token: account.token.name.clone(), session: begun.clone() };
            let calls = account.calls.for_new_session();
            let instructions = account.instructions.to_string();
            Ok(wrap(Handler::over_http(calls, wire, instructions, shared.clone(), caller)))
        };
        let service = StreamableHttpService::new(handler, Arc::new(sessions), config);
        service.handle(request).await.map(Answer::new)
    }
}

/// Whether the answer to a request is a stream of events that has no end of its own.
fn is_listening(headers: &HeaderMap) -> bool {
    headers.get(METHOD).is_some_and(|method| method == SubscriptionsListenRequestMethod::VALUE)
}

fn is_contradictory(request: &Request<Incoming>) -> bool {
    let headers = request.headers();
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    SINGLE.iter().any(|name| headers.get_all(*name).iter().nth(1).is_some())
        || request.uri().authority().is_some_and(|named| Some(named.as_str().as_bytes()) != host)
}

/// Returns the bearer token of a request that has exactly one.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

fn value(text: &'static str) -> HeaderValue {
    HeaderValue::from_static(text)
}

fn plain(status: StatusCode, text: &'static str) -> Response<Answer> {
    let body = Full::new(Bytes::from_static(text.as_bytes())).boxed();
    let mut response = Response::new(Answer::new(body));
    *response.status_mut() = status;
    response
}

/// The body of a response.
pub struct Answer {
    body: BoxBody<Bytes, Infallible>,
    kept: Kept,
}

/// Marks a connection as busy.
#[derive(Clone, Default)]
pub struct Busy(Arc<()>);

impl Busy {
    /// Returns how many other marks there are.
    pub fn n_others(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// What is kept until the end of an answer.
#[derive(Default)]
struct Kept {
    busy: Option<Busy>,
    /// Only until the answer counts as unread: a client that does not read keeps no slot.
    slot: Option<Slot>,
    in_use: Option<InUse>,
    stream: Option<OpenStream>,
}

/// An open stream of events.
struct OpenStream {
    /// Ends the stream. Cancelled when the stream has ended.
    end: CancellationToken,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl Answer {
    fn new(body: BoxBody<Bytes, Infallible>) -> Answer {
        Answer { body, kept: Kept::default() }
    }
}

/// An answer whose pieces count as unread until they are sent.
pub struct Counted {
    answer: Answer,
    unread: Arc<Unread>,
    close: CancellationToken,
}

impl Body for Counted {
    type Data = Piece;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Infallible>>> {
        let polled = Pin::new(&mut self.answer.body).poll_frame(context);
        polled.map(|frame| {
            let Some(Ok(frame)) = frame else {
                self.answer.kept = Kept::default();
                return None;
            };
            let frame = frame.map_data(|bytes| self.unread.add(bytes, &self.close));
            self.answer.kept.slot = None;
            Some(Ok(frame))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.answer.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.answer.body.size_hint()
    }
}
