//! The system calls of the write protocol.

use std::ffi::{CStr, OsStr};
use std::os::fd::AsRawFd;
use std::sync::Once;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags};
use rustix::io::Errno;

use super::{open_file_at, status_at, sys_error};
use crate::{Handle, Status, Sys, SysError, SysResult};

/// The system calls of Linux.
pub struct Linux(());

impl Linux {
    /// Ignores two signals that would end the process: SIGIO, which the kernel sends for a broken
    /// lease, and SIGXFSZ, which it sends with [`FBIG`](SysError::FBIG) to a process that may not
    /// write a file of that size.
    pub fn new() -> Linux {
        static IGNORE_SIGNALS: Once = Once::new();
        IGNORE_SIGNALS.call_once(|| {
            for signal in [libc::SIGIO, libc::SIGXFSZ] {
                // SAFETY: ignoring a signal installs no handler and accesses no memory.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
        });
        Linux(())
    }
}

impl Default for Linux {
    fn default() -> Linux {
        Linux::new()
    }
}

/// Read and write for everyone, reduced by the umask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

impl Sys for Linux {
    fn status(&self, dir: &Handle, name: &OsStr) -> SysResult<Status> {
        status_at(dir, name)
    }

    fn open(&self, dir: &Handle, name: &OsStr) -> SysResult<Handle> {
        open_file_at(dir, name)
    }

    fn lease(&self, file: &Handle) -> SysResult<()> {
        // SAFETY: the descriptor is open while it is borrowed, and the call takes no pointer.
        match unsafe { libc::fcntl(file.0.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) } {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }

    fn is_leased(&self, file: &Handle) -> bool {
        // SAFETY: as above.
        unsafe { libc::fcntl(file.0.as_raw_fd(), libc::F_GETLEASE) == libc::F_RDLCK }
    }

    fn end_lease(&self, file: &Handle) -> SysResult<()> {
        // SAFETY: as above.
        match unsafe { libc::fcntl(file.0.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) } {
            0 => Ok(()),
            _ => Err(last_error()),
        }
    }

    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        file.read_at(buffer, offset)
    }

    fn open_nameless(&self, dir: &Handle) -> SysResult<Handle> {
        // Readable, so that the written bytes can be compared.
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::openat(dir, ".", flags, NEW_FILE).map(Handle).map_err(sys_error)
    }

    fn create(&self, dir: &Handle, name: &OsStr, mode: u32) -> SysResult<Handle> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(mode))
            .map(Handle)
            .map_err(sys_error)
    }

    fn open_append(&self, dir: &Handle, name: &OsStr) -> SysResult<Handle> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(dir, name, flags, Mode::empty()).map(Handle).map_err(sys_error)
    }

    fn write(&self, file: &Handle, bytes: &[u8]) -> SysResult<usize> {
        rustix::io::write(file, bytes).map_err(sys_error)
    }

    fn set_owner(&self, file: &Handle, owner: u32, group: u32) -> SysResult<()> {
        rustix::fs::fchown(file, Some(Uid::from_raw(owner)), Some(Gid::from_raw(group)))
            .map_err(sys_error)
    }

    fn set_mode(&self, file: &Handle, mode: u32) -> SysResult<()> {
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode)).map_err(sys_error)
    }

    fn set_attribute(&self, file: &Handle, name: &CStr, value: &[u8]) -> SysResult<()> {
        rustix::fs::fsetxattr(file, name, value, XattrFlags::empty()).map_err(sys_error)
    }

    fn sync(&self, file: &Handle) -> SysResult<()> {
        file.sync()
    }

    fn link(&self, file: &Handle, dir: &Handle, name: &OsStr) -> SysResult<()> {
        // Linking by descriptor needs a capability on older kernels; the fallback needs /proc.
        let linked = match rustix::fs::linkat(file, "", dir, name, AtFlags::EMPTY_PATH) {
            Err(Errno::NOENT | Errno::PERM) => {
                let number = file.0.as_raw_fd();
                let by_proc = format!("/proc/self/fd/{number}");
                rustix::fs::linkat(rustix::fs::CWD, by_proc, dir, name, AtFlags::SYMLINK_FOLLOW)
            }
            done => done,
        };
        linked.map_err(sys_error)
    }

    fn exchange(&self, dir: &Handle, one: &OsStr, other: &OsStr) -> SysResult<()> {
        rustix::fs::renameat_with(dir, one, dir, other, RenameFlags::EXCHANGE).map_err(sys_error)
    }

    fn rename(&self, dir: &Handle, from: &OsStr, to: &OsStr) -> SysResult<()> {
        rustix::fs::renameat(dir, from, dir, to).map_err(sys_error)
    }

    fn rename_new(&self, dir: &Handle, from: &OsStr, to: &OsStr) -> SysResult<()> {
        self.move_new(dir, from, dir, to)
    }

    fn symlink(&self, target: &OsStr, dir: &Handle, name: &OsStr) -> SysResult<()> {
        rustix::fs::symlinkat(target, dir, name).map_err(sys_error)
    }

    fn move_new(&self, dir: &Handle, from: &OsStr, to_dir: &Handle, to: &OsStr) -> SysResult<()> {
        rustix::fs::renameat_with(dir, from, to_dir, to, RenameFlags::NOREPLACE).map_err(sys_error)
    }

    fn unlink(&self, dir: &Handle, name: &OsStr) -> SysResult<()> {
        rustix::fs::unlinkat(dir, name, AtFlags::empty()).map_err(sys_error)
    }
}

fn last_error() -> SysError {
    std::io::Error::last_os_error().raw_os_error().map_or(SysError::IO, SysError)
}
