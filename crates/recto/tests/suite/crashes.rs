//! kill -9 at random moments of a write.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::recto;
use crate::random::Random;

fn content(version: usize) -> String {
    format!("version {version}\n").repeat(2_000_000 / 12)
}

/// Starts a server and sends one write without waiting for the answer.
fn start_write(root: &Path, version: usize) -> Child {
    let mut child = recto()
        .arg("serve")
        .arg(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "crash", "version": "1"},
        },
    });
    let write = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "write_text_file", "arguments": {"path": root.join("f.txt"), "content": content(version)}},
    });
    let stdin = child.stdin.as_mut().unwrap();
    writeln!(stdin, "{initialize}").unwrap();
    writeln!(stdin, "{write}").unwrap();
    stdin.flush().unwrap();
    child
}

fn starts_with(path: &Path, start: &str) -> bool {
    let mut head = vec![0; start.len()];
    std::fs::File::open(path).unwrap().read_exact(&mut head).unwrap();
    head == start.as_bytes()
}

fn entries(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_killed_write_leaves_old_or_new_text_and_the_next_write_removes_leftovers() {
    check_kills(60);
}

#[test]
#[ignore = "long: 1,000 kills"]
fn a_killed_write_leaves_old_or_new_text_and_the_next_write_removes_leftovers_long() {
    check_kills(1_000);
}

fn check_kills(n_kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let path = root.join("f.txt");
    std::fs::write(&path, content(0)).unwrap();

    // Measures how long a write takes, so that the kills fall around its commit.
    let mut child = start_write(root, 1);
    let started = Instant::now();
    while !starts_with(&path, "version 1\n") {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_micros(50));
    }
    let n_micros = 2 * started.elapsed().as_micros() as usize;
    child.kill().unwrap();
    child.wait().unwrap();

    let mut random = Random::new(0x5eed);
    let (mut n_old, mut n_new, mut n_leftovers) = (0, 0, 0);
    let mut current = 1;
    for round in 0..n_kills {
        let next = round + 2;
        let mut child = start_write(root, next);
        std::thread::sleep(Duration::from_micros(random.below(n_micros) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = std::fs::read_to_string(&path).unwrap();
        if found == content(next) {
            current = next;
            n_new += 1;
        } else {
            assert!(found == content(current), "round {round}: torn, {} bytes", found.len());
            n_old += 1;
        }
        let has_leftovers = entries(root).len() > 1;
        n_leftovers += usize::from(has_leftovers);
        // The next change in the directory removes them, even a change of another file.
        if has_leftovers || round % 10 == 0 {
            let arguments = json!({"path": root.join("other.txt"), "content": format!("{round}")});
            let called = recto()
                .args(["call", "write_text_file", &arguments.to_string(), "--root"])
                .arg(root)
                .output()
                .unwrap();
            assert!(called.status.success(), "{called:?}");
            std::fs::remove_file(root.join("other.txt")).unwrap();
            assert_eq!(entries(root), ["f.txt"], "round {round}");
        }
    }
    println!(
        "{n_kills} kills: {n_old} old, {n_new} new, {n_leftovers} with leftovers that were cleaned up"
    );
    assert!(
        n_old > 0 && n_new > 0,
        "the kills fell on both sides of the commit: {n_old} old, {n_new} new"
    );
}
