//! Undo as pure functions over the recorded changes of one file.
//!
//! To undo a hunk, the bytes that it inserted are located in the file as it is now and replaced by the
//! bytes that it removed. All changes since are known exactly, so the bytes are located by following
//! every later change and not by comparing texts: see [`spans`]. A hunk that a later change overlaps
//! is rejected, and the rejection names that change.
//!
//! An undo is recorded as a change that names the hunks it undid. Following it puts the bytes that it
//! restored back under the change that wrote them, so that changes can be undone one after another,
//! newest first, although they overlap, and an undo can be undone like any change.

mod net;
mod spans;

pub use net::{Net, Part, net, undone};

use std::collections::BTreeSet;
use std::ops::Range;

use crate::blame::Author;
use crate::hunk::{Hunk, Hunks};
use spans::{SpanList, Touched};

/// The number of the hunk by which an undo names a move.
pub const MOVE: u32 = u32::MAX;

/// One hunk of a recorded change. For an undo, one of the hunks that it undid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HunkId {
    /// The change.
    pub change: u64,
    /// The hunk, counted from 0.
    pub hunk: u32,
}

/// A change of a file, as undo needs it.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// The id; 0 for a change that is not recorded.
    pub id: u64,
    /// Whether the file exists before and after the change.
    pub exists: [bool; 2],
    /// What changed, or `None` if that was not recorded.
    pub hunks: Option<Hunks>,
    /// What an undo undid, in this order.
    pub undoes: Vec<HunkId>,
    /// Whether the change was not made by recto. Such a change is never undone with its dependents.
    pub is_foreign: bool,
}

/// What to write to undo hunks of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The new content; `None` removes the file.
    pub content: Option<Vec<u8>>,
    /// The hunks that are undone, in this order.
    pub undone: Vec<HunkId>,
}

/// A hunk that cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The hunk.
    pub hunk: HunkId,
    /// Why.
    pub reason: Reason,
}

/// Why a hunk cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The change is not known, or has no such hunk.
    NoSuchHunk,
    /// The content of the change was not recorded.
    NotRecorded,
    /// It was undone before.
    AlreadyUndone {
        /// The undo.
        by: u64,
    },
    /// Later changes replaced some of its bytes, or changed a created file.
    Overlapped {
        /// The hunks of later changes, oldest first. A change 0 is not recorded.
        by: Vec<HunkId>,
    },
    /// A later change has no recorded content, so that its place is unknown.
    Unknown {
        /// The change; 0 if it is not recorded either.
        change: u64,
    },
    /// The file was removed by this change, and its name is in use again.
    NameTaken,
}

/// What to do with later changes that overlap a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dependents {
    /// Rejects the hunk.
    #[default]
    Reject,
    /// Undoes their hunks that are in the way.
    UndoHunks,
    /// Undoes them as a whole.
    UndoChanges,
}

/// Plans to undo hunks of a file. The steps are all changes since the first that is to be undone, in
/// order, and lead to `content`, which is `None` if the file does not exist.
///
/// Fails with all hunks that cannot be undone.
pub fn plan(
    steps: &[Step],
    content: Option<&[u8]>,
    hunks: &[HunkId],
    dependents: Dependents,
) -> Result<Plan, Vec<Rejected>> {
    let mut wanted: BTreeSet<HunkId> = hunks.iter().copied().collect();
    loop {
        let rejected = match History::of(steps).undo(content, &wanted) {
            Ok(plan) => return Ok(plan),
            Err(rejected) => rejected,
        };
        let n_wanted = wanted.len();
        let by = rejected.iter().filter_map(|rejected| match &rejected.reason {
            Reason::Overlapped { by } => Some(by),
            _ => None,
        });
        let by: BTreeSet<HunkId> = by.flatten().copied().collect();
        if dependents != Dependents::Reject && !by.is_empty() {
            let changes: BTreeSet<u64> = by.iter().map(|id| id.change).collect();
            let is_wanted = |id: &HunkId| match dependents {
                Dependents::UndoChanges => changes.contains(&id.change),
                _ => by.contains(id),
            };
            let history = History::of(steps);
            let (undos, own): (Vec<HunkId>, Vec<HunkId>) =
                history.undoable().filter(is_wanted).partition(|id| history.is_undo(*id));
            wanted.extend(own);
            // An undo is in the way of a hunk also if another hunk is that is not undone yet.
            if wanted.len() == n_wanted {
                wanted.extend(undos);
            }
        }
        if wanted.len() == n_wanted {
            return Err(rejected);
        }
    }
}

