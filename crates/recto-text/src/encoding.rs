//! Detects encodings, decodes and encodes text.
//!
//! UTF-8 with or without BOM and UTF-16 with BOM are text. Other bytes are text in a legacy
//! encoding only if all checks pass. After a wrong guess a model would see mojibake and write it
//! back, so in doubt a file is binary.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{UTF_16BE, UTF_16LE};

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";
const UTF16LE_BOM: &[u8] = b"\xff\xfe";
const UTF16BE_BOM: &[u8] = b"\xfe\xff";
const UTF32LE_BOM: &[u8] = b"\xff\xfe\0\0";

/// The encoding of a file. The BOM is part of the encoding, not of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a BOM.
    Utf8,
    /// UTF-8 after a BOM.
    Utf8Bom,
    /// UTF-16, little endian, after a BOM.
    Utf16Le,
    /// UTF-16, big endian, after a BOM.
    Utf16Be,
    /// An encoding older than Unicode.
    Legacy(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// Detects the encoding of a whole file. Returns `None` if its bytes are not text.
    ///
    /// UTF-16 and UTF-8 with BOM are detected by the BOM alone; decoding can still fail.
    pub fn detect(bytes: &[u8]) -> Option<Encoding> {
        if bytes.starts_with(UTF8_BOM) {
            return Some(Encoding::Utf8Bom);
        }
        // This is UTF-32; as UTF-16 it would start with NUL.
        if bytes.starts_with(UTF32LE_BOM) {
            return None;
        }
        if bytes.starts_with(UTF16LE_BOM) {
            return Some(Encoding::Utf16Le);
        }
        if bytes.starts_with(UTF16BE_BOM) {
            return Some(Encoding::Utf16Be);
        }
        if memchr::memchr(0, bytes).is_some() {
            return None;
        }
        if std::str::from_utf8(bytes).is_ok() {
            return Some(Encoding::Utf8);
        }
        detect_legacy(bytes)
    }

    /// Whether bytes start with a BOM.
    pub fn has_bom(bytes: &[u8]) -> bool {
        [UTF8_BOM, UTF16LE_BOM, UTF16BE_BOM].iter().any(|bom| bytes.starts_with(bom))
    }

    /// Whether a file that starts with these bytes is binary, whatever follows.
    pub fn is_binary_head(head: &[u8]) -> bool {
        let is_utf16 = [UTF16LE_BOM, UTF16BE_BOM].iter().any(|bom| head.starts_with(bom));
        !is_utf16 && memchr::memchr(0, head).is_some()
    }

    /// Whether bytes are UTF-8 without BOM and NUL, as nearly all files are.
    pub fn is_plain_utf8(bytes: &[u8]) -> bool {
        !Encoding::has_bom(bytes)
            && simdutf8::basic::from_utf8(bytes).is_ok()
            && memchr::memchr(0, bytes).is_none()
    }

    /// Detects the encoding from the start of a file, which may be cut inside a character.
    pub fn sniff(head: &[u8]) -> Option<Encoding> {
        if let Err(error) = std::str::from_utf8(head)
            && error.error_len().is_none()
        {
            return Encoding::detect(&head[..error.valid_up_to()]);
        }
        let is_cut = |n_cut: &usize| head.iter().rev().take(*n_cut).all(|byte| !byte.is_ascii());
        let n_cuts = (0..=3).filter(|n_cut| *n_cut <= head.len()).take_while(is_cut);
        n_cuts.map(|n_cut| &head[..head.len() - n_cut]).find_map(Encoding::detect)
    }

    /// Returns the BOM, or nothing.
    pub fn bom(self) -> &'static [u8] {
        match self {
            Encoding::Utf8 | Encoding::Legacy(_) => b"",
            Encoding::Utf8Bom => UTF8_BOM,
            Encoding::Utf16Le => UTF16LE_BOM,
            Encoding::Utf16Be => UTF16BE_BOM,
        }
    }

    /// Returns the WHATWG name.
    pub fn name(self) -> &'static str {
        self.whatwg().name()
    }

    /// Decodes stored bytes, which include the BOM. Returns `None` if they are not text.
    pub fn decode(self, bytes: &[u8]) -> Option<String> {
        let body = bytes.strip_prefix(self.bom())?;
        let text = self.whatwg().decode_without_bom_handling_and_without_replacement(body)?;
        Some(text.into_owned())
    }

    /// Encodes a text with its BOM. Fails with the first character that the encoding lacks.
    ///
    /// Only UTF-16 can contain NUL: in any other encoding it would make the file binary.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Encoding::Utf8 | Encoding::Utf8Bom => {
                reject_nul(text)?;
                Ok([self.bom(), text.as_bytes()].concat())
            }
            Encoding::Utf16Le => Ok(encode_utf16(self.bom(), text, u16::to_le_bytes)),
            Encoding::Utf16Be => Ok(encode_utf16(self.bom(), text, u16::to_be_bytes)),
            Encoding::Legacy(encoding) => {
                reject_nul(text)?;
                let (bytes, _, has_unmappable) = encoding.encode(text);
                if !has_unmappable {
                    return Ok(bytes.into_owned());
                }
                let mut one = [0; 4];
                let unmappable = text.chars().find(|c| encoding.encode(c.encode_utf8(&mut one)).2);
                Err(unmappable.unwrap_or(char::REPLACEMENT_CHARACTER))
            }
        }
    }

    /// Returns a decoder for bytes that arrive in pieces.
    pub fn decoder(self) -> Decoder {
        Decoder { n_bom_left: self.bom().len(), ..self.decoder_inside() }
    }

    /// Returns a decoder for bytes that start after the BOM.
    pub fn decoder_inside(self) -> Decoder {
        Decoder { inner: self.whatwg().new_decoder_without_bom_handling(), n_bom_left: 0 }
    }

    fn whatwg(self) -> &'static encoding_rs::Encoding {
        match self {
            Encoding::Utf8 | Encoding::Utf8Bom => encoding_rs::UTF_8,
            Encoding::Utf16Le => UTF_16LE,
            Encoding::Utf16Be => UTF_16BE,
            Encoding::Legacy(encoding) => encoding,
        }
    }
}

