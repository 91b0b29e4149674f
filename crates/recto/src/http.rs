//! MCP over HTTP: `rmcp`'s Streamable HTTP server behind bounds on connections, requests, sessions
//! and time, and a token for every request.

mod accounts;
mod body;
mod gate;
mod paced;
mod sessions;
mod token_file;
mod tokens;
mod unread;

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::ServerHandler;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::limits::{
    AFTER_HTTP_STOP, HTTP_CONNECTIONS, HTTP_HEADER, HTTP_HEADER_TIME, HTTP_WRITE_TIME,
};
use crate::log;
use gate::Busy;

pub use accounts::{Accounts, OpenAccount};
pub use gate::Gate;
pub use paced::Paced;
pub use token_file::TokenFile;
pub use tokens::{Secret, Token, TokenAccess, generated};

/// How often idle sessions are closed.
const SWEPT_EVERY: Duration = Duration::from_secs(5);

/// How often an idle connection is closed while there are too many.
const CLOSED_EVERY: Duration = Duration::from_millis(20);

/// The time for the end of an answer to be sent after a signal.
const FLUSH_TIME: Duration = Duration::from_millis(100);

/// Binds an address: `HOST:PORT`, or a port on loopback. Must happen before Landlock, which denies
/// it.
pub fn bind(address: &str) -> Result<TcpListener, String> {
    let failed = |error: std::io::Error| format!("--http {address}: {error}");
    let addresses: Vec<SocketAddr> = match address.parse::<u16>() {
        Ok(port) => vec![([127, 0, 0, 1], port).into()],
        Err(_) => address.to_socket_addrs().map_err(failed)?.collect(),
    };
    let listener = TcpListener::bind(&*addresses).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Serves until the gate's `stop` is cancelled, and then finishes the requests in flight.
pub async fn serve<H: ServerHandler>(listener: TcpListener, gate: Gate<H>) -> Result<(), String> {
    let listener =
        tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
    let gate = Arc::new(gate);
    let stop = gate.stop.clone();
    let permits = Arc::new(Semaphore::new(HTTP_CONNECTIONS));
    let mut connections = JoinSet::new();
    // Oldest first.
    let mut open: VecDeque<Weak<Connection>> = VecDeque::new();
    let mut waiting: Option<TcpStream> = None;
    let mut sweep = tokio::time::interval(SWEPT_EVERY);
    loop {
        if waiting.is_some() && permits.available_permits() == 0 {
            open.retain(|connection| connection.strong_count() > 0);
            let idle =
                open.iter().filter_map(Weak::upgrade).find(|connection| connection.is_idle());
            idle.inspect(|connection| connection.close.cancel());
        }
        tokio::select! {
            // Further connections wait in the kernel's queue.
            accepted = listener.accept(), if waiting.is_none() => match accepted {
                Ok((stream, _)) => waiting = Some(stream),
                Err(error) => {
                    warn!(target: log::TARGET, "cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            permit = permits.clone().acquire_owned(), if waiting.is_some() => {
                let connection = Arc::new(Connection::new(permit.expect("it is never closed")));
                open.push_back(Arc::downgrade(&connection));
                let stream = waiting.take().expect("it is waiting");
                connections.spawn(serve_connection(stream, gate.clone(), connection));
            }
            () = tokio::time::sleep(CLOSED_EVERY), if waiting.is_some() => {}
            _ = sweep.tick() => {
                open.retain(|connection| connection.strong_count() > 0);
                gate.sessions.close_expired(&gate.accounts.current());
            }
            () = stop.cancelled() => break,
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(AFTER_HTTP_STOP, finish).await.is_err() {
        gate.cut.cancel();
    }
    Ok(())
}

/// An open connection.
struct Connection {
    /// Shared by requests until their answers are complete.
    busy: Busy,
    close: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn new(permit: OwnedSemaphorePermit) -> Connection {
        let (busy, close) = Default::default();
        Connection { busy, close, _permit: permit }
    }

    /// Whether there is no request whose headers have arrived.
    fn is_idle(&self) -> bool {
        self.busy.n_others() == 0
    }
}

async fn serve_connection<H: ServerHandler>(
    stream: TcpStream,
    gate: Arc<Gate<H>>,
    this: Arc<Connection>,
) {
    // Without this, each answer waits for the client's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(Paced::new(stream, HTTP_WRITE_TIME));
    let stop = gate.stop.clone();
    let in_service = this.clone();
    let service = service_fn(move |request| {
        let gate = gate.clone();
        let (busy, close) = (in_service.busy.clone(), in_service.close.clone());
        async move { Ok::<_, std::convert::Infallible>(gate.answer(request, busy, close).await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HTTP_HEADER_TIME)
            .max_buf_size(HTTP_HEADER)
            .serve_connection(io, service)
    );
    let serve = async {
        tokio::select! {
            ended = &mut connection => return ended,
            () = stop.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        loop {
            // Without a request, hyper would wait for one.
            tokio::select! {
                ended = &mut connection => return ended,
                () = tokio::time::sleep(FLUSH_TIME) => {
                    if this.is_idle() {
                        return Ok(());
                    }
                }
            }
        }
    };
    tokio::select! {
        ended = serve => if let Err(error) = ended {
            debug!(target: log::TARGET, "a connection ended: {error}");
        },
        () = this.close.cancelled() => {}
    }
}
