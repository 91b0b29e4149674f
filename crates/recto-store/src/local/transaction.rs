//! Changes several files together: all or none, also if the process is killed.
//!
//! 1. New content is written to drafts without a name and synced. No lock is held meanwhile.
//! 2. The directories are locked, in the order of their device and inode.
//! 3. Under the locks, every file must still have the content that the caller read.
//! 4. The journal records the intention: all files with the digests of both contents.
//! 5. Drafts are exchanged for the old files, created files and moves get names that must be free.
//! 6. The old files are compared once more, the directories are synced, the outcome is recorded.
//! 7. Only then are the old files unlinked.
//!
//! If a step fails, everything is undone in reverse order. If the process is killed, [`recovery`]
//! finishes or undoes the transaction by the record and the contents of the files.

mod dirs;
mod operation;
mod places;
mod recovery;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recto_platform::{FileKind, Handle, random_hex};

use super::LocalStore;
use super::lock::DirLock;
use super::locked::{LockedPath, Purpose};
use super::new_dirs::NewDirs;
use super::read::{Lease, OpenFile};
use super::recorded::metadata_of_removed;
use super::replace::{DraftMetadata, LATE_WRITER_WAIT, Protocol};
use super::roots::{LastLink, Location};
use super::sys;
use crate::context::{Access, Context};
use crate::error::{Error, Result};
use crate::path::AbsPath;
use crate::record::{
    ChangedBytes, Origin, RecordedChange, RecordedMetadata, RecordedStep, RecordedTransaction,
    TransactionIntent, TransactionState, temporary_name,
};
use crate::{
    FileStep, Hold, RemovedContent, StepError, Transaction, WriteError, WriteStore, Written,
};
use dirs::Dirs;
use operation::Operation;
use places::{Places, check_limits, same_files};
pub use recovery::recover;

/// Changes that were checked.
pub struct LocalTransaction<'a> {
    store: &'a LocalStore,
    context: &'a Context,
    steps: &'a [FileStep<'a>],
    places: Vec<Places>,
}

impl<'a> LocalTransaction<'a> {
    /// Checks the steps. Fails with an error for each that would be rejected.
    pub fn plan(
        store: &'a LocalStore,
        steps: &'a [FileStep<'a>],
        context: &'a Context,
    ) -> Result<LocalTransaction<'a>, Vec<StepError>> {
        check_limits(steps).map_err(|error| vec![failed(0, error)])?;
        let (mut places, mut problems) = (Vec::new(), Vec::new());
        for (index, step) in steps.iter().enumerate() {
            match Places::find(store, step, context) {
                Ok(found) => places.push(found),
                Err(error) => problems.push(failed(index, error)),
            }
        }
        if problems.is_empty() {
            problems = same_files(steps, &places);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(LocalTransaction { store, context, steps, places })
    }

    /// Makes the only step by the protocol of single files, which needs no record to be atomic.
    fn commit_one(&self, step: &FileStep<'_>) -> Result<Written, WriteError<'static>> {
        let origin = Origin { undoes: step.undoes.to_vec(), ..(*self.context.origin).clone() };
        let context = &Context { origin: Arc::new(origin), ..self.context.clone() };
        let written = || match (step.before, step.after) {
            (None, None) => Ok(Written::default()),
            (None, Some(after)) => {
                let vacant = LockedPath::lock(self.store, step.path, Purpose::Create, context)?;
                vacant.create(after, step.draft_metadata())
            }
            (Some(before), Some(after)) => {
                let Hold::File(file) = self.store.hold(step.path, context)? else {
                    return Err(WriteError::Conflict);
                };
                let file = file.whole()?;
                match file.content().bytes() == before {
                    true => file.replace_bytes(after),
                    false => Err(WriteError::Conflict),
                }
            }
            (Some(before), None) => {
                let removal = self.store.hold_to_remove(step.path, context)?;
                match removal.content() {
                    RemovedContent::Bytes(bytes) if bytes == before => {
                        removal.remove().map(|_| Written::default())
                    }
                    _ => Err(WriteError::Conflict),
                }
            }
        };
        written().map_err(|error| match error {
            WriteError::Failed(error) => WriteError::Failed(error),
            WriteError::Conflict | WriteError::Restart(_) => WriteError::Conflict,
        })
    }
}

impl Transaction for LocalTransaction<'_> {
    fn commit(self: Box<Self>) -> Result<Vec<Written>, Vec<StepError>> {
        if let [step] = self.steps
            && step.move_to.is_none()
            && !step.is_link
        {
            let written = self.commit_one(step);
            return written.map(|it| vec![it]).map_err(|cause| vec![StepError { step: 0, cause }]);
        }
        let LocalTransaction { store, context, steps, places } = *self;
        let mut commit = Commit::prepare(store, context, steps, places)?;
        let verified = commit.verify();
        let intended =
            verified.and_then(|()| commit.intend().map_err(|error| vec![failed(0, error)]));
        let intent = intended.inspect_err(|_| commit.discard())?;
        commit.run(&intent)
    }
}

