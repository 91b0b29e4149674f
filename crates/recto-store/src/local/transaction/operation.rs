//! The change of one file in a transaction, and how it is undone.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use recto_platform::{FileKind, Handle, Status, Sys, SysError};
use recto_text::Tag;

use super::super::LocalStore;
use super::super::content::ContentSource;
use super::super::lock::DirLock;
use super::super::read::{Lease, OpenFile};
use super::super::replace::{Draft, DraftContent, DraftMetadata, Protocol, may_lack_links};
use super::super::roots::LastLink;
use super::super::sys::{self, retry};
use crate::context::Context;
use crate::error::Error;
use crate::notes::Note;
use crate::{FileStep, WriteError};

type Made<T = ()> = Result<T, WriteError<'static>>;

/// The change of one file.
pub struct Operation<'a> {
    pub step: FileStep<'a>,
    /// The index of the directory.
    pub dir: usize,
    pub name: OsString,
    pub real_path: PathBuf,
    /// The directory, name and canonical path to which it is moved.
    pub to: Option<(usize, OsString, PathBuf)>,
    pub old: Option<OpenFile>,
    draft: Option<Draft<'static>>,
    temporary: OsString,
    /// What was done, in order.
    done: Vec<Done>,
}

/// A part of a change that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// The draft and the old file exchanged their names.
    Exchanged,
    /// The draft has the name, and the old file the name of a backup.
    Replaced,
    /// The draft has the name.
    Created,
    /// The file has the temporary name.
    Removed,
    /// The symbolic link exists.
    Linked,
    /// The file has its new name.
    Moved,
}

