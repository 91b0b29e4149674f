//! Serialises messages. Long texts are handled separately: an answer often contains one twice, as
//! text and as structured content, and escaping it dominates the cost of a long answer.
//!
//! A long text is replaced by a marker and escaped once, many bytes at a time, while everything else
//! is serialised as `rmcp` defines it.

use std::io::{Result, Write};
use std::sync::LazyLock;

use rmcp::model::{ContentBlock, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// The minimum length of a text that is handled separately.
const MIN_LONG: usize = 256;

/// The most text of a message that is written without a thread switch.
const MAX_SHORT: usize = 16 << 10;

/// How many bytes are escaped before they are written.
const PIECE: usize = 128 << 10;

/// The start of a marker: 128 random bits that are never sent, so that no text contains it.
static MARK: LazyLock<String> = LazyLock::new(|| {
    recto_platform::random_hex::<16>().expect("every supported kernel has random bytes")
});

fn mark(index: usize) -> String {
    format!("{}{index}", *MARK)
}

/// The marker of an answer's last block of text, where the answer repeats it.
const LAST: &str = "last";

/// Whether a message takes little time to write.
pub fn is_short(message: &ServerJsonRpcMessage) -> bool {
    let JsonRpcMessage::Response(response) = message else { return true };
    let ServerResult::CallToolResult(result) = &response.result else { return true };
    // The structured content has about as many bytes as the text.
    let n_bytes = |block: &ContentBlock| match block {
        ContentBlock::Text(block) => block.text.len(),
        _ => 0,
    };
    result.content.iter().map(n_bytes).sum::<usize>() < MAX_SHORT
}

/// Returns what takes the place of an answer's last block of text where the answer repeats it.
/// [`write`] replaces the marker of a long text.
pub fn repeat(last: &str) -> String {
    match last.len() < MIN_LONG {
        true => last.into(),
        false => format!("{}{LAST}", *MARK),
    }
}

/// Writes a message without a line ending.
pub fn write(output: &mut impl Write, message: &mut ServerJsonRpcMessage) -> Result<()> {
    let mut long = LongTexts::default();
    if let JsonRpcMessage::Response(response) = message
        && let ServerResult::CallToolResult(result) = &mut response.result
    {
        for block in &mut result.content {
            if let ContentBlock::Text(block) = block {
                long.last = long.take(&mut block.text);
            }
        }
        if let Some(Value::Object(fields)) = &mut result.structured_content {
            for field in fields.values_mut() {
                if let Value::String(text) = field {
                    long.take(text);
                }
            }
        }
    }
    message.serialize(&mut Serializer::with_formatter(output, &mut long)).map_err(Into::into)
}

/// The texts that were replaced by markers.
#[derive(Default)]
struct LongTexts {
    texts: Vec<String>,
    /// The index of the last block, if it is long.
    last: Option<usize>,
    /// The escaped texts; empty until they are first written.
    escaped: Vec<Vec<u8>>,
}

impl LongTexts {
    /// Replaces a long text by a marker and returns its index.
    fn take(&mut self, text: &mut String) -> Option<usize> {
        if text.len() < MIN_LONG {
            return None;
        }
        let known = self.texts.iter().position(|known| known == text);
        let index = known.unwrap_or_else(|| {
            self.texts.push(std::mem::take(text));
            self.escaped.push(Vec::new());
            self.texts.len() - 1
        });
        *text = mark(index);
        Some(index)
    }

    /// Returns the index of a marker's text.
    fn find(&self, fragment: &str) -> Option<usize> {
        if self.texts.is_empty() {
            return None;
        }
        let index = match fragment.strip_prefix(MARK.as_str())? {
            LAST => self.last?,
            index => index.parse().ok()?,
        };
        (index < self.texts.len()).then_some(index)
    }

    /// Writes a text. The first time it is written while it is escaped, so that the client can read
    /// meanwhile.
    fn write<W: Write + ?Sized>(&mut self, writer: &mut W, index: usize) -> Result<()> {
        let (text, escaped) = (&self.texts[index], &mut self.escaped[index]);
        if !escaped.is_empty() {
            return writer.write_all(escaped);
        }
        escaped.reserve(text.len() + text.len() / 8);
        for piece in text.as_bytes().chunks(PIECE) {
            let start = escaped.len();
            escape(piece, escaped);
            writer.write_all(&escaped[start..])?;
        }
        Ok(())
    }
}

impl Formatter for &mut LongTexts {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> Result<()> {
        match self.find(fragment) {
            Some(index) => LongTexts::write(self, writer, index),
            None => writer.write_all(fragment.as_bytes()),
        }
    }
}

/// Appends bytes of a text, escaped for a JSON string.
fn escape(bytes: &[u8], escaped: &mut Vec<u8>) {
    let mut plain_start = 0;
    let mut escape_at = |at: usize| {
        add(&bytes[plain_start..], at - plain_start, escaped);
        add_special(bytes[at], escaped);
        plain_start = at + 1;
    };
    let (blocks, last) = bytes.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        let mut marks = specials(block);
        while marks != 0 {
            escape_at(index * BLOCK + marks.trailing_zeros() as usize);
            marks &= marks - 1;
        }
    }
    for (index, byte) in last.iter().enumerate() {
        if is_special(*byte) {
            escape_at(blocks.len() * BLOCK + index);
        }
    }
    escaped.extend_from_slice(&bytes[plain_start..]);
}

