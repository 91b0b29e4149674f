//! Special files are rejected without blocking: pipes, sockets, devices, pseudo-files.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::sandbox_fixture::Expected::*;
use crate::sandbox_fixture::{SandboxFixture, opens, rows};

#[test]
fn pipes_sockets_and_directories_are_rejected_without_blocking() {
    let fixture = SandboxFixture::new();
    let mode = Mode::from_raw_mode(0o666);
    mkfifoat(CWD, fixture.path("root/pipe"), mode).unwrap();
    mkfifoat(CWD, fixture.path("root/sub/pipe"), mode).unwrap();
    let _listener = UnixListener::bind(fixture.path("root/socket")).unwrap();
    fixture
        .link("root/to-pipe", "sub/pipe")
        .link("root/to-socket", "{base}/root/socket")
        .link("root/to-folder", "sub");
    let table = rows([
        ("root/pipe", NotAFile),
        ("root/sub/pipe", NotAFile),
        ("root/to-pipe", NotAFile),
        ("root/pipe/x", NoParent),
        ("root/socket", NotAFile),
        ("root/to-socket", NotAFile),
        ("root/socket/x", NoParent),
        ("root", Directory),
        ("root/", Directory),
        ("root/.", Directory),
        ("root/sub", Directory),
        ("root/sub/", Directory),
        ("root/to-folder", Directory),
        ("root/inside.txt/x", NoParent),
    ]);
    fixture.check(&[], &table);
}

/// A name that a killed server would have used for a leftover, taken by another process.
fn leftover(fixture: &SandboxFixture, n: u32) -> PathBuf {
    fixture.path(format!("root/.recto-new-0123456789ab-1-{n}.tmp"))
}

fn check_works(fixture: &SandboxFixture) {
    fixture.check(&[], &rows([("root/inside.txt", opens("root/inside.txt"))]));
}

#[test]
fn a_fifo_or_socket_named_like_a_leftover_does_not_block_a_write() {
    let fixture = SandboxFixture::new();
    mkfifoat(CWD, leftover(&fixture, 1), Mode::from_raw_mode(0o666)).unwrap();
    std::fs::create_dir(leftover(&fixture, 2)).unwrap();
    symlink(fixture.path("outside/secret.txt"), leftover(&fixture, 3)).unwrap();
    let _listener = UnixListener::bind(leftover(&fixture, 4)).unwrap();
    check_works(&fixture);
}

/// A sparse file: it takes no space, but hours to read.
#[test]
fn a_huge_file_named_like_a_leftover_does_not_delay_a_write() {
    let fixture = SandboxFixture::new();
    File::create(leftover(&fixture, 1)).unwrap().set_len(1 << 40).unwrap();
    check_works(&fixture);
}

/// Paths for which a successful write would be harmless.
#[test]
fn pseudo_files_are_rejected_even_if_their_filesystem_is_served() {
    let fixture = SandboxFixture::new();
    fixture.link("root/version", "/proc/version").link("root/proc", "/proc");
    let table = rows([
        ("/proc/version", NotAFile),
        ("/proc/self/environ", NotAFile),
        ("/proc/self/comm", NotAFile),
        ("/proc/self/maps", NotAFile),
        ("/proc/self/task/../status", NotAFile),
        ("/proc/sys/kernel/ostype", NotAFile),
        ("root/version", NotAFile),
        ("root/proc/self/comm", NotAFile),
        ("/proc/self", Directory),
        ("/proc/no-such-file", Refused),
        ("/proc/self/no-such-file", Refused),
        // The name of a pipe there is not a path.
        ("/proc/self/fd/0", Refused),
        ("/proc/self/root/etc/passwd", Outside),
        ("/proc/self/root/proc/version", Outside),
        ("/proc/self/cwd/secret.txt", Outside),
        ("/proc/self/exe", Outside),
        ("root/inside.txt", opens("root/inside.txt")),
    ]);
    fixture.check_roots(&["root", "/proc"], &[], &table);
}

#[test]
fn devices_are_rejected_even_if_their_directory_is_served() {
    let fixture = SandboxFixture::new();
    let table = rows([
        ("/dev/null", NotAFile),
        ("/dev/zero", NotAFile),
        ("/dev/./null", NotAFile),
        ("/dev/stdin", Outside),
        ("/dev/fd/0", Outside),
    ]);
    fixture.check_roots(&["root", "/dev"], &[], &table);
}

#[test]
fn only_regular_files_open_if_the_whole_system_is_served() {
    let fixture = SandboxFixture::new();
    let table = rows([
        ("/dev/zero", NotAFile),
        ("/proc/self/environ", NotAFile),
        ("/proc/self/root/dev/null", NotAFile),
        ("/dev/stdin", Refused),
        ("/sys/kernel/uevent_seqnum", NotAFile),
        ("/", Directory),
        ("root/inside.txt", opens("root/inside.txt")),
    ]);
    fixture.check_roots(&["/"], &[], &table);
}
