//! Tests of `lru`.

use super::*;

fn keys<const N: usize, const W: usize>(map: &Lru<u32, &str, N, W>) -> Vec<u32> {
    assert_eq!(map.weight, map.entries.values().map(|entry| entry.weight).sum::<usize>());
    assert_eq!(map.len(), map.by_use.len());
    map.iter().map(|(key, _)| *key).collect()
}

#[test]
fn the_entry_used_least_recently_is_evicted() {
    let mut map = Lru::<u32, &str, 3>::default();
    for (key, value) in [(1, "a"), (2, "b"), (3, "c")] {
        assert_eq!(map.insert(key, value), []);
    }
    assert_eq!(map.get(&1), Some(&mut "a"));
    assert_eq!(map.peek(&2), Some(&"b"), "which is not a use");
    assert_eq!(map.insert(4, "d"), [(2, "b")]);
    assert_eq!(keys(&map), [3, 1, 4]);
    assert_eq!(map.get(&2), None);
}

#[test]
fn replacing_an_entry_is_a_use() {
    let mut map = Lru::<u32, &str, 2>::default();
    map.insert(1, "a");
    map.insert(2, "b");
    assert_eq!(map.insert(1, "c"), []);
    assert_eq!(map.insert(3, "d"), [(2, "b")]);
    assert_eq!(map.peek(&1), Some(&"c"));
}

#[test]
fn weight_is_bounded() {
    let mut map = Lru::<u32, &str, 100, 10>::default();
    map.insert_weighing(1, "a", 4);
    map.insert_weighing(2, "b", 4);
    assert_eq!(map.insert_weighing(2, "b", 6), [], "the weight is replaced too");
    assert_eq!(map.insert_weighing(3, "c", 5), [(1, "a"), (2, "b")]);
    assert_eq!(map.remove(&3), Some("c"));
    assert_eq!(map.remove(&3), None);
    assert!(map.is_empty());
    assert_eq!(map.insert_weighing(4, "d", 10), []);
    assert_eq!(map.insert_weighing(5, "e", 11), [(4, "d")], "the last one stays");
    assert_eq!(keys(&map), [5]);
}
