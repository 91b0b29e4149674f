//! What a permission request shows the user: the change to the text that the user has open, and
//! nothing from files that the tools may not read.

use std::os::unix::fs::symlink;

use recto::limits;
use recto_text::Digest;
use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits, read};

const ON_DISK: &str = "one\ntwo\n";
const IN_EDITOR: &str = "one\ntwo\nthree\n";
const SECRET: &str = "the secret text";

/// Makes the agent request permission for a call, as Codex does, which the editor declines. Returns
/// the content of the editor's request.
fn asked(editor: &Editor, session: &str, tool: &str, arguments: &Value) -> Value {
    let raw = json!({"server": "recto", "tool": tool, "arguments": arguments});
    let call = json!({"toolCallId": "c", "title": format!("mcp.recto.{tool}"), "rawInput": raw});
    answered(editor, session, &call, "n")["content"].clone()
}

/// Makes the agent request permission for a call and the editor choose an option, `y` or `n`. Returns
/// the call in the editor's request.
fn answered(editor: &Editor, session: &str, call: &Value, option: &str) -> Value {
    let options = json!([{"optionId": "y", "name": "Allow", "kind": "allow_once"},
        {"optionId": "n", "name": "Reject", "kind": "reject_once"}]);
    let params = json!({"sessionId": session, "toolCall": call, "options": options});
    let ask = json!({"method": "session/request_permission", "params": params});
    let answered = editor.ask("test/ask", ask);
    let request: Value = serde_json::from_str(&editor.next_line()).unwrap();
    assert_eq!(request["method"], "session/request_permission");
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
    editor.send_line(&json!({"id": request["id"], "result": outcome}).to_string());
    answered.recv().unwrap();
    request["params"]["toolCall"].clone()
}

/// Summarises the blocks: old and new text of a diff, or the message.
fn shown(content: &Value) -> Vec<String> {
    let blocks = content.as_array().into_iter().flatten();
    blocks
        .map(|block| match block["type"].as_str() {
            Some("diff") => match block.get("oldText") {
                None => format!("new {}", block["newText"]),
                Some(old) => format!("{old} -> {}", block["newText"]),
            },
            _ => block["content"]["text"].as_str().unwrap().to_string(),
        })
        .collect()
}

fn start() -> (Editor, String) {
    start_with("codex-acp")
}

/// Starts a session with an agent of this name.
fn start_with(agent: &str) -> (Editor, String) {
    let editor = Editor::with_agent(agent, Habits::options(&["--deny", "*.pem"]));
    let session = editor.new_session();
    std::fs::write(editor.path("f.txt"), ON_DISK).unwrap();
    editor.open("f.txt", IN_EDITOR);
    std::fs::write(editor.path("saved.txt"), ON_DISK).unwrap();
    editor.open("saved.txt", ON_DISK);
    (editor, session)
}

