//! Opens the files of git directories, by handle, inside the roots or the git directories that the
//! user allowed with `--git-dir`.
//!
//! Every file of a repository is opened here, one at a time and just before it is read, so that a
//! link that is swapped in concurrently cannot lead outside. Errors never reveal a link's target.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Denial;
use crate::error::Error;

use crate::LocalStore;
use crate::context::{Cancelled, Context};
use crate::local::probe::PathInfo;
use crate::path::AbsPath;

/// Why a repository cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub enum GitError {
    /// It points to a path that may not be read. The text is a sentence.
    Denied(String),
    /// It is damaged, or has an unsupported format. The text is a clause.
    Broken(String),
    /// Anything else.
    Failed(Error),
}

impl GitError {
    /// Converts to the store's error, for the path that the caller gave.
    pub fn into_error(self, path: &str) -> Error {
        let path = path.to_string();
        match self {
            GitError::Denied(cause) => Error::NoRepository { path, cause },
            GitError::Broken(cause) => Error::BrokenRepository { path, cause },
            GitError::Failed(error) => error,
        }
    }
}

impl From<Error> for GitError {
    fn from(error: Error) -> GitError {
        GitError::Failed(error)
    }
}

impl From<Cancelled> for GitError {
    fn from(_: Cancelled) -> GitError {
        GitError::Failed(Error::Cancelled)
    }
}

/// Returns the error for a damaged repository.
pub fn broken(cause: impl Into<String>) -> GitError {
    GitError::Broken(cause.into())
}

/// The roots and the allowed git directories.
pub struct GitDirAccess {
    /// The roots.
    pub local: Arc<LocalStore>,
    /// The git directories outside them, opened like roots.
    pub allowed: Option<LocalStore>,
}

impl GitDirAccess {
    /// Returns what exists at a path, or `None` if access is denied. `what` names it in messages.
    pub fn probe(
        &self,
        path: &Path,
        what: &str,
        context: &Context,
    ) -> Result<Option<PathInfo>, GitError> {
        match self.through(path, ".", |store, path| store.probe(path, context)) {
            Ok(seen) => Ok(Some(seen)),
            Err(Error::PermissionDenied { reason: Denial::Outside { .. }, .. }) => Ok(None),
            Err(error) => Err(git_error(error, what)),
        }
    }

    /// Opens a regular file in a git directory. Returns `None` for a directory or a missing file.
    pub fn open(
        &self,
        folder: &Path,
        name: &str,
        context: &Context,
    ) -> Result<Option<File>, GitError> {
        match self.through(folder, name, |store, path| store.open_file(path, context)) {
            Ok(file) => Ok(file),
            Err(Error::FileNotFound { .. }) => Ok(None),
            Err(Error::NotAFile { .. }) => {
                match self.probe(&folder.join(name), name, context)?.is_some_and(|it| it.is_dir()) {
                    true => Ok(None),
                    false => Err(broken(format!("{name} is not a regular file"))),
                }
            }
            Err(error) => Err(git_error(error, name)),
        }
    }

    /// Reads a small file in a git directory.
    pub fn read(
        &self,
        folder: &Path,
        name: &str,
        max_bytes: u64,
        context: &Context,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let Some(file) = self.open(folder, name, context)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let n_read = file.take(max_bytes + 1).read_to_end(&mut bytes);
        let n_read = n_read.map_err(|_| broken(format!("{name} cannot be read")))?;
        if n_read as u64 > max_bytes {
            return Err(broken(format!("{name} is larger than {max_bytes} bytes")));
        }
        Ok(Some(bytes))
    }

    /// Returns the names in a subdirectory of a git directory.
    pub fn names(
        &self,
        folder: &Path,
        name: &str,
        limit: usize,
        context: &Context,
    ) -> Result<Vec<OsString>, GitError> {
        let names = self.through(folder, name, |store, path| store.names(path, limit, context));
        match names {
            Err(Error::FileNotFound { .. }) => Ok(Vec::new()),
            names => names.map_err(|error| git_error(error, name)),
        }
    }

    /// Calls `ask` on the roots; for a path outside them, on the allowed git directories.
    fn through<T>(
        &self,
        folder: &Path,
        name: &str,
        ask: impl Fn(&LocalStore, &AbsPath) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let path = AbsPath::of(folder.join(name), name.into());
        match (ask(&self.local, &path), &self.allowed) {
            (
                Err(Error::PermissionDenied { reason: Denial::Outside { .. }, .. }),
                Some(allowed),
            ) => ask(allowed, &path),
            (answer, _) => answer,
        }
    }

    /// Returns the allowed git directories, with links resolved.
    pub fn allowed_git_dirs(&self) -> Vec<PathBuf> {
        self.allowed.as_ref().map(LocalStore::roots).unwrap_or_default()
    }
}

fn git_error(error: Error, what: &str) -> GitError {
    match error {
        Error::PermissionDenied { reason: Denial::Outside { .. }, .. } => GitError::Denied(
            format!("{what} in the git directory is a symbolic link to a path outside the roots."),
        ),
        Error::PermissionDenied { reason: Denial::ClientSandbox, .. } => GitError::Denied(format!(
            "The client's sandbox denies reading {what} in the git directory."
        )),
        Error::Cancelled => GitError::Failed(Error::Cancelled),
        _ => broken(format!("{what} cannot be read")),
    }
}
