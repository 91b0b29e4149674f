//! The state of a match during a walk.

use std::sync::Arc;

/// The state of a match in a directory: the components that may come next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobState {
    /// For each alternative, a bit for each component. Shared, because a walk keeps one for each
    /// directory that it has not read.
    Parts(Arc<[u64]>),
    /// Positions in a LIKE pattern.
    Like(Vec<usize>),
}

impl GlobState {
    /// Returns this state, or an equal one that is already in memory.
    pub fn shared_with(self, other: Option<&GlobState>) -> GlobState {
        other.filter(|other| **other == self).cloned().unwrap_or(self)
    }

    /// Returns about how many bytes it takes, unless it is shared.
    pub fn n_bytes(&self) -> usize {
        match self {
            GlobState::Parts(open) => size_of_val(&**open),
            GlobState::Like(places) => size_of_val(&**places),
        }
    }
}