/// Returns the first change that is needed to undo changes since `first`: this one, or one that it or a
/// later one undid. The changes are given with what they undid.
pub fn first_needed<'a>(
    changes: impl Iterator<Item = (u64, &'a [HunkId])> + Clone,
    first: u64,
) -> u64 {
    let later = changes.clone().filter(|(id, _)| *id >= first);
    let undone = later.flat_map(|(_, undoes)| undoes).map(|hunk| hunk.change);
    match undone.min() {
        Some(earlier) if earlier < first => first_needed(changes, earlier),
        _ => first,
    }
}

/// Returns who wrote each part of a file of this size. The steps lead to its content.
pub fn authors(steps: &[Step], n_bytes: u64) -> Vec<(Range<u64>, Author)> {
    let history = History::of(steps);
    let author = |origin: usize| match history.units.get(origin) {
        Some(unit) if steps[unit.step].is_foreign => Author::NotByRecto,
        Some(unit) => Author::Change(steps[unit.step].id),
        None if history.spans.is_forgotten(origin) => Author::Unknown,
        None => Author::NotByRecto,
    };
    let mut at = 0u64;
    let spans = history.spans.iter().map(|(origin, n_span)| {
        let start = at;
        at = n_bytes.min(at.saturating_add(n_span));
        (start..at, author(origin))
    });
    spans.filter(|(range, _)| !range.is_empty()).collect()
}

impl Step {
    /// Returns the hunks that can be undone.
    pub fn hunk_ids(&self) -> Vec<HunkId> {
        let n_hunks = match self.undoes.len() {
            0 => self.hunks.as_ref().map_or(0, Hunks::len),
            n_undone => n_undone,
        };
        (0..n_hunks as u32).map(|hunk| HunkId { change: self.id, hunk }).collect()
    }
}

/// A hunk while its file's history is followed.
struct Unit<'a> {
    id: HunkId,
    step: usize,
    effect: UnitEffect<'a>,
    /// What it did to the bytes before it.
    touched: Touched,
    /// The undo that undid it.
    undone_by: Option<usize>,
}

enum UnitEffect<'a> {
    /// Replaced bytes.
    Hunk(&'a Hunk),
    /// Undid another unit.
    Undo { of: usize },
}

/// All changes of a file, followed to its current content.
struct History<'a> {
    steps: &'a [Step],
    units: Vec<Unit<'a>>,
    spans: SpanList,
    /// The last step whose content is not recorded.
    unknown: Option<usize>,
    exists: bool,
}

