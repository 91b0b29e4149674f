//! The size of text in an answer: as UTF-8, and inside a JSON string.

/// The size of a text, or a bound on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Bytes of UTF-8.
    pub bytes: usize,
    /// Bytes inside a JSON string, with escapes.
    pub json: usize,
}

impl Size {
    /// Returns the size of a text.
    pub fn of(text: &str) -> Size {
        Size { bytes: text.len(), json: json_len(text.as_bytes()) }
    }

    /// Returns a bound on the UTF-8 alone.
    pub const fn utf8(bytes: usize) -> Size {
        Size { bytes, json: usize::MAX }
    }

    /// Returns the sum of two sizes.
    pub fn plus(self, other: Size) -> Size {
        let bytes = self.bytes.saturating_add(other.bytes);
        Size { bytes, json: self.json.saturating_add(other.json) }
    }

    /// Returns what is left of a bound, or `None` if `used` exceeds it.
    pub fn minus(self, used: Size) -> Option<Size> {
        let json = match self.json {
            usize::MAX => usize::MAX,
            json => json.checked_sub(used.json)?,
        };
        Some(Size { bytes: self.bytes.checked_sub(used.bytes)?, json })
    }

    /// Returns the length of the longest start of a text within this bound. It ends between
    /// characters, if the bytes are UTF-8.
    pub fn fitting(self, text: &[u8]) -> usize {
        let mut end = text.len().min(self.bytes);
        // Most texts are far from the bound, and need no counting.
        if end > self.json / 6 && json_len(&text[..end]) > self.json {
            let mut left = self.json;
            let fits = |byte: &u8| {
                let next = left.checked_sub(1 + usize::from(n_escape_bytes(*byte)));
                next.inspect(|next| left = *next).is_some()
            };
            end = text[..end].iter().copied().take_while(fits).count();
        }
        if end == text.len() { end } else { floor_char_boundary(text, end) }
    }
}

/// Returns the longest start of a text within a bound.
pub fn fitting(text: &str, max: Size) -> &str {
    &text[..max.fitting(text.as_bytes())]
}

/// Returns the bytes of a text inside a JSON string.
fn json_len(bytes: &[u8]) -> usize {
    // Short chunks, so that the sum of one fits a byte; without overflow checks, so that the
    // compiler vectorizes it.
    let n_more_in = |chunk: &[u8]| {
        chunk.iter().fold(0u8, |n_more, byte| n_more.wrapping_add(n_escape_bytes(*byte)))
    };
    bytes.len() + bytes.chunks(48).map(|chunk| usize::from(n_more_in(chunk))).sum::<usize>()
}

/// Returns how many bytes the escape of a byte adds.
fn n_escape_bytes(byte: u8) -> u8 {
    // From backspace to carriage return, all but the vertical tab have a short escape.
    let is_short = ((byte.wrapping_sub(8) < 6) & (byte != 11)) | (byte == b'"') | (byte == b'\\');
    let is_long = (byte < 0x20) & !is_short;
    u8::from(is_short) | (u8::from(is_long) << 2) | u8::from(is_long)
}

/// Returns the last character boundary at or before `at`, which is inside the bytes.
fn floor_char_boundary(bytes: &[u8], at: usize) -> usize {
    let is_boundary = |index: &usize| (bytes[*index] as i8) >= -0x40;
    (at.saturating_sub(3)..=at).rev().find(is_boundary).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Counts as the JSON grammar says.
    fn json_by_character(text: &str) -> usize {
        let escaped = |c: char| match c {
            '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{c}' | '\r' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        };
        text.chars().map(escaped).sum()
    }

    proptest! {
        #[test]
        fn a_start_fits_and_one_more_character_does_not(
            text in "([\u{0}-\u{22}\\\\aä你😀\u{7f}]){0,120}",
            bytes in 0usize..300,
            json in 0usize..300,
        ) {
            prop_assert_eq!(Size::of(&text).json, json_by_character(&text));
            let max = Size { bytes, json };
            let start = fitting(&text, max);
            prop_assert!(max.minus(Size::of(start)).is_some());
            if let Some(next) = text[start.len()..].chars().next() {
                let longer = format!("{start}{next}");
                prop_assert!(max.minus(Size::of(&longer)).is_none(), "{:?}", longer);
            }
        }
    }
}
