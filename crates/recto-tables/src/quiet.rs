//! Suppresses the output of caught panics in tests of damaged files.

use std::cell::Cell;
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that catches its own panics, without printing them.
pub fn quietly<T>(run: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                hook(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let result = run();
    IS_QUIET.set(false);
    result
}
