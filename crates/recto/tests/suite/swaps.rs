//! Exchanges two names as fast as possible while a test makes calls.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Exchanges two names repeatedly while `work` runs; afterwards each is back in place.
pub fn while_swapping(one: &Path, other: &Path, work: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    let exchange = || renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                exchange();
                exchange();
            }
        });
        // The swaps also end when a call panics.
        let _end = SetOnDrop(&is_over);
        work();
    });
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