#[test]
fn the_permission_request_of_every_tool_shows_its_diff() {
    let (editor, session) = start();
    let hash = Digest::of(IN_EDITOR.as_bytes()).to_string();
    let path = editor.spelled("f.txt");
    let edits =
        json!([{"old_string": "one", "new_string": "1"}, {"old_string": "two", "new_string": "2"}]);
    let unsaved = "the editor has unsaved changes";
    let rows: Vec<(&str, Value, &str)> = vec![
        ("write_text_file", json!({"path": path, "content": "new\n"}), "new\n"),
        (
            "edit_text_file",
            json!({"path": path, "old_string": "two", "new_string": "2"}),
            "one\n2\nthree\n",
        ),
        ("multi_edit_text_file", json!({"path": path, "edits": edits}), "1\n2\nthree\n"),
        (
            "text_replace",
            json!({"path": "f.txt", "hash": hash, "lines": [3, 4], "old": "three", "new": "3"}),
            "one\ntwo\n3\n",
        ),
        (
            "text_insert",
            json!({"path": "f.txt", "hash": hash, "line": 2, "anchor": "two", "content": "1.5"}),
            "one\n1.5\ntwo\nthree\n",
        ),
        (
            "text_append",
            json!({"path": "f.txt", "hash": hash, "content": "four\n"}),
            "one\ntwo\nthree\nfour\n",
        ),
        ("file_remove", json!({"path": "f.txt", "hash": hash}), ""),
    ];
    for (tool, arguments, after) in rows {
        let content = asked(&editor, &session, tool, &arguments);
        let blocks = shown(&content);
        let diff = format!("{} -> {}", json!(IN_EDITOR), json!(after));
        assert_eq!(blocks[0], diff, "{tool}");
        assert!(blocks[1].contains(unsaved), "{tool}: {blocks:?}");
        assert_eq!(content[0]["path"], path, "{tool}");
    }
    for (tool, arguments) in [
        ("write_text_file", json!({"path": editor.spelled("new.txt"), "content": "new\n"})),
        ("file_create", json!({"path": "a/b/new.txt", "content": "new\n"})),
    ] {
        let blocks = shown(&asked(&editor, &session, tool, &arguments));
        assert_eq!(blocks, [r#"new "new\n""#], "{tool}");
    }
    assert_eq!(editor.state.writes.lock().unwrap().len(), 0, "nothing was written");
    assert_eq!(editor.state.buffers.lock().unwrap()[&path], IN_EDITOR);
    assert_eq!(read(&editor.path("f.txt")), ON_DISK);
    assert!(!editor.path("new.txt").exists() && !editor.path("a").exists());
    let updates = editor.state.updates.lock().unwrap();
    assert_eq!(*updates, [Value::Null; 0], "a preview sent updates");
}

#[test]
fn a_permission_request_reports_a_call_that_changes_nothing_or_fails() {
    let (editor, session) = start();
    let same = json!({"path": editor.spelled("saved.txt"), "content": ON_DISK});
    let blocks = shown(&asked(&editor, &session, "write_text_file", &same));
    assert_eq!(blocks, ["No change: the file already contains this text."]);

    let dry = json!({"path": editor.spelled("saved.txt"), "content": "new\n", "dry_run": true});
    let blocks = shown(&asked(&editor, &session, "write_text_file", &dry));
    assert_eq!(blocks[0], "Dry run: nothing was written.");

    for (tool, arguments, message) in [
        ("file_create", json!({"path": "saved.txt", "content": "x"}), "File already exists"),
        ("file_remove", json!({"path": "saved.txt", "hash": "000000000000"}), "File changed since"),
        (
            "edit_text_file",
            json!({"path": editor.spelled("none.txt"), "old_string": "a", "new_string": "b"}),
            "File not found",
        ),
        (
            "edit_text_file",
            json!({"path": editor.spelled("saved.txt"), "old_string": "absent", "new_string": "b"}),
            "String not found",
        ),
    ] {
        let blocks = shown(&asked(&editor, &session, tool, &arguments));
        assert_eq!(blocks[0], "This would currently fail:", "{tool}");
        assert!(blocks[1].contains(message), "{tool}: {blocks:?}");
    }
}

/// The editor would return any file, so the relay must not ask it.
#[test]
fn a_permission_request_shows_nothing_of_an_inaccessible_file() {
    let (editor, session) = start();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().canonicalize().unwrap().join("secret.txt");
    std::fs::write(&secret, SECRET).unwrap();
    std::fs::write(editor.path("key.pem"), SECRET).unwrap();
    symlink(&secret, editor.path("link.txt")).unwrap();
    let secret = secret.to_str().unwrap().to_string();
    let mut paths = vec![secret, editor.spelled("key.pem"), editor.spelled("link.txt")];
    for path in &paths {
        editor.state.buffers.lock().unwrap().insert(path.clone(), SECRET.into());
    }
    std::fs::create_dir(editor.path("folder")).unwrap();
    paths.push(format!("{}/../link.txt", editor.spelled("folder")));
    let hash = Digest::of(SECRET.as_bytes()).to_string();
    for path in paths {
        for (tool, arguments) in [
            ("write_text_file", json!({"path": path, "content": "new\n"})),
            ("edit_text_file", json!({"path": path, "old_string": "secret", "new_string": "x"})),
            ("text_append", json!({"path": path, "hash": hash, "content": "x"})),
            ("file_remove", json!({"path": path, "hash": hash})),
            ("file_create", json!({"path": path, "content": "x"})),
        ] {
            let content = asked(&editor, &session, tool, &arguments);
            assert!(!content.to_string().contains(SECRET), "{tool} {path}: {content}");
            assert_eq!(shown(&content)[0], "This would currently fail:", "{tool} {path}");
        }
    }
    assert!(editor.state.requests.lock().unwrap().is_empty(), "the editor was asked");
}

#[test]
fn a_permission_request_shows_the_arguments_if_the_diff_is_unknown() {
    let editor = Editor::with_agent("codex-acp", Habits::default());
    editor.idle_session();
    std::fs::write(editor.path("f.txt"), ON_DISK).unwrap();
    let path = editor.spelled("f.txt");
    let write = json!({"path": path, "content": "new\n"});
    let expected =
        [r#"new "new\n""#, "The current content of the file, if it exists, is not shown."];
    assert_eq!(shown(&asked(&editor, "session 1", "write_text_file", &write)), expected);
    let edit = json!({"path": path, "old_string": "two", "new_string": "2"});
    let blocks = shown(&asked(&editor, "session 1", "edit_text_file", &edit));
    assert_eq!(blocks, [r#""two" -> "2""#]);
}

#[test]
fn a_permission_request_for_a_large_file_omits_its_content() {
    let (editor, session) = start();
    let write = json!({"path": editor.spelled("large.txt"), "content": "new\n"});
    let not_shown = "The current content of the file, if it exists, is not shown.";
    let large = std::fs::File::create(editor.path("large.txt")).unwrap();
    for (n_bytes, is_held) in [(limits::PREVIEWED_FILE, true), (limits::PREVIEWED_FILE + 1, false)]
    {
        large.set_len(n_bytes).unwrap();
        let blocks = shown(&asked(&editor, &session, "write_text_file", &write));
        assert_eq!(blocks.iter().all(|block| block != not_shown), is_held, "{blocks:?}");
    }
}

/// The editor does not answer requests for text while it waits for the agent.
#[test]
fn a_permission_request_does_not_wait_for_a_silent_editor() {
    let habits = Habits { ignores_reads: true, ..Habits::default() };
    let editor = Editor::with_agent("codex-acp", habits);
    let session = editor.new_session();
    std::fs::write(editor.path("f.txt"), ON_DISK).unwrap();
    let write = json!({"path": editor.spelled("f.txt"), "content": "new\n"});
    let blocks = shown(&asked(&editor, &session, "write_text_file", &write));
    assert_eq!(blocks[0], r#"new "new\n""#);
    assert_eq!(editor.state.requests.lock().unwrap().len(), 1);
}

/// Gemini CLI does not report that a call was declined.
#[test]
fn an_edit_is_not_shown_on_the_card_of_a_declined_one() {
    let (editor, session) = start_with("gemini-cli");
    let edit = json!({"path": editor.spelled("saved.txt"), "old_string": "two", "new_string": "2"});
    let text = json!({"type": "text", "text": edit.to_string()});
    let call = |id: &str| {
        json!({"toolCallId": id, "status": "pending", "title": "edit_text_file (recto MCP Server)",
            "content": [{"type": "content", "content": text}], "locations": [], "kind": "other"})
    };
    for (id, option) in [("declined", "n"), ("permitted", "y")] {
        let request = answered(&editor, &session, &call(id), option);
        let diff = r#""one\ntwo\n" -> "one\n2\n""#;
        assert_eq!(shown(&request["content"]), [diff, &*edit.to_string()], "{id}");
        assert_eq!(request["title"], "Edit saved.txt", "{id}");
    }
    editor.call(&session, "edit_text_file", edit);
    editor.wait_for_ends(1);
    let updates = editor.state.updates.lock().unwrap();
    let ids: Vec<_> = updates.iter().map(|update| &update["update"]["toolCallId"]).collect();
    assert_eq!(ids, ["permitted", "permitted"]);
}

/// The model chooses the arguments of every call, and the title of some.
#[test]
fn a_call_of_another_tool_is_not_shown_as_one_of_rectos() {
    let read = json!({"path": "f.txt"});
    let text = json!({"type": "text", "text": "$ rm -rf ~"});
    let content = json!([{"type": "content", "content": text}]);
    let question = "Allow the recto MCP server to run tool \"read_text_file\"?";
    let request = json!({"message": question, "_meta": {"tool_params": read}});
    let named = json!({"claudeCode": {"toolName": "mcp__shell__run"}});
    let titled = "recto: read text file · x; rm -rf ~";
    for (agent, title, meta, raw) in [
        (
            "@zed-industries/claude-agent-acp",
            "mcp__shell__run",
            &named,
            json!({"command": "rm -rf ~", "server": "recto", "tool": "read_text_file", "arguments": read}),
        ),
        (
            "@zed-industries/claude-agent-acp",
            "mcp__shell__run",
            &named,
            json!({"command": "rm -rf ~", "server_name": "recto", "request": request}),
        ),
        ("other", titled, &Value::Null, json!({"command": ["bash", "-lc", titled]})),
        ("goose", titled, &Value::Null, json!({"command": titled})),
    ] {
        let (editor, session) = start_with(agent);
        let call = json!({"toolCallId": "c", "title": title, "kind": "execute",
            "status": "pending", "_meta": meta, "content": content, "rawInput": raw});
        assert_eq!(answered(&editor, &session, &call, "n"), call, "{agent}");
    }
}

/// Goose reports no name, and its permission requests have no `_meta`.
#[test]
fn goose_is_recognised_by_how_to_sign_in_to_it() {
    let method = json!({"id": "goose-provider", "name": "Configure Provider"});
    let editor = Editor::agreed(Habits::default(), 1, json!({"authMethods": [method]}));
    let session = editor.new_session();
    std::fs::write(editor.path("saved.txt"), ON_DISK).unwrap();
    let call = json!({"toolCallId": "c", "kind": "other", "status": "pending",
        "title": "recto: edit text file", "rawInput": replace_two(&editor, "2")});
    assert_eq!(answered(&editor, &session, &call, "n")["title"], "Edit saved.txt");
}

/// A request of the agent for permission, with its id.
fn request(id: &str, session: &str, call: &Value) -> String {
    let options = json!([{"optionId": "y", "name": "Allow", "kind": "allow_once"},
        {"optionId": "n", "name": "Reject", "kind": "reject_once"}]);
    let params = json!({"sessionId": session, "toolCall": call, "options": options});
    let method = "session/request_permission";
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The answer to a request for permission.
fn choice(id: &str, option: &str) -> String {
    let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
    json!({"jsonrpc": "2.0", "id": id, "result": outcome}).to_string()
}

/// A call as Codex reports it.
fn codex_call(id: &str, tool: &str, arguments: &Value) -> Value {
    let raw = json!({"server": "recto", "tool": tool, "arguments": arguments});
    json!({"toolCallId": id, "title": format!("mcp.recto.{tool}"), "rawInput": raw})
}

/// Makes the agent run a call under an id, and returns the card at the end.
fn run(editor: &Editor, session: &str, id: &str, tool: &str, arguments: &Value) -> Value {
    let call = json!({"sessionId": session, "tool": tool, "arguments": arguments, "callId": id});
    let n_ends = n_ends(editor);
    editor.request("test/call", call);
    editor.wait_for_ends(n_ends + 1);
    editor.state.updates.lock().unwrap().last().unwrap()["update"].clone()
}

fn n_ends(editor: &Editor) -> usize {
    let updates = editor.state.updates.lock().unwrap();
    let is_end = |update: &&Value| {
        matches!(update["update"]["status"].as_str(), Some("completed" | "failed"))
    };
    updates.iter().filter(is_end).count()
}

fn replace_two(editor: &Editor, new: &str) -> Value {
    json!({"path": editor.spelled("saved.txt"), "old_string": "two", "new_string": new})
}

const NOT_GIVEN: &str = "The agent requested permission for this call and did not get it.";
const DIFFERENT: &str = "This is not the call that the agent requested permission for.";

/// Only the editor can answer; what the agent says reaches the editor as it is.
#[test]
fn an_agent_cannot_answer_its_own_permission_request() {
    let (editor, session) = start();
    let edit = replace_two(&editor, "2");
    let forged = choice("p", "y");
    let batch = format!("[{forged}]");
    let asked = request("p", &session, &codex_call("c", "edit_text_file", &edit));
    editor.request("test/say", json!({"lines": [asked, forged, batch]}));
    let shown: Value = serde_json::from_str(&editor.next_line()).unwrap();
    assert_eq!(shown["params"]["toolCall"]["title"], "Edit saved.txt");
    assert_eq!([editor.next_line(), editor.next_line()], [forged, batch]);
    editor.send_line(&choice("p", "n"));
    let card = run(&editor, &session, "c", "edit_text_file", &edit);
    assert_eq!(shown_of(&card), [NOT_GIVEN, r#""one\ntwo\n" -> "one\n2\n""#]);
}

#[test]
fn a_call_that_does_not_wait_for_the_answer_is_marked() {
    let (editor, session) = start();
    let edit = replace_two(&editor, "2");
    let asked = request("p", &session, &codex_call("c", "edit_text_file", &edit));
    editor.request("test/say", json!({"lines": [asked]}));
    editor.next_line();
    let card = run(&editor, &session, "c", "edit_text_file", &edit);
    assert_eq!(shown_of(&card)[0], NOT_GIVEN);
}

#[test]
fn a_permitted_call_is_not_marked() {
    let (editor, session) = start();
    let edit = replace_two(&editor, "2");
    answered(&editor, &session, &codex_call("c", "edit_text_file", &edit), "y");
    let card = run(&editor, &session, "c", "edit_text_file", &edit);
    assert_eq!(shown_of(&card), [r#""one\ntwo\n" -> "one\n2\n""#]);
    let card = run(
        &editor,
        &session,
        "d",
        "edit_text_file",
        &json!({"path":
        editor.spelled("saved.txt"), "old_string": "one", "new_string": "1"}),
    );
    assert_eq!(shown_of(&card), [r#""one\n2\n" -> "1\n2\n""#], "no permission was requested");
}

#[test]
fn arguments_that_change_after_the_permission_are_shown_and_marked() {
    let (editor, session) = start();
    let (permitted, made) = (replace_two(&editor, "2"), replace_two(&editor, "evil"));
    answered(&editor, &session, &codex_call("c", "edit_text_file", &permitted), "y");
    let card = run(&editor, &session, "c", "edit_text_file", &made);
    assert_eq!(shown_of(&card), [DIFFERENT, r#""one\ntwo\n" -> "one\nevil\n""#]);

    // The agent may also announce the new arguments, before or after the answer.
    let permitted = json!({"path": "saved.txt", "content": "three\n", "hash": "0123456789ab"});
    let write = json!({"path": editor.spelled("saved.txt"), "content": "gone\n"});
    answered(&editor, &session, &codex_call("d", "text_append", &permitted), "y");
    let mut update = codex_call("d", "write_text_file", &write);
    update["sessionUpdate"] = "tool_call_update".into();
    let params = json!({"sessionId": session, "update": update});
    let event = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    editor.request("test/say", json!({"lines": [event.to_string()]}));
    let card = run(&editor, &session, "d", "write_text_file", &write);
    assert_eq!(shown_of(&card), [DIFFERENT, r#""one\nevil\n" -> "gone\n""#]);
}

#[test]
fn a_replayed_permission_request_shows_the_current_change() {
    let (editor, session) = start();
    let edit = replace_two(&editor, "2");
    let call = codex_call("c", "edit_text_file", &edit);
    let first = answered(&editor, &session, &call, "y");
    assert_eq!(shown(&first["content"]), [r#""one\ntwo\n" -> "one\n2\n""#]);
    run(&editor, &session, "c", "edit_text_file", &edit);
    let replayed = answered(&editor, &session, &call, "n");
    assert_eq!(shown(&replayed["content"])[0], "This would currently fail:");
    // The first permission does not count for the replayed request.
    let card = run(&editor, &session, "c", "edit_text_file", &edit);
    assert_eq!(shown_of(&card)[0], NOT_GIVEN);
}

/// The editor's answers do not say which of the two requests they are for.
#[test]
fn a_permission_is_not_transferred_by_reusing_the_id_of_a_request() {
    let (editor, session) = start();
    let (one, other) = (replace_two(&editor, "2"), replace_two(&editor, "evil"));
    let asked = [("c", &one), ("d", &other)]
        .map(|(id, edit)| request("p", &session, &codex_call(id, "edit_text_file", edit)));
    editor.request("test/say", json!({"lines": asked}));
    editor.next_line();
    editor.next_line();
    editor.send_line(&choice("p", "y"));
    editor.send_line(&choice("p", "n"));
    let card = run(&editor, &session, "d", "edit_text_file", &other);
    assert_eq!(shown_of(&card), [NOT_GIVEN, r#""one\ntwo\n" -> "one\nevil\n""#]);
}

/// The second request shows other arguments, and the user grants only the first.
#[test]
fn a_permission_for_other_arguments_of_the_same_call_does_not_count() {
    let (editor, session) = start();
    let (one, other) = (replace_two(&editor, "2"), replace_two(&editor, "evil"));
    let asked = [("p", &one), ("q", &other)]
        .map(|(id, edit)| request(id, &session, &codex_call("c", "edit_text_file", edit)));
    editor.request("test/say", json!({"lines": asked}));
    editor.next_line();
    editor.next_line();
    editor.send_line(&choice("q", "n"));
    editor.send_line(&choice("p", "y"));
    let card = run(&editor, &session, "c", "edit_text_file", &other);
    assert_eq!(shown_of(&card), [NOT_GIVEN, r#""one\ntwo\n" -> "one\nevil\n""#]);
}

/// Summarises the blocks of a card, without the note that the editor has not saved the change.
fn shown_of(card: &Value) -> Vec<String> {
    let blocks = shown(&card["content"]).into_iter();
    blocks.filter(|block| !block.contains("the editor has unsaved changes")).collect()
}
