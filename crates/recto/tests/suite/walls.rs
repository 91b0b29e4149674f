//! The walls one by one: the kernel's without ours, ours without the kernel's, and ours without a
//! system call that it does without.

mod kernel;
mod start;

use std::ffi::OsStr;
use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::client::BINARY;

/// Behind which walls a server is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walls {
    /// Both, as it is started by default.
    Both,
    /// `--no-landlock`: the walk alone.
    First,
    /// The walk alone, where `openat2` ends the process. There is no other way to resolve a path
    /// than the walk, so this is no fallback but a proof.
    FirstWithoutOpenat2,
}

impl Walls {
    pub const ALL: [Walls; 3] = [Walls::Both, Walls::First, Walls::FirstWithoutOpenat2];

    /// A server of a folder.
    pub fn serve(self, root: &Path, options: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(BINARY);
        command.arg("serve").arg(root).args(options);
        // Hundreds of servers are started, and each would say how far its walls stand.
        command.env("RECTO_LOG", "error");
        match self {
            Walls::Both => {}
            Walls::First => {
                command.arg("--no-landlock");
            }
            Walls::FirstWithoutOpenat2 => {
                command.arg("--no-landlock");
                filter(&mut command, libc::SYS_openat2, libc::SECCOMP_RET_KILL_PROCESS);
            }
        }
        command
    }
}

/// What a filter answers instead of a system call.
pub fn errno(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number as u32
}

/// Starts a program behind a filter that takes one system call away.
pub fn filter(command: &mut Command, system_call: libc::c_long, action: u32) {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let jump = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
    let program = [
        // The number of the system call stands first.
        step(load, 0, 0),
        step(jump, system_call as u32, 1),
        step(answer, action, 0),
        step(answer, libc::SECCOMP_RET_ALLOW, 0),
    ];
    // SAFETY: between fork and exec only two system calls are made, over memory that was there
    // before.
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
