//! Limits the cost of an input: one second of processor time and 256 MB of memory.
//!
//! The memory limit always applies. Only [`run`] measures time, because no test fails by the clock.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, Once};
use std::time::Duration;

use recto_store::sync::lock;

use crate::Check;

const MAX_TIME: Duration = Duration::from_secs(1);

const MAX_BYTES: usize = 256 << 20;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded { n_bytes: AtomicUsize::new(0) };

/// Runs a target on one input, and ends the process if it fails or takes too long.
///
/// libFuzzer takes every panic for a failure. recto catches some, and then its answer counts.
pub fn run(check: Check, input: &[u8]) {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            *lock(&LAST_PANIC) = panic.to_string();
        }));
    });
    let start = processor_time();
    let result = catch_unwind(|| check(input));
    let taken = processor_time() - start;
    if result.is_err() {
        eprintln!("{}", lock(&LAST_PANIC));
        std::process::abort();
    }
    if taken > MAX_TIME {
        eprintln!("one input took {taken:?}");
        std::process::abort();
    }
}

/// Message and location of the last panic, for one that is not caught.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Returns the processor time of this thread, which does not depend on other load.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on Linux, and the pointer is to a local timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "the clock of a thread can always be read");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The system allocator with a limit, beyond which it ends the process.
struct Bounded {
    n_bytes: AtomicUsize,
}

impl Bounded {
    fn take(&self, n_bytes: usize) -> bool {
        self.n_bytes.fetch_add(n_bytes, Relaxed) + n_bytes <= MAX_BYTES
    }

    fn give_back(&self, n_bytes: usize) {
        self.n_bytes.fetch_sub(n_bytes, Relaxed);
    }
}

// SAFETY: every method forwards to the system's allocator or ends the process.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            std::process::abort();
        }
        // SAFETY: the layout is the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !self.take(layout.size()) {
            std::process::abort();
        }
        // SAFETY: the layout is the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.give_back(layout.size());
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !self.take(new_size) {
            std::process::abort();
        }
        self.give_back(layout.size());
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
