//! What the kernel says about a process.

use std::fs;

use crate::Result;

/// A number from a process's status in MB: `VmRSS` is what it uses, `VmHWM` the most it used.
pub fn megabytes(process_id: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let number = value.and_then(|value| value.split_whitespace().next());
    let kilobytes: f64 = number.ok_or_else(|| format!("no {field} in the status"))?.parse()?;
    Ok(kilobytes / 1024.0)
}

/// How many files a process has open.
pub fn n_handles(process_id: u32) -> Result<usize> {
    Ok(fs::read_dir(format!("/proc/{process_id}/fd"))?.count())
}

/// Whether we may mount, give files away and the like.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
