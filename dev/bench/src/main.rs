//! Measures what recto costs a client over pipes, and prints Markdown.
//!
//! Goals are shown beside the numbers; only `--instructions`, `--search` and `--tasks` fail if one is missed. A
//! wrong answer ends the run, because its time would be meaningless.

// The output is Markdown on stdout.
#![allow(clippy::print_stdout)]

mod around;
mod editor;
mod files;
mod goals;
mod growth;
mod http;
mod huge;
mod instructions;
mod journal;
mod machine;
mod measured;
mod peers;
mod plot;
mod programs;
mod rounds;
mod rows;
mod search;
mod sizes;
mod tasks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use recto_dev::Result;
use recto_dev::servers::find_recto;
use recto_dev::table::Table;

use measured::Measured;
use rounds::Bench;
use rows::{ROWS, Row, YARDSTICKS};

const HELP: &str = "\
Measures what recto costs and prints Markdown tables.

Usage: cargo run --release -p recto-bench -- [OPTIONS]

Options:
  --recto PATH  The program to measure; by default `recto` in target/release, which is built
                only if it does not exist
  --around      Listing, searching, huge logs and tables, compared with fd, rg, wc, sed, head and
                DuckDB if installed (RECTO_BENCH_PYTHON names a Python with the duckdb module).
                Needs 2 GB of disk
  --editor      The relay between an editor and an agent, and calls through an editor
  --peers       recto and the servers that dev/support/install-peers installs, on the same work
  --tasks       Calls and tokens of an agent's tasks, done by scripts. An error if a result is wrong
                or a goal is missed. Needs git, and cargo to download ripgrep, globset and jj-cli
  --task NAME   With --tasks, only those whose names contain this
  --trace       With --tasks, prints the calls
  --beside PATH With --tasks, an earlier build of recto to compare with; with --peers, another build
                in place of the first peer
  --search      Results and times of searches, compared with ripgrep. An error if they differ, or if
                recto is slower than the goal
  --tree PATH   With --search, a directory to search; repeat it, the largest last
  --rg PATH     With --search, the ripgrep to compare with
  --growth      How costs grow with sizes, and a plot in docs/growth.svg. Needs 1 GB of disk
  --plot PATH   The file that --growth draws
  --http        1,000 sessions over HTTP on 400 connections, beside stdio; an error if an edit is lost.
                Reads beside a peer, 5,000 sessions and 10,000 connections that are not used, 400 answers
                that are not read
  --journal     What the journal costs. RECTO_BENCH_REPOSITORY names a git directory whose history is
                replayed
  --huge        A log of 4 GB, an edit in 1 GB, a million files, a line of 100 MB: time, memory,
                and how fast a cancelled call ends. Needs 5 GB of disk and some minutes
  --instructions  Instructions of core calls, compared with dev/bench/instructions.toml; an error if
                one grew by more than 5 %. Needs valgrind
  --update      Records the current instruction counts
  --quick       A tenth of the rounds
  --help        This text

Works in a temporary directory below $TMPDIR, or /tmp. The cost of writes depends on its file
system; on a tmpfs, fsync costs nothing.";

/// Rounds before the first that counts.
const N_WARM_UP: usize = 3;

/// The mode of a run.
#[derive(Default)]
enum Mode {
    #[default]
    Calls,
    Around,
    Editor,
    Peers,
    Growth,
    Http,
    Huge,
    Instructions,
    Journal,
    Search,
    Tasks,
}

