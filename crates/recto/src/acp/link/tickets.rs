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
pub struct Tickets(Mutex<Issued>);

#[derive(Default)]
struct Issued {
    by_token: HashMap<String, Arc<Ticket>>,
    /// The number of the last connection. A session can have several tickets, so connections are
    /// numbered across all.
    last_connection: u64,
}

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
        lock(&self.0).by_token.insert(ticket.token.clone(), ticket.clone());
        Ok(ticket)
    }

    /// Revokes a token whose session was not created.
    pub fn revoke(&self, ticket: &Ticket) {
        lock(&self.0).by_token.remove(&ticket.token);
        ticket.end();
    }

    /// Revokes all tokens and closes all connections.
    pub fn revoke_all(&self) {
        let tickets = std::mem::take(&mut lock(&self.0).by_token);
        tickets.values().for_each(|ticket| ticket.end());
    }

    /// Admits a server, or returns the reason why not. Dropping the result releases its place.
    pub fn admit(&self, token: &str, stream: &UnixStream) -> std::result::Result<Admitted, String> {
        let mut issued = lock(&self.0);
        let ticket = issued.by_token.get(token).cloned().ok_or("unknown token")?;
        issued.last_connection += 1;
        let number = issued.last_connection;
        drop(issued);
        let stream = stream.try_clone().map_err(|error| error.to_string())?;
        let mut state = lock(&ticket.state);
        if state.connections.len() >= MAX_SERVERS {
            return Err(format!("the session already has {MAX_SERVERS} servers"));
        }
        state.connections.push(Connection { number, stream, sender: None });
        drop(state);
        Ok(Admitted { ticket, number })
    }

    /// Returns the sender of the session's most recent server.
    pub fn server_of(&self, session: &str) -> Option<LineSender> {
        let issued = lock(&self.0);
        let last = issued.by_token.values().filter_map(|ticket| ticket.last_server(session));
        last.max_by_key(|(number, _)| *number).map(|(_, sender)| sender)
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

    /// Returns the number and the sender of the last connection, if the ticket is of this session.
    fn last_server(&self, session: &str) -> Option<(u64, LineSender)> {
        let state = lock(&self.state);
        let is_named = matches!(&state.session, SessionId::Named(name) if **name == *session);
        let connected = |one: &Connection| Some((one.number, one.sender.clone()?));
        let servers = state.connections.iter().filter(|_| is_named).filter_map(connected);
        servers.max_by_key(|(number, _)| *number)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn connect(tickets: &Tickets, ticket: &Ticket) -> (Admitted, LineSender) {
        let (stream, _) = UnixStream::pair().unwrap();
        let admitted = tickets.admit(&ticket.token, &stream).unwrap();
        let sender = LineSender::start("test", std::io::pipe().unwrap().1, 1 << 20).unwrap();
        admitted.set_sender(&sender);
        (admitted, sender)
    }

    #[test]
    fn the_most_recent_server_of_a_session_has_any_of_its_tickets() {
        let tickets = Tickets::default();
        let named = |session: &str| {
            let ticket = tickets.issue().unwrap();
            ticket.name(session);
            ticket
        };
        let check = |sender: &LineSender| tickets.server_of("s").unwrap().is_same(sender);
        // A session that is loaded several times.
        let of_session: Vec<_> = (0..20).map(|_| named("s")).collect();
        let _other = connect(&tickets, &named("other"));
        let mut connected = Vec::new();
        for ticket in of_session.iter().rev().chain(&of_session) {
            let (admitted, sender) = connect(&tickets, ticket);
            assert!(check(&sender));
            connected.push((admitted, sender));
        }
        while connected.pop().is_some() {
            if let Some((_, sender)) = connected.last() {
                assert!(check(sender), "the one before is the most recent again");
            }
        }
        assert!(tickets.server_of("s").is_none());
    }
}
