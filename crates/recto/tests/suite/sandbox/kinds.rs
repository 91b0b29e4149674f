//! What is not a regular file is refused at once: pipes, sockets, devices, pseudo-files.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

use super::playground::Expected::*;
use super::playground::{Playground, opens, rows};

#[test]
fn pipes_and_sockets_and_folders_are_refused_at_once() {
    let playground = Playground::new();
    let mode = Mode::from_raw_mode(0o666);
    mkfifoat(CWD, playground.path("root/pipe"), mode).unwrap();
    mkfifoat(CWD, playground.path("root/sub/pipe"), mode).unwrap();
    let _listener = UnixListener::bind(playground.path("root/socket")).unwrap();
    playground
        .link("root/to-pipe", "sub/pipe")
        .link("root/to-socket", "{base}/root/socket")
        .link("root/to-folder", "sub");
    let table = rows([
        ("root/pipe", NotAFile),
        ("root/sub/pipe", NotAFile),
        ("root/to-pipe", NotAFile),
        ("root/pipe/x", NoFolder),
        ("root/socket", NotAFile),
        ("root/to-socket", NotAFile),
        ("root/socket/x", NoFolder),
        ("root", Folder),
        ("root/", Folder),
        ("root/.", Folder),
        ("root/sub", Folder),
        ("root/sub/", Folder),
        ("root/to-folder", Folder),
        ("root/inside.txt/x", NoFolder),
    ]);
    playground.check(&[], &table);
}

#[test]
fn devices_are_refused_at_once() {
    let playground = Playground::new();
    let mode = Mode::from_raw_mode(0o666);
    let devices = [
        ("null", FileType::CharacterDevice, makedev(1, 3)),
        ("zero", FileType::CharacterDevice, makedev(1, 5)),
        ("tty", FileType::CharacterDevice, makedev(5, 0)),
        ("nobody-has-this", FileType::CharacterDevice, makedev(4000, 77)),
        ("loop", FileType::BlockDevice, makedev(7, 0)),
    ];
    let mut table = Vec::new();
    for (name, kind, device) in devices {
        match mknodat(CWD, playground.path(format!("root/{name}")), kind, mode, device) {
            Ok(()) => table.push((format!("root/{name}"), NotAFile)),
            Err(errno) => println!("skipped: cannot make the device {name}: {errno}"),
        }
    }
    if !table.is_empty() {
        playground.link("root/to-null", "null").link("root/to-zero", "{base}/root/zero");
        table.extend(rows([("root/to-null", NotAFile), ("root/to-zero", NotAFile)]));
    }
    playground.check(&[], &table);
}

/// A name under which a killed server would have left something, taken by somebody else.
fn leftover(playground: &Playground, n: u32) -> PathBuf {
    playground.path(format!("root/.recto-new-0123456789ab-1-{n}.tmp"))
}

fn check_works(playground: &Playground) {
    playground.check(&[], &rows([("root/inside.txt", opens("root/inside.txt"))]));
}

#[test]
fn what_only_looks_like_a_leftover_does_not_hold_up_a_write() {
    let playground = Playground::new();
    mkfifoat(CWD, leftover(&playground, 1), Mode::from_raw_mode(0o666)).unwrap();
    std::fs::create_dir(leftover(&playground, 2)).unwrap();
    symlink(playground.path("outside/secret.txt"), leftover(&playground, 3)).unwrap();
    let _listener = UnixListener::bind(leftover(&playground, 4)).unwrap();
    check_works(&playground);
}

/// Nothing but holes: it takes no space, but hours to read.
#[test]
fn a_giant_that_looks_like_a_leftover_does_not_hold_up_a_write() {
    let playground = Playground::new();
    File::create(leftover(&playground, 1)).unwrap().set_len(1 << 40).unwrap();
    check_works(&playground);
}

#[test]
fn a_device_that_looks_like_a_leftover_does_not_hold_up_a_write() {
    let playground = Playground::new();
    let (path, mode) = (leftover(&playground, 1), Mode::from_raw_mode(0o666));
    match mknodat(CWD, path, FileType::CharacterDevice, mode, makedev(1, 5)) {
        Ok(()) => check_works(&playground),
        Err(errno) => println!("skipped: cannot make the device zero: {errno}"),
    }
}

/// Paths that are harmless if a write got through.
#[test]
fn pseudo_files_are_refused_where_their_filesystem_is_served() {
    let playground = Playground::new();
    playground.link("root/version", "/proc/version").link("root/proc", "/proc");
    let table = rows([
        ("/proc/version", NotAFile),
        ("/proc/self/environ", NotAFile),
        ("/proc/self/comm", NotAFile),
        ("/proc/self/maps", NotAFile),
        ("/proc/self/task/../status", NotAFile),
        ("/proc/sys/kernel/ostype", NotAFile),
        ("root/version", NotAFile),
        ("root/proc/self/comm", NotAFile),
        ("/proc/self", Folder),
        ("/proc/no-such-file", Refused),
        ("/proc/self/no-such-file", Refused),
        // What a pipe is called there is no path.
        ("/proc/self/fd/0", Refused),
        ("/proc/self/root/etc/passwd", Outside),
        ("/proc/self/root/proc/version", Outside),
        ("/proc/self/cwd/secret.txt", Outside),
        ("/proc/self/exe", Outside),
        ("root/inside.txt", opens("root/inside.txt")),
    ]);
    playground.check_roots(&["root", "/proc"], &[], &table);
}

#[test]
fn devices_are_refused_where_their_folder_is_served() {
    let playground = Playground::new();
    let table = rows([
        ("/dev/null", NotAFile),
        ("/dev/zero", NotAFile),
        ("/dev/./null", NotAFile),
        ("/dev/stdin", Outside),
        ("/dev/fd/0", Outside),
    ]);
    playground.check_roots(&["root", "/dev"], &[], &table);
}

#[test]
fn nothing_but_files_opens_where_everything_is_served() {
    let playground = Playground::new();
    let table = rows([
        ("/dev/zero", NotAFile),
        ("/proc/self/environ", NotAFile),
        ("/proc/self/root/dev/null", NotAFile),
        ("/dev/stdin", Refused),
        ("/sys/kernel/uevent_seqnum", NotAFile),
        ("/", Folder),
        ("root/inside.txt", opens("root/inside.txt")),
    ]);
    playground.check_roots(&["/"], &[], &table);
}
