//! Which moves of a file are undone.

use std::path::PathBuf;

use super::{Cause, PlanOptions, Target, undone};
use crate::change::{Change, Kind, State};
use crate::undo::Plan;

/// The moves of a file that are to be undone, newest first.
#[derive(Default)]
pub struct Moves(Vec<Move>);

/// A move that is to be undone.
struct Move {
    change: u64,
    old_name: PathBuf,
}

impl Moves {
    /// Returns the moves of a target that are not undone.
    pub fn of(target: &Target, lineage: &[Change], options: PlanOptions) -> Result<Moves, Cause> {
        let mut wanted: Vec<&Change> =
            target.changes.iter().filter(|change| change.moved.is_some()).collect();
        wanted.sort_by_key(|change| std::cmp::Reverse(change.id));
        let undone = undone(lineage);
        let (mut name, mut moves) = (target.path.as_path(), Vec::new());
        for change in wanted {
            let Some([old, new]) = change.moved_names() else { continue };
            match undone.get(&change.id) {
                Some(_) if options.skips_undone => continue,
                Some(by) => {
                    let id = change.id;
                    let cause = format!("change {by} has undone the move of change {id} already");
                    return Err(Cause::File(cause));
                }
                None if new != name => {
                    let cause = format!("it was moved again since change {}", change.id);
                    return Err(Cause::File(cause));
                }
                None => {}
            }
            name = old;
            moves.push(Move { change: change.id, old_name: old.to_path_buf() });
        }
        // If it has its old name already, there is nothing to undo.
        Ok(if name == target.path { Moves::default() } else { Moves(moves) })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the moves as changes.
    pub fn changes(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|it| it.change)
    }

    /// Returns the name that the file had before all of them.
    pub fn old_name(&self) -> Option<PathBuf> {
        self.0.last().map(|it| it.old_name.clone())
    }

    /// Returns the moves that a plan for the file can be combined with: none if the file does not exist
    /// afterwards because its creation is undone. A transaction cannot create and move the same file, so
    /// that a file which was moved and then removed is rejected.
    pub fn beside(self, plan: &Plan, existed: bool, lineage: &[Change]) -> Result<Moves, Cause> {
        let Some(newest) = self.0.first() else { return Ok(self) };
        match (existed, plan.content.is_some()) {
            (true, true) => return Ok(self),
            (true, false) => return Ok(Moves::default()),
            (false, false) if !plan.undone.is_empty() || is_creation_undone(lineage) => {
                return Ok(Moves::default());
            }
            (false, _) => {}
        }
        let is_made = |change: &&Change| change.state == State::Done && change.moved.is_none();
        let last = lineage.iter().rev().find(is_made);
        let is_removal =
            |change: &&Change| change.digests[1].is_none() && change.kind != Kind::Foreign;
        let moved = newest.change;
        Err(Cause::File(match last.filter(is_removal) {
            Some(Change { id, .. }) => format!(
                "change {id} removed it after change {moved} moved it; undo change {id} first, then the rest"
            ),
            None => format!(
                "another program removed it after change {moved} moved it, so it cannot be moved back"
            ),
        }))
    }
}

/// Whether the change that created a file is undone.
fn is_creation_undone(lineage: &[Change]) -> bool {
    let undone = undone(lineage);
    lineage.iter().any(|change| {
        let is_creation = change.digests[0].is_none() && change.moved.is_none();
        is_creation && change.kind != Kind::Undo && undone.contains_key(&change.id)
    })
}
