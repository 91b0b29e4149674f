//! kill -9 during changes of eight files that are made together, at random moments and at every system
//! call, while another program appends to the files. The next server must find all files changed or
//! none.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use recto_dev::random::Random;
use recto_dev::servers::{Server, ServerKind};
use recto_dev::table::grouped;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::tracer::Tracer;
use crate::{Effort, Result};

pub const TRIAL: Trial = Trial {
    name: "transactions",
    rows: &[
        (
            "kill -9 at random during changes of 8 files together, half of the time beside a program \
             that appends to them: mixtures not reported as uncertain / acknowledged but lost / \
             wrong records",
            "0 / 0 / 0 of 1,000 transactions",
        ),
        (
            "kill -9 at every system call of a change of 8 files together: mixtures / wrong records",
            "0 / 0",
        ),
        ("– temporary files that the next server leaves there, in both", "0"),
    ],
    run,
};

const N_FILES: usize = 8;

/// The files and the journal of a round.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    state: PathBuf,
}

impl Place {
    fn new() -> Result<Place> {
        let dir = tempfile::tempdir()?;
        let (root, state) = (dir.path().join("root"), dir.path().join("state"));
        let place = Place { _dir: dir, root, state };
        place.write_all(0)?;
        Ok(place)
    }

    fn file(&self, n: usize) -> PathBuf {
        self.root.join(format!("dir{}/f{n}.txt", n % 4))
    }

    fn write_all(&self, version: usize) -> Result<()> {
        for n in 0..N_FILES {
            let path = self.file(n);
            fs::create_dir_all(path.parent().ok_or("no parent")?)?;
            fs::write(path, format!("n = {version}\n{}", "a line that stays\n".repeat(100)))?;
        }
        Ok(())
    }

    fn open(&self, server: &Server) -> Result<Session> {
        Session::open_with(server, &self.root, &["--state-dir", &self.state.to_string_lossy()])
    }

    /// Changes the first line of all files.
    fn change(&self, session: &mut Session, version: usize) -> Result<bool> {
        let edit = json!({
            "old_string": format!("n = {version}\n"),
            "new_string": format!("n = {}\n", version + 1),
        });
        let change = |n| json!({"path": self.file(n), "edits": [edit]});
        let changes: Vec<Value> = (0..N_FILES).map(change).collect();
        Ok(session.call("changes_apply", json!({"changes": changes}))?.is_done())
    }

    /// Starts a server, whose first call recovers, and returns the versions of all files.
    fn recovered(&self, server: &Server) -> Result<Vec<usize>> {
        let mut session = self.open(server)?;
        session.read(&self.file(0))?;
        session.client.stop()?;
        (0..N_FILES)
            .map(|n| {
                let text = fs::read_to_string(self.file(n))?;
                let first = text.lines().next().and_then(|line| line.strip_prefix("n = "));
                Ok(first.ok_or("a file lost its first line")?.parse()?)
            })
            .collect()
    }

    /// Returns the recorded changes that were made together, newest first.
    fn log(&self, server: &Server, n_max: usize) -> Result<Vec<Value>> {
        let mut command = server.run();
        command.args(["log", "--json", "-n", &n_max.to_string(), "--state-dir"]).arg(&self.state);
        let output = command.current_dir(&self.root).output()?;
        let text = String::from_utf8(output.stdout)?;
        let changes = text.lines().map(serde_json::from_str::<Value>);
        let mut changes = changes.collect::<std::result::Result<Vec<_>, _>>()?;
        changes.retain(|change| change["transaction"].is_u64());
        Ok(changes)
    }

    /// Returns whether the last transaction is reported as uncertain.
    fn is_uncertain(&self, server: &Server) -> Result<bool> {
        Ok(self.log(server, 40)?.first().is_some_and(|change| change["state"] == "uncertain"))
    }

    /// Returns whether as many changes of each file are recorded as were made, all of them as done.
    fn is_listed(&self, server: &Server, version: usize) -> Result<bool> {
        let log = self.log(server, 1_000_000)?;
        let is_done = log.iter().all(|change| change["state"] == "done");
        Ok(is_done && log.len() == version * N_FILES)
    }

    fn n_temporary(&self) -> Result<usize> {
        let mut n_left = 0;
        for dir in fs::read_dir(&self.root)? {
            for file in fs::read_dir(dir?.path())? {
                let name = file?.file_name();
                n_left += usize::from(name.to_string_lossy().starts_with(".recto-"));
            }
        }
        Ok(n_left)
    }
}

#[derive(Default)]
struct Tally {
    n_transactions: usize,
    n_acknowledged: usize,
    n_kills: usize,
    n_mixtures: usize,
    n_lost: usize,
    n_wrong: usize,
    n_uncertain: usize,
    n_left: usize,
}

