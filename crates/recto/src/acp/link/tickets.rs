//! The tokens that assign servers to sessions, one per session.
//!
//! A server may connect before the agent has named the session; its requests wait until then. An
//! agent may start several servers for one session, concurrently or one after another; each has a
//! connection of its own.

use std::collections::HashMap;
use std::io::Result;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};

use recto_store::sync::{lock, wait};

use crate::acp::line_sender::LineSender;

/// The maximum number of servers of one session. Each takes two threads.
pub const MAX_SERVERS: usize = 64;

/// All issued tokens.
#[derive(Default)]
pub struct Tickets(Mutex<HashMap<String, Arc<Ticket>>>);

/// A token and its session.
pub struct Ticket {
    /// 256 random bits.
    pub token: String,
    state: Mutex<TicketState>,
    changed: Condvar,
}

#[derive(Default)]
struct TicketState {
    session: SessionId,
    last_connection: u64,
    /// The current connections, in the order in which they were made.
    connections: Vec<Connection>,
}

struct Connection {
    number: u64,
    stream: UnixStream,
    /// Set after the handshake.
    sender: Option<LineSender>,
}

#[derive(Default)]
enum SessionId {
    #[default]
    NotYetNamed,
    Named(Arc<str>),
    /// The session was not created, or has ended.
    None,
}

impl Tickets {
    /// Issues a token.
    pub fn issue(&self) -> Result<Arc<Ticket>> {
        let ticket = Arc::new(Ticket {
            token: recto_platform::random_hex::<32>()?,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        lock(&self.0).insert(ticket.token.clone(), ticket.clone());
        Ok(ticket)
    }

    /// Revokes a token whose session was not created.
    pub fn revoke(&self, ticket: &Ticket) {
        lock(&self.0).remove(&ticket.token);
        ticket.end();
    }

    /// Revokes all tokens and closes all connections.
    pub fn revoke_all(&self) {
        let tickets = std::mem::take(&mut *lock(&self.0));
        tickets.values().for_each(|ticket| ticket.end());
    }

    /// Admits a server, or returns the reason why not. Dropping the result releases its place.
    pub fn admit(&self, token: &str, stream: &UnixStream) -> std::result::Result<Admitted, String> {
        let ticket = lock(&self.0).get(token).cloned().ok_or("unknown token")?;
        let stream = stream.try_clone().map_err(|error| error.to_string())?;
        let mut state = lock(&ticket.state);
        if state.connections.len() >= MAX_SERVERS {
            return Err(format!("the session already has {MAX_SERVERS} servers"));
        }
        state.last_connection += 1;
        let number = state.last_connection;
        state.connections.push(Connection { number, stream, sender: None });
        drop(state);
        Ok(Admitted { ticket, number })
    }

    /// Returns the sender of the session's most recent server.
    pub fn server_of(&self, session: &str) -> Option<LineSender> {
        lock(&self.0).values().find_map(|ticket| {
            let state = lock(&ticket.state);
            let is_named = matches!(&state.session, SessionId::Named(name) if **name == *session);
            let mut senders = state.connections.iter().rev().filter_map(|one| one.sender.clone());
            if is_named { senders.next() } else { None }
        })
    }
}

impl Ticket {
    /// Sets the session's id, if it is not set yet.
    pub fn name(&self, session: &str) {
        let mut state = lock(&self.state);
        if let SessionId::NotYetNamed = state.session {
            state.session = SessionId::Named(session.into());
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the session's id; `None` if the token was revoked.
    pub fn session(&self) -> Option<Arc<str>> {
        let mut state = lock(&self.state);
        loop {
            match &state.session {
                SessionId::Named(session) => return Some(session.clone()),
                SessionId::None => return None,
                SessionId::NotYetNamed => {}
            }
            state = wait(&self.changed, state);
        }
    }

    fn end(&self) {
        let mut state = lock(&self.state);
        state.session = SessionId::None;
        for connection in &state.connections {
            // It may be closed already.
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// An admitted server.
pub struct Admitted {
    ticket: Arc<Ticket>,
    number: u64,
}

impl Admitted {
    /// Sets the sender once the handshake is complete.
    pub fn set_sender(&self, sender: &LineSender) {
        let mut state = lock(&self.ticket.state);
        let mut connections = state.connections.iter_mut();
        if let Some(own) = connections.find(|connection| connection.number == self.number) {
            own.sender = Some(sender.clone());
        }
    }
}

impl std::ops::Deref for Admitted {
    type Target = Ticket;

    fn deref(&self) -> &Ticket {
        &self.ticket
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        lock(&self.ticket.state).connections.retain(|connection| connection.number != self.number);
    }
}
