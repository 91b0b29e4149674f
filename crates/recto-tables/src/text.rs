//! Text in pieces out of bytes that may be far more than memory.
//!
//! What is in the text is left to others: they look at what is there, ask for more, and say how
//! much of it they are done with.

use std::io::Read;

use recto_text::Encoding;
use recto_text::encoding::Decoder;

use crate::error::{Error, Result};
use crate::source::read_up_to;

/// How much is read at first, and decides about the encoding.
const FIRST_BYTES: usize = 256 * 1024;

/// How much is looked at when a legacy encoding has to be guessed.
const GUESS_BYTES: usize = 64 * 1024;

/// The decoded text that has been read and not been used up yet.
pub struct Text<'a> {
    input: &'a mut dyn Read,
    decoder: Decoder,
    piece: String,
    buffer: String,
    /// Where in the buffer the unused text starts. Always between two characters.
    start: usize,
    is_complete: bool,
    encoding: Encoding,
}

impl<'a> Text<'a> {
    /// Reads the beginning. Bytes that are no text are not a table.
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

    /// The text that is at hand.
    pub fn rest(&self) -> &str {
        &self.buffer[self.start..]
    }

    /// Whether no more text will come after what is at hand.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// How the bytes are encoded.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Is done with so many bytes of the text at hand.
    pub fn advance(&mut self, n_bytes: usize) {
        let start = self.start.saturating_add(n_bytes).min(self.buffer.len());
        debug_assert!(self.buffer.is_char_boundary(start));
        self.start = self.buffer.ceil_char_boundary(start);
    }

    /// Is done with so many bytes of the text at hand, and returns them.
    pub fn take(&mut self, n_bytes: usize) -> &str {
        let start = self.start;
        self.advance(n_bytes);
        &self.buffer[start..self.start]
    }

    /// Reads about as much again as is at hand, so that looking at it from its start once more
    /// costs no more than reading it.
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

/// Whether bytes are UTF-8 with no more than a NUL here and there, as programs leave it that fill up
/// fields. In UTF-16 without its mark about every second byte is one.
pub fn has_stray_nuls(head: &[u8]) -> bool {
    let n_nuls = head.iter().filter(|byte| **byte == 0).count();
    n_nuls < head.len() / 4 && is_utf8(head)
}

/// Whether bytes are UTF-8, of which the last character may be cut.
fn is_utf8(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// The encoding that the first bytes speak for. A guess is made where there is something to guess
/// from: at the first line that is not UTF-8.
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
