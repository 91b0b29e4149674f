//! `ListFiles` compared with an independent walk, an independent glob matcher, and git for ignore
//! rules.

use std::path::Path;

use serde_json::{Value, json};

use super::globs::{escaped, matches};
use super::trees::{self, files, make_repository, not_ignored};
use crate::random::Random;
use crate::test_dir::{Session, TestDir, strings};

/// None of these matches inside `.git`, which git does not list.
const PATTERNS: &[&str] = &[
    "**",
    "*",
    "*/*",
    "**/*.txt",
    "**/*.{rs,log}",
    "**/.[!g]*",
    ".[!g]*/**",
    "**/.gitignore",
    "src/**",
    "src/*",
    "**/src/**/*.rs",
    "{src,lib,build}/**",
    "**/{a,b}/**",
    "[a-m]*/**",
    "**/[!a-z]*",
    "**/?",
    "*/**/*s*",
    "**/a*b",
    r"**/\[b\]/**",
    "**/new?line",
    "./a/./**",
];

fn listed(session: &Session, tree: &Path, pattern: &str, ignored: bool) -> Value {
    let pattern = format!("{}/{pattern}", tree.file_name().unwrap().to_str().unwrap());
    let limit = 100_000;
    session.answer("ListFiles", json!({"pattern": pattern, "ignored": ignored, "limit": limit}))
}

/// Compares one pattern with all files and with those that git does not ignore.
pub fn check(
    session: &Session,
    tree: &Path,
    pattern: &str,
    files: &[String],
    is_shown: impl Fn(&String) -> bool,
) -> Result<(), String> {
    for ignored in [false, true] {
        let mut expected: Vec<String> = files
            .iter()
            .filter(|path| matches(pattern, path) && (ignored || is_shown(path)))
            .map(|path| format!("{}/{path}", tree.display()))
            .collect();
        expected.sort();
        let answer = listed(session, tree, pattern, ignored);
        let found = strings(&answer["files"]);
        if found != expected {
            let only = |one: &[String], other: &[String]| {
                let mut only = one.to_vec();
                only.retain(|path| !other.contains(path));
                only.truncate(4);
                only
            };
            return Err(format!(
                "{pattern:?} in {}, ignored: {ignored}\n  missing {:?}\n  too many {:?}\n  {}",
                tree.display(),
                only(&expected, &found),
                only(&found, &expected),
                rules_of(tree),
            ));
        }
        assert_eq!(answer["total"], expected.len(), "{pattern:?}: {answer}");
        assert_eq!(answer["truncated"], false, "{pattern:?}: {answer}");
    }
    Ok(())
}

/// Returns all rules of a tree, for a message.
fn rules_of(tree: &Path) -> String {
    let mut told = Vec::new();
    for path in files(tree).iter().filter(|path| path.ends_with(".gitignore")) {
        told.push(format!("{path}: {:?}", std::fs::read_to_string(tree.join(path)).unwrap()));
    }
    told.push(format!("exclude: {:?}", std::fs::read_to_string(tree.join(".git/info/exclude"))));
    told.join("\n  ")
}

/// Returns patterns for entries of a tree.
fn patterns_from(files: &[String], random: &mut Random) -> Vec<String> {
    let mut patterns = Vec::new();
    for _ in 0..if files.is_empty() { 0 } else { 1 } {
        let path = &files[random.below(files.len())];
        let literal: Vec<String> = path.split('/').map(escaped).collect();
        patterns.push(literal.join("/"));
        patterns.push(format!("**/{}", literal[literal.len() - 1]));
        if literal.len() > 1 {
            let n_parts = 1 + random.below(literal.len() - 1);
            patterns.push(format!("{}/**", literal[..n_parts].join("/")));
            patterns.push(format!("*/{}", literal[1..].join("/")));
        }
    }
    patterns
}

#[test]
fn listings_of_random_trees_agree_with_git_and_a_plain_walk() {
    check_trees(200);
}

#[test]
#[ignore = "long: 5,000 trees"]
fn listings_of_random_trees_agree_with_git_and_a_plain_walk_long() {
    check_trees(5_000);
}

fn check_trees(n_trees: u64) {
    let dir = TestDir::new();
    let session = dir.serve(&[]);
    let mut failures = Vec::new();
    let (mut n_files, mut n_shown, mut n_patterns) = (0, 0, 0);
    for seed in 0..n_trees {
        let mut random = Random::new(seed);
        let tree = dir.path(format!("root/t{seed}"));
        trees::make(&tree, &mut random);
        let all = files(&tree);
        let patterns = patterns_from(&all, &mut random);
        // Rules also apply without a repository.
        let before = listed(&session, &tree, "**", false);
        make_repository(&tree, &mut random);
        let shown = not_ignored(&tree);
        if !tree.join(".git/info/exclude").exists() {
            assert_eq!(listed(&session, &tree, "**", false)["files"], before["files"], "t{seed}");
        }
        // Part of the table for each tree, so that all of it is covered many times.
        let mut table = vec!["**"];
        table.extend((0..6).map(|_| random.pick(PATTERNS)));
        for pattern in table.into_iter().chain(patterns.iter().map(String::as_str)) {
            let checked = check(&session, &tree, pattern, &all, |path| shown.contains(path));
            failures.extend(checked.err());
            n_patterns += 1;
        }
        n_files += all.len();
        n_shown += shown.len();
        std::fs::remove_dir_all(tree).unwrap();
    }
    println!("{n_files} files in {n_trees} trees, {n_shown} not ignored");
    let shown = failures[..failures.len().min(8)].join("\n\n");
    assert!(failures.is_empty(), "{} of {n_patterns} patterns\n\n{shown}", failures.len());
    assert!(n_shown > n_files / 5 && n_shown < n_files * 9 / 10, "{n_shown} of {n_files}");
}
