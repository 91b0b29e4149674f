//! The system calls of the write protocol behind one trait, so that tests can fail any of them.

use std::ffi::{CStr, OsStr};

use crate::{Handle, Status, SysResult};

/// The system calls that a write consists of.
pub trait Sys: Send + Sync {
    /// Returns the status of a name, without following a link.
    fn status(&self, dir: &Handle, name: &OsStr) -> SysResult<Status>;
    /// Opens a file for reading; never follows a link, never blocks.
    fn open(&self, dir: &Handle, name: &OsStr) -> SysResult<Handle>;
    /// Requests a lease, which breaks when another process opens the file for writing.
    fn lease(&self, file: &Handle) -> SysResult<()>;
    /// Whether a lease is still unbroken.
    fn is_leased(&self, file: &Handle) -> bool;
    /// Returns a lease, so that the processes that wait for it continue.
    fn end_lease(&self, file: &Handle) -> SysResult<()>;
    /// Reads at an offset.
    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> SysResult<usize>;
    /// Opens a new file without a name.
    fn open_nameless(&self, dir: &Handle) -> SysResult<Handle>;
    /// Creates a file with a name that does not exist.
    fn create(&self, dir: &Handle, name: &OsStr, mode: u32) -> SysResult<Handle>;
    /// Opens a file to append; never follows a link, never blocks.
    fn open_end(&self, dir: &Handle, name: &OsStr) -> SysResult<Handle>;
    /// Writes some of the bytes.
    fn write(&self, file: &Handle, bytes: &[u8]) -> SysResult<usize>;
    /// Sets owner and group.
    fn set_owner(&self, file: &Handle, owner: u32, group: u32) -> SysResult<()>;
    /// Sets the permission bits.
    fn set_mode(&self, file: &Handle, mode: u32) -> SysResult<()>;
    /// Sets an extended attribute.
    fn set_attribute(&self, file: &Handle, name: &CStr, value: &[u8]) -> SysResult<()>;
    /// Waits until a file or directory is on disk.
    fn sync(&self, file: &Handle) -> SysResult<()>;
    /// Gives a file without a name one that does not exist yet.
    fn link(&self, file: &Handle, dir: &Handle, name: &OsStr) -> SysResult<()>;
    /// Exchanges two names.
    fn exchange(&self, dir: &Handle, one: &OsStr, other: &OsStr) -> SysResult<()>;
    /// Renames, replacing a file that has the new name.
    fn rename(&self, dir: &Handle, from: &OsStr, to: &OsStr) -> SysResult<()>;
    /// Renames to a name that does not exist yet.
    fn rename_new(&self, dir: &Handle, from: &OsStr, to: &OsStr) -> SysResult<()>;
    /// Removes a name.
    fn unlink(&self, dir: &Handle, name: &OsStr) -> SysResult<()>;
}
