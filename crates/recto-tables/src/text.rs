//! Decodes text in pieces from input that may exceed memory.
//!
//! A reader inspects the buffered text, asks for more, and advances over what it has used.

use std::io::Read;

use recto_text::Encoding;
use recto_text::encoding::Decoder;

use crate::budget::{MAX_MEMORY, check_memory};
use crate::error::{Error, Result};
use crate::source::read_up_to;

/// The size of the first read, which determines the encoding.
const FIRST_BYTES: usize = 256 * 1024;

/// The number of bytes from which a legacy encoding is guessed.
const GUESS_BYTES: usize = 64 * 1024;

/// A buffer that is not longer is not checked, because it takes little memory in any case.
const MIN_CHECKED: usize = FIRST_BYTES / 2 * 3;

/// How often the bytes of the buffer exist while it grows.
const BUFFER_COPIES: usize = 4;

/// About the memory of a field besides its text, in all places that keep it.
const ELEMENT_BYTES: usize = 96;

/// The note on text with invalid bytes.
pub const INVALID: &str = "Some bytes are not valid in this encoding; they are shown as \u{fffd}.";

/// Returns the note on text of which only so many bytes were read.
pub fn only_first(n_bytes: usize) -> String {
    format!("Only the first {} MiB of the text were read.", n_bytes >> 20)
}

/// The decoded text that was read and not used yet.
pub struct Text<'a> {
    input: &'a mut dyn Read,
    decoder: Decoder,
    piece: String,
    buffer: String,
    /// The start of the unused text in the buffer, on a character boundary.
    start: usize,
    /// Its end. More text follows in the buffer if it would need too much memory.
    end: usize,
    has_all_input: bool,
    encoding: Encoding,
    has_invalid: bool,
    max_memory: u64,
}

impl<'a> Text<'a> {
    /// Reads the start. Bytes that are not text are not a table.
    pub fn open(input: &'a mut dyn Read) -> Result<Text<'a>> {
        let head = read_up_to(input, FIRST_BYTES)?;
        let stray = || has_stray_nuls(&head).then_some(Encoding::Utf8);
        let Some(encoding) = encoding(&head).or_else(stray) else {
            return Err(Error::NotATable { what: "a binary file".into(), is_text: false });
        };
        let mut text = Text {
            input,
            decoder: decoder(encoding, &head),
            piece: String::new(),
            buffer: String::new(),
            start: 0,
            end: 0,
            has_all_input: false,
            encoding,
            has_invalid: false,
            max_memory: MAX_MEMORY,
        };
        text.push(&head, FIRST_BYTES);
        text.end = text.buffer.len();
        Ok(text)
    }

    /// Returns the same text, of which no more is buffered than can be parsed with this memory.
    pub fn within(self, max_memory: u64) -> Text<'a> {
        Text { max_memory, ..self }
    }

    /// Returns the buffered text.
    pub fn rest(&self) -> &str {
        &self.buffer[self.start..self.end]
    }

    /// Returns whether no more text follows the buffered text.
    pub fn is_complete(&self) -> bool {
        self.has_all_input && self.end == self.buffer.len()
    }

    /// Returns the encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns whether bytes were replaced because they are not text in the encoding.
    pub fn has_invalid(&self) -> bool {
        self.has_invalid
    }

