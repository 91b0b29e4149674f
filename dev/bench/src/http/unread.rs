//! Clients that do not read large answers: memory, and how long another client waits meanwhile.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use recto_dev::table::{grouped, median, milliseconds, percentile};
use recto_dev::{Result, process};
use serde_json::json;

use super::{Connection, Server, connect, in_session};

/// The connections on which nothing is read.
const N_UNREAD: usize = 400;

/// The reads of the other client.
const N_READS: usize = 1000;

/// The size of the file. An answer contains it twice, which is more than the kernel buffers.
const N_BYTES: usize = 4_000_000;

pub fn run(recto: &Path, root: &Path) -> Result<()> {
    std::fs::create_dir_all(root)?;
    let (large, small) = (root.join("large.txt"), root.join("small.txt"));
    std::fs::write(&large, "a line of text that is read\n".repeat(N_BYTES / 28))?;
    std::fs::write(&small, "a line of text that is read\n".repeat(72))?;
    let server = Server::start(recto, root, &["--max-answer-bytes", "5000000"])?;
    let mut connection = Connection::open(&server.address, &server.token)?;
    let session = connection.initialize()?;
    let mut unread = Vec::new();
    for id in 0..N_UNREAD {
        let params = json!({"name": "read_text_file", "arguments": {"path": large}});
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let request = connection.text(&in_session(Some(&session)), &body.to_string());
        unread.push(start(&server.address, &request)?);
    }
    let (other, mut times) = (connection.initialize()?, Vec::new());
    for _ in 0..N_READS {
        let params = json!({"name": "read_text_file", "arguments": {"path": small}});
        let start = Instant::now();
        let answer = connection.request(Some(&other), "tools/call", params)?;
        times.push(start.elapsed());
        if !answer.contains("a line of text") {
            return Err(format!("{answer:.300}").into());
        }
    }
    println!(
        "{} answers of 8 MB that are not read: peak memory {:.0} MB; another client reads 2 KB in {} \
         (p99 {})",
        grouped(unread.len()),
        process::megabytes(server.child.id(), "VmHWM")?,
        milliseconds(median(&times)),
        milliseconds(percentile(&times, 99)),
    );
    Ok(())
}

/// Sends a request, and returns when its answer has begun.
fn start(address: &str, request: &str) -> Result<TcpStream> {
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(request.as_bytes())?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    stream.peek(&mut [0])?;
    Ok(stream)
}
