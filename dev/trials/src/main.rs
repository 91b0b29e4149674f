//! Runs reliability trials on recto and other servers over pipes, and prints a Markdown table.
//!
//! Every trial has a goal. recto's cells say `ok` or `FAILS`, and the exit status is 1 if one fails;
//! the results of other servers are reported without a verdict.

// The output is Markdown on stdout.
#![allow(clippy::print_stdout)]

mod cell;
mod files;
mod mounts;
mod process;
mod session;
mod tracer;
mod trials;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use recto_dev::Result;
use recto_dev::servers::{Server, ServerKind, find_recto};
use recto_dev::table::Table;

use cell::Cell;
use trials::{ALL, Trial};

/// The version of mcp-text-editor that is tried.
const TEXT_EDITOR: &str = "1.2.2";

const HELP: &str = "\
Runs reliability trials on recto and other file servers, and prints a Markdown table.

Usage: cargo run --release -p recto-trials -- [OPTIONS]

Options:
  --long        As many rounds as the goals name, for recto only
  --only NAME   Only this trial; repeatable
  --recto PATH  The program to try; by default `recto` in target/release, which is built
                only if it does not exist
  --no-peers    recto only
  --list        The names of the trials
  --help        This text

Other servers are tried if dev/support/install-peers has installed them.
Works in temporary directories below $TMPDIR, or /tmp. Some trials need root (mounting) or
permission to trace; a trial that cannot run is reported as skipped.";

/// The command line.
#[derive(Default)]
struct Options {
    recto: Option<PathBuf>,
    is_long: bool,
    has_no_peers: bool,
    only: Vec<String>,
    wants_list: bool,
    wants_help: bool,
}

/// How many rounds to run.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    is_long: bool,
}

impl Effort {
    /// Returns whether these are the full rounds that a goal names.
    pub fn is_long(self) -> bool {
        self.is_long
    }

    /// Returns a number of rounds.
    pub fn rounds(self, short: usize, long: usize) -> usize {
        if self.is_long { long } else { short }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((option, rest)) if option == tracer::OPTION => tracer::main(rest).map(|()| 0),
        _ => parse(arguments.into_iter()).and_then(run),
    };
    match done {
        Ok(0) => ExitCode::SUCCESS,
        Ok(n_missed) => {
            eprintln!("recto-trials: recto misses {n_missed} goals");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("recto-trials: {error}");
            ExitCode::from(2)
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
            "--only" => options.only.push(arguments.next().ok_or("--only needs a name")?),
            "--long" => options.is_long = true,
            "--no-peers" => options.has_no_peers = true,
            "--list" => options.wants_list = true,
            "--help" | "-h" => options.wants_help = true,
            _ => return Err(format!("unknown option {argument}; try --help").into()),
        }
    }
    if let Some(name) = options.only.iter().find(|name| ALL.iter().all(|t| t.name != **name)) {
        return Err(format!("no trial is called {name}; try --list").into());
    }
    Ok(options)
}

/// Runs the trials and returns how many goals recto misses.
fn run(options: Options) -> Result<usize> {
    if options.wants_help {
        println!("{HELP}");
        return Ok(0);
    }
    if options.wants_list {
        ALL.iter().for_each(|trial| println!("{}", trial.name));
        return Ok(0);
    }
    let servers = Server::all(&find_recto(options.recto)?, TEXT_EDITOR);
    let servers = if options.has_no_peers { &servers[..1] } else { &servers };
    let names = servers.iter().map(|server| server.name.as_str());
    let mut table = Table::of_text(["trial"].into_iter().chain(names).chain(["goal"]));
    let mut n_missed = 0;
    let is_chosen =
        |trial: &&Trial| options.only.is_empty() || options.only.iter().any(|n| n == trial.name);
    for trial in ALL.iter().filter(is_chosen) {
        let columns: Vec<Vec<Cell>> = servers
            .iter()
            .map(|server| match server.is_installed() {
                true => attempt(trial, server, options.is_long),
                false => vec![Cell::none(); trial.rows.len()],
            })
            .collect();
        for (index, (what, goal)) in trial.rows.iter().enumerate() {
            n_missed += usize::from(columns[0][index].is_missed());
            let mut cells = vec![what.to_string()];
            cells.extend(columns.iter().map(|column| column[index].to_string()));
            cells.push(goal.to_string());
            table.add(cells);
        }
    }
    println!("{table}");
    Ok(n_missed)
}

/// Runs one trial on one server. An error counts as a missed goal.
fn attempt(trial: &Trial, server: &Server, is_long: bool) -> Vec<Cell> {
    let is_recto = server.kind == ServerKind::Recto;
    let started = Instant::now();
    let effort = Effort { is_long: is_long && is_recto };
    let mut cells = (trial.run)(effort, server)
        .unwrap_or_else(|error| vec![Cell::new(false, format!("broke off: {error:.120}"))]);
    // A trial that ended early has one result for all of its remaining rows.
    let last = cells.last().cloned().unwrap_or(Cell::none());
    cells.resize(trial.rows.len(), last);
    if !is_recto {
        cells.iter_mut().for_each(Cell::withhold_judgement);
    }
    let result: Vec<_> = cells.iter().map(Cell::to_string).collect();
    let seconds = started.elapsed().as_secs_f32();
    eprintln!("{}, {}, {seconds:.1} s: {}", trial.name, server.name, result.join("; "));
    cells
}
