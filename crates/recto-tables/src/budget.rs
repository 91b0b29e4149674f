//! How much of a table fits into an answer.

/// The most characters that one cell shows.
pub const MAX_CELL_CHARS: usize = 1_000;

/// Even in a very wide table a cell shows this many characters.
const MIN_CELL_CHARS: usize = 16;

/// What a value costs beyond its bytes.
const SEPARATOR_BYTES: usize = 2;

/// The most columns that a table shows. More names than that would fill an answer by themselves.
pub const MAX_COLUMNS: usize = 4_096;

/// Bytes of values that may still be added.
#[derive(Debug)]
pub struct Budget {
    n_rows_left: usize,
    n_bytes_left: usize,
    n_rows: usize,
}

impl Budget {
    /// A budget for so many rows and about so many bytes.
    pub fn new(n_rows: usize, n_bytes: usize) -> Budget {
        Budget { n_rows_left: n_rows, n_bytes_left: n_bytes, n_rows: 0 }
    }

    /// Whether a row whose values have so many bytes may be added; if so, it is counted. The
    /// first row always fits: an answer without any would help nobody.
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

    /// Whether no further row can be added.
    pub fn is_spent(&self) -> bool {
        self.n_rows_left == 0
    }
}

/// How many characters a cell may show in a table of so many columns.
pub fn max_cell_chars(n_columns: usize, max_bytes: usize) -> usize {
    (max_bytes / n_columns.max(1)).clamp(MIN_CELL_CHARS, MAX_CELL_CHARS)
}

/// The text, or its first characters and how many more there are.
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
