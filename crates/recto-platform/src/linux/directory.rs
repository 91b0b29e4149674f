//! Opens, lists and locks directories, and accesses the names in them.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, RawDir};

use super::{kind, status, sys_error};
use crate::{FileKind, Handle, Status, SysResult};

/// Opens a directory by path, only to access names in it. Follows links.
pub fn open_path(path: &Path) -> SysResult<Handle> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map(Handle).map_err(sys_error)
}

/// Opens a directory in another one, only to access names in it. Does not follow a link.
pub fn open_path_at(dir: &Handle, name: impl AsRef<OsStr>) -> SysResult<Handle> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name.as_ref(), flags, Mode::empty()).map(Handle).map_err(sys_error)
}

const LISTING: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory by path, to list, lock or sync it. Does not follow a link at the end.
pub fn open_directory(path: &Path) -> SysResult<Handle> {
    rustix::fs::openat(CWD, path, LISTING, Mode::empty()).map(Handle).map_err(sys_error)
}

/// Opens a directory in another one, to list, lock or sync it. Does not follow a link.
pub fn open_directory_at(dir: &Handle, name: impl AsRef<OsStr>) -> SysResult<Handle> {
    rustix::fs::openat(dir, name.as_ref(), LISTING, Mode::empty()).map(Handle).map_err(sys_error)
}

/// Lists the remaining entries of a directory, without `.` and `..`.
pub fn entries(dir: Handle) -> SysResult<impl Iterator<Item = SysResult<(OsString, FileKind)>>> {
    let entries = Dir::new(dir.0).map_err(sys_error)?;
    let owned = entries.map(|entry| {
        let entry = entry.map_err(sys_error)?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        Ok((name, kind(entry.file_type())))
    });
    Ok(owned.filter(|entry| !entry.as_ref().is_ok_and(|(name, _)| name == "." || name == "..")))
}

/// Lists the names in a directory with the inodes that it reports for them.
pub fn entries_with_inodes(
    dir: Handle,
) -> SysResult<impl Iterator<Item = SysResult<(OsString, u64)>>> {
    let entries = Dir::new(dir.0).map_err(sys_error)?;
    Ok(entries.map(|entry| {
        let entry = entry.map_err(sys_error)?;
        Ok((OsString::from_vec(entry.file_name().to_bytes().to_vec()), entry.ino()))
    }))
}

/// Lists a directory into a buffer of the caller, without allocating for each entry.
pub struct RawEntries<'a>(RawDir<'a, &'a Handle>);

impl<'a> RawEntries<'a> {
    /// Lists the remaining entries of a directory. Resizes the buffer as needed.
    pub fn new(dir: &'a Handle, buffer: &'a mut Vec<MaybeUninit<u8>>) -> RawEntries<'a> {
        buffer.resize(64 << 10, MaybeUninit::uninit());
        RawEntries(RawDir::new(dir, buffer))
    }

    /// Visits the next entry, including `.` and `..`. Returns `None` at the end.
    pub fn visit_next(&mut self, visit: impl FnOnce(&[u8], FileKind)) -> Option<SysResult<()>> {
        let entry = self.0.next()?.map_err(sys_error);
        Some(entry.map(|entry| visit(entry.file_name().to_bytes(), kind(entry.file_type()))))
    }
}

/// Returns the status of a path, following links.
pub fn status_by_path(path: &Path) -> SysResult<Status> {
    rustix::fs::stat(path).map(status).map_err(sys_error)
}

/// Returns the status of a name, without following a link.
pub fn status_at(dir: &Handle, name: impl AsRef<OsStr>) -> SysResult<Status> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::statat(dir, name.as_ref(), flags).map(status).map_err(sys_error)
}

/// Returns the target of a symbolic link.
pub fn read_link_at(dir: &Handle, name: impl AsRef<OsStr>) -> SysResult<PathBuf> {
    let target = rustix::fs::readlinkat(dir, name.as_ref(), Vec::new()).map_err(sys_error)?;
    Ok(OsString::from_vec(target.into_bytes()).into())
}

/// Fails if this process may not write to a name.
pub fn check_writable_at(dir: &Handle, name: impl AsRef<OsStr>) -> SysResult<()> {
    let name = name.as_ref();
    rustix::fs::accessat(dir, name, Access::WRITE_OK, AtFlags::EACCESS).map_err(sys_error)
}

/// Creates a directory.
pub fn create_directory_at(dir: &Handle, name: impl AsRef<OsStr>, mode: u32) -> SysResult<()> {
    rustix::fs::mkdirat(dir, name.as_ref(), Mode::from_raw_mode(mode)).map_err(sys_error)
}

/// Removes a name that is not a directory. Does not follow a link.
pub fn remove_file_at(dir: &Handle, name: impl AsRef<OsStr>) -> SysResult<()> {
    rustix::fs::unlinkat(dir, name.as_ref(), AtFlags::empty()).map_err(sys_error)
}

/// Removes an empty directory.
pub fn remove_directory_at(dir: &Handle, name: impl AsRef<OsStr>) -> SysResult<()> {
    rustix::fs::unlinkat(dir, name.as_ref(), AtFlags::REMOVEDIR).map_err(sys_error)
}

impl Handle {
    /// Waits for the exclusive lock on a directory. It is released when the last copy of the handle
    /// is closed.
    pub fn lock(&self) -> SysResult<()> {
        rustix::fs::flock(self, FlockOperation::LockExclusive).map_err(sys_error)
    }

    /// Acquires the lock, or fails with [`AGAIN`](crate::SysError::AGAIN) if it is not free.
    pub fn try_lock(&self) -> SysResult<()> {
        rustix::fs::flock(self, FlockOperation::NonBlockingLockExclusive).map_err(sys_error)
    }
}
