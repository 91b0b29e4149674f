//! Counts open files of a process, and checks the privileges of this one.

use std::fs;

use crate::Result;

/// Returns how many files a process has open.
pub fn n_handles(process_id: u32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{process_id}/fd"))?.count())
}

/// Returns whether this process may mount file systems and change the owner of files.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