/// Appends the first `n` bytes. For small `n`, copying a fixed number of bytes and truncating is
/// faster than copying a variable number.
fn add(bytes: &[u8], n: usize, escaped: &mut Vec<u8>) {
    const FEW: usize = 32;
    match bytes.first_chunk::<FEW>() {
        Some(few) if n <= FEW => {
            escaped.extend_from_slice(few);
            escaped.truncate(escaped.len() - FEW + n);
        }
        _ => escaped.extend_from_slice(&bytes[..n]),
    }
}

/// How many bytes are inspected together: a bit for each.
const BLOCK: usize = u64::BITS as usize;

/// Marks the bytes that must be escaped, the first by the lowest bit. The compiler vectorises both
/// loops.
fn specials(block: &[u8; BLOCK]) -> u64 {
    /// Gathers the lowest bits of eight bytes in the highest byte of the product.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let marks = block.map(|byte| u8::from(is_special(byte)));
    let (words, _) = marks.as_chunks::<8>();
    words.iter().enumerate().fold(0, |bits, (index, word)| {
        let gathered = u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56;
        bits | gathered << (8 * index)
    })
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'"' | b'\\')
}

/// Appends the escape sequence of a byte that must be escaped.
fn add_special(byte: u8, escaped: &mut Vec<u8>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\t' => b't',
        b'\r' => b'r',
        0x08 => b'b',
        0x0c => b'f',
        control => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let digit = |value: u8| DIGITS[usize::from(value)];
            let (high, low) = (digit(control >> 4), digit(control & 15));
            return escaped.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    escaped.extend_from_slice(&[b'\\', letter]);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use rmcp::model::{CallToolResult, NumberOrString};
    use serde_json::json;

    use super::*;

    fn written(mut message: ServerJsonRpcMessage) -> String {
        let mut output = Vec::new();
        write(&mut output, &mut message).unwrap();
        String::from_utf8(output).unwrap()
    }

    fn answer(texts: &[String], structured: Value) -> ServerJsonRpcMessage {
        let blocks = texts.iter().map(|text| ContentBlock::text(text.as_str())).collect();
        let mut result = CallToolResult::success(blocks);
        result.structured_content = Some(structured);
        let result = ServerResult::CallToolResult(result);
        ServerJsonRpcMessage::response(result, NumberOrString::Number(7))
    }

    #[test]
    fn writes_long_texts_as_serde_json_does() {
        let long = "a \"long\" line\\with\ttabs\r\n\u{1}\u{7f}ä€😀\n".repeat(10_000);
        let other = format!("{long}.");
        for (texts, structured) in [
            (vec![long.clone(), "short".into()], json!({"content": long, "n": 1})),
            (vec![other.clone()], json!({"content": long, "more": other, "deep": {"x": long}})),
            (vec!["short".into()], json!({"content": "short"})),
            (vec![], json!(null)),
        ] {
            let message = answer(&texts, structured);
            let expected = serde_json::to_string(&message).unwrap();
            assert!(written(message) == expected, "{} bytes", expected.len());
        }
    }

    #[test]
    fn a_repeated_text_is_the_last_block() {
        let long = |c: &str| c.repeat(MIN_LONG);
        for texts in [
            vec![long("a")],
            vec![long("h"), long("a")],
            vec!["short".into(), long("a")],
            vec![long("h"), "short".into()],
            vec![long("a"), long("a")],
        ] {
            let last = texts.last().unwrap();
            let message = answer(&texts, json!({"content": repeat(last)}));
            let written: Value = serde_json::from_str(&written(message)).unwrap();
            let result = &written["result"];
            assert_eq!(result["structuredContent"]["content"], last.as_str());
            let blocks = result["content"].as_array().unwrap().iter();
            assert!(blocks.map(|block| &block["text"]).eq(&texts));
        }
    }

    proptest! {
        #[test]
        fn escapes_as_serde_json_does(
            text in "[\\PCa\"\\\\\\x00-\\x1f]{0,60}",
            n_times in 1..200_usize,
        ) {
            let text = text.repeat(n_times);
            let expected = serde_json::to_string(&text).unwrap();
            let mut escaped = Vec::new();
            escape(text.as_bytes(), &mut escaped);
            prop_assert_eq!(format!("\"{}\"", String::from_utf8(escaped).unwrap()), expected);
        }
    }
}
