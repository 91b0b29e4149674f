//! The form of results: text, structured content or both, and that structured content matches its
//! schema.

use recto_text::Digest;
use serde_json::{Value, json};

use crate::server::{Server, stateless};

/// One successful call of each tool, and one that fails.
fn calls(server: &Server) -> [(&'static str, Value); 4] {
    let path = |name| server.spelled(name);
    let edit = json!({"old_string": "inside", "new_string": "edited"});
    [
        ("read_text_file", json!({"path": path("inside.txt"), "limit": 1})),
        (
            "edit_text_file",
            json!({"path": path("inside.txt"), "old_string": "inside", "new_string": "edited"}),
        ),
        ("write_text_file", json!({"path": path("inside.txt"), "content": "inside\nmore\n"})),
        ("multi_edit_text_file", json!({"path": path("inside.txt"), "edits": [edit]})),
    ]
}

/// Returns the answers to one call of each tool, with its definition.
fn answers(options: &[&str]) -> Vec<(Value, Value)> {
    let mut server = Server::ready(options);
    let tools = server.tools();
    let mut answers = Vec::new();
    for (name, arguments) in calls(&server) {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let answer = server.call(name, arguments);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answers.push((tool.clone(), answer["result"].clone()));
    }
    answers
}

fn blocks(result: &Value) -> Vec<&str> {
    let blocks = result["content"].as_array().unwrap();
    blocks
        .iter()
        .map(|block| {
            assert_eq!(block["type"], "text", "{block}");
            block["text"].as_str().unwrap()
        })
        .collect()
}

#[test]
fn text_and_structured_content_are_sent_by_default() {
    for options in [&[][..], &["--results", "both"]] {
        for (tool, result) in answers(options) {
            assert!(tool["outputSchema"].is_object(), "{tool}");
            let structured = &result["structuredContent"];
            assert!(structured.is_object(), "{result}");
            let text = blocks(&result);
            match tool["name"].as_str().unwrap() {
                // The position and version, then the file's text alone.
                "read_text_file" => {
                    assert_eq!(text[1], structured["content"]);
                    assert_eq!(text.len(), 2);
                    assert!(text[0].contains(structured["_meta"]["hash"].as_str().unwrap()));
                    assert_eq!(text[0].find('\n'), Some(text[0].len() - 1));
                }
                "write_text_file" => {
                    assert!(text[0].contains(structured["hash"].as_str().unwrap()));
                }
                _ => assert_eq!(text[1], structured["diff"]),
            }
        }
    }
}

#[test]
fn text_only_results_have_no_structured_content() {
    let both = answers(&[]);
    for ((tool, result), (_, usual)) in answers(&["--results", "text"]).into_iter().zip(both) {
        assert_eq!(tool.get("outputSchema"), None, "{tool}");
        assert_eq!(result.get("structuredContent"), None, "{result}");
        assert_eq!(result["content"], usual["content"]);
    }
}

#[test]
fn structured_only_results_have_their_json_as_text() {
    let both = answers(&[]);
    for ((tool, result), (_, usual)) in answers(&["--results", "structured"]).into_iter().zip(both)
    {
        assert!(tool["outputSchema"].is_object(), "{tool}");
        let text = blocks(&result);
        assert_eq!(text.len(), 1, "{result}");
        assert_eq!(serde_json::from_str::<Value>(text[0]).unwrap(), result["structuredContent"]);
        assert_eq!(result["structuredContent"], usual["structuredContent"]);
    }
}

#[test]
fn structured_results_match_their_schema() {
    for (tool, result) in answers(&[]) {
        let broken = violations(&tool["outputSchema"], &result["structuredContent"], "answer");
        assert!(broken.is_empty(), "{}: {}", tool["name"], broken.join("; "));
    }
    let mut server = Server::ready(&[]);
    let tools = server.tools();
    // The answers with the rarest members.
    let path = server.spelled("inside.txt");
    std::fs::hard_link(&path, server.path("other.txt")).unwrap();
    let twin = server.spelled("twin.txt");
    std::fs::write(&twin, "a\n").unwrap();
    std::fs::hard_link(&twin, server.path("other-twin.txt")).unwrap();
    for (name, arguments) in [
        ("read_text_file", json!({"path": path, "line": 9})),
        ("write_text_file", json!({"path": path, "content": "inside\n"})),
        ("write_text_file", json!({"path": path, "content": "x\n", "dry_run": true})),
        ("write_text_file", json!({"path": server.spelled("new.txt"), "content": ""})),
        (
            "edit_text_file",
            json!({"path": path, "old_string": "in", "new_string": "out", "dry_run": true}),
        ),
        ("edit_text_file", json!({"path": path, "old_string": "in", "new_string": "out"})),
        ("write_text_file", json!({"path": path, "content": "x".repeat(5 << 20), "dry_run": true})),
        (
            "text_append",
            json!({"path": twin, "hash": Digest::of(b"a\n").to_string(), "content": "b"}),
        ),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let result = &server.call(name, arguments)["result"];
        let broken = violations(&tool["outputSchema"], &result["structuredContent"], "answer");
        assert!(broken.is_empty(), "{name}: {}\n{result}", broken.join("; "));
    }
}

/// Implements the part of JSON Schema that output schemas use; any other keyword is a violation.
fn violations(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, rule) in schema.as_object().unwrap() {
        match keyword.as_str() {
            "description" => {}
            "type" => {
                let is_right = match rule.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    other => panic!("{place}: unknown type {other}"),
                };
                if !is_right {
                    found.push(format!("{place} is not of type {rule}: {value}"));
                }
            }
            "properties" => {
                let unnamed = value.as_object().into_iter().flat_map(|members| members.keys());
                let unnamed = unnamed.filter(|name| rule.get(name.as_str()).is_none());
                found.extend(unnamed.map(|name| format!("{place}.{name} is not in the schema")));
                for (name, schema) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        found.extend(violations(schema, value, &format!("{place}.{name}")));
                    }
                }
            }
            "required" => {
                let names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                let missing = names.filter(|name| value.get(name).is_none());
                found.extend(missing.map(|name| format!("{place} lacks {name}")));
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(violations(rule, item, &format!("{place}[{index}]")));
                }
            }
            other => found.push(format!("{place}: unknown keyword {other}")),
        }
    }
    found
}

