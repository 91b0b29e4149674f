//! Paths that are outside the roots, hidden or closed by the client stay so at a revision.

use std::os::unix::fs::symlink;
use std::path::Path;

use recto_store::Revisions;
use recto_store::context::{Access, RulePath, Sandbox, SandboxRule};

use super::fixture::{Git, RepoDir, absolute, serve, serve_with};

const NO_GIT: &str = "No .git was found between this path and the root; the user can allow a git \
    directory elsewhere with --git-dir.";

fn project(place: &RepoDir) -> Git {
    place.with_files(
        "project",
        &[("top.txt", "top"), ("sub/a.txt", "a"), ("sub/deep/b.txt", "b"), ("sub2/c.txt", "c")],
    )
}

#[test]
fn a_root_below_its_repository_needs_the_git_directory_allowed() {
    let place = RepoDir::new();
    let git = project(&place);
    let sub = git.path("sub");
    let path = sub.join("a.txt");
    let path = path.to_str().unwrap();

    let served = serve(&[&sub]);
    for path in [path, "a.txt", "sub/a.txt"] {
        assert_eq!(served.refusal("HEAD", path), format!("No git repository: {path} | {NO_GIT}"));
    }

    let served = serve_with(&[&sub], &[&git.path(".git")], &[]);
    assert_eq!(served.text("HEAD", path), "a");
    assert_eq!(served.text("HEAD", "sub/a.txt"), "a");
    // The directories around the root can be named, and contain only the root's files.
    assert_eq!(served.all("HEAD", ".").unwrap().files, ["sub/a.txt", "sub/deep/b.txt"]);
    assert_eq!(served.all("HEAD", "sub").unwrap().files, ["a.txt", "deep/b.txt"]);
    assert!(served.text("HEAD", ".").starts_with("-32003"));
    assert!(served.text("HEAD", "/").starts_with("-32002"));
    assert!(served.all("HEAD", "sub2").is_err());
    for path in ["top.txt", "sub2/c.txt", "sub/../top.txt", "missing", "../x", "sub/../../x"] {
        let refusal = served.refusal("HEAD", path);
        let roots = format!("Only files under these roots are accessible: {}", sub.display());
        let top = "With commit, relative paths start at the repository root; those under the served \
                   root start with sub/.";
        assert_eq!(refusal, format!("Permission denied: {path} | {top} {roots}"));
    }
    // The git directory is allowed for revisions and is not a root.
    let inside = git.path(".git/config");
    assert_eq!(served.text("HEAD", inside.to_str().unwrap()).split(' ').next(), Some("-32002"));
}

#[test]
fn a_work_tree_outside_its_repository_needs_the_git_directory_allowed() {
    let place = RepoDir::new();
    let git = project(&place);
    git.run(&["worktree", "add", "--quiet", "-b", "other", "../other"]);
    let other = Git { top: place.path.join("other") };
    other.write("top.txt", "other");
    other.commit("other");
    let refusal = serve(&[&other.top]).refusal("HEAD", "top.txt");
    assert!(refusal.contains("Its .git names a directory outside the roots"), "{refusal}");
    assert!(!refusal.contains("worktrees"), "{refusal}");
    let served = serve_with(&[&other.top], &[&git.path(".git")], &[]);
    assert_eq!(served.text("HEAD", "top.txt"), "other");
    assert_eq!(served.text("main", "top.txt"), "top");
    // Allowing its own directory alone is not enough: the shared one is above.
    let own = git.path(".git/worktrees/other");
    let refusal = serve_with(&[&other.top], &[&own], &[]).refusal("HEAD", "top.txt");
    assert!(refusal.contains("Its commondir names a directory outside the roots"), "{refusal}");

    // A root inside the work tree that the git directory names.
    let sub = other.path("sub");
    let served = serve_with(&[&sub], &[&own, &git.path(".git")], &[]);
    assert_eq!(served.text("HEAD", sub.join("a.txt").to_str().unwrap()), "a");
    let moved = place.path.join("moved.git");
    std::fs::rename(git.path(".git"), &moved).unwrap();
    let bare = Git { top: moved.clone() };
    bare.run(&["config", "core.worktree", "../project"]);
    let served = serve_with(&[&git.path("sub")], &[&moved], &[]);
    assert_eq!(served.text("HEAD", "sub/a.txt"), "a");
    let refusal = serve_with(&[&git.top], &[&place.path.join("gone")], &[]).refusal("HEAD", "a");
    assert!(refusal.contains("--git-dir"), "{refusal}");
}

