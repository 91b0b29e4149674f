//! The `recto` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    recto::allocator::keep_freed_memory();
    recto::cli::run()
}
