//! Remembers whether other processes recently wrote to files that recto changes.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::sync::lock;

/// How long a writer is remembered.
const RETENTION: Duration = Duration::from_secs(1);

/// When recto last detected a concurrent writer.
#[derive(Default)]
pub struct RecentWriters(Mutex<Option<Instant>>);

impl RecentWriters {
    /// Records that another process had a file open for writing, or changed it during a write.
    pub fn record(&self) {
        *lock(&self.0) = Some(Instant::now());
    }

    /// Returns whether a concurrent writer was detected recently.
    pub fn is_recent(&self) -> bool {
        let last = lock(&self.0);
        last.is_some_and(|last| last.elapsed() < RETENTION)
    }
}
