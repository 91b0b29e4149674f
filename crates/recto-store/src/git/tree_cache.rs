//! Caches trees during a call, so that a search does not read a directory's tree for every file.

use std::collections::HashMap;
use std::sync::Mutex;

use gix_hash::ObjectId;

use super::git_dir_access::GitError;
use super::objects::GitObject;
use super::tree::{TreeEntry, entries};
use crate::lru::Lru;
use crate::sync::lock;

/// The most bytes of trees whose entries are cached.
const MAX_TREE_BYTES: usize = 32 << 20;

/// The trees of a revision that were read before.
#[derive(Default)]
pub struct TreeCache(Mutex<Lru<ObjectId, CachedTree, { usize::MAX }, MAX_TREE_BYTES>>);

/// What is cached of a tree.
enum CachedTree {
    /// Nothing: one name was looked up. Most trees are not needed again.
    LookedUpOnce,
    /// Its entries by name.
    Entries(HashMap<Vec<u8>, TreeEntry>),
}

impl TreeCache {
    /// Returns the entry of a tree with a name.
    pub fn find(
        &self,
        id: &ObjectId,
        name: &[u8],
        read_tree: impl FnOnce(&ObjectId) -> Result<GitObject, GitError>,
    ) -> Result<Option<TreeEntry>, GitError> {
        let is_known = match lock(&self.0).get(id) {
            Some(CachedTree::Entries(entries)) => return Ok(entries.get(name).copied()),
            Some(CachedTree::LookedUpOnce) => true,
            None => false,
        };
        let tree = read_tree(id)?;
        if !is_known {
            lock(&self.0).insert_weighing(
                *id,
                CachedTree::LookedUpOnce,
                size_of::<(ObjectId, CachedTree)>(),
            );
            return scan(&tree, id, name);
        }
        let mut by_name = HashMap::new();
        for entry in entries(&tree, id.kind()) {
            // Entries before the damage can still be found.
            let Ok((name, entry)) = entry else { return scan(&tree, id, name) };
            by_name.entry(name.to_vec()).or_insert(entry);
        }
        let found = by_name.get(name).copied();
        lock(&self.0).insert_weighing(*id, CachedTree::Entries(by_name), tree.bytes.len());
        Ok(found)
    }
}

fn scan(tree: &GitObject, id: &ObjectId, name: &[u8]) -> Result<Option<TreeEntry>, GitError> {
    for entry in entries(tree, id.kind()) {
        let (other, entry) = entry?;
        if other == name {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}
