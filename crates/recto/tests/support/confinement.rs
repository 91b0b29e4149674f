//! Servers with and without the layers that confine them: Landlock, and recto's own path
//! resolution.

use std::ffi::OsStr;
use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::client::recto;

/// The layers that confine a server under attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// Landlock and path resolution, which is the default.
    Full,
    /// `--no-landlock`: path resolution alone.
    WithoutLandlock,
    /// Path resolution alone, with `openat2` killing the process: resolution does not depend on it.
    WithoutOpenat2,
}

impl Confinement {
    pub const ALL: [Confinement; 3] =
        [Confinement::Full, Confinement::WithoutLandlock, Confinement::WithoutOpenat2];

    /// Returns the command that serves a directory.
    pub fn serve(self, root: &Path, options: &[impl AsRef<OsStr>]) -> Command {
        let mut command = recto();
        command.arg("serve").arg(root).args(options);
        // Otherwise each of hundreds of servers would log the Landlock status.
        command.env("RECTO_LOG", "error");
        match self {
            Confinement::Full => {}
            Confinement::WithoutLandlock => {
                command.arg("--no-landlock");
            }
            Confinement::WithoutOpenat2 => {
                command.arg("--no-landlock");
                filter(&mut command, libc::SYS_openat2, libc::SECCOMP_RET_KILL_PROCESS);
            }
        }
        command
    }
}

/// Returns the filter action that fails a system call with this error.
pub fn errno(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number as u32
}

/// Starts a program under a seccomp filter that blocks one system call.
pub fn filter(command: &mut Command, system_call: libc::c_long, action: u32) {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let jump = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
    let program = [
        // The number of the system call is the first field.
        step(load, 0, 0),
        step(jump, system_call as u32, 1),
        step(answer, action, 0),
        step(answer, libc::SECCOMP_RET_ALLOW, 0),
    ];
    // SAFETY: between fork and exec only two system calls are made, on memory allocated before the
    // fork.
    unsafe { command.pre_exec(move || install(&program)) };
}

fn install(program: &[libc::sock_filter]) -> Result<()> {
    let filter =
        libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program, which lives until the end of this function.
    let is_installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    if is_installed { Ok(()) } else { Err(Error::last_os_error()) }
}
