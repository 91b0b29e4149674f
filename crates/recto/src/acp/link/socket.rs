//! The link's socket, in a directory with a random name that only the current user can enter.
//!
//! Its parent may be shared with other users, who can create anything there. A name in it is opened
//! without following a link and is used only if it is a directory that a relay of this user made.

use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use recto_platform::{
    FileKind, Handle, create_directory_at, entries, is_own_user, is_peer_same_user,
    is_socket_dead_at, open_directory_at, open_path, open_path_at, random_hex, remove_directory_at,
    remove_file_at, status_at,
};

const PREFIX: &str = "recto-acp-";

/// The name of the socket in its directory.
const SOCKET: &str = "link";

/// A directory of this age whose socket refuses connections was left behind by a killed relay.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// The directory of a socket. It is removed when this is dropped.
pub struct LinkSocket {
    path: PathBuf,
    parent: Handle,
    name: String,
    dir: Handle,
}

impl LinkSocket {
    /// Creates the socket in the runtime directory or the directory for temporary files.
    pub fn listen() -> Result<(LinkSocket, UnixListener)> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        // A socket's path is limited to 107 bytes, so the last candidate is short.
        let parents = [runtime, Some(std::env::temp_dir()), Some("/tmp".into())];
        let mut last_error = Error::from(ErrorKind::NotFound);
        for parent in parents.into_iter().flatten().filter(|parent| parent.is_absolute()) {
            match LinkSocket::listen_in(&parent) {
                Ok(made) => return Ok(made),
                Err(error) => last_error = error,
            }
        }
        Err(last_error)
    }

    fn listen_in(path: &Path) -> Result<(LinkSocket, UnixListener)> {
        let parent = open_path(path)?;
        // What cannot be removed does not matter to this relay.
        let _ = clean_up(&parent);
        let name = format!("{PREFIX}{}", random_hex::<16>()?);
        create_directory_at(&parent, &name, 0o700)?;
        let dir = open_path_at(&parent, &name)?;
        let place = LinkSocket { path: path.join(&name).join(SOCKET), parent, name, dir };
        let listener = UnixListener::bind(&place.path)?;
        Ok((place, listener))
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.path.clone()
    }
}

impl Drop for LinkSocket {
    fn drop(&mut self) {
        // If this fails, a later relay removes them.
        let _ = remove_file_at(&self.dir, SOCKET);
        let _ = remove_directory_at(&self.parent, &self.name);
    }
}

/// Removes directories left behind by killed relays of the same user.
fn clean_up(parent: &Handle) -> Result<()> {
    for entry in entries(open_directory_at(parent, ".")?)? {
        let (name, _) = entry?;
        if !name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        // Fails if it is not a directory.
        let Ok(dir) = open_path_at(parent, &name) else { continue };
        if is_left_behind(&dir).unwrap_or(false) && remove_file_at(&dir, SOCKET).is_ok() {
            let _ = remove_directory_at(parent, &name);
        }
    }
    Ok(())
}

/// Whether a directory was made by a relay of this user that no longer runs.
fn is_left_behind(dir: &Handle) -> Result<bool> {
    let status = dir.status()?;
    let modified = Duration::from_secs(status.modified.0.try_into().unwrap_or(0));
    let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + modified);
    Ok(is_own_user(status.uid)
        && status.mode & 0o077 == 0
        && age.is_ok_and(|age| age >= LEFT_BEHIND)
        && status_at(dir, SOCKET)?.kind() == FileKind::Socket
        && is_socket_dead_at(dir, SOCKET)?)
}

/// Rejects a peer that runs as another user.
pub fn check_peer(stream: &UnixStream) -> Result<()> {
    if is_peer_same_user(stream)? {
        return Ok(());
    }
    Err(Error::new(ErrorKind::PermissionDenied, "the other end belongs to another user"))
}

/// A reader with a deadline for the whole input, not only for each read.
pub struct DeadlineReader<'a> {
    /// The stream to read.
    pub stream: &'a UnixStream,
    /// The deadline.
    pub deadline: Instant,
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}
