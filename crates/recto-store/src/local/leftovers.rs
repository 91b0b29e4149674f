//! Temporary files that killed processes leave in a directory, recognized by name and content and
//! removed before the next change there.
//!
//! A leftover is removed only if it contains the version that was being replaced or the text that
//! was replacing it, and no process has it open for writing. Any other file with such a name may be
//! another process's work, caught in an exchange by a crash, and is kept.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

use recto_platform::{FileKind, Handle, Sys, SysError, random_hex};
use recto_text::Tag;
use recto_text::digest::Digester;

use super::lock::DirLock;
use super::sys;
use crate::lru::Lru;
use crate::{limits, sync};

const PREFIX: &str = ".recto-";

/// The suffix of a file that is being written and never had another name.
const PARTIAL: &str = ".part";

/// The suffix of a complete file, which may have been exchanged for the old one.
const COMPLETE: &str = ".tmp";

/// The number of directories that are remembered.
const MAX_REMEMBERED: usize = 1024;

/// Returns a temporary name for new content, made of the tags of the content that it
/// replaces and of its own.
pub fn name(before: Option<Tag>, after: Tag) -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    /// Distinguishes processes, even those that have the same id in different containers.
    static PROCESS: LazyLock<String> =
        LazyLock::new(|| random_hex::<4>().unwrap_or_else(|_| format!("{:x}", std::process::id())));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let before = before.map_or("new".to_string(), |tag| tag.to_string());
    format!("{PREFIX}{before}-{after}-{}-{count:x}{COMPLETE}", *PROCESS).into()
}

/// Returns the name for content that is still being written.
pub fn partial(name: &OsStr) -> OsString {
    let mut partial = name.to_os_string();
    partial.push(PARTIAL);
    partial
}

/// Returns the name for content that is completely written.
pub fn complete(partial: &OsStr) -> OsString {
    let name = partial.as_bytes();
    OsStr::from_bytes(name.strip_suffix(PARTIAL.as_bytes()).unwrap_or(name)).to_os_string()
}

/// Returns whether a name is that of a leftover.
pub fn is_name(name: &OsStr) -> bool {
    Leftover::parse(name).is_some()
}

/// Whether a leftover can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftoverVerdict {
    /// It contains the version that was being replaced, or the text that was replacing it.
    Removable,
    /// It may be the only copy of another process's work, or is too large to check.
    Unrecognized,
}

/// Returns the leftovers in a locked directory.
pub fn find(sys: &dyn Sys, lock: &DirLock) -> Vec<(OsString, LeftoverVerdict)> {
    let with_verdict = |name: OsString| match open_removable(sys, lock, &name) {
        Some(_) => (name, LeftoverVerdict::Removable),
        None => (name, LeftoverVerdict::Unrecognized),
    };
    names(lock).map(with_verdict).collect()
}

/// Removes a leftover if it is safe to remove, and returns whether it was removed.
pub fn remove(sys: &dyn Sys, lock: &DirLock, name: &OsStr) -> bool {
    // Without a lock against other processes, it may belong to a write in progress.
    if !lock.excludes_other_processes() {
        return false;
    }
    let Some(file) = open_removable(sys, lock, name) else { return false };
    !file.is_written_to(sys) && sys.unlink(lock.dir(), name).is_ok()
}

fn names(lock: &DirLock) -> impl Iterator<Item = OsString> {
    let opened = recto_platform::open_directory_at(lock.dir(), ".");
    let entries = opened.and_then(recto_platform::entries).into_iter().flatten().flatten();
    entries.map(|(name, _)| name).filter(|name| is_name(name))
}

/// The directories that are known to contain no leftovers.
#[derive(Default)]
pub struct Leftovers {
    /// The modification times of directories after recto's last change.
    clean: Mutex<Lru<(u64, u64), (i64, u32), MAX_REMEMBERED>>,
}

impl Leftovers {
    /// Removes leftovers, unless the directory is known to contain none. Returns whether all are
    /// gone; a leftover that cannot be removed now is tried again next time.
    pub fn clean(&self, sys: &dyn Sys, lock: &DirLock) -> bool {
        let known = sync::lock(&self.clean).get(&lock.id()).copied();
        if known.is_some() && known == change_time(lock) {
            return true;
        }
        let n_kept = names(lock).filter(|name| !remove(sys, lock, name)).count();
        if n_kept == 0 {
            self.remember(lock);
        }
        n_kept == 0
    }

