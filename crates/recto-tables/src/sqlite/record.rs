//! The values of one row.

use super::pages::{Payload, TextEncoding, varint};
use crate::budget::cut;
use crate::table::Value;

/// The most bytes shown of binary data.
const MAX_HEX_BYTES: usize = 64;

/// A value as it is stored. A text or a blob may have more bytes than were read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stored<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text {
        bytes: &'a [u8],
        n_bytes: usize,
    },
    Blob {
        bytes: &'a [u8],
        n_bytes: usize,
    },
    /// It is after the bytes that were read.
    NotRead,
}

/// Returns the first values of a row, or `None` if it is damaged.
pub fn values(payload: &Payload, max_values: usize) -> Option<Vec<Stored<'_>>> {
    let bytes = payload.bytes.as_slice();
    let mut at = 0;
    let n_header = usize::try_from(varint(bytes, &mut at)?).ok()?;
    let header = bytes.get(..n_header)?;
    let (mut values, mut body) = (Vec::new(), n_header);
    while at < n_header && values.len() < max_values {
        let kind = varint(header, &mut at)?;
        let n_bytes = usize::try_from(size(kind)?).ok()?;
        let end = body.checked_add(n_bytes).filter(|end| *end <= payload.n_bytes)?;
        values.push(match kind {
            _ if body > bytes.len() => Stored::NotRead,
            0..=11 if end > bytes.len() => Stored::NotRead,
            0..=11 => number(kind, &bytes[body..end])?,
            _ => {
                let read = &bytes[body..end.min(bytes.len())];
                match kind % 2 {
                    0 => Stored::Blob { bytes: read, n_bytes },
                    _ => Stored::Text { bytes: read, n_bytes },
                }
            }
        });
        body = end;
    }
    Some(values)
}

/// Returns the bytes of a value with a serial type.
fn size(kind: u64) -> Option<u64> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => Some(kind),
        5 => Some(6),
        6 | 7 => Some(8),
        10 | 11 => None,
        _ => Some((kind - 12) / 2),
    }
}

fn number(kind: u64, bytes: &[u8]) -> Option<Stored<'static>> {
    Some(match kind {
        0 => Stored::Null,
        7 => Stored::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
        8 => Stored::Integer(0),
        9 => Stored::Integer(1),
        _ => {
            let is_negative = bytes.first().is_some_and(|byte| *byte >= 0x80);
            let start = if is_negative { -1 } else { 0 };
            Stored::Integer(bytes.iter().fold(start, |sum, byte| sum << 8 | i64::from(*byte)))
        }
    })
}

impl Stored<'_> {
    /// Returns the value as it is shown. In a column for reals, integers are stored for them.
    pub fn shown(self, encoding: TextEncoding, is_real: bool, max_chars: usize) -> Value {
        match self {
            Stored::Null => Value::Null,
            Stored::Integer(number) if is_real => Value::Number(number as f64),
            Stored::Integer(number) => Value::Integer(number),
            Stored::Real(number) if number.is_finite() => Value::Number(number),
            Stored::Real(number) if number.is_nan() => Value::Null,
            Stored::Real(number) => Value::Text(number.to_string()),
            Stored::Text { bytes, n_bytes } => {
                let text = decode(encoding, bytes);
                match n_bytes - bytes.len() {
                    0 => Value::Text(cut(&text, max_chars)),
                    n_more => {
                        let shown: String = text.chars().take(max_chars).collect();
                        let n_more = n_more + text.len() - shown.len();
                        Value::Text(format!("{shown}… (+{n_more} bytes)"))
                    }
                }
            }
            Stored::Blob { bytes, n_bytes } => {
                let read = &bytes[..bytes.len().min(MAX_HEX_BYTES)];
                let hex: String = read.iter().map(|byte| format!("{byte:02x}")).collect();
                match n_bytes - read.len() {
                    0 => Value::Text(hex),
                    n_more => Value::Text(format!("{hex}… (+{n_more} bytes)")),
                }
            }
            Stored::NotRead => Value::Text("…".into()),
        }
    }
}

/// Decodes a text. Invalid parts become U+FFFD.
pub fn decode(encoding: TextEncoding, bytes: &[u8]) -> String {
    let unit = match encoding {
        TextEncoding::Utf8 => return String::from_utf8_lossy(bytes).into_owned(),
        TextEncoding::Utf16Le => u16::from_le_bytes,
        TextEncoding::Utf16Be => u16::from_be_bytes,
    };
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|bytes| unit(*bytes));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
