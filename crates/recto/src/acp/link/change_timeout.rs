//! Decides when to ask the relay to abandon a change: when the call is cancelled, or after 30 s.
//!
//! For a change, the relay reads the editor's text, writes the new one and reads it back. It can
//! abandon the reads but not the write, which the editor may still apply. It answers a request to
//! abandon with the outcome, or that the write is pending. If it is silent for 30 s, the call fails.

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
