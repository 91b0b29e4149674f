//! A session in the draft of ACP's version 2: the relay adds the server and forwards every message
//! unchanged. Calls use the disk, because the draft gives editors no file methods.

use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits, called, read};

fn session() -> (Editor, String) {
    // An editor that also speaks version 1 offers files, in case the agent does not speak 2.
    let editor = Editor::agreed(Habits::default(), 2, json!({"capabilities": {"session": {}}}));
    let session = editor.new_session();
    (editor, session)
}

#[test]
fn a_call_uses_the_disk_and_sends_no_update_of_its_own() {
    let (editor, session) = session();
    let path = editor.spelled("f.txt");
    std::fs::write(&path, "one\ntwo\n").unwrap();
    let raw = json!({"server": "recto", "tool": "edit_text_file", "arguments": {"path": path}});
    let told = |status: &str| {
        let update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call", "status": status,
            "title": "mcp.recto.edit_text_file", "kind": "execute", "rawInput": raw,
        });
        let params = json!({"sessionId": session, "update": update});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
    };
    let say = |message: &Value| {
        editor.request("test/say", json!({"lines": [message.to_string()]}));
    };
    say(&told("pending"));
    let edit = json!({"path": path, "old_string": "two", "new_string": "2"});
    let mut call = called(&session, "edit_text_file", edit);
    call["callId"] = "call".into();
    let answer = editor.request("test/call", call)["result"].clone();
    assert_eq!(answer["isError"], false, "{answer}");
    say(&told("completed"));
    editor.wait_for_ends(1);
    let updates = editor.state.updates.lock().unwrap().clone();
    assert_eq!(updates, [told("pending")["params"].clone(), told("completed")["params"].clone()]);
    assert_eq!(read(&editor.path("f.txt")), "one\n2\n");
    assert!(editor.state.requests.lock().unwrap().is_empty(), "there are no such methods");
}

#[test]
fn a_permission_request_is_forwarded_unchanged() {
    let (editor, session) = session();
    let path = editor.spelled("f.txt");
    let raw = json!({"server": "recto", "tool": "write_text_file",
        "arguments": {"path": path, "content": "new\n"}});
    let call = json!({"toolCallId": "call", "title": "mcp.recto.write_text_file", "rawInput": raw});
    let subject = json!({"type": "tool_call", "toolCall": call});
    let params = json!({"sessionId": session, "title": "May I?", "subject": subject,
        "options": [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]});
    let ask = json!({"method": "session/request_permission", "params": params});
    let answered = editor.ask("test/ask", ask);
    let request: Value = serde_json::from_str(&editor.next_line()).unwrap();
    assert_eq!(request["params"], params);
    editor.send_line(&json!({"id": request["id"], "result": {}}).to_string());
    answered.recv().unwrap();
}

#[test]
fn the_server_is_added_with_its_type() {
    let (editor, _) = session();
    let params = json!({"cwd": editor.folder.path(), "mcpServers": [], "_meta": {"idle": true}});
    let answer = editor.request("session/new", params);
    let entry = &answer["result"]["_meta"]["received"]["mcpServers"][0];
    assert_eq!(entry["type"], "stdio", "{entry}");
}
