//! Counts the instructions of calls with valgrind and compares them with
//! `dev/bench/instructions.toml`. Load does not change a count.
//!
//! A session with one call and one with many are counted, and the difference is divided by the
//! calls between them, which excludes startup. Counts of another compiler or valgrind are not
//! compared.

mod kept;
mod operations;

use std::path::Path;
use std::process::Command;

use recto_dev::client::Client;
use recto_dev::table::{Table, grouped};

use kept::Kept;
use operations::{Files, OPERATIONS, Operation};

use crate::Result;
use crate::programs::is_installed;

/// A larger difference counts as a change.
const TOLERANCE: f64 = 0.05;

/// Counts every operation. With `is_update` the counts are recorded; otherwise they are compared,
/// and one that grew is an error.
pub fn run(recto: &Path, kept: &Path, is_update: bool) -> Result<()> {
    if !is_installed("valgrind") {
        println!("skipped: valgrind is not installed");
        return Ok(());
    }
    let here = Kept::here()?;
    let before = Kept::read(kept)?;
    if !is_update && before.counted_with != here {
        println!("skipped: counts are kept for {}, this is {here}", before.counted_with);
        return Ok(());
    }
    let files = Files::create()?;
    let mut now = Kept { counted_with: here, ..Kept::default() };
    let mut table = Table::of_numbers(["operation", "instructions", "kept", "change"]);
    let (mut grown, mut fallen) = (Vec::new(), Vec::new());
    for operation in OPERATIONS {
        eprintln!("{}", operation.name);
        let kept = before.count(operation.name);
        let counted = count_fairly(recto, &files, operation, kept)
            .map_err(|error| format!("{}: {error}", operation.name))?;
        now.counts.push((operation.name.to_string(), counted));
        let change = kept.map(|kept| counted as f64 / kept as f64 - 1.0);
        match change {
            Some(change) if change > TOLERANCE => grown.push(operation.name),
            Some(change) if change < -TOLERANCE => fallen.push(operation.name),
            None => grown.push(operation.name),
            _ => {}
        }
        table.add([
            operation.name.to_string(),
            grouped(counted as usize),
            kept.map_or("–".into(), |kept| grouped(kept as usize)),
            change.map_or("new".into(), |change| format!("{:+.1} %", change * 100.0)),
        ]);
    }
    println!("{table}");
    files.remove()?;
    if is_update {
        now.write(kept)?;
        println!("kept in {}", kept.display());
        return Ok(());
    }
    if !fallen.is_empty() {
        println!(
            "cheaper than kept: {}. `dev/bench/instructions --update` keeps it that way.",
            fallen.join(", ")
        );
    }
    match grown.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "dearer than kept by more than {:.0} %: {}. If that is meant, `dev/bench/instructions --update` accepts it",
            TOLERANCE * 100.0,
            grown.join(", ")
        )
        .into()),
    }
}

/// Counts operations again that seem to have grown, and takes the lowest count: sometimes a call
/// waits for a lock or a thread, but a real increase shows in every count.
fn count_fairly(
    recto: &Path,
    files: &Files,
    operation: &Operation,
    kept: Option<u64>,
) -> Result<u64> {
    let mut least = count(recto, files, operation)?;
    for _ in 0..2 {
        if kept.is_none_or(|kept| least as f64 <= kept as f64 * (1.0 + TOLERANCE / 2.0)) {
            break;
        }
        least = count(recto, files, operation)?.min(least);
    }
    Ok(least)
}

/// Returns the instructions of one call.
fn count(recto: &Path, files: &Files, operation: &Operation) -> Result<u64> {
    let few = count_session(recto, files, operation, 1)?;
    let many = count_session(recto, files, operation, 1 + operation.n_calls)?;
    Ok(many.saturating_sub(few) / operation.n_calls as u64)
}

/// Returns the instructions of a session with that many calls.
fn count_session(
    recto: &Path,
    files: &Files,
    operation: &Operation,
    n_calls: usize,
) -> Result<u64> {
    files.reset()?;
    let log = files.path().join("valgrind.log");
    let out = files.path().join("callgrind.out");
    // Addresses that differ between runs would change hash tables and copies.
    let mut command = Command::new("setarch");
    command.args(["--addr-no-randomize", "valgrind", "--tool=callgrind"]);
    command.arg(format!("--log-file={}", log.display()));
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(recto).arg("serve").arg(files.root()).args(crate::programs::MAX_ANSWER);
    command.args(["--journal", if operation.is_recorded { "on" } else { "off" }]);
    let mut client = Client::start(&mut command)?;
    client.initialize()?;
    for round in 0..n_calls {
        let arguments = (operation.arguments)(files, round);
        client.call_ok(operation.tool, arguments)?;
    }
    client.stop()?;
    let log = std::fs::read_to_string(log)?;
    let counted = log.lines().find_map(|line| line.split_once("Collected :"));
    let counted = counted.ok_or("valgrind did not say what it counted")?.1;
    Ok(counted.trim().parse()?)
}
