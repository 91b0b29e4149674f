//! kill -9 at every system call of one write: a server is killed as it enters its N-th call that
//! changes something, N = 1, 2, … until the write succeeds.

use std::path::Path;

use recto_dev::servers::Server;

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::tracer::Tracer;
use crate::{Result, files};

pub const REPLACE: Trial = Trial {
    name: "crash-replace",
    rows: &[
        ("crash at every system call of replacing a 2 MB file: torn", "0"),
        ("– leftovers that the next change in the directory leaves there", "0"),
    ],
    run: |_, server| run(server, Some(files::version(1, N_BYTES))),
};

pub const CREATE: Trial = Trial {
    name: "crash-create",
    rows: &[
        ("crash at every system call of creating a 2 MB file: torn", "0"),
        ("– leftovers that the next change in the directory leaves there", "0"),
    ],
    run: |_, server| run(server, None),
};

const N_BYTES: usize = 2_000_000;

#[derive(Default)]
struct Tally {
    n_crashes: usize,
    n_torn: usize,
    n_leftovers: usize,
    n_uncleaned: usize,
    example: Option<String>,
}

fn run(server: &Server, before: Option<String>) -> Result<Vec<Cell>> {
    let mut tally = Tally::default();
    let mut n = 1;
    while crash(server, before.as_deref(), n, &mut tally)? {
        n += 1;
    }
    let example = tally.example.map_or(String::new(), |example| format!(" ({example})"));
    let torn = format!("{} of {}{example}", tally.n_torn, tally.n_crashes);
    let left = format!("{} of {}", tally.n_uncleaned, tally.n_leftovers);
    Ok(vec![
        // A write takes at least an open, a write and a sync; fewer crashes mean that nothing was
        // tried.
        Cell::new(tally.n_torn == 0 && tally.n_crashes > 3, torn),
        Cell::new(tally.n_uncleaned == 0, left),
    ])
}

/// Kills one write as it enters its N-th call, and checks the file. Returns whether it got that
/// far.
fn crash(server: &Server, before: Option<&str>, n: usize, tally: &mut Tally) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    if let Some(before) = before {
        std::fs::write(&path, before)?;
    }
    let after = files::version(2, N_BYTES);
    let mut session = Session::open(server, folder.path())?;
    let tracer = Tracer::attach(session.client.process_id(), n)?;
    let outcome = session.write(&path, &after);
    session.client.kill()?;
    let Some(call) = tracer.wait()? else {
        let reply = outcome?;
        return match reply.is_done() && std::fs::read_to_string(&path)? == after {
            true => Ok(false),
            false => Err(format!("not written: {:.80}", reply.text()).into()),
        };
    };
    tally.n_crashes += 1;
    let found = std::fs::read(&path).ok();
    let is_whole =
        found.as_deref() == before.map(str::as_bytes) || found.as_deref() == Some(after.as_bytes());
    if !is_whole {
        tally.n_torn += 1;
        let n_bytes = found.map_or(0, |bytes| bytes.len());
        tally.example.get_or_insert(format!("{n_bytes} bytes before {call}"));
    }
    if has_leftovers(folder.path())? {
        tally.n_leftovers += 1;
        let mut session = Session::open(server, folder.path())?;
        session.write(&folder.path().join("other.txt"), "a change\n")?;
        tally.n_uncleaned += usize::from(has_leftovers(folder.path())?);
    }
    Ok(true)
}

fn has_leftovers(folder: &Path) -> Result<bool> {
    Ok(files::names(folder)?.iter().any(|name| name != "f.txt" && name != "other.txt"))
}
