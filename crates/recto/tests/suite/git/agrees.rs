//! Every file at every revision is the same as in git.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use recto_store::error::Instead;
use recto_store::{Error, Text};
use recto_text::window::Window;
use recto_text::{Digest, Size};

use super::fixture::{Git, RepoDir, Served, absolute, serve};
use recto_store::Revisions;

/// Creates a history with most features of git histories.
pub fn history(place: &RepoDir, name: &str, options: &[&str]) -> Git {
    let library = place.with_files(&format!("{name}-library"), &[("lib.c", "int x;\n")]);
    if !options.is_empty() {
        std::fs::remove_dir_all(&library.top).unwrap();
    }
    let git = place.repository_with(name, options);
    git.write("n.txt", "1");
    git.write("a.txt", "one\ntwo\n");
    git.write("crlf.txt", "one\r\ntwo\r\n");
    git.write("dir/deep/b.txt", "b\n");
    git.write("empty", "");
    git.write("bin.dat", b"\0\x01\x02\xff\xfe");
    git.write("ä ü\t\"q\".txt", "umlaut");
    git.write(OsStr::from_bytes(b"bad\xff.txt"), "not UTF-8 by name");
    git.write("dir.txt", "sorts before dir/");
    git.write("dir-a", "sorts before dir/ too");
    git.write(".hidden/x", "dot");
    git.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(git.path("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("a.txt", git.path("link")).unwrap();
    symlink("/etc/passwd", git.path("dir/outside")).unwrap();
    git.commit("first");
    git.run(&["tag", "v0"]);

    git.run(&["mv", "a.txt", "dir/renamed.txt"]);
    git.run(&["rm", "--quiet", "crlf.txt"]);
    let mut lines: Vec<String> = (0..2000).map(|n| format!("line {n} of a long file\n")).collect();
    git.write("big.txt", lines.concat());
    git.write("n.txt", "2");
    git.commit("rename and delete");
    for n in 3..12 {
        lines[n * 100] = format!("changed in {n}\n");
        lines.insert(n * 7, format!("added in {n}\n"));
        git.write("big.txt", lines.concat());
        git.write("n.txt", n.to_string());
        git.commit(&format!("change {n}"));
        if n == 8 {
            git.run(&["gc", "--quiet"]);
        }
    }
    git.run(&["tag", "-a", "v1", "-m", "release"]);
    git.run(&["tag", "-a", "v1-again", "-m", "a tag of a tag", "v1"]);

    git.run(&["checkout", "--quiet", "-b", "side/branch", "HEAD~3"]);
    git.write("side.txt", "side\n");
    git.write("n.txt", "side");
    git.commit("on the side");
    git.run(&["checkout", "--quiet", "main"]);
    git.run(&["merge", "--quiet", "--no-ff", "-X", "ours", "-m", "merge", "side/branch"]);
    git.write("n.txt", "merged");
    git.commit("after the merge");
    if options.is_empty() {
        git.run(&["submodule", "--quiet", "add", library.top.to_str().unwrap(), "vendor/lib"]);
        git.commit("a submodule");
    }
    git.run(&["repack", "-adfq", "--depth=20", "--window=20"]);
    git.run(&["pack-refs", "--all"]);
    git.write("n.txt", "last");
    git.commit("loose again");
    git
}

/// Compares everything that git lists at a revision with what the store lists and reads.
pub fn check(served: &Served, git: &Git, revision: &str) {
    let tree = git.tree(revision);
    let at = served.revisions.at(revision, git.top.to_str().unwrap(), &served.caller);
    let at = at.unwrap_or_else(|error| panic!("{revision}: {error:?}"));
    assert_eq!(at.top, git.top);

    let listing = served.all(revision, git.top.to_str().unwrap()).unwrap();
    let nameable = |path: &&Vec<u8>| str::from_utf8(path).is_ok();
    let expected: Vec<&str> =
        tree.keys().filter(nameable).map(|path| str::from_utf8(path).unwrap()).collect();
    assert_eq!(listing.files, expected, "{revision}");
    assert_eq!(listing.total, expected.len() as u64);
    assert_eq!(listing.n_unnamable as usize, tree.len() - expected.len());
    assert_eq!((listing.stopped, listing.n_unreadable), (None, 0));

    for (path, (kind, id)) in tree.iter().filter(|(path, _)| str::from_utf8(path).is_ok()) {
        let path = git.top.join(Path::new(OsStr::from_bytes(path)));
        let (path, caller) = (absolute(&path), &served.caller);
        let is_file = kind != "commit";
        assert_eq!(at.store.is_file(&path, caller).unwrap(), is_file, "{path}");
        if !is_file {
            let refused = at.store.text(&path, caller).err().unwrap();
            assert_eq!(
                refused,
                Error::NotAFile { path: path.to_string(), instead: Instead::Other }
            );
            continue;
        }
        let bytes = git.bytes(&["cat-file", "blob", id]);
        let file = at.store.open(&path, caller).unwrap();
        let mut read = vec![0; bytes.len() + 1];
        assert_eq!(file.size() as usize, bytes.len());
        assert_eq!(file.read_at(&mut read, 0).unwrap(), bytes.len());
        assert_eq!(read[..bytes.len()], bytes, "{path} at {revision}");
        match at.store.text(&path, caller) {
            Ok(text) => {
                let Text::Whole(document) = &text else { panic!("{path} is read by pages") };
                assert_eq!(document.bytes(), bytes);
                assert_eq!(document.digest(), Digest::of(&bytes));
                let window = Window::lines(2, 3, Size::utf8(1 << 20));
                let page = text.page(window).unwrap();
                assert_eq!(page.page, window.page(document.text()));
                assert_eq!(page.digest, document.digest());
            }
            Err(error) => assert!(matches!(error, Error::BinaryFile { .. }), "{path}: {error}"),
        }
    }
}

fn check_all(served: &Served, git: &Git) {
    let commits = git.run(&["rev-list", "--all"]);
    for revision in commits.lines() {
        check(served, git, revision);
    }
}

#[test]
fn every_file_of_every_commit_matches_git() {
    let place = RepoDir::new();
    let git = history(&place, "project", &[]);
    let served = serve(&[&git.top]);
    check_all(&served, &git);
    for revision in ["HEAD", "v0", "v1", "v1-again", "side/branch", "HEAD^{tree}", "main~4"] {
        check(&served, &git, revision);
    }
    assert_eq!(served.text("HEAD", "link"), "a.txt");
    assert_eq!(served.text("HEAD", "dir/outside"), "/etc/passwd");
    // The submodule is a separate repository.
    let inside = git.path("vendor/lib/lib.c");
    for path in [inside.to_str().unwrap(), "vendor/lib/lib.c"] {
        assert_eq!(served.text("HEAD", path), "int x;\n", "{path}");
    }
}

#[test]
fn sha_256_repositories_are_read_too() {
    let place = RepoDir::new();
    let git = history(&place, "project", &["--object-format=sha256"]);
    let served = serve(&[&git.top]);
    check_all(&served, &git);
    check(&served, &git, &git.run(&["rev-parse", "--short=9", "HEAD~2"]));
}

#[test]
fn a_work_tree_has_its_own_head() {
    let place = RepoDir::new();
    let git = history(&place, "project", &[]);
    git.run(&["worktree", "add", "--quiet", "-b", "other", "../other", "HEAD~5"]);
    let other = Git { top: place.path.join("other") };
    other.write("n.txt", "in the other work tree");
    other.commit("other");
    let served = serve(&[&git.top, &other.top]);
    for revision in ["HEAD", "HEAD~1", "main", "other", "HEAD@{1}", "v1"] {
        check(&served, &other, revision);
        if revision != "HEAD@{1}" {
            check(&served, &git, revision);
        }
    }
    let n = |git: &Git| served.text("HEAD", git.path("n.txt").to_str().unwrap());
    assert_eq!((n(&git).as_str(), n(&other).as_str()), ("last", "in the other work tree"));
}

#[test]
fn alternate_shallow_and_partial_clones_are_read() {
    let place = RepoDir::new();
    let git = history(&place, "project", &[]);
    git.run(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", git.top.display());
    let clone = |name: &str, options: &[&str], from: &str| {
        let folder = place.path.join(name);
        git.run(&[&["clone", "--quiet"], options, &[from, folder.to_str().unwrap()]].concat());
        Git { top: folder }
    };
    let served = serve(&[&place.path]);

    let borrowing = clone("borrowing", &["--shared"], git.top.to_str().unwrap());
    check_all(&served, &borrowing);
    let chained = clone("chained", &["--shared"], borrowing.top.to_str().unwrap());
    check_all(&served, &chained);

    let shallow = clone("shallow", &["--depth=3"], &url);
    check_all(&served, &shallow);
    let n = shallow.path("n.txt");
    assert_eq!(served.text("HEAD~2", n.to_str().unwrap()), "merged");
    assert_eq!(
        served.refusal("HEAD~3", n.to_str().unwrap()),
        "Unknown revision: HEAD~3 | The clone is shallow and does not contain it."
    );

    let partial = clone("partial", &["--filter=blob:none", "--no-checkout"], &url);
    let listing = served.all("HEAD", partial.top.to_str().unwrap()).unwrap();
    assert_eq!(listing.total as usize, git.tree("HEAD").len() - 1);
    let refusal = served.refusal("HEAD~8", partial.path("big.txt").to_str().unwrap());
    assert!(refusal.contains("partial clone"), "{refusal}");
}

#[test]
fn a_full_id_means_that_object_despite_replace_references() {
    let place = RepoDir::new();
    let git = place.with_files("project", &[("a.txt", "before")]);
    let first = git.run(&["rev-parse", "HEAD"]);
    let blob = git.run(&["rev-parse", "HEAD:a.txt"]);
    let other = git.run_with(&["hash-object", "-w", "--stdin"], b"after");
    git.write("a.txt", "after");
    let second = git.commit("second");
    let served = serve(&[&git.top]);
    git.run(&["replace", &first, &second]);
    git.run(&["replace", &blob, &other]);
    for _ in 0..2 {
        assert_eq!(served.text(&first, "a.txt"), "before");
        assert_eq!(served.text("HEAD~1", "a.txt"), "before");
        // git itself shows the same if told to ignore them.
        assert_eq!(git.run(&["--no-replace-objects", "show", &blob]), "before");
        git.run(&["pack-refs", "--all"]);
    }
}

#[test]
fn unsupported_repositories_are_reported() {
    let place = RepoDir::new();
    let reftable = place.repository_with("reftable", &["--ref-format=reftable"]);
    reftable.write("a.txt", "a");
    let id = reftable.commit("first");
    let path = reftable.path("a.txt");
    let path = path.to_str().unwrap();
    let served = serve(&[&place.path]);
    let refusal = served.refusal("HEAD", path);
    assert!(refusal.contains("reftable"), "{refusal}");
    assert_eq!(served.text(&id, path), "a");
    assert_eq!(served.text(&id[..10], path), "a");

    let unborn = place.repository("unborn");
    let path = unborn.path("a.txt");
    assert_eq!(
        served.refusal("HEAD", path.to_str().unwrap()),
        "Unknown revision: HEAD | The repository has no commits yet."
    );
}
