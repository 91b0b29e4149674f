//! The history of one repository, for one call: objects are cached, and the time is bounded.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gix_hash::ObjectId;
use gix_object::Kind;

use super::git_dir_access::{GitError, broken};
use super::log::lossy;
use super::objects::{GitObject, ObjectLookup, Objects};
use super::packs::{DeltaBases, Reading};
use super::repository::Repository;
use super::resolve::{Resolver, missing};
use super::revision::{Peel, Revision};
use super::tree::{self, TreeEntry, entries};
use crate::LocalStore;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::limits;
use crate::lru::Lru;
use crate::path::AbsPath;
use crate::sync::lock;

/// Bytes of objects that are cached.
const MAX_CACHED: usize = 24 << 20;

/// A larger object is not cached.
const MAX_CACHED_OBJECT: usize = 4 << 20;

/// The history of a repository. Reads only objects, and only what the path rules permit.
pub struct History {
    pub(super) local: Arc<LocalStore>,
    pub(super) repository: Repository,
    pub(super) objects: Objects,
    /// The top of the work tree: without links, and as callers may spell it.
    pub(super) tops: Vec<PathBuf>,
    /// The path that the caller gave.
    pub(super) path: AbsPath,
    /// The same, relative to the top.
    pub(super) below: PathBuf,
    /// Whether relative paths start at the top.
    pub(super) is_shown_from_top: bool,
    pub(super) context: Context,
    pub(super) started: Instant,
    pub(super) max_time: Duration,
    pub(super) cache: Mutex<Cache>,
}

/// What was read during the call.
#[derive(Default)]
pub(super) struct Cache {
    objects: Lru<ObjectId, Arc<GitObject>, { usize::MAX }, MAX_CACHED>,
    bases: DeltaBases,
    inflate: gix_zlib::Inflate,
}

/// Why work on a history ended early.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// The time is over.
    Time,
    /// The repository cannot be read, or the call was cancelled.
    Error(GitError),
}

impl<T: Into<GitError>> From<T> for Stop {
    fn from(error: T) -> Stop {
        Stop::Error(error.into())
    }
}

impl History {
    /// Returns the same with another time budget.
    pub fn with_max_time(self, max_time: Duration) -> History {
        History { max_time, ..self }
    }

    /// Returns the top of the work tree.
    pub fn top(&self) -> &Path {
        &self.tops[0]
    }

    /// Returns the path of the request relative to the top; empty for the top itself.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// Returns a path below the top as answers show it, valid as input.
    pub(super) fn shown(&self, path: &[u8]) -> String {
        match self.is_shown_from_top {
            true => lossy(path),
            false => lossy(&[self.tops[0].as_os_str().as_bytes(), b"/", path].concat()),
        }
    }

    /// Whether the clone is shallow, so that older commits are missing.
    pub fn is_shallow(&self) -> bool {
        self.repository.shallow(&self.context).is_ok_and(|ends| !ends.is_empty())
    }

    pub(super) fn is_shallow_end(&self, id: &ObjectId) -> Result<bool, Stop> {
        Ok(self.repository.shallow(&self.context)?.contains(id))
    }

    /// Converts to the store's error. Reaching the time limit is one, where no partial answer exists.
    pub(super) fn error(&self, stop: Stop, too_slow: &str) -> Error {
        let error = match stop {
            Stop::Time => broken(too_slow),
            Stop::Error(error) => error,
        };
        error.into_error(self.path.as_str())
    }

    /// Whether the time of the call is over.
    pub fn is_time_over(&self) -> bool {
        self.started.elapsed() > self.max_time
    }

    /// Returns how long the call may take, as text.
    pub fn time_limit(&self) -> String {
        format!("{} seconds", self.max_time.as_secs())
    }

    /// Fails if the call was cancelled or its time is over.
    pub(super) fn check(&self) -> Result<(), Stop> {
        self.context.cancel.check()?;
        match self.is_time_over() {
            true => Err(Stop::Time),
            false => Ok(()),
        }
    }

    /// Reads an object that must exist.
    pub(super) fn object(&self, id: &ObjectId) -> Result<Arc<GitObject>, Stop> {
        match self.lookup(id)? {
            Some(object) => Ok(object),
            None => Err(broken(format!("object {id} is larger than 64 MiB")).into()),
        }
    }

    /// Reads an object that must exist. Returns `None` if it is too large.
    pub(super) fn lookup(&self, id: &ObjectId) -> Result<Option<Arc<GitObject>>, Stop> {
        self.check()?;
        let mut cache = lock(&self.cache);
        if let Some(object) = cache.objects.get(id) {
            return Ok(Some(object.clone()));
        }
        let deadline = Some(self.started + self.max_time);
        let Cache { bases, inflate, .. } = &mut *cache;
        let mut reading = Reading { bases, inflate, context: &self.context, deadline };
        let found = self.objects.find_with(id, &mut reading);
        if found.is_err() {
            // The reason may be that the time is over.
            self.check()?;
        }
        let object = match found? {
            ObjectLookup::Whole(object) => Arc::new(object),
            ObjectLookup::TooLarge { .. } => return Ok(None),
            ObjectLookup::Missing => return Err(missing(&self.repository, id).into()),
        };
        if object.bytes.len() <= MAX_CACHED_OBJECT {
            let weight = object.bytes.len() + 128;
            cache.objects.insert_weighing(*id, object.clone(), weight);
        }
        Ok(Some(object))
    }

    /// Reads a tree.
    pub(super) fn tree(&self, id: &ObjectId) -> Result<Arc<GitObject>, Stop> {
        let object = self.object(id)?;
        match object.kind {
            Kind::Tree => Ok(object),
            _ => Err(broken("the object of a directory is not a tree").into()),
        }
    }

    /// Returns the entry at a path in a tree.
    pub(super) fn entry(&self, top: ObjectId, path: &[u8]) -> Result<Option<TreeEntry>, Stop> {
        let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        let parts: Vec<&[u8]> = parts.collect();
        tree::find(top, &parts, |id, name| {
            let tree = self.tree(id)?;
            for entry in entries(&tree, id.kind()) {
                let (other, entry) = entry?;
                if other == name {
                    return Ok(Some(entry));
                }
            }
            Ok(None)
        })
    }

    /// Resolves a revision to an object of a type.
    pub(super) fn resolve(&self, revision: &str, peel: Peel) -> Result<ObjectId> {
        let revision = Revision::parse(revision)?;
        let resolver = Resolver {
            repository: &self.repository,
            objects: &self.objects,
            revision: &revision,
            path: self.path.as_str(),
            context: &self.context,
        };
        resolver.object(peel)
    }

    /// Returns a filter for the paths below the top that the caller may see.
    pub(super) fn visible(&self) -> impl Fn(&[u8]) -> bool {
        let visible = self.local.visible(&self.context);
        let top = self.tops[0].clone();
        move |path: &[u8]| visible.contains(&top.join(std::ffi::OsStr::from_bytes(path)))
    }
}

/// How long the work of one call may take.
pub(super) const MAX_TIME: Duration = limits::HISTORY_TIME;
