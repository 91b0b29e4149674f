//! Power cuts of a disk with the files and the journal, see [`crate::trials::power`].

use std::fs::File;
use std::time::Duration;

use recto_dev::random::Random;
use recto_dev::servers::Server;

use super::Place;
use crate::cell::Cell;
use crate::mounts::{self, Mount};
use crate::trials::power::edit_until_cut;
use crate::{Effort, Result, files, process};

const N_BYTES: usize = 20_000;

pub fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    if !process::is_root() {
        return Ok(vec![Cell::skipped("mounting a disk needs root")]);
    }
    ["ext4", "xfs"].map(|filesystem| cuts(effort, server, filesystem)).into_iter().collect()
}

fn cuts(effort: Effort, server: &Server, filesystem: &str) -> Result<Cell> {
    let folder = tempfile::tempdir()?;
    let (image, disk) = (folder.path().join("image"), folder.path().join("disk"));
    std::fs::create_dir(&disk)?;
    if let Err(error) = mounts::make_image(&image, filesystem) {
        return Ok(Cell::skipped(error));
    }
    let mut mount = match Mount::image(&image, &disk) {
        Ok(mount) => mount,
        Err(error) => return Ok(Cell::skipped(error)),
    };
    let mut random = Random::new(0xbeef);
    let n_cuts = effort.rounds(10, 200);
    let (mut n_unrecorded, mut n_invented, mut n_edits, mut example) = (0, 0, 0, None);
    for cut in 0..n_cuts {
        let place = Place::new(server, &disk)?;
        let path = place.root.join(format!("f{cut}.txt"));
        std::fs::write(&path, files::counted(0, N_BYTES))?;
        rustix::fs::syncfs(File::open(&disk)?)?;
        let session = place.serve()?;
        let moment = Duration::from_micros(random.below(150_000) as u64);
        let acknowledged = edit_until_cut(session, &path, &disk, moment)?;
        drop(place);
        mount.unmount()?;
        mount = Mount::image(&image, &disk)?;
        let place = Place::new(server, &disk)?;
        n_edits += acknowledged;
        let found = files::count_of(&std::fs::read_to_string(&path)?, N_BYTES);
        let found = found.filter(|found| *found >= acknowledged).ok_or("the file lost edits")?;
        let listed = place.listed(&path)?;
        n_unrecorded += found.saturating_sub(listed.n_done);
        n_invented +=
            listed.n_done.saturating_sub(found) + listed.n_uncertain + listed.n_unfinished;
        if listed.n_done != found || listed.n_uncertain + listed.n_unfinished > 0 {
            example.get_or_insert(format!("{listed:?} of {found} changes"));
        }
    }
    mount.unmount()?;
    let example = example.map(|example| format!(" ({example})")).unwrap_or_default();
    let text = format!("{n_unrecorded} / {n_invented} in {n_cuts} cuts, {n_edits} edits{example}");
    Ok(Cell::new(n_unrecorded + n_invented == 0 && n_edits > 0, text))
}
