//! What the relay costs. Prints; a machine that is busy proves nothing.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::editor::{Editor, Habits};
use crate::client::BINARY;

/// The median time of a message there and back, through a command.
fn round_trip(mut command: Command, n_rounds: usize) -> Duration {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let message =
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"text":"{}"}}}}"#, "a".repeat(200));
    let mut line = String::new();
    let mut times: Vec<Duration> = (0..n_rounds)
        .map(|_| {
            let start = Instant::now();
            writeln!(input, "{message}").unwrap();
            line.clear();
            output.read_line(&mut line).unwrap();
            start.elapsed()
        })
        .collect();
    assert_eq!(line.trim_end(), message);
    drop(input);
    child.wait().unwrap();
    times.sort();
    times[times.len() / 2]
}

#[test]
fn what_a_message_costs() {
    let n_rounds = if std::env::var_os("RECTO_LONG").is_some() { 20_000 } else { 500 };
    let direct = round_trip(Command::new("cat"), n_rounds);
    let mut command = Command::new(BINARY);
    command.args(["acp", "--", "cat"]);
    let relayed = round_trip(command, n_rounds);
    // There and back are two messages.
    let added = relayed.saturating_sub(direct) / 2;
    println!(
        "a message there and back: {direct:?} without, {relayed:?} with the relay: {added:?} added to each (median of {n_rounds})"
    );
}

#[test]
fn what_a_call_through_the_editor_costs() {
    let n_rounds = if std::env::var_os("RECTO_LONG").is_some() { 5_000 } else { 100 };
    let (editor, session) = Editor::in_session(Habits::default());
    std::fs::write(editor.path("f.txt"), "text\n").unwrap();
    editor.open("f.txt", "text\n");
    let path = editor.spelled("f.txt");
    let mut times: Vec<Duration> = (0..n_rounds)
        .map(|_| {
            let start = Instant::now();
            let answer = editor.call(&session, "read_text_file", json!({"path": path}));
            assert_eq!(answer["isError"], false);
            start.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "a read through the editor, agent and editor included: {:?} (median of {n_rounds})",
        times[n_rounds / 2]
    );
}
