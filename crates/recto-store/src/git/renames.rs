//! Pairs removed with added files, as git detects renames: by id, then by unique names, then by
//! similarity.

use std::collections::HashMap;
use std::sync::Arc;

use gix_object::tree::EntryKind;

use super::history::Stop;
use super::tree::TreeEntry;
use crate::lru::Lru;
use recto_text::line_diff::is_binary;

/// The score of identical files, in git's units.
const MAX_SCORE: u64 = 60_000;

/// Files that are less similar are not renamed: 50 %.
const MIN_SCORE: u64 = 30_000;

/// The same for files whose names are unique: 75 %.
const MIN_BASENAME_SCORE: u64 = 45_000;

/// The most removed and added files that are compared: git's `diff.renameLimit`, squared.
const MAX_COMPARED: usize = 1000 * 1000;

/// How many identical sources are inspected for each added file.
const MAX_IDENTICAL: usize = 100;

/// How many sources are remembered for each added file.
const N_CANDIDATES: usize = 4;

/// A file that may be one side of a rename.
pub struct Candidate<'a> {
    /// The path.
    pub path: &'a [u8],
    /// Its type and id.
    pub entry: TreeEntry,
}

/// How often each piece of a file occurs, in bytes: `(hash, n_bytes)`, sorted.
pub struct Fingerprint {
    n_bytes: u64,
    pieces: Vec<(u32, u64)>,
}

impl Fingerprint {
    /// Splits a file into lines of at most 64 bytes and hashes each, as git does.
    pub fn of(bytes: &[u8]) -> Fingerprint {
        const HASH_BASE: u32 = 107_927;
        let is_text = !is_binary(bytes);
        let mut pieces: HashMap<u32, u64> = HashMap::new();
        let (mut low, mut high, mut n) = (0u32, 0u32, 0u64);
        let mut rest = bytes.iter().peekable();
        while let Some(&byte) = rest.next() {
            if is_text && byte == b'\r' && rest.peek() == Some(&&b'\n') {
                continue;
            }
            let old = low;
            low = (low << 7) ^ (high >> 25);
            high = (high << 7) ^ (old >> 25);
            low = low.wrapping_add(byte.into());
            n += 1;
            if n == 64 || byte == b'\n' {
                let hash = low.wrapping_add(high.wrapping_mul(0x61)) % HASH_BASE;
                *pieces.entry(hash).or_default() += n;
                (low, high, n) = (0, 0, 0);
            }
        }
        if n > 0 {
            let hash = low.wrapping_add(high.wrapping_mul(0x61)) % HASH_BASE;
            *pieces.entry(hash).or_default() += n;
        }
        let mut pieces: Vec<(u32, u64)> = pieces.into_iter().collect();
        pieces.sort_unstable();
        Fingerprint { n_bytes: bytes.len() as u64, pieces }
    }

    /// Returns how much of this file is in another one.
    fn score(&self, other: &Fingerprint, min_score: u64) -> u64 {
        let max = self.n_bytes.max(other.n_bytes);
        let n_delta = max - self.n_bytes.min(other.n_bytes);
        if other.n_bytes == 0 || max * (MAX_SCORE - min_score) < n_delta * MAX_SCORE {
            return 0;
        }
        let mut others = other.pieces.iter().peekable();
        let mut n_copied = 0;
        for (hash, n_bytes) in &self.pieces {
            while others.next_if(|(other, _)| other < hash).is_some() {}
            if let Some((_, n_other)) = others.next_if(|(other, _)| other == hash) {
                n_copied += n_bytes.min(n_other);
            }
        }
        n_copied * MAX_SCORE / max
    }
}

/// Finds renames among some files. `fingerprint` reads a file; `None` if it is too large.
pub struct RenameSearch<'a, F> {
    /// The removed files, sorted by path.
    pub sources: &'a [Candidate<'a>],
    /// The added files, sorted by path.
    pub targets: &'a [Candidate<'a>],
    /// Whether one source may have several targets, because it was copied.
    pub finds_copies: bool,
    /// Reads a file.
    pub fingerprint: F,
    /// Fails if the search must end.
    pub check: &'a dyn Fn() -> Result<(), Stop>,
}

/// A possible rename.
#[derive(Clone, Copy)]
struct Scored {
    source: usize,
    target: usize,
    score: u64,
    has_same_name: bool,
}

