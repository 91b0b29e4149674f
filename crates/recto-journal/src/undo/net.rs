//! What hunks have changed in a file as it is now, as parts that can be undone one by one.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::{History, HunkId, Reason, Rejected, Step, UnitEffect};

/// How many rejections are explained in detail.
const MAX_EXPLAINED: usize = 50;

/// A place in a file that some hunks have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The hunks that changed it, newest first. They overlap, so they are undone together.
    pub hunks: Vec<HunkId>,
    /// The bytes in the current content.
    pub range: Range<usize>,
    /// The bytes that would be there without the hunks.
    pub without: Vec<u8>,
}

/// The net effect of hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Net {
    /// The places that they changed, in order.
    pub parts: Vec<Part>,
    /// The hunks that cannot be undone, so that their place is not known.
    pub rejected: Vec<Rejected>,
    /// Whether the file would exist without the hunks.
    pub exists_without: bool,
}

/// Computes what the file would be without some hunks, leaving out those that cannot be undone. The
/// steps are those of [`plan`](super::plan).
pub fn net(steps: &[Step], content: Option<&[u8]>, hunks: &[HunkId]) -> Net {
    let mut wanted: BTreeSet<HunkId> = hunks.iter().copied().collect();
    let mut rejected: Vec<Rejected> = Vec::new();
    let (pieces, work) = loop {
        let mut history = History::of(steps);
        let mut work = content.map(<[u8]>::to_vec);
        let mut pieces = Pieces::default();
        let n_rejected = rejected.len();
        let units: HashMap<HunkId, usize> =
            history.units.iter().enumerate().map(|(index, unit)| (unit.id, index)).collect();
        let mut found: Vec<(usize, HunkId)> = Vec::new();
        for id in &wanted {
            match units.get(id) {
                Some(unit) => found.push((*unit, *id)),
                None => rejected.push(Rejected { hunk: *id, reason: history.missing(*id) }),
            }
        }
        found.sort_by_key(|(unit, _)| std::cmp::Reverse(*unit));
        for (unit, id) in found {
            let n_restored = history.removed(unit).len();
            match history.undo_bytes(unit, &mut work, &wanted) {
                Ok(range) => pieces.replace(range, n_restored, id),
                Err(reason) => rejected.push(Rejected { hunk: id, reason }),
            }
        }
        if rejected.len() == n_rejected {
            break (pieces, work);
        }
        for Rejected { hunk, .. } in &rejected[n_rejected..] {
            wanted.remove(hunk);
        }
    };
    // Those that are in the way of each other name no obstacle.
    for Rejected { hunk, reason } in rejected.iter_mut().take(MAX_EXPLAINED) {
        if matches!(reason, Reason::Overlapped { by } if by.is_empty())
            && let Err(alone) = History::of(steps).undo(content, &[*hunk].into())
            && let Some(found) = alone.into_iter().next()
        {
            *reason = found.reason;
        }
    }
    rejected.sort_by_key(|rejected| rejected.hunk);
    let exists_without = work.is_some();
    let work = work.unwrap_or_default();
    let part = |piece: Piece| Part {
        hunks: piece.hunks,
        range: piece.now,
        without: work.get(piece.then).unwrap_or_default().to_vec(),
    };
    Net { parts: pieces.0.into_iter().map(part).collect(), rejected, exists_without }
}

/// Returns each hunk that is undone, with the hunk of the undo that undid it.
pub fn undone(steps: &[Step]) -> HashMap<HunkId, HunkId> {
    let history = History::of(steps);
    let hunks = history.units.iter().filter(|unit| matches!(unit.effect, UnitEffect::Hunk(_)));
    hunks.filter_map(|unit| Some((unit.id, history.units[unit.undone_by?].id))).collect()
}

/// A range of the current content, and the range that replaced it.
struct Piece {
    now: Range<usize>,
    then: Range<usize>,
    hunks: Vec<HunkId>,
}

/// Replaced ranges, in order.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    /// Replaces a range of the content as it is after all replacements before.
    fn replace(&mut self, range: Range<usize>, n_bytes: usize, hunk: HunkId) {
        let is_before = |piece: &Piece| {
            let is_same_place = piece.then.is_empty() && range.is_empty();
            piece.then.end < range.start || (piece.then.end == range.start && !is_same_place)
        };
        let first = self.0.partition_point(is_before);
        let touches = |piece: &&Piece| {
            let is_same_place = piece.then.is_empty() && piece.then.start == range.start;
            piece.then.start < range.end || (range.is_empty() && is_same_place)
        };
        let n_touched = self.0[first..].iter().take_while(touches).count();
        let last = first.checked_sub(1).map(|last| &self.0[last]);
        let (then_end, now_end) = last.map_or((0, 0), |last| (last.then.end, last.now.end));
        let now = |at: usize| at - then_end + now_end;
        let mut merged = Piece {
            now: now(range.start)..now(range.start),
            then: range.clone(),
            hunks: vec![hunk],
        };
        let touched: Vec<Piece> = self.0.drain(first..first + n_touched).collect();
        merged.now.end = match touched.last() {
            None => now(range.end),
            Some(last) => last.now.end + range.end.saturating_sub(last.then.end),
        };
        if let Some(piece) = touched.first() {
            merged.then.start = merged.then.start.min(piece.then.start);
            // Bytes before the piece did not change.
            merged.now.start = match range.start < piece.then.start {
                true => piece.now.start - (piece.then.start - range.start),
                false => piece.now.start,
            };
        }
        merged.then.end = merged.then.end.max(touched.last().map_or(0, |piece| piece.then.end));
        let earlier = touched.into_iter().flat_map(|piece| piece.hunks);
        merged.hunks.splice(0..0, earlier);
        merged.hunks.sort_unstable_by(|one, other| other.cmp(one));
        let shifted = |at: usize| at + n_bytes - range.len();
        merged.then.end = shifted(merged.then.end);
        for later in &mut self.0[first..] {
            later.then = shifted(later.then.start)..shifted(later.then.end);
        }
        self.0.insert(first, merged);
    }
}
