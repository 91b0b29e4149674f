//! What tells one version of a file from another without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// A clock tick after a write, a second one could leave the same time stamps; two seconds are
/// the coarsest that any filesystem has.
const MIN_AGE: Duration = Duration::from_secs(2);

/// What tells a file's content from what it held before, as far as the system tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl Identity {
    pub fn of(status: &Stat) -> Identity {
        Identity {
            device: status.st_dev,
            inode: status.st_ino,
            size: status.st_size,
            modified: (status.st_mtime, status.st_mtime_nsec),
            changed: (status.st_ctime, status.st_ctime_nsec),
        }
    }

    /// The same for a file that nobody wrote to for a while; of one that is newer, the next write
    /// could look the same.
    pub fn settled(status: &Stat, now: SystemTime) -> Option<Identity> {
        let changed = Duration::new(status.st_ctime.max(0) as u64, status.st_ctime_nsec as u32);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        (now.saturating_sub(changed) >= MIN_AGE).then(|| Identity::of(status))
    }

    /// Returns the device and the inode, which stay the same when the content changes.
    pub fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Whether nothing was written in between, as far as the system tells.
pub fn is_same_content(one: &Stat, other: &Stat) -> bool {
    Identity::of(one) == Identity::of(other)
}
