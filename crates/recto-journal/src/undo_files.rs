//! Undoes recorded changes in files: selects the changes, plans each file and writes it.
//!
//! Everything is planned before anything is written. Each file is then written by the same protocol
//! as an edit, which fails if the file changed since it was read, and the undo is recorded too.

mod moves;
mod read;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_store::path::AbsPath;
use recto_store::record::{Origin, RecordedMetadata};
use recto_store::{Context, FileStep, LocalStore, StepError, WriteError, WriteStore};

use crate::change::{Change, Kind, SessionName, State};
use crate::error::{Error, Result};
use crate::names::Names;
use crate::reader::{Filter, Reader};
use crate::undo::{self, Dependents, HunkId, MOVE, Plan, Reason, Rejected};
use moves::Moves;
pub use read::{Unread, read};

/// What to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// These changes.
    Changes(Vec<u64>),
    /// These parts of changes.
    Hunks(Vec<HunkId>),
    /// All changes of a session.
    Session(SessionName),
    /// All changes of a file.
    File(PathBuf),
    /// The last change below a directory that is not undone.
    Last(PathBuf),
}

/// The changes of one file that are to be undone.
pub struct Target {
    path: PathBuf,
    changes: Vec<Change>,
    /// Only these hunks.
    hunks: Option<Vec<HunkId>>,
}

/// What to do with hunks that cannot be undone as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanOptions {
    /// What to do with later changes that overlap.
    pub dependents: Dependents,
    /// Leave out hunks that cannot be undone.
    pub is_partial: bool,
    /// Leave out hunks that are undone already.
    pub skips_undone: bool,
    /// Leave out hunks that the user wants to keep.
    pub skips_kept: bool,
}

/// A file, or a part of it, that cannot be undone.
pub struct Rejection {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub cause: Cause,
}

/// Why something cannot be undone.
pub enum Cause {
    /// A hunk cannot be undone.
    Hunk(Rejected),
    /// The file is outside the root.
    Outside,
    /// The file cannot be used.
    File(String),
}

/// A change that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoChange(pub u64);

/// Undoes changes in the files of one root.
pub struct Undoer<'a> {
    /// What was recorded.
    pub reader: &'a Reader,
    /// The files. It records what it changes.
    pub store: &'a LocalStore,
    /// The root of the store. Files elsewhere are rejected.
    pub root: &'a Path,
    /// Who undoes: a name and a version.
    pub client: (String, String),
}

/// What to write to one file.
pub struct FilePlan {
    target: Target,
    before: Option<Vec<u8>>,
    plan: Plan,
    /// The name that it had before moves that are undone.
    move_to: Option<PathBuf>,
    /// Whether it is a symbolic link, whose content is its target.
    is_link: bool,
    /// The metadata that it had when it was removed.
    removed: Option<RecordedMetadata>,
}

/// Returns the undo of each change that is undone, at least in part.
pub fn undone(changes: &[Change]) -> HashMap<u64, u64> {
    undone_hunks(changes).into_iter().map(|(hunk, by)| (hunk.change, by)).collect()
}

/// Returns the hunks and moves that are undone, in order, each with the undo.
fn undone_hunks(changes: &[Change]) -> BTreeMap<HunkId, u64> {
    let mut undone = BTreeMap::new();
    // Newest first, so that it is known whether a part of an undo is undone itself. That of a move is
    // named by the record of the old name.
    let is_undo = |change: &&Change| change.kind == Kind::Undo && !change.is_arrival();
    for undo in changes.iter().rev().filter(is_undo) {
        for (index, hunk) in undo.undoes.iter().enumerate() {
            let index = if hunk.hunk == MOVE { MOVE } else { index as u32 };
            if !undone.contains_key(&HunkId { change: undo.id, hunk: index }) {
                undone.insert(*hunk, undo.id);
            }
        }
    }
    undone
}

