//! Malformed lines. Each is answered if an answer is possible, and the next valid line is served.

use serde_json::{Value, json};

use crate::server::{Server, cut};

/// The expected answer to a line.
enum Answer {
    /// An error with this id.
    Error(i32, Value),
    /// An error without an id, or with a null one.
    Nameless(i32),
    Silence,
}

use Answer::{Error, Nameless, Silence};

/// Sends a line, reads the answer, and checks that the server continues.
fn check(server: &mut Server, line: &str, expected: &Answer) {
    server.send_line(line);
    let (code, id) = match expected {
        // The answer to the next request shows that this line had none.
        Silence => return server.check_serves(),
        Error(code, id) => (code, id),
        Nameless(code) => (code, &Value::Null),
    };
    let answer = server.next().unwrap_or_else(|| panic!("the server ended at {:?}", cut(line)));
    assert_eq!(answer["error"]["code"], *code, "{:?} gave {answer}", cut(line));
    assert_eq!(&answer["id"], id, "{:?} gave {answer}", cut(line));
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty(), "{answer}");
    server.check_serves();
}

/// Lines that are not messages are rejected the same at any time.
fn malformed_lines() -> Vec<(String, Answer)> {
    let rows = [
        ("not json", Nameless(-32700)),
        ("{", Nameless(-32700)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, Error(-32700, json!(1))),
        (r#"{"jsonrpc":"2.0","id":1}{"jsonrpc":"2.0","id":2}"#, Error(-32700, json!(1))),
        ("{'jsonrpc':'2.0','id':1,'method':'ping'}", Nameless(-32700)),
        ("Content-Length: 52\r", Nameless(-32700)),
        ("", Silence),
        ("   \t\r", Silence),
        ("\"a string\"", Nameless(-32600)),
        ("5", Nameless(-32600)),
        ("null", Nameless(-32600)),
        ("true", Nameless(-32600)),
        ("[]", Nameless(-32600)),
        (r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#, Nameless(-32600)),
        ("{}", Nameless(-32600)),
        (r#"{"jsonrpc":"2.0","id":11}"#, Error(-32600, json!(11))),
        (r#"{"jsonrpc":"2.0","id":"eleven"}"#, Error(-32600, json!("eleven"))),
        (r#"{"jsonrpc":"1.0","id":12,"method":"ping"}"#, Error(-32600, json!(12))),
        (r#"{"id":13,"method":"ping"}"#, Error(-32600, json!(13))),
        (r#"{"jsonrpc":"2.0","id":14,"method":5}"#, Error(-32600, json!(14))),
        (
            r#"{"jsonrpc":"2.0","id":15,"method":"tools/list","params":"x"}"#,
            Error(-32600, json!(15)),
        ),
        (
            r#"{"jsonrpc":"2.0","id":16,"method":"tools/call","params":[]}"#,
            Error(-32600, json!(16)),
        ),
        // An invalid id is not returned.
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Nameless(-32600)),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, Nameless(-32600)),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Nameless(-32600)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Nameless(-32600)),
        // Notifications and unexpected answers are never answered.
        (r#"{"jsonrpc":"2.0","id":17,"result":{}}"#, Silence),
        (r#"{"jsonrpc":"2.0","id":17,"error":{"code":1,"message":"x"}}"#, Silence),
        (r#"{"jsonrpc":"2.0","method":"notifications/no-such"}"#, Silence),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Silence),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
            Silence,
        ),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#, Silence),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#, Nameless(-32600)),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
            Silence,
        ),
    ];
    let mut table: Vec<_> =
        rows.into_iter().map(|(line, answer)| (line.to_string(), answer)).collect();
    table.push(("[".repeat(100_000), Nameless(-32700)));
    table.push((format!("{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000)), Nameless(-32700)));
    table
}

#[test]
fn malformed_lines_are_rejected_and_the_server_continues() {
    let mut server = Server::ready(&[]);
    for (line, expected) in malformed_lines() {
        check(&mut server, &line, &expected);
    }
}

#[test]
fn malformed_lines_are_rejected_before_the_handshake() {
    for (line, expected) in malformed_lines() {
        let mut server = Server::start(&[]);
        server.send_line(&line);
        if let Error(code, _) | Nameless(code) = expected {
            let answer = server.next().unwrap_or_else(|| panic!("ended at {:?}", cut(&line)));
            assert_eq!(answer["error"]["code"], code, "{:?} gave {answer}", cut(&line));
        }
        server.initialize("2025-06-18");
        server.check_serves();
    }
}

#[test]
fn calls_of_the_wrong_shape_are_invalid_params() {
    let mut server = Server::ready(&[]);
    for params in [
        json!({"name": "read_text_file", "arguments": []}),
        json!({"name": "read_text_file", "arguments": ["path", "/x"]}),
        json!({"name": "read_text_file", "arguments": "{\"path\": \"/x\"}"}),
        json!({"name": "read_text_file", "arguments": 5}),
        json!({"name": "read_text_file", "arguments": true}),
        json!({"arguments": {}}),
        json!({"name": null, "arguments": {}}),
        json!({"name": 5, "arguments": {}}),
        json!({"name": "no_such_tool", "arguments": {}}),
        json!({"name": "", "arguments": {}}),
        json!({"name": "READ_TEXT_FILE", "arguments": {}}),
        json!({}),
    ] {
        let id = server.new_id();
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        check(&mut server, &line.to_string(), &Error(-32602, json!(id)));
    }
    let id = server.new_id();
    let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call"});
    check(&mut server, &line.to_string(), &Error(-32602, json!(id)));
}

/// Invalid arguments in an object are the tool's to reject, so that a model reads why.
#[test]
fn invalid_arguments_are_tool_results() {
    let mut server = Server::ready(&[]);
    for (arguments, message) in [
        (json!(null), "Missing argument: path"),
        (json!({}), "Missing argument: path"),
        (json!({"path": 5}), "Argument path must be a string: 5"),
        (json!({"path": null}), "Missing argument: path"),
        (json!({"path": ["/x"]}), "Argument path must be a string: [\"/x\"]"),
        (json!({"path": "/x", "file": 1}), "Unknown argument: file"),
        (json!({"path": "/x", "line": "ten"}), "Argument line must be an integer: \"ten\""),
        (json!({"path": "/x", "line": {}}), "Argument line must be an integer: {}"),
        (json!({"path": "/x", "line": 0}), "Line number must be >= 1: 0"),
        (json!({"path": "x"}), "Path must be absolute: x"),
    ] {
        let answer = server.call("read_text_file", arguments.clone());
        let error = &answer["result"]["_meta"]["error"];
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.split("\n\n").next(), Some(message), "{arguments} gave {answer}");
        assert_eq!(error["code"], -32600, "{arguments} gave {answer}");
        assert_eq!(answer["result"]["isError"], true);
    }
    server.check_serves();
}

#[test]
fn a_request_id_is_returned_as_it_was_sent() {
    let mut server = Server::ready(&[]);
    for id in [json!(0), json!(-7), json!(i64::MAX), json!(""), json!("a \"b\"\n🦀"), json!("1")]
    {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        let answer = server.next().unwrap();
        assert_eq!((&answer["id"], &answer["result"]), (&id, &json!({})));
    }
    server.send_line("{\"jsonrpc\":\"2.0\",\"id\":61,\"method\":\"ping\"}\r");
    assert_eq!(server.next().unwrap()["id"], 61);
}

/// Valid JSON that not every parser accepts: an unpaired surrogate, as sent by a model that is cut
/// off in an emoji, and excessive nesting. A client waits for the id.
#[test]
fn a_request_that_cannot_be_parsed_is_answered_with_its_id() {
    let nested = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let call = |id: u64, value: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read_text_file","arguments":{{"path":{value}}}}}}}"#
        )
    };
    for (id, value) in
        [(71, "\"/\\ud83d\""), (74, "\"/\\udc00\""), (72, "\"/\\ud83d\\u0041\""), (73, &nested)]
    {
        let mut server = Server::ready(&[]);
        server.send_line(&call(id, value));
        let answer = server.next().unwrap();
        assert_eq!(answer["id"], id, "{} gave {answer}", cut(value));
        let text = answer["error"]["message"].as_str().unwrap();
        assert_eq!(text.contains("half of a surrogate pair"), id != 73, "{text}");
        server.check_serves();
    }
}
