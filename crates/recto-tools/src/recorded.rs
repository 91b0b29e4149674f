//! The interface to the recorded changes of the session that calls.

use std::path::{Path, PathBuf};

use recto_store::record::OriginSession;

/// The recorded changes of all sessions. A caller gets those of its own.
pub trait RecordedChanges: Send + Sync {
    /// Returns the changes of a session, or `None` if the session is unknown.
    fn of_session(&self, session: &OriginSession) -> Option<Box<dyn SessionChanges + '_>>;
}

/// The recorded changes of one session. Changes of other sessions are not listed and not undone.
pub trait SessionChanges {
    /// Returns the newest changes, newest first: only of a file, or of files below a directory, if one
    /// is named. An error is the cause for a user.
    fn list(&self, below: Option<&Path>, limit: usize) -> Result<ChangeList, String>;

    /// Returns the file that a change changed.
    fn path(&self, change: u64) -> Result<PathBuf, Obstacle>;

    /// Plans to undo a change in its file, which now has this content, or does not exist.
    fn plan(
        &self,
        change: u64,
        content: Option<&[u8]>,
        with_dependents: bool,
    ) -> Result<UndoPlan, Obstacle>;
}

/// Some of the changes of a session.
#[derive(Debug, Clone, Default)]
pub struct ChangeList {
    /// The changes, newest first.
    pub changes: Vec<SessionChange>,
    /// How many older ones there are.
    pub n_older: usize,
}

/// A change that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionChange {
    /// Its number.
    pub id: u64,
    /// What it did: create, edit, remove, move or undo.
    pub kind: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The change that undid it, at least in part.
    pub undone_by: Option<u64>,
}

/// What to write to undo a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoPlan {
    /// The new content; `None` removes the file.
    pub content: Option<Vec<u8>>,
    /// Whether the file was executable when it was removed.
    pub was_executable: bool,
    /// What is undone, for the record: changes and their hunks.
    pub undoes: Vec<(u64, u32)>,
}

/// Why a change cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The cause.
    pub cause: String,
    /// Whether it can be undone together with the changes that are in the way.
    pub can_undo_dependents: bool,
}

impl Obstacle {
    /// An obstacle that does not go away.
    pub fn new(cause: impl Into<String>) -> Obstacle {
        Obstacle { cause: cause.into(), can_undo_dependents: false }
    }
}
