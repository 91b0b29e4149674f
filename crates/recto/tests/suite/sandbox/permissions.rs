//! Files and directories that the system does not permit the server to use.

use std::os::unix::fs::PermissionsExt;

use recto_store::Context;
use recto_store::context::{Access, RulePath, Sandbox, SandboxRule};
use recto_tools::Call;
use rustix::process::geteuid;
use serde_json::json;

use crate::client::{Actual, Client, NOBODY, Revision, run, serve_unprivileged};
use crate::in_process;
use crate::sandbox_fixture::Expected::*;
use crate::sandbox_fixture::{Row, SandboxFixture, missing, opens, rows};

fn set_mode(fixture: &SandboxFixture, below: &str, mode: u32) {
    std::fs::set_permissions(fixture.path(below), PermissionsExt::from_mode(mode)).unwrap();
}

/// Changes the owner of everything to the user that runs the server.
fn give_away(fixture: &SandboxFixture, below: &str) {
    if geteuid().is_root() {
        let path = fixture.path(below);
        std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        if path.is_dir() && !path.is_symlink() {
            for entry in std::fs::read_dir(&path).unwrap() {
                let name = entry.unwrap().file_name();
                give_away(fixture, &format!("{below}/{}", name.to_str().unwrap()));
            }
        }
    }
}

/// Checks a table of paths below `root`, some of which have other modes.
fn check(fixture: &SandboxFixture, modes: &[(&str, u32)], table: &[Row]) {
    set_mode(fixture, "", 0o755);
    give_away(fixture, "root");
    for (path, mode) in modes {
        set_mode(fixture, path, *mode);
    }
    let command = serve_unprivileged(&fixture.path("root"));
    run(async {
        let client = Client::start_command(command, Revision::Handshake).await;
        fixture.check_with(client, &[fixture.spelled("root")], table).await;
    });
    // So that their owner can remove them.
    for (path, _) in modes {
        set_mode(fixture, path, 0o755);
    }
}

#[test]
fn files_without_permission_are_rejected_and_unchanged() {
    let fixture = SandboxFixture::new();
    for path in [
        "closed.txt",
        "write-only.txt",
        "read-only.txt",
        "read-only/inside.txt",
        "no-entry/inside.txt",
        "no-entry/deep/inside.txt",
        "no-list/inside.txt",
    ] {
        fixture.file(&format!("root/{path}"));
    }
    fixture
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
        ("root/read-only/inside.txt", ReadableInReadOnlyDir),
        ("root/to-read-only", ReadableInReadOnlyDir),
        // The directory is not searchable, so existing and missing files look the same.
        ("root/no-entry/inside.txt", Closed),
        ("root/no-entry/missing.txt", Closed),
        ("root/no-entry/deep/inside.txt", Closed),
        ("root/no-entry/no/missing.txt", Closed),
        ("root/to-no-entry", Closed),
        ("root/no-list/inside.txt", Readable),
        // Other files are not affected.
        ("root/inside.txt", opens("root/inside.txt")),
        ("root/new.txt", missing("root/new.txt")),
    ]);
    check(&fixture, &modes, &table);
}

/// Existence is checked before permission.
#[test]
fn a_missing_file_in_a_read_only_directory_cannot_be_created() {
    let fixture = SandboxFixture::new();
    fixture.file("root/read-only/inside.txt");
    let table = rows([("root/read-only/new.txt", CannotCreate)]);
    check(&fixture, &[("root/read-only", 0o555)], &table);
}

#[test]
fn a_dry_run_reports_that_a_file_cannot_be_created() {
    let fixture = SandboxFixture::new();
    fixture.file("root/read-only/inside.txt");
    set_mode(&fixture, "", 0o755);
    give_away(&fixture, "root");
    set_mode(&fixture, "root/read-only", 0o555);
    let command = serve_unprivileged(&fixture.path("root"));
    run(async {
        let client = Client::start_command(command, Revision::Handshake).await;
        for (path, is_refused) in [("root/read-only/new.txt", true), ("root/new.txt", false)] {
            let path = fixture.spelled(path);
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
    set_mode(&fixture, "root/read-only", 0o755);
}

#[test]
fn a_dry_run_needs_only_permission_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let calls = in_process::calls(&root, &[], in_process::local_store(&root, &[]));
    let path = root.join("f.txt");
    std::fs::write(&path, "old\n").unwrap();
    let edit = json!({"old_string": "old", "new_string": "new"});
    for (tool, arguments) in [
        ("edit_text_file", edit.clone()),
        ("multi_edit_text_file", json!({"edits": [edit]})),
        ("write_text_file", json!({"content": "new\n"})),
    ] {
        for (access, is_dry_run, is_answered) in [
            (Access::Write, true, true),
            (Access::Read, true, true),
            (Access::Read, false, false),
            (Access::None, true, false),
        ] {
            let mut arguments = arguments.as_object().unwrap().clone();
            arguments.insert("path".into(), path.to_str().unwrap().into());
            arguments.insert("dry_run".into(), is_dry_run.into());
            let rule = SandboxRule { path: RulePath::Subtree(root.clone()), access };
            let sandbox = Sandbox::Limited(vec![rule]);
            let context = Context { sandbox, ..Context::default() };
            let tool = calls.served().find(tool).unwrap();
            let answer = calls.call(tool, arguments, &Call { id: None, context });
            match answer {
                Ok(answer) if is_answered => {
                    assert!(answer.head.contains("hash of the proposed text "), "{}", answer.head);
                }
                Err(error) if !is_answered => assert_eq!(error.code(), -32002, "{error}"),
                answer => panic!("{} {access:?} {is_dry_run}: {answer:?}", tool.name),
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\n");
        }
    }
}
