//! The version tag of a file: short enough for a model to copy, strong enough to detect a change.
//! Before stores discard bytes, they compare the bytes themselves.
//!
//! Anyone can construct two contents with the same tag. A [`Digest`] therefore also contains a hash
//! under a key that only this process knows.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;
use std::sync::LazyLock;

use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_secret};

/// The number of bytes in a secret of XXH3.
const SECRET_BYTES: usize = 192;

/// The key of this process, from the random numbers of the operating system.
static SECRET: LazyLock<[u8; SECRET_BYTES]> = LazyLock::new(|| {
    let random = RandomState::new();
    let mut secret = [0; SECRET_BYTES];
    for (index, word) in secret.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *word = random.hash_one(index).to_le_bytes();
    }
    secret
});

/// The first 12 hex digits of the XXH3-64 of a file's stored bytes. It is the same in all processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(u64);

/// The tag of a file's stored bytes, and their XXH3-64 with the key of this process. Two digests are
/// equal only if both are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest {
    tag: Tag,
    keyed: u64,
}

impl Tag {
    /// Computes the tag of `bytes`.
    pub fn of(bytes: &[u8]) -> Tag {
        Tag(xxh3_64(bytes) >> 16)
    }
}

impl Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest { tag: Tag::of(bytes), keyed: xxh3_64_with_secret(bytes, &*SECRET) }
    }

    /// Returns the tag.
    pub fn tag(self) -> Tag {
        self.tag
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({self})")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tag.fmt(f)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The string is not 12 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotATag;

impl FromStr for Tag {
    type Err = NotATag;

    fn from_str(text: &str) -> Result<Tag, NotATag> {
        if text.len() != 12 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotATag);
        }
        u64::from_str_radix(text, 16).map(Tag).map_err(|_| NotATag)
    }
}

/// Computes the digest of bytes that arrive in pieces.
pub struct Digester {
    plain: Xxh3,
    keyed: Xxh3,
}

impl Default for Digester {
    fn default() -> Digester {
        Digester { plain: Xxh3::new(), keyed: Xxh3::with_secret(*SECRET) }
    }
}

impl Digester {
    /// Adds the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.plain.update(bytes);
        self.keyed.update(bytes);
    }

    /// Returns the digest of all bytes so far.
    pub fn finish(&self) -> Digest {
        Digest { tag: Tag(self.plain.digest() >> 16), keyed: self.keyed.digest() }
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
        // XXH3 treats inputs of these lengths differently.
        for n_bytes in [0, 1, 7, 16, 100, 200, 240, 241, 1000, 5000] {
            let bytes: Vec<u8> = (0..n_bytes).map(|n| n as u8).collect();
            for n_piece in [1, 64, 300] {
                let mut digester = Digester::default();
                bytes.chunks(n_piece).for_each(|piece| digester.push(piece));
                assert_eq!(digester.finish(), Digest::of(&bytes), "{n_bytes} by {n_piece}");
            }
        }
    }

    /// Such a pair is found in seconds: the tags of 2^26 contents `retries = N` were sorted, and equal
    /// ones are adjacent.
    #[test]
    fn contents_with_the_same_tag_have_different_digests() {
        let (one, other) =
            (Digest::of(b"retries = 1988428\n"), Digest::of(b"retries = 48001107\n"));
        assert_eq!(one.tag(), other.tag());
        assert_ne!(one, other);
    }

    #[test]
    fn parses_only_its_own_format() {
        let tag = Digest::of(b"x").tag();
        assert_eq!(tag.to_string().parse(), Ok(tag));
        assert_eq!(tag.to_string().to_uppercase().parse(), Ok(tag));
        for bad in ["", "12", "0123456789abc", "+123456789ab", "0123456789ag", "０123456789"] {
            assert_eq!(bad.parse::<Tag>(), Err(NotATag), "{bad}");
        }
    }
}
