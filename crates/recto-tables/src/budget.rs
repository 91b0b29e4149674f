//! Limits how much of a table an answer contains, and how much memory it takes to find that.

use crate::error::{Error, Result};

/// The most characters shown of a cell.
pub const MAX_CELL_CHARS: usize = 1_000;

/// The number of characters that a cell shows even in a very wide table.
const MIN_CELL_CHARS: usize = 16;

/// The cost of a value in addition to its bytes.
const SEPARATOR_BYTES: usize = 2;

/// The most columns shown. More names would fill an answer on their own.
pub const MAX_COLUMNS: usize = 4_096;

/// The most memory that a preview uses.
pub const MAX_MEMORY: u64 = 136 << 20;

/// Fails if a step of a preview would need more memory than is permitted.
pub fn check_memory(n_bytes: u64, max_bytes: u64) -> Result<()> {
    if n_bytes > max_bytes { Err(Error::OutOfMemory { n_bytes }) } else { Ok(()) }
}

/// The rows and bytes of values that may still be added.
#[derive(Debug)]
pub struct Budget {
    n_rows_left: usize,
    n_bytes_left: usize,
    n_rows: usize,
}

impl Budget {
    /// Creates a budget for `n_rows` rows and about `n_bytes` bytes.
    pub fn new(n_rows: usize, n_bytes: usize) -> Budget {
        Budget { n_rows_left: n_rows, n_bytes_left: n_bytes, n_rows: 0 }
    }

    /// Returns whether a row with `n_value_bytes` of values may be added, and counts it if so. The
    /// first row is always admitted.
    pub fn admits(&mut self, n_value_bytes: usize, n_columns: usize) -> bool {
        let n_bytes = n_value_bytes.saturating_add(n_columns.saturating_mul(SEPARATOR_BYTES));
        if self.n_rows_left == 0 || (self.n_rows > 0 && n_bytes > self.n_bytes_left) {
            self.n_rows_left = 0;
            return false;
        }
        self.n_rows_left -= 1;
        self.n_rows += 1;
        self.n_bytes_left = self.n_bytes_left.saturating_sub(n_bytes);
        true
    }

    /// Returns whether no further row can be added.
    pub fn is_spent(&self) -> bool {
        self.n_rows_left == 0
    }
}

/// Returns how many characters a cell may show in a table with `n_columns` columns.
pub fn max_cell_chars(n_columns: usize, max_bytes: usize) -> usize {
    (max_bytes / n_columns.max(1)).clamp(MIN_CELL_CHARS, MAX_CELL_CHARS)
}

/// Returns the text, or its first characters and the number of the remaining ones.
pub fn cut(text: &str, max_chars: usize) -> String {
    if text.len() <= max_chars {
        return text.into();
    }
    match text.char_indices().nth(max_chars) {
        None => text.into(),
        Some((at, _)) => {
            let (shown, rest) = text.split_at(at);
            format!("{shown}… (+{} characters)", rest.chars().count())
        }
    }
}

#[cfg(test)]
mod tests;
