//! Mixed calls for a long time: memory and file handles stay constant, and no files are left
//! behind.

use std::path::Path;
use std::time::Instant;

use recto_dev::client::Reply;
use recto_dev::process::megabytes;
use recto_dev::random::Random;
use recto_dev::servers::{Server, ServerKind};
use recto_dev::table::grouped;
use serde_json::json;

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result, files, process};

pub const TRIAL: Trial = Trial {
    name: "load",
    rows: &[
        ("mixed calls: growth of memory after the warm-up", "< 5 MB in 1,000,000"),
        ("– file handles", "as before"),
        ("– temporary files left in the directory", "0"),
    ],
    run,
};

const N_FILES: usize = 50;

fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    let n_calls = match server.kind {
        ServerKind::Recto => effort.rounds(20_000, 1_000_000),
        _ => 2_000,
    };
    // Caches fill during the first ten thousand calls or so.
    let warm_up = (n_calls / 10).max(n_calls.min(20_000) / 2);
    let folder = tempfile::tempdir()?;
    let mut random = Random::new(0x10ad);
    let mut session = Session::open_with(server, folder.path(), &["--durability", "rename"])?;
    let mut before = None;
    let (mut n_done, mut n_refused) = (0, 0);
    let started = Instant::now();
    for round in 0..n_calls {
        if round == warm_up {
            let id = session.client.process_id();
            before = Some((megabytes(id, "VmRSS")?, process::n_handles(id)?));
        }
        match call(&mut session, folder.path(), &mut random, round)?.is_done() {
            true => n_done += 1,
            false => n_refused += 1,
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let id = session.client.process_id();
    let (memory, handles) = before.ok_or("no warm-up")?;
    let growth = megabytes(id, "VmRSS")? - memory;
    let n_handles = process::n_handles(id)?;
    let is_ours = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".txt");
    let n_left = files::names(folder.path())?.iter().filter(|name| !is_ours(name)).count();
    let result = format!(
        "{growth:+.1} MB to {:.1} MB in {} calls ({n_refused} rejections), {:.0} calls/s",
        memory + growth,
        grouped(n_calls),
        n_calls as f64 / seconds
    );
    // Both outcomes must occur.
    let is_mixed = n_done > 0 && n_refused > 0;
    let memory = match effort.is_long() || !is_mixed {
        true => Cell::new(is_mixed && growth < 5.0, result),
        // Caches of recent texts and the allocator's pools of sixteen threads still grow then.
        false => Cell::unjudged(result),
    };
    Ok(vec![
        memory,
        Cell::new(n_handles == handles, format!("{handles}, then {n_handles}")),
        Cell::new(n_left == 0, n_left.to_string()),
    ])
}

fn call(session: &mut Session, folder: &Path, random: &mut Random, round: usize) -> Result<Reply> {
    let path = folder.join(format!("{}.txt", random.below(N_FILES)));
    if session.kind != ServerKind::Recto {
        return match random.below(4) {
            0 => session.write(&path, &files::counted(round, 4000)),
            1 => session.edit(&path, "n = ", "n = 1"),
            _ => session.read(&path),
        };
    }
    match random.below(12) {
        0 => session.write(&path, &files::counted(round, 4000)),
        1 => session.write(&path, &files::version(round, random.below(100_000) + 100)),
        2 => session.edit(&path, "n = ", "n = 1"),
        3 => session.edit(&path, "not there", "at all"),
        4 => session.call("text_read", json!({"path": path, "lines": [-5, 0]})),
        5 => session.call("ReadLines", json!({"file_path": path, "lines": "3-9"})),
        6 => session.call("ReadLines", json!({"file_path": "*.txt", "match": "n = 1"})),
        7 => session.call("ListFiles", json!({"pattern": "**/*.txt"})),
        8 => session.call("ReadAsTable", json!({"file_path": path})),
        9 => {
            let read = session.call("text_read", json!({"path": path, "lines": [1, 2]}))?;
            let Reply::Done(_, result) = &read else { return Ok(read) };
            let hash = &result["structuredContent"]["hash"];
            let tool = if random.below(8) == 0 { "file_remove" } else { "text_append" };
            let mut arguments = json!({"path": path, "hash": hash});
            if tool == "text_append" {
                arguments["content"] = "one more line\n".into();
            }
            session.call(tool, arguments)
        }
        10 => session.read(Path::new("/etc/passwd")),
        _ => session.read(&path),
    }
}
