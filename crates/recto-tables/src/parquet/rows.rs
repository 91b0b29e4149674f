//! Tracks how many rows fit into an answer, column by column.
//!
//! A file stores its columns one after another, and each is read before the next one. Each column
//! can reduce the number of rows that fit, and later columns then read less.

/// The cost of a value in addition to its bytes.
const SEPARATOR_BYTES: usize = 2;

/// The number of rows to read, given the values so far.
#[derive(Debug, Clone)]
pub struct RowBudget {
    /// The bytes of each row, over all columns so far.
    n_bytes: Vec<usize>,
    n_bytes_of_separators: usize,
    max_bytes: usize,
    n_rows: usize,
}

impl RowBudget {
    /// Creates a budget for up to `n_rows` rows of that many columns. The first row always fits.
    pub fn new(n_rows: usize, n_columns: usize, max_bytes: usize) -> RowBudget {
        let n_bytes_of_separators = n_columns.saturating_mul(SEPARATOR_BYTES).max(1);
        let n_at_most = (max_bytes / n_bytes_of_separators).max(1);
        RowBudget {
            n_bytes: Vec::new(),
            n_bytes_of_separators,
            max_bytes,
            n_rows: n_rows.min(n_at_most),
        }
    }

    /// Returns how many rows fit according to the columns so far.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Drops rows from `n_rows` on.
    pub fn limit_to(&mut self, n_rows: usize) {
        self.n_rows = self.n_rows.min(n_rows);
    }

    /// Starts to add another column's values, from `first_row` on.
    pub fn pass(&mut self, first_row: usize) -> Pass<'_> {
        let n_bytes = self.n_bytes.iter().take(first_row).sum();
        Pass { rows: self, row: first_row, n_bytes }
    }
}

/// The rows of one column.
pub struct Pass<'a> {
    rows: &'a mut RowBudget,
    row: usize,
    n_bytes: usize,
}

impl Pass<'_> {
    /// Returns how many more rows fit.
    pub fn n_left(&self) -> usize {
        self.rows.n_rows.saturating_sub(self.row)
    }

    /// Counts the value of the next row.
    pub fn add(&mut self, n_bytes: usize) {
        let rows = &mut *self.rows;
        if rows.n_bytes.len() <= self.row {
            rows.n_bytes.resize(self.row + 1, rows.n_bytes_of_separators);
        }
        rows.n_bytes[self.row] = rows.n_bytes[self.row].saturating_add(n_bytes);
        self.n_bytes = self.n_bytes.saturating_add(rows.n_bytes[self.row]);
        if self.n_bytes > rows.max_bytes {
            rows.limit_to(self.row.max(1));
        }
        self.row += 1;
    }
}
