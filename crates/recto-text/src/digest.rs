//! The version tag of a file: short enough for a model to copy, strong enough to detect a change.
//! Before stores discard bytes, they compare the bytes themselves.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The first 12 hex digits of the XXH3-64 of a file's stored bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(u64);

impl Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(xxh3_64(bytes) >> 16)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The string is not 12 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Digest, NotADigest> {
        if text.len() != 12 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotADigest);
        }
        u64::from_str_radix(text, 16).map(Digest).map_err(|_| NotADigest)
    }
}

/// Computes the digest of bytes that arrive in pieces.
#[derive(Default)]
pub struct Digester(Xxh3);

impl Digester {
    /// Adds the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes so far.
    pub fn finish(&self) -> Digest {
        Digest(self.0.digest() >> 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_first_twelve_digits_of_xxh3() {
        // `xxhsum -H3` prints 2d06800538d394c2 for empty input.
        assert_eq!(Digest::of(b"").to_string(), "2d06800538d3");
    }

    #[test]
    fn pieces_digest_like_the_whole() {
        let mut digester = Digester::default();
        for piece in [&b"one "[..], b"", b"two"] {
            digester.push(piece);
        }
        assert_eq!(digester.finish(), Digest::of(b"one two"));
    }

    #[test]
    fn parses_only_its_own_format() {
        let digest = Digest::of(b"x");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.to_string().to_uppercase().parse(), Ok(digest));
        for bad in ["", "12", "0123456789abc", "+123456789ab", "0123456789ag", "０123456789"] {
            assert_eq!(bad.parse::<Digest>(), Err(NotADigest), "{bad}");
        }
    }
}
