//! Lists commits, as `git log --full-history` does.

use std::os::unix::ffi::OsStrExt;

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use memchr::memmem;

use super::commits::{Commit, CommitInfo, Walk};
use super::history::{History, Stop};
use super::renames::{Candidate, Fingerprint, RenameSearch};
use super::revision::Peel;
use super::tree::TreeEntry;
use crate::error::{Error, Result};
use crate::lru::Lru;

/// Which commits to list.
#[derive(Debug, Clone, Default)]
pub struct LogQuery {
    /// The commit to start at, or [`LogContinuation::revision`] of an earlier list; HEAD if `None`.
    pub revision: Option<String>,
    /// Text of the message, in any case.
    pub message: Option<String>,
    /// Text of the author's name or address, in any case.
    pub author: Option<String>,
    /// The earliest time of a commit. Ancestors of an earlier one are not inspected, as in git.
    pub since: Option<i64>,
    /// The latest time of a commit.
    pub until: Option<i64>,
    /// Text whose number of occurrences in a file the commit changes, as in `git log -S`.
    pub containing: Option<String>,
    /// The most commits to list.
    pub limit: usize,
}

/// Commits, newest first.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The commits.
    pub commits: Vec<LogEntry>,
    /// How to list older ones, unless there are none.
    pub next: Option<LogContinuation>,
    /// Why the list ends before the limit.
    pub stopped: Option<String>,
    /// Whether the list ends where a shallow clone ends.
    pub is_cut_off: bool,
    /// Whether [`Log::next`] is where this list started.
    is_stuck: bool,
}

/// One commit of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The commit.
    pub commit: CommitInfo,
    /// The path before the commit renamed or copied it.
    pub renamed_from: Option<String>,
    /// How to list this commit and older ones.
    pub from_here: LogContinuation,
}

/// The arguments that list older commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogContinuation {
    /// A commit id, or `ID+N` for the ancestors of a commit after the first N.
    pub revision: String,
    /// The path, if it was renamed.
    pub path: Option<String>,
}

/// A list in progress.
struct Listing<'a> {
    history: &'a History,
    query: &'a LogQuery,
    /// The path, from the top, before the renames so far.
    path: Vec<u8>,
    is_renamed: bool,
    /// The entries at the path, by tree.
    entries: Lru<ObjectId, Option<TreeEntry>, 4096>,
    /// Occurrences of the searched text, by blob.
    counts: Lru<ObjectId, usize, 65_536>,
    /// Whether every commit so far has one parent.
    is_linear: bool,
}

impl History {
    /// Lists commits that change the path of this history, or all if it is the top.
    pub fn log(&self, query: &LogQuery) -> Result<Log> {
        let revision = query.revision.as_deref().unwrap_or("HEAD");
        let (revision, n_skipped) = match continuation(revision) {
            Some((id, n_skipped)) => (id, n_skipped),
            None => (revision, 0),
        };
        let start = self.resolve(revision, Peel::Commit)?;
        let mut listing = Listing {
            history: self,
            query,
            path: self.below.as_os_str().as_bytes().to_vec(),
            is_renamed: false,
            entries: Lru::default(),
            counts: Lru::default(),
            is_linear: true,
        };
        let mut log = Log::default();
        match listing.run(start, n_skipped, &mut log) {
            Ok(()) => {}
            Err(Stop::Error(error)) => {
                log.next = None;
                let error = error.into_error(self.path.as_str());
                if log.commits.is_empty() || error == Error::Cancelled {
                    return Err(error);
                }
                log.stopped = Some(error.to_string());
            }
            Err(Stop::Time) if log.is_stuck || log.next.is_none() => {
                let too_slow = "inspecting that commit takes too long; name a path or a revision";
                return Err(self.error(Stop::Time, too_slow));
            }
            Err(Stop::Time) => {
                let n_seconds = self.max_time.as_secs();
                log.stopped = Some(format!("the limit of {n_seconds} seconds was reached"));
            }
        }
        Ok(log)
    }
}

/// Splits `ID+N`.
fn continuation(revision: &str) -> Option<(&str, usize)> {
    let (id, n_skipped) = revision.split_once('+')?;
    let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((id, n_skipped.parse().ok().filter(|_| is_id)?))
}

