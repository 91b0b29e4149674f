//! Errors of system calls: which are retried, and the one table that maps them to the contract's.

use recto_platform::{SysError, SysResult};

use crate::error::{Denial, Error, Instead};
use crate::path::AbsPath;

/// The error of a change that stands and could not be synced.
pub fn not_durable(error: SysError, path: &AbsPath) -> Error {
    let cause = format!("syncing it to disk failed: {error}");
    Error::NotDurable { path: path.to_string(), cause }
}

/// Calls again after an interruption, but not for ever.
pub fn retry<T>(mut call: impl FnMut() -> SysResult<T>) -> SysResult<T> {
    for _ in 0..100 {
        match call() {
            Err(SysError::INTR) => {}
            done => return done,
        }
    }
    Err(SysError::INTR)
}

/// Whether a call failed because this filesystem or kernel does not have it.
pub fn is_unsupported(error: SysError) -> bool {
    matches!(error, SysError::OPNOTSUPP | SysError::INVAL | SysError::NOSYS | SysError::ISDIR)
}

/// The contract's error for what the system said about a path.
pub fn error(error: SysError, path: &AbsPath, n_bytes: usize) -> Error {
    let path = path.to_string();
    match error {
        SysError::NOENT | SysError::NOTDIR => Error::FileNotFound { path },
        SysError::NAMETOOLONG => Error::PathTooLong { path },
        SysError::ACCESS | SysError::PERM => {
            Error::PermissionDenied { path, reason: Denial::System }
        }
        SysError::ROFS => Error::ReadOnlyFilesystem { path },
        SysError::NOSPC | SysError::DQUOT | SysError::FBIG => Error::DiskFull { n_bytes, path },
        SysError::BUSY => Error::PermissionDenied { path, reason: Denial::MountPoint },
        SysError::ISDIR => Error::IsDirectory { path },
        SysError::NXIO | SysError::NODEV | SysError::LOOP => {
            Error::NotAFile { path, instead: Instead::Other }
        }
        other => Error::System { path, cause: other.to_string() },
    }
}
