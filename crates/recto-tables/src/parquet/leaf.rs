//! The values of one leaf column, with their definition and repetition levels.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;

use super::footer::broken;
use super::pages::Pages;
use super::rows::RowBudget;
use super::scalar::{Scalar, show_f32, show_f64};
use crate::budget::check_memory;
use crate::error::{Error, Result};
use crate::source::Source;
use crate::table::Value;

/// The number of rows decoded at a time.
const N_AT_A_TIME: usize = 256;

/// About the memory of a value in a list: as the library returns it, as it is shown, and its levels.
const VALUE_BYTES: u64 = 64;

/// The values of a column chunk, read one by one.
pub struct Leaf {
    /// The level at which a value is present.
    max_def_level: i16,
    /// Empty if every value is present.
    def_levels: Vec<i16>,
    /// Empty if the column has no lists.
    rep_levels: Vec<i16>,
    n_levels: usize,
    /// The values that are present, until they are taken.
    values: Vec<Value>,
    n_rows: usize,
    /// Whether the file may contain more of the last list.
    is_cut: bool,
    level_idx: usize,
    value_idx: usize,
}

/// How much of a column chunk to read.
#[derive(Debug, Clone, Copy)]
pub struct ReadExtent {
    /// The number of rows before this chunk.
    pub first_row: usize,
    /// The number of rows to skip at the start of this chunk.
    pub n_skipped: usize,
    /// The number of rows after them in the chunk.
    pub n_rows: usize,
    /// About the most bytes of a cell; later values are not kept.
    pub max_cell: usize,
    /// The most values in lists.
    pub n_in_lists: u64,
    /// The most memory for pages and values.
    pub max_memory: u64,
}

