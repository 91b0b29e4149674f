//! Tests of glob patterns.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;

#[test]
fn patterns_split_into_a_directory_and_the_rest() {
    for (pattern, folder) in [
        ("**/*.rs", ""),
        ("src/**/*.rs", "src"),
        ("src/a.rs", "src"),
        ("a.rs", ""),
        ("/a.rs", "/"),
        ("/*.rs", "/"),
        ("/home/me/src/*", "/home/me/src"),
        ("a/b/{c,d}/e", "a/b"),
        ("src/", ""),
        ("a/src/", "a"),
        (r"a\*b/*.rs", "a*b"),
        ("../x/*", "../x"),
    ] {
        assert_eq!(Glob::parse(pattern).unwrap().0, folder, "{pattern}");
    }
}

#[test]
fn paths_match_patterns() {
    for (pattern, matching, others) in [
        ("*.rs", "a.rs b.rs", "a.txt d/a.rs .rs .a.rs"),
        ("**/*.rs", "a.rs d/a.rs d/e/a.rs", "a.txt .d/a.rs d/.a.rs d/.e/a.rs"),
        ("**", "a d/a d/e/a", ".a d/.a .d/a"),
        ("d/**", "a b/c", ".a"),
        ("d/**/x", "x a/x a/b/x", "a x/a .a/x"),
        ("*/x", "a/x", "x a/b/x .a/x"),
        ("?.c", "a.c ä.c", "ab.c .c"),
        ("[ab].c", "a.c b.c", "c.c [ab].c"),
        ("[!ab].c", "c.c", "a.c"),
        ("[]x].c", "].c x.c", "a.c"),
        ("*.{rs,toml}", "a.rs b.toml", "a.c"),
        ("{a,b/{c,d}}/x", "a/x b/c/x b/d/x", "b/x c/x"),
        ("{,x}y", "y xy", "x"),
        (r"\*.c", "*.c", "a.c"),
        (r"*\{x\}", "a{x}", "ax"),
        (".*", ".a .git", "a"),
        (".*/**", ".a/b", ".git/config"),
        (".git*/**", ".github/a", ".git/config"),
        ("**/.git/**", ".git/config a/.git/b/c", "git/config"),
        ("{.git,a}/*", ".git/config a/b", ".git/b/c"),
        ("**/.env", ".env d/.env", ".d/.env env"),
        ("**/.github/*", ".github/a d/.github/a", ".github/.a .github/a/b"),
        ("**/a/**/b", "a/b a/x/b x/a/y/z/b", "a b x/b a/.x/b"),
        ("a**b", "ab axb a**b", "a/b"),
        ("**/**/a", "a x/a", "b"),
        ("./a", "a", "b"),
        ("*a*b*c", "abc xaybzc aabbcc abcbc", "acb abcx"),
        ("a?c*", "abc axcd", "ac abd"),
        ("[a-cx]", "a b c x", "d -"),
        ("[^a-c]", "d ä", "a"),
        ("[a-]", "a -", "b"),
        ("[{a}].c", "a.c {.c }.c", "b.c"),
    ] {
        let glob = Glob::parse(pattern).unwrap().1;
        for path in matching.split(' ') {
            assert!(glob.matches_path(path), "{pattern} should match {path}");
        }
        for path in others.split(' ') {
            assert!(!glob.matches_path(path), "{pattern} should not match {path}");
        }
    }
}

#[test]
fn hidden_names_match_if_they_are_shown() {
    let glob = Glob::parse("**/*.yml").unwrap().1.showing_hidden();
    assert!(glob.matches_path(".github/.a.yml"));
    assert!(!glob.matches_path(".git/a.yml"));
}

#[test]
fn like_patterns_match_as_in_sql() {
    for (pattern, matching, others) in [
        ("sql/%", "sql/a.sql sql/b/c.sql sql/", "sqlx/a xsql/a"),
        ("%.sql", "a.sql a/b.sql .sql", "a.sqlx"),
        ("%a_b%", "aab xaxb/c", "ab"),
        ("%", "a a/b", ""),
        ("a%b%c", "abc axbyc a/b/c", "ab acb"),
        ("%%", "a", ""),
        ("%%a%%_%%%", "ab xaxb/c", "a b"),
    ] {
        let glob = Glob::like(pattern).unwrap();
        for path in matching.split(' ') {
            assert!(glob.matches_path(path), "{pattern} should match {path}");
        }
        for path in others.split(' ').filter(|path| !path.is_empty()) {
            assert!(!glob.matches_path(path), "{pattern} should not match {path}");
        }
    }
}

#[test]
fn directories_that_cannot_match_are_not_entered() {
    let enters = |pattern: &str, name: &str| {
        let glob = Glob::parse(pattern).unwrap().1;
        glob.enter(&glob.start(), OsStr::new(name)).is_some()
    };
    for (pattern, name, is_entered) in [
        ("*.rs", "src", false),
        ("*/*.rs", "src", true),
        ("s*/a", "src", true),
        ("t*/a", "src", false),
        ("**/a", "src", true),
        ("**/a", ".git", false),
        ("{a,b}/c", "b", true),
        ("{a,b}/c", "c", false),
    ] {
        assert_eq!(enters(pattern, name), is_entered, "{pattern} {name}");
    }
    let like = Glob::like("sql/%").unwrap();
    assert!(like.enter(&like.start(), OsStr::new("sql")).is_some());
    assert!(like.enter(&like.start(), OsStr::new("src")).is_none());
}

#[test]
fn rejects_invalid_patterns_with_a_reason() {
    for (pattern, cause) in [
        ("[a", "a bracket is not closed"),
        ("[z-a]", "the range z-a is reversed"),
        ("*\\", "it ends with a backslash"),
        ("{a,b", "a brace is not closed"),
        ("*/../x", "`..` can only come before the first wildcard"),
        (&"{a,b}".repeat(9), "braces expand to more than 256 patterns"),
        (&"*/".repeat(70), "it has more than 63 parts"),
        (&"x".repeat(5000), "it is longer than 4096 bytes"),
        (&"{".repeat(40), "braces are nested more than 16 deep"),
    ] {
        match Glob::parse(pattern) {
            Err(Error::BadGlob { cause: found, .. }) => assert!(found.contains(cause), "{found}"),
            other => panic!("{pattern}: {other:?}"),
        }
    }
}

#[test]
fn directories_share_a_state_that_does_not_change() {
    let (_, glob) = Glob::parse("**/{a,b}/x").unwrap();
    let start = glob.start();
    let is_same = |one: &GlobState, other: &GlobState| match (one, other) {
        (GlobState::Parts(one), GlobState::Parts(other)) => Arc::ptr_eq(one, other),
        _ => false,
    };
    assert!(is_same(&start, &glob.enter(&start, OsStr::new("c")).unwrap()));
    let [one, other] = [(); 2].map(|()| glob.enter(&start, OsStr::new("a")).unwrap());
    assert!(!is_same(&one, &other));
    assert!(is_same(&one, &other.shared_with(Some(&one))));
}
