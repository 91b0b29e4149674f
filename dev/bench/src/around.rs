//! Compares listing, searching, paging and previews of large files and trees with `fd`, `rg`,
//! `sed`, `wc`, `head` and DuckDB. Each program takes turns with recto, so noise affects both.
//!
//! A program that is not installed shows as a dash. DuckDB runs in the Python that
//! `RECTO_BENCH_PYTHON` names and is timed there, so that starting Python does not count.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use recto_dev::process::megabytes;
use recto_dev::table::{Table, median, milliseconds};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::files::{MB, settle, text, write_text};
use crate::programs::{self, is_installed};
use crate::{Result, machine};

const N_FOLDERS: usize = 100;
const N_FILES: usize = 1000;
const LOG_BYTES: usize = 512 * MB;
const CSV_BYTES: usize = 1024 * MB;

/// Creates the files, measures, and prints the table.
pub fn run(recto: &Path, is_quick: bool) -> Result<()> {
    let folder = TempDir::with_prefix("recto-bench-")?;
    let n_rounds = if is_quick { 3 } else { 15 };
    println!("{}\n", machine::describe(folder.path())?);
    let headings = ["what", "recto", "others", "ratio", "goal", "most memory"];
    let mut table = Table::of_numbers(headings);
    let around = Around { recto, folder: folder.path().canonicalize()?, n_rounds };
    around.tree(&mut table)?;
    around.log(&mut table)?;
    around.tables(&mut table)?;
    println!("{table}");
    Ok(folder.close()?)
}

struct Around<'a> {
    recto: &'a Path,
    folder: PathBuf,
    n_rounds: usize,
}

/// The result of a row: recto's median, and the other measurements.
struct Row {
    what: String,
    time: Duration,
    others: Vec<(&'static str, Option<Duration>)>,
    goal: &'static str,
    /// In MB.
    peak: f64,
}

impl Row {
    fn cells(self) -> [String; 6] {
        let other = |(name, time): &(&str, Option<Duration>)| match time {
            Some(time) => format!("{name} {}", milliseconds(*time)),
            None => format!("{name} –"),
        };
        let ratio = match self.others.first() {
            Some((_, Some(time))) => {
                format!("{:.2}", self.time.as_secs_f64() / time.as_secs_f64())
            }
            _ => String::new(),
        };
        [
            self.what,
            milliseconds(self.time),
            self.others.iter().map(other).collect::<Vec<_>>().join(", "),
            ratio,
            self.goal.to_string(),
            format!("{:.1} MB", self.peak),
        ]
    }
}

impl Around<'_> {
    /// Measures a call and the first of these programs that is installed, in turns.
    fn beside(
        &self,
        what: &str,
        (tool, arguments): (&str, Value),
        programs: &[&[&str]],
        goal: &'static str,
    ) -> Result<Row> {
        let (mut client, _) = programs::open(self.recto, &self.folder, &[])?;
        let program = programs.iter().find(|program| is_installed(program[0]));
        let (mut times, mut others) = (Vec::new(), Vec::new());
        for _ in 0..=self.n_rounds {
            let (exchange, _) = client.call_ok(tool, arguments.clone())?;
            times.push(exchange.time());
            if let Some(program) = program {
                others.push(time_of(program, &self.folder)?);
            }
        }
        let name = ["fd", "rg"].into_iter().find(|name| programs[0][0] == *name);
        let row = Row {
            what: what.into(),
            // The first round fills recto's and the kernel's caches.
            time: median(&times[1..]),
            others: vec![(name.unwrap_or("others"), program.map(|_| median(&others[1..])))],
            goal,
            peak: megabytes(client.process_id(), "VmHWM")?,
        };
        client.stop()?;
        Ok(row)
    }

