//! The recorded changes of one session, for the tools that list and undo them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_journal::undo::{self, Dependents, Reason, Rejected, Step};
use recto_journal::undo_files::undone;
use recto_journal::{Change, Filter, Journal, Kind, Reader, State, StateDir};
use recto_store::record::OriginSession;
use recto_tools::recorded::{
    ChangeList, Obstacle, RecordedChanges, SessionChange, SessionChanges, UndoPlan,
};

/// The changes in a journal.
pub struct JournalChanges {
    /// The journal's directory.
    pub dir: StateDir,
    /// The session of the process.
    pub session: String,
    /// The journal, which may not have stored everything yet.
    pub journal: Arc<Journal>,
}

impl RecordedChanges for JournalChanges {
    fn of_session(&self, session: &OriginSession) -> Option<Box<dyn SessionChanges + '_>> {
        let session = match session {
            OriginSession::OfProcess => self.session.clone(),
            OriginSession::Named(name) => name.clone(),
            OriginSession::Unknown => return None,
        };
        // The journal stores an unknown session as an empty name.
        (!session.is_empty())
            .then(|| Box::new(OwnChanges { all: self, session }) as Box<dyn SessionChanges>)
    }
}

/// The changes of one session.
struct OwnChanges<'a> {
    all: &'a JournalChanges,
    /// Not empty.
    session: String,
}

impl OwnChanges<'_> {
    fn reader(&self) -> Result<Option<Reader>, String> {
        self.all.journal.flush();
        Reader::open(&self.all.dir).map_err(|error| error.to_string())
    }

    fn is_own(&self, change: &Change) -> bool {
        let is_of_session = change.session.as_ref().is_some_and(|own| own.name == self.session);
        let is_made = matches!(change.state, State::Done | State::Uncertain);
        is_of_session && is_made && change.kind != Kind::Foreign
    }

    fn find(&self, id: u64) -> Result<(Reader, Change), Obstacle> {
        let none = || Obstacle::new("this session has no such change");
        let reader = self.reader().map_err(Obstacle::new)?.ok_or_else(none)?;
        let change = reader.change(id).map_err(|error| Obstacle::new(error.to_string()))?;
        let change = change.filter(|change| self.is_own(change)).ok_or_else(none)?;
        Ok((reader, change))
    }

    /// Returns what undoing a change needs: the steps since then that lead to a content. Those of other
    /// sessions count as foreign, so that they are never undone.
    fn steps(
        &self,
        reader: &Reader,
        change: &Change,
        content: Option<&[u8]>,
    ) -> recto_journal::Result<Vec<Step>> {
        let path = reader.current_path(change)?;
        let mut steps = reader.steps_since(&path, content, change.id)?;
        let changes = reader.lineage(&path)?;
        let is_own = |id: u64| changes.iter().any(|change| change.id == id && self.is_own(change));
        steps.iter_mut().for_each(|step| step.is_foreign |= !is_own(step.id));
        Ok(steps)
    }
}

impl SessionChanges for OwnChanges<'_> {
    fn list(&self, below: Option<&Path>, limit: usize) -> Result<ChangeList, String> {
        let Some(reader) = self.reader()? else { return Ok(ChangeList::default()) };
        let below = below.map(Path::to_path_buf);
        let filter = Filter { below, session: Some(self.session.clone()), ..Filter::default() };
        let mut changes = reader.changes(&filter).map_err(|error| error.to_string())?;
        changes.retain(|change| self.is_own(change));
        // Of all changes: the user may have undone them.
        let undone = undone(&reader.undos().map_err(|error| error.to_string())?);
        let own = |change: &Change| SessionChange {
            id: change.id,
            kind: change.kind.name(),
            path: change.path.clone(),
            undone_by: undone.get(&change.id).copied(),
        };
        let n_older = changes.len().saturating_sub(limit);
        Ok(ChangeList { changes: changes.iter().rev().take(limit).map(own).collect(), n_older })
    }

    fn path(&self, change: u64) -> Result<PathBuf, Obstacle> {
        let (reader, change) = self.find(change)?;
        reader.current_path(&change).map_err(|error| Obstacle::new(error.to_string()))
    }

    fn plan(
        &self,
        change: u64,
        content: Option<&[u8]>,
        with_dependents: bool,
    ) -> Result<UndoPlan, Obstacle> {
        let (reader, change) = self.find(change)?;
        if change.kind == Kind::Move {
            let what = "moved the file";
            return Err(Obstacle::new(only_by_the_user(what, change.id)));
        }
        if change.is_of_link() {
            let what = "removed a symbolic link";
            return Err(Obstacle::new(only_by_the_user(what, change.id)));
        }
        let now = content.map(|content| reader.digest(content));
        if change.is_in_editor && now == change.digests[0] && now != change.digests[1] {
            let cause = "an editor made it in its buffer and has not saved it";
            return Err(Obstacle::new(cause));
        }
        let steps = self.steps(&reader, &change, content);
        let steps = steps.map_err(|error| Obstacle::new(error.to_string()))?;
        let Some(step) = steps.iter().find(|step| step.id == change.id) else {
            return Err(Obstacle::new("another file has this name now, or it was not made"));
        };
        let hunks = step.hunk_ids();
        if hunks.is_empty() {
            return Err(Obstacle::new("its content was not stored"));
        }
        let dependents = match with_dependents {
            true => Dependents::UndoChanges,
            false => Dependents::Reject,
        };
        match undo::plan(&steps, content, &hunks, dependents) {
            Ok(plan) => Ok(UndoPlan {
                content: plan.content,
                was_executable: change.mode.is_some_and(|mode| mode & 0o111 != 0),
                undoes: plan.undone.iter().map(|id| (id.change, id.hunk)).collect(),
            }),
            Err(rejected) => {
                let can_undo_dependents = !with_dependents
                    && undo::plan(&steps, content, &hunks, Dependents::UndoChanges).is_ok();
                Err(Obstacle { cause: cause(&reader, &rejected), can_undo_dependents })
            }
        }
    }
}

/// Returns the words for a change that only `recto undo` can undo.
fn only_by_the_user(what: &str, change: u64) -> String {
    format!("it {what}, which this tool cannot undo; the user can run recto undo {change}")
}

/// Returns the words for the first hunk that cannot be undone.
fn cause(reader: &Reader, rejected: &[Rejected]) -> String {
    match rejected.first().map(|rejected| &rejected.reason) {
        Some(Reason::AlreadyUndone { by }) => format!("change {by} has undone it already"),
        Some(Reason::NameTaken) => "a file with this name exists again".into(),
        Some(Reason::Overlapped { by }) => {
            let by = by.first().map_or(0, |by| by.change);
            let change = reader.change(by).ok().flatten();
            match change.filter(|change| change.kind != Kind::Foreign) {
                Some(_) => format!("the later change {by} overlaps it"),
                None => "another program has changed these lines since".into(),
            }
        }
        Some(Reason::Unknown { .. }) => "the content of a later change was not stored".into(),
        Some(Reason::NotRecorded | Reason::NoSuchHunk) | None => {
            "its content was not stored".into()
        }
    }
}
