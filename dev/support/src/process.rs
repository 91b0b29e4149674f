//! Memory of a running process, as the kernel reports it, and connections to it.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::Result;

/// Returns a size in the status of a process in MB: `VmRSS` is its current memory, `VmHWM` its peak.
pub fn megabytes(process_id: u32, field: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let number = value.and_then(|value| value.split_whitespace().next());
    let kilobytes: f64 = number.ok_or_else(|| format!("no {field} in the status"))?.parse()?;
    Ok(kilobytes / 1024.0)
}

/// Opens connections without waiting until the server accepts them.
pub fn connections(address: &str, n_connections: usize) -> Result<Vec<OwnedFd>> {
    let address: SocketAddr = address.parse()?;
    let open = |_| {
        let kind = SocketType::STREAM;
        let socket = socket_with(AddressFamily::INET, kind, SocketFlags::NONBLOCK, None)?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
    };
    (0..n_connections).map(open).collect()
}
