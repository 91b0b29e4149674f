//! Files too large for memory. One pass computes the digest and the line index; after that only
//! requested lines are read. The encoding is detected from the head, or from the first piece that
//! is not ASCII, and checked in the returned text.

use std::sync::Arc;

use crate::error::{Error, Result};
use recto_platform::Status;
use recto_text::digest::{Digest, Digester};
use recto_text::encoding::Encoding;
use recto_text::search::{Hits, LineMatches, LineScan, Needle, Search, SearchScan};
use recto_text::window::{Page, PageScan, Window};

use super::index::{self, Index, Indexes, PIECE};
use super::read::{OpenFile, StablePrefix};
use crate::context::Context;
use crate::limits;
use crate::path::AbsPath;
use crate::{Pages, VersionedHits, VersionedPage};

/// How much of a file is used to detect its encoding.
const HEAD: usize = 1 << 20;

/// An open large file, and the call that reads it.
pub struct LargeFile<'a> {
    file: OpenFile,
    indexes: &'a Indexes,
    path: AbsPath,
    context: &'a Context,
    /// Whether the call reads many files; a digest for an error is then not worth computing.
    is_bulk: bool,
    prefix: StablePrefix,
}

/// Whether to continue with the next piece.
#[derive(PartialEq, Eq)]
enum Next {
    Continue,
    Stop,
}

impl Pages for LargeFile<'_> {
    fn page(&self, window: Window) -> Result<VersionedPage> {
        self.with_index(|index| {
            let page = self.page_at(index, window)?;
            Ok(VersionedPage { page, digest: index.digest })
        })
    }

    fn search(&self, search: &Search<'_>) -> Result<VersionedHits> {
        self.with_index(|index| {
            let hits = self.hits(index, search)?;
            Ok(VersionedHits { hits, digest: index.digest })
        })
    }

    fn find_in_line(&self, needle: &Needle, line: u64) -> Result<Option<LineMatches>> {
        self.with_index(|index| {
            let (offset, first) = self.start_of_text(index, line)?;
            let mut scan = LineScan::inside(needle, line, first);
            self.for_each_text(index, offset, |text, _| {
                scan.push(text);
                if scan.is_done() { Next::Stop } else { Next::Continue }
            })?;
            Ok(scan.finish())
        })
    }
}

