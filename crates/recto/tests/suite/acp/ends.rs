//! Shutdown: every process exits and no file is left behind.

use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::json;

use crate::acp_editor::{Editor, Habits, check_gone, kill};
use crate::client::recto;

const SOON: Duration = Duration::from_secs(5);

#[test]
fn the_relay_and_its_children_exit_when_the_editor_closes() {
    let (mut editor, _) = Editor::in_session(Habits::default());
    let processes = editor.processes();
    assert_eq!(processes.len(), 3);
    let folder = editor.socket().parent().unwrap().to_path_buf();
    editor.close_input();
    assert!(editor.wait(SOON).success());
    check_gone(&processes, SOON);
    assert!(!folder.exists(), "the socket's folder is gone");
}

#[test]
fn messages_before_the_editor_closed_are_answered() {
    let editor = Editor::ready(Habits::default());
    for n in 0..100 {
        editor.send_line(&json!({"method": "echo", "n": n}).to_string());
    }
    editor.close_input();
    for n in 0..100 {
        assert_eq!(editor.next_line(), json!({"method": "echo", "n": n}).to_string());
    }
}

#[test]
fn the_relay_exits_with_the_agents_status() {
    let (mut editor, _) = Editor::in_session(Habits::default());
    let processes = editor.processes();
    editor.ask("test/exit", json!({"code": 7}));
    assert_eq!(editor.wait(SOON).code(), Some(7));
    check_gone(&processes, SOON);
}

#[test]
fn the_relay_exits_when_the_agent_is_killed() {
    let (mut editor, _) = Editor::in_session(Habits::default());
    let processes = editor.processes();
    kill(processes[1], Signal::KILL);
    assert_eq!(editor.wait(SOON).code(), Some(128 + 9));
    check_gone(&processes, SOON);
}

#[test]
fn signals_stop_the_relay() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (mut editor, _) = Editor::in_session(Habits::default());
        let processes = editor.processes();
        kill(editor.relay(), signal);
        assert!(editor.wait(SOON).success(), "{signal:?}");
        check_gone(&processes, SOON);
    }
}

#[test]
fn a_killed_relay_ends_the_agent_and_its_server() {
    let (editor, _) = Editor::in_session(Habits::default());
    let processes = editor.processes();
    kill(editor.relay(), Signal::KILL);
    // The editor's own pipe is still open.
    check_gone(&processes[1..], SOON);
}

#[test]
fn a_later_relay_removes_the_directory_of_a_killed_one() {
    let (mut editor, _) = Editor::in_session(Habits::default());
    let folder = editor.socket().parent().unwrap().to_path_buf();
    let runtime = editor.runtime.path().to_path_buf();
    let relay_again = || {
        let relay = recto()
            .args(["acp", "--", "true"])
            .env("XDG_RUNTIME_DIR", &runtime)
            .stdin(Stdio::null())
            .status();
        assert!(relay.unwrap().success());
    };
    let make_old = || {
        let time = SystemTime::now() - Duration::from_secs(3600);
        File::open(&folder).unwrap().set_modified(time).unwrap();
    };
    make_old();
    relay_again();
    assert!(folder.join("link").exists(), "a live relay's directory was removed");
    kill(editor.relay(), Signal::KILL);
    // The process listens until its last thread has ended.
    editor.wait(SOON);
    make_old();
    relay_again();
    assert!(!folder.exists());
}

#[test]
fn the_relay_rejects_options_that_its_server_would_reject() {
    for (option, said) in [
        ("/no/such/folder", "cannot serve /no/such/folder"),
        ("--git-dir=/no/such/folder", "--git-dir: /no/such/folder is not a directory"),
        ("--tools=nothing", "unknown toolset or tool nothing"),
    ] {
        let relay =
            recto().args(["acp", option, "--", "true"]).stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8(relay.stderr).unwrap();
        assert_eq!(relay.status.code(), Some(2), "{option}: {stderr}");
        assert!(stderr.starts_with(&format!("recto: {said}")), "{stderr}");
    }
}

#[test]
fn an_agent_that_does_not_exit_is_killed_with_its_children() {
    let (mut editor, _) = Editor::in_session(Habits::default());
    editor.request("test/child", json!({}));
    editor.request("test/survive", json!({}));
    let processes = editor.processes();
    assert_eq!(processes.len(), 4);
    let start = Instant::now();
    editor.close_input();
    editor.wait(Duration::from_secs(10));
    assert!(start.elapsed() > Duration::from_secs(4), "killed after only {:?}", start.elapsed());
    check_gone(&processes, Duration::from_secs(1));
}

/// A wrapper that is killed leaves the agent that it started.
#[test]
fn processes_left_in_the_agents_group_are_killed() {
    let (mut editor, _) = Editor::in_session(Habits::default());
    editor.request("test/child", json!({}));
    let processes = editor.processes();
    kill(processes[1], Signal::KILL);
    editor.wait(Duration::from_secs(10));
    check_gone(&processes, Duration::from_secs(1));
}

#[test]
fn an_agent_that_cannot_start_is_reported() {
    let habits = Habits { agent: vec!["/does/not/exist".into()], ..Habits::default() };
    let mut editor = Editor::start(habits);
    assert_eq!(editor.wait(SOON).code(), Some(2));
    assert!(editor.stderr().contains("cannot start /does/not/exist"), "{}", editor.stderr());
}

#[test]
fn the_agents_last_output_and_stderr_are_forwarded() {
    let script = r#"echo to-stderr >&2; read line; echo '{"method":"last","n":1.0}'; exit 3"#;
    let agent = ["sh", "-c", script].map(Into::into).to_vec();
    let mut editor = Editor::start(Habits { agent, ..Habits::default() });
    editor.send_line("{}");
    assert_eq!(editor.next_line(), r#"{"method":"last","n":1.0}"#);
    assert_eq!(editor.wait(SOON).code(), Some(3));
    assert_eq!(editor.stderr(), "to-stderr\n");
}
