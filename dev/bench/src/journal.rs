//! What the journal costs: edits with and without it, several processes, starting, memory, the size of a
//! replayed history, and the time to list it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use recto_dev::client::Client;
use recto_dev::table::{Table, grouped, median, milliseconds, percentile};
use recto_dev::{Result, process};
use serde_json::json;

use crate::machine;

/// The variable that names the git repository whose history is replayed.
const REPOSITORY: &str = "RECTO_BENCH_REPOSITORY";

/// How many changes of a history are replayed, at most.
const N_REPLAYED: usize = 10_000;

/// Larger files of a history are not replayed.
const MAX_REPLAYED: usize = 1 << 20;

pub fn run(recto: &Path, is_quick: bool) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bench = Bench { recto, folder: folder.path().canonicalize()? };
    let n_rounds = if is_quick { 50 } else { 500 };
    println!("{}\n", machine::describe(folder.path())?);
    let mut edits = Table::of_numbers(["edit", "off", "on", "factor", "goal", "of first edits"]);
    edits.add(bench.edits(8 << 10, n_rounds, "8 KB", "≤ 1.4")?);
    edits.add(bench.edits(1 << 20, n_rounds, "1 MB", "≤ 1.15")?);
    println!("{edits}");
    let mut others = Table::of_numbers(["what", "measured", "goal"]);
    for row in bench.processes(n_rounds)? {
        others.add(row);
    }
    for row in bench.starts(n_rounds / 10)? {
        others.add(row);
    }
    match std::env::var_os(REPOSITORY) {
        Some(repository) => {
            for row in bench.history(Path::new(&repository))? {
                others.add(row);
            }
        }
        None => eprintln!("no history: {REPOSITORY} does not name a git repository"),
    }
    println!("{others}");
    Ok(())
}

struct Bench<'a> {
    recto: &'a Path,
    folder: PathBuf,
}

