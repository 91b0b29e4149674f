//! Sends 100,000 small requests without reading, then reads all answers.

use std::collections::HashSet;
use std::io::Write;
use std::time::{Duration, Instant};

use recto_dev::process::megabytes;
use recto_dev::servers::{Server, ServerKind};
use recto_dev::table::grouped;
use serde_json::{Value, json};

use super::Trial;
use crate::cell::Cell;
use crate::session::{Session, read_call};
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "flood",
    rows: &[(
        "a flood of 100,000 requests, answers unread at first",
        "all answered once, ≤ 128 MB",
    )],
    run,
};

fn run(_: Effort, server: &Server) -> Result<Vec<Cell>> {
    let n_requests = if server.kind == ServerKind::Recto { 100_000 } else { 20_000 };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "plain text\n")?;
    let mut session = Session::open(server, folder.path())?;
    let (tool, arguments) = read_call(server.kind, &path);
    let mut open = HashSet::new();
    let mut lines = Vec::new();
    for n in 0..n_requests {
        let (id, line) = match n % 2 {
            0 => session.client.prepare("ping", json!({})),
            _ => {
                session.client.prepare("tools/call", json!({"name": tool, "arguments": arguments}))
            }
        };
        open.insert(id);
        lines.extend(line);
    }
    let mut input = session.client.take_input()?;
    let writer = std::thread::spawn(move || input.write_all(&lines).map(|()| input));
    std::thread::sleep(Duration::from_secs(1));
    let deadline = Instant::now() + Duration::from_secs(120);
    let (mut n_wrong, mut ended) = (0, None);
    while !open.is_empty() {
        let answer = match session.receive(deadline) {
            Ok(line) => serde_json::from_slice::<Value>(line)?,
            Err(error) => {
                ended = Some(error.to_string());
                break;
            }
        };
        let is_asked = answer["id"].as_u64().is_some_and(|id| open.remove(&id));
        n_wrong += usize::from(!is_asked || answer.get("result").is_none());
    }
    let peak = megabytes(session.client.process_id(), "VmHWM").unwrap_or(f64::NAN);
    if ended.is_some() {
        session.client.kill()?;
    }
    if let Ok(Ok(input)) = writer.join() {
        session.client.give_input(input);
    }
    let is_alive = ended.is_none() && session.client.is_alive(Duration::from_secs(5));
    let is_met = open.is_empty() && n_wrong == 0 && is_alive && peak <= 128.0;
    let n_answered = grouped(n_requests - open.len());
    let mut result = format!("{n_answered} of {} answered, {n_wrong} wrong", grouped(n_requests));
    match ended {
        Some(ended) => result += &format!(", {ended}"),
        None => result += &format!(", {peak:.0} MB"),
    }
    Ok(vec![Cell::new(is_met, result)])
}
