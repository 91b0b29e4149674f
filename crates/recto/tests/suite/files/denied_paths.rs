//! Paths that `--deny` or the client's sandbox closes: they are not listed, searched or read, and are
//! indistinguishable from paths that do not exist.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Map, Value, json};

use crate::client::{Actual, serve_unprivileged};
use crate::test_dir::{INSIDE, Session, TestDir, rows, said};

const DENY: &[&str] = &[
    "--deny",
    "*.pem",
    "--deny",
    ".env",
    "--deny",
    "/anchored",
    "--deny",
    "sub/*.key",
    "--deny",
    "hidden",
    "--deny",
    "**/deep/*.log",
    "--deny",
    "{one,two}.cfg",
];

const DENIED: &[&str] = &[
    "a.pem",
    "sub/deep/b.pem",
    ".env",
    "sub/.env",
    "anchored/inside.txt",
    "sub/a.key",
    "sub/hidden/x/inside.txt",
    "x/y/deep/a.log",
    "one.cfg",
];

const OPEN: &[&str] = &[
    "A.PEM",
    "a.key",
    "hidden-not/inside.txt",
    "inside.txt",
    "sub/anchored/inside.txt",
    "sub/deep/a.key",
    "three.cfg",
    "x/y/deep/inside.txt",
];

/// The same directory with and without the denied files.
fn variants() -> [TestDir; 2] {
    [true, false].map(|has_denied| {
        let dir = TestDir::new();
        for below in OPEN {
            dir.file(&format!("root/{below}"), INSIDE);
        }
        for below in DENIED.iter().filter(|_| has_denied) {
            dir.file(&format!("root/{below}"), "inside,denied\n1,2\n");
        }
        dir.link("root/to-pem", "a.pem")
            .link("root/to-anchored", "anchored")
            .link("root/sub/to-anchored", "../anchored/inside.txt")
            .link("root/to-sub", "sub")
            .link("root/by-hidden", "sub/hidden/../deep/a.key")
            .link("root/link.pem", "inside.txt");
        dir
    })
}

/// Patterns and paths that would reach hidden files.
const ATTEMPTS: &[&str] = &[
    "**",
    "*",
    ".*",
    "**/.*",
    "*.pem",
    "a.pem",
    "no-such.pem",
    "{a,b}.pem",
    "[a].pem",
    "a.pe?",
    "**/*.pem",
    "sub/**",
    "sub/deep/*",
    "sub/deep/b.pem",
    "sub/.env",
    "sub/.e*",
    "anchored/*",
    "anchored/**",
    "anchored",
    "anchored/inside.txt",
    "anchored/missing.txt",
    "[a]nchored/*",
    "sub/*.key",
    "sub/a.key",
    "sub/a.ke[y]",
    "*/a.key",
    "sub/hidden/**",
    "sub/hidden/x/*",
    "sub/hid*/x/*",
    "sub/hidden/../**",
    "x/**/*.log",
    "x/y/deep/*",
    "{one,two,three}.cfg",
    "one.cfg",
    "to-pem",
    "to-p*",
    "to-anchored/*",
    "to-anchored/inside.txt",
    "to-anchored/**",
    "sub/to-anchored",
    "to-sub/*.key",
    "to-sub/.e*",
    "to-sub/hidden/**",
    "by-hidden",
    "by-*",
    "link.pem",
    "link.*",
    "./a.p*",
    "sub/../a.p*",
    "sub/deep/../*.key",
];

#[test]
fn denied_paths_are_indistinguishable_from_missing_paths() {
    let dirs = variants();
    let sessions = dirs.each_ref().map(|dir| dir.serve(DENY));
    for path in ATTEMPTS {
        for (tool, arguments) in [
            ("ListFiles", json!({"pattern": path})),
            ("ListFiles", json!({"pattern": path, "ignored": true})),
            ("ReadLines", json!({"file_path": path, "match": "inside"})),
            ("ReadLines", json!({"file_path": path})),
            ("ReadAsTable", json!({"file_path": path})),
        ] {
            let told = [0, 1].map(|index| {
                let told = said(&sessions[index].call(tool, arguments.clone()));
                told.replace(dirs[index].base(), "")
            });
            assert_eq!(told[0], told[1], "{tool} {arguments}");
            assert!(!told[0].contains("denied\n"), "{tool} {arguments} revealed {}", told[0]);
        }
    }
}

#[test]
fn denied_paths_are_omitted_and_other_paths_are_listed() {
    let [dir, _] = variants();
    let session = dir.serve(DENY);
    let open: Vec<String> =
        OPEN.iter().map(|below| dir.spelled(&format!("root/{below}"))).collect();
    assert_eq!(session.list("**"), open);
    let answer = session.answer("ReadLines", json!({"file_path": "**", "match": "inside"}));
    let found: Vec<String> = rows(&answer).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(found, open);
    assert_eq!(answer["files"], open.len());
    for below in DENIED.iter().chain(&["to-pem", "to-anchored/inside.txt", "link.pem"]) {
        for tool in ["ReadLines", "ReadAsTable"] {
            assert_eq!(session.code(tool, json!({"file_path": below})), -32002, "{tool} {below}");
        }
    }
}