impl<F> RenameSearch<'_, F>
where
    F: FnMut(&TreeEntry) -> Result<Option<Fingerprint>, Stop>,
{
    /// Returns the index of the source of each target.
    pub fn run(mut self) -> Result<Vec<Option<usize>>, Stop> {
        let mut found = Found {
            source_of: vec![None; self.targets.len()],
            is_used: vec![false; self.sources.len()],
        };
        self.by_id(&mut found)?;
        let mut prints = Prints::default();
        if !self.finds_copies {
            self.by_name(&mut found, &mut prints)?;
        }
        self.by_similarity(&mut found, &mut prints)?;
        Ok(found.source_of)
    }

    /// Pairs identical files. Like git, inspects a bounded number of sources for each target.
    fn by_id(&self, found: &mut Found) -> Result<(), Stop> {
        let key = |candidate: &Candidate<'_>| match is_regular(candidate) {
            true => (candidate.entry.id, EntryKind::Blob),
            false => (candidate.entry.id, candidate.entry.kind),
        };
        // The first source is last, so that a used one is removed quickly.
        let mut same: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, source) in self.sources.iter().enumerate().rev() {
            same.entry(key(source)).or_default().push(index);
        }
        for (index, target) in self.targets.iter().enumerate() {
            (self.check)()?;
            let Some(same) = same.get_mut(&key(target)) else { continue };
            let mut best = None;
            for (at, &source) in same.iter().enumerate().rev().take(MAX_IDENTICAL) {
                let has_same_name = basename(self.sources[source].path) == basename(target.path);
                let score = u8::from(!found.is_used[source]) + u8::from(has_same_name);
                if best.is_none_or(|(best, _)| score > best) {
                    best = Some((score, at));
                }
                if score == 2 {
                    break;
                }
            }
            if let Some((_, at)) = best {
                let source = if self.finds_copies { same[at] } else { same.remove(at) };
                found.record(source, index);
            }
        }
        Ok(())
    }

    /// Pairs files whose name occurs once on either side.
    fn by_name(&mut self, found: &mut Found, prints: &mut Prints) -> Result<(), Stop> {
        let free = |index: &usize| !found.is_used[*index];
        let sources = unique_names(self.sources, (0..self.sources.len()).filter(free));
        let open = |index: &usize| found.source_of[*index].is_none();
        let targets = unique_names(self.targets, (0..self.targets.len()).filter(open));
        let mut pairs: Vec<(usize, usize)> = sources
            .into_iter()
            .filter_map(|(name, source)| Some((source?, targets.get(name).copied()??)))
            .collect();
        pairs.sort_unstable();
        for (source, target) in pairs {
            if self.score(source, target, MIN_BASENAME_SCORE, prints)? >= MIN_BASENAME_SCORE {
                found.record(source, target);
            }
        }
        Ok(())
    }

    fn by_similarity(&mut self, found: &mut Found, prints: &mut Prints) -> Result<(), Stop> {
        let is_free = |index: &usize| !found.is_used[*index] || self.finds_copies;
        let sources: Vec<usize> = (0..self.sources.len()).filter(is_free).collect();
        let is_open = |index: &usize| found.source_of[*index].is_none();
        let targets: Vec<usize> = (0..self.targets.len()).filter(is_open).collect();
        if sources.len().saturating_mul(targets.len()) > MAX_COMPARED {
            return Ok(());
        }
        let mut all: Vec<Scored> = Vec::new();
        for target in targets {
            let mut best: Vec<Scored> = Vec::new();
            for &source in &sources {
                let score = self.score(source, target, MIN_SCORE, prints)?;
                let names = (self.sources[source].path, self.targets[target].path);
                let has_same_name = basename(names.0) == basename(names.1);
                let scored = Scored { source, target, score, has_same_name };
                let key = |it: &Scored| (it.score, it.has_same_name);
                if best.len() < N_CANDIDATES {
                    best.push(scored);
                } else if let Some(worst) = best.iter_mut().min_by_key(|it| key(it))
                    && key(&scored) > key(worst)
                {
                    *worst = scored;
                }
            }
            // Git remembers scores below the minimum too, which decides between equal ones.
            all.extend(best.into_iter().filter(|it| it.score >= MIN_SCORE));
        }
        all.sort_by(|one, other| {
            (other.score, other.has_same_name).cmp(&(one.score, one.has_same_name))
        });
        for copies in [false, true] {
            for scored in all.iter().filter(|_| !copies || self.finds_copies) {
                if found.source_of[scored.target].is_none()
                    && (copies || !found.is_used[scored.source])
                {
                    found.record(scored.source, scored.target);
                }
            }
        }
        Ok(())
    }

    fn score(
        &mut self,
        source: usize,
        target: usize,
        min_score: u64,
        prints: &mut Prints,
    ) -> Result<u64, Stop> {
        (self.check)()?;
        let (from, to) = (&self.sources[source], &self.targets[target]);
        if !is_regular(from) || !is_regular(to) {
            return Ok(0);
        }
        let mut print = |key, entry| match prints.get(&key) {
            Some(print) => Ok(print.clone()),
            None => {
                let print = (self.fingerprint)(entry)?.map(Arc::new);
                let weight = print.as_ref().map_or(0, |print| size_of_val(&print.pieces[..]));
                prints.insert_weighing(key, print.clone(), weight + 64);
                Ok::<_, Stop>(print)
            }
        };
        let to = print((Side::Target, target), &to.entry)?;
        let from = print((Side::Source, source), &from.entry)?;
        Ok(match (from, to) {
            (Some(from), Some(to)) => from.score(&to, min_score),
            _ => 0,
        })
    }
}

