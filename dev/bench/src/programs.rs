//! Starts recto, and finds programs to compare it with.

use std::path::Path;
use std::process::{Command, Stdio};

use recto_dev::client::{Client, Exchange};

use crate::Result;

/// Starts `recto serve` on a directory and opens a session with it.
pub fn open(recto: &Path, root: &Path, options: &[&str]) -> Result<(Client, Exchange)> {
    let mut client = Client::start(Command::new(recto).arg("serve").arg(root).args(options))?;
    let exchange = client.initialize()?;
    Ok((client, exchange))
}

pub fn is_installed(program: &str) -> bool {
    let command = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    command.is_ok_and(|status| status.success())
}
