//! Resolves a revision to its tree.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Kind, TagRefIter};

use super::commits::{Commit, Walk};
use super::git_dir_access::{GitError, broken};
use super::objects::{GitObject, ObjectLookup, Objects};
use super::refs::{LogEntry, Refs};
use super::repository::Repository;
use super::revision::{Base, MessagePattern, Peel, Revision, RevisionStep};
use crate::context::Context;

/// The longest chain of tags.
const MAX_TAGS: usize = 16;

/// How long a walk through history may run.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Resolves one revision.
pub struct Resolver<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Its objects.
    pub objects: &'a Objects,
    /// The revision.
    pub revision: &'a Revision,
    /// The path that the caller gave, for messages.
    pub path: &'a str,
    /// The call.
    pub context: &'a Context,
}

impl Resolver<'_> {
    /// Returns the tree of the revision.
    pub fn tree(&self) -> Result<ObjectId> {
        self.object(Peel::Tree)
    }

    /// Returns the object of a type that the revision leads to.
    pub fn object(&self, peel: Peel) -> Result<ObjectId> {
        let mut id = self.base()?;
        for step in &self.revision.steps {
            id = self.step(id, step)?;
        }
        self.peel(id, peel)
    }

    /// Reads an object that another object refers to, so that it must exist.
    pub fn read(&self, id: &ObjectId) -> Result<GitObject> {
        read(self.objects, self.repository, id, self.context)
            .map_err(|error| error.into_error(self.path))
    }

    fn base(&self) -> Result<ObjectId> {
        match &self.revision.base {
            Base::Name(name) => self.named(name),
            Base::Earlier { name, n_changes } => self.earlier(name.as_deref(), *n_changes),
            Base::CheckedOut { n_checkouts } => self.checked_out(*n_checkouts),
            Base::Message(pattern) => {
                let started = Instant::now();
                let mut tips = Vec::new();
                for id in self.checked(self.refs().all())? {
                    self.check_search(started)?;
                    match self.peel(id, Peel::Commit) {
                        Ok(id) => tips.push(id),
                        Err(Error::Cancelled) => return Err(Error::Cancelled),
                        // Like git, skip references to other objects.
                        Err(_) => {}
                    }
                }
                self.with_message(tips, pattern, started)
            }
            Base::Upstream { name } => {
                let branch = match name.as_deref() {
                    None | Some("HEAD") => self.checked(self.refs().current_branch())?,
                    Some(name) => self.checked(self.refs().find(name))?.map(|(name, _)| name),
                };
                let upstream = branch.and_then(|branch| self.refs().upstream(&branch));
                let id = match upstream {
                    Some(upstream) => self.checked(self.refs().id(&upstream))?,
                    None => None,
                };
                id.ok_or_else(|| self.unknown("The branch has no upstream in this repository."))
            }
        }
    }

    fn named(&self, name: &str) -> Result<ObjectId> {
        let n_digits = self.repository.hash.len_in_hex();
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if name.len() == n_digits
            && let Ok(id) = ObjectId::from_hex(name.to_ascii_lowercase().as_bytes())
        {
            return match self.checked(self.objects.find(&id, self.context))? {
                ObjectLookup::Missing => Err(self.unknown(match self.is_cut_off() {
                    true => "This clone is shallow or partial and has no object with that id.",
                    false => "No object has that id.",
                })),
                _ => Ok(id),
            };
        }
        let is_short = (4..n_digits).contains(&name.len()) && is_hex(name);
        if !(is_short && self.repository.has_reftable())
            && let Some((_, id)) = self.checked(self.refs().find(name))?
        {
            return Ok(id);
        }
        if name == "HEAD" {
            return Err(self.unknown("The repository has no commits yet."));
        }
        // The output of `git describe` ends with an abbreviated id.
        let described = name.rsplit_once("-g").map(|(_, digits)| digits);
        let is_described = |digits: &&str| digits.len() >= 4 && is_hex(digits);
        match described.filter(is_described).or(is_short.then_some(name)) {
            Some(digits) => self.abbreviated(&digits.to_ascii_lowercase()),
            None => Err(self.unknown("No branch, tag or object has that name.")),
        }
    }

    /// Returns the only commit, tag or tree whose id starts with these digits.
    fn abbreviated(&self, digits: &str) -> Result<ObjectId> {
        let mut ids = Vec::new();
        for id in self.checked(self.objects.with_prefix(digits, self.context))? {
            if let Some(kind) = self.checked(self.objects.kind(&id, self.context))?
                && kind != Kind::Blob
            {
                ids.push((id, kind));
            }
        }
        // Like git, prefer commits and tags to trees.
        if ids.iter().any(|(_, kind)| *kind != Kind::Tree) {
            ids.retain(|(_, kind)| *kind != Kind::Tree);
        }
        match ids.as_slice() {
            [(id, _)] => Ok(*id),
            [] => Err(self.unknown("No branch, tag or object has that name.")),
            ids => {
                let cause = format!("{} objects match this abbreviated id; add digits.", ids.len());
                Err(self.unknown(cause))
            }
        }
    }

    fn earlier(&self, name: Option<&str>, n_changes: usize) -> Result<ObjectId> {
        let name = match name {
            Some(name) => self.checked(self.refs().find(name))?.map(|(name, _)| name),
            None => {
                let branch = self.checked(self.refs().current_branch())?;
                Some(branch.unwrap_or_else(|| "HEAD".into()))
            }
        };
        let Some(name) = name else {
            return Err(self.unknown("No branch or tag has that name."));
        };
        if n_changes == 0
            && let Some(id) = self.checked(self.refs().id(&name))?
        {
            return Ok(id);
        }
        let log = self.checked(self.refs().log(&name))?;
        // The oldest entry also records the id before it.
        let oldest = log.first().map(|entry| entry.old).filter(|old| !old.is_null());
        let entry = log.iter().rev().nth(n_changes).map(|entry| entry.new);
        let id = entry.or(oldest.filter(|_| n_changes == log.len()));
        id.ok_or_else(|| self.unknown(format!("The reflog has only {} entries.", log.len())))
    }

    fn checked_out(&self, n_checkouts: usize) -> Result<ObjectId> {
        let log = self.checked(self.refs().log("HEAD"))?;
        let left = |entry: &LogEntry| {
            let moved = entry.message.strip_prefix("checkout: moving from ")?;
            moved.split_once(" to ").map(|(from, _)| from.to_string())
        };
        let mut checkouts: Vec<String> = log.iter().filter_map(left).collect();
        let at = checkouts.len().checked_sub(n_checkouts);
        let Some(at) = at else {
            let cause = format!("The reflog of HEAD has only {} checkouts.", checkouts.len());
            return Err(self.unknown(cause));
        };
        self.named(&checkouts.swap_remove(at))
    }

    fn step(&self, id: ObjectId, step: &RevisionStep) -> Result<ObjectId> {
        match *step {
            RevisionStep::Peel(peel) => self.peel(id, peel),
            RevisionStep::Message(ref pattern) => {
                self.with_message(vec![self.peel(id, Peel::Commit)?], pattern, Instant::now())
            }
            RevisionStep::Parent(0) => self.peel(id, Peel::Commit),
            RevisionStep::Parent(n) => self.parent(self.peel(id, Peel::Commit)?, n),
            RevisionStep::Ancestor(n_generations) => {
                let started = Instant::now();
                let mut id = self.peel(id, Peel::Commit)?;
                for _ in 0..n_generations {
                    if started.elapsed() > MAX_TIME {
                        return Err(
                            self.unknown("Walking back that far in history takes too long.")
                        );
                    }
                    id = self.parent(id, 1)?;
                }
                Ok(id)
            }
        }
    }

    /// Returns the newest commit with a matching message among some commits and their ancestors.
    fn with_message(
        &self,
        tips: Vec<ObjectId>,
        pattern: &MessagePattern,
        started: Instant,
    ) -> Result<ObjectId> {
        let mut walk = Walk::default();
        let read = |id: &ObjectId| {
            let damaged = || broken(format!("object {id} is not a valid commit"));
            let commit = Commit::parse(*id, &self.read(id)?);
            commit.ok_or_else(|| damaged().into_error(self.path))
        };
        for id in tips {
            self.check_search(started)?;
            walk.add(&id, read)?;
        }
        let ends = self.checked(self.repository.shallow(self.context))?;
        while let Some(commit) = walk.pop() {
            let object = self.read(&commit.id)?;
            let message = CommitRefIter::from_bytes(&object.bytes, commit.id.kind()).message();
            if message.is_ok_and(|message| pattern.matches(message)) {
                return Ok(commit.id);
            }
            self.check_search(started)?;
            for parent in commit.parents.iter().filter(|_| !ends.contains(&commit.id)) {
                walk.add(parent, read)?;
            }
        }
        Err(self.unknown("No commit message contains that text."))
    }

    /// Fails if the call was cancelled or a search takes too long.
    fn check_search(&self, started: Instant) -> Result<()> {
        self.context.cancel.check().map_err(|_| Error::Cancelled)?;
        match started.elapsed() > MAX_TIME {
            true => Err(self.unknown("Searching that far back in history takes too long.")),
            false => Ok(()),
        }
    }

    fn parent(&self, id: ObjectId, number: usize) -> Result<ObjectId> {
        let commit = self.read(&id)?;
        if commit.kind != Kind::Commit {
            return Err(broken("a parent of a commit is not a commit").into_error(self.path));
        }
        let parents: Vec<ObjectId> =
            CommitRefIter::from_bytes(&commit.bytes, id.kind()).parent_ids().collect();
        let is_end = self.checked(self.repository.shallow(self.context))?.contains(&id);
        match parents.get(number - 1) {
            Some(_) if is_end => Err(self.unknown("The clone is shallow and does not contain it.")),
            Some(parent) => Ok(*parent),
            None if parents.is_empty() => Err(self.unknown("It is before the first commit.")),
            None => Err(self.unknown(match parents.len() {
                1 => "The commit has only one parent.".into(),
                n_parents => format!("The commit has only {n_parents} parents."),
            })),
        }
    }

    fn peel(&self, mut id: ObjectId, to: Peel) -> Result<ObjectId> {
        for _ in 0..MAX_TAGS {
            let damaged = |_| broken(format!("object {id} is damaged")).into_error(self.path);
            let object = self.read(&id)?;
            id = match (object.kind, to) {
                (_, Peel::Object)
                | (Kind::Tag, Peel::Tag)
                | (Kind::Commit, Peel::Commit | Peel::Any)
                | (Kind::Tree, Peel::Tree | Peel::Any) => return Ok(id),
                (Kind::Tag, _) => {
                    let tag = TagRefIter::from_bytes(&object.bytes, id.kind());
                    tag.target_id().map_err(damaged)?
                }
                (Kind::Commit, Peel::Tree) => {
                    let mut commit = CommitRefIter::from_bytes(&object.bytes, id.kind());
                    commit.tree_id().map_err(damaged)?
                }
                (kind, _) => {
                    let what = match kind {
                        Kind::Blob => "file",
                        Kind::Tree => "tree",
                        Kind::Commit => "commit",
                        Kind::Tag => "tag",
                    };
                    let wanted = match to {
                        Peel::Tag => "tag",
                        Peel::Commit => "commit",
                        _ => "commit or tree",
                    };
                    return Err(self.unknown(format!("It is a {what}, not a {wanted}.")));
                }
            };
        }
        Err(broken("its tags form a cycle or a chain that is too long").into_error(self.path))
    }

    fn is_cut_off(&self) -> bool {
        let shallow = self.repository.shallow(self.context);
        self.repository.is_partial() || shallow.is_ok_and(|shallow| !shallow.is_empty())
    }

    fn refs(&self) -> Refs<'_> {
        Refs { repository: self.repository, context: self.context }
    }

    fn checked<T>(&self, answer: Result<T, GitError>) -> Result<T> {
        answer.map_err(|error| error.into_error(self.path))
    }

    fn unknown(&self, cause: impl Into<String>) -> Error {
        self.revision.unknown(cause)
    }
}

/// Reads a commit, tag or tree that must exist.
pub fn read(
    objects: &Objects,
    repository: &Repository,
    id: &ObjectId,
    context: &Context,
) -> Result<GitObject, GitError> {
    match objects.find(id, context)? {
        ObjectLookup::Whole(object) => Ok(object),
        ObjectLookup::TooLarge { n_bytes } => {
            Err(broken(format!("object {id} is too large ({n_bytes} bytes)")))
        }
        ObjectLookup::Missing => Err(missing(repository, id)),
    }
}

/// Returns the error for an object that another object refers to and that does not exist.
pub fn missing(repository: &Repository, id: &ObjectId) -> GitError {
    broken(match repository.is_partial() {
        true => format!(
            "this is a partial clone and object {id} was not fetched; check out the revision with \
             git to fetch it"
        ),
        false => format!("object {id} is missing"),
    })
}
