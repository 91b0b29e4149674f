//! The bounds of the tools that a caller can reach. `recto` documents what happens beyond each.

use std::time::Duration;

/// Length of a line in an answer of `ReadLines`, in bytes.
pub const LINE: usize = 4096;
/// The same in an answer about many files.
pub const LINE_OF_MANY: usize = 512;
/// Lines in an answer about many files.
pub const ROWS_OF_MANY: usize = 1000;
/// Bytes of text in an answer about many files.
pub const BYTES_OF_MANY: usize = 128 << 10;
/// Matching lines that a search collects from one file.
pub const HITS: usize = 20_000;
/// Files that one call searches.
pub const SEARCHED_FILES: usize = 200_000;
/// How long a search of many files runs.
pub const SEARCH_TIME: Duration = Duration::from_secs(20);