#[test]
fn errors_are_sent_as_the_error_style_option_says() {
    let hint = |server: &Server| {
        let root = server.path("").canonicalize().unwrap().display().to_string();
        format!("Only files under these roots are accessible: {root}")
    };
    let message = "Permission denied: /etc/passwd";
    for results in ["both", "text", "structured"] {
        let mut server = Server::ready(&["--results", results]);
        let answer = server.call("read_text_file", json!({"path": "/etc/passwd"}));
        let (result, hint) = (&answer["result"], hint(&server));
        assert_eq!(result["isError"], true, "{answer}");
        assert_eq!(result.get("structuredContent"), None, "{answer}");
        assert_eq!(blocks(result), [format!("{message}\n\n{hint}")]);
        assert_eq!(result["_meta"]["error"], json!({"code": -32002}));

        let mut server = Server::ready(&["--results", results, "--errors", "jsonrpc"]);
        let answer = server.call("read_text_file", json!({"path": "/etc/passwd"}));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        assert_eq!(answer["error"]["message"], message);
        assert_eq!(answer["error"]["data"]["message"], message);
        assert!(answer["error"]["data"]["hint"].is_string(), "{answer}");

        // For clients of this revision -32002 of another method would be sent as -32602.
        let mut server = Server::start(&["--results", results, "--errors", "jsonrpc"]);
        let call = json!({"name": "read_text_file", "arguments": {"path": "/etc/passwd"}});
        let answer = server.request("tools/call", stateless(call));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
    }
}
