//! Sessions: whose they are, what they know, and how many there may be.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use recto::limits::{HTTP_SESSIONS, HTTP_STREAMS, HTTP_STREAMS_OF_TOKEN};
use serde_json::json;

use super::client::{HttpServer, read_until};

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
    let tokens = ["one-one-one-one-one-one", "two-two-two-two-two-two", "three-three-three-three"];
    let server = HttpServer::start_with(&["--token-file", "{dir}/tokens"], |server| {
        let [one, two, three] = tokens;
        server.tokens(&format!("one read {one}\ntwo read {two}\nthree read {three}\n"));
    });
    let uri = format!("file://{}", server.spelled("none.txt"));
    // One session cannot have several streams.
    let texts = |token: &str| {
        let mut client = server.client_with(token);
        let listening = client.listening(&uri);
        client.initialize();
        [listening, client.text("GET", &[], "")]
    };
    let open = |text: &str| {
        let mut stream = server.connect();
        stream.write_all(text.as_bytes()).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        let status = str::from_utf8(&head[9..]).unwrap().to_string();
        (stream, status)
    };
    let check_rejected = |token: &str, message: &str| {
        for text in texts(token) {
            let (mut stream, status) = open(&text);
            assert_eq!(status, "503", "{text}");
            read_until(&mut stream, message);
        }
        let mut client = server.client_with(token);
        assert_eq!(client.stateless("tools/list", json!({})).status, 200);
    };
    let mut streams = Vec::new();
    for token in &tokens[..2] {
        for n in 0..HTTP_STREAMS_OF_TOKEN {
            let (stream, status) = open(&texts(token)[n % 2]);
            assert_eq!(status, "200", "{n}");
            streams.push(stream);
        }
        check_rejected(token, "Too many event streams are open with this token\n");
    }
    assert_eq!(streams.len(), HTTP_STREAMS);
    check_rejected(tokens[2], "Too many event streams are open\n");
    // The server notices the end of a connection a moment later.
    streams.pop();
    let start = Instant::now();
    while open(&texts(tokens[2])[0]).1 != "200" {
        assert!(start.elapsed() < Duration::from_secs(10), "there is no space");
    }
}
