//! kill -9 at random moments of streams of edits of four servers that share a journal and a directory.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use recto_dev::random::Random;
use recto_dev::servers::Server;
use recto_dev::table::grouped;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::Place;
use crate::cell::Cell;
use crate::{Effort, Result, files};

const N_PROCESSES: usize = 4;

const N_BYTES: usize = 8_000;

/// How many kills one file gets. After the last, everything is undone.
const N_PER_FILE: usize = 25;

#[derive(Default)]
struct Tally {
    n_kills: usize,
    n_edits: usize,
    n_foreign: usize,
    n_unrecorded: usize,
    n_invented: usize,
    n_uncertain: usize,
    n_uncertain_foreign: usize,
    n_undone: usize,
    n_not_undone: usize,
    example: Option<String>,
}

pub fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    let n_kills = effort.rounds(200, 10_000);
    let folder = tempfile::tempdir()?;
    let place = &Place::new(server, folder.path())?;
    let tallies = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..N_PROCESSES)
            .map(|index| {
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    let mut random = Random::new(0x10a1 + index as u64);
                    while tally.n_kills < n_kills / N_PROCESSES {
                        let name = format!("f{index}-{}.txt", tally.n_kills);
                        one_file(place, &place.root.join(name), &mut random, &mut tally)
                            .map_err(|error| error.to_string())?;
                    }
                    Ok(tally)
                })
            })
            .collect();
        let tallies = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".to_string())));
        tallies.collect::<std::result::Result<Vec<Tally>, String>>()
    })?;
    let sum = |count: fn(&Tally) -> usize| tallies.iter().map(count).sum::<usize>();
    let (unrecorded, invented) = (sum(|tally| tally.n_unrecorded), sum(|tally| tally.n_invented));
    let (uncertain, n_edits) = (sum(|tally| tally.n_uncertain), sum(|tally| tally.n_edits));
    let example = tallies.iter().find_map(|tally| tally.example.clone());
    let text = format!(
        "{unrecorded} / {invented} / {uncertain} in {} kills, {} edits; {} foreign changes made {} \
         uncertain{}",
        grouped(sum(|tally| tally.n_kills)),
        grouped(n_edits),
        sum(|tally| tally.n_foreign),
        sum(|tally| tally.n_uncertain_foreign),
        example.map(|example| format!(" ({example})")).unwrap_or_default(),
    );
    let (not_undone, n_undone) = (sum(|tally| tally.n_not_undone), sum(|tally| tally.n_undone));
    Ok(vec![
        Cell::new(unrecorded + invented + uncertain == 0 && n_edits > 0, text),
        Cell::new(not_undone == 0 && n_undone > 0, format!("{not_undone} of {n_undone}")),
    ])
}

/// Kills servers that edit one file.
fn one_file(place: &Place<'_>, path: &Path, random: &mut Random, tally: &mut Tally) -> Result<()> {
    std::fs::write(path, files::counted(0, N_BYTES))?;
    // Whether it is changed together with another file, in a transaction.
    let twin = (random.below(4) == 0).then(|| path.with_extension("twin"));
    if let Some(twin) = &twin {
        std::fs::copy(path, twin)?;
    }
    // Whether another program may have changed the file.
    let has_foreign = twin.is_none() && random.below(5) == 0;
    let mut version = 0;
    for round in 1..=N_PER_FILE {
        version = kill(place, path, twin.as_deref(), version, random, tally)?;
        tally.n_kills += 1;
        if has_foreign && random.below(3) == 0 {
            tally.n_foreign += 1;
            std::fs::OpenOptions::new().append(true).open(path)?.write_all(b"foreign\n")?;
        }
        if random.below(3) > 0 && round < N_PER_FILE {
            // The next change judges the last one.
            continue;
        }
        let listed = place.listed(path)?;
        let n_known = listed.n_done + listed.n_uncertain;
        if round == N_PER_FILE {
            let n =
                if has_foreign { &mut tally.n_uncertain_foreign } else { &mut tally.n_uncertain };
            *n += listed.n_uncertain;
        }
        tally.n_unrecorded += version.saturating_sub(n_known);
        tally.n_invented += listed.n_done.saturating_sub(version) + listed.n_unfinished;
        if version > n_known || listed.n_done > version || listed.n_unfinished > 0 {
            tally.example.get_or_insert(format!("{listed:?} of {version} changes"));
        }
    }
    // Without a change there is nothing to undo, which is an error.
    if !has_foreign && version > 0 {
        tally.n_undone += 1;
        let undone = place.run(&["undo", "--file"], Some(path))?;
        if undone.is_err() || std::fs::read_to_string(path)? != files::counted(0, N_BYTES) {
            tally.n_not_undone += 1;
        }
    }
    Ok(())
}

/// Edits until the server is killed. Returns how many edits the file has.
fn kill(
    place: &Place<'_>,
    path: &Path,
    twin: Option<&Path>,
    mut version: usize,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<usize> {
    let mut session = place.serve_recorded()?;
    let process = Pid::from_raw(session.client.process_id() as i32).ok_or("no process")?;
    // During the first edit, or later.
    let latest = [20_000, 150_000][random.below(2)];
    let moment = Duration::from_micros(random.below(latest) as u64);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(moment);
        kill_process(process, Signal::KILL)
    });
    // The child is reaped only after the killer is done, so that its process id is not reused.
    let stopped = loop {
        let (old, new) = (format!("n = {version}\n"), format!("n = {}\n", version + 1));
        let edited = match twin {
            None => session.edit(path, &old, &new),
            Some(twin) => {
                let edit = json!({"old_string": old, "new_string": new});
                let changes = [path, twin].map(|path| json!({"path": path, "edits": [edit]}));
                session.call("changes_apply", json!({"changes": changes}))
            }
        };
        match edited {
            Ok(reply) if reply.is_done() => {
                (version, tally.n_edits) = (version + 1, tally.n_edits + 1);
            }
            Ok(reply) => break Some(reply.text().to_string()),
            Err(_) => break None,
        }
    };
    killer.join().map_err(|_| "the killer panicked")??;
    session.client.kill()?;
    if let Some(text) = stopped {
        return Err(format!("an edit was rejected: {text:.300}").into());
    }
    if let Some(twin) = twin {
        place.recover(path)?;
        if std::fs::read(path)? != std::fs::read(twin)? {
            return Err("a mixture of two files that are changed together".into());
        }
    }
    let text = std::fs::read_to_string(path)?;
    let text = text.replace("foreign\n", "");
    let found = files::count_of(&text, N_BYTES).ok_or("a torn file")?;
    if found < version {
        return Err("an acknowledged edit is lost".into());
    }
    Ok(found)
}
