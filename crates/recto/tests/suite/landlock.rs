//! How a server starts with, without and despite Landlock, and what it logs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use recto::landlock::{AllowedPaths, Enforcement, LandlockMode};
use serde_json::json;

use crate::client::recto;
use crate::confinement::{Confinement, errno, filter};

/// A session of one call.
fn run(mut command: Command, path: &Path) -> Output {
    let mut child = command
        .env_remove("RECTO_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let client = json!({"name": "test", "version": "0"});
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
    });
    let call = json!({"name": "read_text_file", "arguments": {"path": path}});
    let mut input = child.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ] {
        // A server that refused to start is recognised by its exit status.
        let _ = writeln!(input, "{message}");
    }
    drop(input);
    child.wait_with_output().unwrap()
}

fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    std::fs::write(&path, "inside\n").unwrap();
    (folder, path)
}

/// Returns the log's messages about Landlock, with their level but without the time.
fn said(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let words = |line: &str| line.splitn(3, ' ').skip(1).collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| line.contains("Landlock")).map(words).collect()
}

fn answers(output: &Output) -> bool {
    output.status.success() && String::from_utf8_lossy(&output.stdout).contains("inside\\n")
}

fn is_here() -> bool {
    AllowedPaths::default().probe(LandlockMode::BestEffort).unwrap().is_full()
}

#[test]
fn logs_full_enforcement_only_for_debugging() {
    let (folder, path) = folder();
    let output = run(Confinement::Full.serve(folder.path(), &[""; 0]), &path);
    assert!(answers(&output), "{output:?}");
    assert_eq!(said(&output).len(), usize::from(!is_here()), "{output:?}");
    let output = run(Confinement::Full.serve(folder.path(), &["--log-level", "debug"]), &path);
    let said = said(&output);
    let (level, word) = if is_here() { ("debug", "fully") } else { ("warn", "") };
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with(&format!("{level} Landlock is {word}")), "{said:?}");
    let output = run(Confinement::Full.serve(folder.path(), &["--log", "off"]), &path);
    assert!(answers(&output) && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn serves_without_landlock_if_disabled() {
    let (folder, path) = folder();
    let output = run(Confinement::WithoutLandlock.serve(folder.path(), &[""; 0]), &path);
    assert!(answers(&output), "{output:?}");
    assert!(said(&output).is_empty(), "{output:?}");
    let serve = Confinement::WithoutLandlock.serve(folder.path(), &["--log-level", "debug"]);
    assert_eq!(said(&run(serve, &path)), ["debug Landlock is disabled"]);
}

/// Kernels without Landlock, kernels booted without it, and containers that filter it.
#[test]
fn serves_without_landlock_if_unavailable_unless_it_is_required() {
    for (number, reason) in [
        (libc::ENOSYS, "not supported by this kernel or container"),
        (libc::EPERM, "not supported by this kernel or container"),
        (libc::EOPNOTSUPP, "not enabled at boot"),
    ] {
        check_unavailable(libc::SYS_landlock_create_ruleset, number, reason);
    }
}

/// Starts servers for which a system call of Landlock fails.
pub fn check_unavailable(system_call: libc::c_long, number: i32, reason: &str) {
    let (folder, path) = folder();
    let start = |options: &[&str]| {
        let mut command = Confinement::Full.serve(folder.path(), options);
        filter(&mut command, system_call, errno(number));
        run(command, &path)
    };
    let output = start(&[]);
    assert!(answers(&output), "{output:?}");
    let expected =
        format!("warn Landlock is not available ({reason}); only recto's own path checks apply");
    assert_eq!(said(&output), [expected]);
    let output = start(&["--require-landlock"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let expected = format!("recto: --require-landlock: Landlock is not available ({reason})");
    assert!(text.starts_with(&expected), "{text}");
}

#[test]
fn a_disabled_layer_rejects_nothing() {
    let (_folder, path) = folder();
    let thread = std::thread::spawn(move || {
        assert_eq!(
            AllowedPaths::default().restrict_thread(LandlockMode::Off),
            Ok(Enforcement::Off)
        );
        std::fs::read(path).unwrap();
    });
    thread.join().unwrap();
}

#[test]
fn calls_work_if_landlock_is_required_and_available() {
    let (folder, path) = folder();
    let output = run(Confinement::Full.serve(folder.path(), &["--require-landlock"]), &path);
    assert_eq!(answers(&output), is_here(), "{output:?}");
}

#[test]
fn an_invalid_root_is_the_only_error_logged() {
    let (folder, path) = folder();
    for (root, reason) in [
        (path.clone(), "Not a directory (os error 20)"),
        (folder.path().join("gone"), "No such file or directory (os error 2)"),
    ] {
        for options in [&[][..], &["--require-landlock"]] {
            let output = run(Confinement::Full.serve(&root, options), &path);
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            let expected = format!("recto: cannot serve {}: {reason}\n", root.display());
            assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
        }
    }
}

#[test]
fn landlock_cannot_be_both_required_and_disabled() {
    let options = ["tools", "--require-landlock", "--no-landlock"];
    let output = recto().args(options).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

/// All threads of a server are confined, including those of the runtime.
#[test]
fn every_thread_is_confined() {
    let (folder, path) = folder();
    let mut command = Confinement::Full.serve(folder.path(), &[""; 0]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let client = json!({"name": "test", "version": "0"});
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
    });
    let call = json!({"name": "read_text_file", "arguments": {"path": path}});
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    writeln!(
        input,
        "{}",
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    )
    .unwrap();
    lines.next().unwrap().unwrap();
    writeln!(
        input,
        "{}",
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
    )
    .unwrap();
    lines.next().unwrap().unwrap();
    // Enabling Landlock also sets no_new_privs, for each thread separately.
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let mut n_threads = 0;
    for task in tasks {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        n_threads += 1;
    }
    // The runtime's threads, the writer thread and the call's thread.
    assert!(n_threads >= 3, "{n_threads}");
    drop(input);
    child.wait().unwrap();
}

/// An agent inherits its relay's restrictions, and needs the whole system.
#[test]
fn a_relay_is_not_confined() {
    let (folder, _) = folder();
    let noted = folder.path().join("noted");
    let line = format!("grep NoNewPrivs /proc/self/status > '{}'", noted.display());
    let output = recto()
        .arg("acp")
        .arg(folder.path())
        .args(["--", "sh", "-c", &line])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let ours = std::fs::read_to_string("/proc/self/status").unwrap();
    let theirs = std::fs::read_to_string(noted).unwrap();
    assert!(ours.contains(theirs.trim()), "{theirs}");
}