/// The renames found so far.
struct Found {
    source_of: Vec<Option<usize>>,
    is_used: Vec<bool>,
}

impl Found {
    fn record(&mut self, source: usize, target: usize) {
        self.source_of[target] = Some(source);
        self.is_used[source] = true;
    }
}

/// The files that were read, by index. The bound is on the bytes of their fingerprints.
type Prints = Lru<(Side, usize), Option<Arc<Fingerprint>>, { usize::MAX }, { 32 << 20 }>;

/// A side of a rename.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Source,
    Target,
}

/// Returns the indices of candidates by name; `None` for a name that occurs more than once.
fn unique_names<'a>(
    candidates: &'a [Candidate<'a>],
    indices: impl Iterator<Item = usize>,
) -> HashMap<&'a [u8], Option<usize>> {
    let mut names = HashMap::new();
    for index in indices {
        let name = basename(candidates[index].path);
        names.entry(name).and_modify(|found| *found = None).or_insert(Some(index));
    }
    names
}

fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn is_regular(candidate: &Candidate<'_>) -> bool {
    matches!(candidate.entry.kind, EntryKind::Blob | EntryKind::BlobExecutable)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::cell::Cell;

    use gix_hash::{Kind, ObjectId};

    use super::*;

    fn candidates(paths: &[String]) -> Vec<Candidate<'_>> {
        let entry = TreeEntry { kind: EntryKind::Blob, id: ObjectId::null(Kind::Sha1) };
        paths.iter().map(|path| Candidate { path: path.as_bytes(), entry }).collect()
    }

    fn run(
        [old, new]: [&str; 2],
        n_files: usize,
        check: &dyn Fn() -> Result<(), Stop>,
    ) -> Result<Vec<Option<usize>>, Stop> {
        let paths = |folder| (0..n_files).map(|n| format!("{folder}{n:06}")).collect::<Vec<_>>();
        let (old, new) = (paths(old), paths(new));
        let (sources, targets) = (&candidates(&old), &candidates(&new));
        let fingerprint = |_: &TreeEntry| Ok(None);
        RenameSearch { sources, targets, finds_copies: false, fingerprint, check }.run()
    }

    /// Comparing every pair would take 10^10 steps.
    #[test]
    fn many_identical_files_are_paired() {
        let expected: Vec<Option<usize>> = (0..100_000).map(Some).collect();
        for folders in [["old/", "new/"], ["old/a", "new/b"]] {
            assert_eq!(run(folders, 100_000, &|| Ok(())).unwrap(), expected);
        }
    }

    #[test]
    fn pairing_identical_files_stops_when_the_time_is_over() {
        let n_left = Cell::new(10);
        let check = || match n_left.replace(n_left.get() - 1) {
            0 => Err(Stop::Time),
            _ => Ok(()),
        };
        assert_eq!(run(["old/", "new/"], 100, &check), Err(Stop::Time));
    }
}
