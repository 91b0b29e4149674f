//! Output of commands.

use std::io::{ErrorKind, Write};

/// Prints to stdout. A reader that closes the pipe early, such as `head`, is not an error.
pub fn print(text: &str) -> Result<(), String> {
    let mut stdout = std::io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write to stdout: {error}"))
        }
        _ => Ok(()),
    }
}
