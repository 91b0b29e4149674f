//! Extracts a page of lines from a text that may be larger than memory.
//!
//! The text arrives in pieces of UTF-8 and is scanned once; only the page is kept.

use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use crate::size::Size;

/// The lines to return, and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first line, from 1.
    pub first_line: u64,
    /// The first character of that line, from 1.
    pub first_column: u64,
    /// The most lines.
    pub max_lines: u64,
    /// The largest size.
    pub max_size: Size,
}

/// The lines of a window, unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The lines with their endings.
    pub content: String,
    /// The number of the first line.
    pub first_line: u64,
    /// How many lines `content` has.
    pub n_lines: u64,
    /// How many lines the whole text has.
    pub total_lines: u64,
    /// Whether the page is one line whose end was cut to fit.
    pub is_cut: bool,
}

impl Page {
    /// Returns the number of the line after the page, if there is one.
    pub fn next_line(&self) -> Option<u64> {
        let next = self.first_line.saturating_add(self.n_lines);
        (self.n_lines > 0 && next <= self.total_lines).then_some(next)
    }
}

impl Window {
    /// No lines. Its page has the total number of lines.
    pub const COUNT: Window = Window::lines(1, 0, Size::utf8(0));

    /// Returns the window of whole lines.
    pub const fn lines(first_line: u64, max_lines: u64, max_size: Size) -> Window {
        Window { first_line, first_column: 1, max_lines, max_size }
    }

    /// Returns the page of a whole text.
    pub fn page(self, text: &str) -> Page {
        let mut scan = PageScan::new(self);
        scan.push(text.as_bytes());
        scan.finish().expect("text is UTF-8, and so is a part of it cut between characters")
    }
}

/// The error for a page whose bytes are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotText;

/// Extracts a page from a text that arrives in pieces of UTF-8.
pub struct PageScan {
    window: Window,
    /// The line that the next byte belongs to, from 1.
    line: u64,
    is_inside_line: bool,
    /// The bytes of the page. May exceed the limit by one byte, which shows that the page was cut.
    kept: Vec<u8>,
    /// How many line endings the page would have without the byte limit.
    n_endings: u64,
    is_page_complete: bool,
    /// The characters of the first line to skip, until that is done.
    n_skipped: Option<u64>,
}

impl PageScan {
    /// Starts at the first byte.
    pub fn new(window: Window) -> PageScan {
        PageScan::inside(window, 1)
    }

    /// Starts inside any line at or before the window. Only the page is then valid, not the total.
    pub fn inside(window: Window, line: u64) -> PageScan {
        PageScan {
            window,
            line,
            is_inside_line: false,
            kept: Vec::new(),
            n_endings: 0,
            is_page_complete: window.max_lines == 0,
            n_skipped: Some(window.first_column - 1).filter(|n_skipped| *n_skipped > 0),
        }
    }

    /// Whether the page is complete. Further lines are only counted.
    pub fn is_page_complete(&self) -> bool {
        self.is_page_complete
    }

    /// Adds the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        let kept = self.advance(piece);
        self.kept.extend_from_slice(&piece[kept]);
    }

    /// Adds the next piece. Does not copy it if the page is still empty.
    pub fn push_owned(&mut self, mut piece: Vec<u8>) {
        if !self.kept.is_empty() {
            return self.push(&piece);
        }
        let kept = self.advance(&piece);
        piece.truncate(kept.end);
        piece.drain(..kept.start);
        // Do not keep the capacity of a large read for a small page.
        if piece.capacity() / 2 > piece.len() {
            piece.shrink_to_fit();
        }
        self.kept = piece;
    }

    /// Scans a piece and returns the range of it that belongs to the page.
    fn advance(&mut self, piece: &[u8]) -> Range<usize> {
        if piece.is_empty() {
            return 0..0;
        }
        self.is_inside_line = !piece.ends_with(b"\n");
        let mut rest = piece;
        if self.line < self.window.first_line {
            rest = self.skip_lines(rest, self.window.first_line);
        }
        if self.n_skipped.is_some() && self.line == self.window.first_line {
            rest = self.skip_characters(rest);
        }
        let start = piece.len() - rest.len();
        let mut kept = start..start;
        if !self.is_page_complete && self.line >= self.window.first_line {
            let end_line = self.window.first_line.saturating_add(self.window.max_lines);
            let line = self.line;
            let later = self.skip_lines(rest, end_line);
            self.n_endings += self.line - line;
            let n_room = self.window.max_size.bytes.saturating_add(1) - self.kept.len();
            kept.end += (rest.len() - later.len()).min(n_room);
            self.is_page_complete =
                self.line >= end_line || self.kept.len() + kept.len() > self.window.max_size.bytes;
            rest = later;
        }
        self.line += memchr_iter(b'\n', rest).count() as u64;
        kept
    }

    /// Returns the page, after the last piece.
    pub fn finish(mut self) -> Result<Page, NotText> {
        let total_lines = self.line - 1 + u64::from(self.is_inside_line);
        let n_fitting = self.window.max_size.fitting(&self.kept);
        let mut is_cut = false;
        if n_fitting < self.kept.len() {
            match memrchr(b'\n', &self.kept[..n_fitting]) {
                Some(newline) => self.kept.truncate(newline + 1),
                None => {
                    is_cut = true;
                    self.kept.truncate(n_fitting);
                }
            }
            self.n_endings = memchr_iter(b'\n', &self.kept).count() as u64;
        }
        let has_open_line = is_cut || !(self.kept.is_empty() || self.kept.ends_with(b"\n"));
        Ok(Page {
            n_lines: self.n_endings + u64::from(has_open_line),
            content: String::from_utf8(self.kept).map_err(|_| NotText)?,
            first_line: self.window.first_line,
            total_lines,
            is_cut,
        })
    }

    /// Skips characters of the first line, and returns the rest.
    fn skip_characters<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let n_left = self.n_skipped.get_or_insert(0);
        let is_end = |byte: &u8| {
            let is_start = is_character_start(*byte);
            let is_end = is_start && (*n_left == 0 || *byte == b'\n');
            *n_left -= u64::from(is_start && !is_end);
            is_end
        };
        let Some(at) = piece.iter().position(is_end) else { return &[] };
        self.n_skipped = None;
        &piece[at..]
    }

    /// Skips whole lines up to the start of `end_line`, and returns the rest.
    fn skip_lines<'a>(&mut self, piece: &'a [u8], end_line: u64) -> &'a [u8] {
        // Counting is several times as fast as finding each line.
        let n_endings = memchr_iter(b'\n', piece).count() as u64;
        if self.line.saturating_add(n_endings) < end_line {
            self.line += n_endings;
            return &[];
        }
        for newline in memchr_iter(b'\n', piece) {
            self.line += 1;
            if self.line == end_line {
                return &piece[newline + 1..];
            }
        }
        &[]
    }
}

/// Whether a byte is not a later byte of a character in UTF-8.
pub fn is_character_start(byte: u8) -> bool {
    (byte as i8) >= -0x40
}

#[cfg(test)]
mod tests;