impl FileStep<'_> {
    /// Returns what to do if the file is a link: its target is edited, but links are moved and removed.
    fn last_link(&self) -> LastLink {
        let is_edit = self.before.is_some() && self.after.is_some() && self.move_to.is_none();
        if is_edit && !self.is_link { LastLink::Follow } else { LastLink::Keep }
    }

    /// Returns the metadata of a file that is created.
    fn draft_metadata(&self) -> DraftMetadata<'_> {
        self.metadata.map_or(DraftMetadata::New, DraftMetadata::Recorded)
    }
}

fn failed(step: usize, error: Error) -> StepError {
    StepError { step, cause: error.into() }
}

/// A transaction that is being made.
struct Commit<'a> {
    store: &'a LocalStore,
    context: &'a Context,
    token: String,
    /// The locked directories.
    dirs: Vec<DirLock>,
    operations: Vec<Operation<'a>>,
    new_dirs: NewDirs,
    /// The canonical paths of directories that did not exist, outermost first.
    new_dir_paths: Vec<PathBuf>,
}

impl<'a> Commit<'a> {
    /// Creates directories, writes the drafts and locks the directories.
    fn prepare(
        store: &'a LocalStore,
        context: &'a Context,
        steps: &'a [FileStep<'a>],
        mut places: Vec<Places>,
    ) -> Result<Commit<'a>, Vec<StepError>> {
        let at = |index| move |error: Error| vec![failed(index, error)];
        let token =
            random_hex::<4>().map_err(|errno| at(0)(sys::error(errno, steps[0].path, 0)))?;
        let (mut new_dirs, mut new_dir_paths) = (NewDirs::default(), Vec::new());
        for (index, (step, place)) in steps.iter().zip(&mut places).enumerate() {
            let paths = [Some(step.path), step.move_to];
            for (path, location) in
                paths.into_iter().zip([Some(&mut place.from), place.to.as_mut()])
            {
                let (Some(path), Some(location)) = (path, location) else { continue };
                if location.missing_dirs.is_empty() {
                    continue;
                }
                let dirs = location.real_path.ancestors().skip(1);
                let dirs = dirs.take(location.missing_dirs.len()).map(Path::to_path_buf);
                new_dir_paths.extend(dirs);
                new_dirs.make(location, path).map_err(at(index))?;
                let made = store.resolve(path, LastLink::Keep, context, Access::Write);
                *location = made.map_err(at(index))?;
                if location.is_dir_missing {
                    return Err(vec![StepError { step: index, cause: WriteError::Conflict }]);
                }
            }
        }
        new_dir_paths.sort();
        new_dir_paths.dedup();
        let mut dirs = Dirs::default();
        let mut operations = Vec::new();
        let written =
            write_drafts(store, context, &token, steps, places, &mut dirs, &mut operations);
        let locked = written.and_then(|()| dirs.lock(store, context).map_err(at(0)));
        let dirs = locked.inspect_err(|_| {
            for operation in &mut operations {
                let (name, path) = (operation.name.clone(), operation.step.path);
                let dir = &dirs.found[operation.dir].dir;
                operation.discard(&protocol(store, context, dir, &name, path));
            }
        })?;
        Ok(Commit { store, context, token, dirs, operations, new_dirs, new_dir_paths })
    }

    /// Removes the drafts of a transaction that is not made.
    fn discard(&mut self) {
        let Commit { store, context, dirs, operations, .. } = self;
        for operation in operations {
            let (name, path) = (operation.name.clone(), operation.step.path);
            let dir = dirs[operation.dir].dir();
            operation.discard(&protocol(store, context, dir, &name, path));
        }
    }

    /// Checks under the locks that every file is as the caller read it.
    fn verify(&mut self) -> Result<(), Vec<StepError>> {
        let mut problems = Vec::new();
        let Commit { store, context, dirs, operations, .. } = self;
        for (step, operation) in operations.iter_mut().enumerate() {
            let verified = context.cancel.check().map_err(WriteError::from);
            let verified = verified.and_then(|()| operation.verify_place(store, context, dirs));
            if let Err(cause) = verified.and_then(|()| operation.verify(&*store.sys, dirs)) {
                if matches!(cause, WriteError::Conflict) {
                    store.recent_writers.record();
                }
                problems.push(StepError { step, cause });
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Records the intention. A single move needs no record to be atomic.
    fn intend(&self) -> Result<TransactionIntent<'a>> {
        let is_atomic = match &*self.operations {
            [one] => !one.is_edit(),
            _ => false,
        };
        let path = self.operations[0].step.path;
        self.store.recording.intend_all(path, self.context, is_atomic, || RecordedTransaction {
            token: &self.token,
            steps: self.operations.iter().map(|operation| self.recorded(operation)).collect(),
            new_dirs: &self.new_dir_paths,
        })
    }

    fn recorded<'b>(&'b self, operation: &'b Operation<'_>) -> RecordedStep<'b> {
        let path = operation.real_path.as_path();
        let root = self.store.roots.root_path(path).unwrap_or(path);
        let FileStep { before, after, is_link, undoes, .. } = operation.step;
        let metadata = operation.old.as_ref().map(|old| match after {
            Some(_) => RecordedMetadata {
                mode: old.status.mode,
                owner: (old.status.uid, old.status.gid),
                attributes: Vec::new(),
            },
            None => metadata_of_removed(old),
        });
        let content = match is_link {
            true => ChangedBytes::Link { before, after },
            false => ChangedBytes::Whole { before, after },
        };
        let (is_in_editor, is_exclusive) = (false, true);
        RecordedStep {
            change: RecordedChange {
                path,
                root,
                content,
                metadata,
                is_in_editor,
                is_exclusive,
                is_durable: self.store.is_durable,
            },
            moved_to: operation.to.as_ref().map(|(_, _, path)| path.as_path()),
            undoes,
        }
    }

    /// Makes all changes, or undoes those that were made.
    fn run(mut self, intent: &TransactionIntent<'_>) -> Result<Vec<Written>, Vec<StepError>> {
        let made = self.make_all().and_then(|()| self.check_all());
        let mut errors = match made {
            Ok(errors) => errors,
            Err(cause) => return Err(self.roll_back(intent, cause)),
        };
        if let Err(not_recorded) = intent.settle(TransactionState::Done) {
            // Otherwise a later change of one file would make the next process undo the others.
            let cause = failed(0, not_recorded.into_error(self.operations[0].step.path));
            return Err(self.roll_back(intent, cause));
        }
        let mut is_clean = true;
        let mut all_written = Vec::new();
        let Commit { store, context, dirs, operations, .. } = self;
        for (step, operation) in operations.into_iter().enumerate() {
            let (path, dir) = (operation.step.path, operation.dir);
            let name = operation.name.clone();
            let protocol = protocol(store, context, dirs[dir].dir(), &name, path);
            let links = operation.old.as_ref().map_or(0, |old| old.status.links);
            let broke_hard_links = operation.is_edit() && links > 1;
            all_written.push(Written { broke_hard_links, content_after: None });
            match operation.clean(&protocol) {
                Ok(lost) => lost.into_iter().for_each(|note| context.notes.add(note)),
                Err(cause) => {
                    is_clean = false;
                    errors.extend(cause.map(|cause| StepError { step, cause }));
                }
            }
        }
        if is_clean {
            // If this fails, the next process finds nothing to remove.
            let _ = intent.settle(TransactionState::Finished);
        }
        if errors.is_empty() { Ok(all_written) } else { Err(errors) }
    }

    fn make_all(&mut self) -> Result<(), StepError> {
        let Commit { store, context, dirs, operations, .. } = self;
        for (step, operation) in operations.iter_mut().enumerate() {
            let (name, path) = (operation.name.clone(), operation.step.path);
            let protocol = protocol(store, context, dirs[operation.dir].dir(), &name, path);
            operation.make(&protocol, dirs).map_err(|cause| StepError { step, cause })?;
        }
        Ok(())
    }

    /// Compares the old files with what the caller read, and syncs the directories. Returns errors
    /// about what is not durable.
    fn check_all(&mut self) -> Result<Vec<StepError>, StepError> {
        self.compare_all()?;
        if !self.store.is_durable && self.store.recent_writers.is_recent() {
            std::thread::sleep(LATE_WRITER_WAIT);
        }
        let errors = self.sync();
        self.compare_all()?;
        Ok(errors)
    }

    fn compare_all(&mut self) -> Result<(), StepError> {
        let Commit { store, context, dirs, operations, .. } = self;
        for (step, operation) in operations.iter_mut().enumerate() {
            let (name, path) = (operation.name.clone(), operation.step.path);
            let protocol = protocol(store, context, dirs[operation.dir].dir(), &name, path);
            operation.compare(&protocol).map_err(|cause| StepError { step, cause })?;
        }
        Ok(())
    }

    /// Syncs all directories.
    fn sync(&mut self) -> Vec<StepError> {
        let mut errors = Vec::new();
        let mut synced = HashSet::new();
        let (store, context) = (self.store, self.context);
        for (step, operation) in self.operations.iter().enumerate() {
            let path = operation.step.path;
            let dirs = [Some(operation.dir), operation.to.as_ref().map(|(dir, ..)| *dir)];
            for dir in dirs.into_iter().flatten().filter(|dir| synced.insert(*dir)) {
                let protocol =
                    protocol(store, context, self.dirs[dir].dir(), &operation.name, path);
                errors.extend(protocol.sync_dir().err().map(|cause| StepError { step, cause }));
            }
        }
        if let Err(errno) = self.new_dirs.keep(store.is_durable) {
            errors.push(failed(0, sys::not_durable(errno, self.operations[0].step.path)));
        }
        errors
    }

    /// Undoes what was made, in reverse order.
    fn roll_back(mut self, intent: &TransactionIntent<'_>, cause: StepError) -> Vec<StepError> {
        if matches!(cause.cause, WriteError::Conflict) {
            self.store.recent_writers.record();
        }
        let mut errors = vec![cause];
        let Commit { store, context, dirs, operations, .. } = &mut self;
        let mut is_undone = true;
        for (step, operation) in operations.iter_mut().enumerate().rev() {
            let (name, path) = (operation.name.clone(), operation.step.path);
            let protocol = protocol(store, context, dirs[operation.dir].dir(), &name, path);
            match operation.undo(&protocol, dirs) {
                Ok(()) => {}
                Err(cause) => {
                    is_undone &= !matches!(cause, WriteError::Failed(Error::NotDurable { .. }));
                    errors.push(StepError { step, cause });
                }
            }
        }
        // Before the record is removed by which a crash is judged.
        let not_synced = self.sync();
        let state = match is_undone && not_synced.is_empty() {
            true => TransactionState::NotDone,
            false => TransactionState::Intended,
        };
        // If this fails, the next process finds all files as they were.
        let _ = intent.settle(state);
        remove_empty(self.store, &self.new_dir_paths);
        errors
    }
}

