//! Opens a repository: finds its directories and checks that each may be read.
//!
//! A git directory can point elsewhere in four ways: a `gitdir:` file, `commondir`, alternates and
//! symbolic links. Each target is checked by [`GitDirAccess`] before it is used; one that is not
//! permitted ends the call. Settings only affect how ids and references are stored.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gix_hash::{Kind as HashKind, ObjectId};

use super::config::GitConfig;
use super::git_dir_access::{GitDirAccess, GitError, broken};
use super::objects::Objects;
use crate::context::Context;

/// The largest file that contains one path, in bytes.
const MAX_POINTER: u64 = 64 << 10;

const MAX_CONFIG: u64 = 4 << 20;

const MAX_SHALLOW: u64 = 16 << 20;

/// Git follows at most five levels of alternates.
const MAX_BORROWED_DEPTH: usize = 5;
const MAX_BORROWED: usize = 32;

/// A repository whose directories were found and may be read.
pub struct Repository {
    /// Opens its files.
    pub access: Arc<GitDirAccess>,
    /// The directory of this work tree, with `HEAD` and its reflog.
    pub git_dir: PathBuf,
    /// The directory that all work trees share.
    pub common_dir: PathBuf,
    /// Its settings.
    pub config: GitConfig,
    /// The hash algorithm of its ids.
    pub hash: HashKind,
    /// The content of `packed-refs`, once read.
    pub packed_refs: OnceLock<Vec<u8>>,
    /// The `objects` directories, its own first.
    objects: Vec<PathBuf>,
    /// The commits whose parents were not cloned, once read.
    shallow: OnceLock<Vec<ObjectId>>,
}

impl Repository {
    /// Opens the repository with this `.git`, a directory or a file that points to one. The path to
    /// its parent has no links.
    pub fn open(
        access: Arc<GitDirAccess>,
        dot_git: &Path,
        context: &Context,
    ) -> Result<Repository, GitError> {
        let git_dir = git_dir(&access, dot_git, context)?;
        let common_dir = match access.read(&git_dir, "commondir", MAX_POINTER, context)? {
            Some(target) => follow(&access, &git_dir, &target, "commondir", context)?,
            None => git_dir.clone(),
        };
        let config = access.read(&common_dir, "config", MAX_CONFIG, context)?.unwrap_or_default();
        let config = GitConfig::parse(&config);
        let hash = match config.value("extensions", "objectformat") {
            None | Some("sha1") => HashKind::Sha1,
            Some("sha256") => HashKind::Sha256,
            Some(_) => return Err(broken("its object format is not supported")),
        };
        let objects = object_folders(&access, &common_dir, context)?;
        let (packed_refs, shallow) = (OnceLock::new(), OnceLock::new());
        Ok(Repository { access, git_dir, common_dir, config, hash, packed_refs, objects, shallow })
    }

    /// Opens the object database.
    pub fn objects(&self) -> Objects {
        Objects::new(self.access.clone(), self.objects.clone(), self.hash)
    }

    /// Whether its references are stored in an unsupported format.
    pub fn has_reftable(&self) -> bool {
        self.config.value("extensions", "refstorage").is_some_and(|kind| kind != "files")
    }

    /// Whether the modes of files on disk count (`core.fileMode`).
    pub fn has_file_modes(&self) -> bool {
        let value = self.config.value("core", "filemode").map(str::to_ascii_lowercase);
        !matches!(value.as_deref(), Some("false" | "no" | "off" | "0" | ""))
    }

    /// Whether this is a partial clone, so that objects may be missing.
    pub fn is_partial(&self) -> bool {
        self.config.value("extensions", "partialclone").is_some()
            || self.config.has("remote.", "promisor")
    }

    /// Returns the commits whose parents were not cloned.
    pub fn shallow(&self, context: &Context) -> Result<&[ObjectId], GitError> {
        if self.shallow.get().is_none() {
            let list = self.access.read(&self.common_dir, "shallow", MAX_SHALLOW, context)?;
            let list = list.unwrap_or_default();
            let ids = list.split(|byte| *byte == b'\n');
            let _ = self.shallow.set(ids.filter_map(|id| ObjectId::from_hex(id).ok()).collect());
        }
        Ok(self.shallow.get().map_or(&[], Vec::as_slice))
    }
}

/// Returns the git directory at a path, or the one that the file there points to.
fn git_dir(access: &GitDirAccess, dot_git: &Path, context: &Context) -> Result<PathBuf, GitError> {
    let seen = access.probe(dot_git, ".git", context)?.ok_or_else(|| {
        GitError::Denied("Its .git is a symbolic link to a path outside the roots.".into())
    })?;
    if seen.is_dir() {
        return Ok(seen.real_path);
    }
    let (folder, name) = (seen.real_path.parent(), seen.real_path.file_name());
    let (Some(folder), Some(name)) = (folder, name.and_then(OsStr::to_str)) else {
        return Err(broken(".git is not a directory"));
    };
    let pointer = access.read(folder, name, MAX_POINTER, context)?.unwrap_or_default();
    let target = pointer
        .strip_prefix(b"gitdir:")
        .ok_or_else(|| broken(".git does not start with 'gitdir:'"))?;
    follow(access, folder, target, ".git", context)
}

/// Resolves the directory that a file of one line names, relative to the directory of the file.
fn follow(
    access: &GitDirAccess,
    from: &Path,
    target: &[u8],
    what: &str,
    context: &Context,
) -> Result<PathBuf, GitError> {
    let target = OsStr::from_bytes(target.trim_ascii());
    match access.probe(&from.join(target), what, context)? {
        Some(seen) if seen.is_dir() => Ok(seen.real_path),
        Some(_) => Err(broken(format!("{what} does not name a directory"))),
        None => Err(GitError::Denied(format!(
            "Its {what} names a directory outside the roots; --git-dir can allow it."
        ))),
    }
}

/// Returns the `objects` directory and its alternates.
fn object_folders(
    access: &GitDirAccess,
    common_dir: &Path,
    context: &Context,
) -> Result<Vec<PathBuf>, GitError> {
    let objects =
        access.probe(&common_dir.join("objects"), "objects", context)?.ok_or_else(|| {
            GitError::Denied(
                "Its objects directory is a symbolic link to a path outside the roots.".into(),
            )
        })?;
    if !objects.is_dir() {
        return Err(broken("it has no objects directory"));
    }
    let mut folders = vec![objects.real_path.clone()];
    let mut ahead = vec![(objects.real_path, 0)];
    while let Some((folder, depth)) = ahead.pop() {
        let list =
            access.read(&folder, "info/alternates", MAX_POINTER, context)?.unwrap_or_default();
        for line in list.split(|byte| *byte == b'\n').rev() {
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if line.starts_with(b"\"") {
                return Err(broken(
                    "objects/info/alternates contains a quoted path, which is not supported",
                ));
            }
            let target = folder.join(OsStr::from_bytes(line));
            let seen =
                access.probe(&target, "objects/info/alternates", context)?.ok_or_else(|| {
                    GitError::Denied(
                        "Its objects/info/alternates names a directory outside the roots; \
                     --git-dir can allow it."
                            .into(),
                    )
                })?;
            // Like git, skip alternates that do not exist.
            if !seen.is_dir() || folders.contains(&seen.real_path) {
                continue;
            }
            if depth == MAX_BORROWED_DEPTH || folders.len() == MAX_BORROWED {
                return Err(broken("it has too many alternate object directories"));
            }
            folders.push(seen.real_path.clone());
            ahead.push((seen.real_path, depth + 1));
        }
    }
    Ok(folders)
}
