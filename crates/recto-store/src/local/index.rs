//! What one pass over a large file tells, remembered while the file stays the same: its version,
//! how many lines it has and where they are.
//!
//! The line counts stand at every piece of 256 KiB, which is 32 KiB for each GiB of file.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use memchr::memchr_iter;
use recto_platform::Status;
use recto_text::encoding::Encoding;
use recto_text::{Digest, Document};

use super::identity::Identity;
use crate::lru::Lru;
use crate::sync::lock;

/// How many bytes lie between two line counts.
pub const PIECE: usize = 256 << 10;

/// How many files are remembered, and how many line counts altogether.
const MAX_FILES: usize = 64;
const MAX_COUNTS: usize = 1 << 17;

/// What is known of a large file.
#[derive(Debug, PartialEq, Eq)]
pub struct Index {
    /// How its text is stored.
    pub encoding: Encoding,
    /// Its version.
    pub digest: Digest,
    /// How many bytes it has.
    pub n_bytes: u64,
    /// How many lines it has.
    pub total_lines: u64,
    /// How many lines end before each piece.
    pub lines_before: Vec<u64>,
}

impl Index {
    /// The same for a text that is at hand.
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

    /// A place to start from that lies in or before `line`, and the line there, both from 0.
    pub fn start_of(&self, line: u64) -> (u64, u64) {
        let n_pieces = self.lines_before.partition_point(|n_lines| *n_lines < line);
        match n_pieces.checked_sub(1) {
            Some(piece) => ((piece * PIECE) as u64, self.lines_before[piece]),
            None => (0, 0),
        }
    }

    /// A place in the file before which `line`, from 0, begins, if it does at all.
    pub fn end_of(&self, line: u64) -> u64 {
        let n_pieces = self.lines_before.partition_point(|n_lines| *n_lines < line);
        self.n_bytes.min((n_pieces * PIECE) as u64)
    }
}

/// What a line ends in.
pub fn ending(encoding: Encoding) -> &'static [u8] {
    match encoding {
        Encoding::Utf16Le => b"\n\0",
        Encoding::Utf16Be => b"\0\n",
        // A byte that no other character has.
        _ => b"\n",
    }
}

/// How many lines end in a piece of a file, which is cut between the units of its encoding.
pub fn n_endings_in(piece: &[u8], encoding: Encoding) -> u64 {
    let n_endings = match ending(encoding) {
        [byte] => memchr_iter(*byte, piece).count(),
        ending => piece.chunks_exact(ending.len()).filter(|unit| *unit == ending).count(),
    };
    n_endings as u64
}

/// Indexes by device and inode.
type IndexCache = Lru<(u64, u64), (Identity, Arc<Index>), MAX_FILES, MAX_COUNTS>;

/// What is known of the large files that were read lately.
#[derive(Default)]
pub struct Indexes {
    known: Mutex<IndexCache>,
    /// The beginning of a file that grows, which was looked at last.
    beginning: Mutex<Option<(Identity, Arc<Index>)>>,
    /// How far the clock is set ahead.
    pub clock_ahead: Duration,
}

impl Indexes {
    /// What is known of a file, if it is still the same.
    pub fn get(&self, status: &Status) -> Option<Arc<Index>> {
        let identity = Identity::of(status);
        let mut known = lock(&self.known);
        let (_, index) = known.get(&identity.file()).filter(|(other, _)| *other == identity)?;
        Some(index.clone())
    }

    /// What is known of the first bytes of a file.
    pub fn beginning(&self, status: &Status, n_bytes: u64) -> Option<Arc<Index>> {
        let beginning = lock(&self.beginning);
        let (identity, index) = beginning.as_ref()?;
        let is_same = identity.file() == Identity::of(status).file() && index.n_bytes == n_bytes;
        is_same.then(|| index.clone())
    }

    /// Remembers it instead of the one before.
    pub fn remember_beginning(&self, status: &Status, index: &Arc<Index>) {
        let mut beginning = lock(&self.beginning);
        *beginning = Some((Identity::of(status), index.clone()));
    }

    /// Identifies a file that is old enough to be known by its time stamps.
    pub fn settled(&self, status: &Status) -> Option<Identity> {
        Identity::settled(status, SystemTime::now() + self.clock_ahead)
    }

    /// Remembers what a pass told that began when the file had this status, unless a write just
    /// before or after it could look the same.
    pub fn remember(&self, status: &Status, index: &Arc<Index>) {
        let Some(identity) = self.settled(status) else { return };
        let (file, n_counts) = (identity.file(), index.lines_before.len());
        lock(&self.known).insert_weighing(file, (identity, index.clone()), n_counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_from_the_piece_where_it_starts() {
        let index = Index {
            encoding: Encoding::Utf8,
            digest: Digest::of(b""),
            n_bytes: 4 * PIECE as u64,
            total_lines: 9,
            // The second piece has no line end, the line in it goes on into the third.
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
