//! Paths that `--deny` hides, and changes inside `.git`.

use crate::sandbox_fixture::Expected::*;
use crate::sandbox_fixture::{SandboxFixture, missing, opens, outside, rows};

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
    "trailing/",
    "--deny",
    "**/deep/*.log",
    "--deny",
    "{one,two}.cfg",
];

fn with_denied_files() -> SandboxFixture {
    let fixture = SandboxFixture::new();
    for path in [
        "a.pem",
        "sub/deep/b.pem",
        ".env",
        "sub/.env",
        "anchored/inside.txt",
        "sub/anchored/inside.txt",
        "sub/a.key",
        "a.key",
        "sub/deep/a.key",
        "sub/hidden/x/inside.txt",
        "hidden-not/inside.txt",
        "trailing/inside.txt",
        "x/y/deep/a.log",
        "one.cfg",
        "three.cfg",
        "A.PEM",
        ".ENV",
    ] {
        fixture.file(&format!("root/{path}"));
    }
    fixture
}

#[test]
fn denied_paths_give_the_same_error_as_paths_outside() {
    let fixture = with_denied_files();
    let table = outside(&[
        // A name anywhere.
        "root/a.pem",
        "root/no-such.pem",
        "root/sub/deep/b.pem",
        "root/no/such/folder/c.pem",
        "root/.env",
        "root/sub/.env",
        "root/sub/deep/.env",
        "root/.pem",
        // From the root on.
        "root/anchored",
        "root/anchored/inside.txt",
        "root/anchored/missing.txt",
        "root/sub/a.key",
        "root/sub/missing.key",
        // Paths below a hidden directory.
        "root/sub/hidden",
        "root/sub/hidden/x",
        "root/sub/hidden/x/inside.txt",
        "root/sub/hidden/no/such/file",
        "root/hidden/missing.txt",
        "root/a.pem/x",
        "root/trailing/inside.txt",
        "root/x/y/deep/a.log",
        "root/one.cfg",
        "root/two.cfg",
        // By other spellings.
        "root/./a.pem",
        "root//sub//.env",
        "root/sub/../a.pem",
        "root/sub/../anchored/inside.txt",
        "root/sub/deep/../a.key",
        "root/no/../a.pem",
        "root/inside.txt/../a.pem",
        "root/sub/hidden/../inside.txt",
        "root/a.pem/../inside.txt",
    ]);
    fixture.check(DENY, &table);
}

#[test]
fn denied_paths_are_hidden_from_links() {
    let fixture = with_denied_files();
    fixture
        .link("root/to-pem", "a.pem")
        .link("root/to-pem-abs", "{base}/root/sub/deep/b.pem")
        .link("root/to-missing-pem", "no-such.pem")
        .link("root/to-anchored", "anchored")
        .link("root/to-hidden", "sub/hidden")
        .link("root/sub/to-anchored", "../anchored/inside.txt")
        .link("root/to-sub", "sub")
        .link("root/by-hidden", "sub/hidden/../inside.txt")
        .link("root/through-parent", "../root/.env")
        .link("root/link.pem", "inside.txt");
    let table = outside(&[
        "root/to-pem",
        "root/to-pem-abs",
        "root/to-missing-pem",
        "root/to-anchored/inside.txt",
        "root/to-anchored/missing.txt",
        "root/to-hidden",
        "root/to-hidden/x/inside.txt",
        "root/sub/to-anchored",
        "root/to-sub/a.key",
        "root/to-sub/.env",
        "root/by-hidden",
        "root/through-parent",
        "root/link.pem",
    ]);
    fixture.check(DENY, &table);
}

#[test]
fn paths_that_no_pattern_matches_are_not_hidden() {
    let fixture = with_denied_files();
    let table = rows([
        ("root/inside.txt", opens("root/inside.txt")),
        ("root/sub/anchored/inside.txt", opens("root/sub/anchored/inside.txt")),
        ("root/a.key", opens("root/a.key")),
        ("root/sub/deep/a.key", opens("root/sub/deep/a.key")),
        ("root/hidden-not/inside.txt", opens("root/hidden-not/inside.txt")),
        ("root/three.cfg", opens("root/three.cfg")),
        ("root/A.PEM", opens("root/A.PEM")),
        ("root/.ENV", opens("root/.ENV")),
        ("root/a.pem.txt", missing("root/a.pem.txt")),
        ("root/pem", missing("root/pem")),
    ]);
    fixture.check(DENY, &table);
}

