//! How the server exits, and cancelled calls.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use recto::limits;
use rustix::fs::{FlockOperation, OFlags, fcntl_getfl, fcntl_setfl, flock};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{BINARY, recto, state_dir};
use crate::server::{Server, names, stateless};

const AT_END_OF_INPUT: Duration = Duration::from_secs(2);
const AT_SIGNAL: Duration = Duration::from_secs(3);
const AT_LAST: Duration = Duration::from_secs(10);

/// Blocks every write to the server's directory until dropped.
fn block_writes(server: &Server) -> File {
    let folder = File::open(server.path("")).unwrap();
    flock(&folder, FlockOperation::LockExclusive).unwrap();
    folder
}

fn write(server: &mut Server, name: &str) -> u64 {
    let id = server.new_id();
    let arguments = json!({"path": server.spelled(name), "content": "written\n"});
    let params = json!({"name": "write_text_file", "arguments": arguments});
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    id
}

fn cancel(server: &mut Server, id: u64) {
    let params = json!({"requestId": id, "reason": "changed my mind"});
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
}

/// Returns the rest of the output.
fn rest(server: &mut Server) -> Vec<Value> {
    std::iter::from_fn(|| server.next()).collect()
}

#[test]
fn the_server_exits_at_the_end_of_input() {
    for mut server in [Server::start(&[]), Server::ready(&[])] {
        server.close_input();
        assert!(server.wait(AT_END_OF_INPUT).success());
        assert_eq!(rest(&mut server), [] as [Value; 0]);
    }
}

#[test]
fn a_file_beyond_the_size_limit_of_the_process_is_rejected_and_the_server_continues() {
    // Stores in this process ignore the signal, and a child would inherit that.
    let mut command = std::process::Command::new("env");
    command.arg("--default-signal=XFSZ").arg(BINARY).env("RECTO_STATE_DIR", state_dir());
    let mut server = Server::start_with(command, &[]);
    server.initialize("2025-06-18");
    let limit = Rlimit { current: Some(4096), maximum: Some(4096) };
    prlimit(Pid::from_raw(server.id() as i32), Resource::Fsize, limit).unwrap();
    let path = server.spelled("large.txt");
    let content = "x".repeat(10_000);
    let answer = server.call("write_text_file", json!({"path": path, "content": content}));
    assert_eq!(answer["result"]["_meta"]["error"]["code"], -32005, "{answer}");
    assert_eq!(names(&server.path("")), ["inside.txt"]);
    server.check_serves();
}

#[test]
fn an_incomplete_line_at_the_end_of_input_is_ignored() {
    let mut server = Server::ready(&[]);
    server.send_part("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}");
    server.close_input();
    assert!(server.wait(AT_END_OF_INPUT).success());
    assert_eq!(rest(&mut server), [] as [Value; 0]);
}

