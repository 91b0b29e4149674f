//! Finds the repository of a path: the nearest `.git` up to the root, or a git directory that the
//! user allowed. [`super::repository`] opens it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::Denial;
use crate::error::{Error, Result};

use super::config::GitConfig;
use super::git_dir_access::{GitDirAccess, GitError};
use super::paths;
use crate::context::Context;
use crate::path::AbsPath;

/// The most directory levels in which to look for a repository.
const MAX_DEPTH: usize = 256;

const MAX_SETTINGS: u64 = 4 << 20;

/// A repository that was found but not opened yet.
pub struct FoundRepository {
    /// Its `.git`, or the allowed git directory.
    pub dot_git: PathBuf,
    /// The top of its work tree: without links, and as the caller spelled it.
    pub tops: Vec<PathBuf>,
}

/// A search on behalf of one call.
pub struct RepositorySearch<'a> {
    /// Opens the files that may be read.
    pub access: &'a Arc<GitDirAccess>,
    /// The path as the caller wrote it.
    pub given: &'a str,
    /// The call.
    pub context: &'a Context,
}

impl RepositorySearch<'_> {
    /// Returns the path as absolute. A relative one starts at the top of the first root's
    /// repository, or at that root if it is in no repository. That repository is returned too, unless
    /// the path is inside another one below it.
    pub fn absolute(&self) -> Result<(AbsPath, Option<FoundRepository>)> {
        let given = self.given.to_string();
        if given.starts_with('/') {
            return Ok((AbsPath::parse(given)?, None));
        }
        let root = self.first_root()?;
        let found = self.of_first_root()?;
        let start = found.as_ref().map_or(&root, |found| &found.tops[0]);
        let path = AbsPath::resolve("path", given, start)?;
        let found = found.filter(|outer| !self.is_in_nested(&path, &outer.tops[0]));
        Ok((path, found))
    }

    /// Whether a path is inside a repository below the top of another one, such as a submodule.
    fn is_in_nested(&self, path: &AbsPath, top: &Path) -> bool {
        // The caller reports why a path cannot be used.
        let Ok(path) = paths::clean(&self.access.local, path, self.context) else { return false };
        let mut folders = up_from(&path).take_while(|folder| *folder != top);
        path.starts_with(top) && folders.any(|folder| matches!(self.found_in(folder), Ok(Some(_))))
    }

    /// Adds to the denial of a relative path that the first root is below the top, where the caller
    /// may have meant the path to start.
    pub fn explained(&self, error: Error, tops: &[PathBuf]) -> Error {
        let below = self.first_root().ok().zip(tops.first()).and_then(|(root, top)| {
            let below = root.strip_prefix(top).ok()?.to_str()?.to_string();
            Some(below).filter(|below| !below.is_empty())
        });
        match (error, below) {
            (Error::PermissionDenied { path, reason: Denial::Outside { roots } }, Some(below)) => {
                Error::PermissionDenied { path, reason: Denial::AboveRoot { roots, below } }
            }
            (error, _) => error,
        }
    }

    /// Returns the repository of the first root.
    pub fn of_first_root(&self) -> Result<Option<FoundRepository>> {
        let root = self.first_root()?;
        match self.found_in(&root)? {
            Some(found) => Ok(Some(found)),
            None => self.allowed_for(&root),
        }
    }

    /// Whether a repository is that of the first root, where relative paths start.
    pub fn is_of_first_root(&self, found: &FoundRepository) -> bool {
        let first = self.of_first_root().ok().flatten();
        first.is_some_and(|first| first.tops[0] == found.tops[0])
    }

    fn first_root(&self) -> Result<PathBuf> {
        self.access.local.roots().into_iter().next().ok_or_else(|| self.none())
    }

    /// Returns the repository of a path: the nearest above the path as written, then the nearest
    /// above the path with links resolved, then an allowed one.
    pub fn repository_of(&self, path: &AbsPath) -> Result<FoundRepository> {
        let local = &self.access.local;
        let clean = paths::clean(local, path, self.context)?;
        if let Some(found) = self.found_above(&clean)? {
            return Ok(found);
        }
        let mut real = clean.clone();
        if let (Some(folder), Some(name)) = (clean.parent(), clean.file_name())
            && let Some(folder) = paths::real(local, folder, self.context)
        {
            real = folder.join(name);
            if real != clean
                && let Some(found) = self.found_above(&real)?
            {
                return Ok(found);
            }
        }
        self.allowed_for(&real)?.ok_or_else(|| self.none())
    }

    fn found_above(&self, path: &Path) -> Result<Option<FoundRepository>> {
        for folder in up_from(path) {
            if let Some(found) = self.found_in(folder)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Returns the repository whose `.git` is in a directory.
    fn found_in(&self, folder: &Path) -> Result<Option<FoundRepository>> {
        let local = &self.access.local;
        let dot_git = AbsPath::of(folder.join(".git"), self.given.trim_end_matches('/').into());
        match local.probe_link(&dot_git, self.context) {
            Ok(seen) if seen.kind.is_some() => {}
            Err(Error::PermissionDenied { reason: Denial::ClientSandbox, .. }) => {
                let cause = "The client's sandbox denies reading its .git.".into();
                return Err(Error::NoRepository { path: self.given.into(), cause });
            }
            _ => return Ok(None),
        }
        let Some(real) = paths::real(local, folder, self.context) else { return Ok(None) };
        let dot_git = real.join(".git");
        let tops = match real == folder {
            true => vec![real],
            false => vec![real, folder.to_path_buf()],
        };
        Ok(Some(FoundRepository { dot_git, tops }))
    }

    /// Returns the allowed git directory whose work tree contains a path without links.
    fn allowed_for(&self, path: &Path) -> Result<Option<FoundRepository>> {
        for git_dir in self.access.allowed_git_dirs() {
            let top = self.work_tree(&git_dir).map_err(|error| error.into_error(self.given))?;
            if let Some(top) = top.filter(|top| path.starts_with(top)) {
                return Ok(Some(FoundRepository { dot_git: git_dir, tops: vec![top] }));
            }
        }
        Ok(None)
    }

    /// Returns the work tree of a git directory: the configured one, or its parent directory.
    fn work_tree(&self, git_dir: &Path) -> Result<Option<PathBuf>, GitError> {
        let read = |name| self.access.read(git_dir, name, MAX_SETTINGS, self.context);
        if let Some(pointer) = read("gitdir")? {
            let dot_git = joined(git_dir, OsStr::from_bytes(pointer.trim_ascii()));
            return Ok(dot_git.parent().map(Path::to_path_buf));
        }
        let config = GitConfig::parse(&read("config")?.unwrap_or_default());
        if let Some(work_tree) = config.value("core", "worktree") {
            return Ok(Some(joined(git_dir, OsStr::new(work_tree))));
        }
        let is_inside = git_dir.file_name() == Some(OsStr::new(".git"));
        Ok(git_dir.parent().filter(|_| is_inside).map(Path::to_path_buf))
    }

    fn none(&self) -> Error {
        let cause = "No .git was found between this path and the root; the user can allow a git \
            directory elsewhere with --git-dir.";
        Error::NoRepository { path: self.given.into(), cause: cause.into() }
    }
}

/// Returns a path and the directories above it, from the deepest in which to look for a repository.
fn up_from(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(path.components().count().saturating_sub(MAX_DEPTH))
}

/// Joins a path to a directory lexically. The result may be outside the roots.
fn joined(folder: &Path, path: &OsStr) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}
