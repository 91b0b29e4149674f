//! What the file system of a folder can do of what the write protocol uses, tried in a folder of
//! our own that is taken away again.

use std::ffi::OsStr;
use std::path::Path;

use recto_platform::{Handle, Linux, Sys, SysError, SysResult};

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
    pub fn try_in(dir: &Path) -> SysResult<Abilities> {
        let dir = recto_platform::open_directory(dir)?;
        let name = format!(".recto-doctor-{}", recto_platform::random_hex::<4>()?);
        recto_platform::create_directory_at(&dir, &name, 0o700)?;
        let scratch = Scratch { dir, name };
        let inside = recto_platform::open_directory_at(&scratch.dir, &scratch.name)?;
        let sys = Linux::new();
        let abilities = Abilities::of(&sys, &inside);
        for name in NAMES {
            // What was not made is not there to be removed.
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

/// The names in the folder, in lower case.
const NAMES: [&str; 4] = ["one", "other", "new", "linked"];

/// A folder that goes when this is dropped.
struct Scratch {
    dir: Handle,
    name: String,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = recto_platform::remove_directory_at(&self.dir, &self.name);
    }
}
