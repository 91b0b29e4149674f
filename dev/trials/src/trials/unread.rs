//! A client that requests 400 answers of 4 MB and does not read them.

use std::io::Write;
use std::time::{Duration, Instant};

use recto_dev::process::megabytes;
use recto_dev::servers::Server;
use serde_json::json;

use super::Trial;
use crate::cell::Cell;
use crate::session::{Session, read_call};
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "unread",
    rows: &[(
        "400 answers of 4 MB to a client that does not read, then does",
        "≤ 128 MB, all answered",
    )],
    run,
};

const N_CALLS: usize = 400;

/// A peer that has used this much has failed; there is no need to fill the machine's memory.
const ENOUGH_MEGABYTES: f64 = 4096.0;

fn run(_: Effort, server: &Server) -> Result<Vec<Cell>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    std::fs::write(&path, crate::files::version(1, 4 << 20))?;
    let mut session = Session::open(server, folder.path())?;
    session.set_patience(Duration::from_secs(60));
    let (tool, arguments) = read_call(server.kind, &path);
    let lines: Vec<_> = (0..N_CALLS)
        .map(|_| {
            session.client.prepare("tools/call", json!({"name": tool, "arguments": arguments})).1
        })
        .collect();
    let mut input = session.client.take_input()?;
    // The server may stop reading, which must not block this thread.
    let writer = std::thread::spawn(move || {
        for line in lines {
            input.write_all(&line)?;
        }
        Ok::<_, std::io::Error>(input)
    });
    let (mut peak, mut changed) = (0.0_f64, Instant::now());
    let started = Instant::now();
    // Until its memory is stable.
    while changed.elapsed() < Duration::from_secs(2) && started.elapsed() < Duration::from_secs(60)
    {
        let now = megabytes(session.client.process_id(), "VmHWM").unwrap_or(peak);
        if now > peak * 1.02 {
            (peak, changed) = (now, Instant::now());
        }
        if peak > ENOUGH_MEGABYTES {
            session.client.kill()?;
            return Ok(vec![Cell::new(false, "over 4 GB")]);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut n_answered = 0;
    let deadline = Instant::now() + Duration::from_secs(180);
    while n_answered < N_CALLS && session.receive(deadline).is_ok_and(|line| line.len() > 4 << 20) {
        n_answered += 1;
    }
    peak = megabytes(session.client.process_id(), "VmHWM").unwrap_or(peak).max(peak);
    // Ends the writer if it still waits.
    session.client.kill()?;
    let written = writer.join().map_err(|_| "the writer panicked")?;
    let is_met = peak <= 128.0 && n_answered == N_CALLS && written.is_ok();
    Ok(vec![Cell::new(is_met, format!("{peak:.0} MB, {n_answered} answered"))])
}
