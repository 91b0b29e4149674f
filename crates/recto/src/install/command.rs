//! Runs clients' own commands.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::format::{Content, Entry};
use super::launch::Launch;
use super::places::{Scope, Surroundings};

/// Some clients take seconds to start, and more on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Fills the placeholders of a command.
pub fn filled(command: &[&str], scope: Scope, launch: &Launch, entries: &[Entry]) -> Vec<String> {
    let json = || match entries.first().map(|entry| &entry.content) {
        Some(Content::Object(value)) => value.to_string(),
        _ => Value::Null.to_string(),
    };
    let mut words = Vec::new();
    for word in command {
        match *word {
            "SCOPE" => words.push(scope.name().to_string()),
            "JSON" => words.push(json()),
            "COMMAND" => {
                words.push(launch.program.clone());
                words.extend(launch.server_arguments());
            }
            word => words.push(word.to_string()),
        }
    }
    words
}

/// Runs a command in the project.
pub fn run(command: &[String], around: &Surroundings) -> Result<(), String> {
    let (name, arguments) = command.split_first().ok_or("no command")?;
    let program = around.on_path(name).ok_or_else(|| format!("{name} is not on the PATH"))?;
    let child = Command::new(&program)
        .args(arguments)
        .current_dir(&around.project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = child.map_err(|error| format!("{name}: {error}"))?;
    wait(child).map_err(|error| format!("{name} {error}"))
}

/// Returns the first number of the version that a program prints.
pub fn major_version(program: &Path) -> Option<u32> {
    let child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.ok()?;
    let mut stdout = child.stdout.take()?;
    wait(child).ok()?;
    let mut text = [0; 64];
    let n_bytes = stdout.read(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text[..n_bytes]);
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn wait(mut child: Child) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("ended with {status}")),
            None if start.elapsed() > MAX_TIME => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("took over {} s", MAX_TIME.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}