/// Returns the changes to undo, by file.
pub fn select(
    reader: &Reader,
    what: &Selection,
) -> Result<std::result::Result<Vec<Target>, NoChange>> {
    let all = reader.changes(&Filter::default())?;
    let can_be_undone = |change: &&Change| {
        let is_made = matches!(change.state, State::Done | State::Uncertain);
        let is_own = !matches!(change.kind, Kind::Foreign | Kind::Undo);
        // A move is named by the record of the old name.
        is_made && is_own && !change.is_arrival()
    };
    let names = Names::of(&all);
    let mut candidates = all.iter().filter(can_be_undone);
    let mut named: Vec<u64> = Vec::new();
    let changes: Vec<&Change> = match what {
        Selection::Changes(ids) => {
            named.extend(ids);
            Vec::new()
        }
        Selection::Hunks(ids) => {
            named.extend(ids.iter().map(|id| id.change));
            Vec::new()
        }
        Selection::Session(name) => {
            let name = name.as_str();
            let is_of =
                |change: &&Change| change.session.as_ref().is_some_and(|own| own.name == name);
            candidates.filter(is_of).collect()
        }
        Selection::File(path) => {
            // A file can be named by an earlier name if no other file has it.
            let has_name = |change: &Change| names.current(change) == path;
            let named = |change: &&Change| change.path == *path;
            let path = match all.iter().any(has_name) {
                true => path,
                false => all.iter().find(named).map_or(&**path, |change| names.current(change)),
            };
            candidates.filter(|change| names.current(change) == path).collect()
        }
        Selection::Last(below) => {
            let undone = undone_hunks(&all);
            let mut last = None;
            while last.is_none()
                && let Some(change) = candidates.next_back()
            {
                let is_below = change.path.starts_with(below);
                last = (is_below && !is_undone(reader, change, &undone)?).then_some(change);
            }
            last.into_iter().collect()
        }
    };
    // By the names that the files have now.
    let mut files: BTreeMap<PathBuf, Vec<Change>> = BTreeMap::new();
    let mut add = |change: &Change| -> Result<()> {
        let path = names.current(change).to_path_buf();
        // A move is named by the record of the old name.
        let other = if change.is_arrival() { reader.other_name(change)? } else { None };
        let change = other.unwrap_or_else(|| change.clone());
        let of_file = files.entry(path).or_default();
        if !of_file.iter().any(|known| known.id == change.id) {
            of_file.push(change);
        }
        Ok(())
    };
    for change in changes {
        add(change)?;
    }
    named.sort_unstable();
    named.dedup();
    for id in named {
        let Ok(found) = all.binary_search_by_key(&id, |change| change.id) else {
            return Ok(Err(NoChange(id)));
        };
        add(&all[found])?;
    }
    let hunks = match what {
        Selection::Hunks(ids) => Some(ids.clone()),
        _ => None,
    };
    let target = |(path, changes)| Target { path, changes, hunks: hunks.clone() };
    Ok(Ok(files.into_iter().map(target).collect()))
}

/// Whether all of a change is undone.
fn is_undone(reader: &Reader, change: &Change, undone: &BTreeMap<HunkId, u64>) -> Result<bool> {
    let is_undone = |hunk| undone.contains_key(&HunkId { change: change.id, hunk });
    if change.moved.is_some() {
        return Ok(is_undone(MOVE));
    }
    if !is_undone(0) {
        return Ok(false);
    }
    let n_hunks = reader.hunks(change.id)?.map_or(0, |hunks| hunks.len());
    Ok((0..n_hunks as u32).all(is_undone))
}

impl Target {
    /// Returns how many changes it has.
    pub fn n_changes(&self) -> usize {
        self.changes.len()
    }

    /// Returns a change that moved the file, and so has no hunks.
    pub fn any_move(&self) -> Option<u64> {
        self.changes.iter().find(|change| change.moved.is_some()).map(|change| change.id)
    }

    /// Undoes only one hunk of each change, counted from 0.
    pub fn keep_hunk(&mut self, hunk: u32) {
        let id = |change: &Change| HunkId { change: change.id, hunk };
        self.hunks = Some(self.changes.iter().map(id).collect());
    }

    /// Returns the hunks of a change that are to be undone.
    fn hunks_of(&self, change: u64, steps: &[undo::Step]) -> Vec<HunkId> {
        if let Some(hunks) = &self.hunks {
            return hunks.iter().filter(|hunk| hunk.change == change).copied().collect();
        }
        let step = steps.iter().find(|step| step.id == change);
        let all = step.map(undo::Step::hunk_ids).unwrap_or_default();
        // A change without content has no hunks; asking for one says why.
        if all.is_empty() { vec![HunkId { change, hunk: 0 }] } else { all }
    }
}