    /// Discards the first `n_bytes` of the buffered text.
    pub fn advance(&mut self, n_bytes: usize) {
        let start = self.start.saturating_add(n_bytes).min(self.end);
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
    /// it. If that would need too much memory, the buffered text stays as it is; more of it can be
    /// read once a part was used.
    pub fn fill(&mut self) -> Result<()> {
        if self.is_complete() {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.end -= self.start;
        self.start = 0;
        let n_bytes = self.end.max(FIRST_BYTES);
        let end = if self.end < self.buffer.len() {
            self.buffer.floor_char_boundary(self.end + n_bytes)
        } else {
            let bytes = read_up_to(self.input, n_bytes)?;
            self.push(&bytes, n_bytes);
            self.buffer.len()
        };
        self.check_memory(&self.buffer[..end])?;
        self.end = end;
        Ok(())
    }

    /// Checks the memory that a long text takes, with the fields or values that it is split into.
    fn check_memory(&self, text: &str) -> Result<()> {
        if text.len() <= MIN_CHECKED {
            return Ok(());
        }
        let is_delimiter = |byte: &u8| matches!(byte, b',' | b';' | b'\t' | b'|');
        let n_delimiters = text.bytes().filter(is_delimiter).count();
        let n_spaces = text.bytes().filter(|byte| *byte == b' ').count();
        // Spaces are tried only if there are no other delimiters.
        let n_elements = n_delimiters.max(n_spaces);
        let n_bytes = text.len() * BUFFER_COPIES + n_elements * ELEMENT_BYTES;
        check_memory(n_bytes as u64, self.max_memory)
    }

    fn push(&mut self, bytes: &[u8], n_wanted: usize) {
        self.has_all_input = bytes.len() < n_wanted;
        self.has_invalid |= self.decoder.push(bytes, self.has_all_input, &mut self.piece);
        self.buffer.push_str(&self.piece);
    }
}

/// Returns the decoder of a text that starts with `head`.
pub fn decoder(encoding: Encoding, head: &[u8]) -> Decoder {
    if Encoding::has_bom(head) { encoding.decoder() } else { encoding.decoder_inside() }
}

/// Detects the encoding from the first bytes; `None` if they are not text. In addition to text that
/// can be edited, UTF-16 without a BOM and damaged UTF-8 can be previewed.
pub fn encoding(head: &[u8]) -> Option<Encoding> {
    if Encoding::has_bom(head) {
        return Encoding::sniff(head);
    }
    if head.contains(&0) {
        return utf16(head);
    }
    if is_utf8(head) {
        return Some(Encoding::Utf8);
    }
    let n_valid = head.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    let line_start = head[..n_valid].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let is_damaged = head.len() > GUESS_BYTES && !head[..line_start].is_ascii();
    // A legacy encoding is guessed from the first line that is not UTF-8.
    let guess_start = if head.len() > GUESS_BYTES { line_start } else { 0 };
    let guessed = &head[guess_start..head.len().min(guess_start + GUESS_BYTES)];
    let legacy = if is_damaged { None } else { Encoding::sniff(guessed) };
    legacy.or_else(|| is_mostly_utf8(head).then_some(Encoding::Utf8))
}

/// Returns whether bytes are UTF-8 with a few NULs, as programs write that pad fields.
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

/// Returns whether bytes are text, most of whose characters outside ASCII are valid UTF-8.
fn is_mostly_utf8(head: &[u8]) -> bool {
    let n_invalid = head.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    let valid = || head.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    let n_valid = valid().filter(|c| !c.is_ascii()).count();
    n_invalid <= n_valid && !valid().any(is_control)
}

/// Returns the byte order of UTF-16 without a BOM: all is text, with line endings, and only in that
/// order. A few NULs in a text without other control characters do not make it UTF-16.
fn utf16(head: &[u8]) -> Option<Encoding> {
    let is_control_byte = |byte: &u8| *byte != 0 && is_control(char::from(*byte));
    if has_stray_nuls(head) && !head.iter().filter(|byte| byte.is_ascii()).any(is_control_byte) {
        return None;
    }
    let is_text = |to_unit: fn([u8; 2]) -> u16| {
        let mut units: Vec<u16> =
            head.chunks_exact(2).map(|pair| to_unit([pair[0], pair[1]])).collect();
        // The last character may be cut.
        units.pop_if(|unit| (0xd800..0xdc00).contains(unit));
        let is_plain = |c: char| {
            let is_odd = matches!(c, '\0' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}');
            !is_odd && !is_control(c)
        };
        units.contains(&u16::from(b'\n'))
            && char::decode_utf16(units).all(|c| c.is_ok_and(is_plain))
    };
    match (is_text(u16::from_le_bytes), is_text(u16::from_be_bytes)) {
        (true, false) => Some(Encoding::Utf16Le),
        (false, true) => Some(Encoding::Utf16Be),
        _ => None,
    }
}

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\r' | '\n' | '\u{c}' | '\u{1b}')
}

#[cfg(test)]
mod tests;
