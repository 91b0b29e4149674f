//! What was measured, as tables: medians with their ratio to recto, p99, bytes, memory and tokens.

use std::time::Duration;

use super::servers::{NoTool, Server};
use crate::goals::{self, Goal};
use crate::rounds::Sample;
use crate::table::{Table, grouped, median, milliseconds, percentile};

/// Servers and the yardstick.
pub const N_COLUMNS: usize = Server::ALL.len() + 1;

/// Why there is no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server does not offer this.
    NoTool(String),
    /// It failed, or its answer was wrong.
    Wrong(String),
}

/// All that one contender did in one row.
#[derive(Default)]
pub struct Cell {
    times: Vec<Duration>,
    n_bytes: Option<usize>,
    pub failure: Option<Failure>,
    /// How long it took in all, with the rounds that do not count.
    pub spent: Duration,
}

impl Cell {
    /// Notes a round; one for warming up does not count, unless it took so long that there will be
    /// few others.
    pub fn add(&mut self, result: crate::Result<Sample>, is_warm_up: bool) {
        match result {
            Ok(sample) => {
                self.spent += sample.time;
                self.n_bytes = sample.n_bytes;
                if !is_warm_up || sample.time > Duration::from_secs(1) {
                    self.times.push(sample.time);
                }
            }
            Err(error) if error.is::<NoTool>() => {
                self.failure = Some(Failure::NoTool(error.to_string()));
            }
            Err(error) => self.failure = Some(Failure::Wrong(error.to_string())),
        }
    }

    pub fn median(&self) -> Option<Duration> {
        let is_right = self.failure.is_none() && !self.times.is_empty();
        is_right.then(|| median(&self.times))
    }

    fn p99(&self) -> Option<Duration> {
        let mut times = self.times.clone();
        times.sort();
        self.median().map(|_| percentile(&times, 99))
    }
}

/// One line of the tables.
pub struct Row {
    pub what: &'static str,
    pub goal: Goal,
    pub yardstick: String,
    /// `None` for a server that is not installed.
    pub cells: [Option<Cell>; N_COLUMNS],
}

/// What is not a time, for one server.
#[derive(Default, Clone)]
pub struct Sizes {
    pub idle_kilobytes: usize,
    pub peak_kilobytes: usize,
    pub n_characters: usize,
}

const HEADINGS: [&str; N_COLUMNS + 2] = {
    let names = Server::ALL;
    [
        "work",
        "goal",
        names[0].name(),
        names[1].name(),
        names[2].name(),
        names[3].name(),
        "yardstick",
    ]
};

/// Prints all tables.
pub fn print(rows: &[Row], sizes: &[Option<Sizes>]) {
    let mut notes: Vec<String> = Vec::new();
    let mut note = |column: usize, reason: &str| {
        let name = Server::ALL.get(column).map_or("the yardstick", |server| server.name());
        let text = format!("{name}: {}", reason.replace('\n', " "));
        let place = notes.iter().position(|note| *note == text);
        place.unwrap_or_else(|| {
            notes.push(text);
            notes.len() - 1
        }) + 1
    };
    let mut medians = Table::new(HEADINGS);
    for row in rows {
        let goal = row.goal.beside_time(row.cells[0].as_ref().and_then(Cell::median));
        let [what, rest @ ..] = cells(row, |column, cell| match (&cell.failure, cell.median()) {
            (Some(Failure::NoTool(reason)), _) => format!("no tool [{}]", note(column, reason)),
            (Some(Failure::Wrong(reason)), _) => format!("fails [{}]", note(column, reason)),
            (None, Some(time)) if column == 0 => milliseconds(time),
            (None, Some(time)) if column < Server::ALL.len() => {
                let recto = row.cells[0].as_ref().and_then(Cell::median);
                let ratio = recto.map(|recto| ratio(time.as_secs_f64() / recto.as_secs_f64()));
                format!("{} ({})", milliseconds(time), ratio.unwrap_or("–".into()))
            }
            (None, Some(time)) => format!("{} {}", row.yardstick, milliseconds(time)),
            (None, None) => "–".into(),
        });
        let mut texts = [what, goal].into_iter().chain(rest);
        medians.add(std::array::from_fn(|_| texts.next().unwrap_or_default()));
    }
    println!("Median, and how many times as long as recto:\n\n{medians}");
    for (index, note) in notes.iter().enumerate() {
        println!("[{}] {note}  ", index + 1);
    }

    let headings = without_goal(HEADINGS);
    let mut p99s = Table::new(headings);
    let mut bytes = Table::new(headings);
    let mut rounds = Table::new(headings);
    let none = || "–".to_string();
    for row in rows {
        p99s.add(cells(row, |_, cell| cell.p99().map_or_else(none, milliseconds)));
        bytes.add(cells(row, |_, cell| match (cell.median(), cell.n_bytes) {
            (Some(_), Some(n_bytes)) => grouped(n_bytes),
            _ => none(),
        }));
        rounds.add(cells(row, |_, cell| cell.times.len().to_string()));
    }
    println!("\np99 (the slowest where there are fewer than 100 rounds):\n\n{p99s}");
    println!("Bytes of an answer, as sent:\n\n{bytes}");
    println!("Rounds that counted:\n\n{rounds}");
    print_sizes(sizes);
    print_misses(rows, sizes);
}

