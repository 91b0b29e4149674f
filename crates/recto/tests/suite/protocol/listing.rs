//! The contents of `tools/list`: names, schemas as in the contracts, annotations, size.

use recto_text::Digest;
use recto_tools::tools::{self, Toolset};
use recto_tools::{Error, Names, Served};
use serde_json::{Map, Value, json};

use crate::client::recto;
use crate::server::{Server, stateless};

fn listed(options: &[&str]) -> Vec<Value> {
    Server::ready(options).tools()
}

fn names(options: &[&str]) -> Vec<String> {
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_string();
    listed(options).iter().map(name).collect()
}

const ALL: [&str; 4] =
    ["read_text_file", "write_text_file", "edit_text_file", "multi_edit_text_file"];

#[test]
fn options_select_the_tools() {
    assert_eq!(names(&["--tools", "edit"]), ALL);
    assert_eq!(names(&["--tools", "edit", "--read-only"]), ["read_text_file"]);
    assert_eq!(names(&["--tools", "edit_text_file"]), ["edit_text_file"]);
    assert_eq!(
        names(&["--tools", "edit_text_file,read_text_file"]),
        ["read_text_file", "edit_text_file"]
    );
    assert_eq!(names(&["--tools", "write_text_file", "--read-only"]), [] as [&str; 0]);
    assert_eq!(names(&["--tools", "edit", "--tool-names", "dotted"]), ALL);
    let (all, reading) = (names(&[]), names(&["--read-only"]));
    assert!(ALL.iter().all(|tool| all.iter().any(|name| name == tool)), "{all:?}");
    assert!(!ALL[1..].iter().any(|tool| reading.iter().any(|name| name == tool)), "{reading:?}");
}

#[test]
fn a_read_only_server_lists_only_tools_that_read() {
    for tool in listed(&["--read-only"]) {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
}

#[test]
fn tool_names_have_dots_only_if_asked_for() {
    let is_plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    assert!(names(&[]).iter().all(is_plain));
    let dotted = names(&["--tool-names", "dotted", "--tools", "text"]);
    let expected =
        ["text.read", "text.replace", "text.insert", "text.append", "file.create", "file.remove"];
    assert_eq!(dotted, expected);
}

#[test]
fn messages_spell_tool_names_as_the_client_does() {
    let mut server = Server::ready(&["--tool-names", "dotted", "--tools", "text"]);
    std::fs::write(server.path("code.rs"), "text.replace(a, b);\n").unwrap();
    let hash = |text: &str| Digest::of(text.as_bytes()).to_string();

    let unknown = server.call("text.reed", json!({}));
    assert_eq!(
        unknown["error"]["message"],
        "Unknown tool: text.reed. \
         Tools: text.read, text.replace, text.insert, text.append, file.create, file.remove"
    );
    let past_the_end = server.call(
        "text_insert",
        json!({"path": "inside.txt", "hash": hash("inside\n"), "line": 9, "anchor": "inside", "content": "x"}),
    );
    let hint = &past_the_end["result"]["content"][0]["text"];
    assert!(hint.as_str().is_some_and(|hint| hint.contains("use text.append")), "{hint}");

    // The text of a file is shown unchanged.
    let similar = server.call(
        "text_replace",
        json!({"path": "code.rs", "hash": hash("text.replace(a, b);\n"), "lines": [1, 2],
            "old": "text.replace(a, c);", "new": "x"}),
    );
    let shown = similar["result"]["content"][0]["text"].as_str().unwrap();
    assert!(shown.contains("text.replace(a, b);"), "{shown}");
}

#[test]
fn hints_name_only_served_tools_by_their_published_names() {
    let text_tools = || tools::ALL.iter().filter(|tool| tool.toolset == Toolset::Text);
    let dotted = Served::new(tools::ALL.to_vec(), Names::Dotted);
    let none = Served::new(Vec::new(), Names::Dotted);
    let text = |error: &Error, served| error.hint(served).map(|hint| hint.text).unwrap_or_default();
    let mut n_named = 0;
    for error in crate::errors::examples() {
        let hint = text(&error, &dotted);
        let underscored = text_tools().find(|tool| hint.contains(tool.name));
        assert!(underscored.is_none(), "{error:?}: {hint}");
        n_named += usize::from(hint != text(&error, &none));
        let hint = text(&error, &none);
        let named = tools::ALL.iter().find(|tool| hint.contains(tool.name));
        assert!(named.is_none(), "{error:?}: {hint}");
    }
    assert!(n_named >= 3, "{n_named} examples name a tool");
}

#[test]
fn a_tool_that_is_not_listed_cannot_be_called() {
    for options in [&["--read-only"][..], &["--tools", "read_text_file"]] {
        let mut server = Server::ready(options);
        for tool in &ALL[1..] {
            let path = server.spelled("inside.txt");
            let answer = server.call(tool, json!({"path": path, "content": "written\n"}));
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        server.check_serves();
        assert_eq!(std::fs::read_to_string(server.path("inside.txt")).unwrap(), "inside\n");
    }
}

#[test]
fn a_misspelt_tool_on_the_command_line_is_rejected() {
    for options in [&["--tools", "edits"][..], &["--results", "json"], &["--deny", "a{"]] {
        let mut server = Server::start(options);
        assert!(!server.wait(std::time::Duration::from_secs(2)).success(), "{options:?}");
        assert_eq!(server.next(), None, "stdout belongs to the protocol");
    }
}

/// The contracts' schemas, with recto's additions.
fn contracts() -> Value {
    let string = json!({"type": "string"});
    let boolean = json!({"type": "boolean"});
    let edit = json!({
        "old_string": string,
        "new_string": string,
        "replace_all": boolean,
        "whole_word": boolean,
    });
    json!({
        "read_text_file": {
            "type": "object",
            "properties": {
                "path": string,
                "line": {"type": "integer", "minimum": 1},
                "limit": {"type": "integer", "minimum": 1},
            },
            "required": ["path"],
        },
        "write_text_file": {
            "type": "object",
            "properties": {
                "path": string,
                "content": string,
                "from_commit": string,
                "from_path": string,
                "expected_hash": string,
                "dry_run": {"type": "boolean"},
            },
            "required": ["path"],
        },
        "edit_text_file": {
            "type": "object",
            "properties": {
                "path": string,
                "old_string": string,
                "new_string": string,
                "replace_all": boolean,
                "whole_word": boolean,
                "expected_hash": string,
                "dry_run": {"type": "boolean"},
            },
            "required": ["path", "old_string", "new_string"],
        },
        "multi_edit_text_file": {
            "type": "object",
            "properties": {
                "path": string,
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": edit,
                        "required": ["old_string", "new_string"],
                    },
                },
                "expected_hash": string,
                "dry_run": {"type": "boolean"},
            },
            "required": ["path", "edits"],
        },
    })
}

