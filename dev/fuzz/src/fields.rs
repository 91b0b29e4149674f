//! Splits an input into fields separated by NUL, which is easy to write by hand and easy for a
//! fuzzer to change.

use std::borrow::Cow;

/// The remaining fields.
pub struct Fields<'a> {
    rest: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// Starts at the first field.
    pub fn new(input: &'a [u8]) -> Fields<'a> {
        Fields { rest: Some(input) }
    }

    /// Returns whether there is another field.
    pub fn has_more(&self) -> bool {
        self.rest.is_some()
    }

    /// Returns the next field; empty if there is none.
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

    /// Returns the rest of the input.
    pub fn all(&mut self) -> &'a [u8] {
        self.rest.take().unwrap_or_default()
    }

    /// Returns the next field as text.
    pub fn text(&mut self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// Returns the next field as a number; 0 if it is not one.
    pub fn number(&mut self) -> i64 {
        self.text().parse().unwrap_or_default()
    }
}

/// Cuts bytes into pieces with the lengths in `sizes`, repeatedly.
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