/// Opens the directories of all steps, and writes the drafts.
fn write_drafts<'a>(
    store: &LocalStore,
    context: &Context,
    token: &str,
    steps: &'a [FileStep<'a>],
    places: Vec<Places>,
    dirs: &mut Dirs<'a>,
    operations: &mut Vec<Operation<'a>>,
) -> Result<(), Vec<StepError>> {
    let at = |index| move |error: Error| vec![failed(index, error)];
    let mut n_recorded = 0;
    for (index, (step, place)) in steps.iter().zip(places).enumerate() {
        let dir = dirs.add(&place.from, step.path).map_err(at(index))?;
        let to = place.to.map(|to| {
            let path = step.move_to.unwrap_or(step.path);
            Ok((dirs.add(&to, path)?, to.name, to.real_path))
        });
        let to = to.transpose().map_err(at(index))?;
        let Location { name, real_path, .. } = place.from;
        // Recovery counts the recorded steps.
        let temporary = temporary_name(token, n_recorded);
        n_recorded += usize::from(step.has_effect());
        let old = place.old;
        let mut operation = Operation::new(*step, dir, name.clone(), real_path, to, old, temporary);
        let protocol = protocol(store, context, &dirs.found[dir].dir, &name, step.path);
        let written = operation.write_draft(&protocol);
        written.map_err(|cause| vec![StepError { step: index, cause }])?;
        operations.push(operation);
    }
    Ok(())
}

/// Removes directories that were created and are empty.
fn remove_empty(store: &LocalStore, dirs: &[PathBuf]) {
    for dir in dirs.iter().rev() {
        let path = AbsPath::of(dir.clone(), dir.display().to_string());
        let context = Context::default();
        let Ok(location) = store.resolve(&path, LastLink::Keep, &context, Access::Write) else {
            continue;
        };
        if location.kind == Some(FileKind::Directory) && location.real_path == *dir {
            let _ = recto_platform::remove_directory_at(&location.dir, &location.name);
        }
    }
}

fn protocol<'a>(
    store: &'a LocalStore,
    context: &'a Context,
    dir: &'a Handle,
    name: &'a OsString,
    path: &'a AbsPath,
) -> Protocol<'a> {
    Protocol {
        sys: &*store.sys,
        dir,
        name,
        path,
        is_durable: store.is_durable,
        has_recent_writers: false,
        cancel: &context.cancel,
    }
}

/// Returns whether a lease shows that no process can be writing.
fn is_held(file: &OpenFile) -> bool {
    file.lease == Lease::Held
}
