//! What the file system of a folder can do of what the write protocol uses, tried in a folder of
//! our own that is taken away again.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, mkdirat, unlinkat};
use rustix::io::Errno;

use super::sys::{Linux, Sys, SysResult, fd};

/// What a file system can do. An error says why not.
#[derive(Debug)]
pub struct Abilities {
    /// Two names can be exchanged in one step.
    pub exchange: SysResult<()>,
    /// A new name never replaces an old one.
    pub rename_new: SysResult<()>,
    /// A file can be written before it has a name.
    pub nameless: SysResult<()>,
    /// A folder can be locked among processes.
    pub locks: SysResult<()>,
    /// The system tells who opens a file for writing.
    pub leases: SysResult<()>,
    /// Files have extended attributes.
    pub attributes: SysResult<()>,
    /// `a` and `A` are two files.
    pub case_matters: SysResult<bool>,
}

impl Abilities {
    /// Tries them in a folder. Fails where nothing can be written there.
    pub fn try_in(folder: &Path) -> SysResult<Abilities> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(folder, flags, Mode::empty())?;
        let name = format!(".recto-doctor-{:x}", std::process::id());
        mkdirat(&folder, &name, Mode::from_raw_mode(0o700))?;
        let scratch = Scratch { folder, name };
        let flags = flags | OFlags::NOFOLLOW;
        let inside = rustix::fs::openat(&scratch.folder, &scratch.name, flags, Mode::empty())?;
        let abilities = Abilities::of(&inside);
        for name in NAMES {
            // What was not made is not there to be removed.
            let _ = unlinkat(&inside, name, AtFlags::empty());
        }
        abilities
    }

    fn of(folder: &OwnedFd) -> SysResult<Abilities> {
        let sys = Linux::new();
        let [one, other, new, linked] = NAMES.map(OsStr::new);
        let create = |name: &OsStr| sys.create(folder, name, Mode::from_raw_mode(0o600));
        let first = create(one)?;
        drop(create(other)?);
        let case_matters = match sys.status(folder, OsStr::new("ONE")) {
            Ok(_) => Ok(false),
            Err(Errno::NOENT) => Ok(true),
            Err(errno) => Err(errno),
        };
        let attributes = sys.set_attribute(fd(&first), c"user.recto", b"tried");
        drop(first);
        let leases = sys.open(folder, one).and_then(|file| sys.lease(fd(&file)));
        let nameless =
            sys.open_nameless(folder).and_then(|file| sys.link(fd(&file), folder, linked));
        Ok(Abilities {
            exchange: sys.exchange(folder, one, other),
            rename_new: sys.rename_new(folder, one, new),
            nameless,
            locks: flock(folder, FlockOperation::NonBlockingLockExclusive),
            leases,
            attributes,
            case_matters,
        })
    }
}

/// The names in the folder, in lower case.
const NAMES: [&str; 4] = ["one", "other", "new", "linked"];

/// A folder that goes when this is dropped.
struct Scratch {
    folder: OwnedFd,
    name: String,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR);
    }
}
