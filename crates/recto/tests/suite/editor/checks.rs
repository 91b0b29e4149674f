//! What is checked on the disk before an editor is asked, with the same words as without one.

use recto::caller::{Access, Caller, Entry, Place, Sandbox};
use serde_json::{Value, json};

use super::desk::Desk;
use super::script::{Habits, ScriptedEditor, Verb};
use crate::case::Actual;

fn desk(habits: Habits) -> Desk {
    let desk = Desk::with_options(ScriptedEditor::new(habits), &["--deny".into(), "*.key".into()]);
    desk.put("f.txt", "text\n");
    desk.put("secret.key", "key\n");
    desk.put(".git/config", "[core]\n");
    std::fs::create_dir(desk.path("folder")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mkfifoat(rustix::fs::CWD, desk.path("fifo"), mode).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", desk.path("out")).unwrap();
    std::os::unix::fs::symlink("nowhere", desk.path("dangling")).unwrap();
    desk.put("binary", b"\x89PNG\0\x01");
    desk
}

/// The answer with the folder's name taken out.
fn plain(desk: &Desk, actual: Actual) -> String {
    let root = desk.path("f.txt").parent().unwrap().display().to_string();
    format!("{actual:?}").replace(&root, "/root")
}

#[test]
fn refusals_are_those_of_the_disk_and_the_editor_is_not_asked() {
    let with = desk(Habits { is_empty_for_missing: true, ..Habits::default() });
    let without = desk(Habits { lacks_read: true, lacks_write: true, ..Habits::default() });
    let mut n_refused = 0;
    for name in [
        "missing.txt",
        "missing/f.txt",
        "f.txt/below",
        "folder",
        "folder/",
        "fifo",
        "out",
        "dangling",
        "secret.key",
        "../f.txt",
        ".git/config",
        "binary",
    ] {
        for (tool, arguments) in [
            ("read_text_file", json!({})),
            ("edit_text_file", json!({"old_string": "a", "new_string": "b"})),
            ("text.read", json!({})),
            ("text.append", json!({"hash": "000000000000", "content": "x\n"})),
            ("file.remove", json!({"hash": "000000000000"})),
            ("write_text_file", json!({"content": "x\n", "dry_run": true})),
            ("write_text_file", json!({"content": "x\n", "expected_hash": "000000000000"})),
            ("ReadLines", json!({})),
            ("ReadAsTable", json!({})),
        ] {
            let is_read = name == ".git/config" && matches!(tool, "read_text_file" | "text.read");
            if is_read || (name == ".git/config" && tool.starts_with("Read")) {
                continue; // Which is allowed.
            }
            let call = |desk: &Desk| {
                let mut arguments: Value = arguments.clone();
                let key = if tool.starts_with("Read") { "file_path" } else { "path" };
                arguments[key] = format!("{}/{name}", desk.path("").display()).into();
                plain(desk, desk.call(tool, arguments))
            };
            let (found, expected) = (call(&with), call(&without));
            assert_eq!(found, expected, "{tool} {name}");
            n_refused += usize::from(found.starts_with("Error"));
        }
    }
    assert!(n_refused > 80, "{n_refused}");
    assert_eq!((with.editor.count(Verb::Read), with.editor.count(Verb::Write)), (0, 0));
}

#[test]
fn the_sandbox_of_the_client_holds_for_the_editor_too() {
    let desk = desk(Habits::default());
    let rule = |access| Caller {
        sandbox: Sandbox::Limited(vec![Entry { place: Place::Beneath(desk.path("")), access }]),
        ..Caller::default()
    };
    let path = desk.path("f.txt");
    let edit = json!({"path": path, "old_string": "text", "new_string": "x"});
    for (access, tool, arguments) in [
        (Access::Read, "edit_text_file", &edit),
        (Access::None, "edit_text_file", &edit),
        (Access::None, "read_text_file", &json!({"path": path})),
    ] {
        let actual = desk.call_as(tool, arguments.clone(), &rule(access));
        assert!(matches!(actual, Actual::Error { code: -32002, .. }), "{actual:?}");
    }
    assert_eq!((desk.editor.count(Verb::Read), desk.editor.count(Verb::Write)), (0, 0));
}

#[test]
fn a_cancelled_call_asks_nothing() {
    let desk = desk(Habits::default());
    let caller = Caller::default();
    caller.cancel.raise();
    for tool in ["read_text_file", "write_text_file"] {
        let mut arguments = json!({"path": desk.path("f.txt")});
        if tool == "write_text_file" {
            arguments["content"] = "x\n".into();
        }
        let actual = desk.call_as(tool, arguments, &caller);
        assert!(matches!(actual, Actual::Error { code: -32800, .. }), "{actual:?}");
    }
    assert_eq!((desk.editor.count(Verb::Read), desk.editor.count(Verb::Write)), (0, 0));
}
