//! Limits the number of concurrent calls, and lets calls run that would otherwise wait behind calls
//! that cannot.
//!
//! A call runs in a slot. Some slots are reserved for small reads. A call that waits for a lock or for
//! memory, or that runs for long, gives its slot back, so that another call can run meanwhile. It takes
//! a slot again before its answer is built, because slots bound the memory of answers.

use std::sync::{Arc, Mutex};

use recto_store::context::Waits;
use recto_store::sync::lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits;

/// The slots that calls run in and the threads that they run on. Clones share them.
#[derive(Debug, Clone)]
pub struct Slots {
    all: Arc<Semaphore>,
    /// The slots for calls other than small reads.
    unreserved: Arc<Semaphore>,
    threads: Arc<Semaphore>,
    /// How many calls may have given their slot back. The other threads remain for calls in slots.
    away: Arc<Semaphore>,
}

/// The slot of one call, shared by the handler and the transport. It becomes free when it is released
/// or the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Slot {
    occupancy: Arc<Mutex<Occupancy>>,
    /// Returns what an answer has in the place of a text that it repeats.
    pub repeat: Repeat,
}

/// Copies a text, or returns a short marker that the transport replaces by the text.
pub type Repeat = fn(&str) -> String;

impl Default for Slot {
    fn default() -> Slot {
        Slot::new(str::to_string)
    }
}

#[derive(Debug, Default)]
enum Occupancy {
    #[default]
    Waiting,
    Running(#[expect(dead_code, reason = "dropping it frees the slot")] Permits),
    /// The call gave its slot back and continues.
    Away(#[expect(dead_code, reason = "dropping it lets another call do so")] OwnedSemaphorePermit),
    /// Also of a call that was cancelled while it waited, which then does not occupy the slot.
    Released,
}

#[derive(Debug)]
#[expect(dead_code, reason = "dropping it frees the slot")]
struct Permits {
    slot: OwnedSemaphorePermit,
    unreserved: Option<OwnedSemaphorePermit>,
}

/// Which slots a call may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A read of one file, which is usually small.
    SmallRead,
    /// Any other call.
    Other,
}

impl Slot {
    /// Creates a slot for a transport that repeats texts in its own way.
    pub fn new(repeat: Repeat) -> Slot {
        Slot { occupancy: Arc::default(), repeat }
    }

    /// Lets another call run.
    pub fn release(&self) {
        *lock(&self.occupancy) = Occupancy::Released;
    }

    /// Whether there is another clone, such as that of a running handler.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.occupancy) > 1
    }

    fn occupy(&self, permits: Permits, is_expected: impl Fn(&Occupancy) -> bool) {
        let mut occupancy = lock(&self.occupancy);
        if is_expected(&occupancy) {
            *occupancy = Occupancy::Running(permits);
        }
    }
}

impl Slots {
    /// Creates slots for `max_running` concurrent calls.
    pub fn new(max_running: usize) -> Slots {
        let semaphore = |n| Arc::new(Semaphore::new(n));
        let n_reserved = max_running.div_ceil(4).min(max_running - 1);
        Slots {
            all: semaphore(max_running),
            unreserved: semaphore(max_running - n_reserved),
            threads: semaphore(limits::CALL_THREADS),
            away: semaphore(limits::CALL_THREADS / 2),
        }
    }

    /// Waits for a slot and then for a thread, whose permit must be kept until the call returns.
    /// `None` if all threads hang: a cancelled call releases its slot at once, but its thread only
    /// when it returns.
    pub async fn start(&self, slot: &Slot, kind: CallKind) -> Option<OwnedSemaphorePermit> {
        slot.occupy(self.permits(kind).await, |now| matches!(now, Occupancy::Waiting));
        let thread = self.threads.clone().acquire_owned();
        tokio::time::timeout(limits::AFTER_CANCELLATION, thread).await.ok()?.ok()
    }

    /// Waits for a slot for a call that gave its own back.
    pub async fn resume(&self, slot: &Slot, kind: CallKind) {
        if !matches!(*lock(&slot.occupancy), Occupancy::Away(_)) {
            return;
        }
        slot.occupy(self.permits(kind).await, |now| matches!(now, Occupancy::Away(_)));
    }

