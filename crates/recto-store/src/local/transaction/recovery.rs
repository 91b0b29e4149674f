//! Finishes or undoes transactions of killed processes.
//!
//! The record says which contents each file had before and was to have after. If all files have
//! the content after, the transaction was made. If each file has one of the two, it is undone, since
//! nobody was told that it was made. If a file has another content, another program changed it:
//! nothing is touched, and the transaction is recorded as uncertain. Every step can be interrupted
//! and starts from the contents again.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use recto_platform::{FileKind, SysError, SysResult};

use super::super::LocalStore;
use super::super::lock::DirLock;
use super::super::recorded::LargeContent;
use super::super::roots::LastLink;
use super::super::sys::{self, retry};
use super::dirs::Dirs;
use super::operation::{backup_name, move_new};
use super::remove_empty;
use crate::context::{Access, Context};
use crate::path::AbsPath;
use crate::record::{
    Recorder, TransactionState, UnfinishedStep, UnfinishedTransaction, VisitBytes, temporary_name,
};

/// Recovers all unfinished transactions whose files are below the roots.
pub fn recover(store: &LocalStore) {
    let Some(recorder) = store.recording.recorder() else { return };
    for transaction in recorder.unfinished() {
        // What cannot be recovered now is tried again later.
        let _ = Recovery::run(store, recorder, &transaction);
    }
}

/// A transaction whose directories are locked.
struct Recovery<'a> {
    store: &'a LocalStore,
    recorder: &'a dyn Recorder,
    dirs: Vec<DirLock>,
    steps: Vec<LocatedStep<'a>>,
}

/// A step with its names.
struct LocatedStep<'a> {
    step: &'a UnfinishedStep,
    from: Option<Name>,
    to: Option<Name>,
    temporary: OsString,
}

/// A name in a locked directory.
type Name = (usize, OsString);

/// What has a name.
enum Found {
    Nothing,
    /// A file or a symbolic link.
    File {
        id: (u64, u64),
        digest: Vec<u8>,
        is_link: bool,
    },
    Other,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Before,
    /// Its content is changed, but it is not moved yet.
    Between,
    After,
    /// The file has been changed by another program.
    Unknown,
}

impl<'a> Recovery<'a> {
    fn run(
        store: &'a LocalStore,
        recorder: &'a dyn Recorder,
        transaction: &'a UnfinishedTransaction,
    ) -> Option<()> {
        let paths =
            transaction.steps.iter().flat_map(|step| [Some(&step.path), step.moved_to.as_ref()]);
        let paths: Vec<AbsPath> = paths.flatten().map(|path| absolute(path)).collect();
        let mut found = Dirs::default();
        let mut names = paths.iter().map(|path| locate(store, path, &mut found));
        let mut steps = Vec::new();
        for (index, step) in transaction.steps.iter().enumerate() {
            let from = names.next()??;
            let to = if step.moved_to.is_some() { names.next()?? } else { None };
            let temporary = temporary_name(&transaction.token, index);
            steps.push(LocatedStep { step, from, to, temporary });
        }
        drop(names);
        let dirs = found.lock(store, &Context::default()).ok()?;
        let recovery = Recovery { store, recorder, dirs, steps };
        // The process may have finished it before its directories were unlocked.
        let state = recorder.state(transaction.ticket)?;
        let settle = |state| recorder.settle_all(transaction.ticket, state).ok();
        let state = match state {
            TransactionState::Done => TransactionState::Done,
            _ => recovery.decide()?,
        };
        match state {
            TransactionState::Done => {
                recovery.sync()?;
                settle(TransactionState::Done)?;
                recovery.clean()?;
                settle(TransactionState::Finished)
            }
            TransactionState::NotDone => {
                recovery.roll_back().ok()?;
                recovery.sync()?;
                recovery.clean()?;
                remove_empty(store, &transaction.new_dirs);
                settle(TransactionState::NotDone)
            }
            state => settle(state),
        }
    }

