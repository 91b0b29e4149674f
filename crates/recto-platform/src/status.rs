//! File metadata.

/// The metadata of a file, directory or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The device of its file system.
    pub device: u64,
    /// The inode number on the device.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// The kind and the permission bits.
    pub mode: u32,
    /// The number of hard links.
    pub links: u64,
    /// The owner.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
    /// When the content last changed: seconds since 1970 and nanoseconds.
    pub modified: (i64, u32),
    /// When the content or the metadata last changed.
    pub changed: (i64, u32),
}

impl Status {
    /// Returns the device and inode, which identify a file.
    pub fn id(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A kind that is unknown, or that the file system does not report.
    Unknown,
}
