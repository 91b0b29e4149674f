//! Finds the changed line ranges of a large text in one pass: lines that occur exactly once in both
//! texts are anchors, and the lines that differ between two anchors are one range.
//!
//! A minimal diff would be shorter, but takes too long if edits are far apart in a large file.

use std::collections::HashMap;
use std::ops::Range;

/// Lines that were replaced by others, as indices from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRange {
    /// The removed lines.
    pub old: Range<usize>,
    /// The added lines.
    pub new: Range<usize>,
}

/// Returns the ranges where `old` and `new` differ, in order.
pub fn find(old: &[&str], new: &[&str]) -> Vec<ChangedRange> {
    let mut ranges = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    let ends = [(old.len(), new.len())];
    for (old_end, new_end) in anchors(old, new).into_iter().chain(ends) {
        let (removed, added) = (&old[old_at..old_end], &new[new_at..new_end]);
        let n_head = n_equal(removed.iter(), added.iter());
        let n_tail = n_equal(removed[n_head..].iter().rev(), added[n_head..].iter().rev());
        let range = ChangedRange {
            old: old_at + n_head..old_end - n_tail,
            new: new_at + n_head..new_end - n_tail,
        };
        if !range.old.is_empty() || !range.new.is_empty() {
            ranges.push(range);
        }
        (old_at, new_at) = (old_end + 1, new_end + 1);
    }
    ranges
}

/// Returns pairs of indices of lines that occur once in each text, in the same order.
fn anchors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    #[derive(Default)]
    struct LineCounts {
        n_old: usize,
        n_new: usize,
        new_idx: usize,
    }
    let mut lines: HashMap<&str, LineCounts> = HashMap::with_capacity(old.len());
    for line in old {
        lines.entry(line).or_default().n_old += 1;
    }
    for (new_idx, line) in new.iter().enumerate() {
        if let Some(counts) = lines.get_mut(line) {
            counts.n_new += 1;
            counts.new_idx = new_idx;
        }
    }
    let pairs: Vec<(usize, usize)> = old
        .iter()
        .enumerate()
        .filter_map(|(old_idx, line)| {
            let counts = lines.get(line).filter(|counts| (counts.n_old, counts.n_new) == (1, 1))?;
            Some((old_idx, counts.new_idx))
        })
        .collect();
    longest_rising(&pairs)
}

/// Returns the longest subsequence whose second elements increase; the first elements already do.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // `tails[n]` is the pair with the smallest second element that ends a run of n + 1 pairs.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let n_shorter = tails.partition_point(|tail| pairs[*tail].1 < pair.1);
        before.push(n_shorter.checked_sub(1).map(|shorter| tails[shorter]));
        match tails.get_mut(n_shorter) {
            Some(tail) => *tail = at,
            None => tails.push(at),
        }
    }
    let mut rising = Vec::with_capacity(tails.len());
    let mut next = tails.last().copied();
    while let Some(at) = next {
        rising.push(pairs[at]);
        next = before[at];
    }
    rising.reverse();
    rising
}

fn n_equal<'a>(
    one: impl Iterator<Item = &'a &'a str>,
    other: impl Iterator<Item = &'a &'a str>,
) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn outside_the_places_the_texts_are_equal(
            old in prop::collection::vec(0..12u8, 0..30),
            new in prop::collection::vec(0..12u8, 0..30),
        ) {
            let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
            let text = |lines: &[u8]| -> Vec<&str> {
                lines.iter().map(|line| names[usize::from(*line)].as_str()).collect()
            };
            let (old, new) = (text(&old), text(&new));
            let mut rebuilt: Vec<&str> = Vec::new();
            let mut at = 0;
            for ChangedRange { old: removed, new: added } in find(&old, &new) {
                rebuilt.extend(&old[at..removed.start]);
                prop_assert_eq!(rebuilt.len(), added.start);
                rebuilt.extend(&new[added]);
                at = removed.end;
            }
            rebuilt.extend(&old[at..]);
            prop_assert_eq!(rebuilt, new);
        }
    }
}
