//! Probes which operations of the write protocol a file system supports, in a temporary directory
//! that is removed afterwards.

use std::ffi::OsStr;
use std::path::Path;

use recto_platform::{Handle, Linux, Sys, SysError, SysResult};

/// The operations that a file system supports; an error says why one is not supported.
#[derive(Debug)]
pub struct Abilities {
    /// Exchanging two names atomically.
    pub exchange: SysResult<()>,
    /// Renaming without replacing an existing file.
    pub rename_new: SysResult<()>,
    /// Creating a file without a name and linking it later.
    pub nameless: SysResult<()>,
    /// Locking a directory against other processes.
    pub locks: SysResult<()>,
    /// Leases, which report when another process opens a file for writing.
    pub leases: SysResult<()>,
    /// Extended attributes.
    pub attributes: SysResult<()>,
    /// Whether `a` and `A` are different files.
    pub case_matters: SysResult<bool>,
}

impl Abilities {
    /// Probes a directory. Fails if nothing can be created in it.
    pub fn probe(dir: &Path) -> SysResult<Abilities> {
        let dir = recto_platform::open_directory(dir)?;
        let name = format!(".recto-doctor-{}", recto_platform::random_hex::<4>()?);
        recto_platform::create_directory_at(&dir, &name, 0o700)?;
        let scratch = Scratch { dir, name };
        let inside = recto_platform::open_directory_at(&scratch.dir, &scratch.name)?;
        let sys = Linux::new();
        let abilities = Abilities::of(&sys, &inside);
        for name in NAMES {
            // Names that were not created fail here, which is harmless.
            let _ = sys.unlink(&inside, OsStr::new(name));
        }
        abilities
    }

    fn of(sys: &impl Sys, dir: &Handle) -> SysResult<Abilities> {
        let [one, other, new, linked] = NAMES.map(OsStr::new);
        let create = |name: &OsStr| sys.create(dir, name, 0o600);
        let first = create(one)?;
        drop(create(other)?);
        let case_matters = match sys.status(dir, OsStr::new("ONE")) {
            Ok(_) => Ok(false),
            Err(SysError::NOENT) => Ok(true),
            Err(errno) => Err(errno),
        };
        let attributes = sys.set_attribute(&first, c"user.recto", b"tried");
        drop(first);
        let leases = sys.open(dir, one).and_then(|file| sys.lease(&file));
        let nameless = sys.open_nameless(dir).and_then(|file| sys.link(&file, dir, linked));
        Ok(Abilities {
            exchange: sys.exchange(dir, one, other),
            rename_new: sys.rename_new(dir, one, new),
            nameless,
            locks: dir.try_lock(),
            leases,
            attributes,
            case_matters,
        })
    }
}

/// The names used for probing, in lower case.
const NAMES: [&str; 4] = ["one", "other", "new", "linked"];

/// A directory that is removed on drop.
struct Scratch {
    dir: Handle,
    name: String,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = recto_platform::remove_directory_at(&self.dir, &self.name);
    }
}
