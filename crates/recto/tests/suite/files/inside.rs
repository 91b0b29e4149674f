//! Paths that must work although they look like escapes: links that stay inside, roots in every
//! arrangement, names that look like patterns.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::test_dir::{INSIDE, OUTSIDE, Session, TestDir, rows};

fn with_links() -> TestDir {
    let dir = TestDir::new();
    dir.file("root/inside.txt", INSIDE)
        .file("root/sub/inside.txt", INSIDE)
        .file("root/sub/deep/f.txt", INSIDE)
        .file("root/sub/table.csv", "a,b\n1,2\n")
        .file("outside/hush.txt", OUTSIDE)
        .link("root/abs", "{base}/root/sub/inside.txt")
        .link("root/by-parent", "../root/inside.txt")
        .link("root/chain-1", "chain-2")
        .link("root/chain-2", "{base}/root/folder/chain-3")
        .link("root/sub/chain-3", "deep/../inside.txt")
        .link("root/dangling", "no-such-file")
        .link("root/folder", "sub")
        .link("root/folder-abs", "{base}/root/sub")
        .link("root/here", ".")
        .link("root/loop", "loop")
        .link("root/out", "../outside/hush.txt")
        .link("root/out-folder", "../outside")
        .link("root/rel", "sub/inside.txt")
        .link("root/to-folder", "folder")
        .link("root/to-table", "sub/table.csv");
    dir
}

/// Returns the paths that a pattern lists, relative to the root.
fn listed(session: &Session, dir: &TestDir, pattern: &str) -> Vec<String> {
    let root = format!("{}/", dir.spelled("root"));
    let below = |path: String| path.strip_prefix(&root).unwrap().to_string();
    session.list(pattern).into_iter().map(below).collect()
}

#[test]
fn links_to_files_inside_are_listed_and_links_to_directories_are_not_followed() {
    let dir = with_links();
    let session = dir.serve(&[]);
    for (pattern, expected) in [
        ("*", "abs by-parent chain-1 chain-2 inside.txt rel to-table"),
        (
            "**",
            "abs by-parent chain-1 chain-2 inside.txt rel sub/chain-3 sub/deep/f.txt \
             sub/inside.txt sub/table.csv to-table",
        ),
        ("**/f.txt", "sub/deep/f.txt"),
        ("*/inside.txt", "sub/inside.txt"),
        ("{folder,here,sub}/inside.txt", "sub/inside.txt"),
        ("fold[e]r/*", ""),
        ("out*", ""),
        ("out*/**", ""),
        ("dangling", ""),
        ("rel", "rel"),
        // At the start of a pattern, a link to a directory is followed.
        ("folder/*", "folder/chain-3 folder/inside.txt folder/table.csv"),
        ("folder/inside.txt", "folder/inside.txt"),
        ("folder-abs/deep/*", "folder-abs/deep/f.txt"),
        ("to-folder/**/f.txt", "to-folder/deep/f.txt"),
        ("here/here/here/*.txt", "here/here/here/inside.txt"),
        ("folder/../*.txt", "inside.txt"),
        ("folder/deep/../../*.txt", "inside.txt"),
    ] {
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(listed(&session, &dir, pattern), expected, "{pattern}");
        let absolute = dir.spelled(&format!("root/{pattern}"));
        assert_eq!(listed(&session, &dir, &absolute), expected, "{absolute}");
    }
}

#[test]
fn a_pattern_without_matches_gives_an_empty_list() {
    let dir = with_links();
    let session = dir.serve(&[]);
    for pattern in
        ["loop", "dangling", "no-such-file", "no/such/file", "no/such/*", "[x]/**", "*.q"]
    {
        assert_eq!(session.list(pattern), [] as [&str; 0], "{pattern}");
    }
}

#[test]
fn links_to_files_inside_are_read_and_searched() {
    let dir = with_links();
    let session = dir.serve(&[]);
    for path in ["rel", "abs", "by-parent", "chain-1", "folder/inside.txt", "here/here/rel"] {
        let answer = session.answer("ReadLines", json!({"file_path": path}));
        assert_eq!(rows(&answer), [(String::new(), 1, "inside".to_string())], "{path}");
    }
    for path in ["to-table", "folder/table.csv", "to-folder/../sub/table.csv"] {
        let answer = session.answer("ReadAsTable", json!({"file_path": path}));
        assert_eq!(answer["rows"], json!([[1, 2]]), "{path}: {answer}");
    }
    let answer = session.answer("ReadLines", json!({"file_path": "**", "match": "INSIDE"}));
    let found: Vec<String> = rows(&answer).into_iter().map(|(path, ..)| path).collect();
    let mut expected = session.list("**");
    expected.retain(|path| !path.ends_with("table") && !path.ends_with("table.csv"));
    assert_eq!(found, expected);
    assert_eq!(answer["files"], session.list("**").len());
}

