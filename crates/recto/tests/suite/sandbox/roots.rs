//! Roots in every arrangement: through a link, side by side, nested.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::client::{Actual, serve_unprivileged};
use crate::sandbox_fixture::Expected::*;
use crate::sandbox_fixture::{SandboxFixture, missing, opens, outside, rows};
use crate::test_dir::{INSIDE, OUTSIDE, Session, TestDir};

#[test]
fn a_root_given_through_a_link_is_reachable_by_both_paths() {
    let fixture = SandboxFixture::new();
    fixture
        .link("alias", "root")
        .link("root/by-alias", "{base}/alias/sub/inside.txt")
        .link("root/by-real", "{base}/root/sub/inside.txt")
        .link("root/out", "{base}/outside/secret.txt");
    let mut table = rows([
        ("alias/inside.txt", opens("root/inside.txt")),
        ("root/inside.txt", opens("root/inside.txt")),
        ("alias/sub/../inside.txt", opens("root/inside.txt")),
        ("alias/by-alias", opens("root/sub/inside.txt")),
        ("alias/by-real", opens("root/sub/inside.txt")),
        ("root/by-alias", opens("root/sub/inside.txt")),
        ("alias/new.txt", missing("root/new.txt")),
        ("alias", Directory),
    ]);
    table.extend(outside(&["alias/out", "alias/../outside/{t}", "alias/../secret.txt"]));
    fixture.check_roots(&["alias"], &[], &table);
}

#[test]
fn links_lead_from_one_root_into_another() {
    let fixture = SandboxFixture::new();
    fixture
        .file("second/inside.txt")
        .file("second/sub/inside.txt")
        .link("root/abs", "{base}/second/inside.txt")
        .link("root/rel", "../second/inside.txt")
        .link("root/sub/rel", "../../second/sub/inside.txt")
        .link("root/folder", "../second/sub")
        .link("root/folder-abs", "{base}/second")
        .link("root/there-and-back", "../second/back/inside.txt")
        .link("root/new", "../second/new.txt")
        .link("second/back", "{base}/root")
        .link("second/rel", "../root/inside.txt")
        .link("second/out", "../outside/secret.txt")
        .link("second/sibling", "../root-sibling/secret.txt");
    let mut table = rows([
        ("root/inside.txt", opens("root/inside.txt")),
        ("second/inside.txt", opens("second/inside.txt")),
        ("root/abs", opens("second/inside.txt")),
        ("root/rel", opens("second/inside.txt")),
        ("root/sub/rel", opens("second/sub/inside.txt")),
        ("root/folder/inside.txt", opens("second/sub/inside.txt")),
        ("root/folder/../inside.txt", opens("second/inside.txt")),
        ("root/folder-abs/sub/inside.txt", opens("second/sub/inside.txt")),
        ("root/there-and-back", opens("root/inside.txt")),
        ("root/new", missing("second/new.txt")),
        ("second/back/inside.txt", opens("root/inside.txt")),
        ("second/rel", opens("root/inside.txt")),
    ]);
    table.extend(outside(&[
        "second/out",
        "second/sibling",
        "root/folder-abs/out",
        "root/folder-abs/../outside/{t}",
        // A `..` in the caller's path does not lead from one root into another.
        "root/../second/inside.txt",
        "second/../outside/{t}",
    ]));
    fixture.check_roots(&["root", "second"], &[], &table);
}

#[test]
fn a_link_into_a_root_that_is_not_served_is_rejected() {
    let fixture = SandboxFixture::new();
    fixture.file("second/inside.txt").link("root/rel", "../second/inside.txt");
    fixture.check(&[], &outside(&["root/rel"]));
}

