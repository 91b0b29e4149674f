//! The memory that one process uses for its calls: files, tables and listings.
//!
//! A call reserves memory before it uses it, and returns it when it ends. Small amounts are free, so
//! that a small read never waits. Calls that need more wait in order of arrival.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::time::{Duration, Instant};

use crate::context::Context;
use crate::error::{Error, Result, SizeLimit};
use crate::limits;
use crate::path::AbsPath;
use crate::sync::{lock, wait_timeout};

/// Less is not counted.
pub const FREE: usize = 1 << 20;

/// How often a waiting call checks whether it was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The budget of this process.
static PROCESS: LazyLock<Arc<MemoryBudget>> =
    LazyLock::new(|| Arc::new(MemoryBudget::new(limits::MEMORY, limits::MEMORY_WAIT)));

/// A number of bytes that calls share.
#[derive(Debug)]
pub struct MemoryBudget {
    n_bytes: usize,
    max_wait: Duration,
    uses: Mutex<Uses>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Uses {
    n_used: usize,
    /// The reservations that wait, in order of arrival.
    queue: VecDeque<u64>,
    n_queued: u64,
}

/// Memory that a call may use until this is dropped.
#[derive(Debug, Default)]
pub struct Reservation {
    budget: Option<Arc<MemoryBudget>>,
    n_bytes: usize,
}

/// The memory of one call, which it keeps until it ends.
#[derive(Debug, Clone)]
pub struct CallMemory {
    budget: Arc<MemoryBudget>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    memory: Reservation,
    /// The part of it for what a change adds.
    n_added: usize,
    /// How much a change lacked, together with that part.
    n_lacking: Option<usize>,
}

impl Kept {
    /// Returns how much is kept, apart from what a change adds.
    fn n_bytes(&self) -> usize {
        self.memory.n_bytes - self.n_added
    }
}

/// Why memory is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// It is more than the budget.
    TooMuch,
    /// Other calls used it for too long.
    Busy,
    /// The call was cancelled while it waited.
    Cancelled,
}

impl Default for CallMemory {
    fn default() -> CallMemory {
        PROCESS.for_call()
    }
}

impl MemoryBudget {
    /// Creates a budget. A call waits for `max_wait` while no other call gets memory.
    pub fn new(n_bytes: usize, max_wait: Duration) -> MemoryBudget {
        MemoryBudget { n_bytes, max_wait, uses: Mutex::default(), released: Condvar::new() }
    }

    /// Returns the memory of a new call, of which nothing is reserved yet.
    pub fn for_call(self: &Arc<Self>) -> CallMemory {
        CallMemory { budget: self.clone(), kept: Arc::default() }
    }

    /// Reserves memory, and waits for it if necessary.
    fn reserve(
        self: &Arc<Self>,
        n_bytes: usize,
        context: &Context,
    ) -> Result<Reservation, Unavailable> {
        if n_bytes <= FREE {
            return Ok(Reservation::default());
        }
        if n_bytes > self.n_bytes {
            return Err(Unavailable::TooMuch);
        }
        let mut uses = lock(&self.uses);
        if !uses.queue.is_empty() || n_bytes > self.n_bytes - uses.n_used {
            drop(uses);
            let _waiting = context.waiting();
            return self.wait(n_bytes, context);
        }
        uses.n_used += n_bytes;
        Ok(Reservation { budget: Some(self.clone()), n_bytes })
    }

    fn wait(
        self: &Arc<Self>,
        n_bytes: usize,
        context: &Context,
    ) -> Result<Reservation, Unavailable> {
        let mut uses = lock(&self.uses);
        uses.n_queued += 1;
        let number = uses.n_queued;
        uses.queue.push_back(number);
        let (mut first, mut deadline) = (None, Instant::now());
        let outcome = loop {
            let now_first = uses.queue.front().copied();
            if now_first == Some(number) && n_bytes <= self.n_bytes - uses.n_used {
                uses.n_used += n_bytes;
                break Ok(Reservation { budget: Some(self.clone()), n_bytes });
            }
            // The time starts again whenever another call gets memory.
            if now_first != first {
                (first, deadline) = (now_first, Instant::now() + self.max_wait);
            }
            if context.cancel.check().is_err() {
                break Err(Unavailable::Cancelled);
            }
            if Instant::now() >= deadline {
                break Err(Unavailable::Busy);
            }
            uses = wait_timeout(&self.released, uses, POLL_INTERVAL);
        };
        uses.queue.retain(|queued| *queued != number);
        drop(uses);
        self.released.notify_all();
        outcome
    }

