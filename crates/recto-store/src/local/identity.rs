//! Distinguishes versions of a file without reading it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use recto_platform::Status;

/// Two writes within one clock tick can leave the same timestamps. The coarsest tick of any file
/// system is two seconds.
const MIN_AGE: Duration = Duration::from_secs(2);

/// The metadata that changes when the content of a file changes.
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

    /// Returns the identity of a file that was not modified recently. After a recent write, a
    /// second one could leave the same identity.
    pub fn settled(status: &Status, now: SystemTime) -> Option<Identity> {
        let changed = Duration::new(status.changed.0.max(0) as u64, status.changed.1);
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        (now.saturating_sub(changed) >= MIN_AGE).then(|| Identity::of(status))
    }

    /// Returns the device and inode, which stay the same when the content changes.
    pub fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// Returns whether the metadata shows no write between two states.
pub fn is_same_content(one: &Status, other: &Status) -> bool {
    Identity::of(one) == Identity::of(other)
}
