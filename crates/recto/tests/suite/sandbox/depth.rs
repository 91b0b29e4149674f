//! Paths with thousands of levels, in a server that may open few files.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::Command;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, open, openat};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::server::Server;

const N_LEVELS: usize = 2500;

/// Creates directories `d` inside each other, which no single path can name for the kernel.
fn nested(server: &Server) -> OwnedFd {
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut dir = open(server.path(""), flags, Mode::empty()).unwrap();
    for _ in 0..N_LEVELS {
        mkdirat(&dir, "d", Mode::RWXU).unwrap();
        dir = openat(&dir, "d", flags, Mode::empty()).unwrap();
    }
    dir
}

fn ok(answer: &Value) {
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn a_path_of_2500_levels_works_with_1024_handles() {
    // Syncing thousands of directories takes long and shows nothing more.
    let mut server = Server::ready(&["--durability", "rename"]);
    let limit = Some(1024);
    let limits = Rlimit { current: limit, maximum: limit };
    prlimit(Pid::from_raw(server.id() as i32), Resource::Nofile, limits).unwrap();
    let dir = nested(&server);
    let file = openat(&dir, "f.txt", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU).unwrap();
    File::from(file).write_all(b"deep\n").unwrap();

    let below = "/d".repeat(N_LEVELS);
    let path = format!("{}{below}/f.txt", server.path("").to_str().unwrap().trim_end_matches('/'));
    let answer = server.call("read_text_file", json!({"path": path}));
    assert_eq!(answer["result"]["structuredContent"]["content"], "deep\n", "{answer}");
    let edit = json!({"path": path, "old_string": "deep", "new_string": "deeper"});
    ok(&server.call("edit_text_file", edit));
    // `..` returns to directories that are no longer open.
    let up = format!("{}{below}{}/inside.txt", server.spelled(""), "/..".repeat(N_LEVELS));
    let answer = server.call("read_text_file", json!({"path": up.replace("//", "/")}));
    assert_eq!(answer["result"]["structuredContent"]["content"], "inside\n", "{answer}");
    // As many directories are created by one call, and removed if it fails.
    let new = format!("{}/new{}/f.txt", server.path("").display(), "/d".repeat(N_LEVELS));
    ok(&server.call("file_create", json!({"path": new, "content": "new\n"})));
    let long = format!("{}/gone{}/{}", server.path("").display(), below, "x".repeat(300));
    let answer = server.call("file_create", json!({"path": long, "content": "new\n"}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(rustix::fs::statat(CWD, server.path("gone"), rustix::fs::AtFlags::empty()).is_err());
    server.check_serves();
    for name in ["d", "new"] {
        // The standard library opens every level at the same time.
        assert!(Command::new("rm").arg("-rf").arg(server.path(name)).status().unwrap().success());
    }
}
