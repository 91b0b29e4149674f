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
    pub fn try_in(folder: &Path) -> SysResult<Abilities> {
        let folder = recto_platform::open_directory(folder)?;
        let name = format!(".recto-doctor-{}", recto_platform::random_hex::<4>()?);
        recto_platform::create_directory_at(&folder, &name, 0o700)?;
        let scratch = Scratch { folder, name };
        let inside = recto_platform::open_directory_at(&scratch.folder, &scratch.name)?;
        let sys = Linux::new();
        let abilities = Abilities::of(&sys, &inside);
        for name in NAMES {
            // What was not made is not there to be removed.
            let _ = sys.unlink(&inside, OsStr::new(name));
        }
        abilities
    }

    fn of(sys: &impl Sys, folder: &Handle) -> SysResult<Abilities> {
        let [one, other, new, linked] = NAMES.map(OsStr::new);
        let create = |name: &OsStr| sys.create(folder, name, 0o600);
        let first = create(one)?;
        drop(create(other)?);
        let case_matters = match sys.status(folder, OsStr::new("ONE")) {
            Ok(_) => Ok(false),
            Err(SysError::NOENT) => Ok(true),
            Err(errno) => Err(errno),
        };
        let attributes = sys.set_attribute(&first, c"user.recto", b"tried");
        drop(first);
        let leases = sys.open(folder, one).and_then(|file| sys.lease(&file));
        let nameless = sys.open_nameless(folder).and_then(|file| sys.link(&file, folder, linked));
        Ok(Abilities {
            exchange: sys.exchange(folder, one, other),
            rename_new: sys.rename_new(folder, one, new),
            nameless,
            locks: folder.try_lock(),
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
    folder: Handle,
    name: String,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = recto_platform::remove_directory_at(&self.folder, &self.name);
    }
}
