//! What the kernel says about a process.

use std::fs;

use crate::Result;

/// How many files a process has open.
pub fn n_handles(process_id: u32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{process_id}/fd"))?.count())
}

/// Whether we may mount, give files away and the like.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