#[test]
fn a_file_in_a_nested_root_is_reachable_through_both_roots() {
    let fixture = SandboxFixture::new();
    fixture.link("root/sub/up", "../inside.txt").link("root/down", "sub/inside.txt");
    let table = rows([
        ("root/inside.txt", opens("root/inside.txt")),
        ("root/sub/inside.txt", opens("root/sub/inside.txt")),
        ("root/sub/up", opens("root/inside.txt")),
        ("root/down", opens("root/sub/inside.txt")),
        ("root/sub/deep/f.txt", opens("root/sub/deep/f.txt")),
        ("root/../outside/secret.txt", Outside),
        ("root/sub/../../outside/secret.txt", Outside),
    ]);
    fixture.check_roots(&["root", "root/sub"], &[], &table);
    fixture.check_roots(&["root/sub", "root"], &[], &table);
}

/// The path never leaves the outer root.
#[test]
fn dots_out_of_an_inner_root_stay_in_the_outer_one() {
    let fixture = SandboxFixture::new();
    let table = rows([
        ("root/sub/../inside.txt", opens("root/inside.txt")),
        ("root/sub/deep/../../inside.txt", opens("root/inside.txt")),
    ]);
    fixture.check_roots(&["root", "root/sub"], &[], &table);
}

#[test]
fn a_path_denied_in_one_nested_root_is_denied_through_the_other() {
    let fixture = SandboxFixture::new();
    fixture
        .file("root/sub/keys/inside.txt")
        .link("root/to-sub", "sub")
        .link("root/to-sub-abs", "{base}/root/sub");
    let ways = outside(&[
        "root/sub/keys/inside.txt",
        "root/sub/keys/missing.txt",
        "root/to-sub/keys/inside.txt",
        "root/to-sub-abs/keys/inside.txt",
        "root/sub/deep/../keys/inside.txt",
    ]);
    // As the outer root resolves it, and as the inner one does.
    for pattern in ["/sub/keys", "sub/keys", "/keys"] {
        fixture.check_roots(&["root", "root/sub"], &["--deny", pattern], &ways);
    }
}

#[test]
fn dots_do_not_bypass_a_deny_pattern_of_an_inner_root() {
    let fixture = SandboxFixture::new();
    fixture.file("root/sub/keys/inside.txt").file("root/other/f.txt");
    let ways = outside(&["root/sub/keys/inside.txt", "root/other/../sub/keys/inside.txt"]);
    fixture.check_roots(&["root", "root/sub"], &["--deny", "/keys"], &ways);
}

/// Whether a call is rejected because a root was replaced.
fn check_replaced(session: &Session, tool: &str, arguments: Value) {
    match session.call(tool, arguments) {
        Actual::Error { code: -32002, hint, .. } => {
            let hint = hint.unwrap();
            assert!(hint.contains("was moved, removed or replaced"), "{tool}: {hint}");
        }
        other => panic!("{tool}: {other:?}"),
    }
}

/// The directory at the root's path is not the served one, and the served one is elsewhere.
#[test]
fn a_root_that_was_moved_or_replaced_is_not_served() {
    for change in [
        |dir: &TestDir| {
            dir.link("root", "outside");
        },
        |dir: &TestDir| {
            dir.file("root/inside.txt", "another folder\n");
        },
        |_: &TestDir| (),
    ] {
        let dir = TestDir::new();
        dir.file("root/inside.txt", INSIDE).file("outside/inside.txt", OUTSIDE);
        let session = dir.serve(&[]);
        let path = dir.spelled("root/inside.txt");
        std::fs::rename(dir.path("root"), dir.path("moved")).unwrap();
        change(&dir);
        for (tool, arguments) in [
            ("read_text_file", json!({"path": path})),
            ("write_text_file", json!({"path": path, "content": "written\n"})),
            ("file_create", json!({"path": "new.txt", "content": "created\n"})),
            ("ListFiles", json!({"pattern": "**"})),
            ("ReadLines", json!({"file_path": "*", "match": "i"})),
        ] {
            check_replaced(&session, tool, arguments);
        }
        assert_eq!(std::fs::read_to_string(dir.path("moved/inside.txt")).unwrap(), INSIDE);
        assert!(!dir.path("moved/new.txt").exists());
    }
}

