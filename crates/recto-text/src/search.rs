//! Finds the lines that contain a string, ignoring case.
//!
//! The text arrives in pieces and is scanned once; only line numbers are kept.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};

use crate::window::is_character_start;

/// The longest string to search for, in bytes. The automaton of a longer one could exceed its cache
/// and become extremely slow.
pub const MAX_NEEDLE: usize = 1024;

/// How many bytes of an unfinished line are buffered.
const MAX_BUFFERED: usize = 1 << 20;

/// A string to search for: literal, within one line, ignoring case.
#[derive(Debug, Clone)]
pub struct Needle {
    regex: Regex,
    /// The longest match, in bytes: in another case, a letter can be four times as long.
    max_match: usize,
    /// Whether it contains `\r`, so that a match could extend into a line ending.
    has_return: bool,
}

/// The reason why a text cannot be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadNeedle {
    /// It is empty or contains a line break.
    NotOneLine,
    /// It is longer than [`MAX_NEEDLE`].
    TooLong,
    /// Its case-insensitive form is too large to compile.
    TooComplex,
}

impl Needle {
    /// Rejects a text that no line can contain.
    pub fn parse(text: &str) -> Result<Needle, BadNeedle> {
        if text.is_empty() || text.contains('\n') {
            return Err(BadNeedle::NotOneLine);
        }
        if text.len() > MAX_NEEDLE {
            return Err(BadNeedle::TooLong);
        }
        let regex = RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build();
        let regex = regex.map_err(|_| BadNeedle::TooComplex)?;
        Ok(Needle { regex, max_match: 4 * text.len(), has_return: text.contains('\r') })
    }
}

impl Needle {
    /// Returns the matches in a line.
    pub fn find_in(&self, line: &str) -> Option<LineMatches> {
        let line = line.as_bytes();
        let first = self.regex.find(line)?;
        Some(LineMatches {
            column: 1 + n_characters(&line[..first.start()]),
            end: first.end() as u64,
            n_matches: self.regex.find_iter(line).count() as u64,
        })
    }

    /// Whether a line, given without its `\n`, contains it outside its ending.
    fn is_in(&self, line: &[u8]) -> bool {
        self.regex.is_match(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// The parameters of a search.
#[derive(Debug, Clone)]
pub struct Search<'a> {
    /// The string.
    pub needle: &'a Needle,
    /// The lines to search, from 0, sorted and disjoint.
    pub within: Vec<Range<u64>>,
    /// The most lines to return.
    pub max_hits: usize,
}

/// The lines that contain the string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// Their numbers, from 1, ascending.
    pub lines: Vec<u64>,
    /// Whether there are more than were returned.
    pub has_more: bool,
    /// How many lines the whole text has.
    pub total_lines: u64,
}

impl Search<'_> {
    /// Searches a whole text.
    pub fn hits(&self, text: &str) -> Hits {
        let mut scan = SearchScan::new(self);
        scan.push_lines(text.as_bytes());
        scan.finish()
    }
}

/// Searches a text that arrives in pieces of UTF-8.
pub struct SearchScan<'a> {
    search: &'a Search<'a>,
    /// The part of `within` that was not reached yet.
    ahead: &'a [Range<u64>],
    /// The line that the next byte belongs to, from 0.
    line: u64,
    /// The start of an unfinished line, or the last bytes of it if it is very long.
    buffered: Vec<u8>,
    /// Whether bytes of that line were received.
    is_inside_line: bool,
    /// Whether that line is known to contain the string.
    is_hit: bool,
    lines: Vec<u64>,
    has_more: bool,
}

