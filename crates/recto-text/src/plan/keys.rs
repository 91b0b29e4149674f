//! An index of the chunks of a text that contain a few bytes of a string.

use std::collections::HashMap;

use memchr::memmem;

use crate::find::{Folded, Needle};

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
    /// The lengths of the keys.
    lengths: Vec<usize>,
}

impl Keys {
    /// Collects the keys of strings.
    pub fn new<'a>(needles: impl Iterator<Item = Needle<'a>>) -> Keys {
        let chunks: HashMap<Key, Vec<usize>> =
            needles.filter_map(Key::of).map(|key| (key, Vec::new())).collect();
        let n_words = (chunks.len() / 2).next_power_of_two().max(64);
        let mut keys = Keys { chunks, filter: vec![0; n_words], lengths: Vec::new() };
        for key in keys.chunks.keys() {
            let (word, bit) = place(n_words, key.hash());
            keys.filter[word] |= bit;
            keys.lengths.push(usize::from(key.n_bytes));
        }
        keys.lengths.sort_unstable();
        keys.lengths.dedup();
        keys
    }

    /// Returns the chunks that may contain a key, or `None` if it is not a key of the strings.
    pub fn chunks_with(&self, key: Key) -> Option<&[usize]> {
        self.chunks.get(&key).map(Vec::as_slice)
    }

    /// Adds the keys in a text to a chunk.
    pub fn register(&mut self, chunk: usize, text: &[u8]) {
        match memmem::find(text, b"\r\n") {
            Some(_) => self.register_folded(chunk, &Folded::new(text).bytes),
            None => self.register_folded(chunk, text),
        }
    }

    fn register_folded(&mut self, chunk: usize, text: &[u8]) {
        let n_words = self.filter.len();
        let mut visit = |key: Key| {
            let (word, bit) = place(n_words, key.hash());
            if self.filter[word] & bit != 0
                && let Some(chunks) = self.chunks.get_mut(&key)
                && chunks.last() != Some(&chunk)
            {
                chunks.push(chunk);
            }
        };
        for &n_bytes in &self.lengths {
            // Loading all bytes and masking some is much faster than copying a few.
            let mask = u64::MAX >> (8 * (MAX_KEY - n_bytes));
            for window in text.array_windows::<MAX_KEY>() {
                let bytes = u64::from_le_bytes(*window) & mask;
                visit(Key { bytes, n_bytes: n_bytes as u8 });
            }
            let tail = &text[text.len().saturating_sub(MAX_KEY - 1)..];
            tail.windows(n_bytes).for_each(|window| visit(Key::new(window)));
        }
    }
}

/// Returns the word and the bit of a hash.
fn place(n_words: usize, hash: u64) -> (usize, u64) {
    ((hash >> 32) as usize % n_words, 1 << (hash >> 58))
}
