//! A session of ACP's second version, a draft: the editor offers no files, calls are told by one
//! kind of update, and diffs are patches.

use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits, called, read};

fn session() -> (Editor, String) {
    // An editor that also speaks the first version says so, in case the agent does not.
    let editor = Editor::agreed(Habits::default(), 2, json!({"capabilities": {"session": {}}}));
    let session = editor.new_session();
    (editor, session)
}

/// The updates of a call, as the editor got them.
fn updates(editor: &Editor, id: &str) -> Vec<Value> {
    let updates = editor.state.updates.lock().unwrap();
    let of_call = |update: &&Value| update["update"]["toolCallId"] == id;
    updates.iter().filter(of_call).map(|update| update["update"].clone()).collect()
}

#[test]
fn a_call_is_told_by_updates_and_shown_as_a_patch() {
    let (editor, session) = session();
    let path = editor.spelled("f.txt");
    std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
    let rows = [
        (
            "edit_text_file",
            json!({"path": path, "old_string": "two", "new_string": "2"}),
            "modify",
            format!(
                "diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
            ),
        ),
        (
            "file.create",
            json!({"path": "new.txt", "content": "new\n"}),
            "add",
            format!(
                "diff --git {new} {new}\nnew file mode 100644\n--- /dev/null\n+++ {new}\n@@ -0,0 +1 @@\n+new\n",
                new = editor.spelled("new.txt")
            ),
        ),
    ];
    for (number, (tool, arguments, operation, patch)) in rows.into_iter().enumerate() {
        let id = format!("call {number}");
        let mut call = called(&session, tool, arguments);
        call["callId"] = id.as_str().into();
        let answer = editor.request("test/call", call)["result"].clone();
        assert_eq!(answer["isError"], false, "{answer}");
        editor.wait_for_ends(number + 1);
        let updates = updates(&editor, &id);
        let kinds: Vec<_> = updates.iter().map(|update| &update["sessionUpdate"]).collect();
        assert_eq!(kinds, ["tool_call_update", "tool_call_update"]);
        assert_eq!(updates[0]["status"], "pending");
        assert_eq!(updates[1]["status"], "completed");
        let diff = &updates[1]["content"][0];
        assert_eq!(diff["type"], "diff");
        assert_eq!(diff["changes"][0]["operation"], operation);
        assert_eq!(diff["patch"], json!({"format": "git_patch", "text": patch}));
        assert!(diff.get("oldText").is_none() && diff.get("newText").is_none());
    }
    assert_eq!(read(&editor.path("f.txt")), "one\n2\nthree\n");
    assert!(editor.state.requests.lock().unwrap().is_empty(), "there are no such methods");
}

#[test]
fn the_agents_event_becomes_part_of_the_card() {
    let (editor, session) = session();
    let path = editor.spelled("f.txt");
    std::fs::write(&path, "text\n").unwrap();
    let raw = json!({"server": "recto", "tool": "read_text_file", "arguments": {"path": path}});
    let told = |status: &str| {
        let update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call", "status": status,
            "title": "mcp.recto.read_text_file", "kind": "execute", "rawInput": raw,
        });
        let params = json!({"sessionId": session, "update": update});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string()
    };
    editor.request("test/say", json!({"lines": [told("pending")]}));
    let mut call = called(&session, "read_text_file", json!({"path": path}));
    call["callId"] = "call".into();
    editor.request("test/call", call);
    editor.request("test/say", json!({"lines": [told("completed")]}));
    editor.wait_for_ends(1);
    let updates = updates(&editor, "call");
    assert!(updates.iter().all(|update| update["sessionUpdate"] == "tool_call_update"));
    let titles: Vec<_> = updates.iter().filter_map(|update| update["title"].as_str()).collect();
    assert!(titles.iter().all(|title| *title == "Read f.txt"), "{titles:?}");
    let kinds: Vec<_> = updates.iter().filter_map(|update| update["kind"].as_str()).collect();
    assert!(kinds.iter().all(|kind| *kind == "read"), "{kinds:?}");
    assert_eq!(updates.last().unwrap()["status"], "completed");
}

#[test]
fn a_request_for_permission_has_its_call_beneath_the_subject() {
    let (editor, session) = session();
    let path = editor.spelled("f.txt");
    std::fs::write(&path, "old\n").unwrap();
    let raw = json!({"server": "recto", "tool": "write_text_file",
        "arguments": {"path": path, "content": "new\n"}});
    let call = json!({"toolCallId": "call", "title": "mcp.recto.write_text_file", "rawInput": raw});
    let subject = json!({"type": "tool_call", "toolCall": call});
    let params = json!({"sessionId": session, "title": "May I?", "subject": subject,
        "options": [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]});
    let ask = json!({"method": "session/request_permission", "params": params});
    let answered = editor.ask("test/ask", ask);
    let request: Value = serde_json::from_str(&editor.next_line()).unwrap();
    assert_eq!(request["params"]["title"], "May I?", "the agent's own words stay");
    let call = &request["params"]["subject"]["toolCall"];
    assert_eq!(call["title"], "Write f.txt");
    let patch = call["content"][0]["patch"]["text"].as_str().unwrap();
    assert!(patch.ends_with("@@ -1 +1 @@\n-old\n+new\n"), "{patch}");
    editor.send_line(&json!({"id": request["id"], "result": {}}).to_string());
    answered.recv().unwrap();
    assert_eq!(read(&editor.path("f.txt")), "old\n");
}

#[test]
fn the_server_is_added_with_its_type() {
    let (editor, _) = session();
    let params = json!({"cwd": editor.folder.path(), "mcpServers": [], "_meta": {"idle": true}});
    let answer = editor.request("session/new", params);
    let entry = &answer["result"]["_meta"]["received"]["mcpServers"][0];
    assert_eq!(entry["type"], "stdio", "{entry}");
}
