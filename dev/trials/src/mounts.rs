//! Mounts file systems for a trial: a small one in memory, and one on a loop device whose power can
//! be cut. Both need root.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::Result;

/// A mounted file system. Dropping it unmounts it.
pub struct Mount {
    place: PathBuf,
    is_mounted: bool,
}

impl Mount {
    /// Mounts a file system in memory of that many megabytes.
    pub fn in_memory(place: &Path, megabytes: usize) -> Result<Mount> {
        let options = CString::new(format!("size={megabytes}m"))?;
        mount("tmpfs", place, "tmpfs", MountFlags::empty(), Some(options.as_c_str()))
            .map_err(|errno| format!("cannot mount a tmpfs: {errno}"))?;
        Ok(Mount { place: place.to_path_buf(), is_mounted: true })
    }

    /// Mounts an image through a loop device, which `mount` sets up.
    pub fn image(image: &Path, place: &Path) -> Result<Mount> {
        run(Command::new("mount").args(["-o", "loop"]).arg(image).arg(place))?;
        Ok(Mount { place: place.to_path_buf(), is_mounted: true })
    }

    pub fn unmount(mut self) -> Result<()> {
        self.unmount_now()
    }

    fn unmount_now(&mut self) -> Result<()> {
        self.is_mounted = false;
        // A process that was just killed may still have open handles.
        for _ in 0..100 {
            match unmount(&self.place, UnmountFlags::empty()) {
                Err(rustix::io::Errno::BUSY) => std::thread::sleep(Duration::from_millis(20)),
                done => return Ok(done?),
            }
        }
        Err("the file system stays busy".into())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.is_mounted && self.unmount_now().is_err() {
            // A detached mount does not block the removal of the directory.
            let _ = unmount(&self.place, UnmountFlags::DETACH);
        }
    }
}

/// Stops all writes and discards everything that is only in memory, including the journal.
pub fn cut_power_of(root: &File) -> Result<()> {
    // EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are the same request: _IOR('X', 125, __u32).
    const SHUTDOWN: libc::Ioctl = 0x8004_587d_u32 as libc::Ioctl;
    let no_log_flush: u32 = 2;
    // SAFETY: the descriptor is open, and the request reads one u32 through the pointer.
    match unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN, &raw const no_log_flush) } {
        0 => Ok(()),
        _ => Err(format!("shutdown ioctl: {}", std::io::Error::last_os_error()).into()),
    }
}

/// Creates an empty image with a file system.
pub fn make_image(image: &Path, filesystem: &str) -> Result<()> {
    // XFS requires 300 MB; the file is sparse.
    File::create(image)?.set_len(320 << 20)?;
    run(Command::new(format!("mkfs.{filesystem}")).arg("-q").arg(image))
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().to_string();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim()).into())
}
