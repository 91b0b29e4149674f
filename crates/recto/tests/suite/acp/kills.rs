//! Kills during a write: old or new text, written once, and no process left behind.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::acp_editor::{
    Editor, Habits, MAX_WAIT, Writes, called, check_gone, is_alive, kill, read,
};

const SOON: Duration = Duration::from_secs(5);

const SWITCH: &str = "RECTO_SCRIPTED_EDITOR";

/// Returns an editor that received a write and does not answer it, and all processes.
fn in_the_middle() -> (Editor, std::sync::mpsc::Receiver<Value>, Vec<u32>) {
    let habits = Habits { writes: Writes::Unanswered, ..Habits::default() };
    let (editor, session) = Editor::in_session(habits);
    std::fs::write(editor.path("f.txt"), "old\n").unwrap();
    editor.open("f.txt", "old\n");
    let processes = editor.processes();
    let arguments = json!({"path": editor.spelled("f.txt"), "content": "new\n"});
    let answer = editor.ask("test/call", called(&session, "write_text_file", arguments));
    while editor.state.writes.lock().unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    (editor, answer, processes)
}

fn check_once(editor: &Editor) {
    assert_eq!(editor.state.writes.lock().unwrap().len(), 1, "one write");
    assert_eq!(read(&editor.path("f.txt")), "old\n", "nothing was written beside the editor");
}

#[test]
fn a_killed_relay_leaves_no_process_and_one_write() {
    let (editor, _, processes) = in_the_middle();
    kill(editor.relay(), Signal::KILL);
    check_gone(&processes[1..], SOON);
    check_once(&editor);
}

#[test]
fn a_killed_agent_leaves_no_process_and_one_write() {
    let (mut editor, _, processes) = in_the_middle();
    kill(processes[1], Signal::KILL);
    editor.wait(SOON);
    check_gone(&processes, SOON);
    check_once(&editor);
}

#[test]
fn an_editor_that_closes_leaves_no_process_and_one_write() {
    let (mut editor, _, processes) = in_the_middle();
    editor.close_input();
    editor.wait(SOON);
    check_gone(&processes, SOON);
    check_once(&editor);
}

/// Reports its write and its processes, and then waits to be killed.
#[test]
#[ignore = "an editor's own process, started by another test"]
fn edits() {
    let Some(report) = std::env::var_os(SWITCH) else { return };
    let (editor, _answer, processes) = in_the_middle();
    let said = json!({"processes": processes, "file": editor.path("f.txt")}).to_string();
    let draft = format!("{}.draft", report.display());
    std::fs::write(&draft, said).unwrap();
    std::fs::rename(draft, report).unwrap();
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

#[test]
fn a_killed_editor_leaves_no_process_and_one_write() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let mut editor = Command::new(std::env::current_exe().unwrap())
        .args([
            "acp::kills::edits",
            "--exact",
            "--ignored",
            "-q",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(SWITCH, &report)
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !report.exists() {
        assert!(start.elapsed() < MAX_WAIT, "no write arrived");
        std::thread::sleep(Duration::from_millis(5));
    }
    let said: Value = serde_json::from_str(&read(&report)).unwrap();
    let number = |value: &Value| value.as_u64().unwrap() as u32;
    let processes: Vec<u32> = said["processes"].as_array().unwrap().iter().map(number).collect();
    assert_eq!(processes.len(), 3);
    assert!(processes.iter().all(|process| is_alive(*process)));
    kill(editor.id(), Signal::KILL);
    editor.wait().unwrap();
    check_gone(&processes, SOON);
    let file = said["file"].as_str().unwrap();
    assert_eq!(read(file.as_ref()), "old\n", "nothing was written beside the editor");
}

#[test]
fn the_server_is_killed_and_the_next_session_works() {
    let (editor, answer, processes) = in_the_middle();
    kill(processes[2], Signal::KILL);
    // No other process would end the tool call in the editor.
    editor.wait_for_ends(1);
    let updates = editor.state.updates.lock().unwrap().clone();
    let last = updates.last().unwrap();
    assert_eq!(last["update"]["status"], "failed", "{updates:?}");
    assert_eq!(answer.recv_timeout(SOON).unwrap()["result"], Value::Null);
    check_gone(&processes[2..], SOON);
    check_once(&editor);
    let session = editor.new_session();
    let answer = editor.call(&session, "read_text_file", json!({"path": editor.spelled("f.txt")}));
    assert_eq!(answer["structuredContent"]["content"], "new\n", "not the editor's text: {answer}");
}

#[test]
fn kills_at_random_times_leave_old_or_new_text() {
    check_kills(8);
}

#[test]
#[ignore = "long: 100 kills"]
fn kills_at_random_times_leave_old_or_new_text_long() {
    check_kills(100);
}

fn check_kills(n_rounds: usize) {
    for round in 0..n_rounds {
        let (editor, session) = Editor::in_session(Habits::default());
        let text = "old line\n".repeat(50_000);
        std::fs::write(editor.path("f.txt"), &text).unwrap();
        editor.open("f.txt", &text);
        let processes = editor.processes();
        let new = "new line\n".repeat(50_000);
        let arguments = json!({"path": editor.spelled("f.txt"), "content": new});
        let _answer = editor.ask("test/call", called(&session, "write_text_file", arguments));
        std::thread::sleep(Duration::from_millis(round as u64 * 3 % 40));
        kill(processes[round % 3], Signal::KILL);
        if round % 3 == 2 {
            editor.close_input();
        }
        check_gone(&processes[1..], SOON);
        let found = read(&editor.path("f.txt"));
        assert!(found == text || found == new, "round {round}: torn");
        let writes = editor.state.writes.lock().unwrap();
        assert!(writes.len() <= 1, "round {round}: {} writes", writes.len());
        assert!(writes.is_empty() || found == text, "round {round}: written twice");
    }
}
