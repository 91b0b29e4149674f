//! The `recto` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    recto::cli::run()
}