#[test]
fn hidden_paths_are_hidden_at_revisions() {
    let place = RepoDir::new();
    let git = project(&place);
    let hidden = ["sub/deep", "*.secret", "top.txt"];
    git.write("sub2/x.secret", "secret");
    git.commit("second");
    let served = serve_with(&[&git.top], &[], &hidden);
    assert_eq!(served.all("HEAD", ".").unwrap().files, ["sub/a.txt", "sub2/c.txt"]);
    for path in ["top.txt", "sub/deep/b.txt", "sub/deep/missing", "sub2/x.secret", "y.secret"] {
        assert!(served.text("HEAD", path).starts_with("-32002 Permission denied"), "{path}");
    }
    assert_eq!(served.text("HEAD", "sub/a.txt"), "a");
    // A hidden git directory is not used, unless it is allowed by name.
    assert!(serve_with(&[&git.top], &[], &[".git"]).refusal("HEAD", "top.txt").contains(NO_GIT));
    let served = serve_with(&[&git.top], &[&git.path(".git")], &[".git"]);
    assert_eq!(served.text("HEAD", "top.txt"), "top");
}

#[test]
fn the_clients_sandbox_applies_at_revisions() {
    let place = RepoDir::new();
    let git = project(&place);
    let entry = |path: &Path, access| SandboxRule { path: RulePath::Subtree(path.into()), access };
    let mut served = serve(&[&git.top]);
    served.caller.sandbox = Sandbox::Limited(vec![
        entry(&git.top, Access::Read),
        entry(&git.path("sub"), Access::None),
    ]);
    assert_eq!(served.all("HEAD", ".").unwrap().files, ["sub2/c.txt", "top.txt"]);
    assert_eq!(served.text("HEAD", "top.txt"), "top");
    for path in ["sub/a.txt", "sub/missing"] {
        assert!(served.text("HEAD", path).starts_with("-32002"), "{path}");
    }
    served.caller.sandbox = Sandbox::Limited(vec![
        entry(&git.top, Access::Read),
        entry(&git.path(".git"), Access::None),
    ]);
    let refusal = served.refusal("HEAD", "top.txt");
    assert!(refusal.contains("The client's sandbox denies reading its .git."), "{refusal}");
    served.caller.sandbox = Sandbox::Limited(vec![
        entry(&git.top, Access::Read),
        entry(&git.path(".git/objects"), Access::None),
    ]);
    let refusal = served.refusal("HEAD", "top.txt");
    assert!(refusal.contains("The client's sandbox"), "{refusal}");
}

#[test]
fn paths_resolve_on_disk_up_to_the_repository_and_in_git_below_it() {
    let place = RepoDir::new();
    let git = project(&place);
    symlink("sub", git.path("inner")).unwrap();
    symlink("/etc", git.path("out")).unwrap();
    git.commit("links");
    let root = place.path.join("root");
    std::fs::create_dir(&root).unwrap();
    symlink(&git.top, root.join("linked")).unwrap();
    symlink(git.path("sub/deep"), root.join("linked-deep")).unwrap();
    let served = serve(&[&root, &git.top]);
    let at = |path: &str| root.join(path).to_str().unwrap().to_string();
    for (path, text) in [
        ("linked/top.txt", "top"),
        ("linked/./sub//a.txt", "a"),
        ("linked/sub/../top.txt", "top"),
        ("linked/sub/gone/../../top.txt", "top"),
        ("linked-deep/b.txt", "b"),
        ("linked-deep/../a.txt", "a"),
        ("linked/inner", "sub"),
        ("linked/out", "/etc"),
    ] {
        assert_eq!(served.text("HEAD", &at(path)), text, "{path}");
    }
    for (path, code) in [
        ("linked/inner/a.txt", "-32001"),
        ("linked/out/passwd", "-32002"),
        ("linked/out/missing", "-32002"),
        ("linked/../../x", "-32002"),
        ("linked/sub", "-32003"),
        ("linked/top.txt/", "-32001"),
        ("linked/top.txt/x", "-32001"),
        ("elsewhere/x", "-32001"),
        ("../project2/x", "-32002"),
    ] {
        let text = served.text("HEAD", &at(path));
        assert_eq!(text.split(' ').next(), Some(code), "{path}: {text}");
    }
    for path in ["/", "/etc/passwd", "/etc/missing", "/proc/self/environ"] {
        assert!(served.text("HEAD", path).starts_with("-32002"), "{path}");
    }
    assert!(served.text("HEAD", "a\0b").starts_with("-32600"));
    assert!(served.text("HEAD", "").starts_with("-32600"));
    assert!(served.text("HEAD", &at(&"x/".repeat(9000))).starts_with("-32600"));
    assert!(served.text("HEAD", &at(&"x/".repeat(4000))).starts_with("-32001"));
    // The answer's path is comparable with its top, however it was spelled.
    let found = served.revisions.at("HEAD", &at("linked/sub/a.txt"), &served.caller).unwrap();
    assert_eq!(found.top, git.top);
    assert_eq!(found.path.as_path(), git.path("sub/a.txt"));
    assert_eq!(found.path.as_str(), at("linked/sub/a.txt"));
    assert!(found.store.is_file(&absolute(&git.path("top.txt")), &served.caller).unwrap());
}

