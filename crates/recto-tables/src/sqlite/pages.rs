//! The pages of a database: its header, its B-trees and what their cells contain.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::source::Source;

/// The first bytes of a database.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// The bytes of the header, before the first B-tree page.
const HEADER: usize = 100;

/// The most levels of a B-tree, as in SQLite.
const MAX_DEPTH: usize = 20;

/// The most bytes that are read of one row.
pub const MAX_ROW: usize = 1 << 20;

/// The encoding of all texts of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

/// A database, read page by page.
pub struct DatabaseFile {
    source: Arc<dyn Source>,
    n_page_bytes: usize,
    /// The bytes of a page that contain data.
    n_usable: usize,
    n_pages: u64,
    /// The pages that the current walk may still read. Each page belongs to one place, so a walk that
    /// needs more than the file has is in a circle.
    n_left: u64,
    /// The encoding of texts.
    pub encoding: TextEncoding,
    /// Whether the latest changes may be in a write-ahead log.
    pub has_log: bool,
}

impl DatabaseFile {
    /// Reads the header.
    pub fn open(source: Arc<dyn Source>) -> Result<DatabaseFile> {
        let mut header = [0; HEADER];
        read_exact(&*source, &mut header, 0)?;
        if !header.starts_with(MAGIC) {
            return Err(broken("it does not start as SQLite databases do"));
        }
        let n_page_bytes = match u16_at(&header, 16) {
            Some(1) => 1 << 16,
            Some(size) if size >= 512 && size.is_power_of_two() => usize::from(size),
            _ => return Err(broken("the size of its pages is invalid")),
        };
        let n_usable = n_page_bytes - usize::from(header[20]);
        if n_usable < 480 || header[19] > 2 {
            return Err(broken("it has an unknown version, or it is encrypted"));
        }
        let encoding = match u32_at(&header, 56) {
            Some(2) => TextEncoding::Utf16Le,
            Some(3) => TextEncoding::Utf16Be,
            _ => TextEncoding::Utf8,
        };
        let n_pages = source.size().div_ceil(n_page_bytes as u64);
        let has_log = header[18] == 2;
        Ok(DatabaseFile { source, n_page_bytes, n_usable, n_pages, n_left: 0, encoding, has_log })
    }

    /// Starts to walk through the rows of a B-tree.
    pub fn walk(&mut self, root: u32) -> Result<Walk<'_>> {
        self.n_left = self.n_pages;
        let page = self.tree_page(root)?;
        Ok(Walk { database: self, stack: vec![Level { page, n_steps: 0 }] })
    }

    /// Returns whether a B-tree has no rows, without reading more than its root.
    pub fn is_empty(&mut self, root: u32) -> Result<bool> {
        self.n_left = 1;
        let page = self.tree_page(root)?;
        Ok(page.kind.is_leaf() && page.n_cells == 0)
    }

    fn page(&mut self, number: u32) -> Result<Vec<u8>> {
        if number == 0 || u64::from(number) > self.n_pages {
            return Err(broken(format!("there is no page {number}; the file may be cut off")));
        }
        self.n_left =
            self.n_left.checked_sub(1).ok_or_else(|| broken("its pages form a circle"))?;
        let mut bytes = vec![0; self.n_page_bytes];
        let offset = u64::from(number - 1) * self.n_page_bytes as u64;
        read_exact(&*self.source, &mut bytes, offset)?;
        Ok(bytes)
    }

    fn tree_page(&mut self, number: u32) -> Result<TreePage> {
        let bytes = self.page(number)?;
        let start = if number == 1 { HEADER } else { 0 };
        let kind = match bytes[start] {
            2 => TreeKind::IndexInterior,
            5 => TreeKind::TableInterior,
            10 => TreeKind::IndexLeaf,
            13 => TreeKind::TableLeaf,
            _ => return Err(broken(format!("page {number} is damaged"))),
        };
        let n_cells = usize::from(u16_at(&bytes, start + 3).unwrap_or(0));
        let cells = start + if kind.is_leaf() { 8 } else { 12 };
        if cells + 2 * n_cells > bytes.len() {
            return Err(broken(format!("page {number} is damaged")));
        }
        Ok(TreePage { number, kind, n_cells, cells, bytes })
    }

    /// Returns the first bytes of the content of a cell, of which a page has the start.
    fn payload(&mut self, page: &TreePage, at: usize, n_bytes: u64) -> Result<Payload> {
        let damaged = || broken(format!("page {} is damaged", page.number));
        let n_bytes = usize::try_from(n_bytes).ok().filter(|n| *n <= i32::MAX as usize);
        let n_bytes = n_bytes.ok_or_else(damaged)?;
        let n_on_page = self.n_on_page(page.kind, n_bytes);
        let end = at + n_on_page;
        let local = page.bytes.get(at..end).ok_or_else(damaged)?;
        let n_wanted = n_bytes.min(MAX_ROW);
        let mut bytes = local[..local.len().min(n_wanted)].to_vec();
        let mut next = u32_at(&page.bytes, end).unwrap_or(0);
        while bytes.len() < n_wanted {
            let overflow = self.page(next)?;
            let n_more = (n_wanted - bytes.len()).min(self.n_usable - 4);
            bytes.extend(&overflow[4..4 + n_more]);
            next = u32_at(&overflow, 0).unwrap_or(0);
        }
        Ok(Payload { bytes, n_bytes })
    }

    /// Returns how many bytes of a content are on the page of its cell.
    fn n_on_page(&self, kind: TreeKind, n_bytes: usize) -> usize {
        let max = match kind {
            TreeKind::TableLeaf => self.n_usable - 35,
            _ => (self.n_usable - 12) * 64 / 255 - 23,
        };
        if n_bytes <= max {
            return n_bytes;
        }
        let min = (self.n_usable - 12) * 32 / 255 - 23;
        let n_on_page = min + (n_bytes - min) % (self.n_usable - 4);
        if n_on_page <= max { n_on_page } else { min }
    }
}

