//! What a client gets depends on the name that it reports, unless an option says otherwise.

use serde_json::{Value, json};

use crate::server::{Server, stateless};

/// Starts a server for a client that reports `name` in its handshake.
fn introduced(name: &str, options: &[&str]) -> Server {
    let mut server = Server::start(options);
    let client = json!({"name": name, "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    server.request("initialize", params);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    server
}

/// Returns the bytes of the text and of the structured part of a read of a large file.
fn read(server: &mut Server) -> (usize, usize) {
    std::fs::write(server.path("large.txt"), "a line of text\n".repeat(100_000)).unwrap();
    let path = server.spelled("large.txt");
    sizes(&server.call("read_text_file", json!({"path": path})))
}

fn sizes(answer: &Value) -> (usize, usize) {
    let result = &answer["result"];
    let blocks = result["content"].as_array().unwrap().iter();
    let n_text = blocks.map(|block| block["text"].as_str().unwrap().len()).sum();
    let structured = &result["structuredContent"];
    (n_text, if structured.is_null() { 0 } else { structured.to_string().len() })
}

#[test]
fn a_known_client_gets_text_of_its_size() {
    for (name, budget) in [
        ("codex-mcp-client", 32_768),
        ("claude-code", 45_000),
        ("opencode", 48_000),
        ("gemini-cli-mcp-client", 40_000),
        ("qwen-code", 40_000),
        ("goose", 40_000),
        ("github-copilot-developer", 40_000),
        ("continue-cli-client", 40_000),
        ("Visual Studio Code", 40_000),
    ] {
        let mut server = introduced(name, &[]);
        let (n_text, n_structured) = read(&mut server);
        assert!((budget - 600..=budget).contains(&n_text), "{name}: {n_text} bytes of text");
        assert_eq!(n_structured, 0, "{name}");
        assert!(server.tools().iter().all(|tool| tool["outputSchema"].is_null()), "{name}");
    }
}

#[test]
fn an_unknown_client_gets_both_parts_of_forty_thousand_bytes() {
    let (n_text, n_structured) = read(&mut introduced("another-client", &[]));
    assert!((38_000..=40_000).contains(&n_structured), "{n_structured} bytes");
    assert!((30_000..=40_000).contains(&n_text), "{n_text} bytes");
}

#[test]
fn options_win_over_the_client_table() {
    let options = ["--results", "both", "--max-answer-bytes", "9000", "--tool-names", "dotted"];
    let mut server = introduced("codex-mcp-client", &options);
    let (n_text, n_structured) = read(&mut server);
    assert!((8_000..=9_000).contains(&n_structured), "{n_structured} bytes");
    assert!(n_text <= 9_000, "{n_text} bytes");
    assert!(server.tools().iter().any(|tool| tool["name"] == "text.read"));
    let (n_text, n_structured) = read(&mut introduced("another-client", &["--client", "codex"]));
    assert!((32_168..=32_768).contains(&n_text), "{n_text} bytes");
    assert_eq!(n_structured, 0);
}

#[test]
fn without_a_handshake_each_request_names_its_client() {
    let mut server = Server::start(&[]);
    std::fs::write(server.path("large.txt"), "a line of text\n".repeat(100_000)).unwrap();
    let path = server.spelled("large.txt");
    for (name, budget, has_structured) in
        [("codex-mcp-client", 32_768, false), ("opencode", 48_000, false), ("x", 40_000, true)]
    {
        let arguments = json!({"path": path});
        let mut params = stateless(json!({"name": "read_text_file", "arguments": arguments}));
        params["_meta"]["io.modelcontextprotocol/clientInfo"] =
            json!({"name": name, "version": "1"});
        let (n_text, n_structured) = sizes(&server.request("tools/call", params));
        assert!(n_text.max(n_structured) <= budget, "{name}: {n_text} and {n_structured} bytes");
        assert!(n_text.max(n_structured) > budget - 2_000, "{name}: {n_text}, {n_structured}");
        assert_eq!(n_structured > 0, has_structured, "{name}");
    }
}

#[test]
fn only_claude_code_gets_its_metadata() {
    for (name, options, size) in [
        ("claude-code", &[][..], json!(50_000)),
        ("claude-code", &["--max-answer-bytes", "200000"], json!(200_000)),
        ("opencode", &[], Value::Null),
    ] {
        for tool in introduced(name, options).tools() {
            assert_eq!(tool["_meta"]["anthropic/maxResultSizeChars"], size, "{name}: {tool}");
            let always = if size.is_null() { Value::Null } else { true.into() };
            assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], always, "{name}: {tool}");
        }
    }
}

#[test]
fn an_unknown_name_for_the_client_option_is_rejected() {
    let mut server = Server::start(&["--client", "nobody"]);
    assert_eq!(server.wait(std::time::Duration::from_secs(10)).code(), Some(2));
}
