//! Changes on other file systems, with a quota, and while the clock jumps.
//!
//! Each file system is made in a file and mounted, which needs root, loop devices and the program
//! that formats it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::client::recto;
use crate::test_dir::{Session, TestDir, said};

const MEGABYTE: usize = 1 << 20;

/// Enough for each of the file systems.
const IMAGE_BYTES: u64 = 320 << 20;

/// Where Debian and its relatives install libfaketime.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// A mounted file system. It is removed when dropped.
struct Mounted {
    folder: tempfile::TempDir,
}

impl Mounted {
    /// Formats an image with a program and its options, and mounts it.
    fn new(format: &[&str], options: &str) -> Option<Mounted> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Mounted { folder };
        let image = mounted.folder.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
        std::fs::create_dir(mounted.root()).unwrap();
        let (program, arguments) = format.split_first().unwrap();
        let is_done = run(Command::new(program).args(arguments).arg(&image))
            && run(Command::new("mount").args(["-o", options]).arg(&image).arg(mounted.root()));
        is_done.then_some(mounted)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run(Command::new("umount").arg("--lazy").arg(self.root()));
    }
}

/// Returns whether a program can be started and succeeds.
fn run(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn btrfs() -> Option<Mounted> {
    Mounted::new(&["mkfs.btrfs", "--quiet"], "loop")
}

fn xfs() -> Option<Mounted> {
    Mounted::new(&["mkfs.xfs", "-q"], "loop")
}

/// Returns a file system with a limit of two megabytes.
fn with_quota() -> Option<Mounted> {
    let mounted = btrfs()?;
    let root = mounted.root();
    let is_done = run(Command::new("btrfs").args(["quota", "enable"]).arg(&root))
        && run(Command::new("btrfs").args(["qgroup", "limit", "2M", "0/5"]).arg(&root));
    is_done.then_some(mounted)
}

pub fn can_mount_btrfs() -> bool {
    btrfs().is_some()
}

pub fn can_mount_xfs() -> bool {
    xfs().is_some()
}

pub fn can_have_a_quota() -> bool {
    with_quota().is_some()
}

pub fn can_fake_the_clock() -> bool {
    Path::new(FAKETIME).exists()
}

pub fn changes_on_btrfs_are_complete_and_a_full_disk_keeps_the_old_file() {
    check_changes(&btrfs().unwrap().root());
}

pub fn changes_on_xfs_are_complete_and_a_full_disk_keeps_the_old_file() {
    check_changes(&xfs().unwrap().root());
}

/// Creates, edits, overwrites and removes files, then fills the disk.
fn check_changes(root: &Path) {
    let session = Session::start(root, &[]);
    let path = root.join("new/file.txt");
    session.answer("file_create", json!({"path": path, "content": "one\ntwo\n"}));
    for round in 0..20 {
        let old = if round == 0 { "two".to_string() } else { format!("two {}", round - 1) };
        let edit = json!({"path": path, "old_string": old, "new_string": format!("two {round}")});
        session.answer("edit_text_file", edit);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo 19\n");
    let large = "0123456789abcde\n".repeat(4 * MEGABYTE / 16);
    session.answer("write_text_file", json!({"path": root.join("large.txt"), "content": large}));
    let hash = session.answer("text_read", json!({"path": path}))["hash"].clone();
    session.answer("file_remove", json!({"path": path, "hash": hash}));
    assert!(!path.exists());
    fill(&root.join("filler"));
    let longer = format!("{large}{large}");
    let write = json!({"path": root.join("large.txt"), "content": longer});
    let rejected = said(&session.call("write_text_file", write));
    assert!(rejected.contains("Free some disk space"), "{rejected}");
    assert!(std::fs::read_to_string(root.join("large.txt")).unwrap() == large);
    std::fs::remove_file(root.join("filler")).unwrap();
    session
        .answer("write_text_file", json!({"path": root.join("large.txt"), "content": "small\n"}));
    assert_eq!(names(root), ["large.txt", "new"]);
    assert!(names(&root.join("new")).is_empty());
}

/// Writes to a file until the disk is full.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).unwrap();
    for n_bytes in [MEGABYTE, 4096] {
        let piece = vec![b'x'; n_bytes];
        while file.write_all(&piece).and_then(|()| file.sync_data()).is_ok() {}
    }
}

/// Returns the names in a directory that a user sees, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "lost+found");
    names.sort();
    names
}

pub fn a_write_beyond_the_quota_is_rejected_and_keeps_the_old_file() {
    let mounted = with_quota().unwrap();
    let path = mounted.root().join("file.txt");
    let session = Session::start(&mounted.root(), &[]);
    session.answer("write_text_file", json!({"path": path, "content": "old\n"}));
    let content = "0123456789abcde\n".repeat(4 * MEGABYTE / 16);
    let rejected =
        said(&session.call("write_text_file", json!({"path": path, "content": content})));
    assert!(rejected.contains("Free some disk space"), "{rejected}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\n");
    session.answer("write_text_file", json!({"path": path, "content": "new\n"}));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
    assert_eq!(names(&mounted.root()), ["file.txt"]);
}

/// Time stamps of files come from the kernel, whose clock does not jump here.
pub fn a_clock_that_jumps_changes_no_result() {
    let folder = TestDir::new();
    folder.file("root/file.txt", "round 0\n").file("clock", "+0");
    let mut command = tokio::process::Command::from(recto());
    command.arg("serve").arg(folder.path("root")).env("RECTO_LOG", "error");
    command.env("LD_PRELOAD", FAKETIME).env("FAKETIME_TIMESTAMP_FILE", folder.path("clock"));
    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let session = Session::start_command(command);
    let path = folder.path("root/file.txt");
    let mut hash = Value::Null;
    for round in 0..60 {
        let clock = ["-20y", "+20y", "+0", "-1d", "+1h"][round % 5];
        std::fs::write(folder.path("clock"), clock).unwrap();
        let read = session.answer("text_read", json!({"path": path, "since": hash}));
        assert_eq!(read["unchanged"] == true, round > 0, "{read}");
        let (old, new) = (format!("round {round}\n"), format!("round {}\n", round + 1));
        let edit = json!({"path": path, "old_string": old, "new_string": new});
        let edited = session.answer("edit_text_file", edit);
        hash = edited["hash"].clone();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), new);
        let listed = session.list("**/*.txt");
        assert_eq!(listed.len(), 1, "{listed:?}");
    }
    assert_eq!(names(&folder.path("root")), ["file.txt"]);
}
