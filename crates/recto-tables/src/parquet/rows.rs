//! How many rows fit into an answer, found out column by column.
//!
//! A file has its columns one after another, and a column is read and left before the next one.
//! Each may show that fewer rows fit than it seemed, and the next ones then read less.

/// What a value costs beyond its bytes.
const SEPARATOR_BYTES: usize = 2;

/// How many rows are read, given what has been read.
#[derive(Debug)]
pub struct Rows {
    /// The bytes of each row that has been seen, in all columns so far.
    n_bytes: Vec<usize>,
    n_bytes_of_separators: usize,
    max_bytes: usize,
    n_rows: usize,
}

impl Rows {
    /// Up to `n_rows` of so many columns. The first row always fits.
    pub fn new(n_rows: usize, n_columns: usize, max_bytes: usize) -> Rows {
        let n_bytes_of_separators = n_columns.saturating_mul(SEPARATOR_BYTES).max(1);
        let n_at_most = (max_bytes / n_bytes_of_separators).max(1);
        Rows {
            n_bytes: Vec::new(),
            n_bytes_of_separators,
            max_bytes,
            n_rows: n_rows.min(n_at_most),
        }
    }

    /// How many rows fit, as far as is known.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Leaves out rows from here on.
    pub fn limit_to(&mut self, n_rows: usize) {
        self.n_rows = self.n_rows.min(n_rows);
    }

    /// Starts to add what another column has in its rows from `first_row` on.
    pub fn pass(&mut self, first_row: usize) -> Pass<'_> {
        let n_bytes = self.n_bytes.iter().take(first_row).sum();
        Pass { rows: self, row: first_row, n_bytes }
    }
}

/// The rows of one column.
pub struct Pass<'a> {
    rows: &'a mut Rows,
    row: usize,
    n_bytes: usize,
}

impl Pass<'_> {
    /// How many more rows would fit.
    pub fn n_left(&self) -> usize {
        self.rows.n_rows.saturating_sub(self.row)
    }

    /// Counts the next row's value.
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
