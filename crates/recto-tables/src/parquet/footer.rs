//! Reads the metadata at the end of a Parquet file, checks it and cuts it to the row groups needed.
//!
//! The library parses the rest. It trusts sizes and depths, so they are checked here first: a
//! schema of 90,000 nested groups overflows its stack, which ends the process, and a group that
//! claims two billion children makes it allocate 16 GB. Row groups that a preview does not reach
//! are left out, because parsing thousands of them would cost more than reading the rows.

use std::borrow::Cow;
use std::ops::Range;

use parquet::file::metadata::{
    ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};

use super::thrift::{self, Input, Malformed, WireType};
use crate::budget::check_memory;
use crate::error::{Error, Result};
use crate::source::Source;

/// The most bytes of metadata.
pub const MAX_METADATA: u64 = 64 << 20;

/// The most bytes of row group metadata that is parsed after the first row group.
const MAX_MORE_ROW_GROUPS: usize = 4 << 20;

/// The most columns, including nested ones.
pub const MAX_SCHEMA: u64 = 100_000;

/// The deepest nesting of columns.
const MAX_DEPTH: usize = 64;

/// The end of a structure.
const END: u8 = 0;

const MAGIC: &[u8] = b"PAR1";
const TAIL: u64 = 8;

/// About how much memory the metadata takes for each of its bytes: as bytes, without the fields that
/// are not needed, and parsed.
const METADATA_COPIES: u64 = 4;

/// The metadata of a file.
pub struct Footer {
    /// The schema, and the first row groups: those with `limit` rows, unless their metadata is too
    /// large.
    pub metadata: ParquetMetaData,
    /// The number of rows in the whole file.
    pub n_rows: u64,
    /// The number of rows in the row groups before the first one here.
    pub n_before: u64,
}

/// Reads the metadata, with row groups for `limit` rows from `offset` on.
pub fn read(source: &dyn Source, offset: usize, limit: usize, max_memory: u64) -> Result<Footer> {
    let bytes = read_metadata(source, max_memory)?;
    let rows = offset as u64..offset.saturating_add(limit) as u64;
    let outline = outline(&bytes, rows).map_err(|_| broken("its metadata is damaged"))?;
    if outline.is_encrypted {
        return Err(broken("it is encrypted"));
    }
    check_schema(&bytes[outline.schema.clone()])?;
    let options = ParquetMetaDataOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let schema = known_types_only(&bytes[outline.schema.clone()]);
    let schema = schema.map_err(|_| broken("its schema is damaged"))?;
    let metadata = outline.write(&schema);
    let metadata = ParquetMetaDataReader::decode_metadata_with_options(&metadata, Some(&options));
    let metadata =
        metadata.map_err(|error| broken(&format!("its metadata is damaged: {error}")))?;
    Ok(Footer { metadata, n_rows: outline.n_rows, n_before: outline.n_before })
}

fn read_metadata(source: &dyn Source, max_memory: u64) -> Result<Vec<u8>> {
    let size = source.size();
    let tail = match size.checked_sub(TAIL) {
        Some(start) if start >= MAGIC.len() as u64 => read_exact(source, start, TAIL)?,
        _ => return Err(broken("it is too short for a Parquet file")),
    };
    match &tail[4..] {
        MAGIC => {}
        b"PARE" => return Err(broken("it is encrypted")),
        _ => return Err(broken("it does not end as a Parquet file does; it may be cut off")),
    }
    let n_bytes = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if n_bytes > MAX_METADATA {
        let cause = format!("its metadata has more than {} MiB", MAX_METADATA >> 20);
        return Err(Error::TooLarge { cause });
    }
    match (size - TAIL).checked_sub(n_bytes) {
        Some(start) if start >= MAGIC.len() as u64 => {
            check_memory(n_bytes * METADATA_COPIES, max_memory)?;
            read_exact(source, start, n_bytes)
        }
        _ => Err(broken("its metadata is longer than the file")),
    }
}

/// Reads bytes that must exist. The caller has compared `n_bytes` with the file's size.
pub fn read_exact(source: &dyn Source, offset: u64, n_bytes: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; n_bytes as usize];
    read_into(source, offset, &mut bytes)?;
    Ok(bytes)
}