impl<'a> Operation<'a> {
    pub fn new(
        step: FileStep<'a>,
        dir: usize,
        name: OsString,
        real_path: PathBuf,
        to: Option<(usize, OsString, PathBuf)>,
        old: Option<OpenFile>,
        temporary: OsString,
    ) -> Operation<'a> {
        let (draft, done) = (None, Vec::new());
        Operation { step, dir, name, real_path, to, old, draft, temporary, done }
    }

    /// Whether the content of an existing file changes.
    pub fn is_edit(&self) -> bool {
        let FileStep { before, after, .. } = self.step;
        before.is_some() && after.is_some() && before != after
    }

    /// Writes the new content, if there is any.
    pub fn write_draft(&mut self, protocol: &Protocol<'_>) -> Made {
        if let Some(after) = self.step.after
            && self.step.before != Some(after)
            && !self.step.is_link
        {
            self.draft = Some(protocol.write_draft(self.draft_content(after))?.detached());
        }
        Ok(())
    }

    fn draft_content<'b>(&'b self, after: &'b [u8]) -> DraftContent<'b> {
        DraftContent {
            before: self.step.before.map(Tag::of),
            tag: Tag::of(after),
            digest: None,
            source: ContentSource::Memory(after),
            metadata: self.old.as_ref().map_or(self.step.draft_metadata(), DraftMetadata::Of),
        }
    }

    /// Checks that the paths still lead to the locked directories, which may have been moved while
    /// this transaction was planned and waited for its locks.
    pub fn verify_place(&self, store: &LocalStore, context: &Context, dirs: &[DirLock]) -> Made {
        let is_there = |path, last_link, dir: usize, name: &OsStr| {
            store.resolves_to(path, last_link, (dirs[dir].dir(), name), context)
        };
        let mut is_same = is_there(self.step.path, self.step.last_link(), self.dir, &self.name)?;
        if let (Some((dir, name, _)), Some(path)) = (&self.to, self.step.move_to) {
            is_same &= is_there(path, LastLink::Keep, *dir, name)?;
        }
        if is_same { Ok(()) } else { Err(WriteError::Conflict) }
    }

    /// Checks that the file is as the caller read it, and that new names are free.
    pub fn verify(&mut self, sys: &dyn Sys, dirs: &[DirLock]) -> Made {
        let path = self.step.path;
        let status = retry(|| sys.status(dirs[self.dir].dir(), &self.name));
        match (&mut self.old, status) {
            (None, Ok(_)) if self.step.is_link && self.step.before.is_some() => {
                if !self.is_link(dirs[self.dir].dir(), &self.name, self.step.before) {
                    return Err(WriteError::Conflict);
                }
            }
            (None, Err(SysError::NOENT)) if self.step.before.is_none() => {}
            (None, Ok(_)) => {
                return Err(Error::FileExists { path: path.to_string(), what: None }.into());
            }
            (Some(old), Ok(now)) if is_same_file(&now, &old.status) => {
                old.lease = old.lease(sys);
                if old.lease == Lease::WriterOpen {
                    return Err(Error::OpenElsewhere { path: path.to_string() }.into());
                }
                // The status by which a later change is noticed.
                old.status = retry(|| old.fd.status()).map_err(|it| sys::error(it, path, 0))?;
                let before = ContentSource::Memory(self.step.before.unwrap_or_default());
                let is_same = before.matches(sys, &old.fd);
                if !is_same.map_err(|errno| sys::error(errno, path, 0))? {
                    return Err(WriteError::Conflict);
                }
            }
            (_, Ok(_) | Err(SysError::NOENT)) => return Err(WriteError::Conflict),
            (_, Err(errno)) => return Err(sys::error(errno, path, 0).into()),
        }
        let Some((dir, name, _)) = &self.to else { return Ok(()) };
        let path = self.step.move_to.unwrap_or(path);
        match retry(|| sys.status(dirs[*dir].dir(), name)) {
            Err(SysError::NOENT) => Ok(()),
            Ok(_) => Err(Error::FileExists { path: path.to_string(), what: None }.into()),
            Err(errno) => Err(sys::error(errno, path, 0).into()),
        }
    }

    /// Makes the change. If it fails, [`Operation::undo`] undoes the part that was made.
    pub fn make(&mut self, protocol: &Protocol<'_>, dirs: &[DirLock]) -> Made {
        self.name_draft(protocol)?;
        match (self.step.before, self.step.after) {
            (None, Some(target)) if self.step.is_link => {
                let (sys, dir, target) = (protocol.sys, protocol.dir, OsStr::from_bytes(target));
                retry(|| sys.symlink(target, dir, &self.name))
                    .map_err(|errno| conflict_or(protocol, errno))?;
                self.done.push(Done::Linked);
            }
            (Some(before), Some(after)) if before != after => self.replace(protocol)?,
            (None, Some(_)) => self.create(protocol)?,
            (Some(_), None) => {
                let (sys, dir) = (protocol.sys, protocol.dir);
                // Nobody else uses the temporary name.
                retry(|| sys.rename(dir, &self.name, &self.temporary))
                    .map_err(|errno| conflict_or(protocol, errno))?;
                self.done.push(Done::Removed);
            }
            _ => {}
        }
        let Some((dir, name, _)) = &self.to else { return Ok(()) };
        let file =
            self.draft.as_ref().map(|draft| &draft.fd).or(self.old.as_ref().map(|it| &it.fd));
        let from = (protocol.dir, &self.name);
        move_new(protocol.sys, from, (dirs[*dir].dir(), name), file)
            .map_err(|errno| conflict_or(protocol, errno))?;
        self.done.push(Done::Moved);
        Ok(())
    }

    /// Gives the draft its temporary name, which is recorded by now.
    fn name_draft(&mut self, protocol: &Protocol<'_>) -> Made {
        let Some(draft) = &mut self.draft else { return Ok(()) };
        let (sys, dir) = (protocol.sys, protocol.dir);
        if !draft.has_name {
            match retry(|| sys.link(&draft.fd, dir, &self.temporary)) {
                Ok(()) => {
                    (draft.name, draft.has_name) = (self.temporary.clone(), true);
                    return Ok(());
                }
                Err(errno) if may_lack_links(errno) => {
                    let content = self.draft_content(self.step.after.unwrap_or_default());
                    self.draft = Some(protocol.write_named_draft(content)?.detached());
                }
                Err(errno) => return Err(sys::error(errno, protocol.path, 0).into()),
            }
        }
        let Some(draft) = &mut self.draft else { return Ok(()) };
        retry(|| sys.rename(dir, &draft.name, &self.temporary))
            .map_err(|errno| conflict_or(protocol, errno))?;
        draft.name = self.temporary.clone();
        Ok(())
    }

    /// Replaces the old file by the draft.
    fn replace(&mut self, protocol: &Protocol<'_>) -> Made {
        let (Some(draft), Some(old)) = (&self.draft, &self.old) else { return Ok(()) };
        let (sys, dir) = (protocol.sys, protocol.dir);
        match protocol.commit(draft, || sys.exchange(dir, &self.temporary, &self.name)) {
            Ok(()) => {
                self.done.push(Done::Exchanged);
                return Ok(());
            }
            Err(errno) if sys::is_unsupported(errno) => {}
            Err(errno) => return Err(conflict_or(protocol, errno)),
        }
        // Without an exchange the old file gets a second name first, so that it can be restored.
        let backup = backup_name(&self.temporary);
        retry(|| sys.link(&old.fd, dir, &backup)).map_err(|errno| {
            let cause = match may_lack_links(errno) {
                true => "the file system can neither exchange nor link files".to_string(),
                false => errno.to_string(),
            };
            Error::NotTogether { path: protocol.path.to_string(), cause }
        })?;
        let before = ContentSource::Memory(self.step.before.unwrap_or_default());
        let renamed = match protocol.verify_unchanged(old, before.into(), &self.name) {
            Ok(Some(_)) => protocol
                .commit(draft, || sys.rename(dir, &self.temporary, &self.name))
                .map_err(|errno| conflict_or(protocol, errno)),
            Ok(None) => Err(WriteError::Conflict),
            Err(errno) => Err(conflict_or(protocol, errno)),
        };
        renamed.inspect_err(|_| _ = retry(|| sys.unlink(dir, &backup)))?;
        self.done.push(Done::Replaced);
        Ok(())
    }

    fn create(&mut self, protocol: &Protocol<'_>) -> Made {
        let Some(draft) = &self.draft else { return Ok(()) };
        let (sys, dir) = (protocol.sys, protocol.dir);
        let created = match retry(|| sys.rename_new(dir, &self.temporary, &self.name)) {
            Err(errno) if sys::may_be_unsupported(errno) => {
                retry(|| sys.link(&draft.fd, dir, &self.name))
            }
            created => created,
        };
        created.map_err(|errno| conflict_or(protocol, errno))?;
        self.done.push(Done::Created);
        Ok(())
    }

    /// Returns the name that the old file has now, if the change gave it another one.
    fn old_name(&self) -> Option<OsString> {
        match self.done.first()? {
            Done::Exchanged | Done::Removed => Some(self.temporary.clone()),
            Done::Replaced => Some(backup_name(&self.temporary)),
            Done::Created | Done::Linked | Done::Moved => None,
        }
    }

    /// Fails if another process wrote to the old file.
    pub fn compare(&mut self, protocol: &Protocol<'_>) -> Made {
        let Some(name) = self.old_name() else { return Ok(()) };
        if self.step.is_link && !self.is_link(protocol.dir, &name, self.step.before) {
            return Err(WriteError::Conflict);
        }
        let Some(old) = &self.old else { return Ok(()) };
        let before = ContentSource::Memory(self.step.before.unwrap_or_default());
        match protocol.verify_unchanged(old, before.into(), &name) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(WriteError::Conflict),
            Err(errno) => Err(sys::error(errno, protocol.path, 0).into()),
        }
    }

    /// Undoes the part that was made. An error [`Error::NotDurable`] means that it could not be
    /// undone.
    pub fn undo(&mut self, protocol: &Protocol<'_>, dirs: &[DirLock]) -> Made {
        let (sys, dir) = (protocol.sys, protocol.dir);
        let stuck = |errno: SysError| {
            let cause = format!("the other changes were undone, this one was not: {errno}");
            WriteError::Failed(Error::NotDurable { path: protocol.path.to_string(), cause })
        };
        while let Some(done) = self.done.pop() {
            match done {
                Done::Moved => {
                    let Some((to_dir, name, _)) = &self.to else { continue };
                    let file = self.draft.as_ref().map(|draft| &draft.fd);
                    let file = file.or(self.old.as_ref().map(|old| &old.fd));
                    let from = (dirs[*to_dir].dir(), name);
                    move_new(sys, from, (dir, &self.name), file).map_err(stuck)?;
                }
                Done::Removed => protocol.restore(&self.temporary)?,
                Done::Linked => {
                    if !self.is_link(dir, &self.name, self.step.after) {
                        return Err(stuck(SysError::BUSY));
                    }
                    retry(|| sys.unlink(dir, &self.name)).map_err(stuck)?;
                }
                Done::Exchanged => {
                    let displaced = recto_platform::status_at(dir, &self.temporary);
                    retry(|| sys.exchange(dir, &self.temporary, &self.name)).map_err(stuck)?;
                    let (Some(draft), Some(old)) = (self.draft.take(), &self.old) else { continue };
                    let after = ContentSource::Memory(self.step.after.unwrap_or_default());
                    protocol.roll_back_draft(old, &after, draft, displaced)?;
                }
                Done::Replaced => {
                    let backup = backup_name(&self.temporary);
                    let is_draft = |draft| protocol.is_draft(draft, &self.name);
                    if !self.draft.as_ref().is_some_and(is_draft) {
                        return Err(stuck(SysError::BUSY));
                    }
                    retry(|| sys.rename(dir, &backup, &self.name)).map_err(stuck)?;
                }
                Done::Created => {
                    let is_draft = |draft| protocol.is_draft(draft, &self.name);
                    let has_temporary = |draft| protocol.is_draft(draft, &self.temporary);
                    if !self.draft.as_ref().is_some_and(is_draft) {
                        return Err(stuck(SysError::BUSY));
                    }
                    // Renaming does nothing if both names are those of the draft.
                    match self.draft.as_ref().is_some_and(has_temporary) {
                        true => retry(|| sys.unlink(dir, &self.name)),
                        false => retry(|| sys.rename(dir, &self.name, &self.temporary)),
                    }
                    .map_err(stuck)?;
                    self.check_created(protocol)?;
                }
            }
        }
        self.discard(protocol);
        Ok(())
    }

    /// Whether a name is that of a symbolic link to this target.
    fn is_link(&self, dir: &Handle, name: &OsStr, target: Option<&[u8]>) -> bool {
        let found = recto_platform::read_link_at(dir, name).ok();
        found.is_some_and(|found| Some(found.as_os_str().as_bytes()) == target)
    }

    /// Removes the draft.
    pub fn discard(&mut self, protocol: &Protocol<'_>) {
        if let Some(draft) = self.draft.take() {
            protocol.discard(&draft);
        }
    }

    /// Keeps a file that was created and undone if another process wrote to it meanwhile.
    fn check_created(&mut self, protocol: &Protocol<'_>) -> Made {
        let Some(draft) = &self.draft else { return Ok(()) };
        let after = ContentSource::Memory(self.step.after.unwrap_or_default());
        if after.matches(protocol.sys, &draft.fd).unwrap_or(false) {
            return Ok(());
        }
        self.draft = None;
        let kept = self.temporary.to_string_lossy();
        let cause = format!("another process wrote to it; its version is kept as {kept}");
        Err(WriteError::Failed(Error::System { path: protocol.path.to_string(), cause }))
    }

    /// Unlinks the old file, and returns what the new one lost. Fails if a temporary file is left.
    pub fn clean(self, protocol: &Protocol<'_>) -> Result<Vec<Note>, Option<WriteError<'static>>> {
        let (sys, dir) = (protocol.sys, protocol.dir);
        let mut is_clean = true;
        if let Some(name) = self.old_name() {
            // A process that looked the file up before the change may be opening it only now.
            let is_opened =
                |old: &OpenFile| super::is_held(old) && protocol.is_lease_broken(old, Lease::Held);
            if self.old.as_ref().is_some_and(is_opened) {
                let kept = name.to_string_lossy();
                let cause =
                    format!("another process wrote to the old file, which is kept as {kept}");
                let path = protocol.path.to_string();
                return Err(Some(WriteError::Failed(Error::NotDurable { path, cause })));
            }
            is_clean &= retry(|| sys.unlink(dir, &name)).is_ok();
        }
        let Some(draft) = self.draft else {
            return if is_clean { Ok(Vec::new()) } else { Err(None) };
        };
        if self.done.first() == Some(&Done::Created) {
            is_clean &= protocol.discard(&draft);
        }
        if is_clean { Ok(draft.lost) } else { Err(None) }
    }
}

