//! Kills a process as it enters its N-th system call that changes a file or directory, counted over
//! all of its threads. It runs as a separate process, because a tracer consumes the events that the
//! parent of the traced process waits for.
//!
//! `strace -e inject=…:signal=KILL:when=N` counts each thread separately and does not distinguish
//! pipes from files: the thread that reads requests would die at its first write, long before the
//! thread that writes the file gets to its first.

use std::io::{Read, Write};
use std::mem::size_of;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::ptr::null_mut;

use crate::Result;

/// The option that makes this program the tracer, followed by a process id and N.
pub const OPTION: &str = "--kill-at";

/// An attached tracer.
pub struct Tracer {
    child: Child,
    output: ChildStdout,
}

impl Tracer {
    /// Attaches a tracer to a process and waits until it is ready.
    pub fn attach(process_id: u32, n: usize) -> Result<Tracer> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([OPTION, &process_id.to_string(), &n.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut output = child.stdout.take().ok_or("no stdout")?;
        let mut ready = [0];
        match output.read_exact(&mut ready) {
            Ok(()) => Ok(Tracer { child, output }),
            Err(_) => {
                child.wait()?;
                Err("this process may not trace others".into())
            }
        }
    }

    /// Waits for the traced process to end, and returns the call that it was killed at, if any.
    pub fn wait(mut self) -> Result<Option<&'static str>> {
        let mut said = String::new();
        self.output.read_to_string(&mut said)?;
        self.child.wait()?;
        Ok(CALLS.iter().map(|call| call.name).find(|name| *name == said))
    }
}

/// A system call that changes a file or directory.
struct Call {
    name: &'static str,
    number: libc::c_long,
    when: When,
}

/// The condition under which it does.
enum When {
    Always,
    /// If its first argument is a handle of a file.
    OnAFile,
    /// If the flags in this argument open for more than reading.
    Opening(usize),
}

macro_rules! call {
    ($name:literal, $number:ident, $when:expr) => {
        Call { name: $name, number: libc::$number, when: $when }
    };
}

const CALLS: &[Call] = &[
    call!("openat", SYS_openat, When::Opening(2)),
    call!("openat2", SYS_openat2, When::Always),
    call!("write", SYS_write, When::OnAFile),
    call!("pwrite64", SYS_pwrite64, When::OnAFile),
    call!("writev", SYS_writev, When::OnAFile),
    call!("pwritev", SYS_pwritev, When::OnAFile),
    call!("copy_file_range", SYS_copy_file_range, When::Always),
    call!("truncate", SYS_truncate, When::Always),
    call!("ftruncate", SYS_ftruncate, When::Always),
    call!("fallocate", SYS_fallocate, When::Always),
    call!("fsync", SYS_fsync, When::Always),
    call!("fdatasync", SYS_fdatasync, When::Always),
    call!("fchmod", SYS_fchmod, When::Always),
    call!("fchmodat", SYS_fchmodat, When::Always),
    call!("fchown", SYS_fchown, When::Always),
    call!("fchownat", SYS_fchownat, When::Always),
    call!("fsetxattr", SYS_fsetxattr, When::Always),
    call!("fremovexattr", SYS_fremovexattr, When::Always),
    call!("flock", SYS_flock, When::Always),
    call!("linkat", SYS_linkat, When::Always),
    call!("symlinkat", SYS_symlinkat, When::Always),
    call!("mkdirat", SYS_mkdirat, When::Always),
    call!("renameat", SYS_renameat, When::Always),
    call!("renameat2", SYS_renameat2, When::Always),
    call!("unlinkat", SYS_unlinkat, When::Always),
    #[cfg(target_arch = "x86_64")]
    call!("open", SYS_open, When::Opening(1)),
    #[cfg(target_arch = "x86_64")]
    call!("creat", SYS_creat, When::Always),
    #[cfg(target_arch = "x86_64")]
    call!("chmod", SYS_chmod, When::Always),
    #[cfg(target_arch = "x86_64")]
    call!("link", SYS_link, When::Always),
    #[cfg(target_arch = "x86_64")]
    call!("rename", SYS_rename, When::Always),
    #[cfg(target_arch = "x86_64")]
    call!("unlink", SYS_unlink, When::Always),
];

impl Call {
    fn changes(&self, thread: i32, arguments: &[u64; 6]) -> bool {
        match self.when {
            When::Always => true,
            When::OnAFile => {
                let handle = format!("/proc/{thread}/fd/{}", arguments[0]);
                // Pipes, /dev/null and the like do not count.
                std::fs::metadata(handle).is_ok_and(|found| found.is_file())
            }
            When::Opening(place) => {
                const MORE: libc::c_int =
                    libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
                arguments[place] & MORE as u64 != 0
            }
        }
    }
}

/// Traces, as the process that `Tracer::attach` starts. Returns when the traced process has ended.
pub fn main(arguments: &[String]) -> Result<()> {
    let [process_id, n] = arguments else { return Err("--kill-at takes a process and N".into()) };
    let (process_id, n): (i32, usize) = (process_id.parse()?, n.parse()?);
    for entry in std::fs::read_dir(format!("/proc/{process_id}/task"))? {
        let thread: i32 = entry?.file_name().to_string_lossy().parse()?;
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE;
        trace(libc::PTRACE_SEIZE, thread, options as usize)?;
        trace(libc::PTRACE_INTERRUPT, thread, 0)?;
    }
    let mut output = std::io::stdout();
    output.write_all(b"!")?;
    output.flush()?;
    let mut n_calls = 0;
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to a live integer.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        if thread < 0 {
            return Ok(());
        }
        if !libc::WIFSTOPPED(status) {
            continue;
        }
        let mut signal = 0;
        match (libc::WSTOPSIG(status), status >> 16) {
            (stop, 0) if stop == libc::SIGTRAP | 0x80 => {
                if let Some(call) = entered(thread)? {
                    n_calls += 1;
                    if n_calls == n {
                        // SAFETY: takes no pointer; the process is stopped, so its id is valid.
                        unsafe { libc::kill(process_id, libc::SIGKILL) };
                        output.write_all(call.as_bytes())?;
                        output.flush()?;
                    }
                }
            }
            // A signal for the process, which is delivered.
            (stop, 0) => signal = stop,
            // A thread was started or has just been attached.
            _ => {}
        }
        // A thread that was killed meanwhile is gone; its end is reported above.
        let _ = trace(libc::PTRACE_SYSCALL, thread, signal as usize);
    }
}

/// Returns the listed call that a stopped thread is entering.
fn entered(thread: i32) -> Result<Option<&'static str>> {
    // SAFETY: the type is plain numbers, for which zeros are valid.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most the given size to the live value behind the pointer.
    let n = unsafe {
        libc::ptrace(
            libc::PTRACE_GET_SYSCALL_INFO,
            thread,
            size_of::<libc::ptrace_syscall_info>(),
            &raw mut info,
        )
    };
    if n <= 0 || info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return Ok(None);
    }
    // SAFETY: `op` says that this is the part that was filled.
    let entry = unsafe { info.u.entry };
    let call = CALLS.iter().find(|call| call.number as u64 == entry.nr);
    Ok(call.filter(|call| call.changes(thread, &entry.args)).map(|call| call.name))
}

fn trace(request: libc::c_uint, thread: i32, data: usize) -> Result<()> {
    // SAFETY: these requests take a number as data and no address.
    match unsafe { libc::ptrace(request, thread, null_mut::<libc::c_void>(), data) } {
        0 => Ok(()),
        _ => Err(format!("ptrace: {}", std::io::Error::last_os_error()).into()),
    }
}
