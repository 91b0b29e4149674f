//! A file of 600 MB that is one line.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use recto_dev::process::megabytes;
use recto_dev::servers::{Server, ServerKind};
use serde_json::json;

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "huge-line",
    rows: &[
        ("600 MB in one line is read, peak memory", "an answer, ≤ 128 MB"),
        ("600 MB in one line is edited, peak memory", "an answer, ≤ 128 MB"),
    ],
    run,
};

fn run(_: Effort, server: &Server) -> Result<Vec<Cell>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    let mut file = File::create(&path)?;
    let piece = vec![b'a'; 1 << 20];
    for _ in 0..600 {
        file.write_all(&piece)?;
    }
    drop(file);
    let mut session = Session::open(server, folder.path())?;
    session.set_patience(Duration::from_secs(60));
    let mut outcomes = vec![session.read(&path)];
    if server.kind == ServerKind::Recto {
        // All other tools that can read it.
        for (tool, arguments) in [
            ("read_text_file", json!({"path": path, "line": 1, "limit": 1})),
            ("text_read", json!({"path": path, "lines": [-1, 0]})),
            ("ReadLines", json!({"file_path": path, "lines": "1"})),
            ("ReadLines", json!({"file_path": path, "match": "b"})),
            ("ReadLines", json!({"file_path": "*.txt", "match": "aaa"})),
            ("ReadAsTable", json!({"file_path": path})),
        ] {
            outcomes.push(session.call(tool, arguments));
        }
    }
    let peak = megabytes(session.client.process_id(), "VmHWM").unwrap_or(f64::NAN);
    let is_alive = session.client.is_alive(Duration::from_secs(5));
    let n_answered = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let first = match &outcomes[0] {
        Ok(reply) if reply.is_done() => "answers".to_string(),
        Ok(_) => "rejects".to_string(),
        Err(error) => error.to_string(),
    };
    let is_met = n_answered == outcomes.len() && is_alive && peak <= 128.0;
    let result =
        format!("{first}, {n_answered} of {} calls answered{}", outcomes.len(), memory(peak));
    let read = Cell::new(is_met, result);
    if server.kind != ServerKind::Recto {
        return Ok(vec![read, Cell::none()]);
    }

    let mut session = Session::open(server, folder.path())?;
    session.set_patience(Duration::from_secs(60));
    let edited = session.edit(&path, "b", "c");
    let peak = megabytes(session.client.process_id(), "VmHWM").unwrap_or(f64::NAN);
    let said = match &edited {
        Ok(_) => "answers".to_string(),
        Err(error) => error.to_string(),
    };
    let is_met = edited.is_ok() && peak <= 128.0;
    Ok(vec![read, Cell::new(is_met, format!("{said}{}", memory(peak)))])
}

/// Formats a peak, which is known only while the server runs.
fn memory(peak: f64) -> String {
    if peak.is_nan() { String::new() } else { format!(", {peak:.0} MB") }
}