#[test]
fn a_directory_that_is_now_a_link_is_read_at_an_older_commit() {
    let place = RepoDir::new();
    let git = project(&place);
    std::fs::rename(git.path("sub"), git.path("moved")).unwrap();
    symlink("/etc", git.path("sub")).unwrap();
    git.commit("a link");
    let served = serve(&[&git.top]);
    for (path, text) in [("sub/a.txt", "a"), ("sub/deep/b.txt", "b")] {
        assert_eq!(served.text("HEAD~1", path), text, "{path}");
        assert_eq!(served.text("HEAD~1", git.path(path).to_str().unwrap()), text, "{path}");
    }
    assert_eq!(served.all("HEAD~1", "sub/deep").unwrap().files, ["b.txt"]);
    // Whether the link's target exists is not revealed.
    for (revision, path) in [
        ("HEAD~1", "sub/passwd"),
        ("HEAD~1", "sub/missing"),
        ("HEAD~1", "sub/../sub/a.txt"),
        ("HEAD~1", "sub/a.txt/x"),
        ("HEAD", "sub/a.txt"),
        ("HEAD", "sub/passwd"),
        ("no-such", "sub/a.txt"),
    ] {
        let text = served.text(revision, path);
        assert!(text.starts_with("-32002"), "{path} at {revision}: {text}");
    }
    // Hidden paths stay hidden, and closed paths stay closed.
    let mut served = serve_with(&[&git.top], &[], &["sub/deep"]);
    assert_eq!(served.text("HEAD~1", "sub/a.txt"), "a");
    assert!(served.text("HEAD~1", "sub/deep/b.txt").starts_with("-32002"));
    let root = place.path.join("root");
    std::fs::create_dir(&root).unwrap();
    symlink(&git.top, root.join("linked")).unwrap();
    let linked = |path: &str| root.join("linked").join(path).to_str().unwrap().to_string();
    let through = serve_with(&[&root, &git.top], &[], &["sub/deep"]);
    assert_eq!(through.text("HEAD~1", &linked("sub/a.txt")), "a");
    assert!(through.text("HEAD~1", &linked("sub/deep/b.txt")).starts_with("-32002"));
    let entry = |path: &Path, access| SandboxRule { path: RulePath::Subtree(path.into()), access };
    served.caller.sandbox = Sandbox::Limited(vec![
        entry(&git.top, Access::Read),
        entry(&git.path("sub"), Access::None),
    ]);
    assert!(served.text("HEAD~1", "sub/a.txt").starts_with("-32002"));
}

#[test]
fn a_relative_path_starts_at_the_first_root() {
    let place = RepoDir::new();
    let git = project(&place);
    let served = serve(&[&git.top]);
    assert_eq!(served.text("HEAD", "sub/a.txt"), "a");
    assert_eq!(served.text("HEAD", "./sub/../top.txt"), "top");
    // The root is not a repository but contains some.
    let served = serve(&[&place.path]);
    assert_eq!(served.text("HEAD", "project/sub/a.txt"), "a");
    assert_eq!(served.all("HEAD", "project/sub").unwrap().files, ["a.txt", "deep/b.txt"]);
    assert!(served.refusal("HEAD", "a.txt").contains(NO_GIT));
    // A file need not exist on disk any more.
    std::fs::remove_dir_all(git.path("sub")).unwrap();
    std::fs::write(git.path("sub"), "a file now").unwrap();
    assert_eq!(served.text("HEAD", "project/sub/deep/b.txt"), "b");
}
