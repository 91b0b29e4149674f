//! Many parallel calls over one session, through an editor that answers out of order.

use serde_json::json;

use crate::acp_editor::{Editor, Habits, MAX_WAIT, called};

#[test]
fn two_hundred_calls_at_once_are_not_mixed_up() {
    let habits = Habits { is_unordered: true, ..Habits::default() };
    let (editor, session) = Editor::in_session(habits);
    const N: usize = 200;
    for n in 0..N {
        std::fs::write(editor.path(&format!("{n}.txt")), "on disk\n").unwrap();
        editor.open(&format!("{n}.txt"), &format!("text {n}\n"));
    }
    let calls: Vec<_> = (0..N)
        .map(|n| {
            let path = editor.spelled(&format!("{n}.txt"));
            let mut params = if n % 2 == 0 {
                called(&session, "read_text_file", json!({"path": path}))
            } else {
                let arguments = json!({"path": path, "old_string": "text", "new_string": "done"});
                called(&session, "edit_text_file", arguments)
            };
            params["callId"] = format!("call {n}").into();
            // At the same time in the other direction: a request from the agent to the editor.
            let ask = json!({"method": "fs/read_text_file", "params": {"sessionId": session, "path": editor.spelled(&format!("{}.txt", n / 2 * 2))}});
            (editor.ask("test/call", params), editor.ask("test/ask", ask))
        })
        .collect();
    for (n, (call, ask)) in calls.into_iter().enumerate() {
        let answer = call.recv_timeout(MAX_WAIT).unwrap()["result"].clone();
        assert_eq!(answer["isError"], false, "{n}: {answer}");
        if n % 2 == 0 {
            assert_eq!(answer["structuredContent"]["content"], format!("text {n}\n"));
        }
        let answer = ask.recv_timeout(MAX_WAIT).unwrap();
        let expected = format!("text {}\n", n / 2 * 2);
        assert_eq!(answer["result"]["result"]["content"], expected, "{answer}");
    }
    let buffers = editor.state.buffers.lock().unwrap();
    for n in 0..N {
        let word = if n % 2 == 0 { "text" } else { "done" };
        let path = editor.spelled(&format!("{n}.txt"));
        assert_eq!(buffers[&path], format!("{word} {n}\n"));
        assert_eq!(crate::acp_editor::read(&editor.path(&format!("{n}.txt"))), "on disk\n");
    }
    assert_eq!(editor.state.writes.lock().unwrap().len(), N / 2);
    editor.wait_for_ends(N);
    let updates = editor.state.updates.lock().unwrap();
    for n in 0..N {
        let id = format!("call {n}");
        let of_call: Vec<_> = updates
            .iter()
            .filter(|update| update["update"]["toolCallId"] == id.as_str())
            .map(|update| update["update"]["sessionUpdate"].as_str().unwrap())
            .collect();
        assert_eq!(of_call.first(), Some(&"tool_call"), "{id}");
        assert_eq!(of_call.last(), Some(&"tool_call_update"), "{id}");
    }
}

#[test]
fn sessions_do_not_receive_each_others_messages() {
    let editor = Editor::ready(Habits::default());
    let sessions: Vec<String> = (0..3).map(|_| editor.new_session()).collect();
    editor.open("f.txt", "text\n");
    for session in &sessions {
        let arguments = json!({"path": editor.spelled("f.txt")});
        editor.call(session, "read_text_file", arguments);
    }
    let requests = editor.state.requests.lock().unwrap();
    let mut asked: Vec<_> =
        requests.iter().map(|request| &request["params"]["sessionId"]).collect();
    asked.dedup();
    assert_eq!(asked, sessions.iter().map(String::as_str).collect::<Vec<_>>());
}
