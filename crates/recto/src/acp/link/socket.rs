//! The link's socket, in a directory with a random name that only the current user can enter.

use std::fs::{DirBuilder, remove_dir, remove_file};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use recto_platform::{is_peer_same_user, random_hex};

const PREFIX: &str = "recto-acp-";

/// A directory of this age whose socket refuses connections was left behind by a killed relay.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// The directory of a socket. It is removed when this is dropped.
pub struct LinkSocket {
    folder: PathBuf,
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

    fn listen_in(parent: &Path) -> Result<(LinkSocket, UnixListener)> {
        clean_up(parent);
        let folder = parent.join(format!("{PREFIX}{}", random_hex::<16>()?));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let place = LinkSocket { folder };
        let listener = UnixListener::bind(place.socket())?;
        Ok((place, listener))
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        socket_in(&self.folder)
    }
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join("link")
}

/// Removes a directory and its socket. If this fails, a later relay removes them.
fn remove(folder: &Path) {
    let _ = remove_file(socket_in(folder));
    let _ = remove_dir(folder);
}

impl Drop for LinkSocket {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Removes directories left behind by killed relays of the same user.
fn clean_up(parent: &Path) {
    let Ok(entries) = parent.read_dir() else { return };
    for entry in entries.flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
        let is_refused = || {
            let connected = UnixStream::connect(socket_in(&entry.path()));
            connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        };
        if age.is_some_and(|age| age >= LEFT_BEHIND) && is_refused() {
            remove(&entry.path());
        }
    }
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