fn run(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    if server.kind != ServerKind::Recto {
        return Ok(vec![Cell::none()]);
    }
    let mut random = Tally::default();
    kill_at_random(server, effort.rounds(30, 1000), &mut random)?;
    let mut every = Tally::default();
    let at_every_call = match kill_at_every_call(server, effort.rounds(7, 1), &mut every) {
        Ok(()) => Cell::new(
            every.n_mixtures + every.n_wrong == 0 && every.n_kills > 20,
            format!("{} / {} of {}", every.n_mixtures, every.n_wrong, every.n_kills),
        ),
        Err(error) if every.n_kills == 0 => Cell::skipped(error),
        Err(error) => return Err(error),
    };
    let Tally { n_mixtures, n_lost, n_wrong, .. } = random;
    let Tally { n_transactions, n_acknowledged, n_kills, n_uncertain, .. } = random;
    let text = format!(
        "{n_mixtures} / {n_lost} / {n_wrong} of {} transactions, {} acknowledged, {} kills, {n_uncertain} \
         uncertain",
        grouped(n_transactions),
        grouped(n_acknowledged),
        grouped(n_kills),
    );
    let n_left = random.n_left + every.n_left;
    Ok(vec![
        Cell::new(n_mixtures + n_lost + n_wrong == 0 && n_acknowledged > n_kills, text),
        at_every_call,
        Cell::new(n_left == 0, n_left.to_string()),
    ])
}

fn kill_at_random(server: &Server, n_transactions: usize, tally: &mut Tally) -> Result<()> {
    let mut random = Random::new(0x7a);
    let mut place = Place::new()?;
    let mut version = 0;
    while tally.n_transactions < n_transactions {
        let has_writer = random.below(2) == 0;
        let mut session = place.open(server)?;
        let process = Pid::from_raw(session.client.process_id() as i32).ok_or("no process")?;
        // The first is not interrupted, and says how long one takes.
        let started = Instant::now();
        if !place.change(&mut session, version)? {
            return Err("the first transaction was rejected".into());
        }
        (version, tally.n_transactions) = (version + 1, tally.n_transactions + 1);
        tally.n_acknowledged += 1;
        let n_micros = started.elapsed().as_micros() as usize;
        let moment = Duration::from_micros(random.below(3 * n_micros) as u64);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(moment);
            kill_process(process, Signal::KILL)
        });
        let writer = has_writer.then(|| Writer::start(&place, random.below(1 << 30) as u64));
        let before = version;
        while let Ok(is_done) = place.change(&mut session, version) {
            tally.n_transactions += 1;
            tally.n_acknowledged += usize::from(is_done);
            version += usize::from(is_done);
        }
        killer.join().map_err(|_| "the killer panicked")??;
        session.client.kill()?;
        tally.n_kills += 1;
        // A transaction that was being made when the server was killed.
        tally.n_transactions += 1;
        if let Some(writer) = writer {
            writer.stop()?;
        }
        let found = place.recovered(server)?;
        let is_mixture = found.iter().any(|n| *n != found[0]);
        // Nothing is touched then, so that temporary files stay too.
        let is_uncertain = has_writer && place.is_uncertain(server)?;
        tally.n_uncertain += usize::from(is_uncertain);
        if is_mixture && !is_uncertain {
            tally.n_mixtures += 1;
            eprintln!("versions {found:?} after {version}, started with {before}");
        }
        if !is_mixture {
            tally.n_lost += version.saturating_sub(found[0]);
        }
        if !is_uncertain {
            tally.n_left += place.n_temporary()?;
            tally.n_wrong += usize::from(!is_mixture && !place.is_listed(server, found[0])?);
        }
        version = found[0];
        if is_mixture || is_uncertain {
            (place, version) = (Place::new()?, 0);
        }
    }
    Ok(())
}

/// Kills at every system call, or in steps of several.
fn kill_at_every_call(server: &Server, step: usize, tally: &mut Tally) -> Result<()> {
    for n in (1..).step_by(step) {
        let place = Place::new()?;
        let mut session = place.open(server)?;
        let tracer = Tracer::attach(session.client.process_id(), n)?;
        let outcome = place.change(&mut session, 0);
        session.client.kill()?;
        let killed_at = tracer.wait()?;
        let found = place.recovered(server)?;
        if killed_at.is_none() {
            return match outcome {
                Ok(true) if found == [1; N_FILES] => Ok(()),
                outcome => Err(format!("not written: {outcome:?}, {found:?}").into()),
            };
        }
        tally.n_kills += 1;
        let is_mixture = found.iter().any(|n| *n != found[0]);
        tally.n_mixtures += usize::from(is_mixture);
        tally.n_wrong += usize::from(!is_mixture && !place.is_listed(server, found[0])?);
        tally.n_left += place.n_temporary()?;
    }
    Ok(())
}

/// A program that appends to the files.
struct Writer {
    is_over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<std::io::Result<()>>,
}

impl Writer {
    fn start(place: &Place, seed: u64) -> Writer {
        let files: Vec<PathBuf> = (0..N_FILES).map(|n| place.file(n)).collect();
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = is_over.clone();
        let append = move |path: &Path| -> std::io::Result<()> {
            fs::OpenOptions::new().append(true).open(path)?.write_all(b"by another program\n")
        };
        let run = move || {
            let mut random = Random::new(seed);
            while !flag.load(Ordering::Relaxed) {
                append(&files[random.below(N_FILES)])?;
                std::thread::sleep(Duration::from_micros(2_000 + random.below(8_000) as u64));
            }
            // One more, after the server was killed.
            append(&files[random.below(N_FILES)])
        };
        Writer { is_over, thread: std::thread::spawn(run) }
    }

    fn stop(self) -> Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        Ok(self.thread.join().map_err(|_| "the writer panicked")??)
    }
}
