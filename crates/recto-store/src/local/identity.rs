//! What tells one version of a file from another without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use recto_platform::Status;

/// A clock tick after a write, a second one could leave the same time stamps; two seconds are
/// the coarsest that any filesystem has.
const MIN_AGE: Duration = Duration::from_secs(2);

/// What tells a file's content from what it held before, as far as the system tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, u32),
    changed: (i64, u32),
}

impl Identity {
    pub fn of(status: &Status) -> Identity {
        Identity {
            device: status.device,
            inode: status.inode,
            size: status.size,
            modified: status.modified,
            changed: status.changed,
        }
    }

    /// The same for a file that nobody wrote to for a while; of one that is newer, the next write
    /// could look the same.
    pub fn settled(status: &Status, now: SystemTime) -> Option<Identity> {
        let changed = Duration::new(status.changed.0.max(0) as u64, status.changed.1);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        (now.saturating_sub(changed) >= MIN_AGE).then(|| Identity::of(status))
    }

    /// Returns the device and the inode, which stay the same when the content changes.
    pub fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Whether nothing was written in between, as far as the system tells.
pub fn is_same_content(one: &Status, other: &Status) -> bool {
    Identity::of(one) == Identity::of(other)
}
