//! Previews data files: takes bytes, returns the first rows as a typed table.
//!
//! A [`Source`] provides the bytes of a file, a git blob or an editor's buffer; this crate does not
//! know paths, sandboxes or protocols. Files are untrusted: reading, inflating and memory are
//! bounded, and a bad file gives an [`Error`], not a panic.

use std::io::Read;
use std::sync::Arc;

pub mod error;

pub mod source;

pub mod table;

pub mod format;

pub mod render;

pub mod limits;

mod budget;

mod fit;

mod select;

mod calendar;

mod names;

mod moments;

mod text;

mod csv;

mod json;

pub mod compression;

pub mod parquet;

pub mod sheets;

mod sqlite;

#[cfg(test)]
mod quiet;

pub use error::{Error, Result};
pub use fit::truncate_columns;
pub use source::Source;
pub use table::{Column, Table, Type, Value};

use format::{Container, TextFormat};
use source::{HEAD_BYTES, Reader, read_up_to};

/// What to preview.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The file's name, whose extension suggests a format.
    pub name: &'a str,
    /// The most rows to return.
    pub limit: usize,
    /// About the most bytes to return, names and types included. A longer table is cut and sets
    /// `has_more`; of very many columns only the first are shown.
    pub max_bytes: usize,
    /// The number of rows to skip.
    pub offset: usize,
    /// The sheet of a workbook, or the table of a database; by default the first visible one that is not
    /// empty.
    pub sheet: Option<&'a str>,
    /// The names of the columns to return, in this order; all if empty.
    pub columns: &'a [String],
    /// About the most bytes of memory to use, apart from a few buffers.
    pub max_memory: u64,
}

impl<'a> Request<'a> {
    /// Asks for the first rows with all columns.
    pub const fn new(name: &'a str, limit: usize, max_bytes: usize) -> Request<'a> {
        let max_memory = limits::MEMORY;
        Request { name, limit, max_bytes, offset: 0, sheet: None, columns: &[], max_memory }
    }
}

/// If columns are selected afterwards, this many times the bytes are read.
const SELECTED_FACTOR: usize = 16;

/// Returns rows of a file in any supported format.
pub fn preview(source: Arc<dyn Source>, request: &Request<'_>) -> Result<Table> {
    let factor = if request.columns.is_empty() { 1 } else { SELECTED_FACTOR };
    let all = Request { max_bytes: request.max_bytes.saturating_mul(factor), ..*request };
    let mut table = preview_of(source, &all).map_err(Error::visible)?;
    if !request.columns.is_empty() {
        select::select(&mut table, request.columns).map_err(Error::visible)?;
    }
    Ok(fit::fit(table, request.max_bytes))
}

fn preview_of(source: Arc<dyn Source>, request: &Request<'_>) -> Result<Table> {
    let head = read_up_to(&mut Reader::new(source.clone()), HEAD_BYTES)?;
    let container = format::container(request.name, &head)?;
    let has_sheets = matches!(container, Container::Sheets | Container::Sqlite);
    if let Some(sheet) = request.sheet.filter(|_| !has_sheets) {
        return Err(Error::NoSheets { sheet: sheet.into() });
    }
    match container {
        Container::Parquet => parquet::preview(source, request),
        Container::Sheets => sheets::preview(source, request),
        Container::Sqlite => sqlite::preview(source, request),
        Container::Compressed(kind) => {
            let name = format::without_compression(request.name);
            let request = Request { name, ..*request };
            preview_text(&mut compression::inflate(source, kind)?, &request)
        }
        Container::Plain => preview_text(&mut Reader::new(source), request),
    }
}

/// Returns the first rows of a text, which may come from a decompressor.
fn preview_text(input: &mut dyn Read, request: &Request<'_>) -> Result<Table> {
    let head = read_up_to(input, HEAD_BYTES)?;
    let format = format::text(request.name, &head)?;
    let mut input = head.as_slice().chain(input);
    match format {
        TextFormat::Delimited => csv::preview(&mut input, request),
        TextFormat::Json => json::preview(&mut input, request),
    }
}
