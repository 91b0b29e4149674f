//! Which lines of a text hold a string, whatever the case of its letters.
//!
//! The text arrives in pieces and is looked at once; only line numbers are kept. What stands
//! around a line is left to whoever reads it then.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};

/// The longest string that is looked for, in bytes. The automaton for a longer one could outgrow its
/// room, and is then slow beyond measure.
pub const MAX_NEEDLE: usize = 1024;

/// How much of one line is held while its end is awaited.
const MAX_HELD: usize = 1 << 20;

/// A string to look for: literal, within one line, letters in any case.
#[derive(Debug, Clone)]
pub struct Needle {
    regex: Regex,
    /// A letter in another case has at most four times as many bytes.
    max_match: usize,
    /// It could reach into the ending of a line.
    has_return: bool,
}

/// Why a text cannot be searched for.
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
    /// Where it stands first in a line.
    pub fn find(&self, line: &str) -> Option<Range<usize>> {
        self.regex.find(line.as_bytes()).map(|found| found.range())
    }

    /// Whether a line, without its `\n`, holds it outside its ending.
    fn is_in(&self, line: &[u8]) -> bool {
        self.regex.is_match(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// What to look for and where.
#[derive(Debug, Clone)]
pub struct Search<'a> {
    /// The string.
    pub needle: &'a Needle,
    /// The lines to look at, from 0, sorted and disjoint.
    pub within: Vec<Range<u64>>,
    /// At most this many lines are found.
    pub max_hits: usize,
}

/// The lines that hold the string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// Their numbers, from 1, ascending.
    pub lines: Vec<u64>,
    /// Whether there are more of them.
    pub has_more: bool,
    /// How many lines the whole text has.
    pub total_lines: u64,
}

impl Search<'_> {
    /// Searches a text that is at hand.
    pub fn hits(&self, text: &str) -> Hits {
        let mut scan = SearchScan::new(self);
        scan.push_lines(text.as_bytes());
        scan.finish()
    }
}

/// Searches pieces of UTF-8.
pub struct SearchScan<'a> {
    search: &'a Search<'a>,
    /// The part of `within` that may still come.
    ahead: &'a [Range<u64>],
    /// The line that the next byte belongs to, from 0.
    line: u64,
    /// The start of a line whose end has not come yet, as much of it as must be held.
    held: Vec<u8>,
    /// Bytes of that line were seen.
    is_inside_line: bool,
    /// That line is known to hold the string already.
    is_hit: bool,
    lines: Vec<u64>,
    has_more: bool,
}

impl<'a> SearchScan<'a> {
    /// Starts before the first byte.
    pub fn new(search: &'a Search<'a>) -> SearchScan<'a> {
        SearchScan::inside(search, 0)
    }

    /// Starts anywhere in a line, from 0, before those to look at, or where they begin.
    pub fn inside(search: &'a Search<'a>, line: u64) -> SearchScan<'a> {
        SearchScan {
            search,
            ahead: &search.within,
            line,
            held: Vec::new(),
            is_inside_line: false,
            is_hit: false,
            lines: Vec::new(),
            has_more: false,
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, mut piece: &[u8]) {
        if self.is_inside_line {
            let Some(newline) = memchr(b'\n', piece) else { return self.hold(piece) };
            self.hold(&piece[..newline]);
            self.end_line();
            piece = &piece[newline + 1..];
        }
        let end = memrchr(b'\n', piece).map_or(0, |newline| newline + 1);
        self.push_lines(&piece[..end]);
        if end < piece.len() {
            self.hold(&piece[end..]);
        }
    }

    /// Whether nothing more can be found, whatever comes. Lines are then no longer counted.
    pub fn is_done(&self) -> bool {
        self.has_more || self.search.within.last().is_none_or(|last| last.end <= self.line)
    }

    /// What was found, once all pieces are in.
    pub fn finish(mut self) -> Hits {
        if self.is_inside_line {
            // What ends without `\n` has no ending at all.
            self.is_hit |= self.search.needle.regex.is_match(&self.held);
            self.end_line();
        }
        Hits { lines: self.lines, has_more: self.has_more, total_lines: self.line }
    }

    /// Adds to a line whose end has not come. Of a very long line only as much is kept as a match
    /// could need that goes on in the next piece.
    fn hold(&mut self, piece: &[u8]) {
        self.is_inside_line = true;
        if self.is_hit {
            return;
        }
        self.held.extend_from_slice(piece);
        if self.held.len() > MAX_HELD {
            self.is_hit = self.search.needle.is_in(&self.held);
            let n_done = self.held.len().saturating_sub(self.search.needle.max_match);
            self.held.drain(..n_done);
        }
    }

    fn end_line(&mut self) {
        if self.is_hit || self.search.needle.is_in(&self.held) {
            self.found(self.line);
        }
        self.held.clear();
        self.is_inside_line = false;
        self.is_hit = false;
        self.line += 1;
    }

    /// Takes whole lines; the last one of a text may lack its end.
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
                // What ends without `\n` has no ending at all.
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

#[cfg(test)]
mod tests;
