//! Texts that were seen lately, by their version, so that an answer can say what changed since.
//!
//! Bounded by size and number; what is forgotten only costs a longer answer.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use recto_store::sync::lock;
use recto_text::{Digest, Document};

/// The most bytes that are kept altogether, and of one text.
const MAX_BYTES: usize = 8 << 20;
const MAX_TEXT: usize = 1 << 20;

/// The most texts that are kept.
const MAX_TEXTS: usize = 512;

/// Texts by version.
#[derive(Default)]
pub struct Versions {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_digest: HashMap<Digest, Arc<Document>>,
    /// The one used last stands last.
    order: VecDeque<Digest>,
    n_bytes: usize,
}

impl Versions {
    /// Keeps a text for a while.
    pub fn remember(&self, digest: Digest, document: &Arc<Document>) {
        if size(document) > MAX_TEXT {
            return;
        }
        let mut known = lock(&self.known);
        known.touch(digest);
        if known.by_digest.insert(digest, document.clone()).is_none() {
            known.n_bytes += size(document);
        }
        while known.n_bytes > MAX_BYTES || known.order.len() > MAX_TEXTS {
            let Some(oldest) = known.order.pop_front() else { return };
            if let Some(document) = known.by_digest.remove(&oldest) {
                known.n_bytes -= size(&document);
            }
        }
    }

    /// The text of a version, if it is still known.
    pub fn get(&self, digest: Digest) -> Option<Arc<Document>> {
        let mut known = lock(&self.known);
        let document = known.by_digest.get(&digest).cloned()?;
        known.touch(digest);
        Some(document)
    }
}

impl Known {
    fn touch(&mut self, digest: Digest) {
        self.order.retain(|other| *other != digest);
        self.order.push_back(digest);
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

    fn document(text: &str) -> (Digest, Arc<Document>) {
        let document = Document::new(text).unwrap();
        (document.digest(), Arc::new(document))
    }

    #[test]
    fn the_least_used_are_forgotten_first() {
        let versions = Versions::default();
        let (first, text) = document("first");
        versions.remember(first, &text);
        let (second, text) = document("second");
        versions.remember(second, &text);
        for n in 0..MAX_TEXTS - 1 {
            assert!(versions.get(first).is_some(), "in use");
            let (digest, text) = document(&n.to_string());
            versions.remember(digest, &text);
        }
        assert!(versions.get(first).is_some());
        assert!(versions.get(second).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let versions = Versions::default();
        for n in 0..40 {
            let (digest, text) = document(&format!("{n}{}", "x".repeat(1 << 20)));
            versions.remember(digest, &text);
        }
        assert!(versions.known.lock().unwrap().n_bytes <= MAX_BYTES);
        let (digest, text) = document(&"x".repeat(MAX_TEXT + 1));
        versions.remember(digest, &text);
        assert!(versions.get(digest).is_none());
    }
}
