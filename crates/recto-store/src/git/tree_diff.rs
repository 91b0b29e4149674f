//! The entries that differ between two trees.

use std::cmp::Ordering;
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;

use super::git_dir_access::broken;
use super::history::{History, Stop};
use super::objects::GitObject;
use super::tree::{TreeEntry, entries};
use crate::limits;

/// How much memory a comparison reserves at a time.
const STEP: usize = 1 << 20;

/// A file, link or submodule that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryChange {
    /// The path, from the top.
    pub path: Vec<u8>,
    /// The entry in the old tree.
    pub before: Option<TreeEntry>,
    /// The entry in the new tree.
    pub after: Option<TreeEntry>,
}

impl History {
    /// Returns what differs below a path between two trees, sorted by path. Leaves out paths that the
    /// caller may not see. `None` is an empty tree.
    pub fn changed_entries(
        &self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        below: &[u8],
    ) -> Result<Vec<EntryChange>, Stop> {
        let entry = |top: Option<ObjectId>| match top {
            Some(top) => self.entry(top, below),
            None => Ok(None),
        };
        let mut comparison = Comparison {
            history: self,
            is_visible: &self.visible(),
            changes: Vec::new(),
            n_entries: 0,
            n_bytes: 0,
        };
        comparison.pair(below.to_vec(), entry(before)?, entry(after)?)?;
        let mut changes = comparison.changes;
        // A directory sorts as if its name ended with a slash.
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(changes)
    }
}

struct Comparison<'a> {
    history: &'a History,
    is_visible: &'a dyn Fn(&[u8]) -> bool,
    changes: Vec<EntryChange>,
    n_entries: u64,
    /// The memory of the changes and of the trees that are being compared.
    n_bytes: usize,
}

impl Comparison<'_> {
    /// Compares what two trees have at one path.
    fn pair(
        &mut self,
        path: Vec<u8>,
        before: Option<TreeEntry>,
        after: Option<TreeEntry>,
    ) -> Result<(), Stop> {
        let is_tree = |entry: &TreeEntry| entry.kind == EntryKind::Tree;
        let [tree_before, tree_after] = [before.filter(is_tree), after.filter(is_tree)];
        let [file_before, file_after] =
            [before, after].map(|entry| entry.filter(|entry| !is_tree(entry)));
        if file_before != file_after && (self.is_visible)(&path) {
            let path = path.clone();
            // The answer has another copy of the path.
            self.take(2 * (size_of::<EntryChange>() + path.len()))?;
            self.changes.push(EntryChange { path, before: file_before, after: file_after });
        }
        if tree_before != tree_after {
            self.trees(path, tree_before.map(|it| it.id), tree_after.map(|it| it.id))?;
        }
        Ok(())
    }

    /// Reads and compares two trees.
    fn trees(
        &mut self,
        path: Vec<u8>,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
    ) -> Result<(), Stop> {
        if path.len() > limits::GIT_PATH {
            return Err(broken("a path is longer than 4096 bytes").into());
        }
        let trees = [self.read(before)?, self.read(after)?];
        let n_bytes = trees.iter().flatten().map(|tree| tree.bytes.len()).sum::<usize>();
        self.take(n_bytes)?;
        self.entries(&path, &trees)?;
        self.n_bytes -= n_bytes;
        Ok(())
    }

    /// Counts memory, and fails if other calls use all that is left.
    fn take(&mut self, n_bytes: usize) -> Result<(), Stop> {
        self.n_bytes += n_bytes;
        match self.history.context.try_keep_memory(self.n_bytes.next_multiple_of(STEP)) {
            true => Ok(()),
            false => Err(Stop::Time),
        }
    }

    /// Compares the entries of two trees, which are sorted.
    fn entries(
        &mut self,
        path: &[u8],
        [before, after]: &[Option<Arc<GitObject>>; 2],
    ) -> Result<(), Stop> {
        let hash = self.history.repository.hash;
        let mut ahead = before.iter().flat_map(|tree| entries(tree, hash)).peekable();
        let mut ahead_after = after.iter().flat_map(|tree| entries(tree, hash)).peekable();
        loop {
            self.n_entries += 1;
            if self.n_entries > limits::GIT_WALK_ENTRIES {
                return Err(Stop::Time);
            }
            let order = match (ahead.peek(), ahead_after.peek()) {
                (None, None) => return Ok(()),
                (Some(Ok(one)), Some(Ok(other))) => compare(one, other),
                (Some(_), None) | (Some(Err(_)), _) => Ordering::Less,
                (None, Some(_)) | (_, Some(Err(_))) => Ordering::Greater,
            };
            let one = if order.is_le() { ahead.next().transpose()? } else { None };
            let other = if order.is_ge() { ahead_after.next().transpose()? } else { None };
            let (one_entry, other_entry) = (one.map(|it| it.1), other.map(|it| it.1));
            if one_entry == other_entry {
                continue;
            }
            if let Some((name, _)) = one.or(other) {
                let slash = if path.is_empty() { &b""[..] } else { b"/" };
                self.pair([path, slash, name].concat(), one_entry, other_entry)?;
            }
        }
    }

    fn read(&self, id: Option<ObjectId>) -> Result<Option<Arc<GitObject>>, Stop> {
        id.map(|id| self.history.tree(&id)).transpose()
    }
}

/// Compares entries in the order of a tree. A file and a directory with the same name differ.
fn compare(
    (one, one_entry): &(&[u8], TreeEntry),
    (other, other_entry): &(&[u8], TreeEntry),
) -> Ordering {
    let n_common = one.len().min(other.len());
    let end = |name: &[u8], entry: &TreeEntry| match name.get(n_common) {
        Some(byte) => *byte,
        None if entry.kind == EntryKind::Tree => b'/',
        None => 0,
    };
    let by_name = one[..n_common].cmp(&other[..n_common]);
    by_name
        .then_with(|| end(one, one_entry).cmp(&end(other, other_entry)))
        .then_with(|| one.len().cmp(&other.len()))
}