/// Fills a buffer with bytes that must exist.
pub fn read_into(source: &dyn Source, offset: u64, bytes: &mut [u8]) -> Result<()> {
    let mut n_read = 0;
    while n_read < bytes.len() {
        match source.read_at(&mut bytes[n_read..], offset + n_read as u64)? {
            0 => return Err(broken("it became shorter while it was read")),
            n_more => n_read += n_more,
        }
    }
    Ok(())
}

/// The positions of parts of the metadata.
#[derive(Default)]
struct Outline {
    version: i64,
    /// The list of schema elements, with its header.
    schema: Range<usize>,
    n_rows: u64,
    /// The number of row groups that are kept.
    n_row_groups: u64,
    /// The bytes of the first one.
    n_first: usize,
    /// The number of rows before it.
    n_before: u64,
    /// The row groups that are kept, without the header of their list and without fields that are
    /// not needed: some writers use their numbers for other types than the library expects.
    row_groups: Vec<u8>,
    is_encrypted: bool,
}

fn outline(bytes: &[u8], rows: Range<u64>) -> thrift::Result<Outline> {
    let mut outline = Outline::default();
    let mut input = Input::new(bytes);
    input.fields(|input, id, kind| {
        match (id, kind) {
            (1, WireType::Integer) => outline.version = input.integer()?,
            (2, WireType::List) => {
                let start = input.position();
                input.skip(kind)?;
                outline.schema = start..input.position();
            }
            (4, WireType::List) => outline_row_groups(input, &rows, &mut outline)?,
            (8, WireType::Struct) => {
                outline.is_encrypted = true;
                input.skip(kind)?;
            }
            _ => input.skip(kind)?,
        }
        Ok(())
    })?;
    if outline.schema.is_empty() { Err(Malformed) } else { Ok(outline) }
}

fn outline_row_groups(
    input: &mut Input<'_>,
    rows: &Range<u64>,
    outline: &mut Outline,
) -> thrift::Result<()> {
    let (kind, n_row_groups) = input.list()?;
    if n_row_groups > 0 && kind != WireType::Struct {
        return Err(Malformed);
    }
    let mut is_full = false;
    for _ in 0..n_row_groups {
        let n_kept = outline.row_groups.len();
        let may_be_needed = !is_full && outline.n_rows < rows.end;
        let n_rows = if may_be_needed {
            copy_row_group(input, &mut outline.row_groups)?
        } else {
            read_row_group(input, &mut Vec::new(), |_, input| input.skip(WireType::List))?
        };
        let end = outline.n_rows.checked_add(n_rows).ok_or(Malformed)?;
        let is_first = outline.n_row_groups == 0;
        is_full |= !is_first && outline.row_groups.len() - outline.n_first > MAX_MORE_ROW_GROUPS;
        if may_be_needed && !is_full && end > rows.start {
            outline.n_row_groups += 1;
            if is_first {
                outline.n_first = outline.row_groups.len();
                outline.n_before = outline.n_rows;
            }
        } else {
            outline.row_groups.truncate(n_kept);
        }
        outline.n_rows = end;
    }
    Ok(())
}

/// Copies a row group with what is needed of its columns. Returns its number of rows.
fn copy_row_group(input: &mut Input<'_>, output: &mut Vec<u8>) -> thrift::Result<u64> {
    read_row_group(input, output, |output, input| {
        let (kind, n_columns) = input.list()?;
        if n_columns > 0 && kind != WireType::Struct {
            return Err(Malformed);
        }
        thrift::write_list(output, n_columns);
        (0..n_columns).try_for_each(|_| copy_column(input, output))
    })
}

