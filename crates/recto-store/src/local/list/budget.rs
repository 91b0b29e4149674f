//! The bounds of a walk.

use std::time::Instant;

use crate::context::Context;
use crate::limits;

/// The bounds of a walk.
#[derive(Debug, Clone, Copy)]
pub struct WalkBudget {
    pub max_entries: u64,
    pub deadline: Instant,
    /// The entries that are inspected whatever the time is, so that results for small trees do not
    /// depend on it.
    pub n_before_deadline: u64,
}

impl WalkBudget {
    /// Returns the bounds of a listing that a caller requested.
    pub fn whole(context: &Context) -> WalkBudget {
        WalkBudget {
            max_entries: limits::WALK_ENTRIES,
            deadline: context.walk_deadline.unwrap_or_else(|| Instant::now() + limits::WALK_TIME),
            n_before_deadline: 0,
        }
    }

    /// Returns the bounds of a search for suggestions.
    pub fn nearby() -> WalkBudget {
        WalkBudget {
            max_entries: limits::NEARBY_ENTRIES,
            deadline: Instant::now() + limits::NEARBY_TIME,
            n_before_deadline: 1000,
        }
    }

    /// Whether a walk that has inspected this many entries must end.
    pub fn is_spent(&self, n_entries: u64) -> bool {
        n_entries > self.max_entries
            || (n_entries >= self.n_before_deadline && Instant::now() > self.deadline)
    }
}
