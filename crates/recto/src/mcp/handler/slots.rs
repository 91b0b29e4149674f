//! Limits the number of concurrent calls.

use std::sync::{Arc, Mutex};

use recto_store::sync::lock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits;

/// The slots that calls run in and the threads that they run on. Clones share them.
#[derive(Clone)]
pub struct Slots {
    slots: Arc<Semaphore>,
    threads: Arc<Semaphore>,
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
    Running(#[expect(dead_code, reason = "dropping it frees the slot")] OwnedSemaphorePermit),
    /// Also of a call that was cancelled while it waited, which then does not occupy the slot.
    Released,
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

    fn occupy(&self, permit: OwnedSemaphorePermit) {
        let mut occupancy = lock(&self.occupancy);
        if matches!(*occupancy, Occupancy::Waiting) {
            *occupancy = Occupancy::Running(permit);
        }
    }
}

impl Slots {
    /// Creates slots for `max_running` concurrent calls.
    pub fn new(max_running: usize) -> Slots {
        let semaphore = |n| Arc::new(Semaphore::new(n));
        Slots { slots: semaphore(max_running), threads: semaphore(limits::CALL_THREADS) }
    }

    /// Waits for a slot and then for a thread, whose permit must be kept until the call returns.
    /// `None` if all threads hang: a cancelled call releases its slot at once, but its thread only
    /// when it returns.
    pub async fn start(&self, slot: &Slot) -> Option<OwnedSemaphorePermit> {
        let permit = self.slots.clone().acquire_owned().await.expect("slots are never closed");
        slot.occupy(permit);
        let thread = self.threads.clone().acquire_owned();
        tokio::time::timeout(limits::AFTER_CANCELLATION, thread).await.ok()?.ok()
    }
}