#[test]
fn every_root_is_listed_under_its_own_name() {
    let dir = with_links();
    dir.file("second/inside.txt", INSIDE)
        .link("root/into-second", "../second/inside.txt")
        .link("second/into-root", "../root/inside.txt")
        .link("second/out", "../outside/hush.txt")
        .link("alias", "root");
    let second = dir.spelled("second");
    let session = Session::start(&dir.path("alias"), &["--root", &second]);
    assert_eq!(
        session.list(&format!("{second}/**")),
        ["inside.txt", "into-root"].map(|name| format!("{second}/{name}"))
    );
    for root in ["alias", "root"] {
        let pattern = dir.spelled(&format!("{root}/in*"));
        let expected = ["inside.txt", "into-second"];
        let expected = expected.map(|name| dir.spelled(&format!("{root}/{name}")));
        assert_eq!(session.list(&pattern), expected);
    }
    for pattern in ["../second/*", "{..,x}/second/*"] {
        let code = session.code("ListFiles", json!({"pattern": pattern}));
        assert!([-32002, -32600].contains(&code), "{pattern}: {code}");
    }
    let both = session.code("ListFiles", json!({"pattern": dir.spelled("{root,second}/*")}));
    assert_eq!(both, -32002);
}

#[test]
fn a_path_that_looks_like_a_pattern_names_the_file_if_it_exists() {
    let dir = TestDir::new();
    let names = ["[id].tsx", "a*b.txt", "{x}.txt", "what?.txt", "**", "[a", "{b", r"c\*d.txt"];
    for name in names {
        dir.file(&format!("root/{name}"), format!("this is {name}\n"));
        dir.file(&format!("root/app/{name}/page.tsx"), format!("in {name}\n"));
    }
    for name in ["i.tsx", "axb.txt", "x.txt", "whatx.txt", "app/i/page.tsx"] {
        dir.file(&format!("root/{name}"), "this is another\n");
    }
    let session = dir.serve(&[]);
    for name in names {
        for (path, text) in [
            (name.to_string(), format!("this is {name}")),
            (dir.spelled(&format!("root/{name}")), format!("this is {name}")),
            (format!("app/{name}/page.tsx"), format!("in {name}")),
        ] {
            let answer = session.answer("ReadLines", json!({"file_path": path}));
            assert_eq!(rows(&answer), [(String::new(), 1, text)], "{path}");
            assert_eq!(answer["total_lines"], 1, "{path}");
        }
    }
    // If no file has the name, it is a pattern.
    let answer = session.answer("ReadLines", json!({"file_path": "[ix].t[sx]x"}));
    assert_eq!(rows(&answer).len(), 1, "{answer}");
}

#[test]
fn names_that_are_not_utf8_are_counted_and_not_shown() {
    let dir = TestDir::new();
    dir.file("root/a.txt", INSIDE);
    for name in [&b"\xff.txt"[..], b"b\xc3.txt", b"\xed\xa0\x80.txt"] {
        std::fs::write(dir.path("root").join(OsStr::from_bytes(name)), INSIDE).unwrap();
    }
    let folder = dir.path("root").join(OsStr::from_bytes(b"\xf0folder"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("c.txt"), INSIDE).unwrap();
    std::os::unix::fs::symlink(OsStr::from_bytes(b"\xff.txt"), dir.path("root/link")).unwrap();
    let session = dir.serve(&[]);
    let answer = session.answer("ListFiles", json!({"pattern": "**"}));
    assert_eq!(answer["files"], json!([dir.spelled("root/a.txt"), dir.spelled("root/link")]));
    assert_eq!(answer["total"], 2, "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("name not UTF-8: 4"), "{answer}");
    let answer = session.answer("ReadLines", json!({"file_path": "**", "match": "inside"}));
    assert_eq!(rows(&answer).len(), 2, "{answer}");
    let answer = session.answer("ListFiles", json!({"pattern": "\u{fffd}*"}));
    assert_eq!(answer["files"], json!([]), "{answer}");
}
