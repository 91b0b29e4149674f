//! A repository, opened: where its parts are, and that they all lie where they may.
//!
//! A git directory can point elsewhere in four ways: a `gitdir:` file, `commondir`, alternates and
//! links. Each target is looked at through the wall before it is used, and one that is closed ends
//! the call. Settings decide only how ids and references are stored; nothing is ever run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gix_hash::{Kind as HashKind, ObjectId};

use super::config::GitConfig;
use super::git_dir_access::{GitDirAccess, RepositoryError, broken};
use super::objects::Objects;
use super::refs::Refs;
use crate::context::Context;

/// A file that holds one path.
const MAX_POINTER: u64 = 64 << 10;

const MAX_CONFIG: u64 = 4 << 20;

const MAX_SHALLOW: u64 = 16 << 20;

/// Git borrows objects through five others at most.
const MAX_BORROWED_DEPTH: usize = 5;
const MAX_BORROWED: usize = 32;

/// A repository whose parts were found and may be read.
pub struct Repository {
    /// The way to its files.
    pub access: Arc<GitDirAccess>,
    /// What belongs to this work tree: `HEAD` and its log.
    pub git_dir: PathBuf,
    /// What belongs to all of them.
    pub common_dir: PathBuf,
    /// Its settings.
    pub config: GitConfig,
    /// The kind of its ids.
    pub hash: HashKind,
    /// `packed-refs`, once it was read.
    pub packed_refs: OnceLock<Vec<u8>>,
    /// The `objects` folders, its own first.
    objects: Vec<PathBuf>,
    /// The commits whose parents were not cloned, once they were looked for.
    shallow: OnceLock<Vec<ObjectId>>,
}

impl Repository {
    /// Opens the repository whose `.git`, a folder or a file that points to one, stands at a path
    /// without links in its folder.
    pub fn open(
        access: Arc<GitDirAccess>,
        dot_git: &Path,
        context: &Context,
    ) -> Result<Repository, RepositoryError> {
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
            Some(_) => return Err(broken("its ids are of a kind that is not known here")),
        };
        let objects = object_folders(&access, &common_dir, context)?;
        let (packed_refs, shallow) = (OnceLock::new(), OnceLock::new());
        Ok(Repository { access, git_dir, common_dir, config, hash, packed_refs, objects, shallow })
    }

    /// Its objects.
    pub fn objects(&self, context: &Context) -> Result<Objects, RepositoryError> {
        let replaced = match self.config.value("core", "usereplacerefs") {
            Some("false" | "no" | "off" | "0") => Vec::new(),
            _ => Refs { repository: self, context }.replaced()?,
        };
        Ok(Objects::new(self.access.clone(), self.objects.clone(), self.hash, replaced))
    }

    /// Whether its references are kept in a way that is not known here.
    pub fn has_reftable(&self) -> bool {
        self.config.value("extensions", "refstorage").is_some_and(|kind| kind != "files")
    }

    /// Whether objects may be missing that only a server has.
    pub fn is_partial(&self) -> bool {
        self.config.value("extensions", "partialclone").is_some()
            || self.config.has("remote.", "promisor")
    }

    /// The commits whose parents were not cloned.
    pub fn shallow(&self, context: &Context) -> Result<&[ObjectId], RepositoryError> {
        if self.shallow.get().is_none() {
            let list = self.access.read(&self.common_dir, "shallow", MAX_SHALLOW, context)?;
            let list = list.unwrap_or_default();
            let ids = list.split(|byte| *byte == b'\n');
            let _ = self.shallow.set(ids.filter_map(|id| ObjectId::from_hex(id).ok()).collect());
        }
        Ok(self.shallow.get().map_or(&[], Vec::as_slice))
    }
}

/// The git directory that stands at a path, or that the file there points to.
fn git_dir(
    access: &GitDirAccess,
    dot_git: &Path,
    context: &Context,
) -> Result<PathBuf, RepositoryError> {
    let seen = access.look(dot_git, ".git", context)?.ok_or_else(|| {
        RepositoryError::Denied("Its .git is a link that leads out of the roots.".into())
    })?;
    if seen.is_folder() {
        return Ok(seen.real_path);
    }
    let (folder, name) = (seen.real_path.parent(), seen.real_path.file_name());
    let (Some(folder), Some(name)) = (folder, name.and_then(OsStr::to_str)) else {
        return Err(broken("its .git is not a folder"));
    };
    let pointer = access.read(folder, name, MAX_POINTER, context)?.unwrap_or_default();
    let target =
        pointer.strip_prefix(b"gitdir:").ok_or_else(|| broken("its .git is not a pointer"))?;
    follow(access, folder, target, ".git", context)
}

/// The folder that a file of one line names, seen from where the file stands.
fn follow(
    access: &GitDirAccess,
    from: &Path,
    target: &[u8],
    what: &str,
    context: &Context,
) -> Result<PathBuf, RepositoryError> {
    let target = OsStr::from_bytes(target.trim_ascii());
    match access.look(&from.join(target), what, context)? {
        Some(seen) if seen.is_folder() => Ok(seen.real_path),
        Some(_) => Err(broken(format!("its {what} names no folder"))),
        None => Err(RepositoryError::Denied(format!(
            "Its {what} names a folder outside the roots; --git-dir allows a git directory there."
        ))),
    }
}

/// The `objects` folder, and those that it borrows from.
fn object_folders(
    access: &GitDirAccess,
    common_dir: &Path,
    context: &Context,
) -> Result<Vec<PathBuf>, RepositoryError> {
    let objects =
        access.look(&common_dir.join("objects"), "objects", context)?.ok_or_else(|| {
            RepositoryError::Denied(
                "Its objects folder is a link that leads out of the roots.".into(),
            )
        })?;
    if !objects.is_folder() {
        return Err(broken("it has no objects folder"));
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
                return Err(broken("it borrows objects from a path in quotes"));
            }
            let target = folder.join(OsStr::from_bytes(line));
            let seen =
                access.look(&target, "objects/info/alternates", context)?.ok_or_else(|| {
                    RepositoryError::Denied(
                        "It borrows objects (objects/info/alternates) from outside the roots; \
                     --git-dir allows a git directory there."
                            .into(),
                    )
                })?;
            // What is gone is passed by, as in git.
            if !seen.is_folder() || folders.contains(&seen.real_path) {
                continue;
            }
            if depth == MAX_BORROWED_DEPTH || folders.len() == MAX_BORROWED {
                return Err(broken("it borrows objects from too many others"));
            }
            folders.push(seen.real_path.clone());
            ahead.push((seen.real_path, depth + 1));
        }
    }
    Ok(folders)
}
