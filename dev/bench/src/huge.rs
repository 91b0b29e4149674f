//! Measures huge inputs: a log of 4 GB, an edit in 1 GB, a million files, a line of 100 MB. For
//! each: the time, whether the answer is correct, peak memory, and how long the server keeps
//! working on a call that is cancelled.

use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use recto_dev::client::{Client, text_of};
use recto_dev::process::megabytes;
use recto_dev::table::{Table, milliseconds};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::files::{MB, mark, settle, text, write_text};
use crate::{Result, machine, programs};

const N_FILES: usize = 1_000_000;

/// A server that is idle for this long has finished its work.
const REST: Duration = Duration::from_millis(200);

/// Creates each input, measures, removes it, and prints the table at the end.
pub fn run(recto: &Path) -> Result<()> {
    let scratch = TempDir::with_prefix("recto-bench-")?;
    let huge = Huge { recto, folder: scratch.path().canonicalize()? };
    println!("{}\n", machine::describe(&huge.folder)?);
    let mut table =
        Table::of_numbers(["what", "time", "right", "most memory", "limit", "cancelled"]);
    for row in [Huge::log, Huge::edit, Huge::tree, Huge::line] {
        for cells in row(&huge)? {
            table.add(cells);
        }
    }
    println!("{table}");
    Ok(scratch.close()?)
}

struct Huge<'a> {
    recto: &'a Path,
    folder: PathBuf,
}

/// A call and its expected answer.
struct Question<'a> {
    what: &'static str,
    tool: &'static str,
    arguments: Value,
    /// In megabytes, if there is one.
    limit: Option<usize>,
    is_right: &'a dyn Fn(&Value) -> bool,
}

