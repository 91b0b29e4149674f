//! How a server ends: at a signal, and by being killed.

use std::io::{BufReader, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::client::{HttpServer, read_until, receive};

#[test]
fn a_signal_lets_requests_finish_and_ends_streams() {
    let mut server = HttpServer::start(&[]);
    let mut client = server.client();
    client.initialize();
    let path = server.spelled("late.txt");
    let body = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "write_text_file", "arguments": {"path": path, "content": "late\n"},
    }});
    let request = client.text("POST", &[], &body.to_string());
    let listening = client.text("GET", &[], "");
    let mut events = BufReader::new(server.connect());
    events.get_mut().write_all(listening.as_bytes()).unwrap();
    let idle = server.connect();
    // The server has the headers once it has answered a later request.
    let (start, end) = request.split_at(request.len() - 10);
    let mut stream = server.connect();
    stream.write_all(start.as_bytes()).unwrap();
    client.request("tools/list", json!({}));
    server.terminate();
    // It ends the stream of events when it has got the signal.
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut events, &mut rest).unwrap();
    stream.write_all(end.as_bytes()).unwrap();
    let answer = receive(&mut BufReader::new(stream)).expect("an answer");
    assert_eq!(answer.message()["result"]["isError"], false, "{answer:?}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "late\n");
    drop(idle);
    assert!(server.wait(Duration::from_secs(5)).success());
}

#[test]
fn an_idle_connection_does_not_delay_the_exit() {
    let mut server = HttpServer::start(&[]);
    let (unused, mut used) = (server.connect(), server.connect());
    used.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut used = BufReader::new(used);
    assert_eq!(receive(&mut used).unwrap().status, 200);
    server.terminate();
    assert!(server.wait(Duration::from_secs(3)).success());
    drop(unused);
}

#[test]
fn a_subscription_does_not_delay_the_exit() {
    let mut server = HttpServer::start(&[]);
    let uri = format!("file://{}", server.spelled("inside.txt"));
    let mut listening = server.connect();
    listening.write_all(server.client().listening(&uri).as_bytes()).unwrap();
    read_until(&mut listening, "notifications/subscriptions/acknowledged");
    server.terminate();
    assert!(server.wait(Duration::from_secs(3)).success());
}

#[test]
fn a_kill_during_writes_leaves_files_whole() {
    let mut server = HttpServer::start(&["--durability", "rename"]);
    let n_written = AtomicUsize::new(0);
    let versions: Vec<String> = (0..10).map(|n| format!("{n}\n").repeat(20_000)).collect();
    let pid = rustix::process::Pid::from_raw(server.id() as i32).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (server, versions, n_written) = (&server, &versions, &n_written);
            scope.spawn(move || {
                let mut client = server.client();
                client.initialize();
                let path = server.spelled(&format!("{worker}.txt"));
                for content in versions.iter().cycle() {
                    let arguments = json!({"path": path, "content": content});
                    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                        "params": {"name": "write_text_file", "arguments": arguments}});
                    let text = client.text("POST", &[], &call.to_string());
                    let Some(answer) = server.raw(text.as_bytes()) else { return };
                    assert_eq!(answer.status, 200, "{answer:?}");
                    n_written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while n_written.load(Ordering::Relaxed) < 40 {
            std::thread::sleep(Duration::from_millis(1));
        }
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
    server.kill();
    for worker in 0..4 {
        let text = std::fs::read_to_string(server.spelled(&format!("{worker}.txt"))).unwrap();
        assert!(versions.contains(&text), "{worker}: {} bytes", text.len());
    }
}