impl Undoer<'_> {
    /// Plans one file.
    pub fn plan(
        &self,
        mut target: Target,
        options: PlanOptions,
    ) -> Result<(Option<FilePlan>, Vec<Rejection>)> {
        let path = target.path.clone();
        let file = |cause| (None, vec![Rejection { path: path.clone(), cause }]);
        if !path.starts_with(self.root) {
            return Ok(file(Cause::Outside));
        }
        let lineage = self.reader.lineage(&path)?;
        let mut rejected = Vec::new();
        if let Some(cause) = self.leave_others(&mut target, &lineage, options)? {
            if !options.is_partial {
                return Ok(file(cause));
            }
            rejected.push(Rejection { path: path.clone(), cause });
        }
        let is_content = |change: &&Change| change.state == State::Done && change.moved.is_none();
        let mut is_link = lineage.iter().rev().find(is_content).is_some_and(Change::is_of_link);
        let before = match is_link {
            true => read::read_link(self.store, &path),
            false => read(self.store, &path),
        };
        let before = match before {
            Ok(before) => before,
            Err(cause) => return Ok(file(Cause::File(cause.to_string()))),
        };
        if before.is_none() {
            // It becomes what it was before the newest change that is undone.
            let contents = target.changes.iter().filter(|change| change.moved.is_none());
            is_link = contents.max_by_key(|it| it.id).map_or(is_link, Change::is_of_link);
        }
        let changes = target.changes.iter().filter(|change| change.moved.is_none());
        let first = changes.clone().map(|change| change.id).min().unwrap_or(u64::MAX);
        let steps = match self.reader.steps_since(&path, before.as_deref(), first) {
            Err(error @ Error::TooMuchToUndo { .. }) => {
                return Ok(file(Cause::File(error.to_string())));
            }
            steps => steps?,
        };
        let mut hunks: Vec<HunkId> =
            changes.flat_map(|change| target.hunks_of(change.id, &steps)).collect();
        if options.skips_kept {
            let kept = self.reader.kept()?;
            hunks.retain(|hunk| !kept.contains(hunk));
        }
        let mut moves = match Moves::of(&target, &lineage, options) {
            Ok(moves) => moves,
            Err(cause) if options.is_partial => {
                rejected.push(Rejection { path: path.clone(), cause });
                Moves::default()
            }
            Err(cause) => return Ok(file(cause)),
        };
        loop {
            match undo::plan(&steps, before.as_deref(), &hunks, options.dependents) {
                Ok(mut plan) => {
                    moves = match moves.beside(&plan, before.is_some(), &lineage) {
                        Ok(moves) => moves,
                        Err(cause) if options.is_partial => {
                            rejected.push(Rejection { path: path.clone(), cause });
                            Moves::default()
                        }
                        Err(cause) => return Ok(file(cause)),
                    };
                    let is_any = !hunks.is_empty() || !moves.is_empty();
                    let is_other = |change: &Change| {
                        change.is_of_link() != is_link
                            && plan.undone.iter().any(|id| id.change == change.id)
                    };
                    if lineage.iter().any(is_other) {
                        let cause = "it was a symbolic link and a file by turns";
                        return Ok(file(Cause::File(cause.into())));
                    }
                    let move_to = moves.old_name();
                    let id = |change| HunkId { change, hunk: MOVE };
                    plan.undone.extend(moves.changes().map(id));
                    let removed = match before {
                        None => self.metadata_of_removed(&lineage)?,
                        Some(_) => None,
                    };
                    let plan = FilePlan { target, before, plan, move_to, is_link, removed };
                    return Ok((is_any.then_some(plan), rejected));
                }
                Err(found) => {
                    hunks.retain(|hunk| !found.iter().any(|rejected| rejected.hunk == *hunk));
                    let is_skipped = |rejected: &Rejected| {
                        let is_undone = matches!(rejected.reason, Reason::AlreadyUndone { .. });
                        options.skips_undone && is_undone
                    };
                    let found: Vec<_> =
                        found.into_iter().filter(|rejected| !is_skipped(rejected)).collect();
                    let is_rejected = !found.is_empty() && !options.is_partial;
                    let reject =
                        |found| Rejection { path: path.clone(), cause: Cause::Hunk(found) };
                    rejected.extend(found.into_iter().map(reject));
                    if is_rejected || (hunks.is_empty() && moves.is_empty()) {
                        return Ok((None, rejected));
                    }
                }
            }
        }
    }

    /// Removes changes of other files that had the same name from a target. Returns why one of them
    /// cannot be undone.
    fn leave_others(
        &self,
        target: &mut Target,
        lineage: &[Change],
        options: PlanOptions,
    ) -> Result<Option<Cause>> {
        let is_own = |change: &Change| lineage.iter().any(|own| own.id == change.id);
        let others: Vec<Change> = target.changes.extract_if(.., |it| !is_own(it)).collect();
        let Some(_) = others.first() else { return Ok(None) };
        let undone = undone_hunks(&self.reader.undos()?);
        let mut first = None;
        for other in &others {
            if !options.skips_undone || !is_undone(self.reader, other, &undone)? {
                first = first.or(Some(other.id));
            }
        }
        let Some(id) = first else { return Ok(None) };
        let departure = lineage.iter().rev().find(|change| change.is_departure());
        Ok(Some(Cause::File(match departure {
            Some(Change { id: by, .. }) => format!(
                "change {id} is of another file, which had this name before change {by} moved this \
                 one here; undo {by} first"
            ),
            None => format!("change {id} is of another file, which had this name before"),
        })))
    }

    /// Writes several files together: all or none. If parts are permitted, files that fail are
    /// tried in smaller batches, and those that fail alone are left out.
    pub fn write_all<'b>(&self, files: &'b [FilePlan], is_partial: bool) -> WrittenFiles<'b> {
        let mut all = WrittenFiles::default();
        let mut batches = vec![files];
        while let Some(batch) = batches.pop() {
            match self.write_together(batch) {
                Ok(()) => all.written.extend(batch),
                Err(_) if is_partial && batch.len() > 1 => {
                    let (first, second) = batch.split_at(batch.len() / 2);
                    batches.extend([second, first]);
                }
                Err(errors) => all.failed.extend(errors),
            }
        }
        all
    }

    /// Writes a file and records the undo. An error says why the file was not written.
    pub fn write(&self, file: &FilePlan) -> std::result::Result<(), String> {
        let written = self.write_together(std::slice::from_ref(file));
        written.map_err(|errors| errors.into_iter().map(|(_, cause)| cause).collect())
    }

    fn write_together(
        &self,
        files: &[FilePlan],
    ) -> std::result::Result<(), Vec<(PathBuf, String)>> {
        let origin = Arc::new(Origin { client: Some(self.client.clone()), ..Origin::default() });
        let context = Context { origin, ..Context::default() };
        let undoes: Vec<Vec<(u64, u32)>> = files
            .iter()
            .map(|file| file.plan.undone.iter().map(|id| (id.change, id.hunk)).collect())
            .collect();
        let paths: Vec<(AbsPath, Option<AbsPath>)> =
            files.iter().map(|file| (abs(file.path()), file.move_to.as_deref().map(abs))).collect();
        let steps = files.iter().zip(&paths).zip(&undoes).map(|((file, (path, to)), undoes)| {
            let [before, after] = file.contents();
            let (move_to, metadata) = (to.as_ref(), file.removed.as_ref());
            FileStep { path, before, after, move_to, is_link: file.is_link, metadata, undoes }
        });
        let steps: Vec<FileStep<'_>> =
            steps.filter(|step| step.before.is_some() || step.after.is_some()).collect();
        let reasons = |errors: Vec<StepError>| -> Vec<(PathBuf, String)> {
            let reason = |error: StepError| {
                let path = steps[error.step].path.as_path().to_path_buf();
                match error.cause {
                    WriteError::Failed(error) => (path, error.to_string()),
                    WriteError::Conflict | WriteError::Restart(_) => (path, CHANGED.to_string()),
                }
            };
            errors.into_iter().map(reason).collect()
        };
        if steps.is_empty() {
            return Ok(());
        }
        let transaction = self.store.transaction(&steps, &context).map_err(reasons)?;
        transaction.commit().map(drop).map_err(reasons)
    }

    /// Returns the metadata that a file had which does not exist now.
    fn metadata_of_removed(&self, lineage: &[Change]) -> Result<Option<RecordedMetadata>> {
        let is_removal = |change: &&Change| {
            change.state == State::Done && change.moved.is_none() && change.digests[1].is_none()
        };
        match lineage.iter().rev().find(is_removal) {
            Some(removal) => self.reader.metadata(removal.id),
            None => Ok(None),
        }
    }
}

/// What was written of several files.
#[derive(Default)]
pub struct WrittenFiles<'a> {
    /// The files that were written.
    pub written: Vec<&'a FilePlan>,
    /// The others, each with the reason.
    pub failed: Vec<(PathBuf, String)>,
}

impl FilePlan {
    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Returns the content before and after; `None` where the file does not exist.
    pub fn contents(&self) -> [Option<&[u8]>; 2] {
        [self.before.as_deref(), self.plan.content.as_deref()]
    }

    /// Returns the name to which it is moved back.
    pub fn move_to(&self) -> Option<&Path> {
        self.move_to.as_deref()
    }

    /// Returns the hunks that it undoes.
    pub fn undone(&self) -> &[HunkId] {
        &self.plan.undone
    }
}

const CHANGED: &str = "the file changed meanwhile; try again";

/// Returns a recorded path, which is absolute.
fn abs(path: &Path) -> AbsPath {
    AbsPath::of(path.to_path_buf(), path.display().to_string())
}
