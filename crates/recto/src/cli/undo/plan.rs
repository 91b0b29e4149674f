//! Selects what to undo, plans each file and writes it.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_journal::undo::{self, HunkId, Plan, Reason, Rejected};
use recto_journal::{Change, Filter, Kind, Reader, State};
use recto_store::record::{Origin, Recording};
use recto_store::{Context, Hold, LocalStore, RemovedContent, Store, WriteError, WriteStore};

use super::super::log::undone;
use super::super::recorded::{self, abs, store};
use super::Undo;
use crate::journal::OpenJournal;

/// The changes of one file that are to be undone.
pub struct Target {
    path: PathBuf,
    changes: Vec<Change>,
    /// Only this hunk, counted from 1.
    hunk: Option<u32>,
}

/// What to write to one file.
pub struct FilePlan {
    target: Target,
    root: PathBuf,
    before: Option<Vec<u8>>,
    plan: Plan,
}

/// What to do with hunks that cannot be undone as they are.
#[derive(Clone, Copy)]
pub struct PlanOptions {
    /// Undo later changes that overlap too.
    pub with_dependents: bool,
    /// Leave out hunks that cannot be undone.
    pub is_partial: bool,
    /// Leave out hunks that are undone already.
    pub skips_undone: bool,
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
    /// The file cannot be used.
    File(String),
}

impl Undo {
    /// Returns the changes to undo, by file.
    pub fn targets(&self, reader: &Reader, root: &Path) -> Result<Vec<Target>, String> {
        let failed = |error: recto_journal::Error| error.to_string();
        let all = reader.changes(&Filter::default()).map_err(failed)?;
        let undone = undone(&all);
        let can_be_undone = |change: &&Change| {
            let is_made = matches!(change.state, State::Done | State::Uncertain);
            let is_own = !matches!(change.kind, Kind::Foreign | Kind::Undo);
            is_made && is_own
        };
        let mut changes: Vec<Change> = Vec::new();
        for id in &self.ids {
            let change = all.iter().find(|change| change.id == *id);
            changes.push(change.cloned().ok_or_else(|| format!("no change {id}"))?);
        }
        let file = self.file.as_deref().map(recorded::real_path).transpose()?;
        let candidates = all.iter().filter(can_be_undone);
        if let Some(session) = &self.session {
            let is_of =
                |change: &&Change| change.session.as_ref().is_some_and(|own| own.name == *session);
            changes.extend(candidates.filter(is_of).cloned());
        } else if let Some(file) = &file {
            changes.extend(candidates.filter(|change| change.path == *file).cloned());
        } else if self.last {
            let is_below = |change: &&Change| change.path.starts_with(root);
            let last = candidates
                .rev()
                .find(|change| is_below(change) && !undone.contains_key(&change.id));
            changes.extend(last.cloned());
        }
        if self.hunk.is_some() && changes.len() != 1 {
            return Err("--hunk needs exactly one change".into());
        }
        if changes.is_empty() {
            return Err("no change that can be undone".into());
        }
        let mut files: BTreeMap<PathBuf, Vec<Change>> = BTreeMap::new();
        for change in changes {
            files.entry(change.path.clone()).or_default().push(change);
        }
        let target = |(path, changes)| Target { path, changes, hunk: self.hunk };
        Ok(files.into_iter().map(target).collect())
    }
}

