//! A disk that is full when the journal is written, and a database that is damaged while it is open.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use recto_dev::random::Random;
use recto_dev::servers::Server;

use super::Place;
use crate::cell::Cell;
use crate::mounts::Mount;
use crate::{Effort, Result, files, process};

const N_BYTES: usize = 8_000;

pub fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    Ok(vec![full(effort, server)?, damaged(effort, server)?])
}

/// Fills the disk of the journal up to a random size, edits, and makes space again.
fn full(effort: Effort, server: &Server) -> Result<Cell> {
    if !process::is_root() {
        return Ok(Cell::skipped("mounting a small disk needs root"));
    }
    let folder = tempfile::tempdir()?;
    let mut place = Place::new(server, folder.path())?;
    let disk = folder.path().canonicalize()?.join("disk");
    std::fs::create_dir(&disk)?;
    let mut random = Random::new(0xf111);
    let (mut n_wrong, mut n_wrong_records, mut n_edits, mut n_noted) = (0, 0, 0, 0);
    for round in 0..effort.rounds(5, 60) {
        let mount = match Mount::in_memory(&disk, 3) {
            Ok(mount) => mount,
            Err(error) => return Ok(Cell::skipped(error)),
        };
        place.state = disk.join("state");
        let path = place.root.join(format!("f{round}.txt"));
        std::fs::write(&path, files::counted(0, N_BYTES))?;
        let mut session = place.serve()?;
        let filler = disk.join("filler");
        let (mut version, mut n_recorded) = (0, 0);
        for n in 0..40 {
            // More than the disk can store, or a part of it. Writing it may fail.
            let _ = match (n, random.below(10)) {
                (0, 0..5) | (_, 0) => std::fs::write(&filler, vec![1; 3_200_000]),
                (_, 1) => std::fs::write(&filler, vec![1; random.below(3_000_000)]),
                (_, 2) => std::fs::remove_file(&filler),
                _ => Ok(()),
            };
            let (old, new) = (format!("n = {version}\n"), format!("n = {}\n", version + 1));
            let reply = session.edit(&path, &old, &new)?;
            version += usize::from(reply.is_done());
            let is_noted = reply.text().contains("not recorded");
            n_recorded += usize::from(reply.is_done() && !is_noted);
            n_noted += usize::from(is_noted);
            let found = files::count_of(&std::fs::read_to_string(&path)?, N_BYTES);
            n_wrong += usize::from(!reply.is_done() || found != Some(version));
        }
        n_edits += version;
        // Removed now, so that outcomes can be recorded.
        let _ = std::fs::remove_file(&filler);
        session.client.stop()?;
        let listed = place.listed(&path)?;
        // A change whose record could not be synced may be listed although its answer has the note.
        let is_right = listed.n_done >= n_recorded && listed.n_done <= version;
        n_wrong_records += usize::from(!is_right || listed.n_unfinished > 0);
        mount.unmount()?;
    }
    let text = format!(
        "{n_wrong} / {n_wrong_records} in {n_edits} edits, {n_noted} noted as not recorded"
    );
    Ok(Cell::new(n_wrong + n_wrong_records == 0 && n_noted > 0, text))
}

/// Overwrites or truncates the database or its log between the edits of a server.
fn damaged(effort: Effort, server: &Server) -> Result<Cell> {
    let mut random = Random::new(0xdada);
    let (mut n_wrong, mut n_ended, mut n_edits, mut n_noted, mut n_reported) = (0, 0, 0, 0, 0);
    for _ in 0..effort.rounds(10, 200) {
        let folder = tempfile::tempdir()?;
        let place = Place::new(server, folder.path())?;
        let path = place.root.join("f.txt");
        std::fs::write(&path, files::counted(0, N_BYTES))?;
        let mut version = 0;
        // The second server opens what the first one left.
        for _ in 0..2 {
            let mut session = place.serve()?;
            for n in 0..12 {
                if n == 3 + random.below(6) {
                    damage(&place, &mut random)?;
                }
                let (old, new) = (format!("n = {version}\n"), format!("n = {}\n", version + 1));
                match session.edit(&path, &old, &new) {
                    Ok(reply) => {
                        version += usize::from(reply.is_done());
                        n_noted += usize::from(reply.text().contains("not recorded"));
                        let found = files::count_of(&std::fs::read_to_string(&path)?, N_BYTES);
                        n_wrong += usize::from(!reply.is_done() || found != Some(version));
                    }
                    Err(_) => n_ended += 1,
                }
            }
            n_ended += usize::from(session.client.stop().is_err());
        }
        n_edits += version;
        // They may fail, but must not crash, nor list more than happened.
        let listed = place.listed(&path);
        n_wrong += usize::from(listed.as_ref().is_ok_and(|listed| listed.n_done > version));
        let verified = place.run(&["journal", "verify"], None)?;
        n_reported += usize::from(listed.is_err() || verified.is_err());
    }
    let text = format!(
        "{n_wrong} / {n_ended} in {n_edits} edits, {n_noted} noted as not recorded; {n_reported} \
         journals reported as damaged"
    );
    Ok(Cell::new(n_wrong + n_ended == 0 && n_noted + n_reported > 0, text))
}

fn damage(place: &Place<'_>, random: &mut Random) -> Result<()> {
    let name = ["journal.db", "journal.db-wal"][random.below(2)];
    let file = match OpenOptions::new().write(true).open(place.state.join(name)) {
        // There is no log while no process has the database open.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let n_bytes = file.metadata()?.len() as usize;
    if random.below(3) == 0 {
        return Ok(file.set_len(random.below(n_bytes + 1) as u64)?);
    }
    for _ in 0..1 + random.below(20) {
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.below(256) as u8).collect();
        file.write_all_at(&bytes, random.below(n_bytes + 1) as u64)?;
    }
    Ok(())
}
