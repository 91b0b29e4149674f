//! The names that files had: which file a recorded change is of, after moves.
//!
//! A name can belong to several files, one after the other. A file that was moved to a name and away
//! again leaves it to the file that had it before, which may have been removed and can be restored.

use std::collections::HashMap;
use std::path::Path;

use crate::change::{Change, State};
use crate::error::Result;
use crate::reader::Reader;

/// All moves, by the names that files left and got, in order.
pub struct Names<'a>(HashMap<&'a Path, Vec<&'a Change>>);

impl<'a> Names<'a> {
    /// Collects the moves among changes, which are in order.
    pub fn of(changes: &'a [Change]) -> Names<'a> {
        let mut names: HashMap<&Path, Vec<&Change>> = HashMap::new();
        for change in changes.iter().filter(|change| change.is_arrival() || change.is_departure()) {
            names.entry(&change.path).or_default().push(change);
        }
        Names(names)
    }

    /// Returns the path that the file of a change has now, or had last.
    pub fn current(&self, change: &'a Change) -> &'a Path {
        let (mut path, mut since) = (change.path.as_path(), change.id);
        while let Some(departure) = self.departure(path, since, change.id)
            && let Some(moved) = departure.moved.as_deref()
        {
            (path, since) = (moved, departure.id + 1);
        }
        path
    }

    /// Returns the move away of the file that has a name since a change. The arrival of that file,
    /// which may be the change `own`, is not the one of another file.
    fn departure(&self, path: &Path, since: u64, own: u64) -> Option<&'a Change> {
        let mut n_others = 0;
        let is_later = |change: &&&Change| change.id >= since;
        for (index, change) in self.0.get(path)?.iter().filter(is_later).enumerate() {
            if change.is_arrival() {
                // The file itself arrives first, unless the change was made under this name.
                let is_own = index == 0 && (since != own || change.id == own);
                n_others += usize::from(!is_own);
            } else if n_others == 0 {
                return Some(change);
            } else {
                n_others -= 1;
            }
        }
        None
    }
}

impl Change {
    /// Whether it is the record of a move under the name that the file left.
    pub fn is_departure(&self) -> bool {
        self.state == State::Done && self.moved.is_some() && self.digests[1].is_none()
    }

    /// Whether it is the record of a move under the name that the file got.
    pub fn is_arrival(&self) -> bool {
        self.state == State::Done && self.moved.is_some() && self.digests[0].is_none()
    }
}

impl Reader {
    /// Returns the changes of the file that has a path now, or had it last, oldest first: also those
    /// under earlier names, but none of other files that had the name.
    pub fn lineage(&self, path: &Path) -> Result<Vec<Change>> {
        let mut parts = Vec::new();
        let (mut path, mut end) = (path.to_path_buf(), u64::MAX);
        loop {
            let mut changes = self.changes_of(&path)?;
            changes.retain(|change| change.id < end);
            let changes = of_last_file(changes);
            let arrival = changes.first().filter(|change| change.is_arrival()).cloned();
            parts.push(changes);
            let Some(arrival) = arrival else { break };
            let Some(departure) = self.other_name(&arrival)? else { break };
            (path, end) = (departure.path.clone(), departure.id);
            parts.push(vec![departure]);
        }
        Ok(parts.into_iter().rev().flatten().collect())
    }

    /// Returns the record of a move under the other name of the file.
    pub fn other_name(&self, change: &Change) -> Result<Option<Change>> {
        let Some(moved) = &change.moved else { return Ok(None) };
        let is_other = |other: &Change| {
            other.transaction == change.transaction && other.moved.as_ref() == Some(&change.path)
        };
        Ok(self.changes_of(moved)?.into_iter().find(is_other))
    }
}

/// Returns the changes of the file that has a name after all changes under this name.
fn of_last_file(changes: Vec<Change>) -> Vec<Change> {
    let (mut current, mut earlier) = (Vec::new(), Vec::new());
    for change in changes {
        if change.is_arrival() {
            earlier.push(std::mem::replace(&mut current, vec![change]));
        } else if change.is_departure() {
            let has_arrived = current.first().is_some_and(Change::is_arrival);
            current = if has_arrived { earlier.pop().unwrap_or_default() } else { Vec::new() };
        } else {
            current.push(change);
        }
    }
    current
}