    fn tree(&self, table: &mut Table) -> Result<()> {
        eprintln!("a tree of {} files", N_FOLDERS * N_FILES);
        for folder in 0..N_FOLDERS {
            for part in 0..N_FILES / 50 {
                let place = self.folder.join(format!("tree/{folder}/{part}"));
                fs::create_dir_all(&place)?;
                for file in 0..50 {
                    let ending = ["rs", "md", "toml", "txt"][(folder + file) % 4];
                    let line = format!("{} needle {file}\n", text(file as u64, 200));
                    fs::write(place.join(format!("{file}.{ending}")), line)?;
                }
            }
        }
        let list = ("ListFiles", json!({"pattern": "tree/**/*.rs"}));
        let fd = [&["fd", "-e", "rs", ".", "tree"][..], &["fdfind", "-e", "rs", ".", "tree"]];
        table
            .add(self.beside("list **/*.rs among 100,000 files", list, &fd, "≤ 1.5 × fd")?.cells());
        let search = ("ReadLines", json!({"file_path": "tree/**/*.rs", "match": "NEEDLE 48"}));
        let rg = [&["rg", "-n", "-i", "-F", "needle 48", "-g", "*.rs", "tree"][..]];
        table.add(self.beside("search those 25,000 files", search, &rg, "")?.cells());
        Ok(())
    }

    fn log(&self, table: &mut Table) -> Result<()> {
        eprintln!("a log of 512 MB");
        let path = self.folder.join("log.txt");
        let n_lines = write_text(&path, LOG_BYTES / MB, MB)?;
        let first = n_lines / 10 * 9;
        let page =
            |line: usize| json!({"file_path": "log.txt", "lines": format!("{line}-{}", line + 19)});
        let sed = format!("{first},{last}p;{last}q", last = first + 19);
        let (mut firsts, mut nexts, mut tails) = (Vec::new(), Vec::new(), Vec::new());
        let (mut counts, mut seds, mut peak) = (Vec::new(), Vec::new(), 0.0);
        settle();
        for round in 0..=self.n_rounds {
            let (mut client, _) = programs::open(self.recto, &self.folder, &[])?;
            let mut time = |arguments: Value| -> Result<Duration> {
                Ok(client.call_ok("ReadLines", arguments)?.0.time())
            };
            let all = [
                time(page(first))?,
                time(page(first + 20))?,
                time(json!({"file_path": "log.txt", "lines": "+20-"}))?,
                time_of(&["wc", "-l", "log.txt"], &self.folder)?,
                time_of(&["sed", "-n", &sed, "log.txt"], &self.folder)?,
            ];
            if round > 0 {
                for (times, time) in [&mut firsts, &mut nexts, &mut tails, &mut counts, &mut seds]
                    .into_iter()
                    .zip(all)
                {
                    times.push(time);
                }
            }
            peak = megabytes(client.process_id(), "VmHWM")?.max(peak);
            client.stop()?;
        }
        let others = vec![("wc -l", Some(median(&counts))), ("sed -n", Some(median(&seds)))];
        for (what, times, others, goal) in [
            ("20 lines at 90 % of 512 MB, first", firsts, others, "≤ 2 × wc -l"),
            ("the next 20 lines", nexts, Vec::new(), "< 1 ms"),
            ("the last 20 lines then", tails, Vec::new(), "< 1 ms"),
        ] {
            let row = Row { what: what.into(), time: median(&times), others, goal, peak };
            table.add(row.cells());
        }
        Ok(fs::remove_file(path)?)
    }

