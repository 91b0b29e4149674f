//! What `recto doctor` says about the settings of clients.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::runs::{assert_run, text};
use crate::client::BINARY;

/// Runs it in the project below a home, and returns its report and exit status.
fn doctor(home: &Path) -> (String, Option<i32>) {
    fs::create_dir_all(home.join("project")).unwrap();
    let mut command = Command::new(BINARY);
    command.args(["doctor", "--no-landlock"]).current_dir(home.join("project"));
    command.env_clear().env("HOME", home).env("PATH", "/none");
    let output = command.output().unwrap();
    (text(&output), output.status.code())
}

/// Writes the settings of Cursor below a directory.
fn write_entry(below: &Path, command: &str, arguments: &[&str]) {
    let entry =
        serde_json::json!({"mcpServers": {"recto": {"command": command, "args": arguments}}});
    fs::create_dir_all(below.join(".cursor")).unwrap();
    fs::write(below.join(".cursor/mcp.json"), entry.to_string()).unwrap();
}

#[test]
fn doctor_reports_what_clients_start() {
    let home = tempfile::tempdir().unwrap();
    assert_run(home.path(), &["codex", "zed", "cursor", "--tools=coding", "--yes"], 0, &[]);
    fs::create_dir(home.path().join(".gemini")).unwrap();
    let (report, status) = doctor(home.path());
    let project = home.path().join("project").canonicalize().unwrap();
    let project = project.display();
    assert_eq!(status, Some(0), "{report}");
    for words in [
        format!(
            "codex: ~/.codex/config.toml: {BINARY} serve . --tools=coding; answers with 9 tools\n"
        ),
        format!("cursor: ~/.cursor/mcp.json: {BINARY} serve {project} --tools=coding; answers"),
        format!("zed: ~/.config/zed/settings.json: {BINARY} codex --tools=coding; is recto 0."),
        "Gemini CLI: not configured; recto install gemini-cli does it".into(),
        "not found: Claude Code, VS Code,".into(),
    ] {
        assert!(report.contains(&words), "{words:?} is not in\n{report}");
    }
}

#[test]
fn an_entry_that_does_not_start_is_a_problem() {
    let home = tempfile::tempdir().unwrap();
    for (command, arguments, words) in [
        ("/no/recto", &[][..], "! cursor: ~/.cursor/mcp.json: /no/recto; it does not start"),
        // The program says why.
        (BINARY, &["serve", "/no/directory"], "/no/directory: No such file or directory"),
    ] {
        write_entry(home.path(), command, arguments);
        let (report, status) = doctor(home.path());
        assert_eq!(status, Some(1), "{report}");
        assert!(report.contains(words), "{report}");
        assert!(report.contains("Run recto install cursor to write the entry again."), "{report}");
    }
}

#[test]
fn nothing_that_a_project_chose_is_started() {
    let home = tempfile::tempdir().unwrap();
    let mark = home.path().join("mark");
    let mark = mark.to_str().unwrap();
    let create = format!("path={mark}");
    let shell = format!("touch {mark}");
    for (command, arguments, words) in [
        ("/bin/touch", &[mark][..], "not started, because it is another program"),
        (BINARY, &["acp", "--", "/bin/sh", "-c", &shell], "not started, because of its arguments"),
        (
            BINARY,
            &["call", "file_create", &create, "content=x", "--root", "/"],
            "not started, because of its arguments",
        ),
        (BINARY, &["serve", ".", "--log-file", mark], "not started, because of its arguments"),
        (BINARY, &["serve", ".", "--tools=edit", "--read-only"], "answers with 1 tools"),
    ] {
        write_entry(&home.path().join("project"), command, arguments);
        let (report, _) = doctor(home.path());
        assert!(report.contains(words), "{arguments:?}: {report}");
        assert!(!Path::new(mark).exists(), "{arguments:?}");
    }
}

#[test]
fn settings_that_cannot_be_read_are_problems() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for (write, words) in [
        (&(|| fs::write(&file, "{\"mcpServers\": ").unwrap()) as &dyn Fn(), "mcp.json: "),
        (&|| fs::write(&file, b"\xff").unwrap(), "is not UTF-8"),
        (&|| symlink("/dev/zero", &file).unwrap(), "it is not a file"),
    ] {
        let _ = fs::remove_file(&file);
        write();
        let (report, status) = doctor(home.path());
        assert_eq!(status, Some(1), "{report}");
        assert!(report.contains(words), "{report}");
        assert!(report.contains("recto install cursor cannot change it"), "{report}");
    }
}
