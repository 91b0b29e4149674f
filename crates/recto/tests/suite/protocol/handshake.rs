//! How a session starts: with each protocol revision, with an unknown one, and without a handshake.

use serde_json::{Value, json};

use crate::server::{STATELESS, Server, stateless};

const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

#[test]
fn every_protocol_revision_with_a_handshake_is_supported() {
    for version in REVISIONS {
        let mut server = Server::start(&[]);
        assert_eq!(server.initialize(version)["protocolVersion"], version);
        server.check_serves();
    }
}

#[test]
fn an_unknown_protocol_revision_is_answered_with_a_supported_one() {
    for version in ["1999-01-01", "2099-12-31", "", STATELESS] {
        let mut server = Server::start(&[]);
        let answered = server.initialize(version)["protocolVersion"].clone();
        assert!(REVISIONS.iter().any(|known| answered == *known), "{version}: {answered}");
        server.check_serves();
    }
}

#[test]
fn initialize_returns_the_server_info_and_capabilities() {
    let mut server = Server::start(&[]);
    let result = server.initialize("2025-06-18");
    assert_eq!(result["serverInfo"]["name"], "recto");
    let capabilities = result["capabilities"].as_object().unwrap();
    let mut names: Vec<_> = capabilities.keys().map(String::as_str).collect();
    names.sort();
    assert_eq!(names, ["completions", "experimental", "resources", "tools"]);
    assert_eq!(capabilities["experimental"], json!({"codex/sandbox-state-meta": {}}));
}

#[test]
fn the_instructions_say_which_tool_is_for_what() {
    for (options, said) in [
        (
            &[][..],
            "Files under ROOT. To find files: ListFiles; search, or read lines or old revisions: \
             ReadLines; read exact text: read_text_file; change text: edit_text_file; change \
             several places: multi_edit_text_file; change several files: changes_apply; replace a \
             whole file: write_text_file; create a file: file_create; preview data files: \
             ReadAsTable; edit by line and hash: text_replace. *_text_file need absolute paths; \
             others also accept paths relative to ROOT.",
        ),
        (
            &["--tools", "text", "--tool-names", "dotted"],
            "Files under ROOT. To create a file: file.create; edit by line and hash: text.replace. \
             Paths are absolute or relative to ROOT.",
        ),
        (
            &["--tools", "edit", "--read-only"],
            "Files under ROOT. To read exact text: read_text_file. Paths are absolute.",
        ),
    ] {
        let mut server = Server::start(options);
        let result = server.initialize("2025-06-18");
        let root = server.spelled("");
        let said = said.replace("ROOT", root.trim_end_matches('/'));
        assert_eq!(result["instructions"], said);
        assert!(said.replace(&root, "").chars().count() / 4 <= 120, "{said}");
    }
}

#[test]
fn requests_with_their_own_metadata_need_no_handshake() {
    let mut server = Server::start(&[]);
    let found = server.request("server/discover", stateless(json!({})));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(STATELESS)), "{found}");
    assert_eq!(
        found["result"]["capabilities"]["experimental"],
        json!({"codex/sandbox-state-meta": {}})
    );
    let listed = server.request("tools/list", stateless(json!({})));
    let is_reading = |tool: &Value| tool["name"] == "read_text_file";
    assert!(listed["result"]["tools"].as_array().unwrap().iter().any(is_reading), "{listed}");
    check_stateless(&mut server);
}

#[test]
fn a_call_can_be_the_first_message() {
    check_stateless(&mut Server::start(&[]));
}

fn check_stateless(server: &mut Server) {
    let path = server.spelled("inside.txt");
    let call = |path: &str| json!({"name": "read_text_file", "arguments": {"path": path}});
    let read = server.request("tools/call", stateless(call(&path)));
    assert_eq!(read["result"]["structuredContent"]["content"], "inside\n", "{read}");
    let refused = server.request("tools/call", stateless(call("/etc/passwd")));
    assert_eq!(refused["result"]["_meta"]["error"]["code"], -32002, "{refused}");
}

/// Requests that are rejected before a session leave the server ready for one.
#[test]
fn a_session_can_start_after_rejected_requests() {
    let discover = json!({"method": "server/discover", "params": {}});
    let list = json!({"method": "tools/list", "params": {}});
    let call =
        json!({"method": "tools/call", "params": {"name": "read_text_file", "arguments": {}}});
    let old = json!({"method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "1999-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let strays = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "id": 77, "result": {}}),
    ];
    let mut failures = Vec::new();
    for first in [discover, list, call, old] {
        for stray in &strays {
            let mut server = Server::start(&[]);
            let id = server.new_id();
            let mut request = first.clone();
            request["jsonrpc"] = "2.0".into();
            request["id"] = id.into();
            server.send(&request);
            let refused = server.next().unwrap();
            assert!(refused["error"]["code"].is_i64() && refused["id"] == id, "{refused}");
            server.send(stray);
            let initialize = server.new_id();
            server.send(&json!({"jsonrpc": "2.0", "id": initialize, "method": "initialize",
                "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "0"}}}));
            match server.next() {
                Some(answer) if answer["id"] == initialize => server.check_serves(),
                found => failures.push(format!("{first}\n  then {stray}\n  found {found:?}")),
            }
        }
    }
    assert!(failures.is_empty(), "the server is gone:\n{}", failures.join("\n"));
}

#[test]
fn methods_that_are_not_offered_are_not_found() {
    for (method, params) in [
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "x"})),
        ("logging/setLevel", json!({"level": "debug"})),
        ("tasks/list", json!({})),
        ("no/such/method", json!({})),
        ("", json!({})),
    ] {
        let mut server = Server::ready(&[]);
        check_not_found(&server.request(method, params.clone()));
        server.check_serves();
        check_not_found(&Server::start(&[]).request(method, stateless(params)));
    }
}

fn check_not_found(answer: &Value) {
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}