    fn tables(&self, table: &mut Table) -> Result<()> {
        eprintln!("a CSV file of 1 GB");
        let path = self.folder.join("big.csv");
        let mut csv = BufWriter::new(File::create(&path)?);
        let mut n_bytes = csv.write(b"id,name,price,day,is_open,at\n")?;
        let mut id = 0usize;
        while n_bytes < CSV_BYTES {
            let (day, minute) = (id % 28 + 1, id % 60);
            let line = format!(
                "{id},\"name, {id}\",{}.{:02},2026-02-{day:02},{},2026-02-{day:02}T10:{minute:02}:00\n",
                id % 1000,
                id % 100,
                id.is_multiple_of(2),
            );
            csv.write_all(line.as_bytes())?;
            n_bytes += line.len();
            id += 1;
        }
        csv.into_inner()?.sync_all()?;
        let head = time_median(&["head", "-n", "101", "big.csv"], &self.folder, self.n_rounds)?;
        let others = vec![
            ("DuckDB", self.duckdb("SELECT * FROM 'big.csv' LIMIT 100")?),
            ("head", Some(head)),
        ];
        table.add(self.preview("100 rows of a 1 GB CSV file", "big.csv", others)?.cells());
        fs::remove_file(path)?;

        eprintln!("a Parquet file of 200 MB");
        let make = "COPY (SELECT range AS id, 'name ' || range AS name, random() AS price, \
            hash(range) AS code, DATE '2026-01-01' + (range % 365)::INTEGER AS day \
            FROM range(9000000)) TO 'big.parquet'";
        if self.duckdb(make)?.is_none() {
            eprintln!("only DuckDB makes the Parquet file; see --help");
            return Ok(());
        }
        let size = fs::metadata(self.folder.join("big.parquet"))?.len() as usize / MB;
        let others = vec![("DuckDB", self.duckdb("SELECT * FROM 'big.parquet' LIMIT 100")?)];
        let what = format!("100 rows of a {size} MB Parquet file");
        table.add(self.preview(&what, "big.parquet", others)?.cells());
        Ok(())
    }

    fn preview(
        &self,
        what: &str,
        file: &str,
        others: Vec<(&'static str, Option<Duration>)>,
    ) -> Result<Row> {
        let (mut client, _) = programs::open(self.recto, &self.folder, &[])?;
        let mut times = Vec::new();
        for _ in 0..=self.n_rounds {
            let arguments = json!({"file_path": file, "limit": 100});
            times.push(client.call_ok("ReadAsTable", arguments)?.0.time());
        }
        let peak = megabytes(client.process_id(), "VmHWM")?;
        client.stop()?;
        let time = median(&times[1..]);
        Ok(Row { what: what.into(), time, others, goal: "faster than DuckDB", peak })
    }

    /// Returns how long DuckDB takes, or `None` if it is not installed.
    fn duckdb(&self, query: &str) -> Result<Option<Duration>> {
        let script = "import sys, time, duckdb\n\
            times = []\n\
            for _ in range(int(sys.argv[2])):\n\
            \x20   connection = duckdb.connect()\n\
            \x20   start = time.perf_counter()\n\
            \x20   connection.execute(sys.argv[1]).fetchall()\n\
            \x20   times.append(time.perf_counter() - start)\n\
            print(sorted(times)[len(times) // 2])";
        let python = std::env::var_os("RECTO_BENCH_PYTHON").unwrap_or("python3".into());
        let n_rounds = if query.starts_with("COPY") { 1 } else { self.n_rounds };
        let mut command = Command::new(python);
        command.args(["-c", script, query, &n_rounds.to_string()]).current_dir(&self.folder);
        let output = command.stderr(Stdio::null()).output()?;
        let seconds = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>();
        Ok(seconds.ok().filter(|_| output.status.success()).map(Duration::from_secs_f64))
    }
}

fn time_of(program: &[&str], folder: &Path) -> Result<Duration> {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).current_dir(folder).stdout(Stdio::null()).stdin(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let time = start.elapsed();
    match status.success() {
        true => Ok(time),
        false => Err(format!("{} ended with {status}", program[0]).into()),
    }
}

fn time_median(program: &[&str], folder: &Path, n_rounds: usize) -> Result<Duration> {
    let times: Result<Vec<_>> = (0..=n_rounds).map(|_| time_of(program, folder)).collect();
    Ok(median(&times?[1..]))
}