/// Whether the file and what its replacement copied from it are the same.
fn is_same_file(one: &Status, other: &Status) -> bool {
    let owner = |status: &Status| (status.mode, status.uid, status.gid);
    one.id() == other.id() && owner(one) == owner(other)
}

/// Returns the name of an old file where the file system cannot exchange two names.
pub fn backup_name(temporary: &OsString) -> OsString {
    let mut name = temporary.clone();
    name.push("-old");
    name
}

/// Moves a file to a name that is free. `file` is the file, to link it where the file system cannot
/// rename without replacing.
pub fn move_new(
    sys: &dyn Sys,
    (dir, from): (&Handle, &OsString),
    (to_dir, to): (&Handle, &OsString),
    file: Option<&Handle>,
) -> Result<(), SysError> {
    match retry(|| sys.move_new(dir, from, to_dir, to)) {
        Err(errno) if sys::is_unsupported(errno) => {}
        moved => return moved,
    }
    match retry(|| sys.status(dir, from))?.kind() {
        FileKind::File => {}
        FileKind::Symlink => {
            let target = recto_platform::read_link_at(dir, from)?;
            retry(|| sys.symlink(target.as_os_str(), to_dir, to))?;
            return retry(|| sys.unlink(dir, from));
        }
        _ => return Err(SysError::INVAL),
    }
    let opened;
    let file = match file {
        Some(file) => file,
        None => {
            opened = retry(|| sys.open(dir, from))?;
            &opened
        }
    };
    retry(|| sys.link(file, to_dir, to))?;
    retry(|| sys.unlink(dir, from)).inspect_err(|_| _ = retry(|| sys.unlink(to_dir, to)))
}

fn conflict_or(protocol: &Protocol<'_>, errno: SysError) -> WriteError<'static> {
    match errno {
        SysError::NOENT | SysError::EXIST => WriteError::Conflict,
        errno => sys::error(errno, protocol.path, 0).into(),
    }
}
