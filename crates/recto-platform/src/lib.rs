//! The system calls that recto needs, behind its own types.
//!
//! No other crate uses `rustix` or `libc`. All code that depends on the operating system is in the
//! module `linux`; another system would be a second module with the same functions.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "recto runs on Linux only for now: its write protocol needs O_TMPFILE, renameat2 and flock"
);

mod error;
mod handle;
mod linux;
mod second_thread;
mod status;
mod sys;

pub use error::{SysError, SysResult};
pub use handle::Handle;
pub use linux::*;
pub use second_thread::SecondThread;
pub use status::{FileKind, Status};
pub use sys::Sys;
