//! What a killed process leaves in a folder, recognised by name and content, and taken away at
//! the next change there.
//!
//! A leftover is removed only if it holds the version that was being replaced or the text that
//! was replacing it. Anything else under such a name is somebody's work that a crash caught in
//! the exchange, and stays.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use recto_text::Digest;
use recto_text::digest::Digester;
use rustix::fs::{Dir, FileType};

use super::lock::FolderLock;
use super::sys::{self, Sys};
use crate::limits;

const PREFIX: &str = ".recto-";

/// A file that is being written and has never had another name.
const PARTIAL: &str = ".part";

/// A file that is complete and may have been exchanged for the old one.
const COMPLETE: &str = ".tmp";

/// How many folders are remembered before all are forgotten.
const MAX_REMEMBERED: usize = 1024;

/// The name under which new content waits for its commit: which version it replaces, which it is.
pub fn name(before: Option<Digest>, after: Digest) -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let before = before.map_or("new".to_string(), |digest| digest.to_string());
    format!("{PREFIX}{before}-{after}-{:x}-{count:x}{COMPLETE}", std::process::id()).into()
}

/// The name for content that is still being written.
pub fn partial(name: &OsStr) -> OsString {
    let mut partial = name.to_os_string();
    partial.push(PARTIAL);
    partial
}

/// The name for the same content once all of it is written.
pub fn complete(partial: &OsStr) -> OsString {
    let name = partial.as_bytes();
    OsStr::from_bytes(name.strip_suffix(PARTIAL.as_bytes()).unwrap_or(name)).to_os_string()
}

/// Whether a name is one that a leftover has.
pub fn is_name(name: &OsStr) -> bool {
    Leftover::parse(name).is_some()
}

/// What is known about a leftover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It holds what was being replaced, or what was replacing it, and can go.
    Ours,
    /// It may be somebody's work, or is too large to tell.
    Foreign,
}

/// The leftovers in a folder that is locked.
pub fn find(sys: &dyn Sys, lock: &FolderLock) -> Vec<(OsString, Verdict)> {
    let Ok(entries) = Dir::read_from(lock.folder()) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if let Some(leftover) = Leftover::parse(name) {
            let is_ours = leftover.is_ours(sys, lock, name);
            let verdict = if is_ours { Verdict::Ours } else { Verdict::Foreign };
            found.push((name.to_os_string(), verdict));
        }
    }
    found
}

/// Which folders are known to hold no leftovers.
#[derive(Default)]
pub struct Leftovers {
    /// The time of the last change of a folder, as we left it.
    clean: Mutex<HashMap<(u64, u64), (i64, u64)>>,
}

impl Leftovers {
    /// Takes leftovers away, unless nobody touched the folder since we last left it.
    pub fn clean(&self, sys: &dyn Sys, lock: &FolderLock) {
        // Without a lock among processes, a leftover may be somebody's work in progress.
        if !lock.is_shared_with_processes() {
            return;
        }
        let known =
            self.clean.lock().unwrap_or_else(PoisonError::into_inner).get(&lock.id()).copied();
        if known.is_some() && known == change_time(lock) {
            return;
        }
        for (name, verdict) in find(sys, lock) {
            if verdict == Verdict::Ours {
                // It stays for the next time where this fails.
                let _ = sys.unlink(lock.folder(), &name);
            }
        }
        self.remember(lock);
    }

    /// Notes that the folder is as we leave it now.
    pub fn remember(&self, lock: &FolderLock) {
        let Some(time) = change_time(lock) else { return };
        let mut clean = self.clean.lock().unwrap_or_else(PoisonError::into_inner);
        if clean.len() >= MAX_REMEMBERED {
            clean.clear();
        }
        clean.insert(lock.id(), time);
    }
}

fn change_time(lock: &FolderLock) -> Option<(i64, u64)> {
    let status = rustix::fs::fstat(lock.folder()).ok()?;
    Some((status.st_mtime, status.st_mtime_nsec))
}

/// What a leftover's name says.
#[derive(Debug, PartialEq, Eq)]
enum Leftover {
    Partial,
    Complete { before: Option<Digest>, after: Digest },
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

    fn is_ours(&self, sys: &dyn Sys, lock: &FolderLock, name: &OsStr) -> bool {
        let Leftover::Complete { before, after } = self else { return true };
        digest(sys, lock, name).is_some_and(|found| found == *after || Some(found) == *before)
    }
}

/// The digest of a regular file of reasonable size. Anything else under such a name was not made
/// by us, or is not worth the wait.
fn digest(sys: &dyn Sys, lock: &FolderLock, name: &OsStr) -> Option<Digest> {
    let status = sys.status(lock.folder(), name).ok()?;
    let is_regular = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    if !is_regular || status.st_size > limits::LEFTOVER_BYTES {
        return None;
    }
    let file = sys.open(lock.folder(), name).ok()?;
    let mut digester = Digester::default();
    let mut buffer = vec![0; 64 << 10];
    let mut offset = 0;
    loop {
        match sys::retry(|| sys.read_at(sys::fd(&file), &mut buffer, offset)).ok()? {
            0 => return Some(digester.finish()),
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
    fn only_names_of_our_own_making_are_recognised() {
        let (before, after) = (Digest::of(b"old"), Digest::of(b"new"));
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
