//! The system calls of the write protocol as a trait, so that tests can make any of them fail.

use std::ffi::{CStr, OsStr};

use crate::{Handle, Status, SysResult};

/// The system calls that a write uses.
pub trait Sys: Send + Sync {
    /// Returns the status of a name, without following a link.
    fn status(&self, dir: &Handle, name: &OsStr) -> SysResult<Status>;
    /// Opens a file for reading. Never follows a link and never blocks.
    fn open(&self, dir: &Handle, name: &OsStr) -> SysResult<Handle>;
    /// Requests a lease, which breaks when another process opens the file for writing.
    fn lease(&self, file: &Handle) -> SysResult<()>;
    /// Returns whether a lease is unbroken.
    fn is_leased(&self, file: &Handle) -> bool;
    /// Releases a lease, so that processes waiting for it continue.
    fn end_lease(&self, file: &Handle) -> SysResult<()>;
    /// Reads at an offset.
    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> SysResult<usize>;
    /// Creates a file without a name.
    fn open_nameless(&self, dir: &Handle) -> SysResult<Handle>;
    /// Creates a file. Fails if the name exists.
    fn create(&self, dir: &Handle, name: &OsStr, mode: u32) -> SysResult<Handle>;
    /// Opens a file for appending. Never follows a link and never blocks.
    fn open_append(&self, dir: &Handle, name: &OsStr) -> SysResult<Handle>;
    /// Writes some of the bytes, and returns how many.
    fn write(&self, file: &Handle, bytes: &[u8]) -> SysResult<usize>;
    /// Sets owner and group.
    fn set_owner(&self, file: &Handle, owner: u32, group: u32) -> SysResult<()>;
    /// Sets the permission bits.
    fn set_mode(&self, file: &Handle, mode: u32) -> SysResult<()>;
    /// Sets an extended attribute.
    fn set_attribute(&self, file: &Handle, name: &CStr, value: &[u8]) -> SysResult<()>;
    /// Waits until a file or directory is on disk.
    fn sync(&self, file: &Handle) -> SysResult<()>;
    /// Gives a name to a file created without one. Fails if the name exists.
    fn link(&self, file: &Handle, dir: &Handle, name: &OsStr) -> SysResult<()>;
    /// Creates a symbolic link. Fails if the name exists.
    fn symlink(&self, target: &OsStr, dir: &Handle, name: &OsStr) -> SysResult<()>;
    /// Exchanges two names atomically.
    fn exchange(&self, dir: &Handle, one: &OsStr, other: &OsStr) -> SysResult<()>;
    /// Renames a file, replacing an existing one.
    fn rename(&self, dir: &Handle, from: &OsStr, to: &OsStr) -> SysResult<()>;
    /// Renames a file. Fails if the new name exists.
    fn rename_new(&self, dir: &Handle, from: &OsStr, to: &OsStr) -> SysResult<()>;
    /// Moves a file to another directory, or another name. Fails if the new name exists.
    fn move_new(&self, dir: &Handle, from: &OsStr, to_dir: &Handle, to: &OsStr) -> SysResult<()>;
    /// Removes a name.
    fn unlink(&self, dir: &Handle, name: &OsStr) -> SysResult<()>;
}
