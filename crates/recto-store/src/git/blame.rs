//! Finds the commit that each line of a file comes from, as `git blame` does.
//!
//! Lines pass from a commit to the parent that already has them. What no parent has is from that
//! commit. Renames are followed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use recto_text::line_diff::{Replaced, changes_for_blame, n_lines};

use super::commits::{Commit, CommitInfo, Walk};
use super::history::{History, Stop};
use super::renames::Candidate;
use super::revision::Peel;
use super::tree::TreeEntry;
use crate::error::{Error, Result};

/// Consecutive lines from one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlameRun {
    /// The lines, as indices from 0.
    pub lines: Range<usize>,
    /// The commit; `None` for lines that are not committed yet.
    pub commit: Option<CommitInfo>,
    /// The path of the file in that commit as answers show it, if it differs.
    pub path: Option<String>,
    /// Whether a shallow clone ends at that commit, so that the lines may be older.
    pub may_be_older: bool,
}

/// Consecutive lines of the blamed file, and where they are in an earlier version.
#[derive(Debug, Clone)]
struct Piece {
    lines: Range<usize>,
    start: usize,
}

/// A version of the file that may be the origin of some lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Origin {
    commit: ObjectId,
    path: Vec<u8>,
}

/// The blob of the file in a version, and the lines that may come from there.
struct Suspect {
    blob: ObjectId,
    pieces: Vec<Piece>,
}

/// A blame in progress.
struct Blame<'a> {
    history: &'a History,
    walk: Walk,
    suspects: HashMap<Origin, Suspect>,
    /// The paths of the suspects of a commit, in the order in which they were found.
    paths: HashMap<ObjectId, Vec<Vec<u8>>>,
    done: Vec<(Range<usize>, Origin)>,
}

impl History {
    /// Returns the origin of lines of the file that this history is about. `wanted` are lines as
    /// indices from 0. With `current`, these are lines of this text, which may differ from the
    /// revision's or be of a file that the revision does not have.
    pub fn blame(
        &self,
        revision: &str,
        current: Option<&[u8]>,
        wanted: impl IntoIterator<Item = Range<usize>>,
    ) -> Result<Vec<BlameRun>> {
        let id = self.resolve(revision, Peel::Commit)?;
        let too_slow =
            "following these lines through history takes too long; ask for fewer `lines`";
        let runs = self.blame_from(id, revision, current, wanted.into_iter());
        runs.map_err(|stop| self.error(stop, too_slow))
    }

    fn blame_from(
        &self,
        id: ObjectId,
        revision: &str,
        current: Option<&[u8]>,
        wanted: impl Iterator<Item = Range<usize>>,
    ) -> Result<Vec<BlameRun>, Stop> {
        let commit = self.commit(&id)?;
        let path = self.below.as_os_str().as_bytes().to_vec();
        let has_text = |entry: &TreeEntry| match entry.kind {
            EntryKind::Blob | EntryKind::BlobExecutable => true,
            EntryKind::Link => current.is_none(),
            EntryKind::Tree | EntryKind::Commit => false,
        };
        let entry = self.entry(commit.tree, &path)?.filter(has_text);
        let bytes = entry.map(|entry| self.object(&entry.id)).transpose()?;
        let Some(text) = current.or(bytes.as_ref().map(|object| &object.bytes[..])) else {
            let (path, revision) = (self.path.to_string(), revision.into());
            return Err(Error::NotInRevision { path, revision }.into());
        };
        let n_lines = n_lines(text);
        let whole = wanted.map(|wanted| wanted.start.min(n_lines)..wanted.end.min(n_lines));
        let whole: Vec<Piece> = whole.map(|lines| Piece { start: lines.start, lines }).collect();
        let (left, pieces) = match (&bytes, current) {
            (Some(bytes), Some(current)) => split(whole, &changes_for_blame(&bytes.bytes, current)),
            (Some(_), None) => (Vec::new(), whole),
            (None, _) => (whole, Vec::new()),
        };
        let mut blame = Blame {
            history: self,
            walk: Walk::default(),
            suspects: HashMap::new(),
            paths: HashMap::new(),
            done: Vec::new(),
        };
        if let Some(entry) = entry {
            blame.pass(Origin { commit: id, path: path.clone() }, entry.id, pieces)?;
        }
        while let Some(commit) = blame.walk.pop() {
            blame.settle(&commit)?;
        }
        blame.runs(left, &path)
    }
}

