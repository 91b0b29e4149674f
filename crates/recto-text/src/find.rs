//! Finds all occurrences of a string, including overlapping ones.
//!
//! The only tolerance is for line endings: if nothing matches exactly, `\n` and `\r\n` match each
//! other. Multiple matches are counted and reported, never resolved here.

mod stream;

use std::ops::Range;

use memchr::memmem;

pub use stream::{StreamFinder, StreamMatches};

/// How many matches are kept; the rest are only counted.
pub const MAX_PLACES: usize = 8;

/// How a string matched, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchKind {
    /// Every character matches.
    Exact,
    /// Line endings differ.
    Eol,
}

impl MatchKind {
    /// Returns the name that answers use.
    pub fn as_str(self) -> &'static str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Eol => "eol",
        }
    }
}

/// The matches of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// How they match.
    pub kind: MatchKind,
    /// The number of matches; not 0.
    pub n_matches: usize,
    /// The first [`MAX_PLACES`] byte ranges.
    pub places: Vec<Range<usize>>,
}

/// Finds a non-empty `needle` in `text`.
pub fn find(text: &str, needle: &str) -> Option<Matches> {
    find_exact(text, needle).or_else(|| find_folded(text, needle))
}

fn find_exact(text: &str, needle: &str) -> Option<Matches> {
    let mut found = Matches { kind: MatchKind::Exact, n_matches: 0, places: Vec::new() };
    for_each_exact(text.as_bytes(), needle.as_bytes(), |place| found.add(place));
    (found.n_matches > 0).then_some(found)
}

fn for_each_exact(text: &[u8], needle: &[u8], mut visit: impl FnMut(Range<usize>)) {
    for_each_occurrence(text, needle, |at| {
        let is_inside_ending = text[at] == b'\n' && at > 0 && text[at - 1] == b'\r';
        if !is_inside_ending {
            visit(at..at + needle.len());
        }
    });
}

/// Searches with every `\r\n` in text and needle treated as `\n`.
fn find_folded(text: &str, needle: &str) -> Option<Matches> {
    let has_crlf = |side: &str| memmem::find(side.as_bytes(), b"\r\n").is_some();
    if !needle.contains('\n') || !(has_crlf(text) || has_crlf(needle)) {
        return None;
    }
    let folded = Folded::new(text.as_bytes());
    let folded_needle = Folded::new(needle.as_bytes());
    let mut found = Matches { kind: MatchKind::Eol, n_matches: 0, places: Vec::new() };
    for_each_occurrence(&folded.bytes, &folded_needle.bytes, |at| {
        found.add(folded.unfold(at)..folded.unfold(at + folded_needle.bytes.len()));
    });
    (found.n_matches > 0).then_some(found)
}

impl Matches {
    fn add(&mut self, place: Range<usize>) {
        self.n_matches += 1;
        if self.places.len() < MAX_PLACES {
            self.places.push(place);
        }
    }
}

/// A text in which every `\r\n` was replaced with `\n`.
struct Folded {
    bytes: Vec<u8>,
    /// The offsets in `bytes` of each `\n` that replaced `\r\n`, ascending.
    shortened: Vec<usize>,
}

impl Folded {
    fn new(text: &[u8]) -> Folded {
        let mut folded = Folded { bytes: Vec::with_capacity(text.len()), shortened: Vec::new() };
        let mut rest = text;
        while let Some(at) = memmem::find(rest, b"\r\n") {
            folded.bytes.extend_from_slice(&rest[..at]);
            folded.shortened.push(folded.bytes.len());
            folded.bytes.push(b'\n');
            rest = &rest[at + 2..];
        }
        folded.bytes.extend_from_slice(rest);
        folded
    }

    /// Returns the offset in the original text; for a replaced ending, that of the `\r`.
    fn unfold(&self, at: usize) -> usize {
        at + self.shortened.partition_point(|shortened| *shortened < at)
    }
}

/// Visits every occurrence in order. Runs in linear time even if matches overlap: searching again
/// from each match would be quadratic for `"aaa…"`.
fn for_each_occurrence(text: &[u8], needle: &[u8], mut visit: impl FnMut(usize)) {
    let finder = memmem::Finder::new(needle);
    let mut from = 0;
    while let Some(found) = finder.find(&text[from..]) {
        let at = from + found;
        let overlaps_previous = from > 0 && found + 1 < needle.len();
        if overlaps_previous {
            return for_each_overlapping(text, needle, at, visit);
        }
        visit(at);
        from = at + 1;
    }
}

/// Searches from `start` with the Knuth–Morris–Pratt algorithm.
fn for_each_overlapping(text: &[u8], needle: &[u8], start: usize, mut visit: impl FnMut(usize)) {
    let mut border = vec![0u32; needle.len()];
    let mut n_equal = 0usize;
    for index in 1..needle.len() {
        while n_equal > 0 && needle[index] != needle[n_equal] {
            n_equal = border[n_equal - 1] as usize;
        }
        n_equal += usize::from(needle[index] == needle[n_equal]);
        border[index] = n_equal as u32;
    }
    let mut n_matched = 0usize;
    for (index, byte) in text.iter().enumerate().skip(start) {
        while n_matched > 0 && (n_matched == needle.len() || *byte != needle[n_matched]) {
            n_matched = border[n_matched - 1] as usize;
        }
        n_matched += usize::from(*byte == needle[n_matched]);
        if n_matched == needle.len() {
            visit(index + 1 - needle.len());
        }
    }
}

#[cfg(test)]
mod tests;