/// The command line.
#[derive(Default)]
struct Options {
    recto: Option<PathBuf>,
    beside: Option<PathBuf>,
    plot: Option<PathBuf>,
    trees: Vec<PathBuf>,
    rg: Option<PathBuf>,
    tasks: tasks::Selection,
    is_quick: bool,
    is_update: bool,
    mode: Mode,
    wants_help: bool,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("recto-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--recto" => {
                options.recto = Some(arguments.next().ok_or("--recto needs a path")?.into());
            }
            "--beside" => {
                options.beside = Some(arguments.next().ok_or("--beside needs a path")?.into());
            }
            "--plot" => {
                options.plot = Some(arguments.next().ok_or("--plot needs a path")?.into());
            }
            "--tree" => options.trees.push(arguments.next().ok_or("--tree needs a path")?.into()),
            "--rg" => options.rg = Some(arguments.next().ok_or("--rg needs a path")?.into()),
            "--task" => {
                options.tasks.name = Some(arguments.next().ok_or("--task needs a name")?);
            }
            "--trace" => options.tasks.is_traced = true,
            "--tasks" => options.mode = Mode::Tasks,
            "--around" => options.mode = Mode::Around,
            "--editor" => options.mode = Mode::Editor,
            "--peers" => options.mode = Mode::Peers,
            "--growth" => options.mode = Mode::Growth,
            "--search" => options.mode = Mode::Search,
            "--http" => options.mode = Mode::Http,
            "--journal" => options.mode = Mode::Journal,
            "--huge" => options.mode = Mode::Huge,
            "--instructions" => options.mode = Mode::Instructions,
            "--update" => options.is_update = true,
            "--quick" => options.is_quick = true,
            "--help" | "-h" => options.wants_help = true,
            _ => return Err(format!("unknown option {argument}; try --help").into()),
        }
    }
    Ok(options)
}

fn run(options: Options) -> Result<()> {
    if options.wants_help {
        println!("{HELP}");
        return Ok(());
    }
    let recto = find_recto(options.recto)?;
    match options.mode {
        Mode::Calls => run_calls(recto, options.is_quick),
        Mode::Around => around::run(&recto, options.is_quick),
        Mode::Editor => editor::run(&recto, options.is_quick),
        Mode::Peers => peers::run(&recto, options.beside, options.is_quick),
        Mode::Growth => {
            let plot = options.plot.unwrap_or_else(|| "docs/growth.svg".into());
            growth::run(&recto, &plot, options.is_quick)
        }
        Mode::Http => http::run(&recto, options.is_quick),
        Mode::Journal => journal::run(&recto, options.is_quick),
        Mode::Huge => huge::run(&recto),
        Mode::Search => {
            let rg = options.rg.unwrap_or_else(|| "rg".into());
            search::run(&recto, &rg, &options.trees)
        }
        Mode::Tasks => tasks::run(&recto, options.beside, &options.tasks),
        Mode::Instructions => {
            let kept = Path::new("dev/bench/instructions.toml");
            instructions::run(&recto, kept, options.is_update)
        }
    }
}

fn run_calls(recto: PathBuf, is_quick: bool) -> Result<()> {
    let mut bench = Bench::prepare(recto)?;
    println!("{}\n", machine::describe(bench.folder.path())?);

    let mut times = Table::of_numbers(["what", "median", "p99", "goal", "rounds", "answer"]);
    for (rows, suffix) in [(YARDSTICKS, ""), (ROWS, ""), (YARDSTICKS, ", afterwards")] {
        for row in rows {
            let measured = measure(&mut bench, row, is_quick)?;
            times.add(measured.cells(row.what, suffix, row.goal));
        }
    }
    println!("{times}");

    let mut others = Table::of_numbers(["what", "size", "goal"]);
    for size in sizes::measure(&mut bench)? {
        others.add([size.what.to_string(), size.value, size.goal]);
    }
    println!("{others}");
    bench.stop()
}

fn measure(bench: &mut Bench, row: &Row, is_quick: bool) -> Result<Measured> {
    eprintln!("{}", row.what);
    let n_rounds = if is_quick { row.n_rounds.div_ceil(10) } else { row.n_rounds };
    let mut measured = Measured::default();
    for round in 0..N_WARM_UP + n_rounds {
        let sample = (row.round)(bench, round).map_err(|error| format!("{}: {error}", row.what))?;
        if round >= N_WARM_UP {
            measured.add(sample);
        }
    }
    Ok(measured)
}
