//! Identifies contents across processes and crashes.
//!
//! XXH3 with 128 bits and a secret that is created with the database: a caller that cannot read the
//! database cannot construct two contents with the same digest, and hashing takes less than a third of
//! the time that BLAKE3 takes. The figures are in `docs/decisions/0018-journal.md`.

use std::fmt;

use xxhash_rust::xxh3::{Xxh3, xxh3_128_with_secret};

/// The number of bytes of a secret.
pub const SECRET_BYTES: usize = 192;

/// Digests contents with the secret of one database.
#[derive(Clone, PartialEq, Eq)]
pub struct Digests(Box<[u8; SECRET_BYTES]>);

/// The digest of a content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentDigest([u8; 16]);

impl Digests {
    /// Uses a secret.
    pub fn new(secret: [u8; SECRET_BYTES]) -> Digests {
        Digests(Box::new(secret))
    }

    /// Returns the digest of bytes in memory.
    pub fn of(&self, bytes: &[u8]) -> ContentDigest {
        ContentDigest(xxh3_128_with_secret(bytes, &*self.0).to_be_bytes())
    }

    /// Returns the digest of bytes that `visit` passes on in pieces.
    pub fn of_pieces(
        &self,
        visit: impl FnOnce(&mut dyn FnMut(&[u8])) -> bool,
    ) -> Option<ContentDigest> {
        let mut hasher = Xxh3::with_secret(*self.0);
        let is_whole = visit(&mut |piece| hasher.update(piece));
        is_whole.then(|| ContentDigest(hasher.digest128().to_be_bytes()))
    }
}

impl ContentDigest {
    /// Returns a stored digest.
    pub fn from_bytes(bytes: &[u8]) -> Option<ContentDigest> {
        bytes.try_into().ok().map(ContentDigest)
    }

    /// Returns the bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn pieces_digest_like_the_whole() {
        let digests = Digests::new(std::array::from_fn(|index| index as u8));
        for n_bytes in [0, 1, 16, 17, 128, 129, 240, 241, 1000, 5000] {
            let bytes: Vec<u8> = (0..n_bytes).map(|n| n as u8).collect();
            let pieces = digests.of_pieces(|visit| {
                bytes.chunks(7).for_each(visit);
                true
            });
            assert_eq!(pieces.unwrap(), digests.of(&bytes), "{n_bytes}");
        }
        assert!(digests.of_pieces(|_| false).is_none());
        assert_ne!(Digests::new([1; SECRET_BYTES]).of(b"a"), digests.of(b"a"));
    }
}
