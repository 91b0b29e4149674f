//! Several servers edit one file. recto's clients pass the hash that they read and retry if it is
//! stale; other servers have no hash to pass.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use recto_dev::client::Reply;
use recto_dev::servers::{Server, ServerKind};
use recto_dev::table::{grouped, milliseconds, percentile};
use serde_json::{Value, json};

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "lost-updates",
    rows: &[
        ("several processes edit one file: acknowledged but lost", "0 of 8 × 1,000"),
        ("– one edit among them, p99", "< 50 ms"),
    ],
    run,
};

/// The counts of one client.
#[derive(Default)]
struct Work {
    acknowledged: Vec<String>,
    times: Vec<Duration>,
    n_stale: usize,
    ended: Option<String>,
}

fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    let (n_processes, n_edits) = (effort.rounds(4, 8), effort.rounds(50, 1000));
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "start\nend\n")?;
    let sessions: Result<Vec<_>> =
        (0..n_processes).map(|_| Session::open(server, folder.path())).collect();
    let sessions = sessions?;
    let works: Vec<Work> = std::thread::scope(|scope| {
        let start = |(process, session)| {
            let path = &path;
            scope.spawn(move || work(session, path, process, n_edits))
        };
        let threads: Vec<_> = sessions.into_iter().enumerate().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let text = std::fs::read_to_string(&path)?;
    let lines: HashSet<&str> = text.lines().collect();
    let is_framed = text.starts_with("start\n") && text.ends_with("end\n");
    let acknowledged: Vec<&String> = works.iter().flat_map(|work| &work.acknowledged).collect();
    let n_lost = acknowledged.iter().filter(|line| !lines.contains(line.as_str())).count();
    // A duplicate line means that a write was applied twice.
    let n_extra = text.lines().count().saturating_sub(2 + acknowledged.len() - n_lost);
    let ended = works.iter().find_map(|work| work.ended.as_deref());
    let n_stale: usize = works.iter().map(|work| work.n_stale).sum();
    let mut result = format!(
        "{} of {} ({n_processes} × {}), {} tried again",
        grouped(n_lost),
        grouped(acknowledged.len()),
        grouped(n_edits),
        grouped(n_stale)
    );
    if !is_framed {
        result += ", file destroyed";
    }
    if let Some(ended) = ended {
        result += &format!(", ended: {ended:.60}");
    }
    let is_met = n_lost == 0
        && n_extra == 0
        && is_framed
        && ended.is_none()
        && acknowledged.len() == n_processes * n_edits;
    let times: Vec<_> = works.iter().flat_map(|work| work.times.iter().copied()).collect();
    let p99 = percentile(&times, 99);
    let time = match effort.is_long() {
        true => Cell::new(p99 < Duration::from_millis(50), milliseconds(p99)),
        false => Cell::unjudged(milliseconds(p99)),
    };
    Ok(vec![Cell::new(is_met, result), time])
}

fn work(mut session: Session, path: &Path, process: usize, n_edits: usize) -> Work {
    let mut work = Work::default();
    let deadline = Instant::now() + Duration::from_secs(600);
    let mut n_misses = 0;
    while work.acknowledged.len() < n_edits {
        let line = format!("{process}-{}", work.acknowledged.len());
        let done = match session.kind {
            ServerKind::Recto => chained(&mut session, path, &line, &mut work.times),
            _ => plain(&mut session, path, &line, &mut work.times),
        };
        match done {
            Ok(Reply::Done(..)) => {
                work.acknowledged.push(line);
                n_misses = 0;
            }
            // Stale, or a peer that did not find the text to edit.
            Ok(Reply::Refused(text) | Reply::Failed(text)) => {
                work.n_stale += 1;
                n_misses += 1;
                let is_stale = text.starts_with("File changed since it was read");
                if session.kind == ServerKind::Recto && !is_stale
                    || session.kind != ServerKind::Recto && n_misses > 50
                    || Instant::now() > deadline
                {
                    work.ended = Some(text);
                    return work;
                }
            }
            Err(error) => {
                work.ended = Some(error.to_string());
                return work;
            }
        }
    }
    work
}

/// Reads the last line and its hash, and inserts a line before it.
fn chained(
    session: &mut Session,
    path: &Path,
    line: &str,
    times: &mut Vec<Duration>,
) -> Result<Reply> {
    let read = session.call("text_read", json!({"path": path, "lines": [-1, 0]}))?;
    let Reply::Done(_, result) = read else { return Ok(read) };
    let read: &Value = &result["structuredContent"];
    let started = Instant::now();
    let reply = session.call(
        "text_replace",
        json!({
            "path": path,
            "hash": read["hash"],
            "lines": [-1, 0],
            "old": read["content"],
            "new": format!("{line}\nend\n"),
        }),
    )?;
    times.push(started.elapsed());
    Ok(reply)
}

fn plain(
    session: &mut Session,
    path: &Path,
    line: &str,
    times: &mut Vec<Duration>,
) -> Result<Reply> {
    let started = Instant::now();
    let reply = session.edit(path, "\nend\n", &format!("\n{line}\nend\n"))?;
    times.push(started.elapsed());
    Ok(reply)
}
