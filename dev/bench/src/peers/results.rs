//! Results as tables: medians with their ratio to recto, p99, bytes, memory and tokens.

use std::time::Duration;

use recto_dev::servers::Server;
use recto_dev::table::{Table, grouped, median, milliseconds, percentile};

use super::calls::NoTool;
use crate::goals::{self, Goal};
use crate::rounds::Sample;

/// The number of servers.
pub const N_SERVERS: usize = 4;

/// Servers and the yardstick.
pub const N_COLUMNS: usize = N_SERVERS + 1;

/// Why there is no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server has no tool for this.
    NoTool(String),
    /// It failed, or its answer was wrong.
    Wrong(String),
}

/// The rounds of one contender in one row.
#[derive(Default)]
pub struct Measurements {
    times: Vec<Duration>,
    n_bytes: Option<usize>,
    pub failure: Option<Failure>,
    /// The total time, including rounds that do not count.
    pub spent: Duration,
}

impl Measurements {
    /// Adds a round. A warm-up round does not count, unless it took so long that few others will
    /// follow.
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
        self.median().map(|_| percentile(&self.times, 99))
    }
}

/// One line of the tables.
pub struct Row {
    pub what: &'static str,
    pub goal: Goal,
    pub yardstick: String,
    /// `None` for a server that is not installed.
    pub cells: [Option<Measurements>; N_COLUMNS],
}

/// Sizes and memory of one server.
#[derive(Default, Clone)]
pub struct Sizes {
    /// In MB.
    pub idle: f64,
    /// In MB.
    pub peak: f64,
    pub n_characters: usize,
}

/// Prints all tables.
pub fn print(servers: &[Server], rows: &[Row], sizes: &[Option<Sizes>]) {
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let mut notes: Vec<String> = Vec::new();
    let mut note = |column: usize, reason: &str| {
        let name = names.get(column).unwrap_or(&"the yardstick");
        let text = format!("{name}: {}", reason.replace('\n', " "));
        let place = notes.iter().position(|note| *note == text);
        place.unwrap_or_else(|| {
            notes.push(text);
            notes.len() - 1
        }) + 1
    };
    let mut medians = Table::of_numbers([&["work", "goal"], &names[..], &["yardstick"]].concat());
    for row in rows {
        let recto = row.cells[0].as_ref().and_then(Measurements::median);
        let mut cells = cells(row, |column, cell| match (&cell.failure, cell.median()) {
            (Some(Failure::NoTool(reason)), _) => format!("no tool [{}]", note(column, reason)),
            (Some(Failure::Wrong(reason)), _) => format!("fails [{}]", note(column, reason)),
            (None, Some(time)) if column == 0 => milliseconds(time),
            (None, Some(time)) if column < N_SERVERS => {
                let ratio = recto.map(|recto| ratio(time.as_secs_f64() / recto.as_secs_f64()));
                format!("{} ({})", milliseconds(time), ratio.unwrap_or("–".into()))
            }
            (None, Some(time)) => format!("{} {}", row.yardstick, milliseconds(time)),
            (None, None) => "–".into(),
        });
        cells.insert(1, row.goal.beside_time(recto));
        medians.add(cells);
    }
    println!("Median, and how many times as long as recto:\n\n{medians}");
    for (index, note) in notes.iter().enumerate() {
        println!("[{}] {note}  ", index + 1);
    }

    // Goals apply to medians.
    let headings = [&["work"], &names[..], &["yardstick"]].concat();
    let [mut p99s, mut bytes, mut rounds] = [(); 3].map(|()| Table::of_numbers(headings.clone()));
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
    print_sizes(&names, sizes);
    print_misses(rows, sizes);
}

fn cells(row: &Row, mut cell: impl FnMut(usize, &Measurements) -> String) -> Vec<String> {
    let mut cells = vec![row.what.to_string()];
    for (column, one) in row.cells.iter().enumerate() {
        cells.push(one.as_ref().map_or("–".into(), |one| cell(column, one)));
    }
    cells
}

fn print_sizes(names: &[&str], sizes: &[Option<Sizes>]) {
    let mut table = Table::of_numbers([&["work", "goal"], names].concat());
    let recto = sizes.first().cloned().flatten().unwrap_or_default();
    let mut add = |what: &str, goal: String, value: fn(&Sizes) -> String| {
        let mut cells = vec![what.to_string(), goal];
        cells.extend(sizes.iter().map(|sizes| sizes.as_ref().map_or("–".into(), value)));
        table.add(cells);
    };
    add("memory, idle", goals::IDLE.beside(recto.idle), |sizes| format!("{:.1} MB", sizes.idle));
    add("memory, peak of all rows", goals::PEAK.beside(recto.peak), |sizes| {
        format!("{:.1} MB", sizes.peak)
    });
    add("tools/list, characters / 4", String::new(), |sizes| grouped(sizes.n_characters / 4));
    println!("{table}");
}

fn print_misses(rows: &[Row], sizes: &[Option<Sizes>]) {
    let mut misses = Vec::new();
    for row in rows {
        let time = row.cells[0].as_ref().and_then(Measurements::median);
        match time.map(|time| time.as_secs_f64() * 1e3) {
            Some(time) => {
                let missed = row.goal.missed_by(time);
                misses.extend(missed.map(|by| format!("{} ({})", row.what, ratio(by))));
            }
            None => misses.push(format!("{} (no time)", row.what)),
        }
    }
    if let Some(Some(sizes)) = sizes.first() {
        for (what, megabytes, goal) in
            [("memory, idle", sizes.idle, goals::IDLE), ("memory, peak", sizes.peak, goals::PEAK)]
        {
            let missed = goal.missed_by(megabytes);
            misses.extend(missed.map(|by| format!("{what} ({})", ratio(by))));
        }
    }
    match misses.as_slice() {
        [] => println!("recto keeps every goal."),
        misses => println!("recto over its goal: {}.", misses.join(", ")),
    }
}

/// Formats a ratio with two significant digits.
fn ratio(ratio: f64) -> String {
    match ratio {
        ..9.95 => format!("{ratio:.1}×"),
        _ => format!("{ratio:.0}×"),
    }
}
