//! A map of bounded size that evicts the entry used least recently.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map of at most `MAX_ENTRIES` entries with a total weight of at most `MAX_WEIGHT`. The entry
/// inserted last is never evicted, whatever its weight.
pub struct Lru<K, V, const MAX_ENTRIES: usize, const MAX_WEIGHT: usize = { usize::MAX }> {
    entries: HashMap<K, LruEntry<V>>,
    /// The keys by the time of their last use.
    by_use: BTreeMap<u64, K>,
    /// Counts uses.
    clock: u64,
    weight: usize,
}

struct LruEntry<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K, V, const N: usize, const W: usize> Default for Lru<K, V, N, W> {
    fn default() -> Self {
        Lru { entries: HashMap::new(), by_use: BTreeMap::new(), clock: 0, weight: 0 }
    }
}

impl<K: Clone + Eq + Hash, V, const N: usize, const W: usize> Lru<K, V, N, W> {
    /// Returns a value and marks it as used.
    pub fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let entry = self.entries.get_mut(key)?;
        let key = self.by_use.remove(&entry.used)?;
        self.clock += 1;
        entry.used = self.clock;
        self.by_use.insert(entry.used, key);
        Some(&mut entry.value)
    }

    /// Returns a value without marking it as used.
    pub fn peek<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// Returns a mutable value without marking it as used.
    pub fn peek_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Inserts or replaces an entry without weight, and returns the evicted entries.
    pub fn insert(&mut self, key: K, value: V) -> Vec<(K, V)> {
        self.insert_weighing(key, value, 0)
    }

    /// Inserts or replaces an entry, and returns the evicted entries.
    pub fn insert_weighing(&mut self, key: K, value: V, weight: usize) -> Vec<(K, V)> {
        self.remove(&key);
        self.clock += 1;
        self.weight += weight;
        self.by_use.insert(self.clock, key.clone());
        self.entries.insert(key, LruEntry { value, weight, used: self.clock });
        let mut evicted = Vec::new();
        while self.len() > 1
            && (self.len() > N || self.weight > W)
            && let Some(oldest) = self.by_use.first_entry().map(|oldest| oldest.get().clone())
            && let Some(value) = self.remove(&oldest)
        {
            evicted.push((oldest, value));
        }
        evicted
    }

    /// Removes an entry.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entry = self.entries.remove(key)?;
        self.by_use.remove(&entry.used);
        self.weight -= entry.weight;
        Some(entry.value)
    }

    /// Iterates over the entries, least recently used first.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.by_use.values().filter_map(|key| Some((key, self.peek(key)?)))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests;
