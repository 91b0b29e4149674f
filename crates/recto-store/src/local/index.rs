//! The line index of a large file, cached while the file does not change: its digest, its number of
//! lines and their positions.
//!
//! The index has one line count for each piece of 256 KiB, which is 32 KiB for each GiB.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use memchr::memchr_iter;
use recto_platform::Status;
use recto_text::encoding::Encoding;
use recto_text::{Digest, Document};

use super::identity::Identity;
use crate::lru::Lru;
use crate::sync::lock;

/// The number of bytes between two line counts.
pub const PIECE: usize = 256 << 10;

/// The maximum number of cached files, and of line counts in total.
const MAX_FILES: usize = 64;
const MAX_COUNTS: usize = 1 << 17;

/// The line index of a large file.
#[derive(Debug, PartialEq, Eq)]
pub struct Index {
    /// The encoding.
    pub encoding: Encoding,
    /// The digest of the content.
    pub digest: Digest,
    /// The size in bytes.
    pub n_bytes: u64,
    /// The number of lines.
    pub total_lines: u64,
    /// The number of line endings before each piece.
    pub lines_before: Vec<u64>,
}

impl Index {
    /// Indexes a text in memory.
    pub fn of(document: &Document) -> Index {
        let (encoding, bytes) = (document.encoding(), document.bytes());
        let mut lines_before = Vec::with_capacity(bytes.len().div_ceil(PIECE));
        let mut n_endings = 0;
        for piece in bytes.chunks(PIECE) {
            lines_before.push(n_endings);
            n_endings += n_endings_in(piece, encoding);
        }
        let is_open = !document.text().is_empty() && !document.text().ends_with('\n');
        Index {
            encoding,
            digest: document.digest(),
            n_bytes: bytes.len() as u64,
            total_lines: n_endings + u64::from(is_open),
            lines_before,
        }
    }

    /// Returns an offset at or before the start of `line`, and its line, both from 0.
    pub fn start_of(&self, line: u64) -> (u64, u64) {
        let n_pieces = self.lines_before.partition_point(|n_lines| *n_lines < line);
        match n_pieces.checked_sub(1) {
            Some(piece) => ((piece * PIECE) as u64, self.lines_before[piece]),
            None => (0, 0),
        }
    }

    /// Returns an offset at or after the start of `line`, from 0.
    pub fn end_of(&self, line: u64) -> u64 {
        let n_pieces = self.lines_before.partition_point(|n_lines| *n_lines < line);
        self.n_bytes.min((n_pieces * PIECE) as u64)
    }
}

/// Returns the bytes of a newline.
pub fn ending(encoding: Encoding) -> &'static [u8] {
    match encoding {
        Encoding::Utf16Le => b"\n\0",
        Encoding::Utf16Be => b"\0\n",
        // In all other encodings, the byte 0x0A is never part of another character.
        _ => b"\n",
    }
}

/// Counts the line endings in a piece, which starts and ends between code units.
pub fn n_endings_in(piece: &[u8], encoding: Encoding) -> u64 {
    let n_endings = match ending(encoding) {
        [byte] => memchr_iter(*byte, piece).count(),
        ending => piece.chunks_exact(ending.len()).filter(|unit| *unit == ending).count(),
    };
    n_endings as u64
}

/// Indexes by device and inode.
type IndexCache = Lru<(u64, u64), (Identity, Arc<Index>), MAX_FILES, MAX_COUNTS>;

/// The indexes of large files that were read recently.
#[derive(Default)]
pub struct Indexes {
    cache: Mutex<IndexCache>,
    /// The index of the first bytes of a growing file, for the file that was read last.
    prefix: Mutex<Option<(Identity, Arc<Index>)>>,
    /// How far tests advance the clock.
    pub clock_ahead: Duration,
}

impl Indexes {
    /// Returns the cached index of a file that has not changed.
    pub fn get(&self, status: &Status) -> Option<Arc<Index>> {
        let identity = Identity::of(status);
        let mut cache = lock(&self.cache);
        let (_, index) = cache.get(&identity.file()).filter(|(other, _)| *other == identity)?;
        Some(index.clone())
    }

    /// Returns the cached index of the first `n_bytes` of a file.
    pub fn prefix(&self, status: &Status, n_bytes: u64) -> Option<Arc<Index>> {
        let prefix = lock(&self.prefix);
        let (identity, index) = prefix.as_ref()?;
        let is_same = identity.file() == Identity::of(status).file() && index.n_bytes == n_bytes;
        is_same.then(|| index.clone())
    }

    /// Caches the index of the first bytes of a growing file, replacing the previous one.
    pub fn remember_prefix(&self, status: &Status, index: &Arc<Index>) {
        let mut prefix = lock(&self.prefix);
        *prefix = Some((Identity::of(status), index.clone()));
    }

    /// Identifies a file that was not modified recently.
    pub fn settled(&self, status: &Status) -> Option<Identity> {
        Identity::settled(status, SystemTime::now() + self.clock_ahead)
    }

    /// Caches an index. `status` is from before the scan. A file that was modified too recently to
    /// be identified by its timestamps is not cached.
    pub fn remember(&self, status: &Status, index: &Arc<Index>) {
        let Some(identity) = self.settled(status) else { return };
        let (file, n_counts) = (identity.file(), index.lines_before.len());
        lock(&self.cache).insert_weighing(file, (identity, index.clone()), n_counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_line_from_the_piece_where_it_starts() {
        let index = Index {
            encoding: Encoding::Utf8,
            digest: Digest::of(b""),
            n_bytes: 4 * PIECE as u64,
            total_lines: 9,
            // The second piece has no line ending; its line continues in the third.
            lines_before: vec![0, 4, 4, 7],
        };
        let piece = PIECE as u64;
        for (line, start) in [
            (0, (0, 0)),
            (1, (0, 0)),
            (4, (0, 0)),
            (5, (2 * piece, 4)),
            (7, (2 * piece, 4)),
            (8, (3 * piece, 7)),
        ] {
            assert_eq!(index.start_of(line), start, "line {line}");
        }
    }
}