    /// Reserves memory if it is available now and no other call waits for it.
    fn try_reserve(self: &Arc<Self>, n_bytes: usize) -> Option<Reservation> {
        let mut uses = lock(&self.uses);
        if !uses.queue.is_empty() || n_bytes > self.n_bytes - uses.n_used {
            return None;
        }
        uses.n_used += n_bytes;
        Some(Reservation { budget: Some(self.clone()), n_bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(budget) = self.budget.take() {
            lock(&budget.uses).n_used -= self.n_bytes;
            budget.released.notify_all();
        }
    }
}

impl Reservation {
    /// Adds another reservation from the same budget.
    fn add(&mut self, mut other: Reservation) {
        if let Some(budget) = other.budget.take() {
            self.n_bytes += other.n_bytes;
            self.budget = Some(budget);
        }
    }
}

impl Unavailable {
    /// Returns the error for a file of this size.
    pub fn for_file(self, path: &AbsPath, n_bytes: u64) -> Error {
        let path = path.to_string();
        match self {
            Unavailable::TooMuch => Error::TooLarge { path, n_bytes, limit: SizeLimit::Memory },
            Unavailable::Busy => Error::MemoryBusy { path },
            Unavailable::Cancelled => Error::Cancelled,
        }
    }
}

impl Context {
    /// Reserves memory until the reservation is dropped.
    pub fn reserve(&self, n_bytes: u64) -> Result<Reservation, Unavailable> {
        let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        self.memory.budget.reserve(n_bytes, self)
    }

    /// Makes sure that at least this much memory is reserved until the call ends.
    pub fn keep_memory(&self, n_bytes: u64) -> Result<(), Unavailable> {
        if n_bytes <= FREE as u64 {
            return Ok(());
        }
        let n_kept = lock(&self.memory.kept).n_bytes() as u64;
        let more = self.reserve(n_bytes.saturating_sub(n_kept))?;
        lock(&self.memory.kept).memory.add(more);
        Ok(())
    }

    /// Makes sure that at least this much memory is reserved for what a change adds, besides the
    /// memory for what it changes. Does not wait, because the caller may have locked a directory; it
    /// calls [`Context::wait_for_lacking_memory`] when it has not.
    pub fn try_keep_added_memory(&self, n_bytes: usize) -> Result<(), Unavailable> {
        let mut kept = lock(&self.memory.kept);
        if n_bytes <= kept.n_added.max(FREE) {
            return Ok(());
        }
        if n_bytes > self.memory.budget.n_bytes - kept.n_bytes() {
            return Err(Unavailable::TooMuch);
        }
        let Some(more) = self.memory.budget.try_reserve(n_bytes - kept.n_added) else {
            kept.n_lacking = Some(n_bytes);
            return Err(Unavailable::Busy);
        };
        kept.memory.add(more);
        kept.n_added = n_bytes;
        Ok(())
    }

    /// Waits for the memory that a change lacked. Returns `None` if it lacked none.
    pub fn wait_for_lacking_memory(&self) -> Option<Result<(), Unavailable>> {
        let n_added = lock(&self.memory.kept).n_lacking.take()?;
        let n_bytes = lock(&self.memory.kept).n_bytes();
        // A call that waits for memory has none, so that calls do not wait for each other.
        self.release_memory();
        let reserved = self.memory.budget.reserve(n_bytes + n_added, self);
        let keep = |memory| *lock(&self.memory.kept) = Kept { memory, n_added, n_lacking: None };
        Some(reserved.map(keep))
    }

    /// Makes sure that at least this much memory is reserved until the call ends. Waits only if none is
    /// yet, so that calls which need more and more do not wait for each other.
    pub fn keep_growing_memory(&self, n_bytes: u64) -> Result<(), Unavailable> {
        let n_kept = lock(&self.memory.kept).n_bytes() as u64;
        if n_kept == 0 {
            return self.keep_memory(n_bytes);
        }
        if n_bytes > self.memory.budget.n_bytes as u64 {
            return Err(Unavailable::TooMuch);
        }
        let n_more = n_bytes.saturating_sub(n_kept) as usize;
        match n_more == 0 || self.try_keep_more_memory(n_more) {
            true => Ok(()),
            false => Err(Unavailable::Busy),
        }
    }

    /// Reserves more memory until the call ends. Returns whether it was available without waiting.
    pub fn try_keep_more_memory(&self, n_bytes: usize) -> bool {
        let more = self.memory.budget.try_reserve(n_bytes);
        more.map(|more| lock(&self.memory.kept).memory.add(more)).is_some()
    }

    /// Makes sure that at least this much memory is reserved until the call ends. Returns whether it
    /// was available without waiting.
    pub fn try_keep_memory(&self, n_bytes: usize) -> bool {
        let n_kept = lock(&self.memory.kept).n_bytes();
        n_bytes <= FREE.max(n_kept) || self.try_keep_more_memory(n_bytes - n_kept)
    }

    /// Returns the memory that the call has kept.
    pub fn release_memory(&self) {
        drop(std::mem::take(&mut *lock(&self.memory.kept)));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(max_wait: Duration) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget::new(10 << 20, max_wait))
    }

    fn call(budget: &Arc<MemoryBudget>) -> Context {
        Context { memory: budget.for_call(), ..Context::default() }
    }

    #[test]
    fn a_call_that_alone_exceeds_the_budget_is_too_large() {
        let budget = budget(Duration::ZERO);
        assert_eq!(call(&budget).keep_memory(10 * MIB + 1), Err(Unavailable::TooMuch));
        call(&budget).keep_memory(10 * MIB).unwrap();
    }

    #[test]
    fn memory_is_returned_when_the_call_ends() {
        let budget = budget(Duration::ZERO);
        let (first, second) = (call(&budget), call(&budget));
        first.keep_memory(6 * MIB).unwrap();
        // The same call needs no more for another attempt.
        first.keep_memory(6 * MIB).unwrap();
        assert_eq!(second.keep_memory(6 * MIB), Err(Unavailable::Busy));
        assert!(!second.try_keep_more_memory(6 << 20));
        second.keep_memory(FREE as u64).unwrap();
        drop(first);
        second.keep_memory(6 * MIB).unwrap();
        second.release_memory();
        assert_eq!(lock(&budget.uses).n_used, 0);
    }

    #[test]
    fn a_call_that_has_memory_does_not_wait_for_more() {
        let budget = budget(Duration::from_secs(60));
        let (first, second) = (call(&budget), call(&budget));
        first.keep_growing_memory(FREE as u64).unwrap();
        for n_mib in [2, 4, 4, 6] {
            first.keep_growing_memory(n_mib * MIB).unwrap();
        }
        assert_eq!(lock(&budget.uses).n_used, 6 << 20);
        second.keep_growing_memory(2 * MIB).unwrap();
        assert_eq!(second.keep_growing_memory(6 * MIB), Err(Unavailable::Busy));
        assert_eq!(first.keep_growing_memory(11 * MIB), Err(Unavailable::TooMuch));
        first.keep_growing_memory(8 * MIB).unwrap();
    }

    #[test]
    fn calls_get_memory_in_order_of_arrival() {
        let budget = budget(Duration::from_secs(60));
        let first = call(&budget);
        first.keep_memory(10 * MIB).unwrap();
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (budget, order) = (&budget, &order);
                scope.spawn(move || {
                    let _memory = call(budget).reserve(6 * MIB).unwrap();
                    order.lock().unwrap().push(number);
                });
                while lock(&budget.uses).queue.len() <= number {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_waiting_call_can_be_cancelled() {
        let budget = budget(Duration::from_secs(60));
        let (first, second) = (call(&budget), call(&budget));
        first.keep_memory(10 * MIB).unwrap();
        second.cancel.raise();
        assert_eq!(second.keep_memory(2 * MIB), Err(Unavailable::Cancelled));
        assert!(lock(&budget.uses).queue.is_empty());
    }

    #[test]
    fn a_change_waits_for_the_memory_that_it_adds_without_keeping_any() {
        let budget = budget(Duration::from_secs(60));
        let (first, second) = (call(&budget), call(&budget));
        second.keep_memory(4 * MIB).unwrap();
        second.try_keep_added_memory(2 << 20).unwrap();
        // It is part of the budget, but not of the memory for what is changed.
        second.keep_memory(4 * MIB).unwrap();
        assert_eq!(lock(&budget.uses).n_used, 6 << 20);
        assert_eq!(second.try_keep_added_memory(7 << 20), Err(Unavailable::TooMuch));
        assert!(second.wait_for_lacking_memory().is_none());

        first.keep_memory(3 * MIB).unwrap();
        assert_eq!(second.try_keep_added_memory(5 << 20), Err(Unavailable::Busy));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| second.wait_for_lacking_memory());
            while lock(&budget.uses).queue.is_empty() {
                std::thread::yield_now();
            }
            assert_eq!(lock(&budget.uses).n_used, 3 << 20);
            drop(first);
            assert_eq!(waiting.join().unwrap(), Some(Ok(())));
        });
        second.try_keep_added_memory(5 << 20).unwrap();
        second.keep_memory(4 * MIB).unwrap();
        assert_eq!(lock(&budget.uses).n_used, 9 << 20);
    }
}
