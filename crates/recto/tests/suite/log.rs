//! The log on stderr, through the built binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::client::recto;

const SECRET: &str = "hushed-content-0123";

fn start(root: &Path, options: &[&str]) -> Child {
    recto()
        .arg("serve")
        .arg(root)
        .args(options)
        .env_remove("RECTO_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
}

fn hello() -> String {
    let client = json!({"name": "test", "version": "0"});
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
    });
    request(0, "initialize", params)
        + "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
}

fn call(id: u64, tool: &str, arguments: Value) -> String {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Returns the log of a session of calls.
fn logged(root: &Path, options: &[&str], calls: &[(&str, Value)]) -> String {
    let mut child = start(root, options);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(hello().as_bytes()).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    for (id, (tool, arguments)) in (1..).zip(calls) {
        input.write_all(call(id, tool, arguments.clone()).as_bytes()).unwrap();
        output.read_line(&mut line).unwrap();
    }
    drop(input);
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(child.wait().unwrap().success());
    log
}

fn calls(root: &Path) -> Vec<(&'static str, Value)> {
    let path = root.join("f.txt");
    vec![
        ("read_text_file", json!({"path": path})),
        ("edit_text_file", json!({"path": path, "old_string": SECRET, "new_string": "hushed too"})),
        ("edit_text_file", json!({"path": path, "old_string": SECRET, "new_string": "x"})),
        ("ReadLines", json!({"file_path": "*.txt", "match": "hushed"})),
        ("read_text_file", json!({"path": "/etc/\u{1b}[31mpasswd\nfake line"})),
    ]
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f.txt"), format!("{SECRET}\n")).unwrap();
    folder
}

#[test]
fn every_call_is_logged_on_one_line_without_content() {
    let folder = folder();
    let log = logged(folder.path(), &["--log", "json"], &calls(folder.path()));
    assert!(!log.contains("hushed"), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let noted: Vec<&Value> = lines.iter().filter(|line| line["message"] == "call").collect();
    assert_eq!(noted.len(), 5, "{log}");
    let path = folder.path().join("f.txt").to_str().unwrap().to_string();
    for (line, (tool, path, outcome)) in noted.iter().zip([
        ("read_text_file", path.as_str(), json!("ok")),
        ("edit_text_file", &path, json!("ok")),
        ("edit_text_file", &path, json!(-32010)),
        ("ReadLines", "*.txt", json!("ok")),
        ("read_text_file", "/etc/\u{1b}[31mpasswd\nfake line", json!(-32002)),
    ]) {
        assert_eq!((&line["tool"], &line["path"]), (&json!(tool), &json!(path)), "{line}");
        assert_eq!(line["outcome"], outcome, "{line}");
        assert!(line["micros"].is_u64(), "{line}");
        assert_eq!(line["bytes"].is_u64(), outcome == "ok", "{line}");
    }
}

#[test]
fn text_log_lines_contain_no_control_characters() {
    let folder = folder();
    let log = logged(folder.path(), &["--log", "human"], &calls(folder.path()));
    assert!(!log.contains("hushed"), "{log}");
    assert_eq!(log.lines().filter(|line| line.contains(" debug call ")).count(), 5, "{log}");
    assert!(log.lines().all(|line| line.starts_with("20")), "a line without a time: {log}");
    assert!(log.chars().all(|c| c == '\n' || !c.is_control()), "{log:?}");
}

#[test]
fn calls_are_logged_only_when_asked_for() {
    let folder = folder();
    for (options, n_calls) in [
        (&[][..], 0),
        (&["--log", "off"], 0),
        (&["--log-level", "error"], 0),
        (&["--log-level", "debug"], 5),
        (&["--log", "json", "--log-level", "info"], 0),
        (&["--log", "json"], 5),
    ] {
        let log = logged(folder.path(), options, &calls(folder.path()));
        let n_logged = log.lines().filter(|line| line.contains("outcome")).count();
        assert_eq!(n_logged, n_calls, "{options:?}: {log}");
        let is_quiet = options.contains(&"off") || options.contains(&"error");
        assert!(!is_quiet || log.is_empty(), "{options:?}: {log}");
        std::fs::write(folder.path().join("f.txt"), format!("{SECRET}\n")).unwrap();
    }
}

/// A pipe buffers 64 KiB; after that lines are dropped, and calls continue.
#[test]
fn an_unread_log_does_not_block_calls() {
    const N_CALLS: u64 = 3000;
    let folder = folder();
    let mut child = start(folder.path(), &["--log", "human"]);
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(hello().as_bytes()).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let path = folder.path().join("f.txt");
    for id in 1..=N_CALLS {
        line.clear();
        input.write_all(call(id, "read_text_file", json!({"path": path})).as_bytes()).unwrap();
        output.read_line(&mut line).unwrap();
        assert!(line.contains(&format!("\"id\":{id},")), "{line}");
    }
    // Once the log is read again, the next line reports how many were dropped.
    let mut log = child.stderr.take().unwrap();
    let mut buffer = vec![0; 32 << 10];
    log.read_exact(&mut buffer).unwrap();
    input.write_all(call(N_CALLS + 1, "read_text_file", json!({"path": path})).as_bytes()).unwrap();
    output.read_line(&mut line).unwrap();
    drop(input);
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(rest.contains(" lost_lines="), "{}", &rest[rest.len().saturating_sub(500)..]);
    child.wait().unwrap();
}

#[test]
fn an_unread_relay_log_does_not_block_messages() {
    let noise = "n=0; while [ $n -lt 2000 ]; do echo noise that is no message $n; n=$((n+1)); done";
    for is_closed in [false, true] {
        let mut relay = recto()
            .args(["acp", "--", "sh", "-c", &format!("{noise}; exec cat")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // No process reads this pipe.
        let stderr = relay.stderr.take().filter(|_| !is_closed);
        let mut input = relay.stdin.take().unwrap();
        let mut output = BufReader::new(relay.stdout.take().unwrap());
        let message = "{\"method\":\"test\",\"n\":1}\n";
        input.write_all(message.as_bytes()).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, message, "stderr is closed: {is_closed}");
        drop(input);
        assert!(relay.wait().unwrap().success());
        if let Some(mut stderr) = stderr {
            let mut said = String::new();
            stderr.read_to_string(&mut said).unwrap();
            assert!(
                said.starts_with(
                    "recto: ignored a line from the agent that is not a message: noise"
                ),
                "{said}"
            );
        }
    }
}

#[test]
fn an_unknown_log_level_is_rejected() {
    let mut command = recto();
    command.args(["serve", "/"]).env("RECTO_LOG", "loud").stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
