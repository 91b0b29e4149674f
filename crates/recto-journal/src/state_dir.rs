//! The directory in which recto keeps its state.
//!
//! All recto processes of a user must agree on it, so its default does not depend on variables that
//! some clients do not pass on. A marker file hides it from every tool. A lock file in it serializes
//! the transactions of all processes: SQLite's own waiting sleeps between attempts, which made one
//! call in a hundred ten times slower with four processes.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use recto_platform::{Handle, SysError};
use recto_store::local::{STATE_MARKER, STATE_MARKER_MODE};

use crate::error::{Error, Result};

/// The variable that names the directory.
pub const VARIABLE: &str = "RECTO_STATE_DIR";

/// How long a transaction waits for those of other processes.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// How often a transaction tries to get the lock before it waits in the kernel's queue.
const N_ATTEMPTS: u32 = 4;

const LOCK_FILE: &str = "journal.lock";

const MARKER_TEXT: &[u8] = b"recto keeps its state here. Its tools do not show this directory.\n";

/// File systems on which processes of other machines may use the directory too, so that shared memory
/// does not work.
const NETWORK: [&str; 10] =
    ["nfs", "cifs", "smb", "smb2", "smb3", "ceph", "afs", "9p", "fuse", "fuseblk"];

/// The state directory, which exists.
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
}

/// The lock on the journal. Dropping it releases the lock.
pub struct JournalLock {
    _file: Handle,
}

impl StateDir {
    /// Returns the path to use: the option, else `$RECTO_STATE_DIR`, else `~/.local/state/recto`.
    /// `None` if there is no home directory.
    pub fn locate(option: Option<&Path>) -> Option<PathBuf> {
        let from_variable = || std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty());
        let from_home = || {
            let home = std::env::home_dir().filter(|home| home.is_absolute())?;
            Some(home.join(".local/state/recto"))
        };
        let path = option.map(Path::to_path_buf).or_else(|| from_variable().map(PathBuf::from));
        path.and_then(|path| std::path::absolute(path).ok()).or_else(from_home)
    }

    /// Creates the directory and its marker, or checks that it can be used.
    pub fn create(path: &Path) -> Result<StateDir> {
        let failed = |cause: String| Error::StateDir { path: path.to_path_buf(), cause };
        let is_new = !path.exists();
        let mut builder = DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|error| failed(error.to_string()))?;
        let status = path.metadata().map_err(|error| failed(error.to_string()))?;
        if !recto_platform::is_own_user(status.uid()) {
            return Err(failed("it belongs to another user".into()));
        }
        let marker = path.join(STATE_MARKER);
        let is_empty = || path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        if !is_new && !marker.exists() && !is_empty() {
            return Err(failed("it contains other files; name an empty directory".into()));
        }
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(STATE_MARKER_MODE)
            .open(&marker)
            .and_then(|mut file| std::io::Write::write_all(&mut file, MARKER_TEXT));
        match written {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(failed(error.to_string()));
            }
            _ => {}
        }
        // A restrictive umask may have changed the mode by which the marker is recognized.
        for (path, mode) in [(path, 0o700), (&marker, STATE_MARKER_MODE)] {
            let is_right = path.metadata().is_ok_and(|status| status.mode() & 0o777 == mode);
            if !is_right {
                std::fs::set_permissions(path, Permissions::from_mode(mode))
                    .map_err(|error| failed(error.to_string()))?;
            }
        }
        let path = path.canonicalize().map_err(|error| failed(error.to_string()))?;
        Ok(StateDir { path })
    }

    /// Opens a directory that exists. Returns `None` if it does not, or has no marker.
    pub fn find(path: &Path) -> Option<StateDir> {
        let path = path.canonicalize().ok()?;
        path.join(STATE_MARKER).is_file().then_some(StateDir { path })
    }

    /// Returns the canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the database.
    pub fn database(&self) -> PathBuf {
        self.path.join("journal.db")
    }

    /// Returns the path of its write-ahead log.
    pub fn log(&self) -> PathBuf {
        self.path.join("journal.db-wal")
    }

    /// Returns the name of the network file system on which the directory is, if it is on one.
    pub fn network(&self) -> Option<String> {
        let name = recto_platform::filesystem_name(&self.path).ok()?;
        NETWORK.contains(&name.as_str()).then_some(name)
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Result<JournalLock> {
        let file = self.lock_file()?;
        // Transactions are short, so a thread is rarely needed.
        for attempt in 0..=N_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => return Ok(JournalLock { _file: file }),
                Err(SysError::AGAIN | SysError::INTR) => {}
                Err(errno) => return Err(self.failed(errno.to_string())),
            }
            if attempt < N_ATTEMPTS {
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        // The kernel's queue is fair, but has no time limit, so a thread waits in it. If this call
        // gives up, the thread releases the lock as soon as it has it.
        let (sender, receiver) = sync_channel(1);
        let wait = move || {
            let locked = file.lock();
            let _ = sender.send(locked.map(|()| file));
        };
        let thread = std::thread::Builder::new().name("recto-journal".into()).spawn(wait);
        thread.map_err(|error| self.failed(error.to_string()))?;
        match receiver.recv_timeout(LOCK_WAIT) {
            Ok(Ok(file)) => Ok(JournalLock { _file: file }),
            Ok(Err(errno)) => Err(self.failed(errno.to_string())),
            Err(_) => Err(Error::Locked { seconds: LOCK_WAIT.as_secs() }),
        }
    }

    /// Opens the lock file anew, because the lock belongs to the open file and not to the process.
    fn lock_file(&self) -> Result<Handle> {
        let path = self.path.join(LOCK_FILE);
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        file.map(Handle::from).map_err(|error| self.failed(error.to_string()))
    }

    fn failed(&self, cause: String) -> Error {
        Error::StateDir { path: self.path.clone(), cause }
    }
}
