//! Concurrent writers that use no locks or hashes: a shell that appends lines, and an editor that
//! saves by writing a new file and renaming it over the old one.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use recto_dev::servers::Server;

use super::Trial;
use crate::cell::Cell;
use crate::session::Session;
use crate::{Effort, Result};

pub const APPENDER: Trial = Trial {
    name: "foreign-appender",
    rows: &[
        ("a shell appends 100 lines a second (`echo >> file`): lines lost / edits lost", "0 / 0"),
        ("a shell that keeps the file open while it appends: lines lost / edits lost", "0 / 0"),
        ("four shells append a line every few milliseconds: lines lost / edits lost", "0 / 0"),
    ],
    run: |effort, server| {
        let each =
            r#"while [ $i -lt $N ]; do echo "line $i" >> "$F"; i=$((i+1)); sleep 0.01; done"#;
        let open =
            r#"while [ $i -lt $N ]; do echo "line $i"; i=$((i+1)); sleep 0.01; done >> "$F""#;
        // Four writers that meet: one waits for the old file while another opens the new one.
        let four = r#"
            part() { while [ $i -lt $2 ]; do echo "line $i" >> "$F"; i=$((i+1)); sleep 0.001; done; }
            for p in 0 1 2 3; do (i=$((N*p/4)); part $p $((N*(p+1)/4))) & done; wait"#;
        let n_lines = effort.rounds(300, 3000);
        Ok(vec![
            append(server, &[], n_lines, each)?,
            append(server, &[], n_lines, open)?,
            // Without sync there are ten times as many edits to collide with.
            append(server, &["--durability", "rename"], effort.rounds(4_000, 40_000), four)?,
        ])
    },
};

pub const EDITOR: Trial = Trial {
    name: "foreign-editor",
    rows: &[("an editor saves over the file by renaming: lost of its versions", "0")],
    run: editor,
};

/// Edits a counter until it is stopped. Counts the edits that another writer overwrote.
struct Counter {
    n: usize,
    n_done: usize,
    n_refused: usize,
    n_overwritten: usize,
}

impl Counter {
    fn new() -> Counter {
        Counter { n: 0, n_done: 0, n_refused: 0, n_overwritten: 0 }
    }

    fn step(&mut self, session: &mut Session, path: &Path) -> Result<()> {
        let (old, new) = (format!("n = {};", self.n), format!("n = {};", self.n + 1));
        if session.edit(path, &old, &new)?.is_done() {
            self.n += 1;
            self.n_done += 1;
            return Ok(());
        }
        self.n_refused += 1;
        match number_after(&std::fs::read_to_string(path)?, "n = ") {
            Some(found) if found != self.n => {
                self.n_overwritten += self.n.saturating_sub(found);
                self.n = found;
            }
            _ => {}
        }
        Ok(())
    }
}

fn number_after(text: &str, start: &str) -> Option<usize> {
    text.lines().find_map(|line| line.strip_prefix(start)?.split(';').next()?.parse().ok())
}

fn append(server: &Server, options: &[&str], n_lines: usize, script: &str) -> Result<Cell> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "n = 0;\n")?;
    let mut session = Session::open_with(server, folder.path(), options)?;
    let mut shell = Command::new("sh")
        .args(["-c", &format!("i=0; {script}")])
        .env("F", &path)
        .env("N", n_lines.to_string())
        .stdin(Stdio::null())
        .spawn()?;
    let mut counter = Counter::new();
    let edited = (|| -> Result<()> {
        while shell.try_wait()?.is_none() {
            counter.step(&mut session, &path)?;
        }
        // Once the shell has finished, an edit must succeed.
        let (n_done, deadline) = (counter.n_done, Instant::now() + Duration::from_secs(5));
        while counter.n_done == n_done && Instant::now() < deadline {
            counter.step(&mut session, &path)?;
        }
        Ok(())
    })();
    shell.wait()?;
    edited?;
    let text = std::fs::read_to_string(&path)?;
    let lines: HashSet<&str> = text.lines().collect();
    let has_line = |n: &usize| lines.contains(format!("line {n}").as_str());
    let n_lost = n_lines - (0..n_lines).filter(has_line).count();
    let found = number_after(&text, "n = ").unwrap_or(0);
    let n_ours = counter.n_overwritten + counter.n.saturating_sub(found);
    // A duplicate line is as wrong as a missing one.
    let n_extra = text.lines().count().saturating_sub(1 + n_lines - n_lost);
    let result = format!(
        "{n_lost} of {n_lines} / {n_ours} of {}, {} rejected",
        counter.n_done, counter.n_refused
    );
    Ok(Cell::new(n_lost == 0 && n_ours == 0 && n_extra == 0 && counter.n_done > 0, result))
}

fn editor(effort: Effort, server: &Server) -> Result<Vec<Cell>> {
    let time = Duration::from_secs(effort.rounds(3, 30) as u64);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "n = 0;\ntheirs = 0;\n")?;
    let mut session = Session::open(server, folder.path())?;
    let is_over = AtomicBool::new(false);
    let mut counter = Counter::new();
    let (edited, saved) = std::thread::scope(|scope| {
        let saver = scope.spawn(|| save(&path, &is_over));
        let deadline = Instant::now() + time;
        let mut edited = Ok(());
        while edited.is_ok() && Instant::now() < deadline {
            edited = counter.step(&mut session, &path);
        }
        is_over.store(true, Ordering::Relaxed);
        (edited, saver.join())
    });
    edited?;
    let (n_saved, n_lost) = saved.map_err(|_| "the editor panicked")??;
    let result = format!(
        "{n_lost} of {n_saved}; it overwrote {} of our {} edits itself",
        counter.n_overwritten, counter.n_done
    );
    Ok(vec![Cell::new(n_lost == 0 && n_saved > 0 && counter.n_done > 0, result)])
}

/// Reads, changes its own line, saves. Returns how many versions it saved and how many of them were
/// gone when it read again. No other process changes that line.
fn save(path: &Path, is_over: &AtomicBool) -> std::result::Result<(usize, usize), String> {
    let beside = path.with_extension("editor");
    let (mut version, mut n_lost) = (0, 0);
    loop {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let found = number_after(&text, "theirs = ");
        n_lost += usize::from(found != Some(version));
        if is_over.load(Ordering::Relaxed) {
            return Ok((version, n_lost));
        }
        let start = text.lines().next().unwrap_or_default();
        version += 1;
        let saved = std::fs::write(&beside, format!("{start}\ntheirs = {version};\n"));
        saved.and_then(|()| std::fs::rename(&beside, path)).map_err(|error| error.to_string())?;
        std::thread::sleep(Duration::from_millis(3));
    }
}
