//! Commands as a user types them in a shell, through the built binary.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::path::Path;
use std::process::{Command, Stdio};

use recto_tools::tools;
use serde_json::{Value, json};

use crate::client::{BINARY, recto, state_dir};

/// What a command printed, and its exit status.
#[derive(Debug)]
struct Printed {
    stdout: String,
    stderr: String,
    status: i32,
}

impl Printed {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks that the command succeeded, and returns stdout.
    fn ok(self) -> String {
        assert!(self.status == 0, "{self:?}");
        self.stdout
    }

    /// Checks that the tool returned an error, and returns stderr.
    fn error(self) -> String {
        assert!(self.status == 1 && self.stdout.is_empty(), "{self:?}");
        self.stderr
    }
}

/// Runs a command in a directory, with `input` as stdin.
fn run_with(input: &str, folder: &Path, mut command: Command) -> Printed {
    let mut child = command
        .current_dir(folder)
        .env_remove("RECTO_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Printed {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    }
}

fn run(folder: &Path, arguments: &[&str]) -> Printed {
    let mut command = recto();
    command.args(arguments);
    run_with("", folder, command)
}

fn call(folder: &Path, arguments: &[&str]) -> Printed {
    run(folder, &[&["call"], arguments].concat())
}

/// Creates a directory with some files. Its path has no links and no special characters.
fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::Builder::new().prefix("recto-cli").tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    fs::create_dir_all(path.join("sub/deep")).unwrap();
    fs::write(path.join("notes.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(path.join("sub/a.txt"), "inner\n").unwrap();
    (folder, path)
}

#[test]
fn pairs_are_converted_to_the_declared_types() {
    let (_folder, path) = folder();
    let text = call(&path, &["read_text_file", "path=notes.txt", "line=2", "limit=1"]).ok();
    assert_eq!(text, "two\n");
    let lines = call(&path, &["text.read", "path=notes.txt", "lines=[3, 4]", "--json"]).json();
    assert_eq!(lines["content"], "three\n");
    let made = ["write_text_file", "path=new.txt", "content=12", "dry_run=true"];
    assert!(call(&path, &made).ok().contains("+12"));
    assert!(!path.join("new.txt").exists());
    call(&path, &made[..3]).ok();
    assert_eq!(fs::read_to_string(path.join("new.txt")).unwrap(), "12");
    let edits = r#"edits=[{"old_string": "one", "new_string": "1=1"}]"#;
    call(&path, &["multi_edit_text_file", "path=notes.txt", edits]).ok();
    assert_eq!(fs::read_to_string(path.join("notes.txt")).unwrap(), "1=1\ntwo\nthree\n");
}

#[test]
fn invalid_arguments_get_the_message_of_the_tool() {
    let (_folder, path) = folder();
    for (arguments, message) in [
        (&["path=notes.txt", "colour=red"][..], "Unknown argument: colour\n\nThis tool accepts: "),
        (&["limit=1"], "Missing argument: path"),
        (&["path=notes.txt", "limit=many"], "limit must be an integer"),
    ] {
        let by_pairs = call(&path, &[&["read_text_file"], arguments].concat()).error();
        assert!(by_pairs.contains(message), "{by_pairs}");
        let mut object = json!({});
        for (key, value) in arguments.iter().map(|pair| pair.split_once('=').unwrap()) {
            object[key] = value.into();
        }
        let by_json = call(&path, &["read_text_file", &object.to_string()]).error();
        assert_eq!(by_pairs, by_json);
    }
    for (arguments, message) in [
        (&["notes.txt"][..], "\"notes.txt\" is not an argument; pass key=value"),
        (&["path=notes.txt", "path=notes.txt"], "path is given twice"),
        (&["{\"path\": "], "the arguments are not valid JSON"),
        (&["[1]"], "the arguments must be a JSON object"),
        (&["path=notes.txt", "line=@missing"], "line: cannot read missing: "),
    ] {
        let printed = call(&path, &[&["read_text_file"], arguments].concat());
        assert!(printed.status == 2 && printed.stderr.contains(message), "{printed:?}");
    }
    let printed = call(&path, &["multi_edit_text_file", "path=notes.txt", "edits=[{]"]);
    assert!(
        printed.status == 2 && printed.stderr.contains("edits is not valid JSON"),
        "{printed:?}"
    );
}

#[test]
fn a_value_can_come_from_a_file_or_stdin() {
    let (_folder, path) = folder();
    fs::write(path.join("draft"), "@draft\n").unwrap();
    let written = |input: &str, value: &str| {
        let mut command = recto();
        command.args(["call", "write_text_file", "path=new.txt", &format!("content={value}")]);
        run_with(input, &path, command).ok();
        fs::read_to_string(path.join("new.txt")).unwrap()
    };
    assert_eq!(written("", "@draft"), "@draft\n");
    assert_eq!(written("", "@@draft"), "@draft");
    assert_eq!(written("typed\n", "-"), "typed\n");
    let mut command = recto();
    command.args(["call", "read_text_file", "-"]);
    let arguments = json!({"path": path.join("draft")}).to_string();
    assert!(run_with(&arguments, &path, command).ok().contains("@draft\n"));
    // A path is never read from a file.
    fs::write(path.join("@draft"), "at\n").unwrap();
    assert!(call(&path, &["read_text_file", "path=@draft"]).ok().contains("at\n"));
}

#[test]
fn without_a_root_the_directory_of_the_file_is_served() {
    let (_folder, path) = folder();
    let (sub, other) = (path.join("sub"), tempfile::tempdir().unwrap());
    for (here, argument) in [
        (&*path, "path=sub/a.txt".to_string()),
        (&path, "path=./sub/deep/../a.txt".to_string()),
        (&sub, "path=a.txt".to_string()),
        (&sub.join("deep"), "path=../a.txt".to_string()),
        (other.path(), format!("path={}/sub/a.txt", path.display())),
        (other.path(), json!({"path": path.join("sub/a.txt")}).to_string()),
    ] {
        let text = call(here, &["read_text_file", &argument]).ok();
        assert!(text.contains("inner\n"), "{argument}: {text}");
    }
    // Only that directory is served, unless another one is named.
    std::os::unix::fs::symlink("../notes.txt", sub.join("link")).unwrap();
    let error = call(&path, &["read_text_file", "path=sub/link"]).error();
    assert!(error.contains("Permission denied"), "{error}");
    assert!(
        call(&path, &["read_text_file", "path=sub/link", "--root", "."]).ok().contains("two\n")
    );
    let error = call(&path, &["read_text_file", "path=notes.txt", "--root", "sub"]).error();
    assert!(error.contains("Permission denied"), "{error}");
    // A relative path in JSON starts at the root, which is then the working directory.
    assert!(call(&path, &["text.read", r#"{"path": "sub/a.txt"}"#]).ok().contains("inner\n"));
    // Missing directories are created below the nearest one that exists.
    call(&path, &["file.create", "path=sub/new/dir/f.txt", "content=x"]).ok();
    assert_eq!(fs::read_to_string(path.join("sub/new/dir/f.txt")).unwrap(), "x");
}

#[test]
fn patterns_start_at_the_working_directory() {
    let (_folder, path) = folder();
    let other = tempfile::tempdir().unwrap();
    let listed = |here: &Path, pattern: &str| {
        let argument = format!("pattern={pattern}");
        call(here, &["ListFiles", &argument, "--json"]).json()["files"].clone()
    };
    let found = json!([path.join("sub/a.txt")]);
    assert_eq!(listed(&path, "sub/*.txt"), found);
    assert_eq!(listed(&path, "./*/a.txt"), found);
    assert_eq!(listed(&path.join("sub/deep"), "../*.txt"), found);
    assert_eq!(listed(other.path(), &format!("{}/s*/*.txt", path.display())), found);
    let hits = call(&path, &["ReadLines", "file_path=*/*.txt", "match=inner"]).ok();
    assert!(hits.contains("a.txt") && hits.contains("inner"), "{hits}");
    // The working directory is not part of the pattern.
    let brackets = path.join("[id]{a}*?");
    fs::create_dir(&brackets).unwrap();
    fs::write(brackets.join("b.txt"), "in brackets\n").unwrap();
    assert_eq!(listed(&brackets, "*.txt"), json!([brackets.join("b.txt")]));
    assert_eq!(listed(&brackets, "b.txt"), json!([brackets.join("b.txt")]));
    let hits = call(&brackets, &["ReadLines", "file_path=*.txt", "match=in"]).ok();
    assert!(hits.contains("in brackets"), "{hits}");
    assert!(call(&brackets, &["ReadLines", "file_path=b.txt"]).ok().contains("in brackets"));
}

#[test]
fn patterns_and_commits_use_the_repository_around_them() {
    let (_folder, path) = folder();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]);
        let output = command.args(arguments).current_dir(&path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "-q"]);
    fs::write(path.join(".gitignore"), "deep/\n").unwrap();
    fs::write(path.join("sub/deep/b.txt"), "ignored\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    fs::write(path.join("sub/a.txt"), "changed\n").unwrap();
    let sub = path.join("sub");
    let listed =
        |arguments: &[&str]| call(&sub, &[&["ListFiles", "--json"], arguments].concat()).json();
    assert_eq!(listed(&["pattern=**/*.txt"])["files"], json!([sub.join("a.txt")]));
    assert_eq!(listed(&["pattern=*", "commit=HEAD"])["files"], json!(["sub/a.txt"]));
    assert_eq!(listed(&["pattern=sub/%", "commit=HEAD"])["files"], json!(["sub/a.txt"]));
    let text = call(&sub, &["ReadLines", "file_path=a.txt", "commit=HEAD"]).ok();
    assert!(text.contains("inner"), "{text}");
}

#[test]
fn error_codes_appear_only_in_json() {
    let (_folder, path) = folder();
    let wrong = ["edit_text_file", "path=notes.txt", "old_string=four", "new_string=5"];
    let error = call(&path, &wrong).error();
    assert!(error.contains("\n\n") && !error.contains("-320"), "{error}");
    let printed = call(&path, &[&wrong[..], &["--json"]].concat());
    assert!(printed.status == 1 && printed.stderr.is_empty(), "{printed:?}");
    let reported = &printed.json()["error"];
    assert_eq!(reported["code"], -32010);
    let (message, hint) =
        (reported["message"].as_str().unwrap(), reported["hint"].as_str().unwrap());
    assert_eq!(error, format!("{message}\n\n{hint}\n"));
}

#[test]
fn a_call_without_arguments_shows_them() {
    let (_folder, path) = folder();
    for tool in tools::ALL {
        for name in [tool.name, &*tool.dotted_name()] {
            let page = run(&path, &["tools", name]).ok();
            let shown = call(&path, &[name]);
            assert_eq!((&shown.stdout, shown.status), (&page, 2), "{shown:?}");
            assert!(page.contains(tool.description), "{page}");
            for param in tool.params {
                // With a space, because the name of the tool may start with that of an argument.
                let start = format!("{} ", param.name);
                let row = page.lines().find(|line| line.trim_start().starts_with(&start));
                let required = if param.is_required { "required" } else { "optional" };
                for part in [&param.kind.describe(), required, param.description] {
                    assert!(row.unwrap().contains(part), "{part} is not in\n{page}");
                }
            }
        }
    }
    let printed = run(&path, &["tools", "read_textfile"]);
    assert!(
        printed.status == 2 && printed.stderr.contains("unknown tool read_textfile"),
        "{printed:?}"
    );
    let json = run(&path, &["tools", "text_read", "--json"]).json();
    assert_eq!(json.as_array().map(Vec::len), Some(1), "{json}");
}

/// Runs the examples in a shell. They may fail because of the content of files, but not because of
/// their arguments.
#[test]
fn the_examples_of_a_tool_can_be_typed() {
    const INVALID_ARGUMENTS: i64 = -32600;
    let (_folder, path) = folder();
    for tool in tools::ALL {
        let page = run(&path, &["tools", tool.name]).ok();
        let examples: Vec<&str> =
            page.lines().filter_map(|line| line.strip_prefix("  recto ")).collect();
        assert_eq!(examples.len(), 2, "{page}");
        for example in examples {
            let example = example.replace("/home/me/project", path.to_str().unwrap());
            let mut command = Command::new("sh");
            command.args(["-c", &format!("{BINARY} {example} --json")]);
            command.env("RECTO_STATE_DIR", state_dir());
            let printed = run_with("", &path, command);
            let code = printed.json()["error"]["code"].as_i64();
            assert!(
                printed.status != 2 && code != Some(INVALID_ARGUMENTS),
                "{example}: {printed:?}"
            );
        }
    }
}

#[test]
fn a_directory_is_served_and_a_misspelt_command_is_not() {
    let (_folder, path) = folder();
    for arguments in [&["."][..], &["sub"], &["./sub", "--read-only"], &[path.to_str().unwrap()]] {
        let printed = run(&path, &[arguments, &["--log", "off"]].concat());
        assert_eq!(printed.ok(), "", "{arguments:?}");
    }
    let printed = run(&path, &["docter"]);
    assert!(printed.status == 2 && printed.stdout.is_empty(), "{printed:?}");
    assert!(
        printed.stderr.contains("'docter'") && printed.stderr.contains("'doctor'"),
        "{printed:?}"
    );
    let printed = run(&path, &["./docter"]);
    assert!(printed.status == 2 && printed.stderr.contains("cannot serve ./docter"), "{printed:?}");
    // A command wins over a directory with its name.
    fs::create_dir(path.join("tools")).unwrap();
    assert!(run(&path, &["tools"]).ok().contains("read_text_file"));
}

#[test]
fn commands_list_only_options_that_have_an_effect() {
    let (_folder, path) = folder();
    let options = |command: &str| {
        let help = run(&path, &[command, "-h"]).ok();
        let words = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
        let name = |line: &str| line.split([' ', '=']).next().unwrap().to_string();
        words.map(name).collect::<Vec<_>>()
    };
    let without = |command: &str, absent: &[&str]| {
        let options = options(command);
        assert!(!options.is_empty(), "{command}");
        for option in absent {
            assert!(!options.iter().any(|it| it == option), "{command} --{option}: {options:?}");
        }
    };
    let server = ["tools", "read-only", "results", "tool-names", "errors"];
    without("call", &server);
    let store = ["root", "deny", "git-dir", "allow-git-writes", "durability"];
    without("tools", &[&store[..], &["errors", "no-landlock", "log", "log-level"]].concat());
    let writes = ["allow-git-writes", "durability", "tool-names", "errors"];
    without("doctor", &[&writes[..], &["log", "log-level"]].concat());
    for option in server.iter().chain(&store) {
        assert!(options("serve").iter().any(|it| it == option), "serve --{option}");
    }
}

/// Opens a pseudo-terminal and returns its two ends.
fn terminal() -> (File, File) {
    let (mut user, mut program) = (-1, -1);
    // SAFETY: the two descriptors are written to, and nothing else is passed.
    let opened = unsafe {
        libc::openpty(
            &mut user,
            &mut program,
            std::ptr::null_mut(),
            std::ptr::null(),
            std::ptr::null(),
        )
    };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both descriptors were just opened and belong to no other value.
    unsafe { (File::from_raw_fd(user), File::from_raw_fd(program)) }
}

#[test]
fn text_typed_at_a_server_is_explained() {
    let (_folder, path) = folder();
    let (mut user, program) = terminal();
    let child = recto()
        .args(["serve", "--no-landlock"])
        .current_dir(&path)
        .env_remove("RECTO_LOG")
        .stdin(program)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    user.write_all(b"help\n{\"jsonrpc\": \"2.0\"}\n\x04").unwrap();
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(stderr.matches("not a JSON-RPC message").count(), 1, "{stderr}");
    assert!(stderr.lines().last().unwrap().contains("`recto call`"), "{stderr}");
    assert_eq!(stdout.matches("-32700").count(), 1, "{stdout}");
    // A program gets only the answer.
    let mut command = recto();
    command.args(["serve", "--no-landlock"]);
    let printed = run_with("help\n", &path, command);
    assert!(printed.stderr.is_empty() && printed.stdout.contains("-32700"), "{printed:?}");
    let mut echoed = [0; 4];
    user.read_exact(&mut echoed).unwrap();
}
