//! An index of the chunks of a text that contain a few bytes of a string.

use std::collections::HashMap;

use crate::find::{Folded, Needle};
use crate::line;

/// The most bytes of a key.
pub const MAX_KEY: usize = 8;

/// Some consecutive bytes of a string, with `\n` for every `\r\n`, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    bytes: u64,
    n_bytes: u8,
}

impl Key {
    /// Returns the key of a string: the bytes that are probably the rarest in a text. A key contains
    /// no `\r`, which may be half of an ending; without another byte there is none.
    pub fn of(needle: Needle<'_>) -> Option<Key> {
        let folded = Folded::new(needle.string.as_bytes()).bytes;
        let longest = folded.split(|byte| *byte == b'\r').map(<[u8]>::len).max()?;
        let n_bytes = longest.min(MAX_KEY);
        let keys = folded.split(|byte| *byte == b'\r').filter(|run| !run.is_empty());
        let rarity = |key: &&[u8]| key.iter().map(rarity).sum::<u32>();
        keys.flat_map(|run| run.windows(n_bytes.max(1))).max_by_key(rarity).map(Key::new)
    }

    fn new(bytes: &[u8]) -> Key {
        let mut padded = [0; MAX_KEY];
        padded[..bytes.len()].copy_from_slice(bytes);
        Key { bytes: u64::from_le_bytes(padded), n_bytes: bytes.len() as u8 }
    }

    fn hash(self) -> u64 {
        (self.bytes ^ u64::from(self.n_bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Returns how rare a byte is in source code, roughly.
fn rarity(byte: &u8) -> u32 {
    match byte {
        b' ' | b'\n' | b'\t' => 0,
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b'l' => 1,
        b'a'..=b'z' | b'(' | b')' | b',' | b'.' | b';' | b'"' | b'_' | b'=' => 2,
        _ => 3,
    }
}

/// The chunks that contain each key. A chunk stays listed when an edit removes the key.
pub struct Keys {
    chunks: HashMap<Key, Vec<usize>>,
    /// The hashes of the keys, as a bit set that fits a cache.
    filter: Vec<u64>,
    /// One for each length of the keys.
    skips: Vec<Skips>,
}

impl Keys {
    /// Collects the keys of strings.
    pub fn new<'a>(needles: impl Iterator<Item = Needle<'a>>) -> Keys {
        let chunks: HashMap<Key, Vec<usize>> =
            needles.filter_map(Key::of).map(|key| (key, Vec::new())).collect();
        let mut filter = vec![0; (chunks.len() / 2).next_power_of_two().max(64)];
        let mut skips: [Option<Skips>; MAX_KEY + 1] = Default::default();
        for key in chunks.keys() {
            let (word, bit) = place(filter.len(), key.hash());
            filter[word] |= bit;
            let n_bytes = usize::from(key.n_bytes);
            skips[n_bytes].get_or_insert_with(|| Skips::new(n_bytes, chunks.len())).add(*key);
        }
        Keys { chunks, filter, skips: skips.into_iter().flatten().collect() }
    }

    /// Returns the chunks that may contain a key, or `None` if it is not a key of the strings.
    pub fn chunks_with(&self, key: Key) -> Option<&[usize]> {
        self.chunks.get(&key).map(Vec::as_slice)
    }

    /// Adds the keys in a text to a chunk.
    pub fn register(&mut self, chunk: usize, text: &[u8]) {
        match line::has_crlf(text) {
            true => self.register_folded(chunk, &Folded::new(text).bytes),
            false => self.register_folded(chunk, text),
        }
    }

    fn register_folded(&mut self, chunk: usize, text: &[u8]) {
        let Keys { chunks, filter, skips } = self;
        for skips in skips {
            skips.for_each(text, |key| {
                let (word, bit) = place(filter.len(), key.hash());
                if filter[word] & bit != 0
                    && let Some(chunks) = chunks.get_mut(&key)
                    && chunks.last() != Some(&chunk)
                {
                    chunks.push(chunk);
                }
            });
        }
    }
}

/// Returns the word and the bit of a hash, in a set whose number of words is a power of two.
fn place(n_words: usize, hash: u64) -> (usize, u64) {
    ((hash >> 32) as usize & (n_words - 1), 1 << (hash >> 58))
}

/// How far to skip in a text without missing a key of one length (Wu and Manber's search): by the
/// distance of the last few bytes in the window from the end of the keys that contain them.
struct Skips {
    n_bytes: usize,
    /// The bytes of a key that a skip is computed from.
    n_block: usize,
    /// By the hash of such bytes.
    distances: Vec<u8>,
}

impl Skips {
    /// Prepares for about this many keys.
    fn new(n_bytes: usize, n_keys: usize) -> Skips {
        let n_block = n_bytes.min(3);
        let n_distances = (n_keys * 2 * MAX_KEY).next_power_of_two().clamp(1 << 10, 1 << 16);
        let farthest = (n_bytes - n_block + 1) as u8;
        Skips { n_bytes, n_block, distances: vec![farthest; n_distances] }
    }

    fn add(&mut self, key: Key) {
        for start in 0..=self.n_bytes - self.n_block {
            let slot = self.slot((key.bytes >> (8 * start)) as u32);
            let distance = (self.n_bytes - self.n_block - start) as u8;
            self.distances[slot] = self.distances[slot].min(distance);
        }
    }

    /// Returns the index for the first bytes of a little-endian number.
    fn slot(&self, bytes: u32) -> usize {
        let block = bytes << (8 * (4 - self.n_block));
        (block.wrapping_mul(0x9e37_79b1) >> 16) as usize & (self.distances.len() - 1)
    }

    /// Visits every key in a text, and other strings of that length.
    fn for_each(&self, text: &[u8], mut visit: impl FnMut(Key)) {
        let mut at = 0;
        // Loading all bytes and masking some is much faster than copying a few.
        let mask = u64::MAX >> (8 * (MAX_KEY - self.n_bytes));
        let n_before_block = self.n_bytes - self.n_block;
        while let Some(window) = text.get(at..).and_then(|rest| rest.first_chunk::<MAX_KEY>()) {
            let window = u64::from_le_bytes(*window);
            match self.distances[self.slot((window >> (8 * n_before_block)) as u32)] {
                0 => {
                    visit(Key { bytes: window & mask, n_bytes: self.n_bytes as u8 });
                    at += 1;
                }
                distance => at += usize::from(distance),
            }
        }
        let tail = text.get(at..).unwrap_or_default();
        tail.windows(self.n_bytes).for_each(|window| visit(Key::new(window)));
    }
}

#[cfg(test)]
mod tests {
    use memchr::memmem;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_key_is_missed(
            text in "[a-d]{0,80}",
            strings in proptest::collection::vec("[a-d]{1,12}", 1..30),
        ) {
            let needles = strings.iter().map(|string| Needle::from(string.as_str()));
            let mut keys = Keys::new(needles.clone());
            keys.register(7, text.as_bytes());
            for key in needles.filter_map(Key::of) {
                let bytes = &key.bytes.to_le_bytes()[..usize::from(key.n_bytes)];
                let is_there = memmem::find(text.as_bytes(), bytes).is_some();
                prop_assert_eq!(keys.chunks_with(key), Some(&[7][..usize::from(is_there)]));
            }
        }
    }
}
