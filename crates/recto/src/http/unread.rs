//! Answers that clients have not taken yet: bounded together, so that a client that does not read
//! delays no other client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hyper::body::{Buf, Bytes};
use recto_store::sync::lock;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::limits::HTTP_UNREAD_BYTES;
use crate::log;

/// The unread pieces of all connections. If they take too much, the connections whose pieces have
/// waited longest are closed.
#[derive(Debug, Default)]
pub struct Unread(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    n_bytes: usize,
    n_added: u64,
    /// The size of each piece and what closes its connection, oldest first.
    pieces: BTreeMap<u64, (usize, CancellationToken)>,
}

/// Part of an answer. Counts as unread until it is dropped, which happens when the kernel has all
/// of it or the connection ends.
#[derive(Debug)]
pub struct Piece {
    bytes: Bytes,
    number: u64,
    unread: Arc<Unread>,
}

impl Unread {
    /// Adds a piece that a connection is about to send.
    pub fn add(self: &Arc<Unread>, bytes: Bytes, close: &CancellationToken) -> Piece {
        let mut waiting = lock(&self.0);
        let number = waiting.n_added;
        waiting.n_added += 1;
        waiting.n_bytes += bytes.len();
        waiting.pieces.insert(number, (bytes.len(), close.clone()));
        // A piece that is larger than the limit is sent if it is alone.
        while waiting.n_bytes > HTTP_UNREAD_BYTES
            && waiting.pieces.len() > 1
            && let Some((_, (n_bytes, close))) = waiting.pieces.pop_first()
        {
            waiting.n_bytes -= n_bytes;
            close.cancel();
            warn!(target: log::TARGET, "closes a connection whose client does not read its answer");
        }
        Piece { bytes, number, unread: self.clone() }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut waiting = lock(&self.unread.0);
        if let Some((n_bytes, _)) = waiting.pieces.remove(&self.number) {
            waiting.n_bytes -= n_bytes;
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, n_bytes: usize) {
        self.bytes.advance(n_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_that_waited_longest_are_given_up() {
        let unread = Arc::new(Unread::default());
        let add = |n_bytes: usize| {
            let close = CancellationToken::new();
            (unread.add(vec![b'x'; n_bytes].into(), &close), close)
        };
        let (_oldest, oldest) = add(HTTP_UNREAD_BYTES / 2);
        let (taken, taken_close) = add(HTTP_UNREAD_BYTES / 4);
        let (_newer, newer) = add(HTTP_UNREAD_BYTES / 4);
        assert!(!oldest.is_cancelled(), "they fit");
        drop(taken);
        let (_fits, _) = add(HTTP_UNREAD_BYTES / 4);
        assert!(!oldest.is_cancelled(), "one was taken");
        let (_more, more) = add(1);
        assert!(oldest.is_cancelled() && !newer.is_cancelled() && !more.is_cancelled());
        assert!(!taken_close.is_cancelled());
        let (_alone, alone) = add(2 * HTTP_UNREAD_BYTES);
        assert!(newer.is_cancelled() && more.is_cancelled() && !alone.is_cancelled());
        drop(_alone);
        assert_eq!(lock(&unread.0).n_bytes, 0);
    }
}