/// Some parent processes leave their pipes or a shared terminal in non-blocking mode.
#[test]
fn non_blocking_pipes_work() {
    const N_ANSWERS: u64 = 20;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "a line that is read again and again\n".repeat(20_000)).unwrap();
    let (stdin, mut input) = std::io::pipe().unwrap();
    let (output, stdout) = std::io::pipe().unwrap();
    for end in [stdin.as_fd(), stdout.as_fd()] {
        fcntl_setfl(end, fcntl_getfl(end).unwrap() | OFlags::NONBLOCK).unwrap();
    }
    let mut child = recto()
        .args(["serve", "--max-answer-bytes", "1000000"])
        .arg(folder.path())
        .stdin(stdin)
        .stdout(stdout)
        .spawn()
        .unwrap();
    // The server waits for a first line.
    std::thread::sleep(Duration::from_millis(200));
    for id in 1..=N_ANSWERS {
        let params = json!({"name": "read_text_file", "arguments": {"path": path}});
        let params = stateless(params);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        writeln!(input, "{request}").unwrap();
    }
    // The server waits until the first answers are read.
    std::thread::sleep(Duration::from_millis(500));
    let mut lines = BufReader::new(output).lines();
    let mut ids: Vec<u64> = (0..N_ANSWERS)
        .map(|_| {
            let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            assert_eq!(answer["result"]["structuredContent"]["_meta"]["total_lines"], 20_000);
            answer["id"].as_u64().unwrap()
        })
        .collect();
    ids.sort();
    assert!(ids.into_iter().eq(1..=N_ANSWERS));
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// As in `recto serve < calls`, and as Node starts programs.
#[test]
fn a_file_or_a_socket_can_be_the_input() {
    const N_CALLS: u64 = 500;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f.txt"), "text\n").unwrap();
    let arguments = json!({"path": folder.path().join("f.txt")});
    let calls: String = (1..=N_CALLS)
        .map(|id| {
            let params = stateless(json!({"name": "read_text_file", "arguments": arguments}));
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            format!("{call}\n")
        })
        .collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(calls.as_bytes()).unwrap();
    file.rewind().unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let writing = std::thread::spawn(move || ours.write_all(calls.as_bytes()));
    for stdin in [Stdio::from(file), Stdio::from(OwnedFd::from(theirs))] {
        let mut server = recto();
        let output = server.arg("serve").arg(folder.path()).stdin(stdin).output().unwrap();
        assert!(output.status.success());
        let answers = String::from_utf8(output.stdout).unwrap();
        let mut ids: Vec<u64> = answers
            .lines()
            .map(|answer| {
                let answer: Value = serde_json::from_str(answer).unwrap();
                assert_eq!(answer["result"]["structuredContent"]["content"], "text\n");
                answer["id"].as_u64().unwrap()
            })
            .collect();
        ids.sort();
        assert!(ids.into_iter().eq(1..=N_CALLS));
    }
    writing.join().unwrap().unwrap();
}

/// As in `printf … | recto serve`.
#[test]
fn requests_before_the_end_of_input_are_answered() {
    let mut server = Server::ready(&["--durability", "rename"]);
    let ids: Vec<u64> = (0..50).map(|n| write(&mut server, &format!("{n}.txt"))).collect();
    server.close_input();
    let mut answered: Vec<u64> =
        rest(&mut server).iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    answered.sort();
    assert_eq!(answered, ids);
    assert!(server.wait(AT_END_OF_INPUT).success());
}

/// Starts a server whose input ends after `n_calls` calls with long answers.
fn with_long_answers(n_calls: u64, n_lines: usize, results: &str) -> (TempDir, Child) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f.txt"), "a line of some length\n".repeat(n_lines)).unwrap();
    let mut child = recto()
        .args(["serve", "--results", results])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for id in 1..=n_calls {
        let arguments = json!({"path": folder.path().join("f.txt")});
        let params = stateless(json!({"name": "read_text_file", "arguments": arguments}));
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        writeln!(input, "{call}").unwrap();
    }
    (folder, child)
}

/// Twelve megabytes in eight seconds, while a pipe buffers one.
#[test]
fn answers_are_written_completely_while_the_client_reads() {
    const N_CALLS: u64 = 24;
    let (_folder, mut child) = with_long_answers(N_CALLS, 24_000, "text");
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 1..=N_CALLS {
        std::thread::sleep(Duration::from_millis(350));
        line.clear();
        output.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).expect("a whole line");
    }
    assert!(child.wait().unwrap().success());
}

/// One answer takes more than a second to read.
#[test]
fn answers_are_written_completely_to_a_slow_reader() {
    let (_folder, mut child) = with_long_answers(5, 40_000, "both");
    let mut output = child.stdout.take().unwrap();
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        std::thread::sleep(Duration::from_millis(100));
        match output.read(&mut buffer).unwrap() {
            0 => break,
            n_read => bytes.extend_from_slice(&buffer[..n_read]),
        }
    }
    let n_answers = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| serde_json::from_slice::<Value>(line).is_ok())
        .count();
    assert_eq!(n_answers, 5);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_call_in_flight_does_not_delay_the_exit_at_end_of_input() {
    let mut server = Server::ready(&[]);
    let _held = block_writes(&server);
    write(&mut server, "new.txt");
    server.close_input();
    assert!(server.wait(AT_END_OF_INPUT).success());
    assert_eq!(names(&server.path("")), ["inside.txt"]);
}

