//! Clients' own commands: a fake `codex` on the PATH, and other programs that change the settings at
//! the same time.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use recto::install::places::{Scope, Surroundings};
use recto::install::{plan, table};

use super::runs::assert_run;
use super::{launch, surroundings};

/// Prints the entry that `codex mcp add` writes.
const APPEND: &str = r#"printf '\n[mcp_servers.recto]\ncommand = "%s"\nargs = ["%s", "%s"]\nstartup = 1\n' "$5" "$6" "$7""#;

/// Writes a program that the home has on its PATH. The shell needs no PATH for its built-in commands.
fn fake(home: &Path, program: &str, script: &str) {
    fs::create_dir_all(home.join("bin")).unwrap();
    let program = home.join("bin").join(program);
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_clients_own_command_is_used_unless_it_changes_other_lines() {
    let settings = "# mine\r\nmodel = \"x\"\r\n";
    for (before, script, has_startup) in [
        // It appends and keeps the rest.
        ("# mine\n", format!("{APPEND} >> \"$HOME/.codex/config.toml\""), true),
        // It rewrites the file with other line endings and without the comment.
        (
            settings,
            format!("(echo 'model = \"x\"'; {APPEND}) > \"$HOME/.codex/config.toml\""),
            false,
        ),
        (settings, "exit 1".into(), false),
    ] {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".codex/config.toml");
        fs::create_dir(home.path().join(".codex")).unwrap();
        fs::write(&file, before).unwrap();
        fake(home.path(), "codex", &script);
        assert_run(home.path(), &["codex", "--yes"], 0, &["runs: codex mcp add recto -- /"]);
        let after = fs::read_to_string(&file).unwrap();
        assert!(after.starts_with(before), "{script}\n{after}");
        assert_eq!(after.contains("startup = 1"), has_startup, "{after}");
        assert!(after.contains("omit_tools_from = [\"deferred\"]"), "{after}");
        assert_run(home.path(), &["codex", "--uninstall", "--yes"], 0, &[]);
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
    }
}

thread_local! {
    /// The PATH of the test on this thread: the variables of [`Surroundings`] are a plain function.
    static PATH: RefCell<OsString> = RefCell::default();
}

/// Returns a home with settings and a fake program.
fn around(home: &Path, program: &str, script: &str, path: &str, settings: &str) -> Surroundings {
    fake(home, program, script);
    let file = home.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, settings).unwrap();
    PATH.set(home.join("bin").into());
    let variable = |name: &str| (name == "PATH").then(|| PATH.with_borrow(Clone::clone));
    Surroundings { variable, ..surroundings(home, home) }
}

/// Returns the change of the first file of a client, which its command makes.
fn planned(client: &str, around: &Surroundings) -> plan::Change {
    let client = table::find(client).unwrap();
    let changes = plan::install(client, Scope::User, &launch(&["."], &[]), around).unwrap();
    let change = changes.into_iter().next().unwrap();
    assert!(change.command.is_some());
    change
}

fn uninstall(client: &str, around: &Surroundings) {
    let client = table::find(client).unwrap();
    for change in plan::uninstall(client, Scope::User, &launch(&["."], &[]), around).unwrap() {
        change.apply(around).unwrap();
    }
}

#[test]
fn settings_that_changed_since_the_plan_are_left_as_they_are() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".codex/config.toml");
    let script = format!("echo ran > '{}'", home.path().join("ran").display());
    let around = around(home.path(), "codex", &script, ".codex/config.toml", "# mine\n");
    let change = planned("codex", &around);
    fs::write(&file, "# mine\nother = 1\n").unwrap();
    let error = change.apply(&around).unwrap_err();
    assert!(error.contains("was changed meanwhile"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\nother = 1\n");
    assert!(!home.path().join("ran").exists());
}

#[test]
fn state_that_a_running_client_changed_since_the_plan_stays() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".claude.json");
    let around = around(home.path(), "claude", "exit 1", ".claude.json", "{\"n\": 1}\n");
    let change = planned("claude-code", &around);
    fs::write(&file, "{\"n\": 2}\n").unwrap();
    let backup = change.apply(&around).unwrap().backup.unwrap();
    let after = fs::read_to_string(&file).unwrap();
    assert!(after.contains("\"n\": 2") && after.contains("/opt/recto"), "{after}");
    assert_eq!(fs::read_to_string(backup).unwrap(), "{\"n\": 2}\n");
}

#[test]
fn settings_that_another_program_changes_meanwhile_are_not_overwritten() {
    for status in [0, 1] {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".codex/config.toml");
        let script = format!("(echo 'other = 1'; {APPEND}) > '{}'; exit {status}", file.display());
        let around = around(home.path(), "codex", &script, ".codex/config.toml", "# mine\n");
        let applied = planned("codex", &around).apply(&around);
        let after = fs::read_to_string(&file).unwrap();
        assert!(after.starts_with("other = 1\n"), "{after}");
        match status {
            0 => {
                let applied = applied.unwrap();
                assert!(applied.note.unwrap().contains("other settings changed"));
                assert_eq!(fs::read_to_string(applied.backup.unwrap()).unwrap(), "# mine\n");
                assert!(after.contains("omit_tools_from"), "{after}");
                uninstall("codex", &around);
                assert_eq!(fs::read_to_string(&file).unwrap(), "other = 1\n");
            }
            _ => assert!(applied.unwrap_err().contains("was changed meanwhile")),
        }
    }
}
