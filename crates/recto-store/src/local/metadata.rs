//! What a file is besides its bytes: owner, mode, access lists and other attributes, carried
//! from the old file to the one that takes its place.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use crate::error::Denial;
use crate::error::Error;
use rustix::fs::{Gid, Mode, Uid};
use rustix::io::Errno;

use super::read::OpenFile;
use super::sys::{self, Sys, SysResult};
use crate::path::AbsPath;

/// Gives `new` the owner, mode and attributes of `old`, less the bits that let a program run as
/// somebody else: those must not outlive a change of the program.
pub fn copy(
    sys: &dyn Sys,
    old: &OpenFile,
    new: BorrowedFd<'_>,
    path: &AbsPath,
) -> Result<(), Error> {
    let failed = |errno| sys::error(errno, path, 0);
    let made = rustix::fs::fstat(new).map_err(failed)?;
    let (owner, group) = (old.status.st_uid, old.status.st_gid);
    if (made.st_uid, made.st_gid) != (owner, group) {
        sys::retry(|| sys.set_owner(new, Uid::from_raw(owner), Gid::from_raw(group))).map_err(
            |errno| match errno {
                Errno::PERM => {
                    Error::PermissionDenied { path: path.to_string(), reason: Denial::ForeignOwner }
                }
                errno => failed(errno),
            },
        )?;
    }
    let kept = attributes(old.fd.as_fd()).map_err(failed)?;
    // What the folder gave the new file by itself (a default access list) the old one did not have.
    for (name, _) in attributes(new).map_err(failed)? {
        if !is_set_by_system(&name) && !kept.iter().any(|(kept, _)| *kept == name) {
            rustix::fs::fremovexattr(new, &name).map_err(failed)?;
        }
    }
    for (name, value) in kept {
        let is_kept = sys::retry(|| sys.set_attribute(new, &name, &value));
        if let Err(errno) = is_kept
            && !is_set_by_system(&name)
        {
            return Err(failed(errno));
        }
    }
    // After the attributes, because an access list changes the mode.
    sys::retry(|| sys.set_mode(new, Mode::from_raw_mode(old.status.st_mode & 0o1777)))
        .map_err(failed)
}

/// Labels that the system gives by itself and does not let everybody set.
fn is_set_by_system(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"security.") || name.to_bytes().starts_with(b"trusted.")
}

type Attribute = (std::ffi::CString, Vec<u8>);

fn attributes(file: BorrowedFd<'_>) -> SysResult<Vec<Attribute>> {
    let names = match list(file) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        names => names?,
    };
    let mut attributes = Vec::new();
    for name in names.split_inclusive(|byte| *byte == 0) {
        let name = CStr::from_bytes_with_nul(name).map_err(|_| Errno::IO)?;
        // A program's capabilities are dropped like its setuid bit.
        if name == c"security.capability" {
            continue;
        }
        attributes.push((name.to_owned(), value(file, name)?));
    }
    Ok(attributes)
}

fn list(file: BorrowedFd<'_>) -> SysResult<Vec<u8>> {
    filled(|buffer| rustix::fs::flistxattr(file, buffer))
}

fn value(file: BorrowedFd<'_>, name: &CStr) -> SysResult<Vec<u8>> {
    filled(|buffer| rustix::fs::fgetxattr(file, name, buffer))
}

/// Calls with a small buffer first, which nearly always suffices, then with the largest one.
fn filled(mut call: impl FnMut(&mut [u8]) -> SysResult<usize>) -> SysResult<Vec<u8>> {
    for size in [512, 64 << 10] {
        let mut buffer = vec![0; size];
        match call(&mut buffer) {
            Ok(n) => {
                buffer.truncate(n);
                return Ok(buffer);
            }
            Err(Errno::RANGE) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::RANGE)
}