impl Leaf {
    /// Reads the first rows of a column chunk: with only the start of large pages, and if that is too
    /// little, with all of them.
    pub fn read(
        source: Arc<dyn Source>,
        chunk: &ColumnChunkMetaData,
        scalar: &Scalar,
        extent: ReadExtent,
        rows: &mut RowBudget,
    ) -> Result<Leaf> {
        let is_shortened = Arc::new(AtomicBool::new(false));
        let mut rows_then = rows.clone();
        let start = Some(is_shortened.clone());
        // The library panics on some pages that are incomplete.
        let read = catch_unwind(AssertUnwindSafe(|| {
            Leaf::read_pages(source.clone(), chunk, scalar, extent, &mut rows_then, start)
        }));
        if is_shortened.load(Ordering::Relaxed) && !matches!(read, Ok(Ok(_))) {
            return Leaf::read_pages(source, chunk, scalar, extent, rows, None);
        }
        *rows = rows_then;
        read.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn read_pages(
        source: Arc<dyn Source>,
        chunk: &ColumnChunkMetaData,
        scalar: &Scalar,
        extent: ReadExtent,
        rows: &mut RowBudget,
        may_shorten: Option<Arc<AtomicBool>>,
    ) -> Result<Leaf> {
        let column = chunk.column_descr_ptr();
        if column.max_rep_level() > 0 {
            let n_values = u64::try_from(chunk.num_values()).unwrap_or(0).min(extent.n_in_lists);
            check_memory(n_values * VALUE_BYTES, extent.max_memory)?;
        }
        let (pages, is_cut) = Pages::new(source, chunk, extent, may_shorten)?;
        let mut leaf = Leaf {
            max_def_level: column.max_def_level(),
            def_levels: Vec::new(),
            rep_levels: Vec::new(),
            n_levels: 0,
            values: Vec::new(),
            n_rows: 0,
            is_cut: false,
            level_idx: 0,
            value_idx: 0,
        };
        let mut reader = get_column_reader(column, Box::new(pages));
        leaf.skip(&mut reader, extent.n_skipped, scalar)?;
        let mut pass = rows.pass(extent.first_row);
        let n_missing = loop {
            let n_missing = pass.n_left().min(extent.n_rows - leaf.n_rows);
            if n_missing == 0 {
                break 0;
            }
            let n_bytes = leaf.read_some(&mut reader, n_missing, scalar, extent.max_cell)?;
            if n_bytes.is_empty() {
                break n_missing;
            }
            n_bytes.into_iter().for_each(|n_bytes| pass.add(n_bytes));
        };
        // If pages were cut, the last list may be incomplete.
        leaf.is_cut = is_cut.load(Ordering::Relaxed)
            && (n_missing > 0 || leaf.n_levels as u64 >= extent.n_in_lists);
        if leaf.is_cut && leaf.n_levels == 0 {
            return Err(Error::TooLarge { cause: "its first list has too many values".into() });
        }
        if leaf.is_cut {
            // An incomplete row is better than none if it is the only one.
            let n_whole = extent.first_row + leaf.n_rows.saturating_sub(1);
            rows.limit_to(n_whole.max(1));
        } else if n_missing > 0 {
            return Err(broken("it has fewer values than rows"));
        }
        Ok(leaf)
    }

    /// Returns the definition level of the next value; -1 after the last one.
    pub fn def_level(&self) -> i16 {
        if self.level_idx >= self.n_levels {
            return -1;
        }
        self.def_levels.get(self.level_idx).copied().unwrap_or(0)
    }

    /// Returns the repetition level of the next value; -1 after the last one.
    pub fn rep_level(&self) -> i16 {
        if self.level_idx >= self.n_levels {
            return -1;
        }
        self.rep_levels.get(self.level_idx).copied().unwrap_or(0)
    }

    /// Returns whether all values have been taken and the file contains more.
    pub fn is_cut_here(&self) -> bool {
        self.is_cut && self.level_idx >= self.n_levels
    }

    /// Takes the next value.
    pub fn take(&mut self) -> Value {
        let is_there = self.def_level() == self.max_def_level;
        self.level_idx += 1;
        if !is_there {
            return Value::Null;
        }
        self.value_idx += 1;
        self.values
            .get_mut(self.value_idx - 1)
            .map_or(Value::Null, |value| std::mem::replace(value, Value::Null))
    }

    /// Reads rows and discards them.
    fn skip(&mut self, reader: &mut ColumnReader, n_rows: usize, scalar: &Scalar) -> Result<()> {
        while self.n_rows < n_rows {
            let n_left = n_rows - self.n_rows;
            if self.read_some(reader, n_left, scalar, 0)?.is_empty() {
                return Err(broken("it has fewer values than rows"));
            }
            self.def_levels.clear();
            self.rep_levels.clear();
            self.values.clear();
            self.n_levels = 0;
        }
        self.n_rows = 0;
        Ok(())
    }

    /// Reads more values. Returns the size of each row read.
    fn read_some(
        &mut self,
        reader: &mut ColumnReader,
        n_rows: usize,
        scalar: &Scalar,
        max_cell: usize,
    ) -> Result<Vec<usize>> {
        let n_rows = n_rows.min(N_AT_A_TIME);
        match reader {
            ColumnReader::BoolColumnReader(it) => {
                self.decode(it, n_rows, max_cell, |value| Value::Boolean(*value))
            }
            ColumnReader::Int32ColumnReader(it) => {
                self.decode(it, n_rows, max_cell, |value| scalar.show_i32(*value))
            }
            ColumnReader::Int64ColumnReader(it) => {
                self.decode(it, n_rows, max_cell, |value| scalar.show_i64(*value))
            }
            ColumnReader::Int96ColumnReader(it) => {
                self.decode(it, n_rows, max_cell, |value| scalar.show_int96(value))
            }
            ColumnReader::FloatColumnReader(it) => {
                self.decode(it, n_rows, max_cell, |value| show_f32(*value))
            }
            ColumnReader::DoubleColumnReader(it) => {
                self.decode(it, n_rows, max_cell, |value| show_f64(*value))
            }
            ColumnReader::ByteArrayColumnReader(it) => {
                let show = |value: &_| scalar.show_bytes(AsBytes::as_bytes(value), max_cell);
                self.decode(it, n_rows, max_cell, show)
            }
            ColumnReader::FixedLenByteArrayColumnReader(it) => {
                let show = |value: &_| scalar.show_bytes(AsBytes::as_bytes(value), max_cell);
                self.decode(it, n_rows, max_cell, show)
            }
        }
    }

    fn decode<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        n_rows: usize,
        max_cell: usize,
        show: impl Fn(&T::T) -> Value,
    ) -> Result<Vec<usize>> {
        let mut values = Vec::new();
        let (def_levels, rep_levels) = (&mut self.def_levels, &mut self.rep_levels);
        let read = reader.read_records(n_rows, Some(def_levels), Some(rep_levels), &mut values);
        let (n_read, _, n_levels) = read.map_err(translate)?;
        let mut values = values.iter();
        let mut n_bytes: Vec<usize> = Vec::new();
        for level_idx in self.n_levels..self.n_levels + n_levels {
            if n_bytes.is_empty() || self.rep_levels.get(level_idx).is_none_or(|it| *it == 0) {
                n_bytes.push(0);
            }
            let def_level = self.def_levels.get(level_idx);
            if def_level.is_some_and(|level| *level != self.max_def_level) {
                continue;
            }
            let (Some(value), Some(n_bytes)) = (values.next(), n_bytes.last_mut()) else { break };
            // After the part of a cell that is shown, only the number of values matters.
            let is_shown = *n_bytes <= max_cell;
            let value = if is_shown { show(value) } else { Value::Null };
            *n_bytes += size(&value);
            self.values.push(value);
        }
        self.n_levels += n_levels;
        self.n_rows += n_read;
        n_bytes.truncate(n_read);
        Ok(n_bytes)
    }
}

/// Returns about how many bytes a value has when it is shown.
pub fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Json(_) => 0,
        Value::Boolean(_) => 4,
        Value::Integer(_) | Value::Number(_) => 8,
        Value::Text(text) => text.len(),
    }
}

/// Converts a library error. Errors of this crate passed through the library and come out
/// unchanged.
fn translate(error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => Error::Broken { cause: other.to_string() },
        },
        error => Error::Broken { cause: error.to_string() },
    }
}
