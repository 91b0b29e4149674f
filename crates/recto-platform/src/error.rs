//! Errors of system calls.

use std::fmt::{Display, Formatter};
use std::io;

/// The error number of a system call. The numbers that recto distinguishes are associated
/// constants, defined by the module of each system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysError(pub(crate) i32);

/// The result of a system call.
pub type SysResult<T> = Result<T, SysError>;

impl From<SysError> for io::Error {
    fn from(error: SysError) -> io::Error {
        io::Error::from_raw_os_error(error.0)
    }
}

impl Display for SysError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        io::Error::from(*self).fmt(formatter)
    }
}

impl std::error::Error for SysError {}