impl Listing<'_> {
    /// Adds commits to the list. Before a stop, `log.next` continues at the commit that was not
    /// finished.
    fn run(&mut self, start: ObjectId, n_skipped: usize, log: &mut Log) -> Result<(), Stop> {
        let history = self.history;
        let mut walk = Walk::default();
        walk.add(&start, |id| history.commit(id))?;
        let mut n_walked = 0;
        while let Some(commit) = walk.pop() {
            let is_listed = n_walked >= n_skipped;
            if is_listed {
                let revision = match self.is_linear && walk.n_waiting() == 0 {
                    true => commit.id.to_string(),
                    false => format!("{start}+{n_walked}"),
                };
                let path = self.is_renamed.then(|| history.shown(&self.path));
                log.next = Some(LogContinuation { revision, path });
                log.is_stuck = n_walked == n_skipped;
                if log.commits.len() >= self.query.limit {
                    return Ok(());
                }
            }
            n_walked += 1;
            // Like git, do not look for newer ancestors of a commit that is too old.
            if self.query.since.is_some_and(|since| commit.time < since) {
                continue;
            }
            log.is_cut_off |= history.is_shallow_end(&commit.id)?;
            let entry = if is_listed { self.listed(&commit)? } else { None };
            let mut parents = commit.parents.iter();
            let added: Result<(), Stop> =
                parents.try_for_each(|id| walk.add(id, |id| history.commit(id)));
            // The list continues at this commit if there is no time for its parents, and ends after
            // it if one is missing.
            if added != Err(Stop::Time)
                && let (Some((commit, renamed_from)), Some(from_here)) = (entry, log.next.clone())
            {
                log.commits.push(LogEntry { commit, renamed_from, from_here });
            }
            added?;
            self.is_linear &= commit.parents.len() < 2;
        }
        log.next = None;
        Ok(())
    }

    /// Returns a commit as it is listed, unless it does not match.
    fn listed(&mut self, commit: &Commit) -> Result<Option<(CommitInfo, Option<String>)>, Stop> {
        if self.query.until.is_some_and(|until| commit.time > until) {
            return Ok(None);
        }
        let mut renamed_from = None;
        if !self.path.is_empty() {
            match self.path_change(commit)? {
                None => return Ok(None),
                Some(from) => renamed_from = from,
            }
        }
        let is_match =
            self.matches_text(commit)? && self.changes_count(commit, renamed_from.as_deref())?;
        if let Some(from) = &renamed_from {
            self.path.clone_from(from);
            self.is_renamed = true;
            self.entries = Lru::default();
        }
        if !is_match {
            return Ok(None);
        }
        let text = self.history.commit_text(&commit.id)?;
        let renamed_from = renamed_from.map(|path| self.history.shown(&path));
        Ok(Some((text.into_info(&commit.id), renamed_from)))
    }

    fn matches_text(&self, commit: &Commit) -> Result<bool, Stop> {
        let LogQuery { message, author, .. } = self.query;
        if message.is_none() && author.is_none() {
            return Ok(true);
        }
        let text = self.history.commit_text(&commit.id)?;
        let contains = |text: &str, part: &Option<String>| {
            part.as_ref().is_none_or(|part| text.to_lowercase().contains(&part.to_lowercase()))
        };
        let signature = format!("{} <{}>", text.name, text.email);
        Ok(contains(&text.message, message) && contains(&signature, author))
    }

    /// Returns whether the entry at the path differs from that of every parent and, on a linear
    /// history, the path that it was renamed from.
    fn path_change(&mut self, commit: &Commit) -> Result<Option<Option<Vec<u8>>>, Stop> {
        let after = self.entry(commit.tree)?;
        if commit.parents.is_empty() {
            return Ok(after.map(|_| None));
        }
        let mut before = None;
        for parent in &commit.parents {
            let tree = self.history.commit(parent)?.tree;
            before = self.entry(tree)?;
            if before == after {
                return Ok(None);
            }
        }
        let is_linear = self.is_linear && commit.parents.len() == 1;
        match (before, after) {
            (None, Some(after)) if is_linear && after.kind != EntryKind::Tree => {
                let parent = self.history.commit(&commit.parents[0])?;
                Ok(Some(self.history.copied_from(parent.tree, commit.tree, &self.path)?))
            }
            _ => Ok(Some(None)),
        }
    }

    fn entry(&mut self, tree: ObjectId) -> Result<Option<TreeEntry>, Stop> {
        if let Some(entry) = self.entries.get(&tree) {
            return Ok(*entry);
        }
        let entry = self.history.entry(tree, &self.path)?;
        self.entries.insert(tree, entry);
        Ok(entry)
    }

    /// Whether a commit changes how often a file contains the searched text. Like git, ignores merges.
    /// A file that the commit renamed is compared with the one at its old path.
    fn changes_count(
        &mut self,
        commit: &Commit,
        renamed_from: Option<&[u8]>,
    ) -> Result<bool, Stop> {
        let Some(needle) = &self.query.containing else { return Ok(true) };
        let finder = memmem::Finder::new(needle.as_bytes());
        let parent = match commit.parents.as_slice() {
            [] => None,
            [parent] => Some(self.history.commit(parent)?.tree),
            _ => return Ok(false),
        };
        if let (Some(parent), Some(from)) = (parent, renamed_from) {
            let before = self.history.entry(parent, from)?;
            let after = self.entry(commit.tree)?;
            let mut count = |entry: Option<TreeEntry>| match entry {
                Some(entry) => self.count(&finder, &entry),
                None => Ok(0),
            };
            return Ok(count(before)? != count(after)?);
        }
        let changes = self.history.changed_entries(parent, Some(commit.tree), &self.path)?;
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let mut is_in_unpaired = false;
        for change in &changes {
            let mut count = |entry: Option<TreeEntry>| match entry {
                Some(entry) => self.count(&finder, &entry),
                None => Ok(0),
            };
            let (n_before, n_after) = (count(change.before)?, count(change.after)?);
            if change.before.is_some() && change.after.is_some() && n_before != n_after {
                return Ok(true);
            }
            let candidate = |entry| Candidate { path: &change.path, entry };
            match (change.before, change.after) {
                (Some(entry), None) => removed.push((candidate(entry), n_before)),
                (None, Some(entry)) => added.push((candidate(entry), n_after)),
                _ => continue,
            }
            is_in_unpaired |= n_before != n_after;
        }
        if !is_in_unpaired || removed.is_empty() || added.is_empty() {
            return Ok(is_in_unpaired);
        }
        let (sources, n_sources): (Vec<_>, Vec<usize>) = removed.into_iter().unzip();
        let (targets, n_targets): (Vec<_>, Vec<usize>) = added.into_iter().unzip();
        let found = self.history.renames(&sources, &targets)?;
        let mut is_left = vec![true; sources.len()];
        for (n_target, source) in n_targets.iter().zip(found) {
            let n_source = source.map_or(0, |source| n_sources[source]);
            if n_source != *n_target {
                return Ok(true);
            }
            if let Some(source) = source {
                is_left[source] = false;
            }
        }
        Ok(n_sources.iter().zip(is_left).any(|(n_source, is_left)| is_left && *n_source > 0))
    }

    fn count(&mut self, finder: &memmem::Finder<'_>, entry: &TreeEntry) -> Result<usize, Stop> {
        if entry.kind == EntryKind::Commit {
            let text = subproject(&entry.id);
            return Ok(finder.find_iter(text.as_bytes()).count());
        }
        if let Some(count) = self.counts.get(&entry.id) {
            return Ok(*count);
        }
        let blob = self.history.lookup(&entry.id)?;
        let count = blob.map_or(0, |blob| finder.find_iter(&blob.bytes).count());
        self.counts.insert(entry.id, count);
        Ok(count)
    }
}

