//! The version of each file that a session has last seen, so that a whole file is not overwritten by
//! a caller that knows an older one.
//!
//! The record is bounded. A file that was evicted counts as never seen.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use recto_store::lru::Lru;
use recto_store::sync::lock;
use recto_text::Digest;

use crate::limits;

/// The maximum bytes of all paths.
const MAX_BYTES: usize = 1 << 20;

/// The last version of each file that was returned to the session, or written by it.
#[derive(Default)]
pub struct Seen(Mutex<Lru<PathBuf, Digest, { limits::SEEN_FILES }, MAX_BYTES>>);

impl Seen {
    /// Records that the session got or wrote this version of a file.
    pub fn record(&self, path: &Path, digest: Digest) {
        let path = clean(path);
        let n_bytes = path.as_os_str().len();
        lock(&self.0).insert_weighing(path, digest, n_bytes);
    }

    /// Returns the last recorded version of a file, under any spelling of its path. `real` returns
    /// the path without links.
    pub fn last(&self, path: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> Option<Digest> {
        let path = clean(path);
        let real_path = real(&path);
        // Links are resolved here and not when a version is recorded, because calls that overwrite
        // without naming a version are rare. The lock is not kept while the disk is used.
        let mut recorded: Vec<(PathBuf, Digest)> =
            lock(&self.0).iter().map(|(path, digest)| (path.clone(), *digest)).collect();
        recorded.reverse();
        let is_same =
            |other: &Path| *other == *path || (real_path.is_some() && real(other) == real_path);
        recorded.into_iter().find(|(other, _)| is_same(other)).map(|(_, digest)| digest)
    }
}

/// Removes `.` components.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_version_is_found_under_any_spelling() {
        let seen = Seen::default();
        let (old, new) = (Digest::of(b"old"), Digest::of(b"new"));
        let real = |path: &Path| match path.to_str()? {
            "/p/link" => Some("/p/a".into()),
            "/p/gone" => None,
            path => Some(path.into()),
        };
        let last = |path: &str| seen.last(Path::new(path), real);
        assert_eq!(last("/p/a"), None);
        seen.record(Path::new("/p/a"), old);
        seen.record(Path::new("/p/./gone"), old);
        seen.record(Path::new("/p/b"), new);
        assert_eq!(
            (last("/p/a"), last("/p//link"), last("/p/gone")),
            (Some(old), Some(old), Some(old))
        );
        seen.record(Path::new("/p/link"), new);
        assert_eq!((last("/p/a"), last("/p/c")), (Some(new), None));
    }

    #[test]
    fn the_file_that_was_seen_first_is_forgotten_first() {
        let seen = Seen::default();
        let file = |n: usize| PathBuf::from(format!("/{n}"));
        for n in 0..=limits::SEEN_FILES {
            seen.record(&file(n), Digest::of(b""));
        }
        let is_known = |n| seen.last(&file(n), |_| None).is_some();
        assert_eq!((is_known(0), is_known(1)), (false, true));
    }
}
