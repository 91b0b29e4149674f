//! Trees that were looked into during a call, so that a search through many files of one folder does
//! not read its tree for each of them.

use std::collections::HashMap;
use std::sync::Mutex;

use gix_hash::ObjectId;

use super::git_dir_access::RepositoryError;
use super::objects::Object;
use super::tree::{TreeEntry, entries};
use crate::lru::Lru;
use crate::sync::lock;

/// The most bytes of trees whose entries are kept.
const MAX_TREE_BYTES: usize = 32 << 20;

/// What is known of the trees of a revision.
#[derive(Default)]
pub struct TreeCache(Mutex<Lru<ObjectId, CachedTree, { usize::MAX }, MAX_TREE_BYTES>>);

/// How well a tree is known.
enum CachedTree {
    /// One name was looked up in it. Most trees are needed no more.
    LookedUpOnce,
    /// Its entries by their names.
    Entries(HashMap<Vec<u8>, TreeEntry>),
}

impl TreeCache {
    /// What a tree says about a name.
    pub fn find(
        &self,
        id: &ObjectId,
        name: &[u8],
        read_tree: impl FnOnce(&ObjectId) -> Result<Object, RepositoryError>,
    ) -> Result<Option<TreeEntry>, RepositoryError> {
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
            // Of a damaged tree what comes before the damage can still be found.
            let Ok((name, entry)) = entry else { return scan(&tree, id, name) };
            by_name.entry(name.to_vec()).or_insert(entry);
        }
        let found = by_name.get(name).copied();
        lock(&self.0).insert_weighing(*id, CachedTree::Entries(by_name), tree.bytes.len());
        Ok(found)
    }
}

fn scan(tree: &Object, id: &ObjectId, name: &[u8]) -> Result<Option<TreeEntry>, RepositoryError> {
    for entry in entries(tree, id.kind()) {
        let (other, entry) = entry?;
        if other == name {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}
