//! Whether others write to the files that we change, as far as we met them lately.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::sync::lock;

/// How long they are remembered.
const MEMORY: Duration = Duration::from_secs(1);

/// When somebody was last met.
#[derive(Default)]
pub struct RecentWriters(Mutex<Option<Instant>>);

impl RecentWriters {
    /// Notes that somebody had a file open, or wrote to it in between.
    pub fn record(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    /// Whether somebody was there a moment ago.
    pub fn is_recent(&self) -> bool {
        let last = lock(&self.0);
        last.is_some_and(|last| last.elapsed() < MEMORY)
    }
}
