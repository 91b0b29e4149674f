//! The way to the files of git directories: through the roots, or through the git directories
//! that the user allowed, and by handle.
//!
//! Everything that is read of a repository is opened here, one file at a time and just before it
//! is read, so that a link swapped in meanwhile leads nowhere. What a link leads to is never told.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Denial;
use crate::error::Error;

use crate::LocalStore;
use crate::context::{Cancelled, Context};
use crate::local::look::Seen;
use crate::path::AbsPath;

/// Why a repository cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub enum RepositoryError {
    /// It leads to places that are closed.
    Denied(String),
    /// It is damaged, or of a kind that is not known here.
    Broken(String),
    /// Anything else.
    Failed(Error),
}

impl RepositoryError {
    /// The contract's error, for the path that a caller gave.
    pub fn into_error(self, path: &str) -> Error {
        let path = path.to_string();
        match self {
            RepositoryError::Denied(cause) => Error::NoRepository { path, cause },
            RepositoryError::Broken(cause) => Error::BrokenRepository { path, cause },
            RepositoryError::Failed(error) => error,
        }
    }
}

impl From<Error> for RepositoryError {
    fn from(error: Error) -> RepositoryError {
        RepositoryError::Failed(error)
    }
}

impl From<Cancelled> for RepositoryError {
    fn from(_: Cancelled) -> RepositoryError {
        RepositoryError::Failed(Error::Cancelled)
    }
}

/// What is damaged, in a few words.
pub fn broken(cause: impl Into<String>) -> RepositoryError {
    RepositoryError::Broken(cause.into())
}

/// The roots and the allowed git directories.
pub struct GitDirAccess {
    /// The roots.
    pub local: Arc<LocalStore>,
    /// The git directories outside them, opened like roots.
    pub allowed: Option<LocalStore>,
}

impl GitDirAccess {
    /// What stands at a path, or `None` where it is closed. `what` names it in messages.
    pub fn look(
        &self,
        path: &Path,
        what: &str,
        context: &Context,
    ) -> Result<Option<Seen>, RepositoryError> {
        match self.through(path, ".", |store, path| store.look(path, context)) {
            Ok(seen) => Ok(Some(seen)),
            Err(Error::PermissionDenied { reason: Denial::Outside { .. }, .. }) => Ok(None),
            Err(error) => Err(fault(error, what)),
        }
    }

    /// Opens a regular file in a folder of a git directory, or `None` where nothing stands, or a
    /// folder.
    pub fn open(
        &self,
        folder: &Path,
        name: &str,
        context: &Context,
    ) -> Result<Option<File>, RepositoryError> {
        match self.through(folder, name, |store, path| store.open_file(path, context)) {
            Ok(file) => Ok(file),
            Err(Error::FileNotFound { .. }) => Ok(None),
            Err(Error::NotAFile { .. }) => {
                match self.look(&folder.join(name), name, context)?.is_some_and(|it| it.is_folder())
                {
                    true => Ok(None),
                    false => Err(broken(format!("{name} in it is not a regular file"))),
                }
            }
            Err(error) => Err(fault(error, name)),
        }
    }

    /// Reads a small file in a folder of a git directory.
    pub fn read(
        &self,
        folder: &Path,
        name: &str,
        max_bytes: u64,
        context: &Context,
    ) -> Result<Option<Vec<u8>>, RepositoryError> {
        let Some(file) = self.open(folder, name, context)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let n_read = file.take(max_bytes + 1).read_to_end(&mut bytes);
        let n_read = n_read.map_err(|_| broken(format!("{name} in it cannot be read")))?;
        if n_read as u64 > max_bytes {
            return Err(broken(format!("{name} in it is larger than {max_bytes} bytes")));
        }
        Ok(Some(bytes))
    }

    /// The names in a folder of a git directory.
    pub fn names(
        &self,
        folder: &Path,
        name: &str,
        limit: usize,
        context: &Context,
    ) -> Result<Vec<OsString>, RepositoryError> {
        let names = self.through(folder, name, |store, path| store.names(path, limit, context));
        match names {
            Err(Error::FileNotFound { .. }) => Ok(Vec::new()),
            names => names.map_err(|error| fault(error, name)),
        }
    }

    /// Asks the roots, and where they are closed the allowed git directories.
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

    /// The allowed git directories without links.
    pub fn allowed_git_dirs(&self) -> Vec<PathBuf> {
        self.allowed.as_ref().map(LocalStore::roots).unwrap_or_default()
    }
}

fn fault(error: Error, what: &str) -> RepositoryError {
    match error {
        Error::PermissionDenied { reason: Denial::Outside { .. }, .. } => RepositoryError::Denied(
            format!("{what} in its git directory is a link that leads out of the roots."),
        ),
        Error::PermissionDenied { reason: Denial::ClientSandbox, .. } => RepositoryError::Denied(
            format!("The client's sandbox does not let {what} in its git directory be read."),
        ),
        Error::Cancelled => RepositoryError::Failed(Error::Cancelled),
        _ => broken(format!("{what} in it cannot be read")),
    }
}