fn read_row_group(
    input: &mut Input<'_>,
    output: &mut Vec<u8>,
    copy_columns: impl Fn(&mut Vec<u8>, &mut Input<'_>) -> thrift::Result<()>,
) -> thrift::Result<u64> {
    let mut n_rows = 0;
    input.fields(|input, id, kind| match (id, kind) {
        (1, WireType::List) => {
            thrift::write_field(output, id, kind);
            copy_columns(output, input)
        }
        (2 | 3, WireType::Integer) => {
            let number = input.integer()?;
            if id == 3 {
                n_rows = u64::try_from(number).map_err(|_| Malformed)?;
            }
            thrift::write_field(output, id, kind);
            thrift::write_integer(output, number);
            Ok(())
        }
        (1..=3, _) => Err(Malformed),
        _ => input.skip(kind),
    })?;
    output.push(END);
    Ok(n_rows)
}

/// Copies a column chunk: its file, and where and how its values are stored.
fn copy_column(input: &mut Input<'_>, output: &mut Vec<u8>) -> thrift::Result<()> {
    input.fields(|input, id, kind| match (id, kind) {
        (1, WireType::Binary) | (2, WireType::Integer) => {
            thrift::write_field(output, id, kind);
            output.extend_from_slice(input.raw(kind)?);
            Ok(())
        }
        (3, WireType::Struct) => {
            thrift::write_field(output, id, kind);
            input.fields(|input, id, kind| {
                let is_expected = match id {
                    2 | 3 => kind == WireType::List,
                    1 | 4..=7 | 9..=11 => kind == WireType::Integer,
                    _ => return input.skip(kind),
                };
                thrift::write_field(output, id, kind);
                output.extend_from_slice(input.raw(kind)?);
                if is_expected { Ok(()) } else { Err(Malformed) }
            })?;
            output.push(END);
            Ok(())
        }
        (1..=3, _) => Err(Malformed),
        _ => input.skip(kind),
    })?;
    output.push(END);
    Ok(())
}

/// Returns the list of schema elements without converted types that the library does not know, and
/// without logical types that say less than the converted type beside them. It would reject the file,
/// but they only say how to show a value.
fn known_types_only(bytes: &[u8]) -> thrift::Result<Cow<'_, [u8]>> {
    const LAST_CONVERTED_TYPE: i64 = 21;
    const RESERVED: i16 = 9;
    const UNKNOWN: i16 = 11;
    let mut input = Input::new(bytes);
    let (_, n_elements) = input.list()?;
    let mut output = Vec::new();
    thrift::write_list(&mut output, n_elements);
    let mut is_changed = false;
    for _ in 0..n_elements {
        let mut has_converted = false;
        input.fields(|input, id, kind| {
            if (id, kind) == (6, WireType::Integer) {
                let converted = input.integer()?;
                if (0..=LAST_CONVERTED_TYPE).contains(&converted) {
                    thrift::write_field(&mut output, id, kind);
                    thrift::write_integer(&mut output, converted);
                    has_converted = true;
                } else {
                    is_changed = true;
                }
                return Ok(());
            }
            let value = input.raw(kind)?;
            if (id, kind) == (10, WireType::Struct) && has_converted {
                let mut logical = 0;
                Input::new(value).fields(|input, id, kind| {
                    logical = id;
                    input.skip(kind)
                })?;
                if matches!(logical, RESERVED | UNKNOWN) {
                    is_changed = true;
                    return Ok(());
                }
            }
            thrift::write_field(&mut output, id, kind);
            output.extend_from_slice(value);
            Ok(())
        })?;
        output.push(END);
    }
    Ok(if is_changed { Cow::Owned(output) } else { Cow::Borrowed(bytes) })
}

impl Outline {
    /// Returns metadata with only the parts that are kept.
    fn write(&self, schema: &[u8]) -> Vec<u8> {
        let mut output = Vec::with_capacity(schema.len() + self.row_groups.len() + 64);
        thrift::write_field(&mut output, 1, WireType::Integer);
        thrift::write_integer(&mut output, i64::from(self.version as i32));
        thrift::write_field(&mut output, 2, WireType::List);
        output.extend_from_slice(schema);
        thrift::write_field(&mut output, 3, WireType::Integer);
        thrift::write_integer(&mut output, self.n_rows as i64);
        thrift::write_field(&mut output, 4, WireType::List);
        thrift::write_list(&mut output, self.n_row_groups);
        output.extend_from_slice(&self.row_groups);
        output.push(END);
        output
    }
}

