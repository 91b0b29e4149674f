//! The limits of the tools that a caller can reach. `recto` documents the behaviour beyond each.

use std::time::Duration;

/// Bytes of an array that is given as JSON in a string.
pub const JSON_ARGUMENT: usize = 512 << 10;
/// Files whose last version a session knows.
pub const SEEN_FILES: usize = 1024;
/// Versions whose content a process can tell from others with the same hash.
pub const RETURNED_VERSIONS: usize = 1 << 14;
/// Bytes of one line in an answer of `ReadLines` about one file.
pub const LINE: usize = 4096;
/// Bytes of one line in an answer about many files.
pub const LINE_OF_MANY: usize = 512;
/// Lines in an answer about many files.
pub const ROWS_OF_MANY: usize = 1000;
/// Matching lines that a search collects from one file.
pub const HITS: usize = 20_000;
/// Files that one call searches.
pub const SEARCHED_FILES: usize = 200_000;
/// Files that an overview counts.
pub const COUNTED_FILES: usize = recto_store::limits::WALK_KEPT;
/// Duration of a search of many files.
pub const SEARCH_TIME: Duration = Duration::from_secs(20);
/// Time to report further rejected edits after the first.
pub const FAILURES_TIME: Duration = Duration::from_millis(300);
