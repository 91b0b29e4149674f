//! A page of lines out of a text that may be far larger than memory.
//!
//! The text arrives in pieces and is looked at once; only the page is kept. Decoding and
//! reading are left to others.

use std::ops::Range;

use memchr::{memchr_iter, memrchr};

/// Which lines to return, and how much of them at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first line, from 1.
    pub first_line: u64,
    /// At most this many lines.
    pub max_lines: u64,
    /// At most this many bytes of UTF-8.
    pub max_bytes: usize,
}

/// The lines of a window, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The lines with their endings.
    pub content: String,
    /// The number of the first line.
    pub first_line: u64,
    /// How many lines `content` holds.
    pub n_lines: u64,
    /// How many lines the whole text has.
    pub total_lines: u64,
    /// Whether the page is one line that had to be cut inside.
    pub is_cut: bool,
}

impl Page {
    /// The line after the page, where there is one.
    pub fn next_line(&self) -> Option<u64> {
        let next = self.first_line.saturating_add(self.n_lines);
        (self.n_lines > 0 && next <= self.total_lines).then_some(next)
    }
}

impl Window {
    /// The page of a text that is at hand.
    pub fn page(self, text: &str) -> Page {
        let mut scan = PageScan::new(self);
        scan.push(text.as_bytes());
        scan.finish().expect("text is UTF-8, and so is a part of it cut between characters")
    }
}

/// The page's bytes are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotText;

/// Looks for a window's lines in pieces of UTF-8.
pub struct PageScan {
    window: Window,
    /// The line that the next byte belongs to, from 1.
    line: u64,
    is_inside_line: bool,
    /// One byte more than the budget at most, which tells a full page from a cut one.
    kept: Vec<u8>,
    /// How many lines end in what would be kept without a budget.
    n_endings: u64,
    is_page_complete: bool,
}

impl PageScan {
    /// Starts before the first byte.
    pub fn new(window: Window) -> PageScan {
        PageScan::inside(window, 1)
    }

    /// Starts anywhere in a line at or before the window, which is then all that is right: lines
    /// after the page are not counted from there.
    pub fn inside(window: Window, line: u64) -> PageScan {
        PageScan {
            window,
            line,
            is_inside_line: false,
            kept: Vec::new(),
            n_endings: 0,
            is_page_complete: window.max_lines == 0,
        }
    }

    /// Whether everything that the page needs has been seen. What follows is only counted.
    pub fn is_page_complete(&self) -> bool {
        self.is_page_complete
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        let kept = self.advance(piece);
        self.kept.extend_from_slice(&piece[kept]);
    }

    /// Takes the next piece, and need not copy it if it is the first that matters.
    pub fn push_owned(&mut self, mut piece: Vec<u8>) {
        if !self.kept.is_empty() {
            return self.push(&piece);
        }
        let kept = self.advance(&piece);
        piece.truncate(kept.end);
        piece.drain(..kept.start);
        // A page of a few lines does not hold on to the room of all that was read.
        if piece.capacity() / 2 > piece.len() {
            piece.shrink_to_fit();
        }
        self.kept = piece;
    }

    /// Steps over a piece; says which part of it is to be kept.
    fn advance(&mut self, piece: &[u8]) -> Range<usize> {
        if piece.is_empty() {
            return 0..0;
        }
        self.is_inside_line = !piece.ends_with(b"\n");
        let mut rest = piece;
        if self.line < self.window.first_line {
            rest = self.skip_lines(rest, self.window.first_line);
        }
        let start = piece.len() - rest.len();
        let mut kept = start..start;
        if !self.is_page_complete && self.line >= self.window.first_line {
            let end_line = self.window.first_line.saturating_add(self.window.max_lines);
            let line = self.line;
            let later = self.skip_lines(rest, end_line);
            self.n_endings += self.line - line;
            let n_room = self.window.max_bytes.saturating_add(1) - self.kept.len();
            kept.end += (rest.len() - later.len()).min(n_room);
            self.is_page_complete =
                self.line >= end_line || self.kept.len() + kept.len() > self.window.max_bytes;
            rest = later;
        }
        self.line += memchr_iter(b'\n', rest).count() as u64;
        kept
    }

    /// The page, once all pieces are in.
    pub fn finish(mut self) -> Result<Page, NotText> {
        let total_lines = self.line - 1 + u64::from(self.is_inside_line);
        let max_bytes = self.window.max_bytes;
        let mut is_cut = false;
        if self.kept.len() > max_bytes {
            match memrchr(b'\n', &self.kept[..max_bytes]) {
                Some(newline) => self.kept.truncate(newline + 1),
                None => {
                    is_cut = true;
                    self.kept.truncate(floor_char_boundary(&self.kept, max_bytes));
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

    /// Steps over whole lines until the next byte belongs to `end_line`; returns what is left.
    fn skip_lines<'a>(&mut self, piece: &'a [u8], end_line: u64) -> &'a [u8] {
        // Counting is several times as fast as stepping from line to line.
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

/// The last place at or before `at` where no UTF-8 character is cut.
fn floor_char_boundary(bytes: &[u8], at: usize) -> usize {
    let is_boundary = |index: &usize| (bytes[*index] as i8) >= -0x40;
    (at.saturating_sub(3)..=at).rev().find(is_boundary).unwrap_or(at)
}

#[cfg(test)]
mod tests;