impl<'a> History<'a> {
    fn of(steps: &'a [Step]) -> History<'a> {
        let (units, spans) = (Vec::new(), SpanList::default());
        let mut history = History { steps, units, spans, unknown: None, exists: true };
        for (index, step) in steps.iter().enumerate() {
            history.follow(index, step);
            history.exists = step.exists[1];
        }
        history
    }

    fn follow(&mut self, index: usize, step: &'a Step) {
        if !step.undoes.is_empty() && self.follow_undo(index, step) {
            return;
        }
        let Some(hunks) = &step.hunks else {
            self.unknown = Some(index);
            self.spans.forget();
            return;
        };
        // From the end, so that the offsets of the others stay valid.
        let first = self.units.len();
        for (number, hunk) in hunks.iter().enumerate() {
            let id = HunkId { change: step.id, hunk: number as u32 };
            let effect = UnitEffect::Hunk(hunk);
            let touched = Touched::default();
            self.units.push(Unit { id, step: index, effect, touched, undone_by: None });
        }
        for (number, hunk) in hunks.iter().enumerate().rev() {
            let unit = first + number;
            let n_inserted = hunk.inserted.len() as u64;
            self.units[unit].touched =
                self.spans.replace(hunk.offset..hunk.end(), unit, n_inserted);
        }
    }

    /// Follows a recorded undo by undoing the same hunks. Returns `false` if they are not known, as
    /// after pruning; the undo is then followed like any other change.
    fn follow_undo(&mut self, index: usize, step: &'a Step) -> bool {
        let units: Option<Vec<usize>> = step.undoes.iter().map(|id| self.find(*id)).collect();
        let Some(units) = units else { return false };
        let before = self.spans.clone();
        let n_units = self.units.len();
        for (number, unit) in units.into_iter().enumerate() {
            let id = HunkId { change: step.id, hunk: number as u32 };
            if self.undo_unit(unit, index, id).is_none() {
                self.spans = before;
                self.units.truncate(n_units);
                for unit in &mut self.units {
                    unit.undone_by = unit.undone_by.filter(|by| *by < n_units);
                }
                return false;
            }
        }
        true
    }

    /// Returns the hunks that are not undone and were made by recto.
    fn undoable(&self) -> impl Iterator<Item = HunkId> {
        let is_own = |unit: &&Unit<'_>| unit.id.change != 0 && !self.steps[unit.step].is_foreign;
        let units = self.units.iter().filter(|unit| unit.undone_by.is_none()).filter(is_own);
        units.map(|unit| unit.id)
    }

    fn is_undo(&self, id: HunkId) -> bool {
        let unit = self.find(id).map(|unit| &self.units[unit]);
        unit.is_some_and(|unit| matches!(unit.effect, UnitEffect::Undo { .. }))
    }

    fn find(&self, id: HunkId) -> Option<usize> {
        self.units.iter().position(|unit| unit.id == id)
    }

    /// Undoes a unit, and returns where its bytes are, if they are all there.
    fn undo_unit(&mut self, unit: usize, step: usize, id: HunkId) -> Option<u64> {
        let new = self.units.len();
        let (at, touched) = self.spans.undo(&self.units[unit].touched, new)?;
        self.units[unit].undone_by = Some(new);
        // Undoing an undo redoes what it undid. If that was an undo too, its own target is undone again.
        let (mut undo, mut is_undone) = (unit, false);
        while let UnitEffect::Undo { of } = self.units[undo].effect {
            self.units[of].undone_by = is_undone.then_some(undo);
            (undo, is_undone) = (of, !is_undone);
        }
        let effect = UnitEffect::Undo { of: unit };
        self.units.push(Unit { id, step, effect, touched, undone_by: None });
        Some(at)
    }

    /// Undoes hunks, newest first.
    fn undo(
        mut self,
        content: Option<&[u8]>,
        wanted: &BTreeSet<HunkId>,
    ) -> Result<Plan, Vec<Rejected>> {
        let mut rejected = Vec::new();
        let mut work = content.map(<[u8]>::to_vec);
        let mut undone = Vec::new();
        // The order of steps and not of ids, because the last step may have none.
        let mut units: Vec<(usize, HunkId)> = Vec::new();
        for id in wanted {
            match self.find(*id) {
                Some(unit) => units.push((unit, *id)),
                None => rejected.push(Rejected { hunk: *id, reason: self.missing(*id) }),
            }
        }
        units.sort_by_key(|(unit, _)| std::cmp::Reverse(*unit));
        for (unit, id) in units {
            match self.undo_bytes(unit, &mut work, wanted) {
                Ok(_) => undone.push(id),
                Err(reason) => rejected.push(Rejected { hunk: id, reason }),
            }
        }
        if rejected.is_empty() { Ok(Plan { content: work, undone }) } else { Err(rejected) }
    }

    fn missing(&self, id: HunkId) -> Reason {
        match self.steps.iter().find(|step| step.id == id.change) {
            Some(step) if step.hunks.is_none() => Reason::NotRecorded,
            _ => Reason::NoSuchHunk,
        }
    }

    /// Undoes a unit in the content, and returns the range of the bytes that it replaced.
    fn undo_bytes(
        &mut self,
        unit: usize,
        work: &mut Option<Vec<u8>>,
        wanted: &BTreeSet<HunkId>,
    ) -> Result<Range<usize>, Reason> {
        if let Some(by) = self.units[unit].undone_by {
            return Err(Reason::AlreadyUndone { by: self.units[by].id.change });
        }
        let [existed, exists] = self.existence(unit);
        if !exists && self.exists {
            return Err(Reason::NameTaken);
        }
        let content = work.get_or_insert_default();
        let (inserted, removed) = (self.inserted(unit).to_vec(), self.removed(unit).to_vec());
        // A created file is removed only if it is still what was created.
        let must_be_whole = exists && !existed;
        let is_whole = !must_be_whole || *content == inserted;
        let id = HunkId { change: 0, hunk: 0 };
        let place = match exists == self.exists && is_whole {
            true => self.undo_unit(unit, self.steps.len(), id),
            false => None,
        };
        let range = place.and_then(|at| {
            let start = usize::try_from(at).ok()?;
            let range = start..start.checked_add(inserted.len())?;
            (content.get(range.clone())? == inserted).then_some(range)
        });
        let Some(range) = range else { return Err(self.obstacle(unit, must_be_whole, wanted)) };
        content.splice(range.clone(), removed);
        self.exists = existed;
        if !existed {
            *work = None;
        }
        Ok(range)
    }

    /// Returns whether the file existed before a unit, and exists after it.
    fn existence(&self, unit: usize) -> [bool; 2] {
        match self.units[unit].effect {
            UnitEffect::Hunk(_) => self.steps[self.units[unit].step].exists,
            UnitEffect::Undo { of } => {
                let [before, after] = self.existence(of);
                [after, before]
            }
        }
    }

    fn inserted(&self, unit: usize) -> &'a [u8] {
        match self.units[unit].effect {
            UnitEffect::Hunk(hunk) => &hunk.inserted,
            UnitEffect::Undo { of } => self.removed(of),
        }
    }

