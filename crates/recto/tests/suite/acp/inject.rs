//! The server that the agent is given when a session starts.

use std::path::Path;

use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits, Writes, called, read};
use crate::client::{BINARY, state_dir};

/// Returns the params of a request as the agent received them.
fn received(editor: &Editor, method: &str, params: Value) -> Value {
    editor.request(method, params)["result"]["_meta"]["received"].clone()
}

fn is_token(value: &Value) -> bool {
    value.as_str().is_some_and(|token| {
        token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[test]
fn every_kind_of_session_gets_the_server() {
    let editor = Editor::ready(Habits::default());
    let folder = editor.folder.path().to_str().unwrap();
    let mut tokens = Vec::new();
    for method in ["session/new", "session/load", "session/resume", "session/fork"] {
        for servers in [
            json!([]),
            Value::Null,
            json!([{"name": "other", "command": "/x", "args": [], "env": []}]),
        ] {
            let params =
                json!({"sessionId": "old", "cwd": folder, "mcpServers": servers, "x": 1.50});
            let received = received(&editor, method, params);
            let list = received["mcpServers"].as_array().unwrap();
            let n_others = servers.as_array().map_or(0, Vec::len);
            assert_eq!(list.len(), n_others + 1, "{method} {servers}");
            let entry = &list[n_others];
            assert_eq!(entry["name"], "recto");
            assert_eq!(
                entry["command"],
                Path::new(BINARY).canonicalize().unwrap().to_str().unwrap()
            );
            let arguments = entry["args"].as_array().unwrap();
            assert_eq!(arguments[..3], [json!("serve"), json!("--root"), json!(folder)]);
            assert_eq!(entry["env"][0], json!({"name": "RECTO_LINK", "value": editor.socket()}));
            assert_eq!(entry["env"][1]["name"], "RECTO_TOKEN");
            let token = &entry["env"][1]["value"];
            assert!(is_token(token), "{token}");
            assert!(!tokens.contains(token), "a token was reused");
            tokens.push(token.clone());
            assert_eq!(entry.as_object().unwrap().len(), 4, "no more than the schema has: {entry}");
        }
    }
}

#[test]
fn a_session_without_a_list_of_servers_gets_one() {
    let editor = Editor::ready(Habits::default());
    let received = received(&editor, "session/new", json!({"cwd": editor.folder.path()}));
    assert_eq!(received["mcpServers"][0]["name"], "recto");
}

#[test]
fn the_clients_own_recto_is_left_alone() {
    let editor = Editor::ready(Habits::default());
    let servers = json!([{"name": "recto", "command": "/own", "args": ["x"], "env": []}]);
    let params = json!({"cwd": editor.folder.path(), "mcpServers": servers});
    assert_eq!(received(&editor, "session/new", params.clone()), params);
}

#[test]
fn roots_and_options_of_the_command_line_reach_the_server() {
    let habits = Habits::options(&[
        "a",
        "--root",
        "/",
        "--tools",
        "edit,ReadLines",
        "--read-only",
        "--deny",
        "*.pem",
        "--deny=-x",
        "--max-read-bytes",
        "2000",
        "--git-dir",
        "g",
    ]);
    let editor = Editor::ready(Habits { folders: &["a", "g"], ..habits });
    let params = json!({"cwd": editor.folder.path(), "mcpServers": []});
    let received = received(&editor, "session/new", params);
    let arguments = received["mcpServers"][0]["args"].clone();
    assert_eq!(
        arguments,
        json!([
            "serve",
            "--root",
            editor.spelled("a"),
            "--root",
            "/",
            "--durability=full",
            "--errors=result",
            format!("--state-dir={}", state_dir().display()),
            "--max-answer-bytes=2000",
            "--tools=edit,ReadLines",
            "--read-only",
            "--deny=*.pem",
            "--deny=-x",
            format!("--git-dir={}", editor.spelled("g")),
        ])
    );
    let tools = editor.request("test/tools", json!({"sessionId": "session 1"}));
    let names: Vec<_> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["read_text_file", "ReadLines"]);
}

/// The roots of a session's server if the editor names additional directories.
fn roots(editor: &Editor, method: &str, folders: Value) -> Vec<String> {
    let params = json!({
        "sessionId": "old", "cwd": editor.folder.path(), "mcpServers": [],
        "additionalDirectories": folders, "_meta": {"idle": true},
    });
    let received = received(editor, method, params);
    let arguments = received["mcpServers"][0]["args"].as_array().unwrap().clone();
    let pairs = arguments.windows(2).filter(|pair| pair[0] == "--root");
    pairs.map(|pair| pair[1].as_str().unwrap().to_string()).collect()
}

#[test]
fn additional_directories_are_roots_if_the_agent_supports_them() {
    let more = tempfile::tempdir().unwrap();
    let spelled = more.path().to_str().unwrap();
    let offers = [
        (1, json!({"agentCapabilities": {"sessionCapabilities": {"additionalDirectories": {}}}})),
        (2, json!({"capabilities": {"session": {"additionalDirectories": {}}}})),
    ];
    for (version, offer) in offers {
        let editor = Editor::agreed(Habits::default(), version, offer.clone());
        let own = editor.folder.path().to_str().unwrap();
        for method in ["session/new", "session/load", "session/resume", "session/fork"] {
            assert_eq!(roots(&editor, method, json!([spelled])), [own, spelled], "{method}");
        }
        // A root that is not a directory would keep the server from starting.
        let odd = json!(["relative", 5, "/does/not/exist", spelled]);
        assert_eq!(roots(&editor, "session/new", odd), [own, spelled]);
        for none in [json!([]), Value::Null, json!("x")] {
            assert_eq!(roots(&editor, "session/new", none), [own]);
        }

        let editor = Editor::agreed(Habits::options(&["/"]), version, offer);
        assert_eq!(roots(&editor, "session/new", json!([spelled])), ["/"], "the command line's");
    }
    for offer in [
        Value::Null,
        json!({"agentCapabilities": {"sessionCapabilities": {"additionalDirectories": null}}}),
    ] {
        let editor = Editor::agreed(Habits::default(), 1, offer);
        let own = editor.folder.path().to_str().unwrap();
        assert_eq!(roots(&editor, "session/new", json!([spelled])), [own], "not agreed");
    }
}

#[test]
fn files_in_additional_directories_are_served() {
    let more = tempfile::tempdir().unwrap();
    let path = more.path().canonicalize().unwrap().join("f.txt");
    std::fs::write(&path, "more\n").unwrap();
    let offers =
        json!({"agentCapabilities": {"sessionCapabilities": {"additionalDirectories": {}}}});
    let editor = Editor::agreed(Habits::default(), 1, offers);
    let params = json!({
        "cwd": editor.folder.path(), "mcpServers": [], "additionalDirectories": [more.path()],
    });
    let session = editor.request("session/new", params)["result"]["sessionId"].clone();
    let answer = editor.call(session.as_str().unwrap(), "read_text_file", json!({"path": path}));
    assert_eq!(answer["structuredContent"]["content"], "more\n", "{answer}");
}

#[test]
fn tools_see_the_buffer_and_write_to_it() {
    let (editor, session) = Editor::in_session(Habits::default());
    std::fs::write(editor.path("f.txt"), "on disk\n").unwrap();
    editor.open("f.txt", "unsaved\n");
    let path = editor.spelled("f.txt");
    let answer = editor.call(&session, "read_text_file", json!({"path": path}));
    assert_eq!(answer["structuredContent"]["content"], "unsaved\n", "{answer}");
    let arguments = json!({"path": path, "old_string": "unsaved", "new_string": "edited"});
    let answer = editor.call(&session, "edit_text_file", arguments);
    assert_eq!(answer["isError"], false, "{answer}");
    assert_eq!(editor.state.buffers.lock().unwrap()[&path], "edited\n");
    assert_eq!(read(&editor.path("f.txt")), "on disk\n", "the editor has not saved");
    for request in editor.state.requests.lock().unwrap().iter() {
        assert!(request["id"].as_str().unwrap().starts_with("recto-"), "{request}");
        assert_eq!(request["params"]["sessionId"], session.as_str());
    }
}

#[test]
fn a_declined_write_writes_nothing() {
    let habits = Habits { writes: Writes::Declined, ..Habits::default() };
    let (editor, session) = Editor::in_session(habits);
    std::fs::write(editor.path("f.txt"), "old\n").unwrap();
    editor.open("f.txt", "old\n");
    let arguments = json!({"path": editor.spelled("f.txt"), "content": "new\n"});
    let answer = editor.call(&session, "write_text_file", arguments);
    assert_eq!(answer["_meta"]["error"]["code"], -32002, "{answer}");
    assert_eq!(read(&editor.path("f.txt")), "old\n");
    assert_eq!(editor.state.writes.lock().unwrap().len(), 1);
}

#[test]
fn an_editor_without_files_still_gets_tools_and_events() {
    for capabilities in [json!({}), json!({"fs": {"readTextFile": false}}), Value::Null] {
        let habits = Habits { capabilities, ..Habits::default() };
        let (editor, session) = Editor::in_session(habits);
        std::fs::write(editor.path("f.txt"), "on disk\n").unwrap();
        let mut params =
            called(&session, "read_text_file", json!({"path": editor.spelled("f.txt")}));
        params["callId"] = "call 1".into();
        let answer = editor.request("test/call", params);
        assert_eq!(answer["result"]["structuredContent"]["content"], "on disk\n", "{answer}");
        assert!(editor.state.requests.lock().unwrap().is_empty(), "the editor was asked");
        editor.wait_for_ends(1);
        let updates = editor.state.updates.lock().unwrap();
        let kinds: Vec<_> =
            updates.iter().map(|update| &update["update"]["sessionUpdate"]).collect();
        assert_eq!(kinds, ["tool_call", "tool_call_update"]);
        for update in updates.iter() {
            assert_eq!(update["sessionId"], session.as_str());
            assert_eq!(update["update"]["toolCallId"], "call 1");
        }
    }
}

#[test]
fn a_session_that_failed_to_start_has_no_link() {
    let editor = Editor::ready(Habits::default());
    let params = json!({"cwd": editor.folder.path(), "mcpServers": [], "_meta": {"fail": true}});
    for method in ["session/new", "session/load"] {
        let answer = editor.request(method, params.clone());
        assert_eq!(answer["error"]["message"], "no");
    }
    editor.new_session();
}

#[test]
fn a_log_shows_every_message_and_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (editor, session) =
        Editor::in_session(Habits::options(&["--log-messages", log.to_str().unwrap()]));
    editor.open("f.txt", "text\n");
    editor.call(&session, "read_text_file", json!({"path": editor.spelled("f.txt")}));
    let text = read(&log);
    let entries: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut ways: Vec<String> = entries
        .iter()
        .filter(|entry| entry["message"].is_object())
        .map(|entry| {
            format!(
                "{} {}: {}",
                entry["from"].as_str().unwrap(),
                entry["to"].as_str().unwrap(),
                entry["message"]["method"].as_str().unwrap_or("-")
            )
        })
        .filter(|way| !way.contains("session/update"))
        .collect();
    // How many requests the editor gets does not matter here.
    let asked = ["recto editor: fs/read_text_file", "editor recto: -"];
    while ways.windows(4).any(|four| four[..2] == asked && four[2..] == asked) {
        let place = ways.iter().position(|way| way == asked[0]).unwrap();
        ways.drain(place..place + 2);
    }
    assert_eq!(
        ways,
        [
            "editor agent: initialize",
            "agent editor: -",
            "editor recto: session/new",
            "recto agent: session/new",
            "agent editor: -",
            "editor agent: test/call",
            "recto editor: fs/read_text_file",
            "editor recto: -",
            "agent editor: -",
        ]
    );
    assert!(entries.iter().all(|entry| entry["time"].as_f64().unwrap() > 1e9));
    let sent = &entries.iter().find(|entry| entry["from"] == "recto").unwrap()["message"];
    assert_eq!(sent["params"]["mcpServers"][0]["env"][1]["value"], "*".repeat(64));
    let is_hex = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(!text.split('"').any(is_hex), "the echo of the agent is masked as well");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
