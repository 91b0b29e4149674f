//! Every bound that a caller can run into, in one place.

use std::sync::OnceLock;

/// How many threads a walk or a search may use: as many as there are processors for this process,
/// counted once.
pub fn n_threads() -> usize {
    static N_THREADS: OnceLock<usize> = OnceLock::new();
    *N_THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