    /// Decides by the contents what is to become of the transaction. `None` if one cannot be read.
    fn decide(&self) -> Option<TransactionState> {
        let (mut is_done, mut can_undo) = (true, true);
        for step in &self.steps {
            let position = self.position(step)?;
            if position == Position::Unknown {
                return Some(TransactionState::Uncertain);
            }
            is_done &= position == Position::After;
            can_undo &= position == Position::Before || self.can_undo(step)?;
        }
        Some(match (is_done, can_undo) {
            (true, _) => TransactionState::Done,
            (false, true) => TransactionState::NotDone,
            (false, false) => TransactionState::Uncertain,
        })
    }

    fn position(&self, located: &LocatedStep<'_>) -> Option<Position> {
        let [before, after] = &located.step.digests;
        let (from, to) = (self.look(located.from.as_ref())?, self.look(located.to.as_ref())?);
        let is_move = located.step.moved_to.is_some();
        let position = match (before, after, from) {
            (None, _, Found::Nothing) => Position::Before,
            (Some(_), Some(after), Found::Nothing) if is_move => match to {
                Found::File { digest, .. } if digest == *after => Position::After,
                _ => Position::Unknown,
            },
            (Some(_), None, Found::Nothing) => Position::After,
            (Some(before), _, Found::File { digest, .. }) if digest == *before => Position::Before,
            (_, Some(after), Found::File { digest, .. }) if digest == *after => match is_move {
                true => Position::Between,
                false => Position::After,
            },
            _ => Position::Unknown,
        };
        Some(position)
    }

    /// Whether the old content of a step that was made still exists.
    fn can_undo(&self, located: &LocatedStep<'_>) -> Option<bool> {
        let [before, after] = &located.step.digests;
        if before.is_none() || before == after {
            return Some(true);
        }
        Some(self.old_copy(located)?.is_some())
    }

    /// Returns the name of the old content of a file that was replaced or removed.
    fn old_copy(&self, located: &LocatedStep<'_>) -> Option<Option<Name>> {
        let Some((dir, _)) = located.from else { return Some(None) };
        for name in [located.temporary.clone(), backup_name(&located.temporary)] {
            let name = (dir, name);
            if let Found::File { digest, .. } = self.look(Some(&name))?
                && Some(digest) == located.step.digests[0]
            {
                return Some(Some(name));
            }
        }
        Some(None)
    }

