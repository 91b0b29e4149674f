//! Finds the lines that contain a string or match a regular expression.
//!
//! The text arrives in pieces and is scanned once; only line numbers are kept. The engine is
//! ripgrep's: a pattern never matches across lines, and takes time linear in the text.

mod line_scan;

use std::ops::Range;

use grep_matcher::{LineMatchKind, Match, Matcher};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memchr_iter, memrchr};
use regex_syntax::hir::{Hir, HirKind};
use regex_syntax::{Error as SyntaxError, ParserBuilder};

pub use line_scan::{LineMatches, LineScan, MAX_REGEX_MATCHES};

/// The longest string or pattern to search for, in bytes. The automaton of a longer one could exceed
/// its cache and become extremely slow.
pub const MAX_NEEDLE: usize = 1024;

/// The size of a compiled pattern, in bytes.
pub const MAX_COMPILED: usize = 10 << 20;

/// How many bytes of a line a regular expression can match. Only a file that is read by pages can
/// have a longer line.
pub const MAX_REGEX_LINE: usize = 16 << 20;

/// The steps that matching one line may take: its bytes times the positions in the pattern. Of a line
/// that would need more, only the start is searched. A step of the slowest engine takes up to 20 ns.
const MAX_STEPS: usize = 1 << 29;

/// The memory of the automaton that a search builds, in bytes.
const MAX_CACHE: usize = 4 << 20;

/// How many bytes of an unfinished line are buffered.
const MAX_BUFFERED: usize = 1 << 20;

/// A regular expression is matched to pieces of about this size, between which a search can stop.
const CHUNK: usize = 64 << 10;

const CANNOT_FAIL: &str = "the matcher has no errors";

/// What to search for, within one line.
#[derive(Debug, Clone)]
pub struct Needle {
    matcher: RegexMatcher,
    /// The longest match of a literal string, in bytes: in another case, a letter can be four times as
    /// long.
    max_match: Option<usize>,
    /// How many bytes of a line a regular expression is matched to.
    max_line: usize,
    /// Whether each line is searched alone, without its ending: a match could otherwise extend into
    /// the ending, or depends on the ends of the text.
    is_by_line: bool,
}

/// The reason why a text cannot be searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadNeedle {
    /// It is empty or contains a line break.
    NotOneLine,
    /// It is longer than [`MAX_NEEDLE`].
    TooLong,
    /// It is too large to compile.
    TooComplex,
    /// A regular expression with a syntax error.
    Syntax {
        /// The character with the error, from 1.
        column: usize,
        /// What is wrong there.
        cause: String,
    },
}

impl Needle {
    /// Parses literal text. Rejects a text that no line can contain.
    pub fn literal(text: &str, is_case_sensitive: bool) -> Result<Needle, BadNeedle> {
        check(text)?;
        let mut builder = builder(is_case_sensitive);
        let matcher = builder.fixed_strings(true).line_terminator(Some(b'\n')).build(text);
        let matcher = matcher.map_err(|_| BadNeedle::TooComplex)?;
        let max_match = Some(4 * text.len());
        let (max_line, is_by_line) = (usize::MAX, text.contains('\r'));
        Ok(Needle { matcher, max_match, max_line, is_by_line })
    }

    /// Parses a regular expression.
    pub fn regex(pattern: &str, is_case_sensitive: bool) -> Result<Needle, BadNeedle> {
        check(pattern)?;
        let parsed = ParserBuilder::new().utf8(false).build().parse(pattern).map_err(syntax)?;
        let crlf = builder(is_case_sensitive).multi_line(true).crlf(true).build(pattern);
        let (matcher, has_return) = match crlf {
            Ok(matcher) => (matcher, false),
            // It contains `\r`, which lines can contain, or `\n`.
            Err(error) if matches!(error.kind(), ErrorKind::NotAllowed(_)) => {
                let mut builder = builder(is_case_sensitive);
                let matcher = builder.multi_line(true).line_terminator(Some(b'\n')).build(pattern);
                (matcher.map_err(|_| BadNeedle::NotOneLine)?, true)
            }
            Err(_) => return Err(BadNeedle::TooComplex),
        };
        let is_by_line = has_return || matcher.line_terminator().is_none();
        let max_line = MAX_REGEX_LINE.min(MAX_STEPS / n_positions(&parsed));
        Ok(Needle { matcher, max_match: None, max_line, is_by_line })
    }

    /// Returns the matches in a line.
    pub fn find_in(&self, line: &str) -> Option<LineMatches> {
        let mut scan = LineScan::inside(self, 0, 0);
        scan.push(line.as_bytes());
        scan.finish()
    }

    /// Whether a line of a text matches or is too long to be searched whole, or `stop` returned true
    /// before one was found.
    pub fn occurs_in(&self, text: &[u8], stop: &dyn Fn() -> bool) -> bool {
        let mut chunks = self.chunks(text);
        chunks.any(|chunk| {
            chunk.len() > self.max_line || self.find_line(chunk, 0).is_some() || stop()
        })
    }

