//! Commits, and the walk over them from newest to oldest.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet};

use gix_date::Time;
use gix_date::time::format::ISO8601_STRICT;
use gix_hash::ObjectId;
use gix_object::commit::ref_iter::Token;
use gix_object::{CommitRefIter, Kind};

use super::git_dir_access::broken;
use super::history::{History, Stop};
use super::objects::GitObject;

/// The part of a commit that walks need.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The id.
    pub id: ObjectId,
    /// The tree.
    pub tree: ObjectId,
    /// The parents; none at the end of a shallow clone.
    pub parents: Vec<ObjectId>,
    /// The time of the commit, in seconds since 1970.
    pub time: i64,
}

/// A commit as answers show it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitInfo {
    /// The full id.
    pub id: String,
    /// The author's name.
    pub author: String,
    /// The author's address.
    pub email: String,
    /// When the author made the change, as ISO 8601.
    pub date: String,
    /// The first paragraph of the message, on one line.
    pub subject: String,
}

impl Commit {
    /// Parses a commit. Returns `None` if it is damaged or another object.
    pub fn parse(id: ObjectId, object: &GitObject) -> Option<Commit> {
        let mut commit = Commit { id, tree: id.kind().null(), parents: Vec::new(), time: 0 };
        let mut has_tree = false;
        if object.kind != Kind::Commit {
            return None;
        }
        for token in CommitRefIter::from_bytes(&object.bytes, id.kind()) {
            match token {
                Ok(Token::Tree { id }) => (commit.tree, has_tree) = (id, true),
                Ok(Token::Parent { id }) => commit.parents.push(id),
                Ok(Token::Committer { signature }) => {
                    // Like git, treat a time that cannot be parsed as the first of all.
                    commit.time = signature.time().map_or(0, |time| time.seconds);
                    break;
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        has_tree.then_some(commit)
    }
}

/// The author and the message of a commit.
pub struct CommitText {
    /// The author's name.
    pub name: String,
    /// The author's address.
    pub email: String,
    /// The time of the change.
    pub time: Time,
    /// The whole message.
    pub message: String,
}

impl CommitText {
    /// Parses a commit. Parts that are missing or damaged are empty.
    pub fn parse(object: &GitObject, hash: gix_hash::Kind) -> CommitText {
        let (name, email, message) = (String::new(), String::new(), String::new());
        let mut text = CommitText { name, email, time: Time::default(), message };
        for token in CommitRefIter::from_bytes(&object.bytes, hash) {
            match token {
                Ok(Token::Author { signature }) => {
                    text.name = decoded(signature.name);
                    text.email = decoded(signature.email);
                    text.time = signature.time().unwrap_or_default();
                }
                Ok(Token::Message(message)) => text.message = decoded(message),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        text
    }

    /// Returns the first paragraph of the message, on one line.
    pub fn subject(&self) -> String {
        let lines = self.message.lines().map(str::trim_end).skip_while(|line| line.is_empty());
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        lines.join(" ")
    }

    /// Returns what answers show.
    pub fn into_info(self, id: &ObjectId) -> CommitInfo {
        CommitInfo {
            id: id.to_string(),
            date: self.time.format_or_unix(ISO8601_STRICT),
            subject: self.subject(),
            author: self.name,
            email: self.email,
        }
    }
}

/// Decodes UTF-8; in anything else each byte is a character, as in ISO 8859-1.
fn decoded(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// A walk from commits to their ancestors, newest first, in the order of `git log`.
#[derive(Default)]
pub struct Walk {
    queue: BinaryHeap<Queued>,
    seen: HashSet<ObjectId>,
    /// How many commits were queued.
    n_queued: usize,
}

/// A commit that the walk has reached. Of commits with the same time, the one queued first is first.
struct Queued {
    commit: Commit,
    order: Reverse<usize>,
}

impl Queued {
    fn key(&self) -> (i64, Reverse<usize>) {
        (self.commit.time, self.order)
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Queued) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Queued {}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Queued) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Queued {
    fn cmp(&self, other: &Queued) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Walk {
    /// Adds a commit, unless the walk has reached it before.
    pub fn add<E>(
        &mut self,
        id: &ObjectId,
        read: impl FnOnce(&ObjectId) -> Result<Commit, E>,
    ) -> Result<(), E> {
        match self.seen.insert(*id) {
            true => self.add_again(id, read),
            false => Ok(()),
        }
    }

    /// Adds a commit, also if the walk has reached it before.
    pub fn add_again<E>(
        &mut self,
        id: &ObjectId,
        read: impl FnOnce(&ObjectId) -> Result<Commit, E>,
    ) -> Result<(), E> {
        let commit = read(id)?;
        self.n_queued += 1;
        self.queue.push(Queued { commit, order: Reverse(self.n_queued) });
        Ok(())
    }

    /// Returns the next commit. The caller adds its parents.
    pub fn pop(&mut self) -> Option<Commit> {
        self.queue.pop().map(|queued| queued.commit)
    }

    /// Returns how many commits were reached and not returned yet.
    pub fn n_waiting(&self) -> usize {
        self.queue.len()
    }
}

impl History {
    /// Reads a commit. Parents that a shallow clone does not have are left out.
    pub fn commit(&self, id: &ObjectId) -> Result<Commit, Stop> {
        let object = self.object(id)?;
        let commit = Commit::parse(*id, &object);
        let mut commit =
            commit.ok_or_else(|| broken(format!("object {id} is not a valid commit")))?;
        if self.is_shallow_end(id)? {
            commit.parents.clear();
        }
        Ok(commit)
    }

    /// Reads the author and the message of a commit.
    pub fn commit_text(&self, id: &ObjectId) -> Result<CommitText, Stop> {
        Ok(CommitText::parse(&*self.object(id)?, id.kind()))
    }
}
