//! When a change that is not answered is to end what it reads.
//!
//! Only the relay knows how far a change is: what is read before and after a write can be given up,
//! the write cannot, for a person may be asked. So the relay is nudged, and says what became of
//! the change, or that it has it still. One that says nothing is given up itself.

use std::time::{Duration, Instant};

use super::client::READ_LIMIT;

/// How long after one timeout the next is sent: the first may come between two steps.
const INTERVAL: Duration = Duration::from_secs(1);

/// The nudges for one change.
pub struct ChangeTimeout {
    next: Instant,
    was_cancelled: bool,
    /// The first one that nothing was heard since.
    unheard: Option<Instant>,
}

impl ChangeTimeout {
    /// None yet, for a change that was sent now.
    pub fn new(now: Instant) -> ChangeTimeout {
        ChangeTimeout { next: now + READ_LIMIT, was_cancelled: false, unheard: None }
    }

    /// Whether to send one now, and how long a reading is to have lasted, in milliseconds: any time
    /// at all where the call was taken back. `heard` is when the relay last said something.
    pub fn is_due(&mut self, heard: Instant, is_cancelled: bool) -> Option<u64> {
        let now = Instant::now();
        let is_new = is_cancelled && !self.was_cancelled;
        if now < self.next && !is_new {
            return None;
        }
        self.was_cancelled = is_cancelled;
        self.next = now + INTERVAL;
        self.unheard = self.unheard.filter(|unheard| *unheard > heard).or(Some(now));
        Some(if is_cancelled { 0 } else { READ_LIMIT.as_millis() as u64 })
    }

    /// Whether the relay has not said a word for too long.
    pub fn is_ignored(&self, heard: Instant) -> bool {
        self.unheard.is_some_and(|unheard| unheard > heard && unheard.elapsed() >= READ_LIMIT)
    }
}
