//! Decides when to ask the relay to abandon a change request that it has not answered.
//!
//! Only the relay knows the progress of a change. The reads before and after the write can be
//! abandoned. The write cannot: the editor may be waiting for its user and apply it later. The relay
//! replies with the outcome, or that the change is pending. Without a reply the server gives up.

use std::time::{Duration, Instant};

use super::client::READ_LIMIT;

/// The time between two requests to abandon. One may arrive between two steps and have no effect.
const INTERVAL: Duration = Duration::from_secs(1);

/// The state for one change.
pub struct ChangeTimeout {
    next: Instant,
    was_cancelled: bool,
    /// When the first request was sent that the relay has not answered.
    unheard: Option<Instant>,
}

impl ChangeTimeout {
    /// Starts the timeout of a change that was sent at `now`.
    pub fn new(now: Instant) -> ChangeTimeout {
        ChangeTimeout { next: now + READ_LIMIT, was_cancelled: false, unheard: None }
    }

    /// Returns `after_ms` of the request to send, if one is due: 0 if the call was cancelled. `heard`
    /// is the time of the relay's last message about the change.
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

    /// Whether the relay has been silent for too long.
    pub fn is_ignored(&self, heard: Instant) -> bool {
        self.unheard.is_some_and(|unheard| unheard > heard && unheard.elapsed() >= READ_LIMIT)
    }
}