impl<'a> LargeFile<'a> {
    pub fn new(
        file: OpenFile,
        indexes: &'a Indexes,
        path: &AbsPath,
        context: &'a Context,
        is_bulk: bool,
    ) -> LargeFile<'a> {
        let (path, prefix) = (path.clone(), StablePrefix::default());
        LargeFile { file, indexes, path, context, is_bulk, prefix }
    }

    /// Reads with the index of the file, and builds the index first if it is not cached.
    fn with_index<T: PartialEq>(&self, read: impl Fn(&Index) -> Result<T>) -> Result<T> {
        if self.file.has_exact_size {
            let (path, context) = (&self.path, self.context);
            return self.file.read_growing(path, context, &self.prefix, |status, n_bytes| {
                read(&*self.index_of(status, n_bytes)?)
            });
        }
        // The file may be longer than its size says, which `read_stable` rejects.
        self.file.read_stable(&self.path, |status| {
            let index = self.index_of(status, u64::MAX)?;
            Ok((index.n_bytes, read(&index)?))
        })
    }

    /// Returns the index of at most `most_bytes` of a file with this status.
    fn index_of(&self, status: &Status, most_bytes: u64) -> Result<Arc<Index>> {
        let known = self.indexes.get(status).filter(|index| index.n_bytes <= most_bytes);
        // The size of a growing file is fixed for a call only after two identical reads.
        let is_settled = self.prefix.settled.get().is_some();
        let prefix = || self.indexes.prefix(status, most_bytes).filter(|_| is_settled);
        if let Some(index) = known.or_else(prefix) {
            return Ok(index);
        }
        let index = Arc::new(self.index(most_bytes)?);
        match index.n_bytes == status.size {
            true => self.indexes.remember(status, &index),
            false => self.indexes.remember_prefix(status, &index),
        }
        Ok(index)
    }

    /// Reads at most `most_bytes` once, and indexes them.
    fn index(&self, most_bytes: u64) -> Result<Index> {
        let mut head = vec![0; HEAD];
        let n_head = self.file.read_at(&self.path, &mut head, 0)?;
        let mut encoding =
            Encoding::sniff(&head[..n_head]).ok_or_else(|| self.binary(|| self.version()))?;
        let mut sample = head[..n_head].is_ascii().then(NonAsciiSample::default);
        drop(head);
        let mut digester = Digester::default();
        let mut n_bytes = 0;
        let mut n_endings = 0;
        let mut is_open = false;
        let mut lines_before = Vec::new();
        let ending = index::ending(encoding);
        self.for_each_piece(0, most_bytes, |piece, _| {
            digester.push(piece);
            n_bytes += piece.len() as u64;
            if !piece.is_empty() {
                lines_before.push(n_endings);
                n_endings += index::n_endings_in(piece, encoding);
                is_open = piece.len() % ending.len() > 0 || !piece.ends_with(ending);
            }
            if let Some(sample) = &mut sample {
                sample.push(piece);
            }
            Next::Continue
        })?;
        let total_lines = n_endings + u64::from(is_open);
        let legacy = sample.and_then(|sample| sample.legacy());
        encoding = legacy.unwrap_or(encoding);
        Ok(Index { encoding, digest: digester.finish(), n_bytes, total_lines, lines_before })
    }

    fn page_at(&self, index: &Index, window: Window) -> Result<Page> {
        let (offset, line) = index.start_of(window.first_line - 1);
        let mut scan = PageScan::inside(window, line + 1);
        let mut has_broken_page = false;
        if window.max_lines == 0 || window.first_line > index.total_lines {
            // The page is empty.
        } else if is_utf8(index.encoding) && window.first_column == 1 {
            scan.push_owned(self.bytes_around(index, offset, window)?);
        } else {
            let (offset, line) = self.start_of_text(index, window.first_line - 1)?;
            scan = PageScan::inside(window, line + 1);
            has_broken_page = self.for_each_text(index, offset, |text, is_broken| {
                scan.push(text);
                if is_broken || scan.is_page_complete() { Next::Stop } else { Next::Continue }
            })?;
        }
        let binary = || self.binary(|| Some(index.digest));
        let page = scan.finish().map_err(|_| binary())?;
        if has_broken_page || (!is_utf16(index.encoding) && page.content.contains('\0')) {
            return Err(binary());
        }
        Ok(Page { total_lines: index.total_lines, ..page })
    }

    /// Returns an offset at or before a line from which text can be decoded, and the line there.
    fn start_of_text(&self, index: &Index, line: u64) -> Result<(u64, u64)> {
        let (offset, line) = index.start_of(line);
        match is_utf8(index.encoding) {
            true => Ok((offset, line)),
            false => self.next_line(index.encoding, offset, line),
        }
    }

    /// Returns the start of the next line after an offset other than 0, so that decoding does not
    /// start inside a character.
    fn next_line(&self, encoding: Encoding, offset: u64, line: u64) -> Result<(u64, u64)> {
        let ending = index::ending(encoding);
        let n_bytes = if offset == 0 { 0 } else { PIECE };
        let piece = self.file.bytes_at(&self.path, n_bytes, offset)?;
        let n_before = piece.chunks(ending.len()).position(|unit| unit == ending);
        Ok(n_before.map_or((0, 0), |n| (offset + ((n + 1) * ending.len()) as u64, line + 1)))
    }

    /// Reads the bytes that a page can need from an offset on: at most one page budget beyond the
    /// piece where the page starts.
    fn bytes_around(&self, index: &Index, offset: u64, window: Window) -> Result<Vec<u8>> {
        let end_line = (window.first_line - 1).saturating_add(window.max_lines);
        let n_possible = index.end_of(end_line).saturating_sub(offset);
        let n_bom = if offset == 0 { index.encoding.bom().len() } else { 0 };
        let n_most = (PIECE + n_bom + 1).saturating_add(window.max_size.bytes);
        let n_bytes = usize::try_from(n_possible).map_or(n_most, |n| n.min(n_most));
        let mut bytes = self.file.bytes_at(&self.path, n_bytes, offset)?;
        bytes.drain(..n_bom.min(bytes.len()));
        Ok(bytes)
    }

    fn hits(&self, index: &Index, search: &Search<'_>) -> Result<Hits> {
        let first = search.within.first().map_or(0, |lines| lines.start);
        let (offset, line) = self.start_of_text(index, first)?;
        let mut scan = SearchScan::inside(search, line);
        self.for_each_text(index, offset, |text, _| {
            scan.push(text);
            if scan.is_done() { Next::Stop } else { Next::Continue }
        })?;
        Ok(Hits { total_lines: index.total_lines, ..scan.finish() })
    }

    /// Visits the decoded text from an offset on. Returns whether the last visited piece had bytes
    /// that are invalid in the encoding.
    fn for_each_text(
        &self,
        index: &Index,
        offset: u64,
        mut visit: impl FnMut(&[u8], bool) -> Next,
    ) -> Result<bool> {
        let mut is_broken = false;
        if is_utf8(index.encoding) {
            let mut n_bom = if offset == 0 { index.encoding.bom().len() } else { 0 };
            self.for_each_piece(offset, index.n_bytes, |piece, _| {
                visit(&piece[std::mem::take(&mut n_bom).min(piece.len())..], false)
            })?;
            return Ok(false);
        }
        let mut decoder = match offset {
            0 => index.encoding.decoder(),
            _ => index.encoding.decoder_inside(),
        };
        let mut decoded = String::new();
        self.for_each_piece(offset, index.n_bytes, |piece, is_last| {
            is_broken = decoder.push(piece, is_last, &mut decoded);
            visit(decoded.as_bytes(), is_broken)
        })?;
        Ok(is_broken)
    }

    /// Visits pieces of equal size up to `end`, and an empty one at the end of the file.
    fn for_each_piece(
        &self,
        mut offset: u64,
        end: u64,
        mut visit: impl FnMut(&[u8], bool) -> Next,
    ) -> Result<()> {
        let mut buffer = vec![0; PIECE];
        loop {
            self.context.cancel.check()?;
            let n_wanted = end.saturating_sub(offset).min(PIECE as u64) as usize;
            let n_read = self.file.read_at(&self.path, &mut buffer[..n_wanted], offset)?;
            offset += n_read as u64;
            if n_read > 0 && visit(&buffer[..n_read], false) == Next::Stop {
                return Ok(());
            }
            if n_read < PIECE {
                visit(&[], true);
                return Ok(());
            }
        }
    }

    /// Returns the error for a binary file, with a hash if the file may be removed.
    fn binary(&self, version: impl FnOnce() -> Option<Digest>) -> Error {
        let is_removable = self.file.status.size <= limits::REMOVED_FILE;
        let hash = if is_removable { version() } else { None };
        Error::BinaryFile { verb: "read", path: self.path.to_string(), hash }
    }

    /// Computes the digest of a file that is not indexed. Bulk reads do not need it.
    fn version(&self) -> Option<Digest> {
        if self.is_bulk {
            return None;
        }
        let mut digester = Digester::default();
        let read = self.for_each_piece(0, self.file.status.size, |piece, _| {
            digester.push(piece);
            Next::Continue
        });
        read.is_ok().then(|| digester.finish())
    }
}