impl Bench<'_> {
    /// Starts a server on a directory, which is created.
    fn serve(&self, root: &Path, journal: Option<&Path>) -> Result<Client> {
        fs::create_dir_all(root)?;
        let mut command = Command::new(self.recto);
        command.arg("serve").arg(root).stderr(Stdio::null());
        match journal {
            Some(state) => command.arg("--state-dir").arg(state).args(["--journal", "required"]),
            None => command.args(["--journal", "off"]),
        };
        let mut client = Client::start(&mut command)?;
        client.initialize()?;
        Ok(client)
    }

    /// Edits with and without the journal, in turns. Every tenth edit is the first of its file.
    fn edits(
        &self,
        n_bytes: usize,
        n_rounds: usize,
        name: &str,
        goal: &str,
    ) -> Result<[String; 6]> {
        eprintln!("edits of {name}");
        let roots = ["off", "on"].map(|journal| self.folder.join(format!("{name} {journal}")));
        let state = self.folder.join(format!("{name} state"));
        let [off, on] = &roots;
        let mut clients = [self.serve(off, None)?, self.serve(on, Some(&state))?];
        let mut times = [Vec::new(), Vec::new()];
        let mut first = [Vec::new(), Vec::new()];
        for round in 0..n_rounds {
            for index in [round % 2, 1 - round % 2] {
                let path = roots[index].join(format!("{}.txt", round / 10));
                if round % 10 == 0 {
                    fs::write(&path, text(n_bytes))?;
                }
                let time = edit(&mut clients[index], &path, n_bytes, round % 10)?;
                times[index].push(time);
                if round % 10 == 0 {
                    first[index].push(time);
                }
            }
        }
        for client in clients {
            client.stop()?;
        }
        let factor = |times: &[Vec<Duration>; 2]| {
            let [off, on] = times.each_ref().map(|times| median(times).as_secs_f64());
            format!("{:.2}", on / off)
        };
        let [off, on] = times.each_ref().map(|times| milliseconds(median(times)));
        Ok([name.into(), off, on, factor(&times), goal.into(), factor(&first)])
    }

    /// One process, and four that share a journal and make as many edits in all; the same without a
    /// journal.
    fn processes(&self, n_rounds: usize) -> Result<[[String; 3]; 2]> {
        let row = |what: &str, goal: &str, has_journal: bool| -> Result<[String; 3]> {
            let [one, four] = [1, 4].map(|n| self.slowest_of(n, 4 * n_rounds / n, has_journal));
            let (one, four) = (one?, four?);
            let factor = four.as_secs_f64() / one.as_secs_f64();
            let measured =
                format!("{} and {}: {factor:.1} ×", milliseconds(one), milliseconds(four));
            Ok([what.into(), measured, goal.into()])
        };
        Ok([
            row("p99 of an edit of 8 KB by one and by four processes", "≤ 3 ×", true)?,
            row("– without the journal", "", false)?,
        ])
    }

    /// Returns the 99th percentile of the edits of several processes at the same time.
    fn slowest_of(
        &self,
        n_processes: usize,
        n_rounds: usize,
        has_journal: bool,
    ) -> Result<Duration> {
        eprintln!("{n_processes} processes");
        let state = self.folder.join(format!("{n_processes} processes"));
        let clients = (0..n_processes)
            .map(|process| {
                let root = format!("process {process} of {n_processes}, {has_journal}");
                let root = self.folder.join(root);
                let client = self.serve(&root, has_journal.then_some(&*state))?;
                let path = root.join("f.txt");
                fs::write(&path, text(8 << 10))?;
                Ok((client, path))
            })
            .collect::<Result<Vec<_>>>()?;
        let times = std::thread::scope(|scope| {
            let threads: Vec<_> = clients
                .into_iter()
                .map(|(mut client, path)| {
                    scope.spawn(move || {
                        let edits =
                            (0..n_rounds).map(|round| edit(&mut client, &path, 8 << 10, round));
                        let times = edits.collect::<Result<Vec<_>>>();
                        times.map_err(|error| error.to_string())
                    })
                })
                .collect();
            let times = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err("a client panicked".into())));
            times.collect::<std::result::Result<Vec<_>, String>>()
        })?;
        Ok(percentile(&times.concat(), 99))
    }

    /// Starts servers with and without the journal, in turns, on a journal that exists.
    fn starts(&self, n_rounds: usize) -> Result<[[String; 3]; 2]> {
        eprintln!("starts");
        let root = self.folder.join("starts");
        let state = self.folder.join("4 processes");
        let (mut times, mut memory) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for _ in 0..n_rounds.max(5) {
            for (index, journal) in [None, Some(state.as_path())].into_iter().enumerate() {
                let start = Instant::now();
                let client = self.serve(&root, journal)?;
                times[index].push(start.elapsed());
                memory[index]
                    .push((process::megabytes(client.process_id(), "VmRSS")? * 100.0) as u64);
                client.stop()?;
            }
        }
        let [off, on] = times.each_ref().map(|times| milliseconds(median(times)));
        memory.iter_mut().for_each(|memory| memory.sort_unstable());
        let [off_mb, on_mb] = memory.each_ref().map(|it| it[it.len() / 2] as f64 / 100.0);
        let row = |what: &str, measured| [what.into(), measured, "unchanged".into()];
        Ok([
            row("start to initialize, off and on", format!("{off} and {on}")),
            row("idle memory, off and on", format!("{off_mb:.1} and {on_mb:.1} MB")),
        ])
    }

    /// Makes the changes of a git history with a server, and lists them.
    fn history(&self, repository: &Path) -> Result<[[String; 3]; 2]> {
        let (root, state) = (self.folder.join("history"), self.folder.join("history state"));
        let mut client = self.serve(&root, Some(&state))?;
        let mut blobs = Blobs::open(repository)?;
        let changes = changes(repository)?;
        let mut n_made = 0;
        let mut existing = BTreeSet::new();
        for (blob, path) in changes {
            if n_made == N_REPLAYED {
                break;
            }
            let file = root.join(&path);
            let content = match blob {
                Some(blob) => blobs.text(&blob)?.filter(|text| text.len() <= MAX_REPLAYED),
                None => None,
            };
            let Some(content) = content else {
                if existing.remove(&path) {
                    let (_, read) = client.call_ok("text_read", json!({"path": file}))?;
                    let hash = &read["structuredContent"]["hash"];
                    client.call_ok("file_remove", json!({"path": file, "hash": hash}))?;
                    n_made += 1;
                }
                continue;
            };
            let is_changed = !existing.contains(&path) || fs::read_to_string(&file)? != content;
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent)?;
            }
            client.call_ok("write_text_file", json!({"path": file, "content": content}))?;
            existing.insert(path);
            n_made += usize::from(is_changed);
            if n_made % 1000 == 0 {
                eprintln!("{n_made} changes replayed");
            }
        }
        client.stop()?;
        let mut n_bytes = 0;
        for entry in fs::read_dir(&state)? {
            n_bytes += entry?.metadata()?.len();
        }
        let mut times = Vec::new();
        for _ in 0..11 {
            let start = Instant::now();
            let mut log = Command::new(self.recto);
            let listed = log.arg("log").arg(&root).arg("--state-dir").arg(&state).output()?;
            times.push(start.elapsed());
            let n_lines = listed.stdout.iter().filter(|byte| **byte == b'\n').count();
            if n_lines < n_made {
                return Err(format!("{n_made} changes were made, but {n_lines} are listed").into());
            }
        }
        let changes = format!("{} replayed changes", grouped(n_made));
        let size = format!("{:.1} MB", n_bytes as f64 / 1e6);
        Ok([
            [format!("size of the journal of {changes}"), size, "≤ 15 MB".into()],
            [format!("`recto log` of {changes}"), milliseconds(median(&times)), "≤ 60 ms".into()],
        ])
    }
}