    fn removed(&self, unit: usize) -> &'a [u8] {
        match self.units[unit].effect {
            UnitEffect::Hunk(hunk) => &hunk.removed,
            UnitEffect::Undo { of } => self.inserted(of),
        }
    }

    /// Returns why the bytes of a unit are not in the file.
    fn obstacle(&self, unit: usize, is_whole_file: bool, wanted: &BTreeSet<HunkId>) -> Reason {
        if let Some(step) = self.unknown.filter(|step| *step > self.units[unit].step) {
            return Reason::Unknown { change: self.steps[step].id };
        }
        let own = &self.units[unit];
        let between = self.spans.between(&own.touched);
        let is_obstacle = |(index, later): &(usize, &Unit<'_>)| {
            later.undone_by.is_none()
                && later.step < self.steps.len()
                && later.step > own.step
                && (is_whole_file
                    || later.touched.takes_from(&own.touched)
                    || between.contains(index)
                    || between.iter().any(|origin| later.touched.has_inserted_bytes_of(*origin)))
        };
        let later: Vec<&Unit<'_>> =
            self.units.iter().enumerate().filter(is_obstacle).map(|(_, unit)| unit).collect();
        // An undo is in the way only if what it undid is not.
        let is_hunk = |unit: &&&Unit<'_>| matches!(unit.effect, UnitEffect::Hunk(_));
        let ids = |units: &mut dyn Iterator<Item = &&Unit<'_>>| -> Vec<HunkId> {
            units.map(|unit| unit.id).filter(|id| !wanted.contains(id)).collect()
        };
        let mut by = ids(&mut later.iter().filter(is_hunk));
        if by.is_empty() {
            by = ids(&mut later.iter());
        }
        Reason::Overlapped { by }
    }
}

#[cfg(test)]
mod tests;