    /// Undoes what was made, in reverse order. Each step starts from what is there.
    fn roll_back(&self) -> SysResult<()> {
        for located in self.steps.iter().rev() {
            let sys = &*self.store.sys;
            let unreadable = SysError::IO;
            let position = self.position(located).ok_or(unreadable)?;
            let Some((dir, name)) = &located.from else { continue };
            let dir = self.dirs[*dir].dir();
            let [before, after] = &located.step.digests;
            if position != Position::After {
                self.unlink_second_name(located)?;
            }
            if position == Position::Before {
                continue;
            }
            if let (Position::After, Some((to_dir, to))) = (position, &located.to) {
                move_new(sys, (self.dirs[*to_dir].dir(), to), (dir, name), None)?;
            }
            match (before, after) {
                // Renaming does nothing if both are names of the same file.
                (None, _) => match self.has_two_names(located) {
                    true => retry(|| sys.unlink(dir, name))?,
                    false => retry(|| sys.rename(dir, name, &located.temporary))?,
                },
                (Some(_), None) => move_new(sys, (dir, &located.temporary), (dir, name), None)?,
                (before, after) if before != after => {
                    let (_, copy) = self.old_copy(located).flatten().ok_or(unreadable)?;
                    match copy == located.temporary {
                        true => retry(|| sys.exchange(dir, &copy, name))?,
                        false => retry(|| sys.rename(dir, &copy, name))?,
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a file that was created by linking it still has its temporary name too.
    fn has_two_names(&self, located: &LocatedStep<'_>) -> bool {
        let Some((dir, _)) = located.from else { return false };
        let temporary = (dir, located.temporary.clone());
        let names = [located.from.as_ref(), Some(&temporary)];
        let [one, other] = names.map(|name| match self.look(name) {
            Some(Found::File { id, .. }) => Some(id),
            _ => None,
        });
        one.is_some() && one == other
    }

    /// Removes the second name of a file that was being moved by linking it.
    fn unlink_second_name(&self, located: &LocatedStep<'_>) -> SysResult<()> {
        let (from, to) = (self.look(located.from.as_ref()), self.look(located.to.as_ref()));
        if let (Some(Found::File { id, .. }), Some(Found::File { id: other, .. })) = (from, to)
            && id == other
            && let Some((dir, name)) = &located.to
        {
            retry(|| self.store.sys.unlink(self.dirs[*dir].dir(), name))?;
        }
        Ok(())
    }

    /// Removes temporary files with a recorded content that no process has open for writing. Returns
    /// `None` if one is left.
    fn clean(&self) -> Option<()> {
        let sys = &*self.store.sys;
        for located in &self.steps {
            let Some((dir, _)) = located.from else { continue };
            for name in [located.temporary.clone(), backup_name(&located.temporary)] {
                let name = (dir, name);
                let Found::File { digest, is_link, .. } = self.look(Some(&name))? else {
                    continue;
                };
                if !located.step.digests.contains(&Some(digest)) {
                    // The only copy of what another process wrote.
                    continue;
                }
                let dir = self.dirs[dir].dir();
                if !is_link {
                    let file = retry(|| sys.open(dir, &name.1)).ok()?;
                    if sys.lease(&file) == Err(SysError::AGAIN) {
                        return None;
                    }
                }
                retry(|| sys.unlink(dir, &name.1)).ok()?;
            }
        }
        Some(())
    }

    fn sync(&self) -> Option<()> {
        for dir in self.dirs.iter().filter(|_| self.store.is_durable) {
            match retry(|| self.store.sys.sync(dir.dir())) {
                Err(errno) if !sys::is_unsupported(errno) => return None,
                _ => {}
            }
        }
        Some(())
    }

    /// Returns what has a name. `None` if that cannot be read.
    fn look(&self, name: Option<&Name>) -> Option<Found> {
        let Some((dir, name)) = name else { return Some(Found::Nothing) };
        let (sys, dir) = (&*self.store.sys, self.dirs[*dir].dir());
        let status = match retry(|| sys.status(dir, name)) {
            Ok(status) => status,
            Err(SysError::NOENT) => return Some(Found::Nothing),
            Err(_) => return None,
        };
        let (id, is_link) = (status.id(), status.kind() == FileKind::Symlink);
        let digest = match status.kind() {
            FileKind::File => {
                let file = retry(|| sys.open(dir, name)).ok()?;
                self.recorder.digest(&LargeContent { sys, file: &file, change: None })?
            }
            FileKind::Symlink => {
                let target = recto_platform::read_link_at(dir, name).ok()?;
                self.recorder.digest(&LinkTarget(target))?
            }
            _ => return Some(Found::Other),
        };
        Some(Found::File { id, digest, is_link })
    }
}

/// The target of a symbolic link, which is recorded as its content.
struct LinkTarget(PathBuf);

impl VisitBytes for LinkTarget {
    fn visit(&self, visit: &mut dyn FnMut(&[u8])) -> bool {
        visit(self.0.as_os_str().as_bytes());
        true
    }
}

fn absolute(path: &Path) -> AbsPath {
    AbsPath::of(path.to_path_buf(), path.display().to_string())
}

/// Returns the name of a recorded path, or no name if its directory does not exist. `None` if it
/// cannot be reached.
fn locate<'a>(store: &LocalStore, path: &'a AbsPath, dirs: &mut Dirs<'a>) -> Option<Option<Name>> {
    store.roots.root_path(path.as_path())?;
    let context = Context::default();
    let location = store.resolve(path, LastLink::Keep, &context, Access::Write).ok()?;
    if location.real_path != path.as_path() {
        return None;
    }
    if location.is_dir_missing {
        return Some(None);
    }
    let dir = dirs.add(&location, path).ok()?;
    Some(Some((dir, location.name)))
}
