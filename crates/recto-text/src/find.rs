//! Finds where a string stands, overlapping places included.
//!
//! The only tolerance is the line ending: `\n` and `\r\n` match each other where nothing
//! matches exactly. Ambiguity is counted and reported, never resolved here.

mod stream;

use std::ops::Range;

use memchr::memmem;

pub use stream::{StreamFinder, StreamMatches};

/// How many places are kept; the rest is only counted.
pub const MAX_PLACES: usize = 8;

/// How a string was found, the better way first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchKind {
    /// Every character is the same.
    Exact,
    /// Line endings differ.
    Eol,
}

impl MatchKind {
    /// The word for it in an answer.
    pub fn as_str(self) -> &'static str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Eol => "eol",
        }
    }
}

/// Where a string stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// How it matched.
    pub kind: MatchKind,
    /// How often it stands there; not 0.
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

/// Looks again with every `\r\n` of both sides read as `\n`.
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

/// A text with every `\r\n` turned into `\n`.
struct Folded {
    bytes: Vec<u8>,
    /// The places in `bytes` of each `\n` that lost its `\r`, ascending.
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

    /// The place in the original text; before the `\r` where one was taken out.
    fn unfold(&self, at: usize) -> usize {
        at + self.shortened.partition_point(|shortened| *shortened < at)
    }
}

/// Visits every occurrence in order. Linear in the text, also for needles that overlap
/// themselves: searching again from each match would be quadratic for `"aaa…"`.
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

/// Knuth, Morris and Pratt, from `start` on.
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
