//! Starts recto, and finds programs to compare it with.

use std::path::Path;
use std::process::{Command, Stdio};

use recto_dev::client::{Client, Exchange};

use crate::Result;

/// Large enough for reads of a megabyte, which the benchmarks measure.
pub const MAX_ANSWER: [&str; 2] = ["--max-read-bytes", "2097152"];

/// Starts `recto serve` on a directory and opens a session with it.
pub fn open(recto: &Path, root: &Path, options: &[&str]) -> Result<(Client, Exchange)> {
    let mut command = Command::new(recto);
    command.arg("serve").arg(root).args(MAX_ANSWER).args(options);
    let mut client = Client::start(&mut command)?;
    let exchange = client.initialize()?;
    Ok((client, exchange))
}

pub fn is_installed(program: &str) -> bool {
    let command = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    command.is_ok_and(|status| status.success())
}
