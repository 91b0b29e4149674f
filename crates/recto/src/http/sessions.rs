//! The sessions of clients that begin with `initialize`: bounded in number and idle time, and each
//! usable only with the token that began it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use futures_core::Stream;
use recto_store::sync::lock;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};

use super::accounts::Account;
use crate::limits::{HTTP_SESSION_IDLE, HTTP_SESSION_UNUSED, HTTP_SESSIONS};

/// The sessions of all accounts.
pub struct Sessions {
    local: LocalSessionManager,
    entries: Mutex<HashMap<SessionId, Entry>>,
}

struct Entry {
    account: Arc<Account>,
    last_used: Instant,
    /// The requests since `initialize`. The first one only completes the handshake.
    n_requests: u64,
    /// Shared by requests that are not completely answered.
    in_use: InUse,
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

impl Default for Sessions {
    fn default() -> Sessions {
        let mut local = LocalSessionManager::default();
        // Entries expire here: `rmcp` would also end a session whose call runs for long.
        local.session_config.keep_alive = None;
        // Older clients fail to parse the empty event that announces the time for a reconnection.
        local.session_config.sse_retry = None;
        Sessions { local, entries: Mutex::default() }
    }
}

impl Sessions {
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
        let (last_used, in_use) = (Instant::now(), InUse::default());
        entries.insert(id, Entry { account, last_used, n_requests: 0, in_use });
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

    /// Closes a session in the background, because its worker may be waiting for a slow client.
    fn close(self: &Arc<Sessions>, id: SessionId) {
        let sessions = self.clone();
        tokio::spawn(async move { sessions.local.close_session(&id).await });
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
        self.all.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.all.local.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<()> {
        self.all.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.all.local.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
        self.all.local.resume(id, last_event_id).await
    }
}
