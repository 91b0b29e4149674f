//! The files at revisions: read from git's own files, in this process, and never changed.
//!
//! No git is run, no hook, filter or helper either, and no setting of a user or a system counts.
//! A repository is found by its `.git` on the way up to the root; what lies outside the roots is
//! read only where the user allowed that git directory.

mod config;
mod files;
mod git_dir_access;
mod objects;
mod packs;
mod paths;
mod refs;
mod repository;
mod resolve;
pub(crate) mod revision;
mod search;
mod tree;
mod tree_cache;

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Error, Result};

use crate::context::Context;
use crate::local::{HiddenPaths, Options};
use crate::path::AbsPath;
use crate::{AtRevision, LocalStore, Revisions};
use files::GitFiles;
use git_dir_access::{GitDirAccess, RepositoryError};
use repository::Repository;
use resolve::Resolver;
use revision::Revision;
use search::{FoundRepository, RepositorySearch};
use tree_cache::TreeCache;

/// The revisions of the repositories beneath the roots.
pub struct GitRevisions {
    local: Arc<LocalStore>,
    /// Git directories outside the roots that the user allows.
    git_dirs: Vec<PathBuf>,
}

impl GitRevisions {
    /// Nothing is opened before a call needs it.
    pub fn new(local: Arc<LocalStore>, git_dirs: Vec<PathBuf>) -> GitRevisions {
        GitRevisions { local, git_dirs }
    }

    /// The kind of ids in the repository of a folder.
    pub fn object_format(&self, folder: &str, context: &Context) -> Result<&'static str> {
        let access = Arc::new(self.git_dir_access(folder)?);
        let search = RepositorySearch { access: &access, given: folder, context };
        let found = search.repository_of(&AbsPath::parse(folder.into())?)?;
        let repository = Repository::open(access.clone(), &found.dot_git, context);
        let repository = repository.map_err(|fault: RepositoryError| fault.into_error(folder))?;
        Ok(match repository.hash {
            gix_hash::Kind::Sha256 => "SHA-256",
            _ => "SHA-1",
        })
    }

    /// The allowed git directories are opened like roots of their own.
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
                cause: "A folder that --git-dir names cannot be opened.".into(),
            })?),
        };
        Ok(GitDirAccess { local: self.local.clone(), allowed })
    }
}

impl Revisions for GitRevisions {
    fn at(&self, revision: &str, path: &str, context: &Context) -> Result<AtRevision> {
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
}

impl GitRevisions {
    fn at_path(
        &self,
        revision: Revision,
        path: AbsPath,
        search: &RepositorySearch<'_>,
        found: Option<FoundRepository>,
    ) -> Result<AtRevision> {
        let (access, context) = (search.access, search.context);
        let is_given_from_top = found.is_some();
        let found = match found {
            Some(found) => found,
            None => search.repository_of(&path)?,
        };
        let is_of_first_root = || {
            let first = search.of_first_root().ok().flatten();
            first.is_some_and(|first| first.tops[0] == found.tops[0])
        };
        let is_shown_from_top = is_given_from_top || is_of_first_root();
        let fault = |fault: RepositoryError| fault.into_error(path.as_str());
        let repository =
            Repository::open(access.clone(), &found.dot_git, context).map_err(fault)?;
        let objects = repository.objects(context).map_err(fault)?;
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
            return Ok(AtRevision { store: Box::new(files), path, top, shown });
        };
        let path = AbsPath::of(top.join(&below), path.to_string());
        let shown = if is_shown_from_top { below } else { path.as_path().to_path_buf() };
        Ok(AtRevision { store: Box::new(files), path, top, shown })
    }
}
