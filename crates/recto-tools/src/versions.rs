//! Recently read or written texts by version, so that an answer can list the changes since then.
//!
//! The cache is bounded by size and number of texts. A miss only makes an answer longer.

use std::sync::{Arc, Mutex};

use recto_store::lru::Lru;
use recto_store::sync::lock;
use recto_text::{Digest, Document};

/// The maximum bytes of all texts, and of one text.
const MAX_BYTES: usize = 8 << 20;
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The maximum number of texts.
const MAX_TEXTS: usize = 512;

/// A cache of texts by version.
#[derive(Default)]
pub struct Versions(Mutex<Lru<Digest, Arc<Document>, MAX_TEXTS, MAX_BYTES>>);

impl Versions {
    /// Remembers a text, unless it is large.
    pub fn remember(&self, digest: Digest, document: &Arc<Document>) {
        let n_bytes = size(document);
        if n_bytes <= MAX_TEXT_BYTES {
            lock(&self.0).insert_weighing(digest, document.clone(), n_bytes);
        }
    }

    /// Returns the text of a version, if it is still remembered.
    pub fn get(&self, digest: Digest) -> Option<Arc<Document>> {
        lock(&self.0).get(&digest).cloned()
    }
}

/// Returns the approximate memory use of a text: the larger of its stored and decoded form.
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
        for (n_bytes, is_kept) in [(MAX_TEXT_BYTES - 64, true), (MAX_TEXT_BYTES - 63, false)] {
            let document = Arc::new(Document::new(&"x".repeat(n_bytes)).unwrap());
            versions.remember(document.digest(), &document);
            assert_eq!(versions.get(document.digest()).is_some(), is_kept, "{n_bytes}");
        }
    }
}
