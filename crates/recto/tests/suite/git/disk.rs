//! Comparisons of a revision with the files on disk, as in git.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::agrees;
use super::fixture::{Git, RepoDir, Served, serve, serve_with, store};
use super::history::history;
use crate::test_dir::{Session, said};

#[test]
fn a_comparison_with_the_disk_lists_what_changed() {
    let place = RepoDir::new();
    let git = agrees::history(&place, "project", &[]);
    git.write("n.txt", "now");
    git.write("new file.txt", "new\n");
    git.write("x.log", "ignored\n");
    git.write(".gitignore", "*.log\n");
    std::fs::remove_file(git.path("side.txt")).unwrap();
    std::fs::remove_file(git.path("link")).unwrap();
    symlink("n.txt", git.path("link")).unwrap();
    std::fs::remove_file(git.path("empty")).unwrap();
    symlink("n.txt", git.path("empty")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(git.path("dir.txt"), mode).unwrap();
    let served = serve(&[&git.top]);
    let changes = history(&served, &git, "").changes_on_disk("HEAD").unwrap();
    let listed: Vec<String> = changes
        .files
        .iter()
        .map(|file| format!("{} {}", file.status.letter(), file.shown()))
        .collect();
    let mut expected: Vec<String> = git
        .run(&["diff", "--name-status", "HEAD"])
        .lines()
        .map(|line| line.replace('\t', " "))
        .collect();
    expected.extend(["A .gitignore", "A new file.txt"].map(String::from));
    expected.sort_by(|one, other| one[2..].cmp(&other[2..]));
    assert_eq!(listed, expected);
    assert_eq!(changes.n_submodules, 1);
}

/// Returns the letter and the path of each file that differs from the disk.
fn differs_on_disk(served: &Served, git: &Git, path: &str) -> Vec<String> {
    let changes = history(served, git, path).changes_on_disk("HEAD").unwrap();
    changes.files.iter().map(|file| format!("{}\t{}", file.status.letter(), file.shown())).collect()
}

#[test]
fn files_below_a_directory_that_is_now_a_link_are_removed() {
    let place = RepoDir::new();
    let files = [("a/one.txt", "1\n"), ("a/deep/two.txt", "2\n"), ("a-b", "3\n"), ("b/x", "x\n")];
    let git = place.with_files("project", &files);
    std::fs::rename(git.path("a"), git.path(".git/moved")).unwrap();
    symlink(".git/moved", git.path("a")).unwrap();
    std::fs::rename(git.path("b"), git.path("c")).unwrap();
    symlink("c", git.path("b")).unwrap();
    let served = serve(&[&git.top]);
    let mut ours = differs_on_disk(&served, &git, "");
    let expected = ["A\ta", "D\ta/deep/two.txt", "D\ta/one.txt", "A\tb", "D\tb/x", "A\tc/x"];
    assert_eq!(ours, expected);
    ours.retain(|line| line.starts_with('D'));
    let gits = git.run(&["diff", "--name-status", "--no-renames", "HEAD"]);
    assert_eq!(ours, gits.lines().collect::<Vec<_>>());
}

#[test]
fn new_links_differ_from_the_disk_wherever_they_lead() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "a\n"), ("dir/b.txt", "b\n")]);
    for (name, target) in
        [("file", "a.txt"), ("dir/folder", "../dir"), ("dangling", "missing"), ("outside", "/etc")]
    {
        symlink(target, git.path(name)).unwrap();
    }
    symlink("a.txt", git.path("ignored")).unwrap();
    git.write(".git/info/exclude", "ignored\n");
    let served = serve(&[&git.top]);
    let gits = git.run(&["ls-files", "--others", "--exclude-standard"]);
    let expected: Vec<String> = gits.lines().map(|path| format!("A\t{path}")).collect();
    assert_eq!(expected.len(), 4);
    assert_eq!(differs_on_disk(&served, &git, ""), expected);
    assert_eq!(differs_on_disk(&served, &git, "dir"), ["A\tdir/folder"]);
    let of_link = history(&served, &git, "dangling");
    let changes = of_link.changes_on_disk("HEAD").unwrap();
    let local = store(&[&git.top]);
    let versions = of_link.versions(&changes.files[0], &local).unwrap().unwrap();
    assert_eq!(versions.after.as_slice(), b"missing");
    let served = serve_with(&[&git.top], &[], &["dangling"]);
    assert_eq!(differs_on_disk(&served, &git, "").len(), 3);
}

#[test]
fn new_files_whose_names_are_not_utf_8_are_counted() {
    let place = RepoDir::new();
    let git = place.repository("project");
    git.write(OsStr::from_bytes(b"old\xff"), "1\n");
    git.commit("first");
    let served = serve(&[&git.top]);
    let n_unnamable = || {
        let changes = history(&served, &git, "").changes_on_disk("HEAD").unwrap();
        (changes.files.len(), changes.n_unnamable)
    };
    assert_eq!(n_unnamable(), (0, 0));
    git.write(OsStr::from_bytes(b"new\xff"), "2\n");
    symlink("missing", git.top.join(OsStr::from_bytes(b"link\xff"))).unwrap();
    assert_eq!(n_unnamable(), (0, 2));
    std::fs::remove_file(git.top.join(OsStr::from_bytes(b"old\xff"))).unwrap();
    assert_eq!(n_unnamable(), (1, 2));
}

#[test]
fn modes_on_disk_count_only_with_file_mode() {
    use std::os::unix::fs::PermissionsExt;

    let place = RepoDir::new();
    let git = place.with_files("project", &[("plain", "1\n"), ("run", "2\n")]);
    let set_mode = |name: &str, mode| {
        std::fs::set_permissions(git.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    set_mode("run", 0o755);
    git.commit("executable");
    set_mode("plain", 0o755);
    set_mode("run", 0o644);
    for value in ["true", "false", "no", "0"] {
        git.run(&["config", "core.fileMode", value]);
        let gits = git.run(&["diff", "--name-status", "HEAD"]);
        let ours = differs_on_disk(&serve(&[&git.top]), &git, "");
        assert_eq!(ours, gits.lines().collect::<Vec<_>>(), "{value}");
    }
    git.write("run", "changed\n");
    let changes = history(&serve(&[&git.top]), &git, "").changes_on_disk("HEAD").unwrap();
    assert_eq!(changes.files.len(), 1);
    assert_eq!(changes.files[0].mode_change(), None);
}

#[test]
fn an_answer_counts_what_is_not_compared() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "a\n")]);
    place.with_files("project/inner", &[("f.txt", "f\n")]);
    git.write(OsStr::from_bytes(b"new\xff"), "2\n");
    let session = Session::start(&git.top, &[]);
    let answer = said(&session.call("ReadDiff", serde_json::json!({"from": "HEAD"})));
    let notes = "; nested repositories not compared: 1; new files skipped, name not UTF-8: 1";
    assert!(answer.contains("no difference found in ") && answer.contains(notes), "{answer}");
    assert!(answer.contains("\"truncated\":true"), "{answer}");
}
