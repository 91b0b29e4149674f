//! The memory that a walk uses for directories that it has not read and for matches.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::context::Context;
use crate::memory_budget::FREE;

/// How much memory a walk reserves at a time.
pub const STEP: usize = 4 << 20;

/// The memory of one walk, which its threads share.
pub struct WalkMemory<'a> {
    context: &'a Context,
    n_used: AtomicUsize,
    n_reserved: AtomicUsize,
    is_used_up: AtomicBool,
}

impl<'a> WalkMemory<'a> {
    /// Starts with the memory that is free.
    pub fn new(context: &'a Context) -> WalkMemory<'a> {
        let (n_used, n_reserved) = (AtomicUsize::new(0), AtomicUsize::new(FREE));
        WalkMemory { context, n_used, n_reserved, is_used_up: AtomicBool::new(false) }
    }

    /// Counts memory, and reserves more if necessary.
    pub fn take(&self, n_bytes: usize) {
        let n_used = self.n_used.fetch_add(n_bytes, Ordering::Relaxed) + n_bytes;
        if n_used <= self.n_reserved.load(Ordering::Relaxed) {
            return;
        }
        match self.context.try_keep_more_memory(STEP) {
            true => drop(self.n_reserved.fetch_add(STEP, Ordering::Relaxed)),
            false => self.is_used_up.store(true, Ordering::Relaxed),
        }
    }

    /// Counts memory that is not used any more.
    pub fn give_back(&self, n_bytes: usize) {
        self.n_used.fetch_sub(n_bytes, Ordering::Relaxed);
    }

    /// Returns whether memory was needed that other calls use.
    pub fn is_used_up(&self) -> bool {
        self.is_used_up.load(Ordering::Relaxed)
    }
}