/// Replaces one line in the middle of a file.
fn edit(client: &mut Client, path: &Path, n_bytes: usize, round: usize) -> Result<Duration> {
    let middle = n_bytes / 36;
    let old = match round {
        0 => format!("line {middle:12}\n"),
        _ => format!("edited {:10}\n", round - 1),
    };
    let new = format!("edited {round:10}\n");
    let arguments = json!({"path": path, "old_string": old, "new_string": new});
    Ok(client.call_ok("edit_text_file", arguments)?.0.time())
}

fn text(n_bytes: usize) -> String {
    (0..n_bytes / 18).map(|line| format!("line {line:12}\n")).collect()
}

/// Returns the changes of a history along first parents, oldest first: the new blob, or `None` for a
/// removed file, and the path.
fn changes(repository: &Path) -> Result<Vec<(Option<String>, String)>> {
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(repository);
    git.args(["log", "--reverse", "--first-parent", "-m", "--no-renames", "--raw"]);
    let output = git.args(["--abbrev=40", "-z", "--format="]).output()?;
    if !output.status.success() {
        return Err(format!("git log: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    // `:100644 100644 OLD NEW M`, then the path.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut parts = text.split('\0');
    let mut changes = Vec::new();
    while let Some(part) = parts.next() {
        let words: Vec<&str> = part.trim_start_matches(['\n', ':']).split(' ').collect();
        let [_, mode, _, new, _] = words[..] else { continue };
        let path = parts.next().ok_or("a change without a path")?;
        let is_file = matches!(mode, "100644" | "100755");
        changes.push((is_file.then(|| new.into()), path.into()));
    }
    Ok(changes)
}

/// Reads blobs of a repository.
struct Blobs {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Blobs {
    fn open(repository: &Path) -> Result<Blobs> {
        let mut git = Command::new("git");
        git.arg("--git-dir").arg(repository).args(["cat-file", "--batch"]);
        let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        Ok(Blobs { input, output: BufReader::new(child.stdout.take().ok_or("no stdout")?) })
    }

    /// Returns a blob, if it is text.
    fn text(&mut self, id: &str) -> Result<Option<String>> {
        writeln!(self.input, "{id}")?;
        let mut head = String::new();
        self.output.read_line(&mut head)?;
        let n_bytes = head.split_whitespace().nth(2).ok_or_else(|| format!("no blob {id}"))?;
        let mut bytes = vec![0; n_bytes.parse::<usize>()? + 1];
        self.output.read_exact(&mut bytes)?;
        bytes.pop();
        Ok(String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')))
    }
}
