//! What the journal costs, in the long form only: times of edits with and without it, sizes, and the
//! time to list changes. The store is called without a protocol, so the factors are upper bounds.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use recto_journal::keeping::{self, Limits};
use recto_journal::{Filter, Journal, Reader, Settings, StateDir};
use recto_store::local::Options;
use recto_store::path::AbsPath;
use recto_store::record::Recording;
use recto_store::{Context, Hold, LocalStore, WriteStore};

fn store(root: &Path, state: Option<&Path>) -> (LocalStore, Option<Arc<Journal>>) {
    let options = Options {
        roots: vec![root.to_path_buf()],
        hidden: Default::default(),
        allows_git_writes: false,
        is_durable: true,
    };
    let store = LocalStore::open(options).unwrap();
    let Some(state) = state else { return (store, None) };
    let settings =
        Settings { session: "cost".into(), excluded: Vec::new(), limits: Limits::default() };
    let journal = Arc::new(Journal::new(StateDir::create(state).unwrap(), settings));
    (store.with_recording(Recording::new(journal.clone(), true)), Some(journal))
}

/// Replaces one line in the middle of a file, and returns how long it took.
fn edit(store: &LocalStore, path: &Path, round: usize) -> Duration {
    let path = AbsPath::parse(path.to_str().unwrap().into()).unwrap();
    let context = Context::default();
    let start = Instant::now();
    let Hold::File(file) = store.hold(&path, &context).unwrap() else { panic!("it exists") };
    let file = file.whole().ok().unwrap();
    let mut content = file.content().bytes().to_vec();
    let middle = content.len() / 2;
    let at = middle + content[middle..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let line = format!("edited {round:10}\n");
    content[at..at + line.len()].copy_from_slice(line.as_bytes());
    assert!(file.replace_bytes(&content).is_ok());
    start.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn text(n_bytes: usize) -> String {
    (0..n_bytes / 18).map(|line| format!("line {line:12}\n")).collect()
}

#[test]
#[ignore = "a measurement"]
fn cost_of_an_edit() {
    for (n_bytes, n_rounds) in [(8 << 10, 400), (1 << 20, 200)] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = folder.path().canonicalize().unwrap().join("root");
        fs::create_dir(&root).unwrap();
        let state = folder.path().join("state");
        let stores = [store(&root, None).0, store(&root, Some(&state)).0];
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..n_rounds {
            // Every tenth edit is the first of its file.
            let paths: Vec<PathBuf> = ["off", "on"]
                .iter()
                .map(|name| root.join(format!("{name}-{}.txt", round / 10)))
                .collect();
            if round % 10 == 0 {
                paths.iter().for_each(|path| fs::write(path, text(n_bytes)).unwrap());
            }
            for index in [round % 2, 1 - round % 2] {
                times[index].push(edit(&stores[index], &paths[index], round));
            }
        }
        let [off, on] = times.each_mut().map(|times| median(times));
        let factor = on.as_secs_f64() / off.as_secs_f64();
        println!("{n_bytes} bytes: off {off:?}, on {on:?}, factor {factor:.2}");
    }
}

#[test]
#[ignore = "a measurement"]
fn several_processes() {
    for n_processes in [1, 4] {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let state = folder.path().join("state");
        let mut times: Vec<Duration> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..n_processes)
                .map(|process| {
                    let (folder, state) = (folder.path().canonicalize().unwrap(), state.clone());
                    scope.spawn(move || {
                        let root = folder.join(format!("root{process}"));
                        fs::create_dir(&root).unwrap();
                        fs::write(root.join("f"), text(8 << 10)).unwrap();
                        let (store, _journal) = store(&root, Some(&state));
                        let edits = (0..300).map(|round| edit(&store, &root.join("f"), round));
                        edits.collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        times.sort();
        let p99 = times[times.len() * 99 / 100];
        println!("{n_processes} journals: median {:?}, p99 {p99:?}", times[times.len() / 2]);
    }
}

#[test]
#[ignore = "a measurement"]
fn size_and_time_to_list_10_000_changes() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = folder.path().canonicalize().unwrap().join("root");
    fs::create_dir(&root).unwrap();
    let state = folder.path().join("state");
    let (store, journal) = store(&root, Some(&state));
    for round in 0..10_000 {
        let path = root.join(format!("f{}.txt", round % 50));
        if round < 50 {
            fs::write(&path, text(8 << 10)).unwrap();
        }
        edit(&store, &path, round);
    }
    journal.unwrap().flush();
    let dir = StateDir::create(&state).unwrap();
    println!("size of 10,000 edits: {} bytes", keeping::size(&dir).unwrap().n_bytes);
    let start = Instant::now();
    let reader = Reader::open(&dir).unwrap().unwrap();
    let n_changes = reader.changes(&Filter::default()).unwrap().len();
    println!("{n_changes} changes listed in {:?}", start.elapsed());
}