impl FilePlan {
    /// Plans one file.
    pub fn make(
        reader: &Reader,
        target: Target,
        root: &Path,
        options: PlanOptions,
    ) -> Result<(Option<FilePlan>, Vec<Rejection>), String> {
        let path = target.path.clone();
        let file = |cause: String| {
            (None, vec![Rejection { path: path.clone(), cause: Cause::File(cause) }])
        };
        if !path.starts_with(root) {
            let root = root.display();
            return Ok(file(format!("outside {root}; name its directory with --root")));
        }
        let store = store(root, Recording::default())?;
        let before = match read(&store, &path) {
            Ok(before) => before,
            Err(cause) => return Ok(file(cause)),
        };
        let steps = reader.steps(&path, before.as_deref()).map_err(|error| error.to_string())?;
        let mut hunks: Vec<HunkId> = Vec::new();
        for change in &target.changes {
            let step = steps.iter().find(|step| step.id == change.id);
            let all = step.map(undo::Step::hunk_ids).unwrap_or_default();
            match target.hunk {
                Some(number) => {
                    hunks.push(HunkId { change: change.id, hunk: number.wrapping_sub(1) });
                }
                // A change without content has no hunks; asking for one says why.
                None if all.is_empty() => hunks.push(HunkId { change: change.id, hunk: 0 }),
                None => hunks.extend(all),
            }
        }
        let mut rejected = Vec::new();
        loop {
            match undo::plan(&steps, before.as_deref(), &hunks, options.with_dependents) {
                Ok(plan) => {
                    let root = root.to_path_buf();
                    let plan =
                        (!hunks.is_empty()).then_some(FilePlan { target, root, before, plan });
                    return Ok((plan, rejected));
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
                    if is_rejected || hunks.is_empty() {
                        return Ok((None, rejected));
                    }
                }
            }
        }
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Returns the difference that undoing makes.
    pub fn diff(&self) -> String {
        recorded::diff(self.path(), self.before.as_deref(), self.plan.content.as_deref())
    }

    /// Writes the file and records the undo.
    pub fn write(self, reader: &Reader, journal: &OpenJournal) -> Result<(), String> {
        let store = store(&self.root, journal.recording())?;
        let undoes = self.plan.undone.iter().map(|id| (id.change, id.hunk)).collect();
        let client = Some(("recto undo".to_string(), env!("CARGO_PKG_VERSION").to_string()));
        let origin = Arc::new(Origin { client, call: None, undoes });
        let context = Context { origin, ..Context::default() };
        let path = abs(self.path());
        let failed = |error: WriteError<'_>| match error {
            WriteError::Failed(error) => error.to_string(),
            WriteError::Conflict | WriteError::Restart(_) => CHANGED.to_string(),
        };
        let error = |error: recto_store::Error| error.to_string();
        match (&self.before, &self.plan.content) {
            (None, None) => Ok(()),
            (None, Some(content)) => {
                let slot = store.hold_new(&path, &context).map_err(error)?;
                slot.create_bytes(content).map_err(failed)?;
                self.restore_mode(reader);
                Ok(())
            }
            (Some(before), Some(content)) => {
                let Hold::File(file) = store.hold(&path, &context).map_err(error)? else {
                    return Err(CHANGED.into());
                };
                let file = file.whole().map_err(failed)?;
                if file.content().bytes() != before {
                    return Err(CHANGED.into());
                }
                file.replace_bytes(content).map(drop).map_err(failed)
            }
            (Some(before), None) => {
                let removal = store.hold_to_remove(&path, &context).map_err(error)?;
                if !matches!(removal.content(), RemovedContent::Bytes(now) if now == before) {
                    return Err(CHANGED.into());
                }
                removal.remove().map(drop).map_err(failed)
            }
        }
    }

    /// Gives a file that is created again the permissions that it had.
    fn restore_mode(&self, reader: &Reader) {
        let removal = self.target.changes.iter().rev().find(|change| change.digests[1].is_none());
        let metadata = removal.and_then(|change| reader.metadata(change.id).ok().flatten());
        if let Some(metadata) = metadata {
            let mode = std::fs::Permissions::from_mode(metadata.mode & 0o777);
            let _ = std::fs::set_permissions(self.path(), mode);
        }
    }
}

const CHANGED: &str = "the file changed meanwhile; run the command again";

/// Reads a file, which must still be where it was: no directory of its path may be a link now.
fn read(store: &LocalStore, path: &Path) -> Result<Option<Vec<u8>>, String> {
    let (context, name) = (Context::default(), abs(path));
    if store.real_path(&name, &context).is_some_and(|real| real != path) {
        return Err("a link now leads elsewhere".into());
    }
    match store.open(&name, &context) {
        Ok(bytes) => {
            let mut content = vec![0; bytes.size() as usize];
            let mut n_read = 0;
            while n_read < content.len() {
                match bytes.read_at(&mut content[n_read..], n_read as u64) {
                    Ok(0) => break,
                    Ok(n) => n_read += n,
                    Err(error) => return Err(error.to_string()),
                }
            }
            content.truncate(n_read);
            bytes.check_unchanged().map_err(|error| error.to_string())?;
            Ok(Some(content))
        }
        Err(recto_store::Error::FileNotFound { .. }) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