/// Removes descriptions from a schema, but not a property called `description`.
fn undescribed(schema: &Value) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut bare = Map::new();
    for (keyword, value) in schema {
        let value = match (keyword.as_str(), value) {
            ("description", _) => continue,
            ("properties", Value::Object(properties)) => properties
                .iter()
                .map(|(name, schema)| (name.clone(), undescribed(schema)))
                .collect(),
            ("items", schema) => undescribed(schema),
            _ => value.clone(),
        };
        bare.insert(keyword.clone(), value);
    }
    Value::Object(bare)
}

#[test]
fn input_schemas_match_the_contracts() {
    let contracts = contracts();
    for tool in listed(&["--tools", "edit"]) {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(undescribed(&tool["inputSchema"]), contracts[name], "{name}");
    }
}

#[test]
fn every_tool_and_every_argument_is_described() {
    for tool in listed(&[]) {
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{tool}");
        for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name} of {}", tool["name"]);
        }
    }
}

#[test]
fn annotations_match_what_the_tools_do() {
    let tools = listed(&["--tools", "all"]);
    for (name, is_reading, is_destructive) in [
        ("read_text_file", true, None),
        ("write_text_file", false, Some(true)),
        ("edit_text_file", false, Some(false)),
        ("multi_edit_text_file", false, Some(false)),
        ("file_remove", false, Some(true)),
        ("changes_apply", false, Some(false)),
        ("undo_list", true, None),
        ("undo_apply", false, Some(true)),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let annotations = &tool["annotations"];
        assert_eq!(annotations["readOnlyHint"], is_reading, "{name}");
        assert_eq!(annotations["openWorldHint"], false, "{name}");
        if let Some(is_destructive) = is_destructive {
            assert_eq!(annotations["destructiveHint"], is_destructive, "{name}");
        }
    }
}

#[test]
fn the_edit_toolset_costs_a_model_less_than_1300_tokens() {
    let json = Value::Array(listed(&["--tools", "edit"])).to_string();
    let n_tokens = json.chars().count() / 4;
    assert!(n_tokens < 1300, "{n_tokens} tokens");
}

#[test]
fn definitions_cost_a_model_few_tokens() {
    for (options, max_tokens) in [
        (&["--tools", "edit,text,files"][..], 3500),
        (&["--tools", "coding"], 2600),
        (&["--tools", "coding", "--results", "text"], 1600),
        (&["--tools", "changes"], 350),
        (&[], 4600),
    ] {
        let n_chars = Value::Array(listed(options)).to_string().chars().count();
        assert!(n_chars <= 4 * max_tokens, "{options:?}: {} tokens", n_chars.div_ceil(4));
    }
}

#[test]
fn the_command_line_prints_the_list_that_a_client_gets() {
    for options in [&[][..], &["--tool-names", "dotted", "--results", "text"], &["--read-only"]] {
        let printed = recto().args(["tools", "--json"]).args(options).output();
        let printed: Value = serde_json::from_slice(&printed.unwrap().stdout).unwrap();
        assert_eq!(printed, Value::Array(listed(options)), "{options:?}");
    }
}

#[test]
fn the_command_line_describes_each_argument() {
    let printed = recto().args(["tools", "--tools", "file_create"]).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed.contains("\n    encoding (utf-8 or base64, optional): "), "{printed}");
}

#[test]
fn the_list_is_the_same_without_a_handshake() {
    let mut server = Server::start(&[]);
    let answer = server.request("tools/list", stateless(json!({})));
    assert_eq!(answer["result"]["tools"], Value::Array(listed(&[])));
}
