//! Requests that are too long, answers that the client does not read, and floods of messages: memory
//! stays bounded.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{Server, cut};

const MEGABYTE: usize = 1 << 20;

#[test]
fn a_request_that_is_too_long_is_rejected_with_its_id() {
    let mut server = Server::ready(&[]);
    let filler = "x".repeat(20 * MEGABYTE);
    let params = format!(
        r#""method":"tools/call","params":{{"name":"write_text_file","arguments":{{"path":"{}","content":"{filler}"}}}}"#,
        server.spelled("big.txt")
    );
    for (line, id) in [
        (format!(r#"{{"jsonrpc":"2.0","id":101,{params}}}"#), json!(101)),
        (format!(r#"{{"jsonrpc":"2.0",{params},"id":102}}"#), json!(102)),
        (format!(r#"{{"jsonrpc":"2.0",{params}, "id" : "a \"name\"" }}"#), json!("a \"name\"")),
        (format!(r#"{{"jsonrpc":"2.0",{params}}}"#), json!(null)),
        (filler, json!(null)),
    ] {
        server.send_line(&line);
        let answer = server.next().unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        server.check_serves();
    }
    assert!(!server.path("big.txt").exists());
}

#[test]
fn a_request_that_is_too_long_is_rejected_before_the_handshake() {
    let mut server = Server::start(&[]);
    server.send_line(&format!(r#"{{"id":5,"x":"{}"}}"#, "x".repeat(17 * MEGABYTE)));
    assert_eq!(server.next().unwrap()["id"], 5);
    server.initialize("2025-06-18");
    server.check_serves();
}

#[test]
fn fifteen_megabytes_are_written_and_read_back() {
    let mut server = Server::ready(&[]);
    let path = server.spelled("big.txt");
    let content = "0123456789abcde\n".repeat(15 * MEGABYTE / 16);
    let answer = server.call("write_text_file", json!({"path": path, "content": content}));
    let written = &answer["result"]["structuredContent"];
    assert_eq!(written["bytes_written"], 15 * MEGABYTE, "{}", cut(&answer.to_string()));
    assert!(std::fs::read_to_string(server.path("big.txt")).unwrap() == content);
    server.check_serves();
}

/// The test reads a line or two from the pipe, then nothing until the loop below.
#[test]
fn unread_answers_take_little_memory_and_are_not_lost() {
    const N_CALLS: u64 = 400;
    const MAX_BYTES: usize = 128 * MEGABYTE;
    let mut server = Server::ready(&["--max-answer-bytes", "1200000"]);
    std::fs::write(server.path("mega.txt"), "0123456789abcde\n".repeat(MEGABYTE / 16)).unwrap();
    let path = server.spelled("mega.txt");
    for id in 1000..1000 + N_CALLS {
        let params = json!({"name": "read_text_file", "arguments": {"path": path}});
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    // Until memory use has not grown for a while.
    let (mut highest, mut since) = (0, Instant::now());
    while since.elapsed() < Duration::from_millis(500) {
        let now = server.most_resident_bytes();
        if now > highest {
            (highest, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(highest < MAX_BYTES, "{} MB while nobody reads", highest / MEGABYTE);
    let mut is_answered = [false; N_CALLS as usize];
    for _ in 0..N_CALLS {
        let line = server.next_line().unwrap();
        let rest = line.strip_prefix("{\"jsonrpc\":\"2.0\",\"id\":").unwrap();
        let id: usize = rest.split(',').next().unwrap().parse().unwrap();
        assert!(!std::mem::replace(&mut is_answered[id - 1000], true), "{id} twice");
        assert!(line.len() > 2 * MEGABYTE, "{}", cut(&line));
    }
    let highest = server.most_resident_bytes();
    assert!(highest < MAX_BYTES, "{} MB while they are read", highest / MEGABYTE);
    server.check_serves();
}

#[test]
fn a_path_as_long_as_a_request_takes_little_memory() {
    let mut server = Server::ready(&[]);
    let path = format!("{}/{}x", server.spelled("a"), "a/".repeat(7_000_000));
    let answer = server.call("read_text_file", json!({"path": path}));
    assert_eq!(answer["result"]["isError"], true, "{}", cut(&answer.to_string()));
    let highest = server.most_resident_bytes();
    assert!(highest < 128 * MEGABYTE, "{} MB", highest / MEGABYTE);
    server.check_serves();
}

/// Calls of every outcome, repeated.
#[test]
fn calls_leave_no_handles_open() {
    let mut server = Server::ready(&[]);
    std::fs::create_dir_all(server.path("a/b/c")).unwrap();
    std::os::unix::fs::symlink("/etc", server.path("a/out")).unwrap();
    std::os::unix::fs::symlink("loop", server.path("loop")).unwrap();
    let n_open =
        |server: &Server| std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    let mut highest = 0;
    for round in 0..40 {
        for name in ["inside.txt", "a/b/c", "a/b/c/no", "a/no/x", "a/out/passwd", "loop", ".."] {
            let path = server.spelled(name);
            server.call("read_text_file", json!({"path": path}));
            server.call(
                "edit_text_file",
                json!({"path": path, "old_string": "no such text", "new_string": ""}),
            );
        }
        let path = server.spelled("a/b/c/new.txt");
        server.call("write_text_file", json!({"path": path, "content": format!("{round}\n")}));
        // The first rounds may open files that stay open.
        if round < 5 {
            highest = highest.max(n_open(&server));
        }
    }
    assert!(n_open(&server) <= highest, "{} handles, then {}", highest, n_open(&server));
    server.check_serves();
}

/// Notifications have no answers that would slow the client down.
#[test]
fn a_flood_of_notifications_takes_little_memory_and_delays_no_call() {
    const N_NOTIFICATIONS: usize = 300_000;
    let mut server = Server::ready(&[]);
    let mut input = server.take_input();
    let params = json!({"requestId": "nobody's"});
    let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        .to_string();
    let ping = json!({"jsonrpc": "2.0", "id": 77, "method": "ping"});
    let lines = format!("{line}\n").repeat(N_NOTIFICATIONS / 2);
    let flood = std::thread::spawn(move || {
        write!(input, "{lines}{ping}\n{lines}").unwrap();
        input
    });
    assert_eq!(server.next().unwrap()["id"], 77);
    let input = flood.join().unwrap();
    let most = server.most_resident_bytes();
    assert!(most < 48 * MEGABYTE, "{most} bytes");
    drop(input);
    assert!(server.wait(Duration::from_secs(20)).success());
}

#[test]
fn an_id_can_be_reused_once_its_answer_is_read() {
    let mut server = Server::ready(&[]);
    for round in 0..2_000 {
        server.send(&json!({"jsonrpc": "2.0", "id": "again", "method": "ping"}));
        let answer = server.next().unwrap();
        assert_eq!(answer["result"], json!({}), "round {round}: {answer}");
    }
}
