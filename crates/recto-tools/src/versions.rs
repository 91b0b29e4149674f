//! The versions that were returned to callers, and recently read or written texts, so that an answer
//! can list the changes since a version.
//!
//! A caller names a version by its tag, and two contents with the same tag can be constructed. The
//! process therefore remembers which content it returned under a tag. Everything here is bounded: a
//! forgotten tag is compared alone, and a forgotten text only makes an answer longer.

use std::sync::{Arc, Mutex};

use recto_store::lru::Lru;
use recto_store::sync::lock;
use recto_text::{Digest, Document, Tag};

use crate::limits;

/// The maximum bytes of all texts, and of one text.
const MAX_BYTES: usize = 8 << 20;
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The maximum number of texts.
const MAX_TEXTS: usize = 512;

/// The versions that this process knows.
#[derive(Default)]
pub struct Versions {
    returned: Mutex<Lru<Tag, Returned, { limits::RETURNED_VERSIONS }>>,
    texts: Mutex<Lru<Digest, Arc<Document>, MAX_TEXTS, MAX_BYTES>>,
}

/// What was returned under a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returned {
    /// One content.
    One(Digest),
    /// Several contents, so the tag alone does not say which one a caller has seen.
    Several,
}

impl Versions {
    /// Records that a version was returned to a caller.
    pub fn record(&self, digest: Digest) {
        let mut returned = lock(&self.returned);
        let now = Returned::One(digest);
        match returned.get(&digest.tag()) {
            Some(known) if *known != now => *known = Returned::Several,
            Some(_) => {}
            None => drop(returned.insert(digest.tag(), now)),
        }
    }

    /// Returns what was returned under a tag, if it is still known.
    pub fn returned(&self, tag: Tag) -> Option<Returned> {
        lock(&self.returned).get(&tag).copied()
    }

    /// Remembers a text, unless it is large.
    pub fn remember(&self, digest: Digest, document: &Arc<Document>) {
        let n_bytes = size(document);
        if n_bytes <= MAX_TEXT_BYTES {
            lock(&self.texts).insert_weighing(digest, document.clone(), n_bytes);
        }
    }

    /// Returns the text that was returned under a tag, if it is still remembered.
    pub fn get(&self, tag: Tag) -> Option<Arc<Document>> {
        match self.returned(tag)? {
            Returned::One(digest) => lock(&self.texts).get(&digest).cloned(),
            Returned::Several => None,
        }
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
            let digest = document.digest();
            versions.remember(digest, &document);
            versions.record(digest);
            assert_eq!(versions.get(digest.tag()).is_some(), is_kept, "{n_bytes}");
        }
    }

    #[test]
    fn the_version_that_was_returned_first_is_forgotten_first() {
        let versions = Versions::default();
        let digest = |n: usize| Digest::of(&n.to_le_bytes());
        for n in 0..=limits::RETURNED_VERSIONS {
            versions.record(digest(n));
        }
        assert_eq!(versions.returned(digest(0).tag()), None);
        assert_eq!(versions.returned(digest(1).tag()), Some(Returned::One(digest(1))));
    }
}
