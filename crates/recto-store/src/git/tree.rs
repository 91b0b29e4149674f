//! Looks up a path in a tree, and walks over all paths that match a pattern.

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gix_hash::ObjectId;
use gix_object::TreeRefIter;
use gix_object::tree::EntryKind;

use super::git_dir_access::{GitError, broken};
use super::objects::GitObject;
use crate::Listing;
use crate::context::Context;
use crate::glob::{Glob, GlobState};
use crate::limits;
use crate::local::list::memory::WalkMemory;

/// The bounds of one walk.
const MAX_ENTRIES: u64 = limits::GIT_WALK_ENTRIES;
const MAX_TIME: Duration = limits::GIT_WALK_TIME;

/// The most paths that are kept, whatever limit the caller gives.
const MAX_KEPT: usize = 200_000;

/// The longest path. A tree that contains itself would otherwise never end.
const MAX_PATH: usize = limits::GIT_PATH;

/// One entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEntry {
    /// The type.
    pub kind: EntryKind,
    /// The id of its object.
    pub id: ObjectId,
}

/// Looks up a path in a tree; an empty path is the tree itself. `find` looks up a name in one tree.
pub fn find<E>(
    top: ObjectId,
    parts: &[&[u8]],
    mut find: impl FnMut(&ObjectId, &[u8]) -> Result<Option<TreeEntry>, E>,
) -> Result<Option<TreeEntry>, E> {
    let mut at = TreeEntry { kind: EntryKind::Tree, id: top };
    for part in parts {
        if at.kind != EntryKind::Tree {
            return Ok(None);
        }
        match find(&at.id, part)? {
            Some(entry) => at = entry,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// A walk over everything below a tree.
pub struct TreeWalk<'a> {
    /// The pattern for paths.
    pub glob: &'a Glob,
    /// The most paths to keep.
    pub limit: usize,
    /// The call, whose memory the walk uses.
    pub context: &'a Context,
    /// The directory on disk that corresponds to the tree.
    pub folder: &'a Path,
    /// Whether a path on disk may be listed.
    pub is_visible: &'a dyn Fn(&Path) -> bool,
    /// Whether a directory on disk may contain such paths.
    pub may_contain_visible: &'a dyn Fn(&Path) -> bool,
}

/// A tree that was not read yet.
struct PendingTree {
    id: ObjectId,
    /// The path of the tree that contains it, which ends with a slash or is empty.
    parent: Arc<[u8]>,
    /// Its name; empty for the first tree.
    name: Vec<u8>,
    state: GlobState,
}

impl PendingTree {
    fn path(&self) -> Arc<[u8]> {
        match self.name.is_empty() {
            true => self.parent.clone(),
            false => [&self.parent[..], &self.name[..], b"/"].concat().into(),
        }
    }

    /// Returns about how many bytes it takes.
    fn n_bytes(&self) -> usize {
        size_of::<PendingTree>() + self.name.len() + self.state.n_bytes()
    }
}

impl TreeWalk<'_> {
    /// Lists the matching paths, until a bound is reached.
    pub fn run(
        &self,
        top: ObjectId,
        mut read_tree: impl FnMut(&ObjectId) -> Result<GitObject, GitError>,
    ) -> Result<Listing, GitError> {
        let started = Instant::now();
        let limit = self.limit.min(MAX_KEPT);
        let mut kept = BinaryHeap::new();
        let mut listing = Listing::default();
        let mut n_entries = 0;
        let memory = WalkMemory::new(self.context);
        let (parent, name, state) = (Arc::default(), Vec::new(), self.glob.start());
        let mut ahead = vec![PendingTree { id: top, parent, name, state }];
        memory.take(ahead[0].n_bytes());
        'walk: while let Some(folder) = ahead.pop() {
            memory.give_back(folder.n_bytes());
            let folder_path = folder.path();
            let tree = read_tree(&folder.id)?;
            let n_before = ahead.len();
            for entry in entries(&tree, folder.id.kind()) {
                let (name, entry) = entry?;
                n_entries += 1;
                listing.stopped = match () {
                    () if n_entries > MAX_ENTRIES => Some("2,000,000 entries"),
                    () if n_entries % 64 == 0 && started.elapsed() > MAX_TIME => Some("10 seconds"),
                    () if memory.is_used_up() => Some("all memory for calls was in use"),
                    () => None,
                };
                if listing.stopped.is_some() {
                    break 'walk;
                }
                let path = [&folder_path[..], name].concat();
                if path.len() > MAX_PATH {
                    return Err(broken("a path is longer than 4096 bytes"));
                }
                let name = OsStr::from_bytes(name);
                if entry.kind == EntryKind::Tree {
                    if let Some(state) = self.glob.enter(&folder.state, name)
                        && (self.may_contain_visible)(&self.folder.join(OsStr::from_bytes(&path)))
                    {
                        let (parent, name) = (folder_path.clone(), name.as_bytes().to_vec());
                        ahead.push(PendingTree { id: entry.id, parent, name, state });
                        memory.take(ahead[ahead.len() - 1].n_bytes());
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
                memory.take(kept_bytes(&path));
                kept.push(path);
                if kept.len() > limit
                    && let Some(last) = kept.pop()
                {
                    memory.give_back(kept_bytes(&last));
                }
            }
            // Walk in path order, so that a walk that stops early has listed the first paths.
            ahead[n_before..].reverse();
        }
        listing.files = kept.into_sorted_vec();
        Ok(listing)
    }
}

/// Returns about how many bytes a path takes that is kept.
fn kept_bytes(path: &String) -> usize {
    size_of_val(path) + path.len()
}

/// Iterates over the entries of a tree. Fails at a name that would lead outside the tree.
pub fn entries(
    tree: &GitObject,
    hash: gix_hash::Kind,
) -> impl Iterator<Item = Result<(&[u8], TreeEntry), GitError>> {
    TreeRefIter::from_bytes(&tree.bytes, hash).map(|entry| {
        let entry = entry.map_err(|_| broken("a tree is damaged"))?;
        let name: &[u8] = entry.filename;
        let is_known =
            matches!(entry.mode.value() & 0o170_000, 0o040_000 | 0o100_000 | 0o120_000 | 0o160_000);
        if !is_known || name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') {
            return Err(broken("a tree has an entry with an invalid name or mode"));
        }
        Ok((name, TreeEntry { kind: entry.mode.kind(), id: entry.oid.to_owned() }))
    })
}
