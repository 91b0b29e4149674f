//! The implementation for Linux.

mod directory;
mod file;
mod filesystem;
mod process;
mod stream;
#[cfg(test)]
mod tests;
mod write;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

pub use directory::*;
pub use file::*;
pub use filesystem::*;
pub use process::*;
pub use stream::*;
pub use write::Linux;

use crate::{FileKind, Status, SysError};

macro_rules! errors {
    ($($name:ident = $number:ident: $description:literal,)*) => {
        impl SysError {
            $(#[doc = $description] pub const $name: SysError = SysError(libc::$number);)*
        }
    };
}

errors! {
    ACCESS = EACCES: "Permission denied.",
    AGAIN = EAGAIN: "The call would block.",
    BUSY = EBUSY: "In use.",
    CANCELED = ECANCELED: "Cancelled; no system call that recto makes returns it.",
    DQUOT = EDQUOT: "The disk quota is exhausted.",
    EXIST = EEXIST: "The name exists.",
    FBIG = EFBIG: "The file is too large for the file system.",
    INTR = EINTR: "Interrupted by a signal.",
    INVAL = EINVAL: "Invalid argument.",
    IO = EIO: "Input/output error.",
    ISDIR = EISDIR: "It is a directory.",
    LOOP = ELOOP: "Too many links, or a link where none is followed.",
    NAMETOOLONG = ENAMETOOLONG: "The name is too long.",
    NODEV = ENODEV: "There is no such device.",
    NOENT = ENOENT: "The name does not exist.",
    NOMEM = ENOMEM: "Out of memory.",
    NOMSG = ENOMSG: "No message; no system call that recto makes returns it.",
    NOSPC = ENOSPC: "The disk is full.",
    NOSYS = ENOSYS: "The kernel does not have the call.",
    NOTDIR = ENOTDIR: "It is not a directory.",
    NXIO = ENXIO: "There is no such device or reader.",
    OPNOTSUPP = EOPNOTSUPP: "The file system does not support the call.",
    PERM = EPERM: "Not permitted.",
    RANGE = ERANGE: "The buffer is too small.",
    ROFS = EROFS: "The file system is read-only.",
}

fn sys_error(errno: Errno) -> SysError {
    SysError(errno.raw_os_error())
}

impl Status {
    /// Returns the kind of the file.
    pub fn kind(&self) -> FileKind {
        kind(FileType::from_raw_mode(self.mode))
    }
}

fn status(stat: Stat) -> Status {
    Status {
        device: stat.st_dev,
        inode: stat.st_ino,
        size: stat.st_size as u64,
        mode: stat.st_mode,
        // The type is narrower on some architectures.
        #[allow(clippy::useless_conversion)]
        links: stat.st_nlink.into(),
        uid: stat.st_uid,
        gid: stat.st_gid,
        modified: (stat.st_mtime, stat.st_mtime_nsec as u32),
        changed: (stat.st_ctime, stat.st_ctime_nsec as u32),
    }
}

fn kind(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice => FileKind::CharDevice,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::Unknown => FileKind::Unknown,
    }
}