    /// Splits lines into parts that take bounded time. A part that is longer than `max_line` is a
    /// single line.
    fn chunks<'a>(&self, mut lines: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let max = if self.max_match.is_some() { usize::MAX } else { CHUNK.min(self.max_line) };
        std::iter::from_fn(move || {
            let end = match lines.get(..max) {
                None => lines.len(),
                Some(start) => match memrchr(b'\n', start) {
                    Some(newline) => newline + 1,
                    None => memchr(b'\n', &lines[max..]).map_or(lines.len(), |n| max + n + 1),
                },
            };
            let (chunk, rest) = lines.split_at(end);
            lines = rest;
            (!chunk.is_empty()).then_some(chunk)
        })
    }

    /// Returns the offset of a byte of the first line that matches, from the line that starts at `at`.
    fn find_line(&self, lines: &[u8], mut at: usize) -> Option<usize> {
        while at < lines.len() {
            let hit = match self.is_by_line {
                true => LineMatchKind::Candidate(0),
                false => self.matcher.find_candidate_line(&lines[at..]).expect(CANNOT_FAIL)?,
            };
            let (LineMatchKind::Confirmed(offset) | LineMatchKind::Candidate(offset)) = hit;
            let found = at + offset;
            let start = memrchr(b'\n', &lines[..found]).map_or(0, |newline| newline + 1);
            if start == lines.len() {
                // An empty match after the last ending.
                return None;
            }
            let newline = memchr(b'\n', &lines[found..]).map(|newline| found + newline);
            let is_match = || match newline {
                Some(newline) => self.is_in(&lines[start..newline]),
                // Without `\n`, a final `\r` is not part of an ending.
                None => self.is_match(&lines[start..]),
            };
            if matches!(hit, LineMatchKind::Confirmed(_)) || is_match() {
                return Some(found);
            }
            at = newline? + 1;
        }
        None
    }

    /// Whether a line, given without its `\n`, matches outside its ending.
    fn is_in(&self, line: &[u8]) -> bool {
        self.is_match(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn is_match(&self, line: &[u8]) -> bool {
        self.matcher.is_match(line).expect(CANNOT_FAIL)
    }

    fn find_at(&self, line: &[u8], at: usize) -> Option<Match> {
        self.matcher.find_at(line, at).expect(CANNOT_FAIL)
    }
}

fn check(text: &str) -> Result<(), BadNeedle> {
    if text.is_empty() || text.contains('\n') {
        return Err(BadNeedle::NotOneLine);
    }
    if text.len() > MAX_NEEDLE { Err(BadNeedle::TooLong) } else { Ok(()) }
}

fn builder(is_case_sensitive: bool) -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(!is_case_sensitive).size_limit(MAX_COMPILED).dfa_size_limit(MAX_CACHE);
    builder
}

/// Returns about how many positions in a pattern a match may be at, at the same time: each byte and
/// class, as often as it is repeated.
fn n_positions(pattern: &Hir) -> usize {
    let sum = |parts: &[Hir]| parts.iter().map(n_positions).fold(0, usize::saturating_add);
    let n = match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Repetition(repeated) => {
            let n_times = repeated.max.unwrap_or(repeated.min.saturating_add(1)) as usize;
            n_positions(&repeated.sub).saturating_mul(n_times)
        }
        HirKind::Capture(group) => n_positions(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    };
    n.max(1)
}

/// Returns where a pattern has a syntax error.
fn syntax(error: SyntaxError) -> BadNeedle {
    let (span, cause) = match &error {
        SyntaxError::Parse(error) => (error.span(), error.kind().to_string()),
        SyntaxError::Translate(error) => (error.span(), error.kind().to_string()),
        _ => return BadNeedle::TooComplex,
    };
    BadNeedle::Syntax { column: span.start.column, cause }
}

/// The parameters of a search.
#[derive(Clone)]
pub struct Search<'a> {
    /// What to search for.
    pub needle: &'a Needle,
    /// The lines to search, from 0, sorted and disjoint.
    pub within: Vec<Range<u64>>,
    /// The most lines to return, or `None` to only count them.
    pub max_hits: Option<usize>,
    /// Whether the search must end.
    pub stop: &'a dyn Fn() -> bool,
}

