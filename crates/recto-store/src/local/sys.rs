//! The system calls of the write protocol behind one small trait, so that tests can fail the
//! N-th, and the one table that turns their errors into the contract's.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Once;

use crate::error::Error;
use crate::error::{Denial, Instead};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags};
use rustix::io::Errno;

use crate::path::AbsPath;

/// What a system call answers.
pub type SysResult<T> = Result<T, Errno>;

/// The system calls that a write is made of.
pub trait Sys: Send + Sync {
    /// Looks at a name without following it.
    fn status(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<Stat>;
    /// Opens a file for reading; never follows, never blocks.
    fn open(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<OwnedFd>;
    /// Asks to be told if somebody opens the file for writing.
    fn lease(&self, file: BorrowedFd<'_>) -> SysResult<()>;
    /// Whether a lease that was given still stands.
    fn is_leased(&self, file: BorrowedFd<'_>) -> bool;
    /// Gives a lease back, so that those who wait for it go on.
    fn end_lease(&self, file: BorrowedFd<'_>) -> SysResult<()>;
    /// Reads at a place.
    fn read_at(&self, file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> SysResult<usize>;
    /// Opens a file without a name.
    fn open_nameless(&self, folder: &OwnedFd) -> SysResult<OwnedFd>;
    /// Opens a new file with a name.
    fn create(&self, folder: &OwnedFd, name: &OsStr, mode: Mode) -> SysResult<OwnedFd>;
    /// Opens a file to write at its end; never follows, never blocks.
    fn open_end(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<OwnedFd>;
    /// Writes some of the bytes.
    fn write(&self, file: BorrowedFd<'_>, bytes: &[u8]) -> SysResult<usize>;
    /// Gives the file to somebody.
    fn set_owner(&self, file: BorrowedFd<'_>, owner: Uid, group: Gid) -> SysResult<()>;
    /// Sets the permission bits.
    fn set_mode(&self, file: BorrowedFd<'_>, mode: Mode) -> SysResult<()>;
    /// Sets an extended attribute.
    fn set_attribute(&self, file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> SysResult<()>;
    /// Waits until a file or folder is on the disk.
    fn sync(&self, file: BorrowedFd<'_>) -> SysResult<()>;
    /// Gives a file without a name one, if nobody has it.
    fn link(&self, file: BorrowedFd<'_>, folder: &OwnedFd, name: &OsStr) -> SysResult<()>;
    /// Exchanges what two names stand for.
    fn exchange(&self, folder: &OwnedFd, one: &OsStr, other: &OsStr) -> SysResult<()>;
    /// Renames over whatever has the new name.
    fn rename(&self, folder: &OwnedFd, from: &OsStr, to: &OsStr) -> SysResult<()>;
    /// Renames if nobody has the new name.
    fn rename_new(&self, folder: &OwnedFd, from: &OsStr, to: &OsStr) -> SysResult<()>;
    /// Takes a name away.
    fn unlink(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<()>;
}

/// The real system calls.
pub struct Linux(());

impl Linux {
    /// A broken lease is announced by SIGIO, whose default is to end the process; we ask instead.
    pub fn new() -> Linux {
        static IGNORE_SIGIO: Once = Once::new();
        IGNORE_SIGIO.call_once(|| {
            // SAFETY: ignoring a signal installs no handler and touches no memory of ours.
            unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
        });
        Linux(())
    }
}

impl Default for Linux {
    fn default() -> Linux {
        Linux::new()
    }
}

/// Owner, group and others may read and write, less what the umask takes.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

impl Sys for Linux {
    fn status(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<Stat> {
        rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn open(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<OwnedFd> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, Mode::empty())
    }

    fn lease(&self, file: BorrowedFd<'_>) -> SysResult<()> {
        // SAFETY: the descriptor is open for as long as it is borrowed; the call takes no pointer.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) } {
            0 => Ok(()),
            _ => Err(last_errno()),
        }
    }

    fn is_leased(&self, file: BorrowedFd<'_>) -> bool {
        // SAFETY: as above.
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) == libc::F_RDLCK }
    }

    fn end_lease(&self, file: BorrowedFd<'_>) -> SysResult<()> {
        // SAFETY: as above.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) } {
            0 => Ok(()),
            _ => Err(last_errno()),
        }
    }

    fn read_at(&self, file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> SysResult<usize> {
        rustix::io::pread(file, buffer, offset)
    }

    fn open_nameless(&self, folder: &OwnedFd) -> SysResult<OwnedFd> {
        // Readable, so that what was written can be compared.
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::openat(folder, ".", flags, NEW_FILE)
    }

    fn create(&self, folder: &OwnedFd, name: &OsStr, mode: Mode) -> SysResult<OwnedFd> {
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, mode)
    }

    fn open_end(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<OwnedFd> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, Mode::empty())
    }

    fn write(&self, file: BorrowedFd<'_>, bytes: &[u8]) -> SysResult<usize> {
        rustix::io::write(file, bytes)
    }

    fn set_owner(&self, file: BorrowedFd<'_>, owner: Uid, group: Gid) -> SysResult<()> {
        rustix::fs::fchown(file, Some(owner), Some(group))
    }

    fn set_mode(&self, file: BorrowedFd<'_>, mode: Mode) -> SysResult<()> {
        rustix::fs::fchmod(file, mode)
    }

    fn set_attribute(&self, file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> SysResult<()> {
        rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())
    }

    fn sync(&self, file: BorrowedFd<'_>) -> SysResult<()> {
        rustix::fs::fsync(file)
    }

    fn link(&self, file: BorrowedFd<'_>, folder: &OwnedFd, name: &OsStr) -> SysResult<()> {
        // By descriptor needs a capability on older kernels, by /proc needs /proc.
        match rustix::fs::linkat(file, "", folder, name, AtFlags::EMPTY_PATH) {
            Err(Errno::NOENT | Errno::PERM) => {
                let number = file.as_raw_fd();
                let by_proc = format!("/proc/self/fd/{number}");
                rustix::fs::linkat(rustix::fs::CWD, by_proc, folder, name, AtFlags::SYMLINK_FOLLOW)
            }
            done => done,
        }
    }

    fn exchange(&self, folder: &OwnedFd, one: &OsStr, other: &OsStr) -> SysResult<()> {
        rustix::fs::renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE)
    }

    fn rename(&self, folder: &OwnedFd, from: &OsStr, to: &OsStr) -> SysResult<()> {
        rustix::fs::renameat(folder, from, folder, to)
    }

    fn rename_new(&self, folder: &OwnedFd, from: &OsStr, to: &OsStr) -> SysResult<()> {
        rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE)
    }

    fn unlink(&self, folder: &OwnedFd, name: &OsStr) -> SysResult<()> {
        rustix::fs::unlinkat(folder, name, AtFlags::empty())
    }
}

fn last_errno() -> Errno {
    std::io::Error::last_os_error().raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

/// The error of a change that stands and could not be synced.
pub fn not_durable(errno: Errno, path: &AbsPath) -> Error {
    let cause = format!("syncing it to disk failed: {}", describe(errno));
    Error::NotDurable { path: path.to_string(), cause }
}

/// Calls again after an interruption, but not for ever.
pub fn retry<T>(mut call: impl FnMut() -> SysResult<T>) -> SysResult<T> {
    for _ in 0..100 {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
    Err(Errno::INTR)
}

/// Whether a call failed because this filesystem or kernel does not have it.
pub fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS | Errno::ISDIR)
}

/// The contract's error for what the system said about a path.
pub fn error(errno: Errno, path: &AbsPath, n_bytes: usize) -> Error {
    let path = path.to_string();
    match errno {
        Errno::NOENT | Errno::NOTDIR => Error::FileNotFound { path },
        Errno::NAMETOOLONG => Error::PathTooLong { path },
        Errno::ACCESS | Errno::PERM => Error::PermissionDenied { path, reason: Denial::System },
        Errno::ROFS => Error::ReadOnlyFilesystem { path },
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Error::DiskFull { n_bytes, path },
        Errno::BUSY => Error::PermissionDenied { path, reason: Denial::MountPoint },
        Errno::ISDIR => Error::IsDirectory { path },
        Errno::NXIO | Errno::NODEV | Errno::LOOP => {
            Error::NotAFile { path, instead: Instead::Other }
        }
        other => Error::System { path, cause: describe(other) },
    }
}

/// What the system calls an error, for people.
pub fn describe(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}

/// Borrows for a call.
pub fn fd(file: &impl AsFd) -> BorrowedFd<'_> {
    file.as_fd()
}
