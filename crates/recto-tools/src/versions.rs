//! Texts that were seen lately, by their version, so that an answer can say what changed since.
//!
//! Bounded by size and number; what is forgotten only costs a longer answer.

use std::sync::{Arc, Mutex};

use recto_store::lru::Lru;
use recto_store::sync::lock;
use recto_text::{Digest, Document};

/// The most bytes that are kept altogether, and of one text.
const MAX_BYTES: usize = 8 << 20;
const MAX_TEXT: usize = 1 << 20;

/// The most texts that are kept.
const MAX_TEXTS: usize = 512;

/// Texts by version.
#[derive(Default)]
pub struct Versions(Mutex<Lru<Digest, Arc<Document>, MAX_TEXTS, MAX_BYTES>>);

impl Versions {
    /// Keeps a text for a while.
    pub fn remember(&self, digest: Digest, document: &Arc<Document>) {
        let n_bytes = size(document);
        if n_bytes <= MAX_TEXT {
            lock(&self.0).insert_weighing(digest, document.clone(), n_bytes);
        }
    }

    /// The text of a version, if it is still known.
    pub fn get(&self, digest: Digest) -> Option<Arc<Document>> {
        lock(&self.0).get(&digest).cloned()
    }
}

/// What a text takes in memory: as it is stored and, in another encoding, as it is read.
fn size(document: &Document) -> usize {
    document.bytes().len().max(document.text().len()) + 64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_large_text_is_not_kept() {
        let versions = Versions::default();
        for (n_bytes, is_kept) in [(MAX_TEXT - 64, true), (MAX_TEXT - 63, false)] {
            let document = Arc::new(Document::new(&"x".repeat(n_bytes)).unwrap());
            versions.remember(document.digest(), &document);
            assert_eq!(versions.get(document.digest()).is_some(), is_kept, "{n_bytes}");
        }
    }
}