/// The lines that match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// Their numbers, from 1, ascending.
    pub lines: Vec<u64>,
    /// How many were found.
    pub n_lines: u64,
    /// Whether there are more than were returned.
    pub has_more: bool,
    /// The first line that was not searched, from 0, if the search was stopped.
    pub stopped_at: Option<u64>,
    /// Whether only the start of some line was searched, without a match.
    pub is_partial: bool,
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
    /// Whether that line is known to match.
    is_hit: bool,
    /// Whether the end of that line was dropped.
    is_cut: bool,
    is_partial: bool,
    lines: Vec<u64>,
    n_lines: u64,
    has_more: bool,
    stopped_at: Option<u64>,
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
            is_cut: false,
            is_partial: false,
            lines: Vec::new(),
            n_lines: 0,
            has_more: false,
            stopped_at: None,
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
        self.is_ended() || self.search.within.last().is_none_or(|last| last.end <= self.line)
    }

    /// Whether further lines are not searched.
    fn is_ended(&self) -> bool {
        self.has_more || self.stopped_at.is_some()
    }

    /// Returns the result, after the last piece.
    pub fn finish(mut self) -> Hits {
        if self.is_inside_line {
            // Without `\n`, a final `\r` is not part of an ending.
            self.is_hit |= self.search.needle.is_match(&self.buffered);
            self.end_line();
        }
        let SearchScan { lines, n_lines, has_more, stopped_at, is_partial, line, .. } = self;
        Hits { lines, n_lines, has_more, stopped_at, is_partial, total_lines: line }
    }

    /// Buffers a part of an unfinished line. Of a very long line, only the end is kept, in case a
    /// match continues in the next piece.
    fn buffer(&mut self, piece: &[u8]) {
        self.is_inside_line = true;
        if self.is_hit || self.is_ended() {
            return;
        }
        let Some(max_match) = self.search.needle.max_match else {
            let max = self.search.needle.max_line;
            self.is_cut |= piece.len() > max - self.buffered.len();
            return extend_up_to(&mut self.buffered, piece, max);
        };
        self.buffered.extend_from_slice(piece);
        if self.buffered.len() > MAX_BUFFERED {
            self.is_hit = self.search.needle.is_in(&self.buffered);
            let n_done = self.buffered.len().saturating_sub(max_match);
            self.buffered.drain(..n_done);
        }
    }

    fn end_line(&mut self) {
        if !self.is_ended() && self.is_wanted(self.line) {
            match self.is_hit || self.search.needle.is_in(&self.buffered) {
                true => self.found(self.line),
                false => self.is_partial |= self.is_cut,
            }
        }
        self.buffered.clear();
        (self.is_inside_line, self.is_hit, self.is_cut) = (false, false, false);
        self.line += 1;
    }

    /// Searches whole lines; the last line of the text may lack its ending.
    fn push_lines(&mut self, lines: &[u8]) {
        for chunk in self.search.needle.chunks(lines) {
            match chunk.len() > self.search.needle.max_line {
                true => {
                    self.buffer(chunk.strip_suffix(b"\n").unwrap_or(chunk));
                    self.end_line();
                }
                false => self.push_chunk(chunk),
            }
            if !self.is_ended() && (self.search.stop)() {
                self.stopped_at = Some(self.line);
            }
        }
    }

    fn push_chunk(&mut self, lines: &[u8]) {
        let n_endings = memchr_iter(b'\n', lines).count() as u64;
        let is_open = !lines.is_empty() && !lines.ends_with(b"\n");
        let end_line = self.line + n_endings + u64::from(is_open);
        self.is_wanted(self.line);
        let is_near = self.ahead.first().is_some_and(|range| range.start < end_line);
        let is_inside = || self.ahead[0].contains(&self.line) && self.ahead[0].end >= end_line;
        if is_near && self.search.max_hits.is_none() && is_inside() {
            // Lines that are only counted need no numbers.
            let mut at = 0;
            while !self.is_ended()
                && let Some(hit) = self.search.needle.find_line(lines, at)
            {
                self.n_lines += 1;
                let Some(newline) = memchr(b'\n', &lines[hit..]) else { break };
                at = hit + newline + 1;
            }
        } else if is_near {
            let mut at = 0;
            let mut line = self.line;
            while !self.is_ended()
                && let Some(hit) = self.search.needle.find_line(lines, at)
            {
                line += memchr_iter(b'\n', &lines[at..hit]).count() as u64;
                self.found(line);
                let Some(newline) = memchr(b'\n', &lines[hit..]) else { break };
                at = hit + newline + 1;
                line += 1;
            }
        }
        self.line = end_line;
    }

    /// Whether a line is to be searched. Lines are asked for in order.
    fn is_wanted(&mut self, line: u64) -> bool {
        while let [first, rest @ ..] = self.ahead
            && first.end <= line
        {
            self.ahead = rest;
        }
        self.ahead.first().is_some_and(|range| range.contains(&line))
    }

    fn found(&mut self, line: u64) {
        if !self.is_wanted(line) {
            return;
        }
        match self.search.max_hits {
            Some(max_hits) if self.lines.len() == max_hits => {
                self.has_more = true;
                return;
            }
            Some(_) => self.lines.push(line + 1),
            None => {}
        }
        self.n_lines += 1;
    }
}

fn extend_up_to(buffered: &mut Vec<u8>, piece: &[u8], max: usize) {
    let n_taken = piece.len().min(max.saturating_sub(buffered.len()));
    buffered.extend_from_slice(&piece[..n_taken]);
}

#[cfg(test)]
mod tests;
