//! Retries interrupted system calls, and maps system errors to errors of the store.

use recto_platform::{SysError, SysResult};

use crate::error::{Denial, Error, Instead};
use crate::path::AbsPath;

/// Returns the error for a change that was made but could not be synced.
pub fn not_durable(error: SysError, path: &AbsPath) -> Error {
    let cause = format!("syncing it to disk failed: {error}");
    Error::NotDurable { path: path.to_string(), cause }
}

/// Repeats a call that was interrupted, up to 100 times.
pub fn retry<T>(mut call: impl FnMut() -> SysResult<T>) -> SysResult<T> {
    for _ in 0..100 {
        match call() {
            Err(SysError::INTR) => {}
            done => return done,
        }
    }
    Err(SysError::INTR)
}

/// Returns whether a call failed because the file system or kernel does not support it.
pub fn is_unsupported(error: SysError) -> bool {
    matches!(error, SysError::OPNOTSUPP | SysError::INVAL | SysError::NOSYS | SysError::ISDIR)
}

/// Returns whether the file system may lack a call. Some report that as a missing permission.
pub fn may_be_unsupported(error: SysError) -> bool {
    is_unsupported(error) || matches!(error, SysError::PERM | SysError::ACCESS)
}

/// Returns the store's error for a system error on a path.
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
        SysError::LOOP => {
            let what = "a loop of symbolic links, or a chain of more than 40";
            Error::NotAFile { path, instead: Instead::Special(what) }
        }
        SysError::NXIO | SysError::NODEV => Error::NotAFile { path, instead: Instead::Other },
        other => Error::System { path, cause: other.to_string() },
    }
}