impl History {
    /// Returns the source of each added file among the removed ones.
    pub(super) fn renames(
        &self,
        sources: &[Candidate<'_>],
        targets: &[Candidate<'_>],
    ) -> Result<Vec<Option<usize>>, Stop> {
        let fingerprint = |entry: &TreeEntry| self.fingerprint(entry);
        let check = &|| self.check();
        RenameSearch { sources, targets, finds_copies: false, fingerprint, check }.run()
    }

    /// Returns the file of the old tree that an added file was renamed or copied from, as
    /// `git log --follow` does.
    fn copied_from(
        &self,
        before: ObjectId,
        after: ObjectId,
        path: &[u8],
    ) -> Result<Option<Vec<u8>>, Stop> {
        let Some(entry) = self.entry(after, path)? else { return Ok(None) };
        let files = self.changed_entries(None, Some(before), b"")?;
        let sources: Vec<Candidate<'_>> = files
            .iter()
            .filter_map(|file| Some(Candidate { path: &file.path, entry: file.after? }))
            .collect();
        let targets = [Candidate { path, entry }];
        let fingerprint = |entry: &TreeEntry| self.fingerprint(entry);
        let (check, sources) = (&|| self.check(), &sources);
        let search =
            RenameSearch { sources, targets: &targets, finds_copies: true, fingerprint, check };
        let found = search.run()?;
        Ok(found[0].map(|source| sources[source].path.to_vec()))
    }

    pub(super) fn fingerprint(&self, entry: &TreeEntry) -> Result<Option<Fingerprint>, Stop> {
        Ok(self.lookup(&entry.id)?.map(|blob| Fingerprint::of(&blob.bytes)))
    }
}

/// Returns the text by which a diff shows a submodule.
pub(super) fn subproject(id: &ObjectId) -> String {
    format!("Subproject commit {id}\n")
}

/// Returns a path as text. Paths that are not UTF-8 cannot be given as an argument.
pub(super) fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
