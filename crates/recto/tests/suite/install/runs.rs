//! Whole runs in a scratch home: files, backups, the command line.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use recto::install::places::Scope;
use recto::install::{plan, table};

use super::{documents, launch, surroundings};
use crate::client::BINARY;
use crate::random::Random;

const N_DOCUMENTS: u64 = 60;

/// Installs into settings, lets `between` change them, and uninstalls. Returns the file afterwards.
fn round_trip(
    client: &str,
    path: &str,
    text: &str,
    between: impl Fn(String) -> String,
) -> Option<String> {
    let home = tempfile::tempdir().unwrap();
    let around = surroundings(home.path(), home.path());
    let client = table::find(client).unwrap();
    let file = home.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let launch = launch(&["."], &[]);
    let changes = plan::install(client, Scope::User, &launch, &around).unwrap();
    assert!(!changes.is_empty());
    for change in changes {
        let backup = change.apply(&around).unwrap().backup;
        if change.path == file {
            let backup = backup.unwrap();
            assert_eq!(fs::read_to_string(&backup).unwrap(), text);
            assert_eq!(mode(&backup), 0o640);
        }
    }
    assert_eq!(mode(&file), 0o640);
    assert!(fs::read_to_string(&file).unwrap().contains("/opt/recto"), "{text}");
    assert!(plan::install(client, Scope::User, &launch, &around).unwrap().is_empty());
    let changed = between(fs::read_to_string(&file).unwrap());
    fs::write(&file, changed).unwrap();
    for change in plan::uninstall(client, Scope::User, &launch, &around).unwrap() {
        change.apply(&around).unwrap();
    }
    assert!(plan::uninstall(client, Scope::User, &launch, &around).unwrap().is_empty());
    let is_temporary = |name: &String| name.starts_with(".recto");
    assert!(!crate::server::names(file.parent().unwrap()).iter().any(is_temporary));
    fs::read_to_string(&file).ok()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn uninstall_restores_random_settings_byte_for_byte() {
    for seed in 0..N_DOCUMENTS {
        let random = &mut Random::new(seed);
        for (client, path, text) in [
            ("cursor", ".cursor/mcp.json", documents::json(random)),
            ("codex", ".codex/config.toml", documents::toml(random)),
            ("goose", ".config/goose/config.yaml", documents::yaml(random, "extensions", false)),
            ("continue", ".continue/config.yaml", documents::yaml(random, "mcpServers", true)),
        ] {
            let after = round_trip(client, path, &text, |text| text);
            assert_eq!(after.as_ref(), Some(&text), "{client}");
        }
    }
}

#[test]
fn uninstall_keeps_what_the_user_changed_since() {
    for (client, path, before, new) in [
        ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {\"a\": {}}\n}\n", "// new\n"),
        ("codex", ".codex/config.toml", "a = 1\n", "# new\n"),
        ("goose", ".config/goose/config.yaml", "extensions:\n  a:\n    b: 1\n", "# new\n"),
    ] {
        let after = round_trip(client, path, before, |text| format!("{new}{text}"));
        assert_eq!(after, Some(format!("{new}{before}")), "{client}");
    }
}

#[test]
fn new_files_and_directories_are_removed_again() {
    let folder = tempfile::tempdir().unwrap();
    // The home directory is a link.
    let (real, home) = (folder.path().join("real"), folder.path().join("home"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &home).unwrap();
    let around = surroundings(&home, &home);
    let launch = launch(&["."], &[]);
    for client in &table::CLIENTS {
        for change in plan::install(client, Scope::User, &launch, &around).unwrap() {
            assert!(change.before.is_none(), "{}", client.name);
            change.apply(&around).unwrap();
        }
    }
    assert!(real.join(".cursor/mcp.json").exists());
    for client in table::CLIENTS.iter().rev() {
        for change in plan::uninstall(client, Scope::User, &launch, &around).unwrap() {
            change.apply(&around).unwrap();
        }
    }
    assert_eq!(crate::server::names(&real), [".local"]);
    assert_eq!(crate::server::names(&around.records()), [""; 0]);
}

#[test]
fn the_backup_of_settings_with_an_entry_is_the_file_as_it_was() {
    let cursor = "{\n  \"mcpServers\": {\n    // old\n    \"recto\": {\"command\": \"old\"},\n    \"a\": {}\n  }\n}\n";
    for (client, path, before, clean) in [
        (
            "cursor",
            ".cursor/mcp.json",
            cursor,
            "{\n  \"mcpServers\": {\n    // old\n    \"a\": {}\n  }\n}\n",
        ),
        ("codex", ".codex/config.toml", "a = 1\n[mcp_servers.recto]\ncommand = 'old'\n", "a = 1\n"),
        (
            "goose",
            ".config/goose/config.yaml",
            "extensions:\n  recto:\n    cmd: old\n  a:\n    b: 1\n",
            "extensions:\n  a:\n    b: 1\n",
        ),
    ] {
        // Checks the backup, too.
        let after = round_trip(client, path, before, |text| text);
        assert_eq!(after.as_deref(), Some(clean), "{client}");
    }
}

#[test]
fn an_entry_without_a_record_is_removed_from_its_own_file() {
    let home = tempfile::tempdir().unwrap();
    let around = surroundings(home.path(), home.path());
    let launch = launch(&["."], &[]);
    let client = table::find("continue").unwrap();
    let run = |changes: Result<Vec<plan::Change>, _>| {
        changes.unwrap().iter().for_each(|change| drop(change.apply(&around).unwrap()));
    };
    run(plan::install(client, Scope::User, &launch, &around));
    fs::remove_dir_all(around.records()).unwrap();
    run(plan::uninstall(client, Scope::User, &launch, &around));
    assert_eq!(crate::server::names(&home.path().join(".continue/mcpServers")), [""; 0]);
}

#[test]
fn opencode_gets_the_keys_of_its_version() {
    let home = tempfile::tempdir().unwrap();
    let around = surroundings(home.path(), home.path());
    let client = table::find("opencode").unwrap();
    let file = home.path().join(".config/opencode/opencode.jsonc");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for (before, key) in [
        (
            "{}",
            r#"{"mcp":{"recto":{"type":"local","command":["/opt/recto","serve","."],"enabled":true}}}"#,
        ),
        (
            r#"{"mcp":{"servers":{}}}"#,
            r#"{"mcp":{"servers":{"recto":{"type":"local","command":["/opt/recto","serve","."]}}}}"#,
        ),
        (
            r#"{"mcp":{"servers":{"type":"local","command":[]}}}"#,
            r#"{"mcp":{"recto":{"type":"local","command":["/opt/recto","serve","."],"enabled":true},"servers":{"type":"local","command":[]}}}"#,
        ),
    ] {
        fs::write(&file, before).unwrap();
        let changes = plan::install(client, Scope::User, &launch(&["."], &[]), &around).unwrap();
        assert_eq!(changes[0].after.as_deref(), Some(key));
    }
}

/// Runs `recto install` with a home, without programs on the PATH but those in `home/bin`.
fn install(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    let project = home.join("project");
    fs::create_dir_all(&project).unwrap();
    command.arg("install").args(arguments).current_dir(project).env_clear();
    command.env("HOME", home).env("PATH", home.join("bin"));
    command.output().unwrap()
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

pub fn assert_run(home: &Path, arguments: &[&str], status: i32, words: &[&str]) -> String {
    let output = install(home, arguments);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(status), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in\n{text}");
    }
    text
}

#[test]
fn without_clients_it_says_what_it_looked_for() {
    let home = tempfile::tempdir().unwrap();
    let words =
        ["codex: not found (looked for the program codex and for ~/.codex", "No client was found"];
    let text = assert_run(home.path(), &["--all", "--dry-run"], 0, &words);
    for client in &table::CLIENTS {
        assert!(text.contains(&format!("{}: not found", client.name)), "{text}");
    }
    assert_run(home.path(), &[], 0, &["No client was found", "Known: codex, claude-code"]);
    assert_run(home.path(), &["codx"], 2, &["possible values: codex"]);
    assert_eq!(crate::server::names(home.path()), ["project"]);
}

#[test]
fn shows_the_change_and_makes_it_when_told() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".cursor/mcp.json");
    fs::create_dir(home.path().join(".cursor")).unwrap();
    // Settings are often kept in a repository.
    fs::create_dir(home.path().join("dotfiles")).unwrap();
    let real = home.path().join("dotfiles/mcp.json");
    fs::write(&real, "{\n  // mine\n}\n").unwrap();
    symlink(&real, &file).unwrap();
    let diff = ["+  \"mcpServers\": {", "+      \"command\": \"/", "/project\"", " // mine"];
    let arguments = ["cursor", "--tools", "coding"];
    assert_run(home.path(), &["--all", "--dry-run"], 0, &diff);
    assert_run(home.path(), &arguments, 2, &["pass --yes"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  // mine\n}\n");
    let yes = ["cursor", "--tools", "coding", "--yes"];
    assert_run(home.path(), &yes, 0, &["written; before: ~/.local/state/recto/install/"]);
    assert!(fs::read_to_string(&real).unwrap().contains("--tools=coding"));
    assert!(file.is_symlink());
    assert_run(home.path(), &yes, 0, &["already configured"]);
    // Other options change the entry, and the first backup stays.
    assert_run(
        home.path(),
        &["cursor", "--read-only", "-y"],
        0,
        &["-        \"--tools=coding\"", "+        \"--read-only\""],
    );
    assert_run(
        home.path(),
        &["cursor", "--uninstall", "--yes"],
        0,
        &["cursor: ~/dotfiles/mcp.json: written"],
    );
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  // mine\n}\n");
    assert_run(home.path(), &["cursor", "--uninstall", "--yes"], 0, &["cursor: not configured"]);
    assert_run(home.path(), &["cursor", "--tools", "none"], 2, &["unknown toolset or tool none"]);
}

#[test]
fn a_project_gets_its_own_settings() {
    let home = tempfile::tempdir().unwrap();
    assert_run(home.path(), &["vscode", "zed", "--project", "--yes"], 0, &[]);
    let project = home.path().join("project");
    let zed = fs::read_to_string(project.join(".zed/settings.json")).unwrap();
    assert!(zed.contains(&format!("\"{}\"", project.display())) && !zed.contains("agent"), "{zed}");
    assert!(project.join(".vscode/mcp.json").exists());
    assert_run(home.path(), &["goose", "--project"], 1, &["has no settings for a single project"]);
}

#[test]
fn an_entry_that_cannot_be_inserted_is_printed() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".config/goose/config.yaml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for (before, why) in [
        ("extensions: {a: {enabled: true}}\n", "extensions is not in block style"),
        ("extensions:\n  recto: {cmd: recto}\n", "its entry is not in block style"),
    ] {
        fs::write(&file, before).unwrap();
        let why = format!("{why}. Insert this yourself:");
        let words = [&*why, "  recto:\n    enabled: true"];
        assert_run(home.path(), &["goose", "--yes"], 3, &words);
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
    }
}

#[test]
fn a_client_without_a_project_does_not_serve_the_home_directory() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(BINARY);
    command
        .args(["install", "windsurf", "--yes"])
        .current_dir(home.path())
        .env("HOME", home.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("pass --root DIR"), "{output:?}");
}

#[test]
fn uninstall_removes_the_rules_of_any_selection_of_tools() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\n  \"model\": \"x\"\n}\n").unwrap();
    assert_run(home.path(), &["claude-code", "--tools=all", "--yes"], 0, &[]);
    let installed = fs::read_to_string(&file).unwrap();
    assert!(installed.contains("mcp__recto__undo_list"), "{installed}");
    fs::write(&file, installed.replace("\"x\"", "\"y\"")).unwrap();
    assert_run(home.path(), &["claude-code", "--uninstall", "--yes"], 0, &[]);
    let left = fs::read_to_string(&file).unwrap();
    assert!(!left.contains("mcp__recto"), "{left}");
}

#[test]
fn settings_that_are_devices_are_not_read() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join(".cursor")).unwrap();
    symlink("/dev/zero", home.path().join(".cursor/mcp.json")).unwrap();
    assert_run(home.path(), &["cursor", "--yes"], 1, &["it is not a file"]);
}
