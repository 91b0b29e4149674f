//! Power cuts at random moments of a stream of edits: the file system is shut down without flushing
//! its journal, mounted again, and checked. The disk's own cache is not tested.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use recto_dev::random::Random;
use recto_dev::servers::{Server, ServerKind};

use super::Trial;
use crate::cell::Cell;
use crate::mounts::{self, Mount};
use crate::session::Session;
use crate::{Effort, Result, files, process};

pub const EXT4: Trial = Trial {
    name: "power-ext4",
    rows: &[("power cuts, ext4: destroyed / acknowledged but lost", "0 / 0 of 200")],
    run: |effort, server| run(effort, server, "ext4"),
};

pub const XFS: Trial = Trial {
    name: "power-xfs",
    rows: &[("power cuts, XFS: destroyed / acknowledged but lost", "0 / 0 of 200")],
    run: |effort, server| run(effort, server, "xfs"),
};

const N_BYTES: usize = 100_000;

fn run(effort: Effort, server: &Server, filesystem: &str) -> Result<Vec<Cell>> {
    if !process::is_root() {
        return Ok(vec![Cell::skipped("mounting a disk needs root")]);
    }
    let n_cuts = match server.kind {
        ServerKind::Recto => effort.rounds(20, 200),
        _ => 20,
    };
    let folder = tempfile::tempdir()?;
    let (image, place) = (folder.path().join("image"), folder.path().join("disk"));
    std::fs::create_dir(&place)?;
    if let Err(error) = mounts::make_image(&image, filesystem) {
        return Ok(vec![Cell::skipped(error)]);
    }
    let mut mount = match Mount::image(&image, &place) {
        Ok(mount) => mount,
        Err(error) => return Ok(vec![Cell::skipped(error)]),
    };
    let path = place.join("f.txt");
    let mut random = Random::new(0xf00d);
    let (mut n_destroyed, mut n_lost_cuts, mut n_edits) = (0, 0, 0);
    for _ in 0..n_cuts {
        std::fs::write(&path, files::counted(0, N_BYTES))?;
        rustix::fs::syncfs(File::open(&place)?)?;
        let session = Session::open(server, &place)?;
        let moment = Duration::from_micros(random.below(150_000) as u64);
        let acknowledged = edit_until_cut(session, &path, &place, moment)?;
        mount.unmount()?;
        mount = Mount::image(&image, &place)?;
        n_edits += acknowledged;
        match std::fs::read_to_string(&path).ok().and_then(|text| files::count_of(&text, N_BYTES)) {
            None => n_destroyed += 1,
            Some(found) if found < acknowledged => n_lost_cuts += 1,
            Some(_) => {}
        }
    }
    mount.unmount()?;
    let text = format!("{n_destroyed} / {n_lost_cuts} in {n_cuts} cuts, {n_edits} edits");
    Ok(vec![Cell::new(n_destroyed == 0 && n_lost_cuts == 0 && n_edits > 0, text)])
}

/// Counts up the number in a file until the power of its disk is cut. Returns the number of
/// acknowledged edits.
pub fn edit_until_cut(
    mut session: Session,
    path: &Path,
    disk: &Path,
    moment: Duration,
) -> Result<usize> {
    let disk = File::open(disk)?;
    let is_cut = Arc::new(AtomicBool::new(false));
    let cutting = is_cut.clone();
    let cutter = std::thread::spawn(move || {
        std::thread::sleep(moment);
        cutting.store(true, Ordering::SeqCst);
        mounts::cut_power_of(&disk).map_err(|error| error.to_string())
    });
    let mut acknowledged = 0;
    loop {
        let (old, new) = (format!("n = {acknowledged}\n"), format!("n = {}\n", acknowledged + 1));
        let outcome = session.edit(path, &old, &new);
        // After a real power cut there are no answers. Here the server keeps running, and XFS lets an
        // fsync of a directory succeed after the shutdown has discarded its changes.
        if is_cut.load(Ordering::SeqCst) || !outcome.is_ok_and(|reply| reply.is_done()) {
            break;
        }
        acknowledged += 1;
    }
    let cut = cutter.join().map_err(|_| "the cutter panicked")?;
    session.client.kill()?;
    cut?;
    Ok(acknowledged)
}
