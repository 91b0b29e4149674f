//! A whole file as text, with the bytes and the encoding to write it back unchanged.

use crate::digest::Digest;
use crate::encoding::Encoding;

/// The text of a file and the bytes it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    encoding: Encoding,
    stored: Stored,
}

/// The stored form. For UTF-8 the bytes are the text; other encodings keep both.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stored {
    Utf8(String),
    Decoded { bytes: Vec<u8>, text: String },
}

/// The reason why a text cannot be stored in a document's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unencodable {
    /// The encoding has no bytes for this character.
    Character(char),
    /// The bytes would decode to another text.
    ReadsDifferently,
}

impl Document {
    /// Parses stored bytes as text. Returns the bytes as error if they are binary.
    pub fn parse(bytes: Vec<u8>) -> Result<Document, Vec<u8>> {
        if Encoding::is_plain_utf8(&bytes) {
            // SAFETY: the bytes were validated. `String::from_utf8` would do it again, and takes many
            // times as long for text that is not ASCII.
            let stored = unsafe { String::from_utf8_unchecked(bytes) };
            return Ok(Document { encoding: Encoding::Utf8, stored: Stored::Utf8(stored) });
        }
        let Some(encoding) = Encoding::detect(&bytes) else { return Err(bytes) };
        let stored = match encoding {
            Encoding::Utf8 | Encoding::Utf8Bom => {
                if memchr::memchr(0, &bytes).is_some() {
                    return Err(bytes);
                }
                Stored::Utf8(String::from_utf8(bytes).map_err(|error| error.into_bytes())?)
            }
            Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Legacy(_) => {
                match encoding.decode(&bytes) {
                    Some(text) => Stored::Decoded { bytes, text },
                    None => return Err(bytes),
                }
            }
        };
        Ok(Document { encoding, stored })
    }

    /// Creates a UTF-8 document without BOM.
    pub fn new(text: &str) -> Result<Document, Unencodable> {
        Document { encoding: Encoding::Utf8, stored: Stored::Utf8(String::new()) }.with_text(text)
    }

    /// Returns a document with `text` in this one's encoding. Parsing its bytes gives `text` again.
    pub fn with_text(&self, text: &str) -> Result<Document, Unencodable> {
        let bytes = self.encoding.encode(text).map_err(Unencodable::Character)?;
        match Document::parse(bytes) {
            Ok(document) if document.text() == text => Ok(document),
            _ => Err(Unencodable::ReadsDifferently),
        }
    }

    /// Returns the text, without BOM.
    pub fn text(&self) -> &str {
        match &self.stored {
            Stored::Utf8(stored) => &stored[self.encoding.bom().len()..],
            Stored::Decoded { text, .. } => text,
        }
    }

    /// Returns the text with its BOM if the bytes are UTF-8. Tools such as `git apply` see this text.
    pub fn text_with_bom(&self) -> &str {
        match &self.stored {
            Stored::Utf8(stored) => stored,
            Stored::Decoded { text, .. } => text,
        }
    }

    /// Returns the bytes as stored, with BOM.
    pub fn bytes(&self) -> &[u8] {
        match &self.stored {
            Stored::Utf8(stored) => stored.as_bytes(),
            Stored::Decoded { bytes, .. } => bytes,
        }
    }

    /// Returns the encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the version tag.
    pub fn digest(&self) -> Digest {
        Digest::of(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_bom_is_not_text_and_is_kept() {
        let before = Document::parse(b"\xef\xbb\xbfa\r\n".to_vec()).unwrap();
        assert_eq!(before.text(), "a\r\n");
        assert_eq!(before.with_text("b\n").unwrap().bytes(), b"\xef\xbb\xbfb\n");
    }

    #[test]
    fn rejects_text_that_would_not_read_back() {
        let latin = Document::parse(b"d\xe9j\xe0 vu, caf\xe9 cr\xe8me\n".to_vec()).unwrap();
        assert_eq!(latin.encoding().name(), "windows-1252");
        assert_eq!(latin.with_text("你").unwrap_err(), Unencodable::Character('你'));
        // Its bytes in windows-1252 are the UTF-8 of another text.
        assert_eq!(latin.with_text("Ã©").unwrap_err(), Unencodable::ReadsDifferently);
        // Plain ASCII reads the same in every encoding.
        assert_eq!(latin.with_text("deja vu\n").unwrap().bytes(), b"deja vu\n");

        let utf8 = Document::new("x").unwrap();
        assert_eq!(utf8.with_text("\u{feff}x").unwrap_err(), Unencodable::ReadsDifferently);
        assert_eq!(utf8.with_text("a\0b").unwrap_err(), Unencodable::Character('\0'));
    }

    #[test]
    fn binary_bytes_are_returned() {
        assert_eq!(Document::parse(b"\x89PNG\0".to_vec()).unwrap_err(), b"\x89PNG\0");
        assert_eq!(Document::parse(b"\xef\xbb\xbfa\0".to_vec()).unwrap_err(), b"\xef\xbb\xbfa\0");
    }
}
