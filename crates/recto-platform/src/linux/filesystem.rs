//! Known file systems: their names, and how reads of their files behave.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::StatFs;

use super::sys_error;
use crate::{Handle, Status, SysResult};

/// How reads of files on a file system behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filesystem {
    /// The kernel generates the content on each read.
    Pseudo,
    /// Reads end exactly at the reported size.
    ExactSize,
    /// Unknown: a file may have more or fewer bytes than reported.
    Other,
}

use Filesystem::{ExactSize, Other, Pseudo};

/// Magic number, name as shown by `mount`, behaviour.
const KNOWN: [(u32, &str, Filesystem); 28] = [
    (0x0000_ef53, "ext4", ExactSize),
    (0x5846_5342, "xfs", ExactSize),
    (0x9123_683e, "btrfs", ExactSize),
    (0xf2f5_2010, "f2fs", ExactSize),
    (0x0102_1994, "tmpfs", ExactSize),
    (0x2fc1_2fc1, "zfs", Other),
    (0x794c_7630, "overlay", Other),
    (0x0000_6969, "nfs", Other),
    (0xff53_4d42, "cifs", Other),
    (0xfe53_4d42, "smb", Other),
    (0x0102_1997, "9p", Other),
    (0x6573_5546, "fuse", Other),
    (0x0000_4d44, "vfat", Other),
    (0x2011_bab0, "exfat", Other),
    (0x0000_9fa0, "proc", Pseudo),
    (0x6265_6572, "sysfs", Pseudo),
    (0x6462_6720, "debugfs", Pseudo),
    (0x7472_6163, "tracefs", Pseudo),
    (0x7363_6673, "securityfs", Pseudo),
    (0x6367_7270, "cgroup2", Pseudo),
    (0x0027_e0eb, "cgroup", Pseudo),
    (0xcafe_4a11, "bpf", Pseudo),
    (0x4249_4e4d, "binfmt_misc", Pseudo),
    (0x6265_6570, "configfs", Pseudo),
    (0xde5e_81e4, "efivarfs", Pseudo),
    (0xf97c_ff8c, "selinuxfs", Pseudo),
    (0x4341_5d53, "smackfs", Pseudo),
    (0x6165_676c, "pstore", Pseudo),
];

impl Filesystem {
    /// Returns the behaviour of an open file.
    pub fn of(file: &Handle, status: &Status) -> SysResult<Filesystem> {
        /// The disk that was last found to report exact sizes, as nearly all files are on one disk.
        /// Only disks keep their device number; other numbers may be reused.
        static EXACT_SIZE_DISK: AtomicU64 = AtomicU64::new(0);
        if EXACT_SIZE_DISK.load(Ordering::Relaxed) == status.device {
            return Ok(ExactSize);
        }
        let filesystem = known(&rustix::fs::fstatfs(file).map_err(sys_error)?)
            .map_or(Other, |(_, filesystem)| filesystem);
        if filesystem == ExactSize && rustix::fs::major(status.device) != 0 {
            EXACT_SIZE_DISK.store(status.device, Ordering::Relaxed);
        }
        Ok(filesystem)
    }
}

/// How a directory compares the case of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameCase {
    /// `a` and `A` are different names.
    Exact,
    /// They are the same name.
    Ignored,
    /// They are different names unless the file system was set up otherwise.
    UsuallyExact,
    /// Unknown.
    Unknown,
}

/// Returns how a directory compares the case of names, without trying it.
pub fn name_case(dir: &Handle) -> NameCase {
    let Ok(found) = rustix::fs::fstatfs(dir) else { return NameCase::Unknown };
    match number(&found) {
        // btrfs.
        0x9123_683e => NameCase::Exact,
        // ext4, f2fs, tmpfs and bcachefs have a flag for each directory.
        0x0000_ef53 | 0xf2f5_2010 | 0x0102_1994 | 0xca45_1a4e => {
            match super::open_directory_at(dir, ".").map(|dir| dir.flags().ignores_case()) {
                Ok(true) => NameCase::Ignored,
                Ok(false) => NameCase::Exact,
                Err(_) => NameCase::UsuallyExact,
            }
        }
        // vfat, exfat, the NTFS drivers, CIFS, SMB, HFS, HFS+, HPFS.
        0x0000_4d44 | 0x2011_bab0 | 0x5346_544e | 0x7366_746e | 0xff53_4d42 | 0xfe53_4d42
        | 0x0000_517b | 0x0000_4244 | 0x0000_482b | 0xf995_e849 => NameCase::Ignored,
        // xfs, zfs, overlay, nfs.
        0x5846_5342 | 0x2fc1_2fc1 | 0x794c_7630 | 0x0000_6969 => NameCase::UsuallyExact,
        _ => NameCase::Unknown,
    }
}

/// Returns the name of the file system of a path, as shown by `mount`.
pub fn filesystem_name(path: &Path) -> SysResult<String> {
    let found = rustix::fs::statfs(path).map_err(sys_error)?;
    Ok(match known(&found) {
        Some((name, _)) => name.to_string(),
        None => format!("file system {:#x}", number(&found)),
    })
}

fn known(found: &StatFs) -> Option<(&'static str, Filesystem)> {
    let is_it = |(known, ..): &&(u32, &str, Filesystem)| *known == number(found);
    KNOWN.iter().find(is_it).map(|(_, name, filesystem)| (*name, *filesystem))
}

/// Returns the magic number, which fits 32 bits on every architecture.
fn number(found: &StatFs) -> u32 {
    found.f_type as u32
}
