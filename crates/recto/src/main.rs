//! The `recto` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    recto::memory::keep();
    recto::cli::run()
}