/// Decodes pieces of stored bytes to UTF-8.
pub struct Decoder {
    inner: encoding_rs::Decoder,
    n_bom_left: usize,
}

impl Decoder {
    /// Decodes the next piece into `out`, which is cleared first. Returns whether it contained
    /// invalid bytes, which become U+FFFD.
    pub fn push(&mut self, piece: &[u8], is_last: bool, out: &mut String) -> bool {
        out.clear();
        let n_bom = self.n_bom_left.min(piece.len());
        self.n_bom_left -= n_bom;
        let body = &piece[n_bom..];
        let capacity = self.inner.max_utf8_buffer_length(body.len()).unwrap_or(body.len());
        out.reserve(capacity);
        let (_, _, has_errors) = self.inner.decode_to_string(body, out, is_last);
        has_errors
    }
}

fn reject_nul(text: &str) -> Result<(), char> {
    match memchr::memchr(0, text.as_bytes()) {
        Some(_) => Err('\0'),
        None => Ok(()),
    }
}

fn encode_utf16(bom: &[u8], text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(bom.len() + 2 * text.len());
    bytes.extend_from_slice(bom);
    bytes.extend(text.encode_utf16().flat_map(to_bytes));
    bytes
}

/// Detects a legacy encoding. The bytes must not look like damaged UTF-8, contain no control
/// characters unusual in text, and survive a round trip through the encoding.
fn detect_legacy(bytes: &[u8]) -> Option<Encoding> {
    if has_only_signs(bytes) {
        return Some(Encoding::Legacy(encoding_rs::WINDOWS_1252));
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let mut encoding = detector.guess(None, Utf8Detection::Deny);
    if is_hardly_baltic(bytes, encoding) {
        encoding = encoding_rs::WINDOWS_1252;
    }
    if looks_like_damaged_utf8(bytes, encoding) {
        return None;
    }
    let encoding = Encoding::Legacy(encoding);
    let text = encoding.decode(bytes)?;
    let is_plain =
        |c: char| !c.is_control() || matches!(c, '\t' | '\r' | '\n' | '\u{c}' | '\u{1b}');
    if !text.chars().all(is_plain) {
        return None;
    }
    (encoding.encode(&text).as_deref() == Ok(bytes)).then_some(encoding)
}

/// Whether all bytes outside ASCII are Western European signs beside digits or units, as in `£5`, `±1`,
/// `5 µm`, `20 °C`, `3 m²`. The detector takes so few bytes for letters of other languages.
fn has_only_signs(bytes: &[u8]) -> bool {
    let is_letter =
        |at: usize| bytes.get(at).is_some_and(|it| it.is_ascii_alphabetic() || !it.is_ascii());
    let is_sign = |at: usize| {
        let before = at.checked_sub(1).filter(|before| is_letter(*before)).map(|at| bytes[at]);
        match bytes[at] {
            b'\xa2' | b'\xa3' | b'\xa5' | b'\xa7' | b'\xb1' | b'\xbc'..=b'\xbe' => {
                before.is_none() && !is_letter(at + 1)
            }
            b'\xb0' | b'\xb5' => before.is_none() && bytes.get(at + 1).is_none_or(u8::is_ascii),
            b'\xb2' | b'\xb3' => before.is_none_or(|unit| unit == b'm') && !is_letter(at + 1),
            _ => false,
        }
    };
    let is_text = |at: usize| match bytes[at] {
        byte if byte.is_ascii_control() => {
            matches!(byte, b'\t' | b'\r' | b'\n' | b'\x0c' | b'\x1b')
        }
        byte => byte.is_ascii() || is_sign(at),
    };
    (0..bytes.len()).all(is_text)
}

/// Whether a Baltic encoding was guessed from three letters or fewer, none of which is the common š or
/// ž. The detector takes `Béjaïa` for Latvian.
fn is_hardly_baltic(bytes: &[u8], guess: &'static encoding_rs::Encoding) -> bool {
    let mut letters: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii()).collect();
    letters.sort_unstable();
    letters.dedup();
    let is_telling = |byte: &u8| match guess.name() {
        "windows-1257" | "ISO-8859-13" => matches!(byte, 0xd0 | 0xde | 0xf0 | 0xfe),
        _ => matches!(byte, 0xa9 | 0xae | 0xb9 | 0xbe),
    };
    let is_baltic =
        matches!(guess.name(), "windows-1257" | "ISO-8859-13" | "ISO-8859-4" | "ISO-8859-10");
    is_baltic && letters.len() < 4 && !letters.iter().any(is_telling)
}

/// Whether bytes look like damaged UTF-8. For a single-byte encoding, one valid multi-byte UTF-8
/// sequence is enough. In East Asian encodings such sequences occur by chance (`\xc5\x82` in every
/// Shift_JIS "です"), so they must make up half of the bytes that are not ASCII.
fn looks_like_damaged_utf8(bytes: &[u8], guess: &'static encoding_rs::Encoding) -> bool {
    let n_foreign = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let count_valid = |valid: &str| valid.bytes().filter(|byte| !byte.is_ascii()).count();
    let n_valid: usize = bytes.utf8_chunks().map(|chunk| count_valid(chunk.valid())).sum();
    if guess.is_single_byte() { n_valid > 0 } else { 2 * n_valid >= n_foreign }
}

#[cfg(test)]
mod tests;
