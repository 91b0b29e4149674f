//! A disk that runs full while a file is written.

use recto_dev::servers::Server;

use super::Trial;
use crate::cell::Cell;
use crate::mounts::Mount;
use crate::session::Session;
use crate::{Effort, Result, files, process};

pub const TRIAL: Trial = Trial {
    name: "full-disk",
    rows: &[("disk full while a file is replaced", "keeps the old one, says so, leaves nothing")],
    run,
};

fn run(_: Effort, server: &Server) -> Result<Vec<Cell>> {
    if !process::is_root() {
        return Ok(vec![Cell::skipped("mounting a small disk needs root")]);
    }
    let place = tempfile::tempdir()?;
    let mount = match Mount::in_memory(place.path(), 4) {
        Ok(mount) => mount,
        Err(error) => return Ok(vec![Cell::skipped(error)]),
    };
    let path = place.path().join("f.txt");
    let before = files::version(1, 1_500_000);
    std::fs::write(&path, &before)?;
    let mut session = Session::open(server, place.path())?;
    // More than the disk can store, even for servers that truncate the file first.
    let reply = session.write(&path, &files::version(2, 5_000_000))?;
    let found = std::fs::read_to_string(&path)?;
    let n_left = files::names(place.path())?.len() - 1;
    // It must work again once there is space.
    let later = session.write(&path, &files::version(3, 1_000_000))?;
    session.client.kill()?;
    mount.unmount()?;
    let kept = match found {
        found if found == before => "keeps the old one",
        found if found.is_empty() => "the old one is emptied",
        _ => "the old one is destroyed",
    };
    let text = reply.text().to_lowercase();
    let said = match reply.is_done() {
        true => "claims success",
        false if text.contains("full") || text.contains("space") => "says so",
        false => "says something else",
    };
    let is_met = (kept, said) == ("keeps the old one", "says so") && n_left == 0 && later.is_done();
    Ok(vec![Cell::new(is_met, format!("{kept}, {said}, {n_left} leftovers"))])
}
