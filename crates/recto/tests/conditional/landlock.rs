//! Landlock alone, tested with plain system calls: it rejects access outside the roots and permits
//! the steps of a write.

use std::fs;
use std::io::{ErrorKind, Result};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;

use recto::landlock::{AllowedPaths, Enforcement, LandlockMode};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat_with};

use crate::start;

/// Returns what the kernel can enforce.
pub fn status() -> Enforcement {
    AllowedPaths::default().probe(LandlockMode::BestEffort).unwrap()
}

/// Runs on a confined thread of its own; the test's other threads stay free.
fn confined(allowed_paths: AllowedPaths, attack: impl FnOnce(Enforcement) + Send + 'static) {
    let thread = std::thread::spawn(move || {
        attack(allowed_paths.restrict_thread(LandlockMode::BestEffort).unwrap())
    });
    thread.join().unwrap();
}

fn refused<T>(what: &str, result: Result<T>) {
    match result {
        Ok(_) => panic!("{what} worked"),
        Err(error) => {
            let is_refusal =
                matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::CrossesDevices);
            assert!(is_refusal, "{what}: {error}");
        }
    }
}

/// Creates three directories: a writable one, a readable one and an inaccessible one.
fn folders() -> (tempfile::TempDir, AllowedPaths) {
    let base = tempfile::tempdir().unwrap();
    for folder in ["writable/sub", "readable", "closed/sub"] {
        fs::create_dir_all(base.path().join(folder)).unwrap();
    }
    for file in ["writable/f", "writable/g", "writable/sub/f", "readable/f", "closed/f"] {
        fs::write(base.path().join(file), "text\n").unwrap();
    }
    symlink("../closed", base.path().join("writable/out")).unwrap();
    symlink("../closed/f", base.path().join("writable/out-f")).unwrap();
    let at = |name: &str| base.path().join(name);
    let allowed_paths =
        AllowedPaths { readable: vec![at("readable")], writable: vec![at("writable")] };
    (base, allowed_paths)
}

fn reads(path: &Path) -> [(&'static str, Result<()>); 2] {
    [("read", fs::read(path).map(drop)), ("append", append(path))]
}

fn append(path: &Path) -> Result<()> {
    fs::OpenOptions::new().append(true).open(path).map(drop)
}

pub fn files_outside_are_neither_read_nor_written() {
    let (base, allowed_paths) = folders();
    let at = base.path().to_path_buf();
    confined(allowed_paths, move |_| {
        for name in ["closed/f", "writable/out-f", "writable/out/f", "writable/../closed/f"] {
            for (what, result) in reads(&at.join(name)) {
                refused(&format!("{what} {name}"), result);
            }
        }
        for name in ["/etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "/dev/null"]
        {
            refused(name, fs::read(name));
        }
        for name in ["closed", "/", "/proc/self/fd", "/etc", "writable/out"] {
            refused(name, fs::read_dir(at.join(name)).map(drop));
        }
        for name in ["closed/new", "writable/out/new", "readable/new", "new"] {
            refused(&format!("create {name}"), fs::write(at.join(name), "new"));
            refused(&format!("mkdir {name}"), fs::create_dir(at.join(name)));
            refused(&format!("symlink {name}"), symlink("f", at.join(name)));
        }
        for name in ["closed/f", "readable/f"] {
            refused(&format!("truncate {name}"), fs::File::create(at.join(name)).map(drop));
            refused(&format!("remove {name}"), fs::remove_file(at.join(name)));
            refused(&format!("move {name} in"), fs::rename(at.join(name), at.join("writable/h")));
            refused(
                &format!("link {name} in"),
                fs::hard_link(at.join(name), at.join("writable/h")),
            );
            refused(&format!("move over {name}"), fs::rename(at.join("writable/f"), at.join(name)));
        }
        refused("link out", fs::hard_link(at.join("writable/f"), at.join("closed/g")));
        refused("rmdir", fs::remove_dir(at.join("closed/sub")));
        fs::read(at.join("readable/f")).unwrap();
        fs::read_dir(at.join("readable")).unwrap();
    });
    assert_eq!(fs::read_to_string(base.path().join("closed/f")).unwrap(), "text\n");
    assert_eq!(fs::read_dir(base.path().join("closed")).unwrap().count(), 2);
    assert_eq!(fs::read_dir(base.path().join("readable")).unwrap().count(), 1);
}

/// The steps of the write protocol, and exchanges between two directories.
pub fn the_steps_of_a_write_are_permitted() {
    let (base, allowed_paths) = folders();
    let at = base.path().join("writable");
    confined(allowed_paths, move |status| {
        let folder = openat(CWD, &at, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let flags = OFlags::TMPFILE | OFlags::WRONLY;
        let mode = Mode::from_raw_mode(0o666);
        let nameless = openat(&folder, ".", flags, mode).unwrap();
        rustix::io::write(&nameless, b"new\n").unwrap();
        let by_proc = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&nameless));
        linkat(CWD, by_proc, &folder, "by-proc", AtFlags::SYMLINK_FOLLOW).unwrap();
        let exchange = |one: &str, other: &str| {
            renameat_with(&folder, one, &folder, other, RenameFlags::EXCHANGE)
        };
        exchange("by-proc", "f").unwrap();
        renameat_with(&folder, "by-proc", &folder, "aside", RenameFlags::NOREPLACE).unwrap();
        renameat_with(&folder, "out", &folder, "out-aside", RenameFlags::NOREPLACE).unwrap();
        fs::remove_file(at.join("aside")).unwrap();
        fs::create_dir_all(at.join("a/b")).unwrap();
        fs::remove_dir(at.join("a/b")).unwrap();
        assert_eq!(fs::read(at.join("f")).unwrap(), b"new\n");
        let abi = match status {
            Enforcement::Full { abi } | Enforcement::Partial { abi } => abi,
            other => unreachable!("{other}"),
        };
        // The first version of Landlock rejected renames between directories.
        match exchange("g", "sub/f") {
            Ok(()) => assert!(abi >= 2),
            Err(errno) => assert!(abi == 1, "{errno}"),
        }
    });
}

pub fn network_connections_are_rejected() {
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = outside.local_addr().unwrap();
    confined(AllowedPaths::default(), move |_| {
        refused("bind", TcpListener::bind("127.0.0.1:0"));
        refused("connect", TcpStream::connect(address));
    });
    TcpStream::connect(address).unwrap();
}

pub fn signals_to_other_processes_are_rejected() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let id = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    confined(AllowedPaths::default(), move |_| {
        let sent = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        assert_eq!(sent, Err(rustix::io::Errno::PERM));
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The kernel also refuses to enforce a seventeenth layer.
pub fn serves_without_landlock_if_the_kernel_does_not_enforce_it() {
    let restrict = libc::SYS_landlock_restrict_self;
    start::check_unavailable(restrict, libc::E2BIG, "the kernel rejected the rules");
}
