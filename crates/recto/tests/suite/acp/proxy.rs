//! A link that fails at every message: cut before it, cut after it, message lost, delayed or
//! duplicated. In every case, nothing is written twice.

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits, read};
use crate::client::recto;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    CutBefore,
    CutAfter,
    /// The message is lost, others pass, and later the link closes.
    Lose,
    Delay,
    Double,
}

/// Listens at `socket`, forwards lines to `relay`, and applies `fault` at the line `at`, counted
/// over both directions. Returns the number of lines.
fn start_proxy(socket: &Path, relay: &Path, fault: Fault, at: usize) -> Arc<Mutex<usize>> {
    let listener = UnixListener::bind(socket).unwrap();
    let relay = UnixStream::connect(relay).unwrap();
    let n_lines: Arc<Mutex<usize>> = Arc::default();
    let counter = n_lines.clone();
    std::thread::spawn(move || {
        let (server, _) = listener.accept().unwrap();
        let ways = [(&server, &relay), (&relay, &server)];
        for (from, to) in
            ways.map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
        {
            let counter = counter.clone();
            std::thread::spawn(move || pass(&from, &to, &counter, fault, at));
        }
    });
    n_lines
}

fn pass(from: &UnixStream, mut to: &UnixStream, counter: &Mutex<usize>, fault: Fault, at: usize) {
    let cut = || {
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    };
    for line in BufReader::new(from).split(b'\n') {
        let Ok(mut line) = line else { break };
        line.push(b'\n');
        let mut n_lines = counter.lock().unwrap();
        *n_lines += 1;
        let is_now = *n_lines == at;
        drop(n_lines);
        if is_now && fault == Fault::CutBefore {
            break;
        }
        if is_now && fault == Fault::Lose {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            });
            continue;
        }
        if is_now && fault == Fault::Delay {
            std::thread::sleep(Duration::from_millis(50));
        }
        let n_times = if is_now && fault == Fault::Double { 2 } else { 1 };
        if to.write_all(&line.repeat(n_times)).is_err() || is_now && fault == Fault::CutAfter {
            break;
        }
    }
    cut();
}

/// The call: an edit of a file, or a write that creates one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteCall {
    Edit,
    Create,
}

impl WriteCall {
    fn call(self, editor: &Editor) -> Value {
        let path = editor.spelled(self.name());
        match self {
            WriteCall::Edit => json!({"name": "edit_text_file",
                "arguments": {"path": path, "old_string": "old", "new_string": "new"}}),
            WriteCall::Create => json!({"name": "write_text_file",
                "arguments": {"path": path, "content": "new\n"}}),
        }
    }

    fn name(self) -> &'static str {
        match self {
            WriteCall::Edit => "f.txt",
            WriteCall::Create => "new.txt",
        }
    }
}

/// Changes a file through a server behind the proxy and returns the answer.
fn change(editor: &Editor, change: WriteCall, socket: &Path, token: &str) -> Value {
    let mut server = recto()
        .args(["serve", "--root"])
        .arg(editor.folder.path())
        .env("RECTO_LINK", socket)
        .env("RECTO_TOKEN", token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let client = json!({"name": "test", "version": "0"});
    let initialize =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let mut call = change.call(editor);
    call["_meta"] = json!({"callId": "c"});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    output.next().unwrap().unwrap();
    let answer = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
    drop(input);
    assert!(server.wait().unwrap().success());
    answer
}

/// Makes the link fail at each message in turn, until there are no more.
fn check(kind: WriteCall, fault: Fault) {
    let mut at = 1;
    loop {
        let editor = Editor::ready(Habits::default());
        let token = editor.idle_session();
        std::fs::write(editor.path("f.txt"), "old\n").unwrap();
        editor.open("f.txt", "old\n");
        let socket = editor.runtime.path().join("proxy");
        let n_lines = start_proxy(&socket, &editor.socket(), fault, at);
        let answer = change(&editor, kind, &socket, &token)["result"].clone();
        // Messages in flight when the server ended may still arrive.
        std::thread::sleep(Duration::from_millis(20));

        let code = answer["_meta"]["error"]["code"].as_i64();
        let n_writes = editor.state.writes.lock().unwrap().len();
        let is_on_disk = match kind {
            WriteCall::Edit => read(&editor.path("f.txt")) != "old\n",
            WriteCall::Create => editor.path("new.txt").exists(),
        };
        let place = format!(
            "{kind:?}, {fault:?} at {at}: {n_writes} writes, on disk: {is_on_disk}, {answer}"
        );
        assert!(n_writes + usize::from(is_on_disk) <= 1, "{place}");
        if is_on_disk {
            assert_eq!(read(&editor.path(kind.name())), "new\n", "{place}");
        }
        match code {
            None => assert!(n_writes == 1 || is_on_disk, "{place}"),
            Some(-32018) => assert!(!is_on_disk, "{place}"),
            Some(_) => assert!(n_writes == 0 && !is_on_disk, "{place}"),
        }
        if matches!(fault, Fault::Delay | Fault::Double) {
            assert!(code.is_none() && n_writes == 1, "{place}");
        }
        if *n_lines.lock().unwrap() < at {
            println!("{kind:?}, {fault:?}: {} places", at - 1);
            assert!(at > 6, "{place}");
            break;
        }
        at += 1;
    }
}

fn check_both(fault: Fault) {
    check(WriteCall::Edit, fault);
    check(WriteCall::Create, fault);
}

#[test]
fn a_delayed_message_has_no_effect_on_the_result() {
    check_both(Fault::Delay);
}

#[test]
fn a_duplicated_message_writes_once() {
    check_both(Fault::Double);
}

#[test]
fn a_link_cut_before_a_message_never_writes_twice() {
    check_both(Fault::CutBefore);
}

#[test]
fn a_link_cut_after_a_message_never_writes_twice() {
    check_both(Fault::CutAfter);
}

#[test]
fn a_lost_message_never_writes_twice() {
    check_both(Fault::Lose);
}