fn terminate(server: &Server, signal: Signal) {
    kill_process(Pid::from_raw(server.id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn a_signal_stops_the_server_while_its_input_is_open() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut server = Server::ready(&[]);
        server.check_serves();
        terminate(&server, signal);
        let status = server.wait(AT_SIGNAL);
        assert!(status.success(), "{signal:?}: {status}");
    }
}

/// Node starts programs with sockets as their standard streams.
#[test]
fn a_signal_stops_the_server_while_its_input_socket_is_open() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let answers = ours.try_clone().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut child = recto()
        .arg("serve")
        .arg(folder.path())
        .stdin(OwnedFd::from(theirs.try_clone().unwrap()))
        .stdout(OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    writeln!(&ours, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).unwrap();
    let mut answer = String::new();
    BufReader::new(answers).read_line(&mut answer).unwrap();
    assert!(answer.contains("\"result\""), "{answer}");
    wait_until_it_sleeps(&child);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    wait_for_end(&mut child);
}

/// Waits until no thread of a server runs, seen twice: then it waits for the next line.
fn wait_until_it_sleeps(child: &Child) {
    let sleeps = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let mut stats =
            tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")));
        stats.all(|stat| stat.is_ok_and(|stat| stat.contains(") S ")))
    };
    while !(sleeps() && sleeps()) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_signal_stops_the_server_before_the_handshake() {
    let mut server = Server::start(&[]);
    let ping = server.request("ping", json!({}));
    assert_eq!(ping["result"], json!({}));
    terminate(&server, Signal::TERM);
    assert!(server.wait(AT_SIGNAL).success());
}

#[test]
fn a_signal_stops_the_server_in_the_middle_of_a_line() {
    let mut child =
        recto().args(["serve", "/tmp"]).stdin(File::open("/dev/zero").unwrap()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    wait_for_end(&mut child);
}

fn wait_for_end(child: &mut Child) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > AT_SIGNAL {
            child.kill().unwrap();
            panic!("the server did not exit");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_call_in_flight_does_not_delay_the_exit_on_a_signal() {
    let mut server = Server::ready(&[]);
    let _held = block_writes(&server);
    write(&mut server, "new.txt");
    server.check_serves();
    terminate(&server, Signal::TERM);
    assert!(server.wait(AT_SIGNAL).success());
    assert_eq!(names(&server.path("")), ["inside.txt"]);
}

#[test]
fn the_server_exits_when_the_client_closes_its_output() {
    let mut server = Server::start(&[]);
    let path = server.spelled("inside.txt");
    server.close_output();
    let call = json!({"name": "read_text_file", "arguments": {"path": path}});
    server.send(
        &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": stateless(call)}),
    );
    server.wait(AT_LAST);
}

#[test]
fn the_server_exits_when_the_client_leaves_during_an_answer() {
    let mut server = Server::start(&[]);
    std::fs::write(server.path("mega.txt"), "0123456789abcde\n".repeat(1 << 16)).unwrap();
    let path = server.spelled("mega.txt");
    let call = json!({"name": "read_text_file", "arguments": {"path": path}});
    for id in 1..=50 {
        let params = stateless(call.clone());
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    server.take_bytes(100_000);
    server.close_output();
    server.wait(AT_LAST);
}

#[test]
fn a_cancelled_read_is_not_answered() {
    let mut server = Server::ready(&[]);
    std::fs::write(server.path("big.txt"), "0123456789abcde\n".repeat(8 << 20)).unwrap();
    let path = server.spelled("big.txt");
    let id = server.new_id();
    let params = json!({"name": "read_text_file", "arguments": {"path": path}});
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    cancel(&mut server, id);
    server.check_serves();
    server.close_input();
    assert_eq!(rest(&mut server), [] as [Value; 0]);
    assert!(server.wait(AT_END_OF_INPUT).success());
}

#[test]
fn a_write_cancelled_while_it_waits_changes_nothing() {
    let mut server = Server::ready(&[]);
    let held = block_writes(&server);
    let id = write(&mut server, "inside.txt");
    server.check_serves();
    cancel(&mut server, id);
    server.check_serves();
    drop(held);
    // Waiters get the lock in order: when this is written, the cancelled write had its chance.
    let answer = server.call(
        "write_text_file",
        json!({"path": server.spelled("new.txt"), "content": "written\n"}),
    );
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    server.check_serves();
    server.close_input();
    assert_eq!(rest(&mut server), [] as [Value; 0]);
}

#[test]
fn the_id_of_a_cancelled_call_is_pending_until_the_call_returns() {
    let mut server = Server::ready(&[]);
    let held = block_writes(&server);
    let id = write(&mut server, "first.txt");
    server.check_serves();
    cancel(&mut server, id);
    let again = |server: &mut Server| {
        let arguments = json!({"path": server.spelled("again.txt"), "content": "again\n"});
        let params = json!({"name": "write_text_file", "arguments": arguments});
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        server.next().unwrap()
    };
    // A call that waits for a lock notices the cancellation after a while.
    let start = Instant::now();
    let answer = again(&mut server);
    assert_eq!(answer["error"]["message"], "A request with this id is pending", "{answer}");
    drop(held);
    loop {
        let answer = again(&mut server);
        if answer.get("error").is_none() {
            assert_eq!(answer["id"], id);
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            break;
        }
        assert!(start.elapsed() < AT_LAST, "{answer}");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(std::fs::read_to_string(server.path("again.txt")).unwrap(), "again\n");
    assert!(!server.path("first.txt").exists());
}

#[test]
fn cancelled_calls_free_their_slots() {
    let mut server = Server::ready(&[]);
    let _held = block_writes(&server);
    for n in 0..200 {
        let id = write(&mut server, &format!("{n}.txt"));
        cancel(&mut server, id);
    }
    let start = Instant::now();
    server.check_serves();
    assert!(start.elapsed() < limits::LOCK_WAIT, "a read waited for {:?}", start.elapsed());
    let n_threads = std::fs::read_dir(format!("/proc/{}/task", server.id())).unwrap().count();
    assert!(n_threads < 100, "{n_threads} threads");
    assert_eq!(names(&server.path("")), ["inside.txt"]);
}

#[test]
fn cancelling_a_finished_or_unknown_request_has_no_effect() {
    let mut server = Server::ready(&[]);
    server.check_serves();
    for id in [0, 1, 2, 3, 1_000_000] {
        cancel(&mut server, id);
    }
    server.check_serves();
}

#[test]
fn a_long_call_sends_progress_if_the_client_asked_for_it() {
    let mut server = Server::ready(&[]);
    let held = block_writes(&server);
    let silent = write(&mut server, "silent.txt");
    let id = server.new_id();
    let arguments = json!({"path": server.spelled("new.txt"), "content": "written\n"});
    let meta = json!({"progressToken": "mine"});
    let params = json!({"name": "write_text_file", "arguments": arguments, "_meta": meta});
    server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    let told: Vec<Value> = (0..2).map(|_| server.next().unwrap()).collect();
    drop(held);
    for message in &told {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "mine", "{message}");
    }
    let progress = |message: &Value| message["params"]["progress"].as_f64().unwrap();
    assert!(progress(&told[0]) < progress(&told[1]), "{told:?}");
    // Both are answered, and no progress follows an answer.
    server.close_input();
    let rest = rest(&mut server);
    let answered = rest.iter().filter_map(|message| message["id"].as_u64());
    let mut answered: Vec<u64> = answered.collect();
    answered.sort();
    assert_eq!(answered, [silent, id]);
    let last_word = rest.iter().rposition(|message| message["method"].is_string());
    let answer = rest.iter().position(|message| message["id"] == id);
    assert!(last_word < answer, "{rest:?}");
}
