//! Decodes VARIANT values: a dictionary of names and a value that describes itself.
//!
//! A file may store parts of the values in columns of their own ("shredded"); they are put together
//! again here.

use serde_json::{Map, Value as Json};

use super::decimal;
use crate::calendar;

/// The deepest nesting.
const MAX_DEPTH: usize = 64;

/// The most values inside one value. Offsets may point to the same bytes many times.
const MAX_VALUES: usize = 10_000;

/// The names of the members of objects.
pub struct Names<'a> {
    names: Vec<&'a str>,
}

impl<'a> Names<'a> {
    /// Parses the dictionary.
    pub fn parse(bytes: &'a [u8]) -> Option<Names<'a>> {
        let (header, rest) = bytes.split_first()?;
        let size = usize::from(header >> 6) + 1;
        let n_names = integer(rest, 0, size)?;
        if header & 0x0f != 1 || n_names > rest.len() {
            return None;
        }
        let texts = rest.get((n_names + 2) * size..)?;
        let offset = |index: usize| integer(rest, (index + 1) * size, size);
        let name =
            |index: usize| std::str::from_utf8(texts.get(offset(index)?..offset(index + 1)?)?).ok();
        Some(Names { names: (0..n_names).map(name).collect::<Option<_>>()? })
    }

    /// Decodes a value.
    pub fn decode(&self, bytes: &[u8]) -> Option<Json> {
        self.value(bytes, MAX_DEPTH, &mut 0)
    }

    fn value(&self, bytes: &[u8], depth: usize, n_values: &mut usize) -> Option<Json> {
        let (header, rest) = bytes.split_first()?;
        let depth = depth.checked_sub(1)?;
        *n_values += 1;
        if *n_values > MAX_VALUES {
            return None;
        }
        let kind = header >> 2;
        let offset_size = usize::from(kind & 3) + 1;
        match header & 3 {
            0 => primitive(kind, rest),
            1 => text(rest.get(..usize::from(kind))?),
            2 => {
                let id_size = usize::from(kind >> 2 & 3) + 1;
                let (n_members, rest) = count(rest, kind >> 4 & 1 == 1)?;
                let offsets = rest.get(n_members.checked_mul(id_size)?..)?;
                let values = offsets.get((n_members + 1).checked_mul(offset_size)?..)?;
                let mut object = Map::new();
                for index in 0..n_members {
                    let name = self.names.get(integer(rest, index * id_size, id_size)?)?;
                    let start = integer(offsets, index * offset_size, offset_size)?;
                    let value = self.value(values.get(start..)?, depth, n_values)?;
                    object.insert((*name).into(), value);
                }
                Some(Json::Object(object))
            }
            _ => {
                let (n_elements, rest) = count(rest, kind >> 2 & 1 == 1)?;
                let values = rest.get((n_elements + 1).checked_mul(offset_size)?..)?;
                let element = |index: usize| {
                    let start = integer(rest, index * offset_size, offset_size)?;
                    self.value(values.get(start..)?, depth, n_values)
                };
                (0..n_elements).map(element).collect::<Option<_>>().map(Json::Array)
            }
        }
    }
}

/// Reads the number of members or elements, which has four bytes if it is large.
fn count(bytes: &[u8], is_large: bool) -> Option<(usize, &[u8])> {
    let size = if is_large { 4 } else { 1 };
    let n_values = integer(bytes, 0, size)?;
    (n_values <= bytes.len()).then_some((n_values, &bytes[size..]))
}

/// Reads an unsigned integer of one to four bytes.
fn integer(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

fn text(bytes: &[u8]) -> Option<Json> {
    Some(String::from_utf8_lossy(bytes).into())
}

fn primitive(kind: u8, bytes: &[u8]) -> Option<Json> {
    let signed = |size: usize| -> Option<i64> {
        let bytes = bytes.get(..size)?;
        let start = if bytes[size - 1] >= 0x80 { -1 } else { 0 };
        Some(bytes.iter().rev().fold(start, |number, byte| number << 8 | i64::from(*byte)))
    };
    let decimal = |size: usize| -> Option<Json> {
        let unscaled: Vec<u8> = bytes.get(1..=size)?.iter().rev().copied().collect();
        Some(decimal::show(&unscaled, usize::from(bytes[0])).to_json())
    };
    let timestamp = |n_per_second: i64, zone: &str| -> Option<Json> {
        Some((calendar::timestamp(signed(8)?, n_per_second) + zone).into())
    };
    let counted = || bytes.get(4..)?.get(..integer(bytes, 0, 4)?);
    match kind {
        0 => Some(Json::Null),
        1 => Some(true.into()),
        2 => Some(false.into()),
        3 => signed(1).map(Json::from),
        4 => signed(2).map(Json::from),
        5 => signed(4).map(Json::from),
        6 => signed(8).map(Json::from),
        7 => Some(super::scalar::show_f64(f64::from_le_bytes(*bytes.first_chunk()?)).to_json()),
        8 => decimal(4),
        9 => decimal(8),
        10 => decimal(16),
        11 => Some(calendar::date(signed(4)?).into()),
        12 => timestamp(1_000_000, "Z"),
        13 => timestamp(1_000_000, ""),
        14 => Some(super::scalar::show_f32(f32::from_le_bytes(*bytes.first_chunk()?)).to_json()),
        15 => Some(super::scalar::hex(counted()?).into()),
        16 => text(counted()?),
        17 => {
            Some(calendar::time(signed(8)?.rem_euclid(86_400_000_000).checked_mul(1_000)?).into())
        }
        18 => timestamp(1_000_000_000, "Z"),
        19 => timestamp(1_000_000_000, ""),
        20 => Some(super::scalar::uuid(bytes.get(..16)?).into()),
        _ => None,
    }
}
