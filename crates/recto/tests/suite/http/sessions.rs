//! Sessions: whose they are, what they know, and how many there may be.

use std::io::Write;

use recto::limits::{HTTP_SESSIONS, HTTP_STREAMS};
use serde_json::json;

use super::client::HttpServer;

#[test]
fn a_session_of_another_token_does_not_exist() {
    let (one, other) = ("one-one-one-one-one-one", "other-other-other-other");
    let server = HttpServer::start_with(&["--token-file", "{dir}/tokens"], |server| {
        server.tokens(&format!("one write {one}\nother write {other}\n"));
    });
    let mut owner = server.client_with(one);
    owner.initialize();
    let mut thief = server.client_with(other);
    thief.session = owner.session.clone();
    assert_eq!(thief.post("tools/list", json!({}), &[]).status, 404);
    assert_eq!(thief.send("GET", &[], "").status, 404);
    assert_eq!(thief.send("DELETE", &[], "").status, 404);
    assert_eq!(owner.post("tools/list", json!({}), &[]).status, 200);
    assert_eq!(owner.send("DELETE", &[], "").status, 202);
    assert_eq!(owner.post("tools/list", json!({}), &[]).status, 404);
}

#[test]
fn each_session_knows_what_it_has_seen() {
    let server = HttpServer::start(&[]);
    let path = server.spelled("inside.txt");
    let (mut one, mut other) = (server.client(), server.client());
    one.initialize();
    other.initialize();
    one.call("read_text_file", json!({"path": path}));
    let write = |text: &str| json!({"path": path, "content": text});
    // It has never read the file, which the contract allows.
    let written = other.call("write_text_file", write("other\n"));
    assert_eq!(written["result"]["isError"], false, "{written}");
    let refused = one.call("write_text_file", write("one\n"));
    assert_eq!(refused["result"]["_meta"]["error"]["code"], -32013, "{refused}");
    let written = other.call("write_text_file", write("again\n"));
    assert_eq!(written["result"]["isError"], false, "{written}");
}

#[test]
fn a_request_without_its_session_is_rejected() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    assert_eq!(client.post("tools/list", json!({}), &[]).status, 400);
    client.session = Some("unknown".into());
    assert_eq!(client.post("tools/list", json!({}), &[]).status, 404);
}

#[test]
fn sessions_are_bounded_in_number_and_memory() {
    let server = HttpServer::start(&[]);
    let (mut first, mut used) = (server.client(), server.client());
    first.initialize();
    used.initialize();
    let mut client = server.client();
    for n in 0..5_000 {
        client.session = None;
        client.initialize();
        if n % (HTTP_SESSIONS / 2) == 0 {
            assert_eq!(used.post("tools/list", json!({}), &[]).status, 200, "{n}");
        }
    }
    // The session that was used lately is kept, the one that was not is closed.
    assert_eq!(used.post("tools/list", json!({}), &[]).status, 200);
    assert_eq!(first.post("tools/list", json!({}), &[]).status, 404);
    let n_bytes = server.most_resident_bytes();
    assert!(n_bytes < 128 << 20, "{n_bytes}");
}

#[test]
fn event_streams_are_bounded() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    client.initialize();
    let mut streams = Vec::new();
    for n in 0..HTTP_STREAMS {
        // One session cannot have that many.
        let mut other = server.client();
        other.initialize();
        let mut stream = server.connect();
        stream.write_all(other.text("GET", &[], "").as_bytes()).unwrap();
        let mut head = [0; 12];
        std::io::Read::read_exact(&mut stream, &mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 200", "{n}");
        streams.push(stream);
    }
    let text = client.text("GET", &[], "");
    assert_eq!(server.raw(text.as_bytes()).unwrap().status, 503);
    assert_eq!(client.post("tools/list", json!({}), &[]).status, 200);
}
