//! MCP over HTTP: `rmcp`'s Streamable HTTP server behind bounds on connections, requests, sessions
//! and time, and a token for every request.

mod accounts;
mod body;
mod gate;
mod paced;
mod sessions;
mod tokens;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::config::Wire;
use crate::limits::{
    AFTER_HTTP_STOP, HTTP_CONNECTIONS, HTTP_HEADER, HTTP_HEADER_TIME, HTTP_WRITE_TIME,
};
use crate::log;
use crate::mcp::handler::Slots;
use gate::{Busy, Gate};
use paced::Paced;

pub use accounts::{Accounts, OpenAccount};
pub use tokens::{Token, TokenAccess, generated};

/// How often idle sessions are closed.
const SWEPT_EVERY: Duration = Duration::from_secs(5);

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

/// Serves the accounts until `stop` is cancelled, and then finishes the requests in flight.
pub async fn serve(
    listener: TcpListener,
    accounts: Arc<Accounts>,
    wire: Wire,
    max_running: usize,
    hosts: Vec<String>,
    stop: CancellationToken,
) -> Result<(), String> {
    let listener =
        tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
    let slots = Slots::new(max_running);
    let gate = Arc::new(Gate::new(accounts, wire, slots, hosts, stop.clone()));
    let permits = Arc::new(Semaphore::new(HTTP_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut sweep = tokio::time::interval(SWEPT_EVERY);
    loop {
        let accept = async {
            // Beyond the limit, connections wait in the kernel's queue.
            let permit = permits.clone().acquire_owned().await.expect("it is never closed");
            (listener.accept().await, permit)
        };
        tokio::select! {
            (accepted, permit) = accept => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, gate.clone(), permit));
                }
                Err(error) => {
                    warn!(target: log::TARGET, "cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            _ = sweep.tick() => gate.sessions.close_expired(&gate.accounts.current()),
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

async fn connection(stream: tokio::net::TcpStream, gate: Arc<Gate>, _permit: OwnedSemaphorePermit) {
    // Without this, each answer waits for the client's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(Paced::new(stream, HTTP_WRITE_TIME));
    let stop = gate.stop.clone();
    // Shared by requests until their answers are complete.
    let busy = Busy::default();
    let in_service = busy.clone();
    let service = service_fn(move |request| {
        let (gate, busy) = (gate.clone(), in_service.clone());
        async move { Ok::<_, std::convert::Infallible>(gate.answer(request, busy).await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HTTP_HEADER_TIME)
            .max_buf_size(HTTP_HEADER)
            .serve_connection(io, service)
    );
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            loop {
                // Without a request, hyper would wait for one.
                tokio::select! {
                    ended = &mut connection => break ended,
                    () = tokio::time::sleep(FLUSH_TIME) => {
                        if busy.n_others() == 1 {
                            break Ok(());
                        }
                    }
                }
            }
        }
    };
    if let Err(error) = ended {
        debug!(target: log::TARGET, "a connection ended: {error}");
    }
}
