//! A race: while a client reads and writes, another thread swaps the directory that it names for a
//! link to the outside, as fast as possible.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use recto_dev::client::Reply;
use recto_dev::servers::{Server, ServerKind};
use recto_dev::table::grouped;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "swap",
    rows: &[
        ("directory swapped for a link: reads outside", "0 of 100,000 for each kind of call"),
        (
            "directory swapped for a link: files created or changed outside",
            "0 of 100,000 for each kind of call",
        ),
    ],
    run,
};

const SECRET: &str = "a-secret-outside";
const INSIDE: &str = "inside,text\n1,2\n";

/// A kind of call on a file in the swapped directory; read-only calls come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Read,
    Lines,
    Search,
    Table,
    List,
    Replace,
    Edit,
    Create,
    Remove,
}

const RECTOS: [Family; 9] = [
    Family::Read,
    Family::Lines,
    Family::Search,
    Family::Table,
    Family::List,
    Family::Replace,
    Family::Edit,
    Family::Create,
    Family::Remove,
];

const OTHERS: [Family; 4] = [Family::Read, Family::Replace, Family::Edit, Family::Create];

fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    if server.kind == ServerKind::TextEditor {
        return Ok(vec![Cell::unjudged("no sandbox")]);
    }
    let families = if server.kind == ServerKind::Recto { &RECTOS[..] } else { &OTHERS };
    let n_calls = effort.rounds(2_000, 100_000);
    let base = tempfile::tempdir()?;
    let base = base.path().canonicalize()?;
    let (root, outside) = (base.join("root"), base.join("outside"));
    std::fs::create_dir_all(root.join("d"))?;
    std::fs::create_dir(&outside)?;
    std::os::unix::fs::symlink("../outside", root.join("e"))?;
    let mut tally = Tally::default();
    for family in families {
        let is_over = AtomicBool::new(false);
        let raced = std::thread::scope(|scope| {
            let swapper = scope.spawn(|| swap(&root.join("d"), &root.join("e"), &is_over));
            let raced = race(server, *family, &root, &outside, n_calls, &mut tally);
            is_over.store(true, Ordering::Relaxed);
            swapper.join().map_err(|_| "the swapper panicked").map(|_| raced)
        });
        raced??;
    }
    let n_reads = families.iter().filter(|family| **family < Family::Replace).count() * n_calls;
    let n_writes = families.len() * n_calls - n_reads;
    let result = |n: usize, of: usize| format!("{} of {} calls", grouped(n), grouped(of));
    // Without both outcomes there was no race.
    let is_race = tally.n_done > 0 && tally.n_refused > 0;
    Ok(vec![
        Cell::new(is_race && tally.n_reads == 0, result(tally.n_reads, n_reads)),
        Cell::new(is_race && tally.n_writes == 0, result(tally.n_writes, n_writes)),
    ])
}

#[derive(Default)]
struct Tally {
    n_done: usize,
    n_refused: usize,
    n_reads: usize,
    n_writes: usize,
}

fn race(
    server: &Server,
    family: Family,
    root: &Path,
    outside: &Path,
    n_calls: usize,
    tally: &mut Tally,
) -> Result<()> {
    let secret = format!("{SECRET},text\n1,2\n");
    let mut session = Session::open_with(server, root, &["--durability", "rename"])?;
    for round in 0..n_calls {
        // The file outside must not be read or changed.
        let target = outside.join("f");
        if std::fs::read_to_string(&target).ok().as_deref() != Some(&secret) {
            std::fs::write(&target, &secret)?;
            std::fs::write(outside.join(SECRET), &secret)?;
        }
        if family == Family::Remove || round == 0 {
            // The directory may have either name at the moment; a link is not written through.
            for name in ["d", "e"] {
                let folder = root.join(name);
                if folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                    write_inside(&folder)?;
                }
            }
        }
        let reply = call(&mut session, family, root, round)?;
        match reply.is_done() {
            true => tally.n_done += 1,
            false => tally.n_refused += 1,
        }
        tally.n_reads += usize::from(reply.text().contains(SECRET));
        let is_changed = std::fs::read_to_string(&target).ok().as_deref() != Some(&secret);
        let created = outside.join(format!("new-{round}"));
        let is_created = created.exists();
        if is_created {
            std::fs::remove_file(created)?;
        }
        tally.n_writes += usize::from(is_changed || is_created);
    }
    Ok(())
}

/// Writes through a handle of the directory that is not a link.
fn write_inside(folder: &Path) -> Result<()> {
    use rustix::fs::{Mode, OFlags, open, openat};
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Swapped meanwhile: the next round will do.
    let Ok(folder) = open(folder, flags, Mode::empty()) else { return Ok(()) };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = openat(folder, "f", flags, Mode::from_raw_mode(0o644))?;
    rustix::io::write(file, INSIDE.as_bytes())?;
    Ok(())
}

fn call(session: &mut Session, family: Family, root: &Path, round: usize) -> Result<Reply> {
    let path = root.join("d/f");
    match family {
        Family::Read => session.read(&path),
        Family::Lines => session.call("ReadLines", json!({"file_path": path})),
        Family::Search => session.call("ReadLines", json!({"file_path": "d/*", "match": "text"})),
        Family::Table => session.call("ReadAsTable", json!({"file_path": path})),
        Family::List => session.call("ListFiles", json!({"pattern": "d/**"})),
        Family::Replace => session.write(&path, INSIDE),
        Family::Edit => match round % 2 {
            0 => session.edit(&path, "1,2", "3,4"),
            _ => session.edit(&path, "3,4", "1,2"),
        },
        Family::Create => session.write(&root.join(format!("d/new-{round}")), INSIDE),
        Family::Remove => {
            let read = session.call("text_read", json!({"path": path}))?;
            let Reply::Done(_, result) = &read else { return Ok(read) };
            let hash = &result["structuredContent"]["hash"];
            session.call("file_remove", json!({"path": path, "hash": hash}))
        }
    }
}

/// Exchanges two names until it is stopped, always an even number of times.
fn swap(one: &Path, other: &Path, is_over: &AtomicBool) -> rustix::io::Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?;
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?;
    }
    Ok(())
}
