//! The differences between two versions of a text, line by line.

use std::collections::HashMap;
use std::ops::Range;

/// How far ahead to search for a common line; beyond it the rest is one hunk.
const MAX_SKIP: usize = 300;

/// Lines of the old text that are replaced by lines of the new one. Either side may be empty, and
/// at least one common line separates two hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// The lines of a text, each with its ending.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Compares both texts in order; the nearest pair of equal lines ends a hunk.
pub fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let mut ids = HashMap::new();
    let old = interned(&mut ids, old);
    let new = interned(&mut ids, new);
    let mut hunks = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let (n_old, n_new) = next_common(&old[i..], &new[j..]);
        hunks.push(Hunk { old: i..i + n_old, new: j..j + n_new });
        (i, j) = (i + n_old, j + n_new);
    }
    hunks
}

/// Returns how many lines of each side precede the nearest pair of equal lines.
fn next_common(old: &[usize], new: &[usize]) -> (usize, usize) {
    for n_skipped in 1..=MAX_SKIP {
        for n_old in 0..=n_skipped {
            let n_new = n_skipped - n_old;
            if let (Some(one), Some(other)) = (old.get(n_old), new.get(n_new))
                && one == other
            {
                return (n_old, n_new);
            }
        }
    }
    (old.len(), new.len())
}

/// Assigns numbers to lines, equal for equal ones.
fn interned<'a>(ids: &mut HashMap<&'a str, usize>, lines: &[&'a str]) -> Vec<usize> {
    let mut number = |line| {
        let n_known = ids.len();
        *ids.entry(line).or_insert(n_known)
    };
    lines.iter().map(|line| number(*line)).collect()
}
