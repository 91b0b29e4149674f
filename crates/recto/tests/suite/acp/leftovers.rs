//! What a new relay removes in the directory of its socket, which may be shared with other users.

use std::fs::{DirBuilder, create_dir, write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};

use crate::acp_editor::read;
use crate::client::recto;

/// A shared directory, and how to plant something in it.
struct Shared(tempfile::TempDir);

impl Shared {
    fn new() -> Shared {
        Shared(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Creates a directory like that of a relay's socket.
    fn socket_dir(&self, name: &str, mode: u32) -> PathBuf {
        let dir = self.path(name);
        DirBuilder::new().mode(mode).create(&dir).unwrap();
        dir
    }

    /// Starts a relay that ends at once, after everything here has become old enough to remove.
    fn clean_up(&self) {
        for entry in self.0.path().read_dir().unwrap() {
            make_old(&entry.unwrap().path());
        }
        let mut relay = recto()
            .args(["acp", "--", "true"])
            .env("XDG_RUNTIME_DIR", self.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while relay.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(20) {
                relay.kill().unwrap();
                relay.wait().unwrap();
                panic!("the relay hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Sets the time of a file, or of a link itself, to one in 1970.
fn make_old(path: &Path) {
    let time = Timespec { tv_sec: 1000, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Leaves a socket that refuses connections, as a killed relay does.
fn leave_socket(path: &Path) {
    drop(UnixListener::bind(path).unwrap());
}

#[test]
fn the_socket_of_a_killed_relay_is_removed() {
    let shared = Shared::new();
    let dead = shared.socket_dir("recto-acp-dead", 0o700);
    leave_socket(&dead.join("link"));
    let alive = shared.socket_dir("recto-acp-alive", 0o700);
    let _listener = UnixListener::bind(alive.join("link")).unwrap();
    let other = shared.socket_dir("other", 0o700);
    leave_socket(&other.join("link"));
    shared.clean_up();
    assert!(!dead.exists());
    assert!(alive.join("link").exists() && other.join("link").exists());
}

/// A connection to a regular file is refused like one to a dead socket.
#[test]
fn a_planted_link_does_not_lead_to_a_removed_file() {
    let shared = Shared::new();
    let project = tempfile::tempdir().unwrap();
    write(project.path().join("link"), "precious\n").unwrap();
    symlink(project.path(), shared.path("recto-acp-planted")).unwrap();
    let with_file = shared.socket_dir("recto-acp-file", 0o700);
    write(with_file.join("link"), "precious\n").unwrap();
    let with_link = shared.socket_dir("recto-acp-link", 0o700);
    leave_socket(&project.path().join("dead"));
    symlink(project.path().join("dead"), with_link.join("link")).unwrap();
    let open = shared.socket_dir("recto-acp-open", 0o777);
    leave_socket(&open.join("link"));
    shared.clean_up();
    assert_eq!(read(&project.path().join("link")), "precious\n");
    assert_eq!(read(&with_file.join("link")), "precious\n");
    for kept in ["recto-acp-planted", "recto-acp-link/link", "recto-acp-open/link"] {
        assert!(shared.path(kept).symlink_metadata().is_ok(), "{kept} was removed");
    }
}

#[test]
fn a_socket_with_a_full_backlog_does_not_delay_a_relay() {
    let shared = Shared::new();
    let dir = shared.socket_dir("recto-acp-full", 0o700);
    let (_listener, _waiting) = full_socket(&dir.join("link"));
    shared.clean_up();
    assert!(dir.join("link").exists());
}

/// Returns a socket that accepts nothing, and the one connection that fills its backlog.
fn full_socket(path: &Path) -> (OwnedFd, UnixStream) {
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(path).unwrap()).unwrap();
    listen(&listener, 0).unwrap();
    let waiting = UnixStream::connect(path).unwrap();
    (listener, waiting)
}

#[test]
fn a_directory_of_the_relays_own_is_removed_at_its_end() {
    let shared = Shared::new();
    create_dir(shared.path("unrelated")).unwrap();
    shared.clean_up();
    let names: Vec<_> =
        shared.0.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["unrelated"]);
}
