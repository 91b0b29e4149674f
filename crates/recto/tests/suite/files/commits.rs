//! Commits do not escape a root: neither a path nor a planted repository reveals files outside.

use serde_json::{Value, json};

use super::outside_variants::OutsideVariants;
use super::trees::git;
use crate::test_dir::{INSIDE, OUTSIDE, Session, TestDir, rows, said};

/// Calls of every tool at a commit.
fn calls(path: &str, commit: &str) -> [(&'static str, Value); 4] {
    [
        ("ListFiles", json!({"pattern": path, "commit": commit})),
        ("ReadLines", json!({"file_path": path, "commit": commit})),
        ("ReadLines", json!({"file_path": path, "commit": commit, "match": "s"})),
        ("ReadAsTable", json!({"file_path": path, "commit": commit})),
    ]
}

fn commit_all(dir: &TestDir, below: &str) {
    let folder = dir.path(below);
    git(&folder, &["init", "-q", "-b", "main"]);
    git(&folder, &["add", "-A", "-f"]);
    git(&folder, &["commit", "-q", "-m", "all"]);
}

const WAYS: &[&str] = &[
    "outside",
    "outside/secret.txt",
    "outside/*",
    "root/../outside/secret.txt",
    "root/../outside/*",
    "root/../*",
    "root/sub/../../outside/*",
    "root/no/../../outside/secret.txt",
    "root/folder-abs/secret.txt",
    "root/folder-abs/*",
    "root/folder-rel/**",
    "root/up/outside/*",
    "root/file-abs-secret.txt",
    "root/file-rel-secret.txt",
    "root/chain-1-secret.txt",
    "root/back",
    "root/back-folder/*",
    "root/top/etc/passwd",
    "root/door-3/etc/passwd",
    "root/{..,sub}/outside/*",
    "root/[.][.]/outside/*",
    "root/*/../../outside/*",
    "root-sibling/*",
    "/etc/passwd",
    "/etc/*",
    "/proc/self/root/etc/passwd",
    "/**",
    "../outside/secret.txt",
    "../outside/*",
    "../**",
    "..",
    "sub/../../outside/*",
    "folder-abs/secret.txt",
    "folder-abs/*",
    "file-abs-secret.txt",
    "%",
    "%secret%",
    "../%",
    "**",
    "*",
    ".git/../../outside/*",
    ".git/config",
    "a\0b",
];

const COMMITS: &[&str] = &["HEAD", "main", "HEAD:outside", "HEAD^{tree}", "../outside", "no-such"];

/// Makes every call in every variant, and checks that nothing is revealed about the outside.
fn check(variants: &[(TestDir, Session)]) {
    for way in WAYS {
        for commit in COMMITS {
            let all = |dir: &TestDir| {
                let is_below = way.starts_with("root") || way.starts_with("outside");
                let path = if is_below { dir.spelled(way) } else { way.to_string() };
                calls(&path, commit)
            };
            for index in 0..4 {
                let told = variants.iter().map(|(dir, session)| {
                    let (tool, arguments) = all(dir)[index].clone();
                    let told = said(&session.call(tool, arguments));
                    assert!(!told.contains("hush"), "{tool} {way} at {commit} revealed {told}");
                    without_versions(&told.replace(dir.base(), "{base}"))
                });
                let told: Vec<String> = told.collect();
                let is_same = told.iter().all(|other| *other == told[0]);
                assert!(is_same, "call {index} for {way} at {commit}: {told:#?}");
            }
        }
    }
}

/// Links with absolute targets are committed, so every variant has its own hashes.
fn without_versions(told: &str) -> String {
    let is_version = |word: &&str| {
        word.len() >= 7 && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let words = told.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| !is_version(&word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())))
        .collect()
}

#[test]
fn a_commit_does_not_escape_the_roots() {
    let variants = OutsideVariants::with(|dir| commit_all(dir, "root"));
    let (_, session) = &variants.0[0];
    let listed = session.answer("ListFiles", json!({"pattern": "**/inside.*", "commit": "HEAD"}));
    assert_eq!(listed["files"], json!(["inside.txt", "sub/inside.txt"]), "{listed}");
    // A repository outside, in variants that have files there.
    commit_all(&variants.0[0].0, "outside");
    check(&variants.0);
}

/// The same root, with and without a repository around it.
#[test]
fn a_repository_around_the_root_is_not_found() {
    let variants = [true, false].map(|has_repository| {
        let dir = TestDir::new();
        dir.file("root/inside.txt", INSIDE).file("root/sub/inside.txt", INSIDE);
        dir.link("root/folder-abs", "{base}/outside").link("root/up", "..");
        if has_repository {
            dir.file("outside/secret.txt", OUTSIDE).file("outside/hush.txt", OUTSIDE);
            commit_all(&dir, "");
        }
        let session = dir.serve(&[]);
        (dir, session)
    });
    check(&variants);
}