impl Blame<'_> {
    /// Makes a version the suspect for some lines.
    fn pass(&mut self, origin: Origin, blob: ObjectId, pieces: Vec<Piece>) -> Result<(), Stop> {
        if pieces.is_empty() {
            return Ok(());
        }
        if !self.paths.contains_key(&origin.commit) {
            self.walk.add_again(&origin.commit, |id| self.history.commit(id))?;
        }
        let paths = self.paths.entry(origin.commit).or_default();
        if !paths.contains(&origin.path) {
            paths.push(origin.path.clone());
        }
        let suspect =
            self.suspects.entry(origin).or_insert_with(|| Suspect { blob, pieces: Vec::new() });
        suspect.pieces.extend(pieces);
        Ok(())
    }

    /// Passes the lines of a commit's versions on to its parents, and keeps the others.
    fn settle(&mut self, commit: &Commit) -> Result<(), Stop> {
        for path in self.paths.remove(&commit.id).unwrap_or_default() {
            let origin = Origin { commit: commit.id, path };
            let Some(suspect) = self.suspects.remove(&origin) else { continue };
            let left = self.pass_to_parents(commit, &origin, suspect)?;
            self.done.extend(left.into_iter().map(|piece| (piece.lines, origin.clone())));
        }
        Ok(())
    }

    /// Returns the lines that no parent has.
    fn pass_to_parents(
        &mut self,
        commit: &Commit,
        origin: &Origin,
        suspect: Suspect,
    ) -> Result<Vec<Piece>, Stop> {
        let mut sources: Vec<Option<(Origin, ObjectId)>> = vec![None; commit.parents.len()];
        // Versions with the same path come first, because looking for renames is expensive.
        for finds_renames in [false, true] {
            for (index, parent) in commit.parents.iter().enumerate() {
                if sources[index].is_some() {
                    continue;
                }
                let tree = self.history.commit(parent)?.tree;
                let found = match finds_renames {
                    false => self.same_path(commit, tree, &origin.path)?,
                    true => self.renamed(commit, tree, &origin.path)?,
                };
                let Some((path, blob)) = found else { continue };
                let source = Origin { commit: *parent, path };
                if blob == suspect.blob {
                    self.pass(source, blob, suspect.pieces)?;
                    return Ok(Vec::new());
                }
                let is_known = |known: &Option<(Origin, ObjectId)>| {
                    known.as_ref().is_some_and(|(_, known)| *known == blob)
                };
                if !sources[..index].iter().any(is_known) {
                    sources[index] = Some((source, blob));
                }
            }
        }
        let mut pieces = suspect.pieces;
        for (source, blob) in sources.into_iter().flatten() {
            let (before, after) =
                (self.history.lookup(&blob)?, self.history.lookup(&suspect.blob)?);
            let (Some(before), Some(after)) = (before, after) else { continue };
            let changes = changes_for_blame(&before.bytes, &after.bytes);
            let (left, passed) = split(pieces, &changes);
            self.pass(source, blob, passed)?;
            pieces = left;
            if pieces.is_empty() {
                break;
            }
        }
        Ok(pieces)
    }

    /// Returns the file at the same path in a parent, if it has the same type.
    fn same_path(
        &self,
        commit: &Commit,
        parent: ObjectId,
        path: &[u8],
    ) -> Result<Option<(Vec<u8>, ObjectId)>, Stop> {
        let before = self.history.entry(parent, path)?;
        let after = self.history.entry(commit.tree, path)?;
        let is_file = |kind| matches!(kind, EntryKind::Blob | EntryKind::BlobExecutable);
        let is_same_type = |(before, after): &(TreeEntry, TreeEntry)| {
            before.kind == after.kind || (is_file(before.kind) && is_file(after.kind))
        };
        let both = before.zip(after).filter(is_same_type);
        Ok(both.map(|(before, _)| (path.to_vec(), before.id)))
    }

    /// Returns the file in a parent that was renamed to a path.
    fn renamed(
        &self,
        commit: &Commit,
        parent: ObjectId,
        path: &[u8],
    ) -> Result<Option<(Vec<u8>, ObjectId)>, Stop> {
        let changes = self.history.changed_entries(Some(parent), Some(commit.tree), b"")?;
        let removed = changes.iter().filter(|change| change.after.is_none());
        let sources: Vec<Candidate<'_>> = removed
            .filter_map(|change| Some(Candidate { path: &change.path, entry: change.before? }))
            .collect();
        let added = changes.iter().find(|change| change.path == path && change.before.is_none());
        let Some(entry) = added.and_then(|change| change.after) else { return Ok(None) };
        let found = self.history.renames(&sources, &[Candidate { path, entry }])?;
        Ok(found[0].map(|source| (sources[source].path.to_vec(), sources[source].entry.id)))
    }

    /// Returns the result. `left` are lines that are not committed.
    fn runs(self, left: Vec<Piece>, path: &[u8]) -> Result<Vec<BlameRun>, Stop> {
        let mut parts: Vec<(Range<usize>, Option<Origin>)> =
            left.into_iter().map(|piece| (piece.lines, None)).collect();
        parts.extend(self.done.into_iter().map(|(lines, origin)| (lines, Some(origin))));
        parts.sort_by_key(|(lines, _)| lines.start);
        let mut commits: HashMap<ObjectId, CommitInfo> = HashMap::new();
        let mut runs: Vec<(Option<Origin>, BlameRun)> = Vec::new();
        for (lines, origin) in parts {
            if let Some((last, run)) = runs.last_mut()
                && *last == origin
                && run.lines.end == lines.start
            {
                run.lines.end = lines.end;
                continue;
            }
            let (mut commit, mut other_path, mut may_be_older) = (None, None, false);
            if let Some(origin) = &origin {
                let info = match commits.entry(origin.commit) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(vacant) => {
                        let text = self.history.commit_text(&origin.commit)?;
                        vacant.insert(text.into_info(&origin.commit))
                    }
                };
                commit = Some(info.clone());
                other_path = (origin.path != path).then(|| self.history.shown(&origin.path));
                may_be_older = self.history.is_shallow_end(&origin.commit)?;
            }
            runs.push((origin, BlameRun { lines, commit, path: other_path, may_be_older }));
        }
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }
}

