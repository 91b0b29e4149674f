//! Races: while a client lists and searches, another process swaps the directory for a link to the
//! outside.

use serde_json::{Value, json};

use crate::client::Actual;
use crate::confinement::Confinement;
use crate::swaps::while_swapping;
use crate::test_dir::{INSIDE, OUTSIDE, Session, TestDir, said};

/// The number of calls under each kind of confinement.
const SHORT: usize = 700;
const LONG: usize = 100_000;

/// Races calls against swaps of two names, under every kind of confinement. The calls take turns.
fn check(n_rounds: usize, dir: &TestDir, one: &str, other: &str, calls: &[(&str, Value)]) {
    for confinement in Confinement::ALL {
        check_with(confinement, n_rounds, dir, one, other, calls);
    }
}

fn check_with(
    confinement: Confinement,
    n_rounds: usize,
    dir: &TestDir,
    one: &str,
    other: &str,
    calls: &[(&str, Value)],
) {
    let (one, other) = (dir.path(one), dir.path(other));
    let (mut n_found, mut n_empty, mut n_refused) = (0, 0, 0);
    while_swapping(&one, &other, || {
        let session = Session::start_command(confinement.serve(&dir.path("root"), &[""; 0]).into());
        for round in 0..n_rounds {
            let (tool, arguments) = &calls[round % calls.len()];
            let actual = session.call(tool, arguments.clone());
            let told = said(&actual);
            assert!(!told.contains("hush"), "round {round}: {tool} {arguments} revealed {told}");
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
    println!(
        "{confinement:?}: {n_found} found something, {n_empty} nothing, {n_refused} were refused"
    );
    assert!(n_found > 0 && n_empty + n_refused > 0, "no call hit a swap");
}

/// Names inside start with `plain`, names outside with `hush`.
fn with_files(folders: &[&str]) -> TestDir {
    let dir = TestDir::new();
    for folder in folders {
        for n in 0..3 {
            dir.file(&format!("root/{folder}/plain-{n}.txt"), INSIDE);
        }
    }
    for folder in ["", "x/", "x/y/"] {
        dir.file(&format!("outside/{folder}hush.txt"), OUTSIDE);
        dir.file(&format!("outside/{folder}plain-0.txt"), OUTSIDE);
    }
    dir
}

#[test]
fn a_directory_swapped_for_a_link_is_not_listed() {
    check_listed_directory(SHORT);
}

#[test]
#[ignore = "long: 100,000 calls of each kind"]
fn a_directory_swapped_for_a_link_is_not_listed_long() {
    check_listed_directory(LONG);
}

fn check_listed_directory(n_rounds: usize) {
    let dir = with_files(&["d", "d/x/y"]);
    dir.link("root/e", "../outside");
    let patterns = [dir.spelled("root/d/**"), "d/*".into(), "**/d/**".into(), "d/x/y/*".into()];
    let calls = patterns.map(|pattern| ("ListFiles", json!({"pattern": pattern})));
    check(n_rounds, &dir, "root/d", "root/e", &calls);
}

#[test]
fn a_directory_swapped_for_a_link_is_not_searched() {
    check_searched_directory(SHORT);
}

#[test]
#[ignore = "long: 100,000 calls of each kind"]
fn a_directory_swapped_for_a_link_is_not_searched_long() {
    check_searched_directory(LONG);
}

fn check_searched_directory(n_rounds: usize) {
    let dir = with_files(&["d", "d/x/y"]);
    dir.link("root/e", "{base}/outside");
    let patterns = [dir.spelled("root/d/**"), "d/*".into(), "**/*.txt".into(), "d/x/y/*".into()];
    let calls =
        patterns.map(|path| ("ReadLines", json!({"file_path": path, "match": "side", "ctx": 1})));
    check(n_rounds, &dir, "root/d", "root/e", &calls);
}

#[test]
fn a_file_swapped_for_a_link_is_neither_read_nor_searched() {
    check_file(SHORT);
}

#[test]
#[ignore = "long: 100,000 calls of each kind"]
fn a_file_swapped_for_a_link_is_neither_read_nor_searched_long() {
    check_file(LONG);
}

fn check_file(n_rounds: usize) {
    let dir = with_files(&["d"]);
    dir.link("root/d/e", "../../outside/hush.txt");
    dir.file("root/d/plain-0.txt", "plain,inside\n1,2\n");
    let calls = [
        ("ReadLines", json!({"file_path": "d/plain-0.txt", "match": "side"})),
        ("ReadLines", json!({"file_path": "**/plain-0*", "match": "side"})),
        ("ReadAsTable", json!({"file_path": "d/plain-0.txt"})),
    ];
    check(n_rounds, &dir, "root/d/plain-0.txt", "root/d/e", &calls);
}
