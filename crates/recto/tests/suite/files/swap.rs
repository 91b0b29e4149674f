//! The race: while a client lists and searches, somebody swaps what is walked for a link to the
//! outside, as fast as the system lets them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::yard::{INSIDE, OUTSIDE, Session, Yard, said};
use crate::client::Actual;
use crate::walls::Walls;

/// How many calls are made behind each arrangement of walls: seconds, or with `RECTO_LONG` minutes.
fn n_rounds() -> usize {
    if std::env::var_os("RECTO_LONG").is_some() { 100_000 } else { 700 }
}

/// Exchanges two names until told to stop.
fn swap(one: &Path, other: &Path, is_over: &AtomicBool) {
    let exchange = || renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    while !is_over.load(Ordering::Relaxed) {
        exchange();
        exchange();
    }
}

struct Raise<'a>(&'a AtomicBool);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Races calls against swaps of two names, behind every arrangement of walls. The calls take turns.
fn check(yard: &Yard, one: &str, other: &str, calls: &[(&str, Value)]) {
    for walls in Walls::ALL {
        check_behind(walls, yard, one, other, calls);
    }
}

fn check_behind(walls: Walls, yard: &Yard, one: &str, other: &str, calls: &[(&str, Value)]) {
    let is_over = AtomicBool::new(false);
    let (one, other) = (yard.path(one), yard.path(other));
    let (mut n_found, mut n_empty, mut n_refused) = (0, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&one, &other, &is_over));
        // The swaps end also when a call panics.
        let _end = Raise(&is_over);
        let session = Session::start_command(walls.serve(&yard.path("root"), &[""; 0]).into());
        for round in 0..n_rounds() {
            let (tool, arguments) = &calls[round % calls.len()];
            let actual = session.call(tool, arguments.clone());
            let told = said(&actual);
            assert!(!told.contains("hush"), "round {round}: {tool} {arguments} told {told}");
            match actual {
                Actual::Answer { structured, .. } => {
                    let is_found = told.contains("plain");
                    *(if is_found { &mut n_found } else { &mut n_empty }) += 1;
                    let files = structured["files"].as_array().into_iter().flatten();
                    let rows = structured["rows"].as_array().into_iter().flatten();
                    for path in files.chain(rows.map(|row| &row["file_path"])) {
                        let path = path.as_str().unwrap_or_default();
                        assert!(path.is_empty() || path.contains("plain"), "{path}");
                    }
                }
                Actual::Error { code: -32003..=-32001 | -32017, .. } => n_refused += 1,
                other => panic!("round {round}: {tool} {arguments}: {other:?}"),
            }
        }
    });
    println!("{walls:?}: {n_found} found something, {n_empty} nothing, {n_refused} were refused");
    assert!(n_found > 0 && n_empty + n_refused > 0, "there was no race");
}

/// Inside are `plain` names, outside `hush` names.
fn with_files(folders: &[&str]) -> Yard {
    let yard = Yard::new();
    for folder in folders {
        for n in 0..3 {
            yard.file(&format!("root/{folder}/plain-{n}.txt"), INSIDE);
        }
    }
    for folder in ["", "x/", "x/y/"] {
        yard.file(&format!("outside/{folder}hush.txt"), OUTSIDE);
        yard.file(&format!("outside/{folder}plain-0.txt"), OUTSIDE);
    }
    yard
}

#[test]
fn a_folder_swapped_for_a_link_is_not_listed_through() {
    let yard = with_files(&["d", "d/x/y"]);
    yard.link("root/e", "../outside");
    let patterns = [yard.spelled("root/d/**"), "d/*".into(), "**/d/**".into(), "d/x/y/*".into()];
    let calls = patterns.map(|pattern| ("ListFiles", json!({"pattern": pattern})));
    check(&yard, "root/d", "root/e", &calls);
}

#[test]
fn a_folder_swapped_for_a_link_is_not_searched_through() {
    let yard = with_files(&["d", "d/x/y"]);
    yard.link("root/e", "{base}/outside");
    let patterns = [yard.spelled("root/d/**"), "d/*".into(), "**/*.txt".into(), "d/x/y/*".into()];
    let calls =
        patterns.map(|path| ("ReadLines", json!({"file_path": path, "match": "side", "ctx": 1})));
    check(&yard, "root/d", "root/e", &calls);
}

#[test]
fn a_file_swapped_for_a_link_is_neither_read_nor_searched() {
    let yard = with_files(&["d"]);
    yard.link("root/d/e", "../../outside/hush.txt");
    yard.file("root/d/plain-0.txt", "plain,inside\n1,2\n");
    let calls = [
        ("ReadLines", json!({"file_path": "d/plain-0.txt", "match": "side"})),
        ("ReadLines", json!({"file_path": "**/plain-0*", "match": "side"})),
        ("ReadAsTable", json!({"file_path": "d/plain-0.txt"})),
    ];
    check(&yard, "root/d/plain-0.txt", "root/d/e", &calls);
}
