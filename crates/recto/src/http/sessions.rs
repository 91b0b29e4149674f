//! The sessions of clients that begin with `initialize`: bounded in number and idle time, and each
//! usable only with the token that began it.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream;
use recto_store::sync::lock;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, GetExtensions, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio::sync::mpsc::{Receiver, channel};

use super::accounts::Account;
use crate::journal::OpenJournal;
use crate::limits::{HTTP_SESSION_IDLE, HTTP_SESSION_UNUSED, HTTP_SESSIONS, HTTP_UNREAD_EVENTS};

/// The sessions of all accounts.
pub struct Sessions {
    local: LocalSessionManager,
    journal: OpenJournal,
    entries: Mutex<HashMap<SessionId, Entry>>,
}

struct Entry {
    account: Arc<Account>,
    last_used: Instant,
    /// The requests since `initialize`. The first one only completes the handshake.
    n_requests: u64,
    /// Shared by requests that are not completely answered.
    in_use: InUse,
    ids: Ids,
}

/// The ids of the requests in flight. `rmcp` never answers a second request with the same id.
#[derive(Debug, Clone, Default)]
struct Ids(Arc<Mutex<HashSet<RequestId>>>);

/// Keeps an id until the request is answered.
#[derive(Debug)]
struct IdInUse {
    ids: Ids,
    id: RequestId,
}

impl Ids {
    /// `None` if the id is in use.
    fn begin(&self, id: &RequestId) -> Option<Arc<IdInUse>> {
        let is_new = lock(&self.0).insert(id.clone());
        is_new.then(|| Arc::new(IdInUse { ids: self.clone(), id: id.clone() }))
    }
}

impl Drop for IdInUse {
    fn drop(&mut self) {
        lock(&self.ids.0).remove(&self.id);
    }
}

/// Keeps a session from being closed because it is idle.
#[derive(Debug, Clone, Default)]
pub struct InUse(Arc<()>);

impl Entry {
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.in_use.0) > 1
    }

    fn is_expired(&self) -> bool {
        let limit = if self.n_requests > 1 { HTTP_SESSION_IDLE } else { HTTP_SESSION_UNUSED };
        !self.is_in_use() && self.last_used.elapsed() > limit
    }
}

impl Sessions {
    pub fn new(journal: OpenJournal) -> Sessions {
        let mut local = LocalSessionManager::default();
        // Entries expire here: `rmcp` would also end a session whose call runs for long.
        local.session_config.keep_alive = None;
        // Older clients fail to parse the empty event that announces the time for a reconnection.
        local.session_config.sse_retry = None;
        Sessions { local, journal, entries: Mutex::default() }
    }

    /// Marks a session as used by a request. `None` if the account has no such session.
    pub fn begin(&self, id: &str, account: &Arc<Account>) -> Option<InUse> {
        let mut entries = lock(&self.entries);
        let entry = entries.get_mut(id).filter(|entry| Arc::ptr_eq(&entry.account, account))?;
        entry.last_used = Instant::now();
        entry.n_requests += 1;
        Some(entry.in_use.clone())
    }

    /// Closes sessions that were idle for too long or whose account does not exist any more.
    pub fn close_expired(self: &Arc<Sessions>, accounts: &[Arc<Account>]) {
        let is_over = |entry: &Entry| {
            entry.is_expired() || !accounts.iter().any(|one| Arc::ptr_eq(one, &entry.account))
        };
        let over: Vec<SessionId> = {
            let mut entries = lock(&self.entries);
            entries.extract_if(|_, entry| is_over(entry)).map(|(id, _)| id).collect()
        };
        for id in over {
            self.close(id);
        }
    }

    /// Registers a session, and closes the longest idle one if there are too many.
    fn register(self: &Arc<Sessions>, id: SessionId, account: Arc<Account>) {
        let mut entries = lock(&self.entries);
        let (last_used, in_use, ids) = (Instant::now(), InUse::default(), Ids::default());
        entries.insert(id, Entry { account, last_used, n_requests: 0, in_use, ids });
        if entries.len() > HTTP_SESSIONS {
            let idle = entries.iter().filter(|(_, entry)| !entry.is_in_use());
            // If all are in use, their number is bounded by that of requests in flight.
            let longest = idle.min_by_key(|(_, entry)| entry.last_used).map(|(id, _)| id.clone());
            if let Some(longest) = longest {
                entries.remove(&longest);
                self.close(longest);
            }
        }
    }

    /// Notes the end of a session in the journal, which may have to wait for a change.
    async fn end_in_journal(&self, id: &SessionId) {
        let (journal, id) = (self.journal.clone(), id.clone());
        let _ = tokio::task::spawn_blocking(move || journal.end_session(&id)).await;
    }