/// Lines with non-ASCII bytes, to detect the encoding of a file whose head is ASCII.
#[derive(Default)]
struct NonAsciiSample {
    lines: Vec<u8>,
    n_utf8: usize,
    n_others: usize,
}

impl NonAsciiSample {
    const MAX_BYTES: usize = 64 << 10;

    fn push(&mut self, piece: &[u8]) {
        if self.lines.len() >= NonAsciiSample::MAX_BYTES || piece.is_ascii() {
            return;
        }
        for line in piece.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.is_ascii()) {
            match std::str::from_utf8(line) {
                Ok(_) => self.n_utf8 += 1,
                Err(_) => self.n_others += 1,
            }
            let n_room = NonAsciiSample::MAX_BYTES.saturating_sub(self.lines.len());
            self.lines.extend_from_slice(&line[..line.len().min(n_room)]);
        }
    }

    /// Returns a legacy encoding if most lines are not UTF-8. Otherwise those lines are damaged.
    fn legacy(&self) -> Option<Encoding> {
        let sniffed = Encoding::sniff(&self.lines).filter(|_| self.n_others > self.n_utf8);
        sniffed.filter(|encoding| matches!(encoding, Encoding::Legacy(_)))
    }
}

fn is_utf8(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Utf8 | Encoding::Utf8Bom)
}

fn is_utf16(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be)
}
