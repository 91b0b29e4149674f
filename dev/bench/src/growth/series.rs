//! The series and how each size is measured. Sizes are powers of ten, so 1 MB is 1,000,000 bytes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use recto_dev::client::Client;
use recto_dev::table::percentile;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Series, SeriesUnit};
use crate::files::{settle, text, with_marks, write_text};
use crate::rounds::toggled_edits;
use crate::{Result, programs};

/// Measures once, in a session and a round.
type One<'a> = Box<dyn FnMut(&mut Client, usize) -> Result<Duration> + 'a>;

/// The time for one size, and the most rounds.
const BUDGET: Duration = Duration::from_secs(2);
const N_ROUNDS: usize = 200;

/// The temporary directory and settings of all series.
pub struct Growth {
    recto: PathBuf,
    scratch: TempDir,
    folder: PathBuf,
    is_quick: bool,
}

impl Growth {
    pub fn prepare(recto: &Path, is_quick: bool) -> Result<Growth> {
        let scratch = TempDir::with_prefix("recto-bench-")?;
        let folder = scratch.path().canonicalize()?;
        Ok(Growth { recto: recto.to_path_buf(), scratch, folder, is_quick })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Measures everything, and removes the directory.
    pub fn measure(self) -> Result<Vec<Series>> {
        let [first, next] = self.pages()?;
        let series = vec![
            self.reads()?,
            first,
            next,
            self.lines()?,
            self.edits()?,
            self.many_edits()?,
            self.edited_files()?,
            self.trees()?,
            self.concurrent()?,
        ];
        self.scratch.close()?;
        Ok(series)
    }

    /// Reads whole files.
    fn reads(&self) -> Result<Series> {
        self.series("read a whole file", "bytes", &[10_000, 100_000, 1_000_000], |size| {
            let path = self.folder.join(format!("read-{size}.txt"));
            fs::write(&path, text(1, size))?;
            let arguments = json!({"path": path});
            Ok(Box::new(move |client, _| {
                Ok(client.call_ok("read_text_file", arguments.clone())?.0.time())
            }))
        })
    }

    /// Reads twenty lines at 90 % of a file, on first access and later.
    fn pages(&self) -> Result<[Series; 2]> {
        let mut firsts = Vec::new();
        let mut nexts = Vec::new();
        for size in [1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
            eprintln!("a page of {size} bytes");
            let path = self.folder.join("log.txt");
            let n_lines = write_text(&path, size / 1_000_000, 1_000_000)?;
            settle();
            let line = n_lines / 10 * 9;
            let page = |client: &mut Client, line: usize| -> Result<Duration> {
                let lines = format!("{line}-{}", line + 19);
                let arguments = json!({"file_path": path, "lines": lines});
                Ok(client.call_ok("ReadLines", arguments)?.0.time())
            };
            let (mut first, mut next) = (Vec::new(), Vec::new());
            for _ in 0..if self.is_quick { 2 } else { 5 } {
                let mut client = self.client()?;
                first.push(page(&mut client, line)?);
                for index in 1..=20 {
                    next.push(page(&mut client, line + 20 * index)?);
                }
                client.stop()?;
            }
            fs::remove_file(&path)?;
            firsts.push((size as f64, milliseconds(quick(&first))));
            nexts.push((size as f64, milliseconds(quick(&next))));
        }
        let series =
            |what, points| Series { what, unit: "bytes", kind: SeriesUnit::Milliseconds, points };
        Ok([
            series("20 lines at 90 %, first page", firsts),
            series("20 lines at 90 %, next pages", nexts),
        ])
    }

    /// Reads twenty lines of 8 MB with increasing line counts.
    fn lines(&self) -> Result<Series> {
        let sizes = [1_000, 10_000, 100_000, 1_000_000];
        self.series("20 lines of 8 MB, by line count", "lines", &sizes, |n_lines| {
            let path = self.folder.join(format!("lines-{n_lines}.txt"));
            let line = format!("{}\n", "x".repeat(8_000_000 / n_lines - 1));
            fs::write(&path, line.repeat(n_lines))?;
            let lines = format!("{}-{}", n_lines / 2, n_lines / 2 + 19);
            let arguments = json!({"file_path": path, "lines": lines});
            Ok(Box::new(move |client, _| {
                Ok(client.call_ok("ReadLines", arguments.clone())?.0.time())
            }))
        })
    }

    /// Makes more and more edits in one call, in a file of 1 MB.
    fn edits(&self) -> Result<Series> {
        self.series("edits in one call, 1 MB", "edits", &[1, 10, 100], |n_edits| {
            self.edit(&format!("{n_edits}-edits.txt"), 1_000_000, n_edits)
        })
    }

    /// Makes thousands of edits in one call, in a file of 14 MB.
    fn many_edits(&self) -> Result<Series> {
        let sizes = [5_000, 10_000, 20_000, 40_000];
        self.series("thousands of edits in one call, 14 MB", "edits", &sizes, |n_edits| {
            const N_LINES: usize = 250_000;
            let path = self.folder.join(format!("{n_edits}-edits.txt"));
            let entry = |index: usize, word: &str| format!("{word} {index:07}");
            let line = |index| format!("{} of a log with many alike, all short\n", entry(index, "entry"));
            fs::write(&path, (0..N_LINES).map(line).collect::<String>())?;
            Ok(Box::new(move |client, round| {
                let (old, new) = [("entry", "ENTRY"), ("ENTRY", "entry")][round % 2];
                let edit = |index| json!({"old_string": entry(index, old), "new_string": entry(index, new)});
                let edits: Vec<_> = (0..N_LINES).step_by(N_LINES / n_edits).take(n_edits).map(edit).collect();
                let arguments = json!({"path": path, "edits": edits});
                Ok(client.call_ok("multi_edit_text_file", arguments)?.0.time())
            }))
        })
    }

    /// Makes one edit in larger and larger files.
    fn edited_files(&self) -> Result<Series> {
        let sizes = [100_000, 1_000_000, 10_000_000, 100_000_000];
        self.series("one edit, by file size", "bytes", &sizes, |size| {
            self.edit(&format!("edited-{size}.txt"), size, 1)
        })
    }

    fn edit(&self, name: &str, size: usize, n_edits: usize) -> Result<One<'_>> {
        let path = self.folder.join(name);
        fs::write(&path, with_marks(&text(2, size)))?;
        Ok(Box::new(move |client, round| {
            let arguments = json!({"path": path, "edits": toggled_edits(n_edits, round)});
            Ok(client.call_ok("multi_edit_text_file", arguments)?.0.time())
        }))
    }