/// A planted repository inside the root that claims to have its files elsewhere.
#[test]
fn a_planted_repository_does_not_escape_the_roots() {
    type Plant = fn(&TestDir);
    let plants: [(&str, Plant); 6] = [
        ("a file that names a folder outside", |dir| {
            dir.file("root/.git", format!("gitdir: {}\n", dir.spelled("outside/.git")));
        }),
        ("a relative one", |dir| {
            dir.file("root/.git", "gitdir: ../outside/.git\n");
        }),
        ("a link", |dir| {
            dir.link("root/.git", "../outside/.git");
        }),
        ("objects behind a link", |dir| {
            dir.file("root/.git/HEAD", "ref: refs/heads/main\n")
                .link("root/.git/objects", "../../outside/.git/objects")
                .link("root/.git/refs", "../../outside/.git/refs");
        }),
        ("objects that are alternates", |dir| {
            let objects = dir.spelled("outside/.git/objects");
            dir.file("root/.git/HEAD", "ref: refs/heads/main\n")
                .file("root/.git/objects/info/alternates", format!("{objects}\n"))
                .link("root/.git/refs", "../../outside/.git/refs");
        }),
        ("a common folder", |dir| {
            dir.file("root/.git/HEAD", "ref: refs/heads/main\n")
                .file("root/.git/commondir", format!("{}\n", dir.spelled("outside/.git")))
                .folder("root/.git/objects")
                .folder("root/.git/refs");
        }),
    ];
    for (name, plant) in plants {
        let variants = [true, false].map(|is_full| {
            let dir = TestDir::new();
            dir.file("root/inside.txt", INSIDE);
            if is_full {
                dir.file("outside/secret.txt", OUTSIDE).file("outside/hush.txt", OUTSIDE);
                commit_all(&dir, "outside");
            }
            plant(&dir);
            let session = dir.serve(&[]);
            (dir, session)
        });
        for path in ["**", "secret.txt", "%", "inside.txt"] {
            for commit in ["HEAD", "main", "refs/heads/main"] {
                for index in 0..4 {
                    let told = variants.each_ref().map(|(dir, session)| {
                        let (tool, arguments) = calls(path, commit)[index].clone();
                        let told = said(&session.call(tool, arguments));
                        told.replace(dir.base(), "{base}")
                    });
                    assert!(!told[0].contains("hush"), "{name}: {path} revealed {}", told[0]);
                    assert_eq!(told[0], told[1], "{name}: call {index}, {path} at {commit}");
                }
            }
        }
    }
}

/// The root is a repository and contains others.
#[test]
fn paths_in_answers_are_valid_arguments() {
    let dir = TestDir::new();
    dir.file("root/outer/inner/a.txt", "inner\n");
    commit_all(&dir, "root/outer/inner");
    dir.file("root/outer/a.txt", "outer\n").link("root/outer/link", "a.txt");
    commit_all(&dir, "root/outer");
    let inner = dir.spelled("root/outer/inner/a.txt");
    for (root, pattern, found, text) in [
        ("root/outer", "a.*", "a.txt".to_string(), "outer"),
        ("root/outer", "outer/a.*", "a.txt".into(), "outer"),
        ("root/outer", "outer/inner/*", inner.clone(), "inner"),
        ("root", "outer/inner/*", inner, "inner"),
        ("root", "outer/a.*", dir.spelled("root/outer/a.txt"), "outer"),
    ] {
        let session = Session::start(&dir.path(root), &[]);
        let pattern = match pattern.contains('/') {
            true => dir.spelled(&format!("root/{pattern}")),
            false => pattern.into(),
        };
        let listed = session.answer("ListFiles", json!({"pattern": pattern, "commit": "HEAD"}));
        assert_eq!(listed["files"], json!([found]), "{root} {pattern}");
        let searched = session.answer("ReadLines", json!({"file_path": pattern, "commit": "HEAD"}));
        assert_eq!(rows(&searched), [(found.clone(), 1, text.to_string())], "{root} {pattern}");
        let read = session.answer("ReadLines", json!({"file_path": found, "commit": "HEAD"}));
        assert_eq!(rows(&read), [(String::new(), 1, text.to_string())], "{root} {pattern}");
    }
    let session = Session::start(&dir.path("root/outer"), &[]);
    let told = said(&session.call("ReadLines", json!({"file_path": "link", "commit": "HEAD"})));
    assert!(told.contains("a.txt") && told.contains("symbolic link"), "{told}");
    let told = said(&session.call("ReadLines", json!({"file_path": "a.txt", "commit": "HEAD"})));
    assert!(!told.contains("symbolic link"), "{told}");
}

#[test]
fn a_pattern_below_a_directory_that_is_now_a_link_finds_old_files() {
    let dir = TestDir::new();
    dir.file("root/old/a.txt", "a\n");
    commit_all(&dir, "root");
    std::fs::remove_dir_all(dir.path("root/old")).unwrap();
    dir.link("root/old", "/etc");
    let session = dir.serve(&[]);
    for file_path in ["old/*.txt", "old/**", "**/*.txt"] {
        let answer = session.answer("ReadLines", json!({"file_path": file_path, "commit": "HEAD"}));
        assert_eq!(rows(&answer), [("old/a.txt".to_string(), 1, "a".to_string())], "{file_path}");
    }
}

/// A pattern that resembles a hidden name is still a pattern.
#[test]
fn denied_paths_are_hidden_at_a_commit() {
    let dir = TestDir::new();
    dir.file("root/a.pem", INSIDE).file("root/b.txt", INSIDE);
    commit_all(&dir, "root");
    let session = dir.serve(&["--deny", "*.pem"]);
    for (pattern, n_files) in [("*.pem", 0), ("**/*.pem", 0), ("*.p?m", 0), ("*.{pem,txt}", 1)] {
        for commit in [Value::Null, "HEAD".into()] {
            let arguments = json!({"file_path": pattern, "commit": commit});
            let answer = session.answer("ReadLines", arguments);
            let files: std::collections::HashSet<_> =
                rows(&answer).into_iter().map(|(path, _, _)| path).collect();
            assert_eq!(files.len(), n_files, "{pattern} {commit}: {answer}");
        }
    }
    let denied = json!({"file_path": "a.pem", "commit": "HEAD"});
    assert_eq!(session.code("ReadLines", denied), -32002);
}