impl Huge<'_> {
    /// Reads pages at the end of 4 GB of text.
    fn log(&self) -> Result<Vec<[String; 6]>> {
        let path = self.folder.join("log.txt");
        let n_lines = write_text(&path, 4096, MB)?;
        let last = last_lines(&path)?;
        let is_last = |result: &Value| contains_lines(&text_of(result), &last);
        let is_page = |result: &Value| {
            let rows = result["structuredContent"]["rows"].as_array();
            rows.is_some_and(|rows| rows.len() == 20)
        };
        let question = |what, lines: String, is_right| Question {
            what,
            tool: "ReadLines",
            arguments: json!({"file_path": path, "lines": lines}),
            limit: Some(32),
            is_right,
        };
        let first = question("the last 20 lines of 4 GB, first", "+20-".into(), &is_last);
        let line = n_lines / 100 * 99;
        let next =
            question("20 lines at 99 % of it, then", format!("{line}-{}", line + 19), &is_page);
        settle();
        let cells = self.ask(&[first, next])?;
        fs::remove_file(&path)?;
        Ok(cells)
    }

    /// Makes one edit in the middle of 1 GB.
    fn edit(&self) -> Result<Vec<[String; 6]>> {
        let path = self.folder.join("edited.txt");
        write_text(&path, 512, MB)?;
        let mut file = fs::OpenOptions::new().append(true).open(&path)?;
        let n_before = file.metadata()?.len();
        writeln!(file, "{}", mark(0, false))?;
        for seed in 0..511 {
            file.write_all(text(seed, MB).as_bytes())?;
        }
        file.sync_all()?;
        drop(file);
        let is_edited = |_: &Value| {
            let mut found = vec![0; mark(0, true).len()];
            let read = File::open(&path).and_then(|mut file| {
                file.seek(SeekFrom::Start(n_before))?;
                file.read_exact(&mut found)
            });
            read.is_ok() && found == mark(0, true).as_bytes()
        };
        let edit = Question {
            what: "1 edit in 1 GB",
            tool: "edit_text_file",
            arguments: json!({"path": path, "old_string": mark(0, false), "new_string": mark(0, true)}),
            limit: None,
            is_right: &is_edited,
        };
        let cells = self.ask(&[edit])?;
        fs::remove_file(&path)?;
        Ok(cells)
    }

    /// Lists the first thousand of a hundred thousand matches among a million files.
    fn tree(&self) -> Result<Vec<[String; 6]>> {
        eprintln!("{N_FILES} files");
        let tree = self.folder.join("tree");
        for index in 0..N_FILES {
            let place = tree.join(format!("{}/{}", index / 10_000, index / 100 % 100));
            if index.is_multiple_of(100) {
                fs::create_dir_all(&place)?;
            }
            let ending = if index.is_multiple_of(10) { "rs" } else { "txt" };
            File::create(place.join(format!("{index}.{ending}")))?;
        }
        let is_right = |result: &Value| {
            let list = &result["structuredContent"];
            list["total"] == json!(N_FILES / 10)
                && list["files"].as_array().is_some_and(|files| files.len() == 1000)
        };
        let list = Question {
            what: "1,000 of `**/*.rs` among 1,000,000 files",
            tool: "ListFiles",
            arguments: json!({"pattern": "tree/**/*.rs", "limit": 1000}),
            limit: None,
            is_right: &is_right,
        };
        let cells = self.ask(&[list])?;
        fs::remove_dir_all(&tree)?;
        Ok(cells)
    }

    /// Reads a line of 100 MB between two short ones.
    fn line(&self) -> Result<Vec<[String; 6]>> {
        let path = self.folder.join("line.txt");
        let mut file = BufWriter::new(File::create(&path)?);
        writeln!(file, "before")?;
        for seed in 0..100 {
            file.write_all(text(seed, MB).replace('\n', " ").as_bytes())?;
        }
        writeln!(file, "\nafter")?;
        file.into_inner()?.sync_all()?;
        let starts: String = text(0, MB).replace('\n', " ").chars().take(200).collect();
        let is_cut = |result: &Value| {
            let text = text_of(result);
            text.contains(&starts) && text.len() < 8 * MB
        };
        let is_after = |result: &Value| text_of(result).contains("after");
        let read = |what, arguments, tool, is_right| Question {
            what,
            tool,
            arguments,
            limit: None,
            is_right,
        };
        let whole = json!({"path": path, "line": 2});
        let lines = json!({"file_path": path, "lines": "2-3"});
        let after = json!({"file_path": path, "lines": "3"});
        settle();
        let cells = self.ask(&[
            read("read_text_file of a line of 100 MB", whole, "read_text_file", &is_cut),
            read("ReadLines of it", lines, "ReadLines", &is_cut),
            read("the line after it", after, "ReadLines", &is_after),
        ])?;
        fs::remove_file(&path)?;
        Ok(cells)
    }

    /// Makes the calls in one session, and each in a fresh session in which it is cancelled.
    fn ask(&self, questions: &[Question<'_>]) -> Result<Vec<[String; 6]>> {
        let (mut client, _) = programs::open(self.recto, &self.folder, &[])?;
        let mut cells = Vec::new();
        for question in questions {
            eprintln!("{}", question.what);
            // A cancelled call changes nothing, so it goes first. How long the call takes is not
            // known yet; one that finishes earlier is reported.
            let cancelled = self.cancel(question)?;
            let called = client.call_ok(question.tool, question.arguments.clone());
            let (time, is_right) = match called {
                Ok((exchange, result)) => {
                    let is_right = (question.is_right)(&result);
                    (milliseconds(exchange.time()), if is_right { "yes" } else { "no" }.into())
                }
                Err(error) => ("–".into(), error.to_string()),
            };
            let peak = megabytes(client.process_id(), "VmHWM")?;
            cells.push([
                question.what.to_string(),
                time,
                is_right,
                format!("{peak:.1} MB"),
                question.limit.map_or(String::new(), |limit| format!("≤ {limit} MB")),
                cancelled,
            ]);
        }
        client.stop()?;
        Ok(cells)
    }

    /// Returns how long the server keeps working on a call that is cancelled after 50 ms. A
    /// cancelled call has no answer, so it ends when no thread runs any more.
    fn cancel(&self, question: &Question<'_>) -> Result<String> {
        let (mut client, _) = programs::open(self.recto, &self.folder, &[])?;
        let params = json!({"name": question.tool, "arguments": question.arguments});
        let (id, line) = client.prepare("tools/call", params);
        client.send(&line)?;
        std::thread::sleep(Duration::from_millis(50));
        let started = Instant::now();
        client.notify("notifications/cancelled", json!({"requestId": id, "reason": "measured"}))?;
        let mut rest_since = Instant::now();
        while rest_since.elapsed() < REST && started.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
            if machine::is_running(client.process_id())? {
                rest_since = Instant::now();
            }
        }
        let time = rest_since - started;
        let is_over = has_result(&mut client, id)?;
        client.stop()?;
        Ok(match time.as_millis() {
            _ if is_over => "over before".into(),
            0 => "< 1 ms".into(),
            _ => milliseconds(time),
        })
    }
}

/// Returns whether a request was answered with a result, determined by a ping that follows it.
fn has_result(client: &mut Client, id: u64) -> Result<bool> {
    let (ping, line) = client.prepare("ping", json!({}));
    client.send(&line)?;
    let mut has_result = false;
    loop {
        client.receive(None)?;
        let answer: Value = serde_json::from_slice(client.line())?;
        if answer["id"] == id {
            has_result = answer["result"]["isError"] != true && answer.get("error").is_none();
        }
        if answer["id"] == ping {
            return Ok(has_result);
        }
    }
}

fn last_lines(path: &Path) -> Result<Vec<String>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-(64 << 10)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let end = String::from_utf8_lossy(&end);
    let lines: Vec<_> = end.lines().map(str::to_string).collect();
    Ok(lines[lines.len() - 20..].to_vec())
}

/// Returns whether all lines occur, in order.
fn contains_lines(text: &str, lines: &[String]) -> bool {
    let mut found = text.lines();
    lines.iter().all(|line| found.any(|found| found.trim_end().ends_with(line.trim_end())))
}
