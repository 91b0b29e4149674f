//! Messages that must pass unchanged: unknown ones, unusual spellings, batches, long lines, noise.

use std::io::Read;
use std::process::Stdio;

use recto::limits;
use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits};
use crate::client::recto;

/// Lines that the agent echoes as the same bytes, so they pass in both directions.
#[test]
fn unknown_messages_are_forwarded_byte_for_byte() {
    let editor = Editor::ready(Habits::default());
    for line in [
        r#"{"jsonrpc":"2.0","method":"_zed/unknown","params":{"z":1.0,"a":1e400,"b":123456789012345678901234567890}}"#,
        r#"{ "method" : "x\/y" , "jsonrpc":"2.0", "params" : [ 1.50 , -0 , "\u00e4\ud83d\ude00" ] }"#,
        r#"{"jsonrpc":"2.0","id":"unknown-1","method":"x","params":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","method":"twice","method":"twice","id":1,"id":2}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":1.0,"error":{"code":-32099,"message":"","data":[{}]}}"#,
        r#"{"jsonrpc":"2.0","id":"recto-1","result":{"content":"not ours"}}"#,
        r#"{"no":"message"}"#,
        "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"\u{7f}ü\u{2028}\"}",
        r#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b","params":1.0}]"#,
        "[]",
        r#"[ 1, "two", [3], null ]"#,
    ] {
        editor.send_line(line);
        assert_eq!(editor.next_line(), line);
    }
    let deep = format!(r#"{{"method":"deep","params":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
    editor.send_line(&deep);
    assert_eq!(editor.next_line(), deep);
}

#[test]
fn crlf_and_blank_lines_between_messages_are_accepted() {
    let editor = Editor::ready(Habits::default());
    editor.send_line("");
    editor.send_line("  \t");
    editor.send_line("{\"method\":\"x\"}\r");
    assert_eq!(editor.next_line().trim_end(), r#"{"method":"x"}"#);
}

#[test]
fn a_batch_from_the_editor_is_split_into_messages() {
    let editor = Editor::ready(Habits::default());
    let params = json!({"cwd": editor.folder.path(), "mcpServers": []});
    let begin = json!({"jsonrpc": "2.0", "id": "s", "method": "session/new", "params": params});
    editor.send_line(&format!(r#"[{{"method":"before","x":1.0}}, {begin} ,{{"method":"after"}}]"#));
    assert_eq!(editor.next_line(), r#"{"method":"before","x":1.0}"#);
    let begun: Value = serde_json::from_str(&editor.next_line()).unwrap();
    assert_eq!(begun["id"], "s");
    assert_eq!(begun["result"]["_meta"]["received"]["mcpServers"][0]["name"], "recto");
    assert_eq!(editor.next_line(), r#"{"method":"after"}"#);
}

#[test]
fn a_batch_from_the_agent_is_split_into_messages() {
    let (editor, session) = Editor::in_session(Habits::default());
    let update =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}});
    let params = json!({"sessionId": session, "update": update});
    let event = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    let batch = format!(r#"[{event},{{"method":"other","n":1.0}}]"#);
    editor.request("test/say", json!({"lines": [batch, r#"[{"method":"a"},{"method":"b"}]"#]}));
    assert_eq!(editor.next_line(), r#"{"method":"other","n":1.0}"#);
    assert_eq!(editor.next_line(), r#"[{"method":"a"},{"method":"b"}]"#);
    assert_eq!(*editor.state.updates.lock().unwrap(), [params]);
}

#[test]
fn noise_on_the_agents_stdout_is_reported_and_the_session_continues() {
    let (editor, session) = Editor::in_session(Habits::default());
    let lines = [
        "Debugger listening on ws://127.0.0.1:9229",
        "{\"cut",
        "[1,",
        "42",
        "\"text\"",
        "null",
        r#"{"method":"real"}"#,
    ];
    editor.request("test/say", json!({"lines": lines}));
    assert_eq!(editor.next_line(), r#"{"method":"real"}"#);
    let stderr = editor.stderr();
    for noise in &lines[..6] {
        assert!(stderr.contains(&format!("not a message: {noise}\n")), "{noise} not in {stderr}");
    }
    editor.open("f.txt", "text\n");
    let answer = editor.call(&session, "read_text_file", json!({"path": editor.spelled("f.txt")}));
    assert_eq!(answer["isError"], false, "{answer}");
}

#[test]
fn an_object_that_is_not_utf8_is_forwarded_unchanged() {
    let mut relay = recto()
        .args(["acp", "--", "printf", "{\"id\":1,\"result\":\"\\377\"}\n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    relay.stdout.take().unwrap().read_to_end(&mut said).unwrap();
    assert_eq!(said, b"{\"id\":1,\"result\":\"\xff\"}\n");
    relay.wait().unwrap();
}

#[test]
fn editor_capabilities_are_used_for_every_spelling_of_the_version() {
    for version in [json!(1.0), json!("1"), json!(null)] {
        let editor = Editor::start(Habits::default());
        let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
        let params = json!({
            "protocolVersion": version, "clientCapabilities": capabilities, "_meta": {"agent": null},
        });
        editor.request("initialize", params);
        let session = editor.new_session();
        editor.open("f.txt", "unsaved\n");
        let path = json!({"path": editor.spelled("f.txt")});
        let answer = editor.call(&session, "read_text_file", path);
        assert_eq!(answer["structuredContent"]["content"], "unsaved\n", "{version}: {answer}");
    }
}

#[test]
fn requests_from_the_agent_reach_the_editor() {
    let (editor, session) = Editor::in_session(Habits::default());
    editor.open("f.txt", "text\n");
    let params = json!({"sessionId": session, "path": editor.spelled("f.txt")});
    let ask = json!({"method": "fs/read_text_file", "params": params});
    let answer = editor.request("test/ask", ask);
    assert_eq!(answer["result"]["result"]["content"], "text\n", "{answer}");
}

fn peak_memory(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
fn a_prompt_of_50_megabytes_is_buffered_once() {
    let (editor, session) = Editor::in_session(Habits::default());
    let n_bytes = 50_000_000;
    let text = "\\\"quoted\\\" ".repeat(n_bytes / 11);
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":777,"method":"session/prompt","params":{{"sessionId":"{session}","prompt":[{{"type":"text","text":"{text}"}}]}}}}"#
    );
    editor.send_line(&line);
    let answer: Value = serde_json::from_str(&editor.next_line()).unwrap();
    assert_eq!(answer["result"]["_meta"]["bytes"], line.len());
    let peak = peak_memory(editor.relay());
    println!("{} bytes relayed with {peak} bytes of memory at most", line.len());
    assert!(peak < line.len() + (32 << 20), "{peak} bytes of memory");

    let echo = format!(r#"{{"method":"echo","params":"{text}"}}"#);
    editor.send_line(&echo);
    assert!(editor.next_line() == echo, "the echo differs");
}

/// The relay splits a batch that contains such an event. JSON-RPC has no batches in batches.
#[test]
fn nested_batches_are_not_split() {
    let (editor, _) = Editor::in_session(Habits::default());
    let event = r#"{"method":"session/update"}"#;
    for n_levels in [3000, 2, 100_000] {
        let nested = format!("{}{}", format!("[{event},").repeat(n_levels), "]".repeat(n_levels));
        let nested = nested.replace(",]", "]");
        let inner = &nested[event.len() + 2..nested.len() - 1];
        editor.request("test/say", json!({"lines": [nested]}));
        assert!(editor.next_line() == inner, "{n_levels} levels");
    }
    let start = r#"{"id":"a","method":"initialize"}"#;
    let nested = format!("{}{start}{}", format!("[{start},").repeat(3000), "]".repeat(3000));
    editor.send_line(&nested);
    let answer: Value = serde_json::from_str(&editor.next_line()).unwrap();
    assert_eq!(answer["id"], "a");
    assert!(editor.next_line() == nested[start.len() + 2..nested.len() - 1]);
}

#[test]
fn a_batch_of_many_messages_is_not_split() {
    let (editor, _) = Editor::in_session(Habits::default());
    let event = r#"{"method":"session/update"}"#;
    let [split, passed] = [limits::BATCH_MESSAGES, limits::BATCH_MESSAGES + 1]
        .map(|n_messages| format!("[{event}{}]", ",{}".repeat(n_messages - 1)));
    editor.request("test/say", json!({"lines": [split, passed]}));
    for _ in 1..limits::BATCH_MESSAGES {
        assert_eq!(editor.next_line(), "{}");
    }
    assert_eq!(editor.next_line(), passed);

    // A list of them would take eight times the memory of the line.
    let batch = format!("[{}0]", "0,".repeat(10 << 20));
    editor.send_line(&batch);
    assert!(editor.next_line() == batch);
    let peak = peak_memory(editor.relay());
    assert!(peak < 3 * batch.len() + (32 << 20), "{peak} bytes of memory");
}
