//! The limits of tables that a caller can reach.

use crate::parquet::{footer, pages};
use crate::sheets::{archive, xls};
use crate::{budget, compression, csv, json, names, sqlite};

/// Memory of a preview; a file that needs more is rejected.
pub const MEMORY: u64 = budget::MAX_MEMORY;

/// Columns of a table; the others are counted but not shown.
pub const COLUMNS: usize = budget::MAX_COLUMNS;

/// Characters of a value; the rest is counted but not shown.
pub const CELL_CHARS: usize = budget::MAX_CELL_CHARS;

/// Characters of a column name; the rest is counted but not shown.
pub const NAME_CHARS: usize = names::MAX_NAME_CHARS;

/// Bytes that a compressed file may inflate to; the table ends there.
pub const INFLATED: u64 = compression::MAX_INFLATED;

/// Nesting depth of JSON values; a file with a deeper one is rejected.
pub const JSON_DEPTH: usize = json::stream::MAX_DEPTH;

/// Bytes of one JSON value; a file with a larger one is rejected.
pub const JSON_VALUE: usize = json::stream::MAX_VALUE_BYTES;

/// Bytes of one record of a delimited text. A file whose first lines are longer is rejected; a
/// longer record further on ends there.
pub const RECORD: usize = csv::MAX_RECORD_BYTES;

/// Bytes of a workbook; a larger one is rejected.
pub const WORKBOOK: u64 = archive::MAX_SOURCE;

/// Bytes of a workbook in the `.xls` format; a larger one is rejected.
pub const XLS: u64 = xls::MAX_SOURCE;

/// Bytes of a Parquet page, compressed or not; a file with a larger one is rejected.
pub const PARQUET_PAGE: u64 = pages::MAX_PAGE;

/// Entries of a Parquet dictionary; a file with a larger one is rejected.
pub const PARQUET_DICTIONARY: u64 = pages::MAX_DICTIONARY;

/// Bytes of Parquet metadata; a file with more is rejected.
pub const PARQUET_METADATA: u64 = footer::MAX_METADATA;

/// Columns of a Parquet file, including nested ones; a file with more is rejected.
pub const PARQUET_COLUMNS: u64 = footer::MAX_SCHEMA;

/// Bytes of the schema of an SQLite database; a file with more is rejected.
pub const SQLITE_SCHEMA: usize = sqlite::MAX_SCHEMA;

/// Bytes of a row of an SQLite database; values after them are not shown.
pub const SQLITE_ROW: usize = sqlite::MAX_ROW;
