//! Finds all occurrences of a string, including overlapping ones.
//!
//! The only tolerance is for line endings: in a string with a line break, `\n` and `\r\n` match each
//! other. An exact match does not take precedence, because in a file with mixed endings it may be
//! another copy than the one that the caller read. Multiple matches are counted and reported, never
//! resolved here.

mod stream;

use std::cell::OnceCell;
use std::ops::Range;

use crate::line;
use memchr::memmem;

pub use stream::{StreamFinder, StreamMatches};

/// How many matches are kept; the rest are only counted.
pub const MAX_PLACES: usize = 10;

/// How a string matched, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchKind {
    /// Every character matches.
    Exact,
    /// Line endings differ.
    Eol,
}

impl MatchKind {
    /// Returns how `needle` matched this text.
    pub fn of(matched: &str, needle: &str) -> MatchKind {
        if matched == needle { MatchKind::Exact } else { MatchKind::Eol }
    }

    /// Returns the name that answers use.
    pub fn as_str(self) -> &'static str {
        match self {
            MatchKind::Exact => "exact",
            MatchKind::Eol => "eol",
        }
    }
}

/// A string to find, which is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needle<'a> {
    /// The string.
    pub string: &'a str,
    /// Whether the characters before and after a match must not be part of a word.
    pub is_whole_word: bool,
}

impl<'a> From<&'a str> for Needle<'a> {
    fn from(string: &'a str) -> Needle<'a> {
        Needle { string, is_whole_word: false }
    }
}

impl Needle<'_> {
    /// Returns the most bytes that a match can have: each `\n` can match `\r\n`.
    pub fn reach(&self) -> usize {
        self.string.len() + memchr::memchr_iter(b'\n', self.string.as_bytes()).count()
    }
}

/// The matches of a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// The number of matches; not 0.
    pub n_matches: usize,
    /// The first [`MAX_PLACES`] byte ranges.
    pub places: Vec<Range<usize>>,
}

/// Finds a string in `text`.
pub fn find<'a>(text: &str, needle: impl Into<Needle<'a>>) -> Option<Matches> {
    let mut found = Matches { n_matches: 0, places: Vec::new() };
    Search::new(needle.into()).for_each(&Haystack::new(text.as_bytes()), |place| {
        found.n_matches += 1;
        if found.places.len() < MAX_PLACES {
            found.places.push(place);
        }
    });
    (found.n_matches > 0).then_some(found)
}

/// A string prepared for a search.
pub(crate) struct Search<'a> {
    needle: Needle<'a>,
    /// If the string contains a line break: the string with `\n` for every `\r\n`, without a final
    /// `\r`, which may match the first half of a `\r\n`.
    folded: Option<Vec<u8>>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(needle: Needle<'a>) -> Search<'a> {
        let Needle { string, .. } = needle;
        let folded = string
            .contains('\n')
            .then(|| Folded::new(string.strip_suffix('\r').unwrap_or(string).as_bytes()).bytes);
        Search { needle, folded }
    }

    /// Visits every match in order.
    pub(crate) fn for_each(&self, text: &Haystack<'_>, mut visit: impl FnMut(Range<usize>)) {
        let mut visit = |place: Range<usize>| {
            if !self.needle.is_whole_word || text.is_whole_word(&place) {
                visit(place);
            }
        };
        let string = self.needle.string.as_bytes();
        match &self.folded {
            Some(folded) if line::has_crlf(string) || line::has_crlf(text.bytes) => {
                let ends_with_cr = string.ends_with(b"\r");
                let text_folded = text.folded.get_or_init(|| Folded::new(text.bytes));
                for_each_occurrence(&text_folded.bytes, folded, |at| {
                    let start = text_folded.unfold(at);
                    let end = text_folded.unfold(at + folded.len());
                    if !ends_with_cr {
                        visit(start..end);
                    } else if text.bytes.get(end) == Some(&b'\r') {
                        let place = start..end + 1;
                        // Only an exact match may end inside an ending.
                        let is_inside_ending = text.context.get(place.end) == Some(&b'\n');
                        if !is_inside_ending || text.bytes[place.clone()] == *string {
                            visit(place);
                        }
                    }
                });
            }
            _ => for_each_occurrence(text.bytes, string, |at| visit(at..at + string.len())),
        }
    }
}

/// A text to search.
pub(crate) struct Haystack<'a> {
    /// The bytes to search.
    bytes: &'a [u8],
    /// The same, and bytes behind them that decide where a word ends.
    context: &'a [u8],
    /// Whether a word may continue before and after the context.
    is_cut: [bool; 2],
    folded: OnceCell<Folded>,
}

impl<'a> Haystack<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Haystack<'a> {
        Haystack { bytes, context: bytes, is_cut: [false; 2], folded: OnceCell::new() }
    }

    /// Returns the same text as a part of one in which words may continue before and after it.
    pub(crate) fn cut(self, is_cut: [bool; 2]) -> Haystack<'a> {
        Haystack { is_cut, ..self }
    }

    /// Whether no word continues before or after a place.
    fn is_whole_word(&self, place: &Range<usize>) -> bool {
        let before = &self.context[place.start.saturating_sub(MAX_CHAR)..place.start];
        let after = &self.context[place.end..(place.end + MAX_CHAR).min(self.context.len())];
        let first = after.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
        let last = before.utf8_chunks().last().filter(|chunk| chunk.invalid().is_empty());
        let last = last.and_then(|chunk| chunk.valid().chars().next_back());
        let is_word = |character: Option<char>, is_cut| character.map_or(is_cut, is_word);
        !is_word(last, self.is_cut[0]) && !is_word(first, self.is_cut[1])
    }
}

/// The most bytes of a character.
pub(crate) const MAX_CHAR: usize = 4;

/// Whether a character can be part of an identifier: Unicode's `XID_Continue`, which includes
/// letters, digits, marks and `_`.
fn is_word(character: char) -> bool {
    unicode_ident::is_xid_continue(character)
}

/// A text in which every `\r\n` was replaced with `\n`.
pub(crate) struct Folded {
    pub(crate) bytes: Vec<u8>,
    /// The offsets in `bytes` of each `\n` that replaced `\r\n`, ascending.
    shortened: Vec<usize>,
}

impl Folded {
    pub(crate) fn new(text: &[u8]) -> Folded {
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
