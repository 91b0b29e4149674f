//! The header of a page.

use parquet::basic::Encoding;

use super::thrift::{Input, Malformed, Result, WireType};

/// The header of a page. Its numbers come from the file and may be wrong.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// The length of the header.
    pub n_bytes: u64,
    /// The length of the page in the file.
    pub n_compressed: u64,
    /// The inflated length of the page, including levels.
    pub n_inflated: u64,
    /// The number of values, including nulls; fits 32 bits.
    pub n_values: u64,
    /// The encoding of the values.
    pub encoding: Encoding,
    /// The kind of page.
    pub version: Version,
}

/// The kind of page.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Version {
    Dictionary,
    One { def_level_encoding: Encoding, rep_level_encoding: Encoding },
    Two { n_nulls: u32, n_rows: u32, n_def_bytes: u32, n_rep_bytes: u32, is_compressed: bool },
    Other,
}

impl Header {
    /// Parses a header at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let mut input = Input::new(bytes);
        let mut kind_of_page = None;
        let (mut n_inflated, mut n_compressed) = (None, None);
        let mut data = None;
        input.fields(|input, id, kind| {
            match (id, kind) {
                (1, WireType::Integer) => kind_of_page = Some(input.integer()?),
                (2, WireType::Integer) => n_inflated = Some(read_size(input)?),
                (3, WireType::Integer) => n_compressed = Some(read_size(input)?),
                (5, WireType::Struct) => data = Some(read_first_version(input)?),
                (7, WireType::Struct) => data = Some(read_dictionary(input)?),
                (8, WireType::Struct) => data = Some(read_second_version(input)?),
                _ => input.skip(kind)?,
            }
            Ok(())
        })?;
        let other = Data { n_values: 0, encoding: Encoding::PLAIN, version: Version::Other };
        let data = match (kind_of_page.ok_or(Malformed)?, data) {
            (0, Some(data)) if matches!(data.version, Version::One { .. }) => data,
            (2, Some(data)) if matches!(data.version, Version::Dictionary) => data,
            (3, Some(data)) if matches!(data.version, Version::Two { .. }) => data,
            (0 | 2 | 3, _) => return Err(Malformed),
            _ => other,
        };
        Ok(Header {
            n_bytes: input.position() as u64,
            n_compressed: u64::from(n_compressed.ok_or(Malformed)?),
            n_inflated: u64::from(n_inflated.ok_or(Malformed)?),
            n_values: u64::from(data.n_values),
            encoding: data.encoding,
            version: data.version,
        })
    }

    /// Returns whether the page is a dictionary.
    pub fn is_dictionary(&self) -> bool {
        matches!(self.version, Version::Dictionary)
    }
}

/// The fields that the headers of all kinds of pages have.
struct Data {
    n_values: u32,
    encoding: Encoding,
    version: Version,
}

fn read_first_version(input: &mut Input<'_>) -> Result<Data> {
    let [n_values, encoding, def_level_encoding, rep_level_encoding] = read_numbers(input)?.0;
    Ok(Data {
        n_values,
        encoding: parse_encoding(encoding)?,
        version: Version::One {
            def_level_encoding: parse_encoding(def_level_encoding)?,
            rep_level_encoding: parse_encoding(rep_level_encoding)?,
        },
    })
}

fn read_second_version(input: &mut Input<'_>) -> Result<Data> {
    let ([n_values, n_nulls, n_rows, encoding, n_def_bytes, n_rep_bytes], is_compressed) =
        read_numbers(input)?;
    if n_nulls > n_values || n_def_bytes.checked_add(n_rep_bytes).is_none() {
        return Err(Malformed);
    }
    Ok(Data {
        n_values,
        encoding: parse_encoding(encoding)?,
        version: Version::Two { n_nulls, n_rows, n_def_bytes, n_rep_bytes, is_compressed },
    })
}

fn read_dictionary(input: &mut Input<'_>) -> Result<Data> {
    let [n_values, encoding] = read_numbers(input)?.0;
    Ok(Data { n_values, encoding: parse_encoding(encoding)?, version: Version::Dictionary })
}

/// Reads the first `N` fields, which are required, and the seventh, the only boolean that matters,
/// which defaults to true.
fn read_numbers<const N: usize>(input: &mut Input<'_>) -> Result<([u32; N], bool)> {
    let mut numbers = [None; N];
    let mut is_compressed = true;
    input.fields(|input, id, kind| {
        let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
        match (index.and_then(|index| numbers.get_mut(index)), kind) {
            (Some(number), WireType::Integer) => *number = Some(read_size(input)?),
            (None, WireType::Boolean(value)) if id == 7 => is_compressed = value,
            _ => input.skip(kind)?,
        }
        Ok(())
    })?;
    let mut all = [0; N];
    for (number, read) in all.iter_mut().zip(numbers) {
        *number = read.ok_or(Malformed)?;
    }
    Ok((all, is_compressed))
}

/// Reads a size or count, which has 32 bits and is not negative.
fn read_size(input: &mut Input<'_>) -> Result<u32> {
    let size = i32::try_from(input.integer()?).map_err(|_| Malformed)?;
    u32::try_from(size).map_err(|_| Malformed)
}

fn parse_encoding(code: u32) -> Result<Encoding> {
    match code {
        0 => Ok(Encoding::PLAIN),
        2 => Ok(Encoding::PLAIN_DICTIONARY),
        3 => Ok(Encoding::RLE),
        #[expect(deprecated, reason = "old files have it")]
        4 => Ok(Encoding::BIT_PACKED),
        5 => Ok(Encoding::DELTA_BINARY_PACKED),
        6 => Ok(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        7 => Ok(Encoding::DELTA_BYTE_ARRAY),
        8 => Ok(Encoding::RLE_DICTIONARY),
        9 => Ok(Encoding::BYTE_STREAM_SPLIT),
        10 => Ok(Encoding::ALP),
        _ => Err(Malformed),
    }
}
