//! The model and the title of a turn, which are recorded only if the user asks for it.

use serde_json::{Value, json};

use crate::acp_editor::{Editor, Habits};
use crate::client::recto;

/// Makes a change after each message of the editor. Returns the recorded models and titles, oldest first.
fn recorded(options: &[&str], messages: &[(&str, Value)]) -> Vec<(Value, Value)> {
    let state = tempfile::tempdir().unwrap();
    let state_option = format!("--state-dir={}", state.path().join("state").display());
    let editor = Editor::ready(Habits::options(&[options, &[&*state_option]].concat()));
    let session = editor.new_session();
    for (number, (method, params)) in messages.iter().enumerate() {
        let mut params = params.clone();
        params["sessionId"] = session.as_str().into();
        // The agent does not answer all of them. The relay reads messages in order.
        editor.ask(method, params);
        let path = editor.spelled(&format!("{number}.txt"));
        let made = editor.call(&session, "file_create", json!({"path": path, "content": "a\n"}));
        assert_eq!(made["isError"], false, "{made}");
    }
    let run = |arguments: &[&str]| {
        let mut command = recto();
        command.args(arguments).arg(&state_option).current_dir(&editor.folder);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let log = run(&["log", "--json"]);
    let rows = log.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let recorded: Vec<_> = rows.map(|row| (row["model"].clone(), row["title"].clone())).collect();
    if let Some((_, Value::String(title))) = recorded.first() {
        assert!(run(&["log"]).contains(&format!("\"{title}\"")));
        assert!(run(&["show", "1"]).contains(&format!("turn \"{title}\"")));
    }
    recorded
}

fn prompt(text: &str) -> (&'static str, Value) {
    let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
    ("session/prompt", json!({"prompt": [link, {"type": "text", "text": text}]}))
}

#[test]
fn a_change_has_the_first_line_of_the_prompt_and_the_model() {
    let found = recorded(
        &["--journal-titles"],
        &[
            prompt("\n  Rename the parser  \nand its tests"),
            ("session/set_model", json!({"modelId": "large-2"})),
            prompt(&"ä".repeat(300)),
        ],
    );
    let title = json!("Rename the parser");
    assert_eq!(found[0], (Value::Null, title.clone()));
    assert_eq!(found[1], (json!("large-2"), title));
    assert_eq!(found[2], (json!("large-2"), json!("ä".repeat(100))));
}

#[test]
fn nothing_is_recorded_about_turns_without_the_option() {
    let found = recorded(&[], &[prompt("Secret"), ("session/set_model", json!({"modelId": "m"}))]);
    assert_eq!(found, [(Value::Null, Value::Null), (Value::Null, Value::Null)]);
}