#[test]
fn a_moved_root_with_a_link_in_its_place_is_still_served() {
    let dir = TestDir::new();
    dir.file("root/inside.txt", INSIDE);
    let session = dir.serve(&[]);
    let path = dir.spelled("root/inside.txt");
    std::fs::rename(dir.path("root"), dir.path("moved")).unwrap();
    dir.link("root", "moved");
    session.answer("write_text_file", json!({"path": path, "content": "written\n"}));
    assert_eq!(std::fs::read_to_string(dir.path("moved/inside.txt")).unwrap(), "written\n");
}

#[test]
fn links_do_not_lead_into_a_root_that_was_replaced() {
    let dir = TestDir::new();
    dir.file("other/inside.txt", INSIDE);
    dir.link("root/folder", "{base}/other").link("root/file", "../other/inside.txt");
    let session = dir.serve(&["--no-landlock", &dir.spelled("other")]);
    std::fs::rename(dir.path("other"), dir.path("moved")).unwrap();
    dir.file("other/inside.txt", "another folder\n");
    for (tool, arguments) in [
        ("read_text_file", json!({"path": dir.spelled("root/file")})),
        ("text_read", json!({"path": "folder/inside.txt"})),
        ("write_text_file", json!({"path": dir.spelled("root/file"), "content": "written\n"})),
        ("file_create", json!({"path": "folder/new.txt", "content": "created\n"})),
        ("ReadLines", json!({"file_path": "folder/inside.txt"})),
    ] {
        check_replaced(&session, tool, arguments);
    }
    assert_eq!(std::fs::read_to_string(dir.path("moved/inside.txt")).unwrap(), INSIDE);
    assert!(!dir.path("moved/new.txt").exists());
}

#[test]
fn a_root_whose_link_was_retargeted_is_not_served() {
    let dir = TestDir::new();
    dir.file("v1/inside.txt", INSIDE).file("v2/inside.txt", OUTSIDE).link("current", "v1");
    let session = Session::start(&dir.path("current"), &[]);
    dir.link("next", "v2");
    std::fs::rename(dir.path("next"), dir.path("current")).unwrap();
    for path in ["current/inside.txt", "v1/inside.txt"] {
        check_replaced(&session, "read_text_file", json!({"path": dir.spelled(path)}));
    }
    check_replaced(&session, "text_read", json!({"path": "inside.txt"}));
    check_replaced(&session, "ListFiles", json!({"pattern": "**"}));
}

#[test]
fn a_root_spelled_through_another_directory_works_after_that_directory_is_gone() {
    let dir = TestDir::new();
    dir.file("root/inside.txt", INSIDE).folder("bin");
    let session = Session::start(&dir.path("bin/../root"), &[]);
    std::fs::remove_dir(dir.path("bin")).unwrap();
    for path in ["root/inside.txt", "bin/../root/inside.txt"] {
        let read = json!({"path": dir.spelled(path)});
        assert_eq!(session.answer("read_text_file", read)["content"], INSIDE, "{path}");
    }
    assert_eq!(session.list("*"), [dir.spelled("root/inside.txt")]);
}

/// A build recreates its output directory.
#[test]
fn a_nested_root_may_be_recreated() {
    for options in [&[][..], &["--no-landlock"]] {
        let dir = TestDir::new();
        dir.file("root/build/old.txt", INSIDE);
        let mut options = options.to_vec();
        let inner = dir.spelled("root/build");
        options.push(&inner);
        let session = dir.serve(&options);
        std::fs::remove_dir_all(dir.path("root/build")).unwrap();
        dir.file("root/build/new.txt", INSIDE);
        let path = dir.spelled("root/build/new.txt");
        assert_eq!(session.answer("read_text_file", json!({"path": path}))["content"], INSIDE);
        session.answer("file_create", json!({"path": "build/made.txt", "content": "made\n"}));
        let listed = ["made.txt", "new.txt"].map(|name| format!("{inner}/{name}"));
        assert_eq!(session.list("build/*"), listed);
    }
}