impl<'a> SearchScan<'a> {
    /// Starts at the first byte.
    pub fn new(search: &'a Search<'a>) -> SearchScan<'a> {
        SearchScan::inside(search, 0)
    }

    /// Starts inside any line, from 0, before the lines to search, or at the start of the first.
    pub fn inside(search: &'a Search<'a>, line: u64) -> SearchScan<'a> {
        SearchScan {
            search,
            ahead: &search.within,
            line,
            buffered: Vec::new(),
            is_inside_line: false,
            is_hit: false,
            lines: Vec::new(),
            has_more: false,
        }
    }

    /// Searches the next piece.
    pub fn push(&mut self, mut piece: &[u8]) {
        if self.is_inside_line {
            let Some(newline) = memchr(b'\n', piece) else { return self.buffer(piece) };
            self.buffer(&piece[..newline]);
            self.end_line();
            piece = &piece[newline + 1..];
        }
        let end = memrchr(b'\n', piece).map_or(0, |newline| newline + 1);
        self.push_lines(&piece[..end]);
        if end < piece.len() {
            self.buffer(&piece[end..]);
        }
    }

    /// Whether the rest of the text cannot change the result, except for the number of lines.
    pub fn is_done(&self) -> bool {
        self.has_more || self.search.within.last().is_none_or(|last| last.end <= self.line)
    }

    /// Returns the result, after the last piece.
    pub fn finish(mut self) -> Hits {
        if self.is_inside_line {
            // Without `\n`, a final `\r` is not part of an ending.
            self.is_hit |= self.search.needle.regex.is_match(&self.buffered);
            self.end_line();
        }
        Hits { lines: self.lines, has_more: self.has_more, total_lines: self.line }
    }

    /// Buffers a part of an unfinished line. Of a very long line, only the end is kept, in case a
    /// match continues in the next piece.
    fn buffer(&mut self, piece: &[u8]) {
        self.is_inside_line = true;
        if self.is_hit {
            return;
        }
        self.buffered.extend_from_slice(piece);
        if self.buffered.len() > MAX_BUFFERED {
            self.is_hit = self.search.needle.is_in(&self.buffered);
            let n_done = self.buffered.len().saturating_sub(self.search.needle.max_match);
            self.buffered.drain(..n_done);
        }
    }

    fn end_line(&mut self) {
        if self.is_hit || self.search.needle.is_in(&self.buffered) {
            self.found(self.line);
        }
        self.buffered.clear();
        self.is_inside_line = false;
        self.is_hit = false;
        self.line += 1;
    }

    /// Searches whole lines; the last line of the text may lack its ending.
    fn push_lines(&mut self, lines: &[u8]) {
        let n_endings = memchr_iter(b'\n', lines).count() as u64;
        let is_open = !lines.is_empty() && !lines.ends_with(b"\n");
        let end_line = self.line + n_endings + u64::from(is_open);
        while let [first, rest @ ..] = self.ahead
            && first.end <= self.line
        {
            self.ahead = rest;
        }
        let is_near = self.ahead.first().is_some_and(|range| range.start < end_line);
        if is_near && !self.has_more && self.search.needle.has_return {
            for (index, line) in (self.line..).zip(lines.split_inclusive(|byte| *byte == b'\n')) {
                // Without `\n`, a final `\r` is not part of an ending.
                let needle = self.search.needle;
                let is_hit = match line.strip_suffix(b"\n") {
                    Some(line) => needle.is_in(line),
                    None => needle.regex.is_match(line),
                };
                if is_hit {
                    self.found(index);
                }
            }
        } else if is_near && !self.has_more {
            let mut at = 0;
            let mut line = self.line;
            while let Some(hit) = self.search.needle.regex.find_at(lines, at) {
                line += memchr_iter(b'\n', &lines[at..hit.start()]).count() as u64;
                self.found(line);
                match memchr(b'\n', &lines[hit.end()..]) {
                    Some(newline) if !self.has_more => at = hit.end() + newline + 1,
                    _ => break,
                }
                line += 1;
            }
        }
        self.line = end_line;
    }

    fn found(&mut self, line: u64) {
        while let [first, rest @ ..] = self.ahead
            && first.end <= line
        {
            self.ahead = rest;
        }
        if !self.ahead.first().is_some_and(|range| range.contains(&line)) {
            return;
        }
        if self.lines.len() == self.search.max_hits {
            self.has_more = true;
            return;
        }
        self.lines.push(line + 1);
    }
}

/// The matches in one line, which do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineMatches {
    /// The character at which the first one starts, from 1.
    pub column: u64,
    /// The byte of the line at which the first one ends, from 0.
    pub end: u64,
    /// How many there are.
    pub n_matches: u64,
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
        self.buffered.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        if end.is_some() {
            self.line += 1;
            if self.buffered.ends_with(b"\r") {
                self.buffered.pop();
            }
        } else if self.buffered.len() > MAX_BUFFERED {
            // A match that starts later may continue in the next piece.
            self.search(self.buffered.len().saturating_sub(self.needle.max_match));
        }
    }

    /// Whether the rest of the text cannot change the result.
    pub fn is_done(&self) -> bool {
        self.line > self.wanted
    }

    /// Returns the result, after the last piece.
    pub fn finish(mut self) -> Option<LineMatches> {
        self.search(self.buffered.len());
        self.found
    }

    /// Counts the matches that start before `end`, and drops what is before it or before their end.
    fn search(&mut self, end: usize) {
        let mut n_done = 0;
        while let Some(found) = self.needle.regex.find_at(&self.buffered, n_done)
            && found.start() < end
        {
            n_done = found.end();
            let first = || LineMatches {
                column: self.n_characters + 1 + n_characters(&self.buffered[..found.start()]),
                end: self.n_bytes + found.end() as u64,
                n_matches: 0,
            };
            self.found.get_or_insert_with(first).n_matches += 1;
        }
        let n_done = n_done.max(end);
        self.n_characters += n_characters(&self.buffered[..n_done]);
        self.n_bytes += n_done as u64;
        self.buffered.drain(..n_done);
    }
}

fn n_characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| is_character_start(**byte)).count() as u64
}

#[cfg(test)]
mod tests;