/// A goal is one for medians.
fn without_goal([work, _, rest @ ..]: [&str; N_COLUMNS + 2]) -> [&str; N_COLUMNS + 1] {
    let mut headings = [work].into_iter().chain(rest);
    std::array::from_fn(|_| headings.next().unwrap_or_default())
}

fn cells(row: &Row, mut cell: impl FnMut(usize, &Cell) -> String) -> [String; N_COLUMNS + 1] {
    let mut texts = [row.what.to_string()].into_iter().chain(row.cells.iter().enumerate().map(
        |(column, one)| match one {
            Some(one) => cell(column, one),
            None => "–".into(),
        },
    ));
    std::array::from_fn(|_| texts.next().unwrap_or_default())
}

fn print_sizes(sizes: &[Option<Sizes>]) {
    let headings: [&str; 6] = std::array::from_fn(|index| HEADINGS[index]);
    let mut table = Table::new(headings);
    let recto = sizes.first().cloned().flatten().unwrap_or_default();
    let mut add = |what: &str, goal: String, value: fn(&Sizes) -> String| {
        let mut texts = [what.to_string(), goal]
            .into_iter()
            .chain(sizes.iter().map(|sizes| sizes.as_ref().map_or_else(|| "–".into(), value)));
        table.add(std::array::from_fn(|_| texts.next().unwrap_or_default()));
    };
    let goal = |goal: Goal, n_kilobytes| goal.beside(megabytes(n_kilobytes));
    add("memory, idle", goal(goals::IDLE, recto.idle_kilobytes), |sizes| {
        format!("{:.1} MB", megabytes(sizes.idle_kilobytes))
    });
    add("memory, peak of all rows", goal(goals::PEAK, recto.peak_kilobytes), |sizes| {
        format!("{:.1} MB", megabytes(sizes.peak_kilobytes))
    });
    add("tools/list, characters / 4", String::new(), |sizes| grouped(sizes.n_characters / 4));
    println!("{table}");
}

fn print_misses(rows: &[Row], sizes: &[Option<Sizes>]) {
    let mut misses = Vec::new();
    for row in rows {
        let time = row.cells[0].as_ref().and_then(Cell::median);
        match time.map(|time| time.as_secs_f64() * 1e3) {
            Some(time) => {
                let missed = row.goal.missed_by(time);
                misses.extend(missed.map(|by| format!("{} ({})", row.what, ratio(by))));
            }
            None => misses.push(format!("{} (no time)", row.what)),
        }
    }
    if let Some(Some(sizes)) = sizes.first() {
        for (what, n_kilobytes, goal) in [
            ("memory, idle", sizes.idle_kilobytes, goals::IDLE),
            ("memory, peak", sizes.peak_kilobytes, goals::PEAK),
        ] {
            let missed = goal.missed_by(megabytes(n_kilobytes));
            misses.extend(missed.map(|by| format!("{what} ({})", ratio(by))));
        }
    }
    match misses.as_slice() {
        [] => println!("recto keeps every goal."),
        misses => println!("recto over its goal: {}.", misses.join(", ")),
    }
}

fn megabytes(n_kilobytes: usize) -> f64 {
    n_kilobytes as f64 / 1024.0
}

/// Two digits that mean something.
fn ratio(ratio: f64) -> String {
    match ratio {
        ..9.95 => format!("{ratio:.1}×"),
        _ => format!("{ratio:.0}×"),
    }
}
