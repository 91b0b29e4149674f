//! Both protocol eras, and the checks that a request passes before a tool sees it.

use std::io::Write;

use serde_json::json;

use super::client::{Answer, HttpServer, read_until};

#[test]
fn a_session_begins_with_initialize_and_serves_calls() {
    let server = HttpServer::start(&["--tools", "all"]);
    let mut client = server.client();
    let info = client.initialize();
    assert_eq!(info["serverInfo"]["name"], "recto");
    assert_eq!(info["protocolVersion"], "2025-06-18");
    let tools = client.request("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), recto_tools::tools::ALL.len());
    let answer = client.call("read_text_file", json!({"path": server.spelled("inside.txt")}));
    assert_eq!(answer["result"]["structuredContent"]["content"], "inside\n", "{answer}");
    let path = server.spelled("new.txt");
    let answer = client.call("write_text_file", json!({"path": path, "content": "new\n"}));
    assert_eq!(answer["result"]["structuredContent"]["created"], true, "{answer}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "new\n");
}

#[test]
fn requests_without_a_session_are_answered_as_json() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    let answer = client.stateless("server/discover", json!({}));
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = client.stateless("tools/list", json!({}));
    assert_eq!(answer.header("content-type").unwrap(), "application/json");
    assert!(answer.header("mcp-session-id").is_none());
    let arguments = json!({"path": server.spelled("inside.txt")});
    let answer =
        client.stateless("tools/call", json!({"name": "read_text_file", "arguments": arguments}));
    let structured = &answer.message()["result"]["structuredContent"];
    assert_eq!(structured["content"], "inside\n", "{answer:?}");
}

#[test]
fn without_a_session_overwriting_needs_the_hash_that_the_hint_leads_to() {
    let server = HttpServer::start(&[]);
    let mut client = server.client();
    let path = server.spelled("inside.txt");
    let mut call = |tool: &str, arguments| {
        client.stateless("tools/call", json!({"name": tool, "arguments": arguments})).message()
    };
    let content = "other\n";
    let refused = call("write_text_file", json!({"path": path, "content": content}));
    assert_eq!(refused["result"]["_meta"]["error"]["code"], -32013, "{refused}");
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("read_text_file") && text.contains("expected_hash"), "{text}");
    let read = call("read_text_file", json!({"path": path}));
    let hash = read["result"]["structuredContent"]["_meta"]["hash"].as_str().unwrap();
    assert!(!refused.to_string().contains(hash), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "inside\n");
    let arguments = json!({"path": path, "content": content, "expected_hash": hash});
    let written = call("write_text_file", arguments);
    assert_eq!(written["result"]["isError"], false, "{written}");
    // The same content again, and a new file, need no hash.
    for name in ["inside.txt", "new.txt"] {
        let arguments = json!({"path": server.spelled(name), "content": content});
        let written = call("write_text_file", arguments);
        assert_eq!(written["result"]["isError"], false, "{written}");
    }
}

#[test]
fn health_needs_no_token_and_reveals_nothing() {
    let server = HttpServer::start(&[]);
    let answer = server.raw(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!((answer.status, &*answer.body), (200, ""));
    assert!(!answer.head.to_lowercase().contains("recto"), "{answer:?}");
    let answer = server.raw(b"GET /other HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert_eq!(answer.status, 404);
}

fn with_headers(server: &HttpServer, from: &str, to: &str) -> Answer {
    let client = server.client();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;
    let text = client.text("POST", &[], ping);
    assert!(text.contains(from), "{text}");
    server.raw(text.replacen(from, to, 1).as_bytes()).unwrap()
}

#[test]
fn a_foreign_host_or_origin_is_rejected() {
    let server = HttpServer::start(&["--allow-host", "files.example"]);
    let host = format!("Host: {}\r\n", server.address);
    let port = server.address.port();
    for (to, status) in [
        (host.clone(), 200),
        (format!("Host: localhost:{port}\r\n"), 200),
        ("Host: files.example\r\n".into(), 200),
        ("Host: evil.example\r\n".into(), 403),
        (format!("Host: evil.example:{port}\r\n"), 403),
        (String::new(), 400),
        (format!("{host}Origin: http://localhost:3000\r\n"), 200),
        (format!("{host}Origin: http://evil.example\r\n"), 403),
        (format!("{host}Origin: https://localhost.evil.example\r\n"), 403),
        (format!("{host}Origin: null\r\n"), 403),
        (format!("{host}Origin: \r\n"), 403),
    ] {
        assert_eq!(with_headers(&server, &host, &to).status, status, "{to}");
    }
}

#[test]
fn a_request_that_contradicts_itself_is_rejected() {
    let server = HttpServer::start(&[]);
    let host = format!("Host: {}\r\n", server.address);
    let origin = "Origin: http://localhost:3000\r\n";
    for to in [
        format!("{host}Host: evil.example\r\n"),
        format!("Host: evil.example\r\n{host}"),
        format!("{host}{host}"),
        format!("{host}{origin}Origin: http://evil.example\r\n"),
        format!("{host}Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n"),
        format!("{host}Mcp-Method: initialize\r\nMcp-Method: subscriptions/listen\r\n"),
    ] {
        assert_eq!(with_headers(&server, &host, &to).status, 400, "{to}");
    }
    let line = "POST /mcp HTTP/1.1";
    assert_eq!(with_headers(&server, line, "POST http://evil.example/mcp HTTP/1.1").status, 400);
    let same = format!("POST http://{}/mcp HTTP/1.1", server.address);
    assert_eq!(with_headers(&server, line, &same).status, 200);
    let two = format!("{host}Authorization: Bearer {}\r\n", server.token);
    assert_eq!(with_headers(&server, &host, &two).status, 401, "two tokens");
}

#[test]
fn only_loopback_is_served_unless_a_token_file_is_given() {
    let check = |arguments: &[&str], expected: &str| {
        let output = std::process::Command::new(crate::client::BINARY)
            .args(["serve", "/", "--http"])
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(expected), "{arguments:?}: {text}");
    };
    check(&["0.0.0.0:0"], "--allow-remote");
    check(&["0.0.0.0:0", "--allow-remote"], "--token-file");
    check(&["0.0.0.0:0", "--allow-remote", "--token-file", "/none"], "--allow-host");
    check(&["127.0.0.1:0", "--token-file", "/none"], "/none");
    check(&["nowhere"], "--http nowhere");
}

#[test]
fn changes_of_files_are_reported_in_both_eras() {
    let server = HttpServer::start(&[]);
    let uri = format!("file://{}", server.spelled("inside.txt"));
    let mut client = server.client();
    client.initialize();
    let mut events = server.connect();
    events.write_all(client.text("GET", &[], "").as_bytes()).unwrap();
    read_until(&mut events, "text/event-stream");
    client.request("resources/subscribe", json!({"uri": uri}));

    let mut listening = server.connect();
    listening.write_all(server.client().listening(&uri).as_bytes()).unwrap();
    read_until(&mut listening, "notifications/subscriptions/acknowledged");

    // Changes are reported from the first check on.
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let path = server.spelled("inside.txt");
    let writer = std::thread::spawn(move || {
        for n in 0.. {
            std::fs::write(&path, format!("{n}\n")).unwrap();
            let wait = std::time::Duration::from_millis(200);
            if is_done.recv_timeout(wait) != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return;
            }
        }
    });
    read_until(&mut events, "notifications/resources/updated");
    read_until(&mut listening, "notifications/resources/updated");
    drop(done);
    writer.join().unwrap();
}
