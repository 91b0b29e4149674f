//! Reads files at git revisions from the object database, in this process, and never writes.
//!
//! Runs neither git nor any hook, filter or helper, and ignores user and system configuration.
//! The repository of a path is the nearest `.git` between the path and its root. Files outside the
//! roots are read only in a git directory that the user allowed with `--git-dir`.

mod attributes;
mod blame;
mod commits;
mod config;
pub mod dates;
mod diff;
mod files;
mod git_dir_access;
mod history;
mod log;
mod objects;
mod packs;
mod paths;
mod refs;
mod renames;
mod repository;
mod resolve;
pub(crate) mod revision;
mod search;
mod tree;
mod tree_cache;
mod tree_diff;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::error::{Error, Result};

use crate::context::Context;
use crate::local::{HiddenPaths, Options};
use crate::path::AbsPath;
use crate::{AtRevision, LocalStore, RevisionFile, Revisions};
use files::GitFiles;
use git_dir_access::{GitDirAccess, GitError};
use repository::Repository;
use resolve::Resolver;
use revision::Revision;
use search::{FoundRepository, RepositorySearch};
use tree_cache::TreeCache;

pub use blame::BlameRun;
pub use commits::CommitInfo;
pub use diff::{Changes, FileChange, Status, Versions};
pub use history::History;
pub use log::{Log, LogContinuation, LogEntry, LogQuery};

/// The revisions of the repositories below the roots.
pub struct GitRevisions {
    local: Arc<LocalStore>,
    /// Git directories outside the roots that the user allows.
    git_dirs: Vec<PathBuf>,
}

impl GitRevisions {
    /// Creates the store. It opens no repository before a call needs one.
    pub fn new(local: Arc<LocalStore>, git_dirs: Vec<PathBuf>) -> GitRevisions {
        GitRevisions { local, git_dirs }
    }

    /// Returns the hash algorithm of the repository that contains a directory.
    pub fn object_format(&self, folder: &str, context: &Context) -> Result<&'static str> {
        let access = Arc::new(self.git_dir_access(folder)?);
        let search = RepositorySearch { access: &access, given: folder, context };
        let found = search.repository_of(&AbsPath::parse(folder.into())?)?;
        let repository = Repository::open(access.clone(), &found.dot_git, context);
        let repository = repository.map_err(|error: GitError| error.into_error(folder))?;
        Ok(match repository.hash {
            gix_hash::Kind::Sha256 => "SHA-256",
            _ => "SHA-1",
        })
    }

    /// Opens the allowed git directories like roots of their own.
    fn git_dir_access(&self, path: &str) -> Result<GitDirAccess> {
        let options = Options {
            roots: self.git_dirs.clone(),
            hidden: HiddenPaths::default(),
            allows_git_writes: false,
            is_durable: false,
        };
        let allowed = match self.git_dirs.as_slice() {
            [] => None,
            _ => Some(LocalStore::open(options).map_err(|_| Error::NoRepository {
                path: path.into(),
                cause: "A directory given with --git-dir cannot be opened.".into(),
            })?),
        };
        Ok(GitDirAccess { local: self.local.clone(), allowed })
    }
}

impl Revisions for GitRevisions {
    fn at(&self, revision: &str, path: &str, context: &Context) -> Result<AtRevision> {
        let (files, path, shown) = self.files_at(revision, path, context)?;
        Ok(AtRevision { top: files.tops[0].clone(), store: Box::new(files), path, shown })
    }

    fn file(&self, revision: &str, path: &str, context: &Context) -> Result<RevisionFile> {
        let (files, path, _) = self.files_at(revision, path, context)?;
        files.whole(&path, context)
    }

    fn history(&self, path: &str, context: &Context) -> Result<History> {
        let access = Arc::new(self.git_dir_access(path)?);
        let search = RepositorySearch { access: &access, given: path, context };
        let (path, found) = search.absolute()?;
        let tops = found.as_ref().map_or(&[][..], |found| &found.tops);
        let denied = paths::check(&self.local, &path, tops, context);
        if let Some(denied) = denied.map_err(|error| search.explained(error, tops))? {
            return Err(denied);
        }
        let Opened { found, is_shown_from_top, repository } = open(&search, &path, found)?;
        let objects = repository.objects();
        let local = self.local.clone();
        // Without a slash at the end.
        let tops: Vec<PathBuf> = found.tops.iter().map(|top| top.components().collect()).collect();
        let below = paths::relative(&local, &tops, &path, context)?;
        let below = below.ok_or_else(|| Error::NoRepository {
            path: path.to_string(),
            cause: "It is outside the work tree of the repository.".into(),
        })?;
        Ok(History {
            local,
            repository,
            objects,
            tops,
            path,
            below,
            is_shown_from_top,
            context: context.clone(),
            started: Instant::now(),
            max_time: history::MAX_TIME,
            cache: Mutex::default(),
        })
    }
}

/// The repository of a path.
struct Opened {
    found: FoundRepository,
    /// Whether answers show paths from its top.
    is_shown_from_top: bool,
    repository: Repository,
}

/// Opens the repository of a path. `found` is the one in which a relative path was found.
fn open(
    search: &RepositorySearch<'_>,
    path: &AbsPath,
    found: Option<FoundRepository>,
) -> Result<Opened> {
    let is_given_from_top = found.is_some();
    let found = match found {
        Some(found) => found,
        None => search.repository_of(path)?,
    };
    let is_shown_from_top = is_given_from_top || search.is_of_first_root(&found);
    let repository = Repository::open(search.access.clone(), &found.dot_git, search.context);
    let repository = repository.map_err(|error| error.into_error(path.as_str()))?;
    Ok(Opened { found, is_shown_from_top, repository })
}

impl GitRevisions {
    /// Returns the files at a revision, the requested path and how answers show it.
    fn files_at(
        &self,
        revision: &str,
        path: &str,
        context: &Context,
    ) -> Result<(GitFiles, AbsPath, PathBuf)> {
        let revision = Revision::parse(revision)?;
        let access = Arc::new(self.git_dir_access(path)?);
        let search = RepositorySearch { access: &access, given: path, context };
        let (path, found) = search.absolute()?;
        let tops = found.as_ref().map_or(&[][..], |found| &found.tops);
        let denied = paths::check(&self.local, &path, tops, context);
        let denied = denied.map_err(|error| search.explained(error, tops))?;
        let at = self.at_path(revision, path, &search, found);
        at.map_err(|error| denied.unwrap_or(error))
    }

    fn at_path(
        &self,
        revision: Revision,
        path: AbsPath,
        search: &RepositorySearch<'_>,
        found: Option<FoundRepository>,
    ) -> Result<(GitFiles, AbsPath, PathBuf)> {
        let context = search.context;
        let Opened { found, is_shown_from_top, repository } = open(search, &path, found)?;
        let objects = repository.objects();
        let resolver = Resolver {
            repository: &repository,
            objects: &objects,
            revision: &revision,
            path: path.as_str(),
            context,
        };
        let tree = resolver.tree()?;
        let (top, tops) = (found.tops[0].clone(), found.tops);
        let local = self.local.clone();
        let (revision, trees) = (revision.given, TreeCache::default());
        let files = GitFiles { local, repository, objects, tree, tops, revision, trees };
        let Some(below) = files.relative(&path, context)? else {
            let shown = path.as_path().to_path_buf();
            return Ok((files, path, shown));
        };
        let path = AbsPath::of(top.join(&below), path.to_string());
        let shown = if is_shown_from_top { below } else { path.as_path().to_path_buf() };
        Ok((files, path, shown))
    }
}
