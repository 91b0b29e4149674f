//! What no client library sends: large, slow, half-sent and ambiguous requests.

use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

use recto::limits::{HTTP_BODY, HTTP_CONNECTIONS, HTTP_HEADER_TIME, REQUEST_VALUES};
use serde_json::json;

use super::client::{HttpServer, receive};

/// Checks that the server still answers a call.
fn check_serves(server: &HttpServer) {
    let mut client = server.client();
    client.initialize();
    let answer = client.call("read_text_file", json!({"path": server.spelled("inside.txt")}));
    assert_eq!(answer["result"]["structuredContent"]["content"], "inside\n", "{answer}");
}

#[test]
fn a_large_body_is_served_and_a_larger_one_is_rejected_unread() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    client.initialize();
    let content = "x".repeat(HTTP_BODY - 4096);
    let path = server.spelled("large.txt");
    let answer = client.call("write_text_file", json!({"path": path, "content": content}));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(std::fs::metadata(&path).unwrap().len() as usize, content.len());
    // Only the headers are sent.
    let text = client.text("POST", &[], "");
    let text = text.replacen("Length: 0", &format!("Length: {}", HTTP_BODY + 1), 1);
    assert_eq!(server.raw(text.as_bytes()).unwrap().status, 413);
    // A chunked body does not say how long it is.
    let text = client.text("POST", &[], "");
    let text = text.replacen("Content-Length: 0", "Transfer-Encoding: chunked", 1);
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    let text = format!("{text}{}", chunk.repeat(HTTP_BODY >> 20)) + "1\r\nx\r\n0\r\n\r\n";
    assert_eq!(server.raw(text.as_bytes()).unwrap().status, 413);
    check_serves(&server);
}

#[test]
fn a_chunked_body_is_served() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    client.initialize();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let text = client.text("POST", &[], "");
    let text = text.replacen("Content-Length: 0", "Transfer-Encoding: chunked", 1);
    let (start, end) = body.split_at(7);
    let text = format!("{text}7\r\n{start}\r\n{:x}\r\n{end}\r\n0\r\n\r\n", end.len());
    let answer = server.raw(text.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn a_body_with_too_many_values_is_rejected_before_it_is_parsed() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    client.initialize();
    let before = server.most_resident_bytes();
    let body = format!("[{}0]", "0,".repeat(REQUEST_VALUES));
    assert_eq!(client.send("POST", &[], &body).status, 413);
    assert!(server.most_resident_bytes() - before < 16 << 20);
    check_serves(&server);
}

#[test]
fn malformed_json_is_rejected() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    for body in ["", "{", "[]", "nonsense", "\u{0}"] {
        let status = client.send("POST", &[], body).status;
        assert!((400..500).contains(&status), "{body:?}: {status}");
    }
    check_serves(&server);
}

#[test]
fn half_sent_headers_end_the_connection() {
    let server = HttpServer::start(&[]);
    let start = Instant::now();
    let mut stream = server.connect();
    stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: x\r\n").unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    let elapsed = start.elapsed();
    let expected = HTTP_HEADER_TIME - Duration::from_millis(100)..HTTP_HEADER_TIME * 2;
    assert!(expected.contains(&elapsed), "{elapsed:?}");
}

#[test]
fn slow_bodies_do_not_delay_other_clients() {
    let server = HttpServer::start(&[]);
    let body = "x".repeat(HTTP_BODY);
    let text = server.client().text("POST", &[], &body);
    let head = text.len() - body.len();
    let slow: Vec<_> = (0..100)
        .map(|n| {
            let mut stream = server.connect();
            stream.write_all(&text.as_bytes()[..head + n]).unwrap();
            stream
        })
        .collect();
    check_serves(&server);
    assert!(server.most_resident_bytes() < 64 << 20, "{}", server.most_resident_bytes());
    drop(slow);
}

#[test]
fn headers_that_are_too_long_are_rejected() {
    let server = HttpServer::start(&[]);
    let text = format!("GET /health HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(200_000));
    assert_eq!(server.raw(text.as_bytes()).unwrap().status, 431);
    let text = format!("GET /health HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: x\r\n".repeat(1000));
    assert_eq!(server.raw(text.as_bytes()).unwrap().status, 431);
    check_serves(&server);
}

/// Sends a request followed by another, and returns the statuses of all answers.
fn statuses(server: &HttpServer, bytes: &str) -> Vec<u16> {
    let mut stream = server.connect();
    stream.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    std::iter::from_fn(|| Some(receive(&mut stream)?.status)).collect()
}

#[test]
fn ambiguous_lengths_do_not_smuggle_a_request() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    client.initialize();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let plain = client.text("POST", &[], list);
    let hidden = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    let length = format!("Content-Length: {}\r\n", list.len());
    assert_eq!(statuses(&server, &format!("{plain}{hidden}")), [200, 200], "two requests");
    for headers in [
        format!("{length}Content-Length: 0\r\n"),
        format!("Content-Length: 0\r\n{length}"),
        format!("Content-Length: {}, 0\r\n", list.len()),
        format!("Content-Length: +{}\r\n", list.len()),
        format!("Content-Length : {}\r\n", list.len()),
        format!("{length}Transfer-Encoding: gzip\r\n"),
        format!("{length}Transfer-Encoding: chunked, gzip\r\n"),
    ] {
        let text = plain.replacen(&length, &headers, 1) + hidden;
        assert_eq!(statuses(&server, &text), [400], "{headers}");
    }
    // With both headers the chunks count, and the connection is closed after the answer.
    let both = plain.replacen(&length, &format!("{length}Transfer-Encoding: chunked\r\n"), 1);
    let (head, body) = both.split_once("\r\n\r\n").unwrap();
    let text = format!("{head}\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n{hidden}", body.len());
    assert_eq!(statuses(&server, &text), [200]);
    check_serves(&server);
}

#[test]
fn idle_connections_do_not_lock_out_clients() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    client.initialize();
    let mut events = server.connect();
    events.write_all(client.text("GET", &[], "").as_bytes()).unwrap();
    events.read_exact(&mut [0; 12]).unwrap();
    let start = Instant::now();
    let idle: Vec<_> = (0..HTTP_CONNECTIONS + 100).map(|_| server.connect()).collect();
    check_serves(&server);
    let elapsed = start.elapsed();
    assert!(elapsed < HTTP_HEADER_TIME / 2, "{elapsed:?}");
    assert!(server.most_resident_bytes() < 64 << 20, "{}", server.most_resident_bytes());
    // The oldest idle connection is closed, and the stream of events, which is older, is not.
    assert_eq!((&idle[0]).read(&mut [0]).unwrap(), 0);
    events.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut rest = Vec::new();
    assert!(events.read_to_end(&mut rest).is_err(), "the stream has ended: {rest:?}");
}
