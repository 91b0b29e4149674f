//! The directories that the threads of a walk have not read yet.

use std::sync::{Condvar, Mutex};

use crate::sync::{lock, wait};

/// Items that threads take, and add to while they work on one.
pub struct WalkQueue<T> {
    items: Mutex<Items<T>>,
    changed: Condvar,
}

struct Items<T> {
    waiting: Vec<T>,
    /// The number of items that are worked on, which may add more.
    n_busy: usize,
    /// The number of threads that wait for an item.
    n_idle: usize,
}

/// The work on an item, until it is dropped.
pub struct Busy<'a, T>(&'a WalkQueue<T>);

impl<T> Default for WalkQueue<T> {
    fn default() -> Self {
        let items = Items { waiting: Vec::new(), n_busy: 0, n_idle: 0 };
        WalkQueue { items: Mutex::new(items), changed: Condvar::new() }
    }
}

impl<T> WalkQueue<T> {
    /// Adds items.
    pub fn push(&self, mut added: Vec<T>) {
        if added.is_empty() {
            return;
        }
        let n_added = added.len();
        let mut items = lock(&self.items);
        items.waiting.append(&mut added);
        // Waking nobody is a system call too.
        let n_woken = n_added.min(items.n_idle);
        drop(items);
        match n_woken {
            0 => {}
            1 => self.changed.notify_one(),
            _ => self.changed.notify_all(),
        }
    }

    /// Takes the item that was added last. Waits while there is none but another thread may add one.
    pub fn take(&self) -> Option<(T, Busy<'_, T>)> {
        let mut items = lock(&self.items);
        loop {
            if let Some(item) = items.waiting.pop() {
                items.n_busy += 1;
                return Some((item, Busy(self)));
            }
            if items.n_busy == 0 {
                return None;
            }
            items.n_idle += 1;
            items = wait(&self.changed, items);
            items.n_idle -= 1;
        }
    }
}

impl<T> Drop for Busy<'_, T> {
    /// Runs also after a panic, so that no thread waits forever.
    fn drop(&mut self) {
        let mut items = lock(&self.0.items);
        items.n_busy -= 1;
        if items.n_busy == 0 && items.waiting.is_empty() {
            self.0.changed.notify_all();
        }
    }
}
