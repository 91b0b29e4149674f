//! FIFOs, which block on open until another process opens the other end: rejected immediately,
//! without delaying other calls.

use std::time::{Duration, Instant};

use recto_dev::servers::{Server, ServerKind};
use recto_dev::table::{milliseconds, percentile};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::Trial;
use crate::cell::Cell;
use crate::session::{Session, read_call};
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "fifo",
    rows: &[
        ("reading FIFOs, one after the other", "rejected at once"),
        ("other calls in a directory of 100 FIFOs that are being read, p99", "< 20 ms"),
    ],
    run,
};

const N_FIFOS: usize = 100;

fn run(_: Effort, server: &Server) -> Result<Vec<Cell>> {
    let folder = tempfile::tempdir()?;
    let fifo = |n: usize| folder.path().join(format!("fifo-{n}"));
    for n in 0..N_FIFOS {
        mknodat(CWD, fifo(n), FileType::Fifo, Mode::from_raw_mode(0o644), 0)?;
    }
    let plain = folder.path().join("f.txt");
    std::fs::write(&plain, "plain text\n")?;

    // Sent without waiting: some never return.
    let mut session = Session::open(server, folder.path())?;
    let patience = Duration::from_secs(3);
    session.set_patience(patience);
    let mut killed_by = None;
    for n in 0..20 {
        let (tool, arguments) = read_call(server.kind, &fifo(n));
        let (_, line) =
            session.client.prepare("tools/call", json!({"name": tool, "arguments": arguments}));
        session.client.send(&line)?;
        // Time to block on it.
        std::thread::sleep(Duration::from_millis(20));
        if session.read(&plain).is_err() {
            killed_by = Some(n + 1);
            break;
        }
    }
    if let Some(n) = killed_by {
        return Ok(vec![Cell::new(false, format!("{n} stop the server"))]);
    }
    let mut session = Session::open(server, folder.path())?;
    session.set_patience(patience);
    let (mut n_refused, mut n_hanging, mut slowest) = (0, 0, Duration::ZERO);
    for n in 0..20 {
        let started = Instant::now();
        match session.read(&fifo(n)) {
            Ok(reply) => n_refused += usize::from(!reply.is_done()),
            Err(_) => n_hanging += 1,
        }
        slowest = slowest.max(started.elapsed());
        if n_hanging > 2 {
            break;
        }
    }
    let result =
        format!("{n_refused} rejected, {n_hanging} hang, slowest {}", milliseconds(slowest));
    let first = Cell::new(n_refused == 20 && slowest < Duration::from_millis(500), result);

    let mut session = Session::open(server, folder.path())?;
    session.set_patience(patience);
    let mut times = Vec::new();
    for n in 0..N_FIFOS * 3 {
        let (tool, arguments) = read_call(server.kind, &fifo(n % N_FIFOS));
        let (_, line) =
            session.client.prepare("tools/call", json!({"name": tool, "arguments": arguments}));
        session.client.send(&line)?;
        let started = Instant::now();
        let is_done = match (server.kind, n % 4) {
            (ServerKind::Recto, 1) => session.call("ListFiles", json!({"pattern": "*"}))?.is_done(),
            (ServerKind::Recto, 2) => {
                session.call("ReadLines", json!({"file_path": "*", "match": "text"}))?.is_done()
            }
            (_, 3) => session.write(&folder.path().join("g.txt"), &format!("{n}\n"))?.is_done(),
            _ => session.read(&plain)?.is_done(),
        };
        times.push(started.elapsed());
        if !is_done {
            return Ok(vec![first, Cell::new(false, "another call is rejected")]);
        }
    }
    let p99 = percentile(&times, 99);
    Ok(vec![first, Cell::new(p99 < Duration::from_millis(20), milliseconds(p99))])
}
