//! Memory of a running process, as the kernel reports it.

use std::fs;

use crate::Result;

/// Returns a size in the status of a process in MB: `VmRSS` is its current memory, `VmHWM` its peak.
pub fn megabytes(process_id: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let number = value.and_then(|value| value.split_whitespace().next());
    let kilobytes: f64 = number.ok_or_else(|| format!("no {field} in the status"))?.parse()?;
    Ok(kilobytes / 1024.0)
}
