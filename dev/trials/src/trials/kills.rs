//! kill -9 at random moments of a stream of edits.

use std::time::Duration;

use recto_dev::random::Random;
use recto_dev::servers::{Server, ServerKind};
use recto_dev::table::grouped;
use rustix::process::{Pid, Signal, kill_process};

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result, files};

pub const TRIAL: Trial = Trial {
    name: "kills",
    rows: &[
        (
            "kill -9 at a random moment of a stream of edits: torn / acknowledged but lost",
            "0 / 0 of 10,000",
        ),
        ("– leftovers after the next change in the directory", "0"),
    ],
    run,
};

const N_BYTES: usize = 200_000;

fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    let n_kills = match server.kind {
        ServerKind::Recto => effort.rounds(200, 10_000),
        _ => 50,
    };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    let mut random = Random::new(0x5eed);
    let (mut n_torn, mut n_lost, mut n_edits) = (0, 0, 0);
    let mut version = 0;
    std::fs::write(&path, files::counted(version, N_BYTES))?;
    for _ in 0..n_kills {
        let mut session = Session::open(server, folder.path())?;
        let process = Pid::from_raw(session.client.process_id() as i32).ok_or("no process")?;
        let moment = Duration::from_micros(random.below(20_000) as u64);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(moment);
            kill_process(process, Signal::KILL)
        });
        // The child is reaped only after the killer is done, so that its process id is not reused.
        let stopped = loop {
            let (old, new) = (format!("n = {version}\n"), format!("n = {}\n", version + 1));
            match session.edit(&path, &old, &new) {
                Ok(reply) if reply.is_done() => (version, n_edits) = (version + 1, n_edits + 1),
                Ok(reply) => break Some(reply.text().to_string()),
                Err(_) => break None,
            }
        };
        killer.join().map_err(|_| "the killer panicked")??;
        session.client.kill()?;
        if let Some(text) = stopped {
            return Err(format!("an edit was rejected: {text}").into());
        }
        match files::count_of(&std::fs::read_to_string(&path)?, N_BYTES) {
            Some(found) => {
                n_lost += version.saturating_sub(found);
                version = found;
            }
            None => {
                n_torn += 1;
                std::fs::write(&path, files::counted(version, N_BYTES))?;
            }
        }
    }
    let mut session = Session::open(server, folder.path())?;
    session.write(&folder.path().join("other.txt"), "a change\n")?;
    let n_left = files::names(folder.path())?.len() - 2;
    let text =
        format!("{n_torn} / {n_lost} in {} kills, {} edits", grouped(n_kills), grouped(n_edits));
    Ok(vec![
        Cell::new(n_torn == 0 && n_lost == 0 && n_edits > 0, text),
        Cell::new(n_left == 0, n_left.to_string()),
    ])
}