    async fn handle(&self, id: &SessionId) -> Result<LocalSessionHandle> {
        let found = self.local.sessions.read().await.get(id).cloned();
        found.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))
    }

    /// Closes a session in the background, because its worker may be waiting for a slow client.
    fn close(self: &Arc<Sessions>, id: SessionId) {
        let sessions = self.clone();
        tokio::spawn(async move {
            sessions.end_in_journal(&id).await;
            sessions.local.close_session(&id).await
        });
    }
}

/// The sessions of one account, for one request.
pub struct AccountSessions {
    pub all: Arc<Sessions>,
    pub account: Arc<Account>,
    /// Set to the id of the session that the request begins.
    pub begun: Arc<OnceLock<SessionId>>,
}

type Result<T> = std::result::Result<T, LocalSessionManagerError>;

impl SessionManager for AccountSessions {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport)> {
        let (id, transport) = self.all.local.create_session().await?;
        self.begun.set(id.clone()).expect("a request begins one session");
        self.all.register(id.clone(), self.account.clone());
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage> {
        self.all.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool> {
        let entries = lock(&self.all.entries);
        Ok(entries.get(id).is_some_and(|entry| Arc::ptr_eq(&entry.account, &self.account)))
    }

    async fn close_session(&self, id: &SessionId) -> Result<()> {
        lock(&self.all.entries).remove(id);
        self.all.end_in_journal(id).await;
        self.all.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let mut id_in_use = None;
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            let ids = lock(&self.all.entries).get(id).map(|entry| entry.ids.clone());
            id_in_use = ids.unwrap_or_default().begin(&request.id);
            if id_in_use.is_none() {
                return Ok(rejected(request.id.clone()));
            }
            // The client may disconnect before the call ends.
            request.request.extensions_mut().insert(id_in_use.clone());
        }
        let handle = self.all.handle(id).await?;
        let channel = handle.establish_request_wise_channel().await?;
        handle.push_message(message, channel.http_request_id).await?;
        Ok(Messages { receiver: channel.inner, id_in_use })
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<()> {
        self.all.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let handle = self.all.handle(id).await?;
        Ok(drained(handle.establish_common_channel().await?.inner))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        let handle = self.all.handle(id).await?;
        Ok(drained(handle.resume(last_event_id.parse()?).await?.inner))
    }
}

/// Messages to a client.
struct Messages {
    receiver: Receiver<ServerSseMessage>,
    id_in_use: Option<Arc<IdInUse>>,
}

impl Stream for Messages {
    type Item = ServerSseMessage;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ServerSseMessage>> {
        let polled = self.receiver.poll_recv(context);
        if let Poll::Ready(Some(event)) = &polled
            && let Some(ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) =
                event.message.as_deref()
        {
            self.id_in_use = None;
        }
        polled
    }
}

/// Answers a request whose id is in use.
fn rejected(id: RequestId) -> Messages {
    let error = ErrorData::invalid_request("A request with this id is in flight", None);
    let (sender, receiver) = channel(1);
    let message = ServerSseMessage::from_message(ServerJsonRpcMessage::error(error, Some(id)));
    sender.try_send(message).expect("it is empty");
    Messages { receiver, id_in_use: None }
}

/// Takes events as they come, because the session's worker waits until they are taken. If the
/// client does not read, the stream ends.
fn drained(mut events: Receiver<ServerSseMessage>) -> Messages {
    let (sender, receiver) = channel(HTTP_UNREAD_EVENTS);
    tokio::spawn(async move {
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = sender.closed() => None,
            };
            let Some(event) = event else { return };
            if sender.try_send(event).is_err() {
                return;
            }
        }
    });
    Messages { receiver, id_in_use: None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unread_events_do_not_delay_a_session_and_end_the_stream() {
        let (sender, events) = channel(1);
        let mut messages = drained(events);
        let mut n_sent = 0;
        while sender.send(ServerSseMessage::default()).await.is_ok() {
            n_sent += 1;
            assert!(n_sent < HTTP_UNREAD_EVENTS + 10, "the stream does not end");
        }
        let mut n_received = 0;
        while messages.receiver.recv().await.is_some() {
            n_received += 1;
        }
        assert_eq!(n_received, HTTP_UNREAD_EVENTS);
    }

    #[tokio::test]
    async fn a_stream_that_the_client_closed_ends_at_once() {
        let (sender, events) = channel(1);
        drop(drained(events));
        sender.closed().await;
    }
}
