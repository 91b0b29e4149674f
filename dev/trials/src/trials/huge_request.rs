//! One request of 200 MB.

use std::time::{Duration, Instant};

use recto_dev::process::megabytes;
use recto_dev::servers::{Server, ServerKind};
use serde_json::Value;

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "huge-request",
    rows: &[("one request of 200 MB on stdin", "error answer, keeps serving, ≤ 128 MB")],
    run,
};

fn run(_: Effort, server: &Server) -> Result<Vec<Cell>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "plain text\n")?;
    let mut session = Session::open(server, folder.path())?;
    let patience = Duration::from_secs(60);
    session.set_patience(patience);
    let (tool, name, content) = match server.kind {
        ServerKind::Recto => ("write_text_file", "path", "content"),
        ServerKind::TextEditor => ("create_text_file", "file_path", "contents"),
        _ => ("write_file", "path", "content"),
    };
    let target = folder.path().join("g.txt");
    let head = format!(
        r#"{{"jsonrpc":"2.0","id":"huge","method":"tools/call","params":{{"name":"{tool}","arguments":{{"{name}":"{}","{content}":""#,
        target.display()
    );
    let piece = vec![b'a'; 1 << 20];
    let sent = (|| {
        session.client.send(head.as_bytes())?;
        for _ in 0..200 {
            session.client.send(&piece)?;
        }
        session.client.send(b"\"}}}\n")
    })();
    let deadline = Instant::now() + patience;
    let answer = sent.and_then(|()| session.receive(deadline).map(<[u8]>::to_vec));
    let peak = megabytes(session.client.process_id(), "VmHWM").unwrap_or(f64::NAN);
    let said = match &answer {
        Err(error) => error.to_string(),
        Ok(line) => match serde_json::from_slice::<Value>(line)? {
            answer if answer["error"].is_object() || answer["result"]["isError"] == true => {
                "error answer".into()
            }
            _ => "carries it out".to_string(),
        },
    };
    let is_serving = answer.is_ok() && session.read(&path).is_ok_and(|reply| reply.is_done());
    let is_met = said == "error answer" && is_serving && peak <= 128.0 && !target.exists();
    let serving = if is_serving { ", keeps serving" } else { "" };
    let peak = if peak.is_nan() { String::new() } else { format!(", {peak:.0} MB") };
    Ok(vec![Cell::new(is_met, format!("{said}{serving}{peak}"))])
}
