//! Describes the machine without identifying it, and reads the state of processes.

use std::fs;
use std::path::Path;

use recto_dev::process::megabytes;

use crate::Result;

/// Returns cores, kernel and file system, in one line.
pub fn describe(folder: &Path) -> Result<String> {
    let n_cores = std::thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    // The rest of the version names a build or a host.
    let version = kernel.trim().split('-').next().unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let filesystem = filesystem(&mounts, &folder.canonicalize()?);
    Ok(format!("{n_cores} cores, Linux {version}, {filesystem}"))
}

/// Returns the type of the deepest mount that contains `folder`; of several at one path, the last.
fn filesystem<'a>(mounts: &'a str, folder: &Path) -> &'a str {
    let mut deepest = ("unknown filesystem", 0);
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(1);
        let (Some(place), Some(kind)) = (fields.next(), fields.next()) else { continue };
        if folder.starts_with(place) && place.len() >= deepest.1 {
            deepest = (kind, place.len());
        }
    }
    deepest.0
}

/// Returns whether a thread of a process runs or waits for the disk.
pub fn is_running(process_id: u32) -> Result<bool> {
    for task in fs::read_dir(format!("/proc/{process_id}/task"))? {
        // A thread that has ended does not run.
        let status = fs::read_to_string(task?.path().join("stat")).unwrap_or_default();
        let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        if matches!(state, Some('R' | 'D')) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the memory of a process and its descendants in MB; see [`megabytes`].
pub fn megabytes_of_family(process_id: u32, field: &str) -> Result<f64> {
    let mut sum = megabytes(process_id, field)?;
    for task in fs::read_dir(format!("/proc/{process_id}/task"))? {
        let children = fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            // A process that has ended has no status.
            sum += megabytes_of_family(child.parse()?, field).unwrap_or(0.0);
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_counts() {
        let mounts = "disk / ext4 rw 0 0\nnone /tmp tmpfs rw 0 0\nnone /tmp/a/b xfs rw 0 0\n";
        assert_eq!(filesystem(mounts, Path::new("/tmp/a")), "tmpfs");
        assert_eq!(filesystem(mounts, Path::new("/home")), "ext4");
    }
}
