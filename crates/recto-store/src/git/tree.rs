//! Trees: finding one path, and walking over all that match a pattern.

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use gix_hash::ObjectId;
use gix_object::TreeRefIter;
use gix_object::tree::EntryKind;

use super::git_dir_access::{RepositoryError, broken};
use super::objects::Object;
use crate::Listing;
use crate::glob::{Glob, GlobState};
use crate::limits;

/// What one walk may cost.
const MAX_ENTRIES: u64 = limits::GIT_WALK_ENTRIES;
const MAX_TIME: Duration = limits::GIT_WALK_TIME;

/// The most paths that are kept, whatever the caller wants.
const MAX_KEPT: usize = 200_000;

/// No path on a disk is longer; a tree that holds itself would go on for ever.
const MAX_PATH: usize = limits::GIT_PATH;

/// What a tree says about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEntry {
    /// What stands there.
    pub kind: EntryKind,
    /// Where its content is.
    pub id: ObjectId,
}

/// Follows a path down from a tree; no parts are the tree itself. `look` finds a name in a tree.
pub fn find(
    top: ObjectId,
    parts: &[&[u8]],
    mut look: impl FnMut(&ObjectId, &[u8]) -> Result<Option<TreeEntry>, RepositoryError>,
) -> Result<Option<TreeEntry>, RepositoryError> {
    let mut at = TreeEntry { kind: EntryKind::Tree, id: top };
    for part in parts {
        if at.kind != EntryKind::Tree {
            return Ok(None);
        }
        match look(&at.id, part)? {
            Some(entry) => at = entry,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// A walk over everything beneath a tree.
pub struct TreeWalk<'a> {
    /// What paths must look like.
    pub glob: &'a Glob,
    /// At most this many are kept.
    pub limit: usize,
    /// The folder on disk that the tree would stand in.
    pub folder: &'a Path,
    /// Whether a path on disk may be told.
    pub is_visible: &'a dyn Fn(&Path) -> bool,
    /// Whether that may be so for anything in a folder on disk.
    pub may_hold_visible: &'a dyn Fn(&Path) -> bool,
}

/// A tree that is still to be read: its path with a slash at the end, or nothing for the first.
struct PendingTree {
    id: ObjectId,
    path: Vec<u8>,
    state: GlobState,
}

impl TreeWalk<'_> {
    /// Lists what matches, as far as the budget goes.
    pub fn run(
        &self,
        top: ObjectId,
        mut read_tree: impl FnMut(&ObjectId) -> Result<Object, RepositoryError>,
    ) -> Result<Listing, RepositoryError> {
        let started = Instant::now();
        let limit = self.limit.min(MAX_KEPT);
        let mut kept = BinaryHeap::new();
        let mut listing = Listing::default();
        let mut n_entries = 0;
        let mut ahead = vec![PendingTree { id: top, path: Vec::new(), state: self.glob.start() }];
        'walk: while let Some(folder) = ahead.pop() {
            let tree = read_tree(&folder.id)?;
            let n_before = ahead.len();
            for entry in entries(&tree, folder.id.kind()) {
                let (name, entry) = entry?;
                n_entries += 1;
                listing.stopped = match () {
                    () if n_entries > MAX_ENTRIES => Some("2,000,000 entries were looked at"),
                    () if n_entries % 64 == 0 && started.elapsed() > MAX_TIME => {
                        Some("10 seconds had passed")
                    }
                    () => None,
                };
                if listing.stopped.is_some() {
                    break 'walk;
                }
                let path = [&folder.path[..], name].concat();
                if path.len() > MAX_PATH {
                    return Err(broken("a path in it is longer than 4096 bytes"));
                }
                let name = OsStr::from_bytes(name);
                if entry.kind == EntryKind::Tree {
                    if let Some(state) = self.glob.enter(&folder.state, name)
                        && (self.may_hold_visible)(&self.folder.join(OsStr::from_bytes(&path)))
                    {
                        ahead.push(PendingTree {
                            id: entry.id,
                            path: [&path[..], b"/"].concat(),
                            state,
                        });
                    }
                    continue;
                }
                if !self.glob.is_match(&folder.state, name)
                    || !(self.is_visible)(&self.folder.join(OsStr::from_bytes(&path)))
                {
                    continue;
                }
                let Ok(path) = String::from_utf8(path) else {
                    listing.n_unnamable += 1;
                    continue;
                };
                listing.total += 1;
                kept.push(path);
                if kept.len() > limit {
                    kept.pop();
                }
            }
            // The first folder comes first, so that a walk that stops has seen the first paths.
            ahead[n_before..].reverse();
        }
        listing.files = kept.into_sorted_vec();
        Ok(listing)
    }
}

/// The entries of a tree. One with a name that leads elsewhere makes the tree unreadable.
pub fn entries(
    tree: &Object,
    hash: gix_hash::Kind,
) -> impl Iterator<Item = Result<(&[u8], TreeEntry), RepositoryError>> {
    TreeRefIter::from_bytes(&tree.bytes, hash).map(|entry| {
        let entry = entry.map_err(|_| broken("a tree in it is damaged"))?;
        let name: &[u8] = entry.filename;
        let is_known =
            matches!(entry.mode.value() & 0o170_000, 0o040_000 | 0o100_000 | 0o120_000 | 0o160_000);
        if !is_known || name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
            return Err(broken("a tree in it has an entry that no file can have"));
        }
        Ok((name, TreeEntry { kind: entry.mode.kind(), id: entry.oid.to_owned() }))
    })
}