    /// Remembers the current modification time of a directory without leftovers.
    pub fn remember(&self, lock: &DirLock) {
        let Some(time) = change_time(lock) else { return };
        sync::lock(&self.clean).insert(lock.id(), time);
    }
}

fn change_time(lock: &DirLock) -> Option<(i64, u32)> {
    Some(lock.dir().status().ok()?.modified)
}

/// The parsed name of a leftover.
#[derive(Debug, PartialEq, Eq)]
enum Leftover {
    Partial,
    Complete { before: Option<Tag>, after: Tag },
}

impl Leftover {
    fn parse(name: &OsStr) -> Option<Leftover> {
        let rest = name.to_str()?.strip_prefix(PREFIX)?;
        let (rest, is_partial) = match rest.strip_suffix(PARTIAL) {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let mut parts = rest.strip_suffix(COMPLETE)?.split('-');
        let before = match parts.next()? {
            "new" => None,
            before => Some(before.parse().ok()?),
        };
        let after = parts.next()?.parse().ok()?;
        let is_hex =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !(is_hex(parts.next()?) && is_hex(parts.next()?) && parts.next().is_none()) {
            return None;
        }
        Some(if is_partial { Leftover::Partial } else { Leftover::Complete { before, after } })
    }
}

/// An open file, with a lease where the file system supports it.
struct LeasedFile {
    fd: Handle,
    is_leased: bool,
}

impl LeasedFile {
    /// Returns whether another process is opening the file for writing, if there is a lease.
    fn is_written_to(&self, sys: &dyn Sys) -> bool {
        self.is_leased && !sys.is_leased(&self.fd)
    }
}

/// Opens a leftover that is safe to remove: no process has it open for writing, and it contains the
/// version that was being replaced or the text that was replacing it. Returns `None` for files that
/// are not regular, which recto does not create, and for files too large to check.
fn open_removable(sys: &dyn Sys, lock: &DirLock, name: &OsStr) -> Option<LeasedFile> {
    let leftover = Leftover::parse(name)?;
    let status = sys.status(lock.dir(), name).ok()?;
    let is_regular = status.kind() == FileKind::File;
    let is_small = status.size <= limits::LEFTOVER_BYTES || leftover == Leftover::Partial;
    if !is_regular || !is_small {
        return None;
    }
    let fd = sys.open(lock.dir(), name).ok()?;
    let is_leased = match sys.lease(&fd) {
        Ok(()) => true,
        Err(SysError::AGAIN) => return None,
        Err(_) => false,
    };
    let is_removable = match leftover {
        Leftover::Partial => true,
        Leftover::Complete { before, after } => {
            let found = tag(sys, &fd)?;
            found == after || Some(found) == before
        }
    };
    is_removable.then_some(LeasedFile { fd, is_leased })
}

fn tag(sys: &dyn Sys, file: &Handle) -> Option<Tag> {
    let mut digester = Digester::default();
    let mut buffer = vec![0; 64 << 10];
    let mut offset = 0;
    loop {
        match sys::retry(|| sys.read_at(file, &mut buffer, offset)).ok()? {
            0 => return Some(digester.finish().tag()),
            n => {
                digester.push(&buffer[..n]);
                offset += n as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn recognizes_only_names_that_recto_generates() {
        let (before, after) = (Tag::of(b"old"), Tag::of(b"new"));
        let complete = name(Some(before), after);
        assert_eq!(
            Leftover::parse(&complete),
            Some(Leftover::Complete { before: Some(before), after })
        );
        assert_eq!(
            Leftover::parse(&name(None, after)),
            Some(Leftover::Complete { before: None, after })
        );
        assert_eq!(Leftover::parse(&partial(&complete)), Some(Leftover::Partial));
        for other in [
            ".recto-",
            ".recto-notes.tmp",
            ".recto-new-x-1-2.tmp",
            "recto.tmp",
            ".recto-new-0123456789ab-1.tmp",
        ] {
            assert_eq!(Leftover::parse(OsStr::new(other)), None, "{other}");
        }
    }
}
