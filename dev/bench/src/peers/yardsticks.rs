//! The time of comparable operations on this machine, measured in turn with the servers.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use recto_dev::client::Client;

use crate::Result;
use crate::files::{MB, text};
use crate::programs::is_installed;
use crate::rounds::Sample;

/// A comparable operation.
#[derive(Clone, Copy)]
pub enum Yardstick {
    /// Starts a program and waits for its end.
    Start,
    /// Sends a short line through `cat` and back.
    Echo,
    /// Runs a program with these arguments and reads its output.
    Program(&'static [&'static str]),
    /// Runs the first of these programs that is installed.
    Fd,
    /// Writes and syncs a new file of 1 MB.
    Sync,
}

impl Yardstick {
    pub fn name(self) -> String {
        match self {
            Yardstick::Start => "`true`".into(),
            Yardstick::Echo => "echo by `cat`".into(),
            Yardstick::Program(arguments) => {
                format!("`{}`", arguments[..arguments.len() - 1].join(" "))
            }
            Yardstick::Fd => "`fd`".into(),
            Yardstick::Sync => "write, fsync".into(),
        }
    }

    /// Measures once.
    pub fn measure(self, root: &Path, echo: &mut Client, round: usize) -> Result<Sample> {
        match self {
            Yardstick::Start => time_of(&["/bin/true"], root),
            Yardstick::Echo => Ok(echo.exchange(b"a line\n")?.into()),
            Yardstick::Program(arguments) => time_of(arguments, root),
            Yardstick::Fd => {
                let fd = ["fdfind", "fd"].into_iter().find(|program| is_installed(program));
                let fd = fd.ok_or("fd is not installed")?;
                time_of(&[fd, "--extension", "rs", ".", "tree"], root)
            }
            Yardstick::Sync => {
                let content = text(5000 + round as u64, MB);
                let path = root.join("synced.txt");
                let started = Instant::now();
                let mut file = File::create(path)?;
                file.write_all(content.as_bytes())?;
                file.sync_all()?;
                Ok(started.elapsed().into())
            }
        }
    }
}

/// Runs a program and reads its output to the end, like an answer.
fn time_of(program: &[&str], folder: &Path) -> Result<Sample> {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).current_dir(folder).stdin(Stdio::null());
    let started = Instant::now();
    let output = command.output()?;
    let time = started.elapsed();
    match output.status.success() {
        true => Ok(Sample { time, n_bytes: Some(output.stdout.len()) }),
        false => Err(format!("{} ended with {}", program[0], output.status).into()),
    }
}
