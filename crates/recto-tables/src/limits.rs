//! The bounds of tables that a caller can run into, for whoever lists them.

use crate::{budget, compression, json};

/// Columns of a table; the rest is counted, not shown.
pub const COLUMNS: usize = budget::MAX_COLUMNS;

/// Bytes that a compressed file may inflate to; the table ends there.
pub const INFLATED: u64 = compression::MAX_INFLATED;

/// Values in values of JSON; a file that goes deeper is refused.
pub const JSON_DEPTH: usize = json::stream::MAX_DEPTH;

/// Bytes of one value of JSON; a file with a larger one is refused.
pub const JSON_VALUE: usize = json::stream::MAX_VALUE_BYTES;
