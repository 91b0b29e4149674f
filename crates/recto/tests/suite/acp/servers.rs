//! An agent that starts the server more than once for one session.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::acp_agent::Server;
use crate::acp_editor::{Editor, Habits, MAX_WAIT, check_gone, kill};

const N_SERVERS: usize = 3;
const N_CALLS: usize = 20;

/// Starts a session, and the servers that an agent could start for it.
fn servers(editor: &Editor) -> Vec<Server> {
    let params = json!({"cwd": editor.folder.path(), "mcpServers": [], "_meta": {"idle": true}});
    let answer = editor.request("session/new", params);
    let entry = &answer["result"]["_meta"]["received"]["mcpServers"][0];
    let folder = editor.folder.path().to_str().unwrap();
    (0..N_SERVERS).map(|_| Server::start(entry, folder)).collect()
}

fn edit(server: &Server, editor: &Editor, name: &str, id: Option<String>) -> Value {
    let arguments = json!({"path": editor.spelled(name), "old_string": "old", "new_string": name});
    let meta = id.map_or(json!({}), |id| json!({"callId": id}));
    let call = json!({"name": "edit_text_file", "arguments": arguments, "_meta": meta});
    server.request("tools/call", call)
}

#[test]
fn several_servers_of_a_session_do_not_mix_up_their_calls() {
    let editor = Editor::ready(Habits { is_unordered: true, ..Habits::default() });
    let servers = servers(&editor);
    // Each in its own directory, because changes in one directory wait for each other.
    let name = |server: usize, call: usize| format!("{server}/{call}.txt");
    for (server, call) in all() {
        std::fs::create_dir_all(editor.path(&server.to_string())).unwrap();
        editor.open(&name(server, call), "old\n");
    }
    std::thread::scope(|scope| {
        for (server, call) in all() {
            let (servers, editor) = (&servers, &editor);
            scope.spawn(move || {
                // Every other call has no id, so that the server generates one.
                let id = (call % 2 == 0).then(|| format!("call {server}-{call}"));
                let answer = edit(&servers[server], editor, &name(server, call), id);
                assert_eq!(answer["isError"], false, "{answer}");
            });
        }
    });
    editor.wait_for_ends(N_SERVERS * N_CALLS);
    let buffers = editor.state.buffers.lock().unwrap();
    let updates = editor.state.updates.lock().unwrap();
    assert_eq!(editor.state.writes.lock().unwrap().len(), N_SERVERS * N_CALLS);
    for (server, call) in all() {
        let name = name(server, call);
        let path = editor.spelled(&name);
        assert_eq!(buffers[&path], format!("{name}\n"));
        let of_call = |update: &&Value| update["update"]["locations"][0]["path"] == path.as_str();
        let cards: Vec<_> = updates.iter().filter(of_call).map(|one| &one["update"]).collect();
        let kinds: Vec<_> = cards.iter().map(|card| &card["sessionUpdate"]).collect();
        assert_eq!(kinds, ["tool_call", "tool_call_update"], "{name}");
        let id = &cards[0]["toolCallId"];
        assert_eq!(&cards[1]["toolCallId"], id);
        let n_with_id =
            updates.iter().filter(|update| update["update"]["toolCallId"] == *id).count();
        assert_eq!(n_with_id, 2, "an id belongs to one call: {id}");
    }
}

fn all() -> impl Iterator<Item = (usize, usize)> {
    (0..N_SERVERS).flat_map(|server| (0..N_CALLS).map(move |call| (server, call)))
}

#[test]
fn a_server_that_exits_does_not_disconnect_the_others() {
    let editor = Editor::ready(Habits::default());
    let servers = servers(&editor);
    for idx in (0..N_SERVERS).rev() {
        let name = format!("{idx}.txt");
        editor.open(&name, "old\n");
        let answer = edit(&servers[idx], &editor, &name, None);
        assert_eq!(answer["isError"], false, "{answer}");
        assert_eq!(
            editor.state.buffers.lock().unwrap()[&editor.spelled(&name)],
            format!("{name}\n")
        );
        kill(servers[idx].process, Signal::KILL);
        check_gone(&[servers[idx].process], Duration::from_secs(5));
    }
}

#[test]
fn a_server_that_exits_ends_only_its_own_calls() {
    let editor = Editor::ready(Habits { ignores_reads: true, ..Habits::default() });
    let servers = servers(&editor);
    let ended = || {
        let updates = editor.state.updates.lock().unwrap();
        let failed = updates.iter().map(|update| &update["update"]);
        let failed = failed.filter(|update| update["status"] == "failed");
        failed.map(|update| update["toolCallId"].clone()).collect::<Vec<_>>()
    };
    for name in ["0.txt", "1.txt"] {
        editor.open(name, "old\n");
    }
    std::thread::scope(|scope| {
        for idx in 0..2 {
            let (servers, editor) = (&servers, &editor);
            let edit = move || {
                edit(&servers[idx], editor, &format!("{idx}.txt"), Some(format!("call {idx}")))
            };
            scope.spawn(edit);
            let start = Instant::now();
            while editor.state.updates.lock().unwrap().len() <= idx {
                assert!(start.elapsed() < MAX_WAIT, "call {idx} did not start");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        kill(servers[0].process, Signal::KILL);
        editor.wait_for_ends(1);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(ended(), ["call 0"]);
        kill(servers[1].process, Signal::KILL);
        editor.wait_for_ends(2);
        assert_eq!(ended(), ["call 0", "call 1"]);
    });
}

/// An agent replays a session that it loads, but not one that it resumes.
#[test]
fn a_resumed_session_remembers_its_calls() {
    for (method, n_shown) in [("session/resume", 0), ("session/load", 1)] {
        let (editor, session) = Editor::in_session(Habits::default());
        editor.open("f.txt", "old\n");
        let read = json!({"path": editor.spelled("f.txt")});
        let call = json!({"sessionId": session, "tool": "read_text_file", "arguments": read, "callId": "7"});
        editor.request("test/call", call);
        editor.wait_for_ends(1);
        let n_updates = editor.state.updates.lock().unwrap().len();
        let params = json!({"sessionId": session, "cwd": editor.folder.path(), "mcpServers": [], "_meta": {"idle": true}});
        editor.request(method, params);
        let told =
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "7", "status": "completed"});
        let message = json!({"jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": session, "update": told}});
        editor.request("test/say", json!({"lines": [message.to_string()]}));
        let updates = editor.state.updates.lock().unwrap();
        assert_eq!(updates.len() - n_updates, n_shown, "{method}: {updates:?}");
    }
}

#[test]
fn a_null_error_does_not_reject_a_session() {
    for method in ["session/load", "session/resume"] {
        let editor = Editor::ready(Habits::default());
        let params = json!({"sessionId": "old", "cwd": editor.folder.path(), "mcpServers": [],
            "_meta": {"nullError": true}});
        editor.request(method, params);
        editor.open("f.txt", "old unsaved\n");
        let path = editor.spelled("f.txt");
        let edit = json!({"path": path, "old_string": "old", "new_string": "new"});
        let answer = editor.call("old", "edit_text_file", edit);
        assert_eq!(answer["isError"], false, "{method}: {answer}");
        assert_eq!(editor.state.buffers.lock().unwrap()[&path], "new unsaved\n", "{method}");
    }
}
