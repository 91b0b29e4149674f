//! Who made a change, in the journal and in the log.

use serde_json::{Value, json};

use super::client::HttpServer;
use crate::client::recto;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn with_token() -> HttpServer {
    let options = ["--token-file", "{dir}/tokens", "--log", "json", "--tools", "all"];
    HttpServer::start_with(&options, |server| server.tokens(&format!("ci write {TOKEN}\n")))
}

/// Returns the session and the client of the recorded change of a file.
fn recorded(server: &HttpServer, name: &str) -> (Value, Value) {
    let mut command = recto();
    command.args(["log", "--json", "--state-dir"]).arg(server.path("state"));
    let output = command.arg(server.path("root").join(name)).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let change: Value = serde_json::from_str(text.trim()).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    (change["session"].clone(), change["client"].clone())
}

fn arguments(server: &HttpServer, name: &str) -> Value {
    json!({"path": server.spelled(name), "content": "text\n"})
}

#[test]
fn a_change_in_a_session_is_recorded_with_its_id_and_the_token() {
    let server = with_token();
    let (mut one, mut other) = (server.client_with(TOKEN), server.client_with(TOKEN));
    for (client, name) in [(&mut one, "one.txt"), (&mut other, "other.txt")] {
        client.initialize();
        let written = client.call("write_text_file", arguments(&server, name));
        assert_eq!(written["result"]["isError"], false, "{written}");
        let id = client.session.clone().unwrap();
        assert_eq!(recorded(&server, name), (json!(id), json!("ci")));
    }
    assert_ne!(one.session, other.session);
}

#[test]
fn without_a_session_a_change_belongs_to_the_thread_of_the_token_or_to_no_session() {
    let server = with_token();
    let mut client = server.client_with(TOKEN);
    let mut write = |name: &str, meta: Value| {
        let params = json!({
            "name": "write_text_file", "arguments": arguments(&server, name), "_meta": meta,
        });
        let answer = client.stateless("tools/call", params);
        assert_eq!(answer.message()["result"]["isError"], false, "{answer:?}");
    };
    write("thread.txt", json!({"threadId": "t-1"}));
    write("none.txt", json!({}));
    write("long.txt", json!({"threadId": "t".repeat(300)}));
    assert_eq!(recorded(&server, "thread.txt"), (json!("ci/t-1"), json!("ci")));
    assert_eq!(recorded(&server, "none.txt"), (Value::Null, json!("ci")));
    assert_eq!(recorded(&server, "long.txt"), (Value::Null, json!("ci")));
    let mut command = recto();
    command.args(["log", "--state-dir"]).arg(server.path("state"));
    let output = command.arg(server.path("root/none.txt")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ci") && text.contains("(session unknown)"), "{text}");
}

/// Returns what a tool returned: its structured content, or the text of its error.
fn returned(message: &Value) -> Value {
    let result = &message["result"];
    match result["isError"] == true {
        true => result["content"][0]["text"].clone(),
        false => result["structuredContent"].clone(),
    }
}

#[test]
fn a_session_lists_and_undoes_only_its_own_changes() {
    let server = with_token();
    let (mut one, mut other) = (server.client_with(TOKEN), server.client_with(TOKEN));
    for (client, name) in [(&mut one, "one.txt"), (&mut other, "other.txt")] {
        client.initialize();
        client.call("write_text_file", arguments(&server, name));
    }
    let listed = returned(&one.call("undo_list", json!({})));
    let path = server.spelled("one.txt");
    let own = json!([{"change": 1, "kind": "create", "path": path}]);
    assert_eq!(listed, json!({"changes": own, "n_older": 0}));
    let error = returned(&one.call("undo_apply", json!({"change": 2})));
    assert_eq!(error, "Cannot undo change 2: this session has no such change");
    assert!(server.path("root/other.txt").exists());
    let undone = returned(&one.call("undo_apply", json!({"change": 1})));
    assert_eq!(undone["undone"], json!([1]), "{undone}");
    assert!(!server.path("root/one.txt").exists());
}

#[test]
fn a_thread_undoes_its_changes_and_a_request_without_a_session_none() {
    let server = with_token();
    let mut client = server.client_with(TOKEN);
    let mut call = |tool: &str, arguments: Value, meta: Value| {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        returned(&client.stateless("tools/call", params).message())
    };
    let (thread, none) = (json!({"threadId": "t-1"}), json!({}));
    call("write_text_file", arguments(&server, "thread.txt"), thread.clone());
    call("write_text_file", arguments(&server, "none.txt"), none.clone());
    // Change 2 is stored with an empty session.
    for meta in [&none, &json!({"threadId": ""})] {
        let unknown = "No recorded changes: this call does not belong to a known session";
        assert_eq!(call("undo_list", json!({}), meta.clone()), unknown);
        assert_eq!(call("undo_apply", json!({"change": 2}), meta.clone()), unknown);
    }
    let error = call("undo_apply", json!({"change": 2}), thread.clone());
    assert_eq!(error, "Cannot undo change 2: this session has no such change");
    assert!(server.path("root/none.txt").exists());
    let undone = call("undo_apply", json!({"change": 1}), thread);
    assert_eq!(undone["undone"], json!([1]), "{undone}");
}

#[test]
fn a_session_is_live_until_it_ends() {
    let mut server = with_token();
    let dir = recto_journal::StateDir::find(&server.path("state")).unwrap();
    let mut client = server.client_with(TOKEN);
    client.initialize();
    let session = client.session.clone().unwrap();
    client.call("write_text_file", arguments(&server, "session.txt"));
    let params = json!({"name": "write_text_file", "arguments": arguments(&server, "thread.txt"),
        "_meta": {"threadId": "t-1"}});
    client.session = None;
    client.stateless("tools/call", params);
    let live = dir.live_sessions();
    assert!(live.contains(&session) && live.contains("ci/t-1"), "{live:?}");
    client.session = Some(session.clone());
    assert_eq!(client.send("DELETE", &[], "").status, 202);
    let live = dir.live_sessions();
    assert!(!live.contains(&session) && live.contains("ci/t-1"), "{live:?}");
    server.kill();
    assert!(dir.live_sessions().is_empty());
}

#[test]
fn a_logged_call_names_the_token() {
    let server = with_token();
    let mut client = server.client_with(TOKEN);
    client.initialize();
    client.call("read_text_file", json!({"path": server.spelled("inside.txt")}));
    let line: Value = serde_json::from_str(&server.logged("inside.txt")).unwrap();
    assert_eq!(
        (&line["client"], &line["tool"]),
        (&json!("ci"), &json!("read_text_file")),
        "{line}"
    );
}
