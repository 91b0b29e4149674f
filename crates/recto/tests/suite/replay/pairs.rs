//! Pairs of versions of real files: of crates in the cargo registry, of this project's history,
//! and of its files with lines deleted, doubled, moved and edited.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Larger files only take longer.
const MAX_BYTES: usize = 60_000;

/// The most pairs from each source, and the fewest made from this project's own files.
const MAX_VERSIONS: usize = 300;
const MAX_NEIGHBOURS: usize = 100;
const MAX_HISTORY: usize = 100;
const N_MUTATIONS: usize = 700;

/// Two versions of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Where it came from, for messages.
    pub name: String,
    pub old: String,
    pub new: String,
}

/// Everything that this machine has, with a word for its source.
pub fn all() -> Vec<(&'static str, Vec<Pair>)> {
    let crates = crates();
    vec![
        ("versions of a crate", between(&versions(&crates), MAX_VERSIONS)),
        ("neighbouring crates", between(&neighbours(&crates), MAX_NEIGHBOURS)),
        ("commits", history(MAX_HISTORY)),
        ("mutations", mutations(N_MUTATIONS)),
    ]
}

/// Xorshift: the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}

/// The folders of unpacked crates, sorted.
fn crates() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let Some(home) = home else { return Vec::new() };
    let registries = entries(&home.join("registry/src"));
    registries.iter().flat_map(|registry| entries(registry)).collect()
}

/// Folders that hold the same crate in two versions.
fn versions(crates: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
    let mut by_name: BTreeMap<String, Vec<&PathBuf>> = BTreeMap::new();
    for folder in crates {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_version = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
        let mut dashes = name.match_indices('-').map(|(at, _)| at);
        if let Some(dash) = dashes.find(|at| is_version(&name[at + 1..])) {
            by_name.entry(name[..dash].to_string()).or_default().push(folder);
        }
    }
    let pairs = by_name.values().flat_map(|folders| folders.windows(2));
    pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// Folders next to each other in the list: crates of a family, and their manifests and licences.
fn neighbours(crates: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
    crates.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// Files that stand in both folders of a pair and differ, a few of each pair in turn.
fn between(folders: &[(PathBuf, PathBuf)], max_pairs: usize) -> Vec<Pair> {
    let mut lists: Vec<_> = folders
        .iter()
        .map(|(old, new)| {
            let mut files = Vec::new();
            files_below(old, &mut files);
            (old, new, files.into_iter())
        })
        .collect();
    let mut pairs = Vec::new();
    while !lists.is_empty() {
        lists.retain_mut(|(old, new, files)| {
            let Some(file) = files.next() else { return false };
            let other = new.join(file.strip_prefix(&**old).unwrap_or(&file));
            if let (Some(old), Some(new)) = (text_of(&file), text_of(&other))
                && pairs.len() < max_pairs
            {
                push(&mut pairs, file.display().to_string(), old, new);
            }
            pairs.len() < max_pairs
        });
    }
    pairs
}

fn push(pairs: &mut Vec<Pair>, name: String, old: String, new: String) {
    if old != new {
        pairs.push(Pair { name, old, new });
    }
}

/// Files that one commit of this project changed, as far as there is a history.
fn history(max_pairs: usize) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let log = git(&["log", "--raw", "--no-abbrev", "--no-renames", "--format=", "-n", "200"]);
    // :100644 100644 <old> <new> M\t<path>
    for change in log.unwrap_or_default().lines() {
        let fields: Vec<&str> = change.split_whitespace().collect();
        let [":100644", "100644", old, new, "M", path] = fields[..] else { continue };
        if pairs.len() == max_pairs {
            break;
        }
        if let (Some(old), Some(new)) = (blob(old), blob(new)) {
            push(&mut pairs, path.to_string(), old, new);
        }
    }
    pairs
}

fn blob(id: &str) -> Option<String> {
    usable(git(&["cat-file", "blob", id])?)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(top()).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok()).flatten()
}

/// This project's files, each several times, with other lines changed each time.
fn mutations(n_pairs: usize) -> Vec<Pair> {
    let mut files = Vec::new();
    for folder in ["crates", "docs", "contracts", "dev/bench"] {
        files_below(&top().join(folder), &mut files);
    }
    files.extend(entries(&top()).into_iter().filter(|path| path.is_file()));
    let is_source = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| ["rs", "md", "toml"].iter().any(|known| extension == *known))
    };
    let texts: Vec<(String, String)> = files
        .into_iter()
        .filter(is_source)
        .filter_map(|path| Some((path.display().to_string(), text_of(&path)?)))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    assert!(!texts.is_empty(), "this project has sources");
    let mut pairs = Vec::new();
    let mut random = Random(0x5eed);
    while pairs.len() < n_pairs {
        for (name, text) in &texts {
            push(&mut pairs, name.clone(), text.clone(), mutated(&mut random, text));
        }
    }
    pairs
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

/// The text of a file, if it is one that a pair can be made of.
fn text_of(path: &Path) -> Option<String> {
    let n_bytes = std::fs::metadata(path).ok()?.len();
    if n_bytes > MAX_BYTES as u64 {
        return None;
    }
    usable(std::fs::read_to_string(path).ok()?)
}

/// NUL makes a file binary, and a BOM is no part of a text.
fn usable(text: String) -> Option<String> {
    let is_usable = text.len() <= MAX_BYTES && !text.contains(['\0', '\u{feff}']);
    is_usable.then_some(text)
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(listed) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}
