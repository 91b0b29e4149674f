//! Directories that are hard to walk: full of special files, inaccessible, huge, deep, changing.
//! Answers are correct, report omissions, and arrive in time.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mkdirat, mkfifoat, mknodat, openat};
use serde_json::json;

use crate::client::{Actual, serve_unprivileged};
use crate::test_dir::{INSIDE, Session, TestDir, rows, strings};

const MODE: Mode = Mode::from_raw_mode(0o666);

#[test]
fn special_files_are_skipped() {
    let dir = TestDir::new();
    let mut expected = Vec::new();
    for n in 0..20 {
        dir.file(&format!("root/d/file-{n:02}.txt"), INSIDE);
        expected.push(dir.spelled(&format!("root/d/file-{n:02}.txt")));
    }
    for n in 0..1000 {
        mkfifoat(CWD, dir.path(format!("root/d/pipe-{n}.txt")), MODE).unwrap();
    }
    for n in 0..200 {
        dir.link(&format!("root/d/to-pipe-{n}.txt"), &format!("pipe-{n}.txt"))
            .link(&format!("root/d/broken-{n}.txt"), "no-such-file")
            .link(&format!("root/d/loop-{n}.txt"), &format!("loop-{n}.txt"))
            .link(&format!("root/d/to-folder-{n}.txt"), ".");
    }
    let _sockets: Vec<UnixListener> = (0..20)
        .map(|n| UnixListener::bind(dir.path(format!("root/d/s-{n}.txt"))).unwrap())
        .collect();
    for (name, kind, device) in [
        ("null.txt", FileType::CharacterDevice, makedev(1, 3)),
        ("zero.txt", FileType::CharacterDevice, makedev(1, 5)),
        ("tty.txt", FileType::CharacterDevice, makedev(5, 0)),
        ("loop.txt", FileType::BlockDevice, makedev(7, 0)),
    ] {
        if let Err(errno) = mknodat(CWD, dir.path(format!("root/d/{name}")), kind, MODE, device) {
            println!("without the device {name}: {errno}");
        }
    }
    let session = dir.serve(&[]);
    for pattern in ["**", "d/*", "**/*.txt", "d/*-*.txt"] {
        assert_eq!(session.list(pattern), expected, "{pattern}");
        let answer = session.answer("ReadLines", json!({"file_path": pattern, "match": "in"}));
        let found: Vec<String> = rows(&answer).into_iter().map(|(path, ..)| path).collect();
        assert_eq!(found, expected, "{pattern}");
        assert_eq!((&answer["files"], &answer["binary_files"]), (&json!(20), &json!(0)));
    }
    for name in ["pipe-1.txt", "s-1.txt", "to-pipe-1.txt", "loop-1.txt", "to-folder-1.txt"] {
        for tool in ["ReadLines", "ReadAsTable"] {
            let code = session.code(tool, json!({"file_path": format!("d/{name}")}));
            assert_eq!(code, -32003, "{tool} {name}");
        }
    }
}

#[test]
fn unreadable_files_and_directories_are_counted() {
    let dir = TestDir::new();
    for below in ["a.txt", "closed.txt", "no-read/a.txt", "no-enter/a.txt", "open/a.txt"] {
        dir.file(&format!("root/{below}"), INSIDE);
    }
    let modes = [("closed.txt", 0o000), ("no-read", 0o311), ("no-enter", 0o644)];
    let set_mode = |below: &str, mode| {
        std::fs::set_permissions(dir.path(below), PermissionsExt::from_mode(mode)).unwrap();
    };
    set_mode("", 0o755);
    for (below, mode) in modes {
        set_mode(&format!("root/{below}"), mode);
    }
    // root could still read them.
    let session = Session::start_command(serve_unprivileged(&dir.path("root")));
    let answer = session.answer("ListFiles", json!({"pattern": "**"}));
    let expected = ["a.txt", "closed.txt", "no-enter/a.txt", "open/a.txt"];
    let expected = expected.map(|below| dir.spelled(&format!("root/{below}")));
    assert_eq!(strings(&answer["files"]), expected);
    assert!(answer["note"].as_str().unwrap().contains("directory not readable: 1"), "{answer}");
    let Actual::Answer { structured, text } =
        session.call("ReadLines", json!({"file_path": "**", "match": "inside"}))
    else {
        panic!("an unreadable file must not fail the search");
    };
    let found: Vec<String> = rows(&structured).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(found, [&expected[0][..], &expected[3]]);
    assert!(text[0].contains("not searched: 3 not readable"), "{text:?}");
    for tool in ["ReadLines", "ReadAsTable"] {
        for path in ["closed.txt", "no-enter/a.txt"] {
            assert_eq!(session.code(tool, json!({"file_path": path})), -32002, "{tool} {path}");
        }
    }
    for (below, _) in modes {
        set_mode(&format!("root/{below}"), 0o755);
    }
}

