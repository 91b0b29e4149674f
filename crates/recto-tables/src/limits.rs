//! The bounds of tables that a caller can run into, for whoever lists them.

use crate::parquet::{footer, pages};
use crate::sheets::{archive, xls};
use crate::{budget, compression, csv, json, names};

/// Columns of a table; the rest is counted, not shown.
pub const COLUMNS: usize = budget::MAX_COLUMNS;

/// Characters of one value; the rest is counted, not shown.
pub const CELL_CHARS: usize = budget::MAX_CELL_CHARS;

/// Characters of a column's name; the rest is counted, not shown.
pub const NAME_CHARS: usize = names::MAX_NAME_CHARS;

/// Bytes that a compressed file may inflate to; the table ends there.
pub const INFLATED: u64 = compression::MAX_INFLATED;

/// Values in values of JSON; a file that goes deeper is refused.
pub const JSON_DEPTH: usize = json::stream::MAX_DEPTH;

/// Bytes of one value of JSON; a file with a larger one is refused.
pub const JSON_VALUE: usize = json::stream::MAX_VALUE_BYTES;

/// Bytes of one record of a delimited text; a file whose first lines are longer is refused, and a
/// longer one further on ends there.
pub const RECORD: usize = csv::MAX_RECORD_BYTES;

/// Bytes of a workbook; a larger one is refused.
pub const WORKBOOK: u64 = archive::MAX_SOURCE;

/// Bytes of a workbook in the old format; a larger one is refused.
pub const XLS: u64 = xls::MAX_SOURCE;

/// Bytes of a page of Parquet, compressed or not; a file with a larger one is refused.
pub const PARQUET_PAGE: u64 = pages::MAX_PAGE;

/// Entries of a dictionary of Parquet; a file with a larger one is refused.
pub const PARQUET_DICTIONARY: u64 = pages::MAX_DICTIONARY;

/// Bytes of the metadata of Parquet; a file with more is refused.
pub const PARQUET_METADATA: u64 = footer::MAX_METADATA;

/// Columns of Parquet, with all that lie inside others; a file with more is refused.
pub const PARQUET_COLUMNS: u64 = footer::MAX_SCHEMA;
