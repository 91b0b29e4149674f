//! Pairs of versions of real files: from this project's history, of different files, and of files
//! with lines deleted, doubled, moved and edited.
//!
//! The history is an archive, `history.json.zst`, so that every machine replays the same changes.
//! `UPDATE_EXPECT=1 cargo test -p recto --test suite replay::pairs -- --ignored` rewrites it from
//! the commits of this repository.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Larger files only take longer.
const MAX_BYTES: usize = 60_000;

/// The most pairs in the archive, and the most of one file.
const MAX_PAIRS: usize = 400;
const MAX_PAIRS_OF_A_FILE: usize = 4;

const N_MUTATIONS: usize = 700;

/// Two versions of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The origin of the pair, for messages.
    pub name: String,
    pub old: String,
    pub new: String,
}

/// Returns the pairs of each source.
pub fn all() -> Vec<(&'static str, Vec<Pair>)> {
    let commits = commits();
    let others = neighbours(&commits);
    let mutations = mutations(&commits);
    vec![("commits", commits), ("neighbouring files", others), ("mutations", mutations)]
}

/// Returns the changes in the archive.
pub fn commits() -> Vec<Pair> {
    decode(include_bytes!("history.json.zst"))
}

fn encode(pairs: &[Pair]) -> Vec<u8> {
    zstd::encode_all(&*serde_json::to_vec(pairs).unwrap(), 19).unwrap()
}

fn decode(archive: &[u8]) -> Vec<Pair> {
    serde_json::from_slice(&zstd::decode_all(archive).unwrap()).unwrap()
}

#[test]
#[ignore = "needs the history of this repository; UPDATE_EXPECT=1 writes the archive"]
fn an_archive_can_be_made_of_the_history() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut n_of_file: HashMap<String, usize> = HashMap::new();
    let is_kept = |pair: &Pair| {
        let n = n_of_file.entry(pair.name.clone()).or_default();
        *n += 1;
        *n <= MAX_PAIRS_OF_A_FILE
    };
    let pairs: Vec<Pair> = history(&top).filter(is_kept).take(MAX_PAIRS).collect();
    assert_eq!(pairs.len(), MAX_PAIRS);
    let archive = encode(&pairs);
    println!("{} bytes", archive.len());
    assert!(archive.len() < 1 << 20 && decode(&archive) == pairs);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(top.join("crates/recto/tests/suite/replay/history.json.zst"), archive)
            .unwrap();
    }
}

/// Pairs the old versions of different files.
fn neighbours(pairs: &[Pair]) -> Vec<Pair> {
    let both = pairs.windows(2).filter(|both| both[0].name != both[1].name);
    both.step_by(3)
        .map(|both| Pair { new: both[1].old.clone(), ..both[0].clone() })
        .filter(|pair| pair.old != pair.new)
        .collect()
}

/// Reads the files that single commits of a repository changed, newest first.
pub fn history(repository: &Path) -> impl Iterator<Item = Pair> {
    let repository: PathBuf = repository.into();
    let git = move |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(&repository).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        output.stdout
    };
    let log = git(&["log", "--raw", "--no-abbrev", "--no-renames", "--format="]);
    let changes: Vec<String> = String::from_utf8_lossy(&log).lines().map(str::to_string).collect();
    // :100644 100644 <old> <new> M\t<path>
    changes.into_iter().filter_map(move |change| {
        let fields: Vec<&str> = change.split_whitespace().collect();
        let [":100644", "100644", old, new, "M", path] = fields[..] else { return None };
        let blob = |id: &str| usable(git(&["cat-file", "blob", id]));
        let (old, new) = (blob(old)?, blob(new)?);
        (old != new).then(|| Pair { name: path.into(), old, new })
    })
}

/// NUL makes a file binary, and a BOM is not part of a text.
fn usable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let is_usable = text.len() <= MAX_BYTES && !text.contains(['\0', '\u{feff}']);
    is_usable.then_some(text)
}

/// Returns files of the archive, each with some lines changed.
fn mutations(pairs: &[Pair]) -> Vec<Pair> {
    let mut random = Random::new(0x5eed);
    let texts = pairs.iter().filter(|pair| !pair.new.is_empty()).cycle();
    texts
        .map(|Pair { name, new, .. }| Pair {
            name: name.clone(),
            old: new.clone(),
            new: mutated(&mut random, new),
        })
        .filter(|pair| pair.old != pair.new)
        .take(N_MUTATIONS)
        .collect()
}

/// Deletes, doubles, moves and edits a few runs of lines.
fn mutated(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_string).collect();
    for _ in 0..=random.below(7) {
        let first = random.below(lines.len());
        let past = (first + 1 + random.below(4)).min(lines.len());
        match random.below(6) {
            _ if lines.is_empty() => lines.push("// new\n".into()),
            0 => drop(lines.drain(first..past)),
            1 => {
                let run = lines[first..past].to_vec();
                lines.splice(past..past, run);
            }
            2 => {
                let run: Vec<String> = lines.drain(first..past).collect();
                let place = random.below(lines.len() + 1);
                lines.splice(place..place, run);
            }
            3 => lines.push(format!("// at the end {first}\n")),
            4 => lines[first] = format!("    {}", lines[first].replacen(' ', "  ", 1)),
            _ => lines.insert(random.below(lines.len() + 1), format!("// {first}\n")),
        }
    }
    lines.concat()
}
