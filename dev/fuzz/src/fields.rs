//! An input as fields with NUL between them, which no text has: easy to write by hand, and easy
//! for a fuzzer to take apart.

use std::borrow::Cow;

/// The fields that are still to be read.
pub struct Fields<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// Starts at the first.
    pub fn new(input: &'a [u8]) -> Fields<'a> {
        Fields { rest: Some(input) }
    }

    /// Whether there is another.
    pub fn has_more(&self) -> bool {
        self.rest.is_some()
    }

    /// The next; empty where there is none.
    pub fn bytes(&mut self) -> &'a [u8] {
        let Some(rest) = self.rest else { return &[] };
        match rest.iter().position(|byte| *byte == 0) {
            Some(end) => {
                self.rest = Some(&rest[end + 1..]);
                &rest[..end]
            }
            None => {
                self.rest = None;
                rest
            }
        }
    }

    /// Everything that is left.
    pub fn all(&mut self) -> &'a [u8] {
        self.rest.take().unwrap_or_default()
    }

    /// The next as text.
    pub fn text(&mut self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The next as a number; 0 where it is none.
    pub fn number(&mut self) -> i64 {
        self.text().parse().unwrap_or_default()
    }
}

/// Cuts bytes into pieces whose lengths are those of `sizes`, over and over.
pub fn pieces<'a>(bytes: &'a [u8], sizes: &[u8]) -> Vec<&'a [u8]> {
    let mut sizes = sizes.iter().map(|size| usize::from(*size)).filter(|size| *size > 0).cycle();
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(sizes.next().unwrap_or(7).min(rest.len()));
        pieces.push(piece);
        rest = later;
    }
    pieces
}
