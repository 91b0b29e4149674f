//! Checks that run on disk before an editor is asked, with the same errors as without an editor.

use recto_store::Context;
use recto_store::context::{Access, RulePath, Sandbox, SandboxRule};
use serde_json::{Value, json};

use crate::client::Actual;
use crate::scripted_editor::{EditorFixture, Habits, ScriptedEditor, Verb};

fn fixture(habits: Habits) -> EditorFixture {
    let fixture = EditorFixture::with_options(
        ScriptedEditor::new(habits),
        &["--deny".into(), "*.key".into()],
    );
    fixture.put("f.txt", "text\n");
    fixture.put("secret.key", "key\n");
    fixture.put(".git/config", "[core]\n");
    std::fs::create_dir(fixture.path("folder")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.path("fifo"), mode).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", fixture.path("out")).unwrap();
    std::os::unix::fs::symlink("nowhere", fixture.path("dangling")).unwrap();
    fixture.put("binary", b"\x89PNG\0\x01");
    fixture
}

/// Returns the answer without the directory's name.
fn plain(fixture: &EditorFixture, actual: Actual) -> String {
    let root = fixture.path("f.txt").parent().unwrap().display().to_string();
    format!("{actual:?}").replace(&root, "/root")
}

#[test]
fn path_checks_give_the_same_errors_as_on_disk_without_asking_the_editor() {
    let with = fixture(Habits { is_empty_for_missing: true, ..Habits::default() });
    let without = fixture(Habits { lacks_read: true, lacks_write: true, ..Habits::default() });
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
            ("text_read", json!({})),
            ("text_append", json!({"hash": "000000000000", "content": "x\n"})),
            ("file_remove", json!({"hash": "000000000000"})),
            ("write_text_file", json!({"content": "x\n", "dry_run": true})),
            ("write_text_file", json!({"content": "x\n", "expected_hash": "000000000000"})),
            ("ReadLines", json!({})),
            ("ReadAsTable", json!({})),
        ] {
            let is_read = name == ".git/config" && matches!(tool, "read_text_file" | "text_read");
            if is_read || (name == ".git/config" && tool.starts_with("Read")) {
                continue; // This case is permitted.
            }
            let call = |fixture: &EditorFixture| {
                let mut arguments: Value = arguments.clone();
                let key = if tool.starts_with("Read") { "file_path" } else { "path" };
                arguments[key] = format!("{}/{name}", fixture.path("").display()).into();
                plain(fixture, fixture.call(tool, arguments))
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
fn the_clients_sandbox_applies_to_editor_files() {
    let fixture = fixture(Habits::default());
    let rule = |access| Context {
        sandbox: Sandbox::Limited(vec![SandboxRule {
            path: RulePath::Subtree(fixture.path("")),
            access,
        }]),
        ..Context::default()
    };
    let path = fixture.path("f.txt");
    let edit = json!({"path": path, "old_string": "text", "new_string": "x"});
    for (access, tool, arguments) in [
        (Access::Read, "edit_text_file", &edit),
        (Access::None, "edit_text_file", &edit),
        (Access::None, "read_text_file", &json!({"path": path})),
    ] {
        let actual = fixture.call_as(tool, arguments.clone(), &rule(access));
        assert!(matches!(actual, Actual::Error { code: -32002, .. }), "{actual:?}");
    }
    assert_eq!((fixture.editor.count(Verb::Read), fixture.editor.count(Verb::Write)), (0, 0));
}

#[test]
fn a_cancelled_call_sends_the_editor_nothing() {
    let fixture = fixture(Habits::default());
    let caller = Context::default();
    caller.cancel.raise();
    for tool in ["read_text_file", "write_text_file"] {
        let mut arguments = json!({"path": fixture.path("f.txt")});
        if tool == "write_text_file" {
            arguments["content"] = "x\n".into();
        }
        let actual = fixture.call_as(tool, arguments, &caller);
        assert!(matches!(actual, Actual::Error { code: -32800, .. }), "{actual:?}");
    }
    assert_eq!((fixture.editor.count(Verb::Read), fixture.editor.count(Verb::Write)), (0, 0));
}