/// Splits pieces of a new version into lines that changed, and lines that the old version has, with
/// their place there.
fn split(mut pieces: Vec<Piece>, changes: &[Replaced]) -> (Vec<Piece>, Vec<Piece>) {
    pieces.sort_by_key(|piece| piece.start);
    let (mut left, mut passed) = (Vec::new(), Vec::new());
    let mut first = 0;
    for piece in pieces {
        let end = piece.start + piece.lines.len();
        let part = |range: Range<usize>, start: usize| {
            let first = piece.lines.start + (range.start - piece.start);
            Piece { lines: first..first + range.len(), start }
        };
        while changes.get(first).is_some_and(|change| change.after.end <= piece.start) {
            first += 1;
        }
        // How far unchanged lines before the next change are moved.
        let mut moved = match first.checked_sub(1) {
            Some(last) => (changes[last].before.end, changes[last].after.end),
            None => (0, 0),
        };
        let mut at = piece.start;
        for change in &changes[first..] {
            if change.after.start >= end {
                break;
            }
            if at < change.after.start {
                passed.push(part(at..change.after.start, at - moved.1 + moved.0));
            }
            let range = at.max(change.after.start)..end.min(change.after.end);
            if !range.is_empty() {
                left.push(part(range.clone(), range.start));
            }
            at = at.max(range.end);
            moved = (change.before.end, change.after.end);
        }
        if at < end {
            passed.push(part(at..end, at - moved.1 + moved.0));
        }
    }
    (left, passed)
}
