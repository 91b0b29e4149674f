//! The matches in one line of a text that arrives in pieces.

use memchr::memchr;

use super::{MAX_BUFFERED, Needle, extend_up_to};
use crate::window::is_character_start;

/// How many matches of a regular expression in one line are counted. Each can take as long as reading
/// the whole line: `.*b|a` looks for a `b` after every `a`.
pub const MAX_REGEX_MATCHES: u64 = 100;

/// The matches in one line, which do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineMatches {
    /// The character at which the first one starts, from 1.
    pub column: u64,
    /// The byte of the line at which the first one ends, from 0.
    pub end: u64,
    /// How many there are; of a regular expression, at most [`MAX_REGEX_MATCHES`] are counted.
    pub n_matches: u64,
    /// Whether there may be more.
    pub may_be_more: bool,
}

/// Searches one line of a text that arrives in pieces of UTF-8.
pub struct LineScan<'a> {
    needle: &'a Needle,
    /// The line to search, and the line that the next byte belongs to, from 0.
    wanted: u64,
    line: u64,
    /// The part of the line that was not searched yet, and the characters before it.
    buffered: Vec<u8>,
    n_characters: u64,
    n_bytes: u64,
    found: Option<LineMatches>,
}

impl<'a> LineScan<'a> {
    /// Starts inside any line before the wanted one, or at its start.
    pub fn inside(needle: &'a Needle, wanted: u64, line: u64) -> LineScan<'a> {
        let buffered = Vec::new();
        LineScan { needle, wanted, line, buffered, n_characters: 0, n_bytes: 0, found: None }
    }

    /// Searches the next piece.
    pub fn push(&mut self, mut piece: &[u8]) {
        while self.line < self.wanted {
            let Some(newline) = memchr(b'\n', piece) else { return };
            self.line += 1;
            piece = &piece[newline + 1..];
        }
        if self.line > self.wanted {
            return;
        }
        let end = memchr(b'\n', piece);
        let part = &piece[..end.unwrap_or(piece.len())];
        extend_up_to(&mut self.buffered, part, self.needle.max_line);
        if end.is_some() {
            self.line += 1;
            if self.buffered.ends_with(b"\r") {
                self.buffered.pop();
            }
        } else if self.buffered.len() > MAX_BUFFERED
            && let Some(max_match) = self.needle.max_match
        {
            // A match that starts later may continue in the next piece.
            self.search(self.buffered.len().saturating_sub(max_match));
        }
    }

    /// Whether the rest of the text cannot change the result.
    pub fn is_done(&self) -> bool {
        self.line > self.wanted
    }

    /// Returns the result, after the last piece.
    pub fn finish(mut self) -> Option<LineMatches> {
        self.search(self.buffered.len() + 1);
        self.found
    }

    /// Counts the matches that start before `end`, and drops what is before it or before their end.
    fn search(&mut self, end: usize) {
        let mut n_done = 0;
        // The matches of a literal string are found in one pass.
        let max_matches = self.needle.max_match.map_or(MAX_REGEX_MATCHES, |_| u64::MAX);
        while n_done <= self.buffered.len()
            && self.found.is_none_or(|found| found.n_matches < max_matches)
            && let Some(found) = self.needle.find_at(&self.buffered, n_done)
            && found.start() < end
        {
            // A pattern such as `x*` matches the empty string everywhere.
            n_done = found.end().max(found.start() + 1);
            let first = || LineMatches {
                column: self.n_characters + 1 + n_characters(&self.buffered[..found.start()]),
                end: self.n_bytes + found.end() as u64,
                n_matches: 0,
                may_be_more: false,
            };
            let found = self.found.get_or_insert_with(first);
            found.n_matches += 1;
            found.may_be_more = found.n_matches == max_matches;
        }
        let n_done = n_done.max(end).min(self.buffered.len());
        self.n_characters += n_characters(&self.buffered[..n_done]);
        self.n_bytes += n_done as u64;
        self.buffered.drain(..n_done);
    }
}

fn n_characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| is_character_start(**byte)).count() as u64
}