/// The content of a row.
pub struct Payload {
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// The number of all its bytes.
    pub n_bytes: usize,
}

/// A row of a table.
pub struct StoredRow {
    /// Its key, in a table that has one.
    pub rowid: i64,
    /// Its content.
    pub payload: Payload,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeKind {
    IndexInterior,
    TableInterior,
    IndexLeaf,
    TableLeaf,
}

impl TreeKind {
    fn is_leaf(self) -> bool {
        matches!(self, TreeKind::IndexLeaf | TreeKind::TableLeaf)
    }
}

struct TreePage {
    number: u32,
    kind: TreeKind,
    n_cells: usize,
    /// Where the positions of the cells are.
    cells: usize,
    bytes: Vec<u8>,
}

impl TreePage {
    fn cell(&self, index: usize) -> usize {
        usize::from(u16_at(&self.bytes, self.cells + 2 * index).unwrap_or(u16::MAX))
    }

    /// Returns the page below an interior page, before a cell or after the last one.
    fn child(&self, index: usize) -> u32 {
        let at = if index == self.n_cells { self.cells - 4 } else { self.cell(index) };
        u32_at(&self.bytes, at).unwrap_or(0)
    }
}

/// A page and how far the walk is in it. A leaf has a step for each cell, an interior page of a table
/// one for each child, one of an index alternates between children and cells.
struct Level {
    page: TreePage,
    n_steps: usize,
}

/// What a step leads to.
enum WalkStep {
    Cell(usize),
    Child(usize),
    End,
}

impl Level {
    fn step(&mut self) -> WalkStep {
        let (step, n_cells) = (self.n_steps, self.page.n_cells);
        self.n_steps += 1;
        match self.page.kind {
            TreeKind::TableLeaf | TreeKind::IndexLeaf if step < n_cells => WalkStep::Cell(step),
            TreeKind::TableInterior if step <= n_cells => WalkStep::Child(step),
            TreeKind::IndexInterior if step > 2 * n_cells => WalkStep::End,
            TreeKind::IndexInterior if step % 2 == 1 => WalkStep::Cell(step / 2),
            TreeKind::IndexInterior => WalkStep::Child(step / 2),
            _ => WalkStep::End,
        }
    }
}

/// A walk through the rows of a B-tree, in order.
pub struct Walk<'a> {
    database: &'a mut DatabaseFile,
    stack: Vec<Level>,
}

impl Walk<'_> {
    /// Returns the next row after `n_skipped` others, of which only the pages are read.
    pub fn next(&mut self, mut n_skipped: usize) -> Result<Option<StoredRow>> {
        while let Some(level) = self.stack.last_mut() {
            if level.page.kind.is_leaf() {
                let n_passed = n_skipped.min(level.page.n_cells.saturating_sub(level.n_steps));
                level.n_steps += n_passed;
                n_skipped -= n_passed;
            }
            match level.step() {
                WalkStep::End => drop(self.stack.pop()),
                WalkStep::Cell(_) if n_skipped > 0 => n_skipped -= 1,
                WalkStep::Cell(index) => return self.row(index).map(Some),
                WalkStep::Child(index) => {
                    let (child, number) = (level.page.child(index), level.page.number);
                    let is_table = level.page.kind == TreeKind::TableInterior;
                    let page = self.database.tree_page(child)?;
                    let is_same = is_table
                        == matches!(page.kind, TreeKind::TableInterior | TreeKind::TableLeaf);
                    if !is_same || self.stack.len() == MAX_DEPTH {
                        return Err(broken(format!("page {number} is damaged")));
                    }
                    self.stack.push(Level { page, n_steps: 0 });
                }
            }
        }
        Ok(None)
    }

    /// Reads a cell of the last page.
    fn row(&mut self, index: usize) -> Result<StoredRow> {
        let Some(Level { page, .. }) = self.stack.last() else { return Err(broken("no page")) };
        let damaged = || broken(format!("page {} is damaged", page.number));
        let mut at = page.cell(index);
        // An interior page has the number of a child first.
        at += if page.kind == TreeKind::IndexInterior { 4 } else { 0 };
        let n_bytes = varint(&page.bytes, &mut at).ok_or_else(damaged)?;
        let rowid = match page.kind {
            TreeKind::TableLeaf => varint(&page.bytes, &mut at).ok_or_else(damaged)? as i64,
            _ => 0,
        };
        Ok(StoredRow { rowid, payload: self.database.payload(page, at, n_bytes)? })
    }
}

/// Reads an integer of one to nine bytes.
pub fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for n_read in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if n_read == 8 {
            return Some(number << 8 | u64::from(byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(number)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

fn read_exact(source: &dyn Source, buffer: &mut [u8], offset: u64) -> Result<()> {
    let mut n_read = 0;
    while n_read < buffer.len() {
        match source.read_at(&mut buffer[n_read..], offset + n_read as u64)? {
            0 => return Err(broken("the file is cut off")),
            n => n_read += n,
        }
    }
    Ok(())
}

/// Returns the error about a damaged database.
pub fn broken(cause: impl Into<String>) -> Error {
    Error::Broken { cause: cause.into() }
}
