//! Tests of the budget of a walk.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use super::*;
use crate::memory_budget::MemoryBudget;
use crate::path::AbsPath;

#[test]
fn suggestions_come_from_a_bounded_number_of_entries() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..200 {
        std::fs::write(folder.path().join(format!("{n}")), "").unwrap();
    }
    let root = folder.path().to_path_buf();
    let roots = Roots::open(std::slice::from_ref(&root), Default::default()).unwrap();
    let (_, glob) = Glob::parse("*").unwrap();
    let folder = AbsPath::of(root, String::new());
    let request = ListRequest { folder: &folder, glob: &glob, shows_ignored: true, limit: 200 };
    let past = Instant::now();
    let future = past + Duration::from_secs(60);
    for (max_entries, deadline, n_before_deadline, is_whole) in [
        (200, future, 0, true),
        (199, future, 0, false),
        (200, past, 0, false),
        (200, past, 201, true),
    ] {
        let budget = WalkBudget { max_entries, deadline, n_before_deadline };
        let listing = list_within(&roots, &request, budget, &Context::default()).unwrap();
        assert_eq!(listing.files.len() == 200, is_whole, "{budget:?}");
        assert_eq!(listing.stopped.is_none(), is_whole, "{budget:?}");
    }
}

#[test]
fn a_walk_stops_when_there_is_no_memory_for_its_matches() {
    let folder = tempfile::tempdir().unwrap();
    let name = "x".repeat(200);
    for n in 0..6_000 {
        std::fs::write(folder.path().join(format!("{name}{n}")), "").unwrap();
    }
    let root = folder.path().to_path_buf();
    let roots = Roots::open(std::slice::from_ref(&root), Default::default()).unwrap();
    let (_, glob) = Glob::parse("*").unwrap();
    let folder = AbsPath::of(root, String::new());
    let request = ListRequest { folder: &folder, glob: &glob, shows_ignored: true, limit: 6_000 };
    for (n_bytes, is_whole) in [(memory::STEP - 1, false), (memory::STEP, true)] {
        let memory = Arc::new(MemoryBudget::new(n_bytes, Duration::ZERO)).for_call();
        let context = Context { memory, ..Context::default() };
        let listing = list(&roots, &request, &context).unwrap();
        assert_eq!(listing.stopped.is_none(), is_whole, "{:?}", listing.stopped);
        assert_eq!(listing.files.len() == 6_000, is_whole);
        assert!(listing.files.is_sorted());
    }
    // More files than the limit, in a directory that is read in two parts.
    let mut first: Vec<String> = (0..6_000).map(|n| format!("{name}{n}")).collect();
    first.sort();
    first.truncate(100);
    let listing = list(&roots, &ListRequest { limit: 100, ..request }, &Context::default());
    assert_eq!(listing.unwrap().files, first);
}

/// Files of a directory, its subdirectories and their files are between each other.
#[test]
fn files_are_in_the_order_of_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for dir in ["", "a/", "a/b/", "a-b/", "a.b/", "a0/", "b/", "b/a/", "b/a/a/", "é/"] {
        for sub in ["", "a1/", "a!/", "a.txt.d/", "z/"] {
            let dir = format!("{dir}{sub}");
            std::fs::create_dir_all(folder.path().join(&dir)).unwrap();
            for name in ["a.txt", "a!b", "a~", "a1.txt", "aa", "z!", "zz", "Z"] {
                all.push(format!("{dir}{name}"));
                std::fs::write(folder.path().join(&dir).join(name), "").unwrap();
            }
        }
    }
    all.sort();
    all.dedup();
    let root = folder.path().to_path_buf();
    let roots = Roots::open(std::slice::from_ref(&root), Default::default()).unwrap();
    let (_, glob) = Glob::parse("**").unwrap();
    let folder = AbsPath::of(root, String::new());
    for limit in [0, 1, 7, all.len() - 1, all.len(), 2 * all.len()] {
        let request = ListRequest { folder: &folder, glob: &glob, shows_ignored: true, limit };
        let listing = list(&roots, &request, &Context::default()).unwrap();
        assert_eq!(listing.files, all[..limit.min(all.len())], "{limit}");
        assert_eq!(listing.total, all.len() as u64);
    }
}
