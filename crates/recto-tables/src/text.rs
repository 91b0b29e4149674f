//! Decodes text in pieces from input that may exceed memory.
//!
//! A reader inspects the buffered text, asks for more, and advances over what it has used.

use std::io::Read;

use recto_text::Encoding;
use recto_text::encoding::Decoder;

use crate::error::{Error, Result};
use crate::source::read_up_to;

/// The size of the first read, which determines the encoding.
const FIRST_BYTES: usize = 256 * 1024;

/// The number of bytes from which a legacy encoding is guessed.
const GUESS_BYTES: usize = 64 * 1024;

/// The decoded text that was read and not used yet.
pub struct Text<'a> {
    input: &'a mut dyn Read,
    decoder: Decoder,
    piece: String,
    buffer: String,
    /// The start of the unused text in the buffer, on a character boundary.
    start: usize,
    is_complete: bool,
    encoding: Encoding,
}

impl<'a> Text<'a> {
    /// Reads the start. Bytes that are not text are not a table.
    pub fn open(input: &'a mut dyn Read) -> Result<Text<'a>> {
        let head = read_up_to(input, FIRST_BYTES)?;
        let Some(encoding) = sniff(&head) else {
            return Err(Error::NotATable { what: "a binary file".into(), is_text: false });
        };
        let mut text = Text {
            input,
            decoder: encoding.decoder(),
            piece: String::new(),
            buffer: String::new(),
            start: 0,
            is_complete: false,
            encoding,
        };
        text.push(&head, FIRST_BYTES);
        Ok(text)
    }

    /// Returns the buffered text.
    pub fn rest(&self) -> &str {
        &self.buffer[self.start..]
    }

    /// Returns whether no more text follows the buffered text.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Discards the first `n_bytes` of the buffered text.
    pub fn advance(&mut self, n_bytes: usize) {
        let start = self.start.saturating_add(n_bytes).min(self.buffer.len());
        debug_assert!(self.buffer.is_char_boundary(start));
        self.start = self.buffer.ceil_char_boundary(start);
    }

    /// Discards the first `n_bytes` of the buffered text, and returns them.
    pub fn take(&mut self, n_bytes: usize) -> &str {
        let start = self.start;
        self.advance(n_bytes);
        &self.buffer[start..self.start]
    }

    /// Doubles the buffered text, so that rescanning it from its start costs no more than reading
    /// it.
    pub fn fill(&mut self) -> Result<()> {
        if self.is_complete {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let n_bytes = self.buffer.len().max(FIRST_BYTES);
        let bytes = read_up_to(self.input, n_bytes)?;
        self.push(&bytes, n_bytes);
        Ok(())
    }

    fn push(&mut self, bytes: &[u8], n_wanted: usize) {
        self.is_complete = bytes.len() < n_wanted;
        self.decoder.push(bytes, self.is_complete, &mut self.piece);
        self.buffer.push_str(&self.piece);
    }
}

/// Returns whether bytes are UTF-8 with a few NULs, as programs write that pad fields. In UTF-16
/// without a BOM about every second byte is NUL.
pub fn has_stray_nuls(head: &[u8]) -> bool {
    let n_nuls = head.iter().filter(|byte| **byte == 0).count();
    n_nuls < head.len() / 4 && is_utf8(head)
}

/// Returns whether bytes are UTF-8, of which the last character may be cut.
fn is_utf8(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// Detects the encoding from the first bytes. A legacy encoding is guessed from the first line that
/// is not UTF-8.
fn sniff(head: &[u8]) -> Option<Encoding> {
    if is_utf8(head) || Encoding::has_bom(head) || head.len() <= GUESS_BYTES {
        return Encoding::sniff(head).or_else(|| has_stray_nuls(head).then_some(Encoding::Utf8));
    }
    let n_valid = head.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    let line_start = head[..n_valid].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if head[..line_start].contains(&0) {
        return None;
    }
    Encoding::sniff(&head[line_start..head.len().min(line_start + GUESS_BYTES)])
}

#[cfg(test)]
mod tests;
