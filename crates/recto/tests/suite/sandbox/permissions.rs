//! What the system refuses, asked as somebody whom it can refuse: root may do everything, so a
//! test that runs as root starts the server as nobody.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::process::geteuid;
use serde_json::json;
use tokio::process::Command;

use super::playground::Expected::*;
use super::playground::{Playground, Row, missing, opens, rows};
use crate::client::{Actual, BINARY, Client, Revision, run};

const NOBODY: u32 = 65534;

fn set_mode(playground: &Playground, below: &str, mode: u32) {
    std::fs::set_permissions(playground.path(below), PermissionsExt::from_mode(mode)).unwrap();
}

/// Gives everything to whom the server will run as.
fn give_away(playground: &Playground, below: &str) {
    if geteuid().is_root() {
        let path = playground.path(below);
        std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        if path.is_dir() && !path.is_symlink() {
            for entry in std::fs::read_dir(&path).unwrap() {
                let name = entry.unwrap().file_name();
                give_away(playground, &format!("{below}/{}", name.to_str().unwrap()));
            }
        }
    }
}

/// Another name for the program is a change to it, which the other tests would see.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A server that the system can refuse something.
fn command(playground: &Playground) -> Command {
    if !geteuid().is_root() {
        return Command::new(BINARY);
    }
    // The build may lie in a folder that nobody else can enter.
    let binary: PathBuf = playground.path("recto");
    if std::fs::hard_link(BINARY, &binary).is_err() {
        std::fs::copy(BINARY, &binary).unwrap();
    }
    let mut command = Command::new(binary);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    command
}

/// Checks a table of paths below `root`, some of which have got other modes.
fn check(playground: &Playground, modes: &[(&str, u32)], table: &[Row]) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    set_mode(playground, "", 0o755);
    give_away(playground, "root");
    for (path, mode) in modes {
        set_mode(playground, path, *mode);
    }
    if geteuid().is_root() && playground.path("root/foreign.txt").exists() {
        chown(playground.path("root/foreign.txt"), Some(0), Some(0)).unwrap();
    }
    let mut command = command(playground);
    command.arg("serve").arg(playground.path("root"));
    run(async {
        let client = Client::start_command(command, Revision::Handshake).await;
        playground.check_with(client, &[playground.spelled("root")], table).await;
    });
    // So that they can be removed by whoever made them.
    for (path, _) in modes {
        set_mode(playground, path, 0o755);
    }
}

#[test]
fn what_the_system_refuses_is_refused_and_unchanged() {
    let playground = Playground::new();
    for path in [
        "closed.txt",
        "write-only.txt",
        "read-only.txt",
        "read-only/inside.txt",
        "no-entry/inside.txt",
        "no-entry/deep/inside.txt",
        "no-list/inside.txt",
    ] {
        playground.file(&format!("root/{path}"));
    }
    playground
        .link("root/to-closed", "closed.txt")
        .link("root/to-read-only", "read-only/inside.txt")
        .link("root/to-no-entry", "no-entry/inside.txt");
    let modes = [
        ("root/closed.txt", 0o000),
        ("root/write-only.txt", 0o222),
        ("root/read-only.txt", 0o444),
        ("root/read-only", 0o555),
        ("root/no-entry", 0o644),
        ("root/no-list", 0o111),
    ];
    let table = rows([
        ("root/closed.txt", Closed),
        ("root/to-closed", Closed),
        ("root/write-only.txt", Closed),
        ("root/read-only.txt", Readable),
        ("root/read-only/inside.txt", ReadableInClosedFolder),
        ("root/to-read-only", ReadableInClosedFolder),
        // Nothing in it can be looked at, so nothing can be told apart.
        ("root/no-entry/inside.txt", Closed),
        ("root/no-entry/missing.txt", Closed),
        ("root/no-entry/deep/inside.txt", Closed),
        ("root/no-entry/no/missing.txt", Closed),
        ("root/to-no-entry", Closed),
        ("root/no-list/inside.txt", Readable),
        // All is well beside them.
        ("root/inside.txt", opens("root/inside.txt")),
        ("root/new.txt", missing("root/new.txt")),
    ]);
    check(&playground, &modes, &table);
}

/// Existence comes before permission: what is not there cannot be edited by anybody.
#[test]
fn a_missing_file_in_a_read_only_folder_is_missing_and_cannot_be_created() {
    let playground = Playground::new();
    playground.file("root/read-only/inside.txt");
    let table = rows([("root/read-only/new.txt", CannotCreate)]);
    check(&playground, &[("root/read-only", 0o555)], &table);
}

#[test]
fn a_dry_run_says_where_no_file_can_be_created() {
    let playground = Playground::new();
    playground.file("root/read-only/inside.txt");
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    set_mode(&playground, "", 0o755);
    give_away(&playground, "root");
    set_mode(&playground, "root/read-only", 0o555);
    let mut command = command(&playground);
    command.arg("serve").arg(playground.path("root"));
    run(async {
        let client = Client::start_command(command, Revision::Handshake).await;
        for (path, is_refused) in [("root/read-only/new.txt", true), ("root/new.txt", false)] {
            let path = playground.spelled(path);
            let call = json!({"path": path, "content": "x", "dry_run": true});
            let answer = client.call("write_text_file", call.as_object().unwrap().clone()).await;
            assert_eq!(
                matches!(answer, Actual::Error { code: -32002, .. }),
                is_refused,
                "{answer:?}"
            );
        }
        client.stop().await;
    });
    set_mode(&playground, "root/read-only", 0o755);
}

#[test]
fn a_file_of_another_owner_is_not_replaced() {
    if !geteuid().is_root() {
        println!("skipped: only root can make a file of another owner");
        return;
    }
    let playground = Playground::new();
    playground.file("root/foreign.txt");
    let table = rows([("root/foreign.txt", ReadableForeign)]);
    check(&playground, &[("root/foreign.txt", 0o666)], &table);
}
