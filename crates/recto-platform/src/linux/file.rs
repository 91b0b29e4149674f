//! Files: reading, and extended attributes.

use std::ffi::{CStr, CString, OsStr};

use rustix::buffer::spare_capacity;
use rustix::fs::{IFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{status, sys_error};
use crate::{Handle, Status, SysError, SysResult};

/// Opens a file for reading. Never follows a link and never blocks.
pub fn open_file_at(dir: &Handle, name: impl AsRef<OsStr>) -> SysResult<Handle> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name.as_ref(), flags, Mode::empty()).map(Handle).map_err(sys_error)
}

impl Handle {
    /// Returns the status.
    pub fn status(&self) -> SysResult<Status> {
        rustix::fs::fstat(self).map(status).map_err(sys_error)
    }

    /// Reads at an offset. Returns 0 only at the end of the file.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        rustix::io::pread(self, buffer, offset).map_err(sys_error)
    }

    /// Reads at an offset into the spare capacity of `bytes`, without growing it.
    pub fn append_from(&self, bytes: &mut Vec<u8>, offset: u64) -> SysResult<usize> {
        rustix::io::pread(self, spare_capacity(bytes), offset).map_err(sys_error)
    }

    /// Waits until a file or directory is on disk.
    pub fn sync(&self) -> SysResult<()> {
        rustix::fs::fsync(self).map_err(sys_error)
    }

    /// Returns the names of the extended attributes, or none if they are not supported.
    pub fn attribute_names(&self) -> SysResult<Vec<CString>> {
        let names = match filled(|buffer| rustix::fs::flistxattr(self, buffer)) {
            Err(SysError::OPNOTSUPP | SysError::NOSYS) => return Ok(Vec::new()),
            names => names?,
        };
        let owned = |name| CStr::from_bytes_with_nul(name).map(CStr::to_owned);
        let names = names.split_inclusive(|byte| *byte == 0).map(owned);
        names.collect::<Result<_, _>>().map_err(|_| SysError::IO)
    }

    /// Returns the value of an extended attribute.
    pub fn attribute(&self, name: &CStr) -> SysResult<Vec<u8>> {
        filled(|buffer| rustix::fs::fgetxattr(self, name, buffer))
    }

    /// Returns the inode flags that a user has set, as `lsattr` shows them. They are empty if the
    /// file system has none. The handle must be open for reading.
    pub fn flags(&self) -> InodeFlags {
        rustix::fs::ioctl_getflags(self).map_or(InodeFlags(0), |flags| InodeFlags(flags.bits()))
    }

    /// Removes an extended attribute.
    pub fn remove_attribute(&self, name: &CStr) -> SysResult<()> {
        rustix::fs::fremovexattr(self, name).map_err(sys_error)
    }
}

/// The inode flags of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InodeFlags(u32);

impl InodeFlags {
    /// The flags of a regular file that another file can have as well: `sucSdACmjtxP`.
    const KEEPABLE: u32 = 0x2280_c4cf;

    /// Returns whether names can be added to this directory, but not removed or replaced.
    pub fn is_append_only(self) -> bool {
        self.0 & IFlags::APPEND.bits() != 0
    }

    /// Returns whether this directory ignores the case of names.
    pub fn ignores_case(self) -> bool {
        self.0 & 0x4000_0000 != 0
    }

    /// Returns whether a replacement of this file lacks one of its flags.
    pub fn are_lost_in(self, replacement: InodeFlags) -> bool {
        self.0 & !replacement.0 & InodeFlags::KEEPABLE != 0
    }
}

/// Calls with a small buffer first, which nearly always suffices, then with the maximum size.
fn filled(mut call: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> SysResult<Vec<u8>> {
    for size in [512, 64 << 10] {
        let mut buffer = vec![0; size];
        match call(&mut buffer) {
            Ok(n) => {
                buffer.truncate(n);
                return Ok(buffer);
            }
            Err(Errno::RANGE) => {}
            Err(errno) => return Err(sys_error(errno)),
        }
    }
    Err(SysError::RANGE)
}