fn with_git_directories() -> SandboxFixture {
    let fixture = SandboxFixture::new();
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        "nested/.git/config",
        "UPPER/.GIT/config",
        "module/.git",
        ".gitignore",
        ".github/workflow.yml",
        "x.git/config",
        "git/config",
        ".git2/config",
    ] {
        fixture.file(&format!("root/{path}"));
    }
    fixture
        .link("root/to-git", ".git")
        .link("root/to-config", ".git/config")
        .link("root/to-config-abs", "{base}/root/nested/.git/config")
        .link("root/to-hooks", ".git/hooks")
        .link("root/to-new-hook", ".git/hooks/post-commit");
    fixture
}

#[test]
fn writes_inside_git_directories_are_rejected() {
    let table = rows([
        ("root/.git/config", ReadableGit),
        ("root/.git/new", MissingGit),
        ("root/.git/hooks/pre-commit", ReadableGit),
        ("root/.git/hooks/new", MissingGit),
        ("root/.git/no/such/folder", MissingGit),
        ("root/nested/.git/config", ReadableGit),
        ("root/nested/.git/x", MissingGit),
        ("root/UPPER/.GIT/config", ReadableGit),
        ("root/.GIT", MissingGit),
        ("root/sub/.gIt/x", MissingGit),
        // A file of that name points to a git directory elsewhere.
        ("root/module/.git", ReadableGit),
        ("root/sub/.git", MissingGit),
        ("root/no/.git", MissingGit),
        ("root/no/.git/x", MissingGit),
        // By links and dots.
        ("root/to-git/config", ReadableGit),
        ("root/to-git/new", MissingGit),
        ("root/to-config", ReadableGit),
        ("root/to-config-abs", ReadableGit),
        ("root/to-hooks/pre-commit", ReadableGit),
        ("root/to-new-hook", MissingGit),
        ("root/sub/../.git/config", ReadableGit),
        ("root/.git/hooks/../config", ReadableGit),
        ("root//.git/./config", ReadableGit),
    ]);
    with_git_directories().check(&[], &table);
}

#[test]
fn writes_to_names_that_only_resemble_git_succeed() {
    let table = rows([
        ("root/.gitignore", opens("root/.gitignore")),
        ("root/.gitattributes", missing("root/.gitattributes")),
        ("root/.github/workflow.yml", opens("root/.github/workflow.yml")),
        ("root/x.git/config", opens("root/x.git/config")),
        ("root/git/config", opens("root/git/config")),
        ("root/.git2/config", opens("root/.git2/config")),
        ("root/.git/../inside.txt", opens("root/inside.txt")),
    ]);
    with_git_directories().check(&[], &table);
}

#[test]
fn writes_inside_git_directories_succeed_when_allowed() {
    let table = rows([
        ("root/.git/config", opens("root/.git/config")),
        ("root/.git/new", missing("root/.git/new")),
        ("root/nested/.git/config", opens("root/nested/.git/config")),
        ("root/module/.git", opens("root/module/.git")),
        ("root/to-config", opens("root/.git/config")),
        ("root/to-new-hook", missing("root/.git/hooks/post-commit")),
    ]);
    with_git_directories().check(&["--allow-git-writes"], &table);
}

/// A root that is a git directory, alone or next to the work tree, does not lift the rule.
#[test]
fn writes_to_a_git_directory_that_is_a_root_are_rejected() {
    let table = rows([("root/.git/config", ReadableGit), ("root/.git/hooks/new", MissingGit)]);
    with_git_directories().check_roots(&["root/.git"], &[], &table);
    with_git_directories().check_roots(&["root", "root/.git"], &[], &table);
}
