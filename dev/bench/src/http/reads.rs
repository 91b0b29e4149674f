//! Reads of 2 KB over HTTP, beside a peer, and many connections that send nothing.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use recto_dev::servers::folder_of_peers;
use recto_dev::table::{Table, grouped, median, milliseconds, percentile};
use recto_dev::{Result, process};
use serde_json::{Value, json};

use super::{Connection, Server};

/// The clients that read at once.
const N_CLIENTS: usize = 8;

/// The connections that send nothing.
const N_IDLE: usize = 10_000;

/// The sessions that are begun and not used.
const N_SESSIONS: usize = 5_000;

const PEER: &str = "server-filesystem 2026.8.31 behind supergateway 4.0.0";

pub fn run(recto: &Path, root: &Path, is_quick: bool) -> Result<()> {
    let file = root.join("read.txt");
    std::fs::create_dir_all(root)?;
    std::fs::write(&file, "a line of text that is read\n".repeat(72))?;
    let n_calls = if is_quick { 250 } else { 2_500 };
    println!("{n_calls} reads of 2 KB by each of {N_CLIENTS} clients:\n");
    let mut table = Table::of_numbers(["server", "median", "p99", "calls/s"]);
    let mut add = |name: &str, address: &str, token: &str, is_stateless: bool| -> Result<()> {
        eprintln!("{name}");
        let start = Instant::now();
        let times = times(address, token, &file, n_calls, is_stateless)?;
        let rate = times.len() as f64 / start.elapsed().as_secs_f64();
        table.add([
            name.into(),
            milliseconds(median(&times)),
            milliseconds(percentile(&times, 99)),
            grouped(rate as usize),
        ]);
        Ok(())
    };
    let server = Server::start(recto, root, &[])?;
    add("recto, event streams in sessions", &server.address, &server.token, false)?;
    add("recto, JSON without a session", &server.address, &server.token, true)?;
    match Peer::start(root)? {
        Some(peer) => add(PEER, &peer.address, "none", false)?,
        None => eprintln!("{PEER}: left out, dev/support/install-peers installs it"),
    }
    println!("{table}");
    drop(server);
    unused(recto, root)
}

/// Reads with several clients at once, and returns the time of each read.
fn times(
    address: &str,
    token: &str,
    file: &Path,
    n_calls: usize,
    is_stateless: bool,
) -> Result<Vec<Duration>> {
    let arguments = json!({"path": file.display().to_string()});
    let params = json!({"name": "read_text_file", "arguments": arguments});
    let client = || -> Result<Vec<Duration>> {
        let mut connection = Connection::open(address, token)?;
        let session = if is_stateless { None } else { Some(connection.initialize()?) };
        let mut times = Vec::new();
        for _ in 0..n_calls {
            let start = Instant::now();
            let answer = match &session {
                Some(id) => connection.request(Some(id), "tools/call", params.clone())?,
                None => connection.stateless("tools/call", params.clone())?,
            };
            times.push(start.elapsed());
            if !answer.contains("a line of text") {
                return Err(format!("{answer:.300}").into());
            }
        }
        Ok(times)
    };
    std::thread::scope(|scope| {
        let client = || client().map_err(|error| error.to_string());
        let clients: Vec<_> = (0..N_CLIENTS).map(|_| scope.spawn(client)).collect();
        let mut times = Vec::new();
        for client in clients {
            times.extend(client.join().map_err(|_| "a client panicked".to_string())??);
        }
        Ok(times)
    })
}

/// Begins sessions and opens connections that are not used, and prints what they take.
fn unused(recto: &Path, root: &Path) -> Result<()> {
    let server = Server::start(recto, root, &[])?;
    let mut connection = Connection::open(&server.address, &server.token)?;
    let start = Instant::now();
    for _ in 0..N_SESSIONS {
        connection.initialize()?;
    }
    println!(
        "{} `initialize`: {:.1} s, peak memory {:.0} MB",
        grouped(N_SESSIONS),
        start.elapsed().as_secs_f64(),
        process::megabytes(server.child.id(), "VmHWM")?
    );
    drop(server);
    let server = Server::start(recto, root, &[])?;
    let idle = process::connections(&server.address, N_IDLE)?;
    let start = Instant::now();
    let mut connection = Connection::open(&server.address, &server.token)?;
    connection.stateless("tools/list", json!({}))?;
    println!(
        "{} idle connections: a request is answered after {:.1} s, peak memory {:.0} MB",
        grouped(idle.len()),
        start.elapsed().as_secs_f64(),
        process::megabytes(server.child.id(), "VmHWM")?
    );
    Ok(())
}

impl Connection {
    /// Sends a request of the revision without sessions.
    fn stateless(&mut self, method: &str, mut params: Value) -> Result<String> {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n"));
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{}",
            name.unwrap_or_default()
        );
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&headers, &request.to_string())
    }
}

/// The official server, which has only stdio, behind a gateway. Dropping it ends it.
struct Peer {
    child: Child,
    address: String,
}

impl Peer {
    /// `None` if it is not installed.
    fn start(root: &Path) -> Result<Option<Peer>> {
        let peers = folder_of_peers();
        let gateway = peers.join("supergateway-4.0.0/node_modules/.bin/supergateway");
        let server = peers.join("official-2026.8.31/node_modules/.bin/mcp-server-filesystem");
        if !gateway.exists() || !server.exists() {
            return Ok(None);
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new(gateway)
            .args(["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"])
            .args(["--port", &port.to_string(), "--stdio"])
            .arg(format!("{} {}", server.display(), root.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let peer = Peer { child, address: format!("127.0.0.1:{port}") };
        let start = Instant::now();
        while std::net::TcpStream::connect(&peer.address).is_err() {
            if start.elapsed() > Duration::from_secs(60) {
                return Err("the peer did not start".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Some(peer))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
