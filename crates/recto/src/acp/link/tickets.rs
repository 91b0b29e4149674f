//! Which session a server belongs to: one token for each.
//!
//! A server may come before the agent has said how its session is called, so what it asks waits
//! until then. An agent may start several servers for one session, at once or one after another;
//! each has a connection of its own.

use std::collections::HashMap;
use std::io::Result;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex};

use recto_store::sync::{lock, wait};

use crate::acp::line_sender::LineSender;

/// The most servers of one session. Each takes two threads.
pub const MAX_SERVERS: usize = 64;

/// All tokens that were handed out.
#[derive(Default)]
pub struct Tickets(Mutex<HashMap<String, Arc<Ticket>>>);

/// The right to speak for one session.
pub struct Ticket {
    /// 256 random bits.
    pub token: String,
    state: Mutex<TicketState>,
    changed: Condvar,
}

#[derive(Default)]
struct TicketState {
    session: Session,
    last_connection: u64,
    /// Whoever uses it now, in the order in which they came.
    connections: Vec<Connection>,
}

struct Connection {
    number: u64,
    stream: UnixStream,
    /// The way to the server, once it was welcomed.
    sender: Option<LineSender>,
}

#[derive(Default)]
enum Session {
    #[default]
    NotYetNamed,
    Named(Arc<str>),
    /// There is none, or it is over.
    None,
}

impl Tickets {
    /// Makes a new one.
    pub fn issue(&self) -> Result<Arc<Ticket>> {
        let ticket = Arc::new(Ticket {
            token: recto_platform::random_hex::<32>()?,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        lock(&self.0).insert(ticket.token.clone(), ticket.clone());
        Ok(ticket)
    }

    /// Takes one back: the agent made no session of it.
    pub fn revoke(&self, ticket: &Ticket) {
        lock(&self.0).remove(&ticket.token);
        ticket.end();
    }

    /// Takes all back, and with them every connection.
    pub fn revoke_all(&self) {
        let tickets = std::mem::take(&mut *lock(&self.0));
        tickets.values().for_each(|ticket| ticket.end());
    }

    /// Lets a server in, or says why not. The guard gives its place free.
    pub fn admit(&self, token: &str, stream: &UnixStream) -> std::result::Result<Admitted, String> {
        let ticket = lock(&self.0).get(token).cloned().ok_or("the token is not known")?;
        let stream = stream.try_clone().map_err(|error| error.to_string())?;
        let mut state = lock(&ticket.state);
        if state.connections.len() >= MAX_SERVERS {
            return Err(format!("the session has {MAX_SERVERS} servers already"));
        }
        state.last_connection += 1;
        let number = state.last_connection;
        state.connections.push(Connection { number, stream, sender: None });
        drop(state);
        Ok(Admitted { ticket, number })
    }

    /// The way to a server of a session: the one that came last.
    pub fn server_of(&self, session: &str) -> Option<LineSender> {
        lock(&self.0).values().find_map(|ticket| {
            let state = lock(&ticket.state);
            let is_named = matches!(&state.session, Session::Named(name) if **name == *session);
            let mut outlets = state.connections.iter().rev().filter_map(|one| one.sender.clone());
            if is_named { outlets.next() } else { None }
        })
    }
}

impl Ticket {
    /// Tells how the session is called.
    pub fn name(&self, session: &str) {
        let mut state = lock(&self.state);
        if let Session::NotYetNamed = state.session {
            state.session = Session::Named(session.into());
        }
        drop(state);
        self.changed.notify_all();
    }

    /// How the session is called, as soon as it is known; `None` if it never will be.
    pub fn session(&self) -> Option<Arc<str>> {
        let mut state = lock(&self.state);
        loop {
            match &state.session {
                Session::Named(session) => return Some(session.clone()),
                Session::None => return None,
                Session::NotYetNamed => {}
            }
            state = wait(&self.changed, state);
        }
    }

    fn end(&self) {
        let mut state = lock(&self.state);
        state.session = Session::None;
        for connection in &state.connections {
            // It may be gone already.
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// A server that was let in.
pub struct Admitted {
    ticket: Arc<Ticket>,
    number: u64,
}

impl Admitted {
    /// The server was welcomed and can be asked.
    pub fn listens(&self, sender: &LineSender) {
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
