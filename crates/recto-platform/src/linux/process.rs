//! Processes and their users, the allocator, and random bytes.

use std::os::unix::net::UnixStream;

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, Signal, geteuid, kill_process_group, test_kill_process_group};
use rustix::rand::{GetRandomFlags, getrandom};

use super::sys_error;
use crate::{SysError, SysResult};

/// A process group, identified by the id of its leader.
#[derive(Debug, Clone, Copy)]
pub struct ProcessGroup(Pid);

impl ProcessGroup {
    /// Returns the group whose leader has this id, or `None` if the id is invalid.
    pub fn of(process_id: u32) -> Option<ProcessGroup> {
        Pid::from_raw(process_id.try_into().ok()?).map(ProcessGroup)
    }

    /// Returns whether a process of the group exists.
    pub fn exists(self) -> bool {
        test_kill_process_group(self.0).is_ok()
    }

    /// Sends SIGTERM to all processes of the group. Ignores an error if they have exited.
    pub fn terminate(self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }

    /// Sends SIGKILL to all processes of the group.
    pub fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

/// Returns whether the peer of a socket runs as the same user as this process.
pub fn is_peer_same_user(socket: &UnixStream) -> SysResult<bool> {
    Ok(socket_peercred(socket).map_err(sys_error)?.uid == geteuid())
}

/// Returns whether this process runs as the user with this id.
pub fn is_own_user(uid: u32) -> bool {
    geteuid().as_raw() == uid
}

/// Makes the C library keep freed blocks below `n_bytes` and up to `n_bytes` in total for each of
/// `n_arenas`, which threads share. Must be called before the first thread starts.
pub fn keep_freed_memory(n_bytes: i32, n_arenas: i32) {
    #[cfg(target_env = "gnu")]
    for (parameter, value) in [
        (libc::M_MMAP_THRESHOLD, n_bytes),
        (libc::M_TRIM_THRESHOLD, n_bytes),
        (libc::M_ARENA_MAX, n_arenas),
    ] {
        // If the call is rejected, only performance changes.
        // SAFETY: it takes two integers, and no other thread allocates yet.
        let _ = unsafe { libc::mallopt(parameter, value) };
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = (n_bytes, n_arenas);
}

/// Returns cryptographically secure random bytes.
pub fn random_bytes<const N: usize>() -> SysResult<[u8; N]> {
    let mut bytes = [0; N];
    let mut n_filled = 0;
    while n_filled < N {
        match getrandom(&mut bytes[n_filled..], GetRandomFlags::empty()).map_err(sys_error) {
            Ok(n) => n_filled += n,
            Err(SysError::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// Returns `N` random bytes as hexadecimal digits.
pub fn random_hex<const N: usize>() -> SysResult<String> {
    Ok(random_bytes::<N>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}
