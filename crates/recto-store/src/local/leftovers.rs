//! What a killed process leaves in a folder, recognised by name and content, and taken away at
//! the next change there.
//!
//! A leftover is removed only if it holds the version that was being replaced or the text that
//! was replacing it, and nobody has it open for writing. Anything else under such a name is
//! somebody's work that a crash caught in the exchange, and stays.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

use recto_platform::{FileKind, Handle, Sys, SysError, random_hex};
use recto_text::Digest;
use recto_text::digest::Digester;

use super::lock::DirLock;
use super::sys;
use crate::lru::Lru;
use crate::{limits, sync};

const PREFIX: &str = ".recto-";

/// A file that is being written and has never had another name.
const PARTIAL: &str = ".part";

/// A file that is complete and may have been exchanged for the old one.
const COMPLETE: &str = ".tmp";

/// How many folders are remembered.
const MAX_REMEMBERED: usize = 1024;

/// The name under which new content waits for its commit: which version it replaces, which it is.
pub fn name(before: Option<Digest>, after: Digest) -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    /// Differs between processes, also where containers give two of them the same id.
    static PROCESS: LazyLock<String> =
        LazyLock::new(|| random_hex::<4>().unwrap_or_else(|_| format!("{:x}", std::process::id())));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let before = before.map_or("new".to_string(), |digest| digest.to_string());
    format!("{PREFIX}{before}-{after}-{}-{count:x}{COMPLETE}", *PROCESS).into()
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
pub enum LeftoverVerdict {
    /// It holds what was being replaced, or what was replacing it, and can go.
    Removable,
    /// It may be somebody's work, or is too large to tell.
    Unrecognized,
}

/// The leftovers in a folder that is locked.
pub fn find(sys: &dyn Sys, lock: &DirLock) -> Vec<(OsString, LeftoverVerdict)> {
    let with_verdict = |name: OsString| match open_removable(sys, lock, &name) {
        Some(_) => (name, LeftoverVerdict::Removable),
        None => (name, LeftoverVerdict::Unrecognized),
    };
    names(lock).map(with_verdict).collect()
}

/// Takes a leftover away if it can go, and says whether it went.
pub fn remove(sys: &dyn Sys, lock: &DirLock, name: &OsStr) -> bool {
    // Without a lock among processes, it may be somebody's work in progress.
    if !lock.is_shared_with_processes() {
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

/// Which folders are known to hold no leftovers.
#[derive(Default)]
pub struct Leftovers {
    /// The time of the last change of a folder, as we left it.
    clean: Mutex<Lru<(u64, u64), (i64, u32), MAX_REMEMBERED>>,
}

impl Leftovers {
    /// Takes leftovers away, unless nobody touched the folder since we last left it.
    pub fn clean(&self, sys: &dyn Sys, lock: &DirLock) {
        let known = sync::lock(&self.clean).get(&lock.id()).copied();
        if known.is_some() && known == change_time(lock) {
            return;
        }
        for name in names(lock) {
            // It stays for the next time where this fails.
            remove(sys, lock, &name);
        }
        self.remember(lock);
    }

    /// Notes that the folder is as we leave it now.
    pub fn remember(&self, lock: &DirLock) {
        let Some(time) = change_time(lock) else { return };
        sync::lock(&self.clean).insert(lock.id(), time);
    }
}

fn change_time(lock: &DirLock) -> Option<(i64, u32)> {
    Some(lock.dir().status().ok()?.modified)
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
}

/// A file of which the system was asked to tell who writes to it.
struct LeasedFile {
    fd: Handle,
    is_leased: bool,
}

impl LeasedFile {
    /// Whether somebody is about to write to it, as far as the system tells.
    fn is_written_to(&self, sys: &dyn Sys) -> bool {
        self.is_leased && !sys.is_leased(&self.fd)
    }
}

/// The leftover of that name, if it can go: nobody has it open for writing, and it holds what was
/// being replaced or what was replacing it. Anything but a regular file of reasonable size was not
/// made by us, or is not worth the wait.
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
            let found = digest(sys, &fd)?;
            found == after || Some(found) == before
        }
    };
    is_removable.then_some(LeasedFile { fd, is_leased })
}

fn digest(sys: &dyn Sys, file: &Handle) -> Option<Digest> {
    let mut digester = Digester::default();
    let mut buffer = vec![0; 64 << 10];
    let mut offset = 0;
    loop {
        match sys::retry(|| sys.read_at(file, &mut buffer, offset)).ok()? {
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