/// Checks that the schema is one tree of bounded size and depth.
fn check_schema(bytes: &[u8]) -> Result<()> {
    let damaged = || broken("its schema is damaged");
    let mut input = Input::new(bytes);
    let (kind, n_elements) = input.list().map_err(|_| damaged())?;
    if kind != WireType::Struct {
        return Err(damaged());
    }
    if n_elements > MAX_SCHEMA {
        return Err(Error::TooLarge { cause: format!("it has more than {MAX_SCHEMA} columns") });
    }
    // The number of children still expected on each open level.
    let mut open: Vec<u64> = Vec::new();
    for index in 0..n_elements {
        if index > 0 {
            while open.last() == Some(&0) {
                open.pop();
            }
            *open.last_mut().ok_or_else(damaged)? -= 1;
        }
        let n_children = read_schema_element(&mut input).map_err(|_| damaged())?;
        if n_children > n_elements {
            return Err(damaged());
        }
        open.push(n_children);
        if open.len() > MAX_DEPTH {
            return Err(Error::TooLarge {
                cause: format!("its columns lie more than {MAX_DEPTH} levels deep"),
            });
        }
    }
    if open.iter().all(|n_left| *n_left == 0) { Ok(()) } else { Err(damaged()) }
}

/// Skips a schema element. Returns its number of children.
fn read_schema_element(input: &mut Input<'_>) -> thrift::Result<u64> {
    let mut n_children = 0;
    input.fields(|input, id, kind| match (id, kind) {
        (5, WireType::Integer) => {
            n_children = u64::try_from(input.integer()?).map_err(|_| Malformed)?;
            Ok(())
        }
        _ => SCHEMA_ELEMENT.read(input, id, kind),
    })?;
    Ok(n_children)
}

/// The types of the fields of a structure.
///
/// The library reads the type that it expects for a field number, even if the file declares another
/// one. A wrong declaration would make it continue at a different position than this code.
struct FieldTypes(&'static [(i16, Expected)]);

enum Expected {
    Integer,
    Byte,
    Binary,
    Struct(&'static FieldTypes),
}

const SCHEMA_ELEMENT: FieldTypes = FieldTypes(&[
    (1, Expected::Integer),
    (2, Expected::Integer),
    (3, Expected::Integer),
    (4, Expected::Binary),
    (5, Expected::Integer),
    (6, Expected::Integer),
    (7, Expected::Integer),
    (8, Expected::Integer),
    (9, Expected::Integer),
    (10, Expected::Struct(&LOGICAL_TYPE)),
]);

const LOGICAL_TYPE: FieldTypes = FieldTypes(&[
    (5, Expected::Struct(&DECIMAL)),
    (7, Expected::Struct(&TIME)),
    (8, Expected::Struct(&TIME)),
    (10, Expected::Struct(&INTEGER)),
    (16, Expected::Struct(&INTEGER)),
    (17, Expected::Struct(&GEOGRAPHY)),
    (18, Expected::Struct(&GEOGRAPHY)),
]);

const DECIMAL: FieldTypes = FieldTypes(&[(1, Expected::Integer), (2, Expected::Integer)]);
const TIME: FieldTypes = FieldTypes(&[(2, Expected::Struct(&EMPTY))]);
const INTEGER: FieldTypes = FieldTypes(&[(1, Expected::Byte)]);
const GEOGRAPHY: FieldTypes = FieldTypes(&[(1, Expected::Binary), (2, Expected::Integer)]);
const EMPTY: FieldTypes = FieldTypes(&[]);

impl FieldTypes {
    fn read(&self, input: &mut Input<'_>, id: i16, kind: WireType) -> thrift::Result<()> {
        match (self.0.iter().find(|(field, _)| *field == id).map(|(_, it)| it), kind) {
            (Some(Expected::Struct(shape)), WireType::Struct) => {
                input.fields(|input, id, kind| shape.read(input, id, kind))
            }
            (None, _)
            | (Some(Expected::Integer), WireType::Integer)
            | (Some(Expected::Byte), WireType::Byte)
            | (Some(Expected::Binary), WireType::Binary) => input.skip(kind),
            _ => Err(Malformed),
        }
    }
}

/// Creates an error for damage.
pub fn broken(cause: &str) -> Error {
    Error::Broken { cause: cause.into() }
}
