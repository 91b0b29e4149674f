//! The matches of a walk.

use crate::Listing;

/// The matches that one thread found.
#[derive(Default)]
pub struct ThreadMatches {
    /// Relative to the start of the walk.
    pub files: Vec<String>,
    pub total: u64,
    pub n_unnamable: u64,
    pub n_unreadable: u64,
    pub n_hidden: u64,
    pub n_ignored: u64,
}

impl ThreadMatches {
    /// Counts a match, and keeps it if it may be among the first `limit`.
    pub fn add(&mut self, path: &[u8], limit: usize) {
        let Ok(path) = std::str::from_utf8(path) else {
            self.n_unnamable += 1;
            return;
        };
        self.total += 1;
        self.files.push(path.into());
        if limit == 0 {
            self.files.clear();
        } else if self.files.len() >= 2 * limit + 1024 {
            self.files.select_nth_unstable(limit - 1);
            self.files.truncate(limit);
        }
    }
}

/// Returns what all threads found.
pub fn merged(found: Vec<ThreadMatches>) -> Listing {
    let mut listing = Listing::default();
    for part in found {
        listing.files.extend(part.files);
        listing.total += part.total;
        listing.n_unnamable += part.n_unnamable;
        listing.n_unreadable += part.n_unreadable;
        listing.n_hidden += part.n_hidden;
        listing.n_ignored += part.n_ignored;
    }
    // The stable sort merges the sorted files of several threads.
    listing.files.sort();
    listing
}
