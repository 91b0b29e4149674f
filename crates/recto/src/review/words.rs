//! The parts of two lines that differ, by words.

use std::ops::Range;

/// Longer lines are not compared.
const MAX_BYTES: usize = 2000;

/// The most words that are compared.
const MAX_WORDS: usize = 250;

/// Returns the ranges of bytes that differ. Empty if the lines have too little in common to point out
/// what changed.
pub fn differing(old: &str, new: &str) -> [Vec<Range<usize>>; 2] {
    let none = [Vec::new(), Vec::new()];
    if old.len() > MAX_BYTES || new.len() > MAX_BYTES {
        return none;
    }
    let (olds, news) = (words(old), words(new));
    let is_equal = |(one, other): &(&Range<usize>, &Range<usize>)| {
        old[(*one).clone()] == new[(*other).clone()]
    };
    let n_head = olds.iter().zip(&news).take_while(is_equal).count();
    let tails = olds[n_head..].iter().rev().zip(news[n_head..].iter().rev());
    let n_tail = tails.take_while(is_equal).count();
    let middles = [&olds[n_head..olds.len() - n_tail], &news[n_head..news.len() - n_tail]];
    let is_common = match middles.iter().all(|words| words.len() <= MAX_WORDS) {
        true => common(old, new, middles),
        false => middles.map(|words| vec![false; words.len()]),
    };
    let mut differing = none;
    for side in 0..2 {
        for (word, is_common) in middles[side].iter().zip(&is_common[side]) {
            match differing[side].last_mut() {
                _ if *is_common => {}
                Some(last) if last.end == word.start => last.end = word.end,
                _ => differing[side].push(word.clone()),
            }
        }
    }
    let n_differing = |side: usize| differing[side].iter().map(Range::len).sum::<usize>();
    // Two lines that share little but spaces are different lines.
    let is_similar = n_differing(0) + n_differing(1) <= (old.len() + new.len()) * 2 / 3;
    if is_similar { differing } else { [Vec::new(), Vec::new()] }
}

/// Splits a line into words, runs of spaces and single other characters.
fn words(line: &str) -> Vec<Range<usize>> {
    #[derive(PartialEq)]
    enum Sort {
        Word,
        Space,
        Other,
    }
    let sort = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => Sort::Word,
        c if c.is_whitespace() => Sort::Space,
        _ => Sort::Other,
    };
    let mut words: Vec<(Range<usize>, Sort)> = Vec::new();
    for (at, c) in line.char_indices() {
        let (end, sort) = (at + c.len_utf8(), sort(c));
        match words.last_mut() {
            Some((word, last)) if *last == sort && sort != Sort::Other => word.end = end,
            _ => words.push((at..end, sort)),
        }
    }
    words.into_iter().map(|(word, _)| word).collect()
}

/// Returns which words belong to a longest common subsequence.
fn common(old: &str, new: &str, [olds, news]: [&[Range<usize>]; 2]) -> [Vec<bool>; 2] {
    let width = news.len() + 1;
    let mut lengths = vec![0u16; (olds.len() + 1) * width];
    let is_equal = |a: usize, b: usize| old[olds[a].clone()] == new[news[b].clone()];
    for a in (0..olds.len()).rev() {
        for b in (0..news.len()).rev() {
            lengths[a * width + b] = match is_equal(a, b) {
                true => lengths[(a + 1) * width + b + 1] + 1,
                false => lengths[(a + 1) * width + b].max(lengths[a * width + b + 1]),
            };
        }
    }
    let mut found = [vec![false; olds.len()], vec![false; news.len()]];
    let (mut a, mut b) = (0, 0);
    while a < olds.len() && b < news.len() {
        if is_equal(a, b) {
            (found[0][a], found[1][b]) = (true, true);
            (a, b) = (a + 1, b + 1);
        } else if lengths[(a + 1) * width + b] >= lengths[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: [&[&str]; 2]) {
        let [removed, added] = differing(old, new);
        let texts = |line: &str, ranges: Vec<Range<usize>>| -> Vec<String> {
            ranges.into_iter().map(|range| line[range].to_string()).collect()
        };
        assert_eq!(texts(old, removed), expected[0]);
        assert_eq!(texts(new, added), expected[1]);
    }

    #[test]
    fn points_out_the_words_that_differ() {
        check("let a = one(b);", "let a = two(b);", [&["one"], &["two"]]);
        check("f(a, b)", "f(a, x, b)", [&[], &["x, "]]);
        check("a  b c d", "a b c d", [&["  "], &[" "]]);
        check("größe = 1", "größe = 2", [&["1"], &["2"]]);
        check("completely different", "nothing alike here", [&[], &[]]);
    }
}
