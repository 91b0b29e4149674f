//! Clients that ask and do not read the answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use super::client::{HttpClient, HttpServer, receive};
use crate::server::{STATELESS, stateless};

/// Serves `large.txt`. An answer with all of it is larger than what the kernel buffers.
fn with_large_file() -> HttpServer {
    HttpServer::start_with(&["--max-answer-bytes", "3000000"], |server| {
        std::fs::write(server.path("root/large.txt"), "a line of text\n".repeat(190_000)).unwrap();
    })
}

fn read(server: &HttpServer, name: &str) -> Value {
    json!({"name": "read_text_file", "arguments": {"path": server.spelled(name)}})
}

/// Sends a request on a connection of its own, and returns when the start of the answer's body has
/// arrived.
fn unread(server: &HttpServer, request: &str) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    stream.peek(&mut [0]).unwrap();
    stream
}

/// Checks that another client is served soon, and what the server has used until now.
fn check_serves_soon(server: &HttpServer) {
    let start = Instant::now();
    let mut client = server.client();
    client.initialize();
    let answer = client.request("tools/call", read(server, "inside.txt"));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let path = server.spelled("new.txt");
    let answer = client.call("write_text_file", json!({"path": path, "content": "new\n"}));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
    let n_bytes = server.most_resident_bytes();
    assert!(n_bytes < 256 << 20, "{n_bytes}");
}

fn request(client: &HttpClient<'_>, id: usize, params: Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    client.text("POST", &[], &body.to_string())
}

#[test]
fn unread_answers_of_one_session_do_not_delay_another() {
    let server = with_large_file();
    let mut client = server.client();
    client.initialize();
    let request = |id| request(&client, id, read(&server, "large.txt"));
    let connections: Vec<_> = (0..40).map(|id| unread(&server, &request(id))).collect();
    check_serves_soon(&server);
    drop(connections);
}

#[test]
fn unread_answers_without_a_session_do_not_delay_other_clients() {
    let server = with_large_file();
    let headers = format!(
        "MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: tools/call\r\nMcp-Name: read_text_file\r\n"
    );
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": stateless(read(&server, "large.txt"))});
    let request = server.client().text("POST", &[&headers], &body.to_string());
    let connections: Vec<_> = (0..40).map(|_| unread(&server, &request)).collect();
    check_serves_soon(&server);
    drop(connections);
}

#[test]
fn the_oldest_unread_answer_is_given_up_and_a_new_one_is_complete() {
    let server = with_large_file();
    let mut client = server.client();
    client.initialize();
    let request = |id| request(&client, id, read(&server, "large.txt"));
    let mut connections: Vec<_> = (0..20).map(|id| unread(&server, &request(id))).collect();
    let newest = server.raw(request(20).as_bytes()).unwrap();
    assert_eq!(newest.message()["result"]["isError"], false);
    // The rest of what the kernel has, and then the end.
    let mut oldest = Vec::new();
    let ended = connections[0].read_to_end(&mut oldest);
    assert!(ended.is_err() || !oldest.ends_with(b"\r\n0\r\n\r\n"), "it is complete");
}

#[test]
fn a_request_whose_id_is_in_use_is_rejected_and_holds_nothing() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    client.initialize();
    // A lock keeps the first request waiting.
    let folder = std::fs::File::open(server.path("root")).unwrap();
    flock(&folder, FlockOperation::LockExclusive).unwrap();
    let write = json!({"name": "write_text_file",
        "arguments": {"path": server.spelled("new.txt"), "content": "new\n"}});
    let text = request(&client, 7, write);
    let mut first = BufReader::new(server.connect());
    first.get_mut().write_all(text.as_bytes()).unwrap();
    // The head of the answer arrives when the request is in flight.
    first.fill_buf().unwrap();
    for _ in 0..20 {
        let answer = server.raw(text.as_bytes()).unwrap().message();
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
    drop(folder);
    let answer = receive(&mut first).unwrap().message();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    // Then it can be used again.
    let answer = server.raw(text.as_bytes()).unwrap().message();
    assert_eq!(answer["id"], 7, "{answer}");
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}