#[test]
fn a_root_whose_parent_became_inaccessible_is_still_served() {
    let dir = TestDir::new();
    dir.file("above/root/inside.txt", INSIDE);
    std::fs::set_permissions(dir.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    let session = Session::start_command(serve_unprivileged(&dir.path("above/root")));
    let set_mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(dir.path("above"), permissions).unwrap();
    };
    let path = dir.spelled("above/root/inside.txt");
    set_mode(0);
    let answer = session.call("read_text_file", json!({"path": path}));
    set_mode(0o755);
    assert!(matches!(answer, Actual::Answer { .. }), "{answer:?}");
}

/// A file in a nested root is listed once, and `.` is every root.
#[test]
fn relative_patterns_cover_all_roots() {
    let dir = TestDir::new();
    for name in ["root/a.txt", "root/in/b.txt", "other/c.txt", "other/in/d.txt", "other/.e.txt"] {
        dir.file(name, format!("hit in {name}\n"));
    }
    let (other, inner) = (dir.spelled("other"), dir.spelled("root/in"));
    let session = dir.serve(&["--root", &other, "--root", &inner]);
    for (pattern, expected) in [
        ("**/*.txt", vec!["other/c.txt", "other/in/d.txt", "root/a.txt", "root/in/b.txt"]),
        ("*.txt", vec!["other/c.txt", "root/a.txt", "root/in/b.txt"]),
        ("in/*", vec!["other/in/d.txt", "root/in/b.txt"]),
        ("c*", vec!["other/c.txt"]),
    ] {
        let expected: Vec<String> = expected.into_iter().map(|name| dir.spelled(name)).collect();
        assert_eq!(session.list(pattern), expected, "{pattern}");
        let found = json!({"file_path": pattern, "match": "HIT"});
        let found = session.answer("ReadLines", found);
        let paths = found["rows"].as_array().unwrap().iter().map(|row| row["file_path"].clone());
        assert_eq!(json!(expected), paths.collect::<Value>(), "{pattern}");
    }
    // An absolute pattern names one root.
    assert_eq!(session.list(&format!("{other}/*")), [dir.spelled("other/c.txt")]);
    let first = session.answer("ListFiles", json!({"pattern": "**/*.txt", "limit": 2}));
    assert_eq!((&first["total"], &first["truncated"]), (&json!(4), &json!(true)));
    assert_eq!(first["files"], json!([dir.spelled("other/c.txt"), dir.spelled("other/in/d.txt")]));
    let hits = session.answer("ReadLines", json!({"file_path": "*.txt", "match": "hit"}));
    assert_eq!(hits["note"], "not searched: 1 hidden");
    // A directory is searched in every root that has it, also if the first one has not.
    for (path, expected) in [
        (".", vec!["other/c.txt", "other/in/d.txt", "root/a.txt", "root/in/b.txt"]),
        ("in", vec!["other/in/d.txt", "root/in/b.txt"]),
        ("./in/", vec!["other/in/d.txt", "root/in/b.txt"]),
    ] {
        let found = json!({"file_path": path, "regex": "^hit", "only": "files"});
        let found = session.answer("ReadLines", found);
        let paths = found["matched_files"].as_array().unwrap().iter();
        let paths = paths.map(|file| file["file_path"].clone());
        let expected: Vec<_> = expected.into_iter().map(|name| dir.spelled(name)).collect();
        assert_eq!(json!(expected), paths.collect::<Value>(), "{path}");
    }
    dir.file("other/only/e.txt", "hit\n");
    let found = session.answer("ReadLines", json!({"file_path": "only", "match": "hit"}));
    assert_eq!(found["rows"][0]["file_path"], dir.spelled("other/only/e.txt"));
    assert_eq!(session.code("ReadLines", json!({"file_path": "none", "match": "hit"})), -32001);
    // The levels of an overview start at each root.
    let overview = session.answer("ListFiles", json!({"pattern": ".", "depth": 1}));
    let in_other = |name: &str| json!({"path": dir.spelled(name), "files": 1});
    assert_eq!(overview["dirs"], json!([in_other("other/in"), in_other("other/only")]));
    let files = ["root/in/b.txt", "other/c.txt", "root/a.txt"].map(|name| dir.spelled(name));
    assert_eq!(overview["files"], json!(files));
}
