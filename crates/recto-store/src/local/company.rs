//! Whether others write to the files that we change, as far as we met them lately.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long they are remembered.
const MEMORY: Duration = Duration::from_secs(1);

/// When somebody was last met.
#[derive(Default)]
pub struct Company(Mutex<Option<Instant>>);

impl Company {
    /// Notes that somebody had a file open, or wrote to it in between.
    pub fn meet(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether somebody was there a moment ago.
    pub fn is_near(&self) -> bool {
        let met = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        met.is_some_and(|met| met.elapsed() < MEMORY)
    }
}
