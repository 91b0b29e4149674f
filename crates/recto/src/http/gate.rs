//! Decides about a request before `rmcp` sees it: path, token, session, body. Then serves it with
//! the calls that the token permits.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{AUTHORIZATION, CONNECTION, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::accounts::{Account, Accounts};
use super::body::{Budget, Pieces, Rejected};
use super::sessions::{AccountSessions, InUse, Sessions};
use crate::config::Wire;
use crate::limits::{HTTP_BODY, HTTP_STREAMS};
use crate::mcp::handler::{Caller, Handler, Slot, Slots, Watches};

/// The header that names a session.
const SESSION_ID: &str = "mcp-session-id";

/// What answers requests.
pub struct Gate {
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
    streams: Arc<Semaphore>,
}

impl Gate {
    pub fn new(
        accounts: Arc<Accounts>,
        wire: Wire,
        slots: Slots,
        hosts: Vec<String>,
        stop: CancellationToken,
    ) -> Gate {
        let (sessions, budget, cut, watches) = Default::default();
        let streams = Arc::new(Semaphore::new(HTTP_STREAMS));
        Gate { accounts, sessions, wire, slots, watches, hosts, stop, cut, budget, streams }
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request<Incoming>, busy: Busy) -> Response<Answer> {
        let mut response = self.decide(request).await;
        response.body_mut().kept.busy = Some(busy);
        response
    }

    async fn decide(&self, request: Request<Incoming>) -> Response<Answer> {
        match request.uri().path() {
            "/mcp" => {}
            "/health" => return plain(StatusCode::OK, ""),
            _ => return plain(StatusCode::NOT_FOUND, "MCP is served at /mcp\n"),
        }
        let sent = bearer(request.headers());
        let Some(account) = sent.and_then(|sent| self.accounts.find(sent)) else {
            let mut response = plain(StatusCode::UNAUTHORIZED, "A valid bearer token is needed\n");
            let scheme = hyper::header::HeaderValue::from_static("Bearer");
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
        let slot = Slot::default();
        parts.extensions.insert(slot.clone());
        parts.extensions.insert(reservation);
        parts.extensions.insert(in_use.clone());
        let mut response = self.serve(Request::from_parts(parts, body), account, &self.cut).await;
        let kept = &mut response.body_mut().kept;
        (kept.slot, kept.in_use) = (Some(slot), in_use);
        response
    }

    /// Opens a stream of events, which occupies a connection until the client closes it.
    async fn get(
        &self,
        request: Request<Incoming>,
        account: Arc<Account>,
        in_use: Option<InUse>,
    ) -> Response<Answer> {
        let Ok(permit) = self.streams.clone().try_acquire_owned() else {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "Too many event streams are open\n");
        };
        let mut response =
            self.serve(request.map(|_| Pieces::default()), account, &self.stop).await;
        let kept = &mut response.body_mut().kept;
        (kept.stream, kept.in_use) = (Some(permit), in_use);
        response
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
        let (wire, shared) = (self.wire, (self.slots.clone(), self.watches.clone()));
        let handler = move || {
            let caller = Caller { token: account.token.name.clone(), session: begun.clone() };
            let calls = account.calls.for_new_session();
            let instructions = account.instructions.to_string();
            Ok(Handler::over_http(calls, wire, instructions, shared.clone(), caller))
        };
        let service = StreamableHttpService::new(handler, Arc::new(sessions), config);
        service.handle(request).await.map(Answer::new)
    }
}

/// Returns the bearer token of a request that has exactly one.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

fn value(text: &'static str) -> hyper::header::HeaderValue {
    hyper::header::HeaderValue::from_static(text)
}

fn plain(status: StatusCode, text: &'static str) -> Response<Answer> {
    let body = Full::new(Bytes::from_static(text.as_bytes())).boxed();
    let mut response = Response::new(Answer::new(body));
    *response.status_mut() = status;
    response
}

/// The body of a response. Keeps the slot of the call until the client has taken the answer, apart
/// from what the connection buffers, so that unread answers take bounded memory.
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

#[derive(Default)]
struct Kept {
    busy: Option<Busy>,
    slot: Option<Slot>,
    in_use: Option<InUse>,
    stream: Option<OwnedSemaphorePermit>,
}

impl Answer {
    fn new(body: BoxBody<Bytes, Infallible>) -> Answer {
        Answer { body, kept: Kept::default() }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(None) = polled {
            self.kept = Kept::default();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