    /// Lists files that end in `.rs`, one in four, in larger and larger trees.
    fn trees(&self) -> Result<Series> {
        self.series("list files, by tree size", "files", &[1_000, 10_000, 100_000], |n_files| {
            let tree = self.folder.join(format!("tree-{n_files}"));
            for index in 0..n_files {
                let place = tree.join(format!("{}/{}", index / 1000, index / 50 % 20));
                if index.is_multiple_of(50) {
                    fs::create_dir_all(&place)?;
                }
                let ending = ["rs", "md", "toml", "txt"][index % 4];
                File::create(place.join(format!("{index}.{ending}")))?;
            }
            Ok(Box::new(move |client, _| {
                let arguments = json!({"pattern": format!("tree-{n_files}/**/*.rs")});
                let (exchange, result) = client.call_ok("ListFiles", arguments)?;
                match result["structuredContent"]["total"] == json!(n_files / 4) {
                    true => Ok(exchange.time()),
                    false => Err("not all files were found".into()),
                }
            }))
        })
    }

    /// Reads 2 KB with more and more concurrent calls.
    fn concurrent(&self) -> Result<Series> {
        let path = self.folder.join("2kb.txt");
        fs::write(&path, text(1, 2000))?;
        let mut client = self.client()?;
        let params = json!({"name": "read_text_file", "arguments": {"path": path}});
        let mut points = [1, 2, 4, 8, 16, 32, 64].map(|n_calls| (n_calls as f64, 0.0f64));
        eprintln!("calls at once");
        for _ in 0..if self.is_quick { 2 } else { 10 } {
            for (n_calls, best) in &mut points {
                let started = Instant::now();
                let n_answers = flood(&mut client, &params, *n_calls as usize, BUDGET / 10)?;
                *best = best.max(n_answers as f64 / started.elapsed().as_secs_f64());
            }
        }
        let points = points.to_vec();
        client.stop()?;
        let what = "calls per second, by calls at once";
        Ok(Series { what, unit: "calls at once", kind: SeriesUnit::CallsPerSecond, points })
    }

    /// Measures all sizes in turns, so that noise affects all of them, each in its own session. The
    /// first two rounds do not count.
    fn series<'g>(
        &'g self,
        what: &'static str,
        unit: &'static str,
        sizes: &[usize],
        prepare: impl Fn(usize) -> Result<One<'g>>,
    ) -> Result<Series> {
        eprintln!("{what}");
        let mut prepared = Vec::new();
        for &size in sizes {
            prepared.push((size, prepare(size)?, self.client()?, Vec::new()));
        }
        settle();
        let budget = BUDGET * sizes.len() as u32 / if self.is_quick { 8 } else { 1 };
        let started = Instant::now();
        for round in 0..N_ROUNDS {
            for (size, one, client, times) in &mut prepared {
                let time = one(client, round);
                let time = time.map_err(|error| format!("{what}, {size}: {error}"))?;
                if round >= 2 {
                    times.push(time);
                }
            }
            if round >= 6 && started.elapsed() > budget {
                break;
            }
        }
        let mut points = Vec::new();
        for (size, _, client, times) in prepared {
            client.stop()?;
            points.push((size as f64, milliseconds(quick(&times))));
        }
        Ok(Series { what, unit, kind: SeriesUnit::Milliseconds, points })
    }

    fn client(&self) -> Result<Client> {
        Ok(programs::open(&self.recto, &self.folder, &[])?.0)
    }
}

/// Keeps `n_calls` requests in flight for a while. Returns how many were answered.
fn flood(client: &mut Client, params: &Value, n_calls: usize, time: Duration) -> Result<usize> {
    let started = Instant::now();
    let (mut n_sent, mut n_answers, mut n_bytes) = (0, 0, None);
    while n_answers < n_sent || n_sent == 0 {
        while n_sent < n_answers + n_calls && started.elapsed() < time {
            let (_, line) = client.prepare("tools/call", params.clone());
            client.send(&line)?;
            n_sent += 1;
        }
        client.receive(None)?;
        let answer = client.line();
        // The same request has the same answer, except for the id.
        let n_bytes = *n_bytes.get_or_insert(answer.len());
        if answer.len().abs_diff(n_bytes) > 20 {
            let answer = String::from_utf8_lossy(answer);
            return Err(format!("another answer than before: {answer:.200}").into());
        }
        n_answers += 1;
    }
    Ok(n_answers)
}

/// Returns the 10th percentile, which excludes most of the noise of other load.
fn quick(times: &[Duration]) -> Duration {
    percentile(times, 10)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