/// More names than one system call returns, with the ignore rules among the last.
#[test]
fn a_directory_of_twenty_thousand_files_is_listed_in_order() {
    let dir = TestDir::new();
    dir.folder("root/d");
    let name = |n: usize| format!("{n:05}-{}.txt", "long-name-".repeat(6));
    for n in 0..20_000 {
        std::fs::write(dir.path(format!("root/d/{}", name(n))), "").unwrap();
    }
    dir.file("root/d/.gitignore", "*7-*\n").file("root/d/00000-first.txt", INSIDE);
    let session = dir.serve(&["--max-answer-bytes", "10000000"]);
    let path = |name: String| dir.spelled(&format!("root/d/{name}"));
    let mut expected = vec![path("00000-first.txt".into())];
    expected.extend((0..20_000).filter(|n| n % 10 != 7).map(name).map(path));
    for (limit, n_listed) in [(json!(null), 1000), (json!(7), 7), (json!("100000"), 18_001)] {
        let answer = session.answer("ListFiles", json!({"pattern": "d/*", "limit": limit}));
        assert_eq!(answer["total"], 18_001);
        assert_eq!(answer["truncated"], n_listed < 18_001);
        assert_eq!(strings(&answer["files"]), expected[..n_listed]);
    }
    let answer = session.answer("ListFiles", json!({"pattern": "d/*", "ignored": true}));
    assert_eq!(answer["total"], 20_001);
    let answer = session.answer("ReadLines", json!({"file_path": "**", "match": "inside"}));
    assert_eq!(rows(&answer), [(expected[0].clone(), 1, "inside".to_string())]);
    assert_eq!(answer["truncated"], false, "{answer}");
    drop(session);
    let session = dir.serve(&["--max-answer-bytes", "1048576"]);
    let answer = session.answer("ListFiles", json!({"pattern": "d/*", "limit": 100_000}));
    let n_listed = strings(&answer["files"]).len();
    assert!((1000..18_000).contains(&n_listed), "{n_listed}");
    assert_eq!((&answer["total"], &answer["truncated"]), (&json!(18_001), &json!(true)));
    assert_eq!(strings(&answer["files"]), expected[..n_listed]);
}

/// Directories that are not walked are reported.
#[test]
fn three_hundred_nested_directories_are_listed_or_reported() {
    let dir = TestDir::new();
    let flags = OFlags::DIRECTORY | OFlags::PATH;
    let mut folder = openat(CWD, dir.path("root"), flags, Mode::empty()).unwrap();
    for depth in 1..=300 {
        mkdirat(&folder, "d", Mode::from_raw_mode(0o755)).unwrap();
        folder = openat(&folder, "d", flags, Mode::empty()).unwrap();
        if [10, 200, 300].contains(&depth) {
            let flags = OFlags::CREATE | OFlags::WRONLY;
            let file = openat(&folder, "f.txt", flags, MODE).unwrap();
            rustix::io::write(file, INSIDE.as_bytes()).unwrap();
        }
    }
    let session = dir.serve(&[]);
    let at = |depth: usize| dir.spelled(&format!("root/{}f.txt", "d/".repeat(depth)));
    for path in [at(10), at(200), at(300)] {
        let answer = session.answer("ReadLines", json!({"file_path": path}));
        assert_eq!(rows(&answer).len(), 1);
    }
    let answer = session.answer("ListFiles", json!({"pattern": format!("{}**", "d/".repeat(250))}));
    assert_eq!(strings(&answer["files"]), [at(300)]);
    let answer = session.answer("ListFiles", json!({"pattern": "**"}));
    let files = strings(&answer["files"]);
    let is_said = answer["truncated"] == true || answer.get("note").is_some();
    assert!(files.len() == 3 || is_said, "{} files: {}", files.len(), answer["note"]);
    let answer = session.answer("ReadLines", json!({"file_path": "**", "match": "inside"}));
    assert!(rows(&answer).len() == 3 || answer["truncated"] == true, "{}", answer["rows"]);
}

#[test]
fn files_that_come_and_go_do_not_affect_the_other_files() {
    let dir = TestDir::new();
    let mut expected = Vec::new();
    for n in 0..60 {
        let below = format!("root/d{}/stays-{n:02}.txt", n % 6);
        dir.file(&below, INSIDE);
        expected.push(dir.spelled(&below));
    }
    expected.sort();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !is_over.load(Ordering::Relaxed) {
                let folder = dir.path(format!("root/d{}", n % 6));
                let file = folder.join(format!("goes-{n}.txt"));
                std::fs::write(&file, INSIDE).unwrap();
                let inner = folder.join(format!("goes-{n}"));
                std::fs::create_dir(&inner).unwrap();
                std::fs::write(inner.join("goes.txt"), INSIDE).unwrap();
                symlink("goes.txt", inner.join("goes-too.txt")).unwrap();
                std::fs::remove_dir_all(&inner).unwrap();
                std::fs::remove_file(&file).unwrap();
                n += 1;
            }
        });
        struct SetOnDrop<'a>(&'a AtomicBool);
        impl Drop for SetOnDrop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _end = SetOnDrop(&is_over);
        let session = dir.serve(&[]);
        for round in 0..150 {
            let found = match round % 2 {
                0 => session.list("**"),
                _ => {
                    let search = json!({"file_path": "**/*.txt", "match": "inside"});
                    let answer = session.answer("ReadLines", search);
                    rows(&answer).into_iter().map(|(path, ..)| path).collect()
                }
            };
            let (stays, goes): (Vec<String>, Vec<String>) =
                found.into_iter().partition(|path| path.contains("stays"));
            assert_eq!(stays, expected, "round {round}");
            assert!(goes.iter().all(|path| path.contains("goes")), "round {round}: {goes:?}");
        }
    });
}