/// Returns a profile as Codex sends it: everything is readable except these paths.
fn closing(dir: &TestDir, places: &[Value]) -> Map<String, Value> {
    let mut entries = vec![
        json!({"path": {"type": "special", "value": {"kind": "root"}}, "access": "read"}),
        json!({
            "path": {"type": "special", "value": {"kind": "project_roots"}},
            "access": "write",
        }),
    ];
    entries.extend(places.iter().map(|place| json!({"path": place, "access": "none"})));
    let profile = json!({
        "type": "managed",
        "file_system": {"type": "restricted", "entries": entries},
        "network": "restricted",
    });
    let state = json!({
        "permissionProfile": profile,
        "sandboxCwd": format!("file://{}", dir.spelled("root")),
    });
    Map::from_iter([("codex/sandbox-state-meta".to_string(), state)])
}

/// The same directory with and without the files that the profile closes.
fn closed_variants() -> [TestDir; 2] {
    [true, false].map(|has_closed| {
        let dir = TestDir::new();
        dir.file("root/inside.txt", INSIDE)
            .file("root/sub/inside.txt", INSIDE)
            .folder("root/sub/shut")
            .link("alias", "root/sub/shut")
            .link("root/to-closed", "closed")
            .link("root/to-file", "closed/a.txt")
            .link("root/sub/to-shut", "{base}/root/sub/shut/deep/b.txt")
            .link("root/to-key", "sub/my.key");
        if has_closed {
            for below in ["closed/a.txt", "closed/.a", "sub/shut/deep/b.txt", "sub/my.key"] {
                dir.file(&format!("root/{below}"), "inside,closed\n1,2\n");
            }
            dir.link("root/closed/link", "../inside.txt").folder("root/closed/folder");
            dir.file("root/closed/.gitignore", "a.txt\n");
        }
        dir
    })
}

fn profile_of(dir: &TestDir) -> Map<String, Value> {
    closing(
        dir,
        &[
            json!({"type": "path", "path": dir.spelled("root/closed")}),
            // Through a link to it.
            json!({"type": "path", "path": dir.spelled("alias")}),
            json!({"type": "glob_pattern", "pattern": "**/*.key"}),
        ],
    )
}

const CLOSED_ATTEMPTS: &[&str] = &[
    "**",
    "*",
    "closed",
    "closed/*",
    "closed/**",
    "closed/.*",
    "closed/a.txt",
    "closed/missing.txt",
    "clos[e]d/*",
    "{closed,sub}/*",
    "to-closed/*",
    "to-closed/a.txt",
    "to-file",
    "to-f*",
    "sub/**",
    "sub/shut/deep/*",
    "sub/shut/deep/b.txt",
    "sub/shut/**/b.*",
    "sub/to-shut",
    "sub/to-*",
    "sub/*.key",
    "sub/my.key",
    "sub/other.key",
    "to-key",
    "**/*.key",
    "sub/../closed/*",
];

fn check_closed(dirs: &[TestDir; 2], sessions: &[Session; 2], attempts: &[&str]) {
    for path in attempts {
        for (tool, arguments) in [
            ("ListFiles", json!({"pattern": path})),
            ("ListFiles", json!({"pattern": path, "ignored": true})),
            ("ReadLines", json!({"file_path": path, "match": "inside"})),
            ("ReadLines", json!({"file_path": path})),
            ("ReadAsTable", json!({"file_path": path})),
        ] {
            let told = [0, 1].map(|index| {
                let meta = Some(profile_of(&dirs[index]));
                let told = said(&sessions[index].call_with_meta(tool, arguments.clone(), meta));
                told.replace(dirs[index].base(), "")
            });
            assert_eq!(told[0], told[1], "{tool} {arguments}");
            assert!(!told[0].contains("inside,closed"), "{tool} {arguments} revealed {}", told[0]);
        }
    }
}

#[test]
fn paths_closed_by_the_clients_sandbox_are_indistinguishable_from_missing_paths() {
    let dirs = closed_variants();
    let sessions = dirs.each_ref().map(|dir| dir.serve(&[]));
    check_closed(&dirs, &sessions, CLOSED_ATTEMPTS);
    // Without a profile all files are listed.
    let answer = sessions[0].answer("ReadLines", json!({"file_path": "**", "match": "closed"}));
    assert!(rows(&answer).len() >= 4, "{answer}");
    let refused = |path: &str| {
        let meta = Some(profile_of(&dirs[0]));
        let told = sessions[0].call_with_meta("ReadLines", json!({"file_path": path}), meta);
        matches!(told, Actual::Error { code: -32002, .. })
    };
    for path in ["closed/a.txt", "closed/missing.txt", "to-file", "sub/my.key"] {
        assert!(refused(path), "{path}");
    }
    assert!(!refused("inside.txt"));
}

/// Their targets are readable, but their existence must not be revealed.
#[test]
fn links_in_a_closed_directory_reveal_nothing() {
    let dirs = closed_variants();
    let sessions = dirs.each_ref().map(|dir| dir.serve(&[]));
    let ways = ["closed/link", "closed/folder/../../inside.txt", "closed/folder/../../*.txt"];
    check_closed(&dirs, &sessions, &ways);
}

/// Unreadable directories are counted, except in closed ones.
#[test]
fn closed_directories_that_cannot_be_read_are_not_counted() {
    let dirs = closed_variants();
    std::fs::create_dir_all(dirs[0].path("root/closed/locked")).unwrap();
    let set_mode = |below: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dirs[0].path(below), mode).unwrap();
    };
    let sessions = dirs.each_ref().map(|dir| {
        std::fs::set_permissions(dir.path(""), PermissionsExt::from_mode(0o755)).unwrap();
        Session::start_command(serve_unprivileged(&dir.path("root")))
    });
    set_mode("root/closed/locked", 0o000);
    check_closed(&dirs, &sessions, CLOSED_ATTEMPTS);
    set_mode("root/closed/locked", 0o755);
}
