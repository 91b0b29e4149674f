//! Unusual names and paths: at the limits of the file system, with redundant slashes and dots, with
//! bytes that are not UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::sandbox_fixture::Expected::*;
use crate::sandbox_fixture::{INSIDE, SandboxFixture, missing, opens, rows};

#[test]
fn redundant_slashes_and_dots_are_ignored() {
    let fixture = SandboxFixture::new();
    let root = fixture.spelled("root");
    let mut table = rows([
        ("root//inside.txt", opens("root/inside.txt")),
        ("root///sub////inside.txt", opens("root/sub/inside.txt")),
        ("root/./inside.txt", opens("root/inside.txt")),
        ("root/././sub/./inside.txt", opens("root/sub/inside.txt")),
        ("root//new.txt", missing("root/new.txt")),
    ]);
    table.push((format!("/{root}/inside.txt"), opens("root/inside.txt")));
    table.push((format!("//{root}/inside.txt"), opens("root/inside.txt")));
    table.push((format!("/.{root}/inside.txt"), opens("root/inside.txt")));
    fixture.check(&[], &table);
}

/// A trailing slash requires a directory; the kernel opens and creates no file with it.
#[test]
fn a_path_with_a_trailing_slash_is_not_a_file() {
    let fixture = SandboxFixture::new();
    fixture.link("root/to-file", "inside.txt");
    let table = rows([
        ("root/inside.txt/", Refused),
        ("root/inside.txt/.", Refused),
        ("root/to-file/", Refused),
        ("root/new/", Refused),
        ("root/new/.", Refused),
        ("root/sub/", Directory),
    ]);
    fixture.check(&[], &table);
}

#[test]
fn unusual_file_names_work() {
    let fixture = SandboxFixture::new();
    let names = [
        "line\nbreak",
        "tab\tand \u{1b}[31mescape",
        " spaces ",
        "...",
        "..x",
        "-rf",
        "ünïcödé 文件 🦀",
        "e\u{301} is not \u{e9}",
        "\u{202e}txt.exe",
        "back\\slash",
        "quote\"'",
        "*?[a]{b}",
        "~",
        "%2e%2e",
    ];
    let mut table = Vec::new();
    for name in names {
        let path = format!("root/{name}");
        fixture.file(&path);
        table.push((path.clone(), opens(path)));
    }
    // Encodings of dots and slashes are not decoded.
    table.extend(rows([
        ("root/%2e%2e/outside/secret.txt", NoParent),
        ("root/..%2foutside", missing("root/..%2foutside")),
        ("root/..\\outside", missing("root/..\\outside")),
    ]));
    fixture.check(&[], &table);
}

#[test]
fn names_and_paths_are_limited_as_in_the_file_system() {
    let fixture = SandboxFixture::new();
    let longest = format!("root/{}", "n".repeat(255));
    let new = format!("root/{}", "m".repeat(255));
    fixture.file(&longest);
    let too_long = "n".repeat(256);
    let table = vec![
        (longest.clone(), opens(longest)),
        (new.clone(), missing(new)),
        (format!("root/{too_long}"), Impossible),
        (format!("root/{}", "n".repeat(300)), Impossible),
        (format!("root/{too_long}/x"), Impossible),
        (format!("root/sub/{too_long}"), Impossible),
        (format!("outside/{too_long}"), Outside),
        (format!("root/../outside/{too_long}"), Outside),
        (format!("root/{}x", "a/".repeat(1500)), NoParent),
        (format!("root/{}x", "./".repeat(1500)), missing("root/x")),
        (format!("root/{}inside.txt", "sub/../".repeat(500)), opens("root/inside.txt")),
        (format!("root/{}secret.txt", "../".repeat(1000)), Outside),
        // Longer than the system accepts in one call.
        (format!("root/{}x", "a/".repeat(2500)), Refused),
        (format!("root/{}secret.txt", "../".repeat(1700)), Refused),
        (format!("root/{}", "n".repeat(5000)), Refused),
        (format!("/{}", "x/".repeat(2500)), Refused),
        ("root/nul\0.txt".to_string(), Refused),
        (format!("root/inside.txt\0{}", "/../../outside/secret.txt"), Refused),
    ];
    fixture.check(&[], &table);
}

/// A path can be as long as a request; it must not occupy a thread for long.
#[test]
fn a_path_as_long_as_a_request_is_rejected_in_time() {
    let fixture = SandboxFixture::new();
    let table = [
        (format!("root/{}", "n".repeat(14_000_000)), Refused),
        (format!("root/{}no/x", "sub/../".repeat(2_000_000)), Refused),
    ];
    fixture.check(&[], &table);
}

#[test]
fn a_path_of_a_megabyte_is_rejected_in_time_under_deny_patterns() {
    let fixture = SandboxFixture::new();
    let table = [(format!("root/{}x", "a/".repeat(500_000)), Refused)];
    fixture.check(&["--deny", "*.pem", "--deny", "id_*[0-9]", "--deny", "/secrets"], &table);
}

#[test]
fn a_deeply_nested_file_opens() {
    let fixture = SandboxFixture::new();
    let n_levels = 500;
    let mut folder = rustix::fs::open(
        fixture.path("root"),
        rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::PATH,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    for _ in 0..n_levels {
        rustix::fs::mkdirat(&folder, "d", rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::PATH;
        folder = rustix::fs::openat(&folder, "d", flags, rustix::fs::Mode::empty()).unwrap();
    }
    let path = format!("root/{}f.txt", "d/".repeat(n_levels));
    fixture.check(&[], &[(path.clone(), missing(path))]);
}

#[test]
fn a_link_target_may_contain_bytes_that_are_not_utf8() {
    let fixture = SandboxFixture::new();
    let bytes = OsStr::from_bytes(b"root/\xff\xfe.txt");
    std::fs::write(fixture.path(bytes), INSIDE).unwrap();
    symlink(OsStr::from_bytes(b"\xff\xfe.txt"), fixture.path("root/to-bytes")).unwrap();
    symlink(OsStr::from_bytes(b"\xffmissing"), fixture.path("root/to-nothing")).unwrap();
    symlink(OsStr::from_bytes(b"../outside/\xff"), fixture.path("root/out")).unwrap();
    symlink(OsStr::from_bytes(b"../outside\xff/../outside"), fixture.path("root/way")).unwrap();
    let table = rows([
        ("root/to-bytes", opens(bytes)),
        ("root/to-nothing", missing(OsStr::from_bytes(b"root/\xffmissing"))),
        ("root/out", Outside),
        ("root/way/secret.txt", Outside),
    ]);
    fixture.check(&[], &table);
}