    /// Returns the interface by which a call gives its slot back.
    pub fn waits(&self, slot: &Slot, kind: CallKind) -> Arc<dyn Waits> {
        Arc::new(CallSlot { slots: self.clone(), slot: slot.clone(), kind })
    }

    async fn permits(&self, kind: CallKind) -> Permits {
        let acquire = async |semaphore: &Arc<Semaphore>| {
            semaphore.clone().acquire_owned().await.expect("slots are never closed")
        };
        let unreserved = match kind {
            CallKind::SmallRead => None,
            CallKind::Other => Some(acquire(&self.unreserved).await),
        };
        Permits { slot: acquire(&self.all).await, unreserved }
    }

    fn try_permits(&self, kind: CallKind) -> Option<Permits> {
        let acquire = |semaphore: &Arc<Semaphore>| semaphore.clone().try_acquire_owned().ok();
        let unreserved = match kind {
            CallKind::SmallRead => None,
            CallKind::Other => Some(acquire(&self.unreserved)?),
        };
        Some(Permits { slot: acquire(&self.all)?, unreserved })
    }
}

#[derive(Debug)]
struct CallSlot {
    slots: Slots,
    slot: Slot,
    kind: CallKind,
}

impl Waits for CallSlot {
    fn started(&self) {
        let mut occupancy = lock(&self.slot.occupancy);
        if matches!(*occupancy, Occupancy::Running(_))
            && let Ok(away) = self.slots.away.clone().try_acquire_owned()
        {
            *occupancy = Occupancy::Away(away);
        }
    }

    /// Does not wait for a slot: the call may have a lock that other processes wait for.
    fn ended(&self) {
        if let Some(permits) = self.slots.try_permits(self.kind) {
            self.slot.occupy(permits, |now| matches!(now, Occupancy::Away(_)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn starts(slots: &Slots, slot: &Slot, kind: CallKind) -> bool {
        tokio::time::timeout(Duration::from_millis(20), slots.start(slot, kind)).await.is_ok()
    }

    #[tokio::test]
    async fn slots_are_reserved_for_small_reads() {
        let slots = Slots::new(4);
        let calls: Vec<Slot> = (0..4).map(|_| Slot::default()).collect();
        for call in &calls[..3] {
            assert!(starts(&slots, call, CallKind::Other).await);
        }
        assert!(!starts(&slots, &calls[3], CallKind::Other).await);
        assert!(starts(&slots, &calls[3], CallKind::SmallRead).await);
    }

    #[tokio::test]
    async fn a_call_that_waits_lets_another_run_and_returns_to_a_slot() {
        let slots = Slots::new(1);
        let (first, second) = (Slot::default(), Slot::default());
        assert!(starts(&slots, &first, CallKind::Other).await);
        assert!(!starts(&slots, &second, CallKind::Other).await);
        let waits = slots.waits(&first, CallKind::Other);
        waits.started();
        assert!(starts(&slots, &second, CallKind::Other).await);
        // It continues without a slot, but its answer waits for one.
        waits.ended();
        let resumed = slots.resume(&first, CallKind::Other);
        assert!(tokio::time::timeout(Duration::from_millis(20), resumed).await.is_err());
        second.release();
        slots.resume(&first, CallKind::Other).await;
        assert!(slots.try_permits(CallKind::Other).is_none());
        first.release();
        assert!(slots.try_permits(CallKind::Other).is_some());
    }

    #[tokio::test]
    async fn only_so_many_calls_give_their_slots_back() {
        let slots = Slots::new(1);
        let n_away = limits::CALL_THREADS / 2;
        let calls: Vec<Slot> = (0..n_away + 2).map(|_| Slot::default()).collect();
        for call in &calls[..=n_away] {
            assert!(starts(&slots, call, CallKind::Other).await);
            slots.waits(call, CallKind::Other).started();
        }
        assert!(!starts(&slots, &calls[n_away + 1], CallKind::Other).await);
    }
}
