//! The write protocol: every change reaches the disk this way, entirely or not at all.
//!
//! New content is written to a draft next to the old file, synced, and atomically exchanged with
//! it. The old file is then compared with what the caller had read, and restored if another process
//! wrote in between. Invariant: recto unlinks only the version being replaced, its own uncommitted
//! text, or a version that another process has replaced meanwhile.

mod concurrent_writers;
mod create;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use crate::error::{Denial, Error};
use recto_platform::{FileKind, Handle, Status, Sys, SysError};
use recto_text::digest::Digester;
use recto_text::{Digest, Tag};

use super::content::{ContentChange, ContentSource, ExpectedContent};
use super::identity::is_same_content;
use super::leftovers;
use super::metadata;
use super::read::{Lease, OpenFile};
use super::sys::{self, retry};
use crate::context::Cancel;
use crate::notes::Note;
use crate::path::AbsPath;
use crate::record::RecordedMetadata;
use crate::{RemovedContent, WriteError, Written};

const NOTHING: ContentSource<'static> = ContentSource::Memory(b"");

/// How long to wait for late writers if there is no sync, which takes longer anyway.
pub const LATE_WRITER_WAIT: Duration = Duration::from_millis(2);

/// Returns whether linking a draft may be unsupported: by the file system, or because the kernel
/// needs `/proc` for it, which is not mounted.
pub fn may_lack_links(errno: SysError) -> bool {
    sys::may_be_unsupported(errno) || errno == SysError::NOENT
}

/// One write to one name in a locked directory.
pub struct Protocol<'a> {
    pub sys: &'a dyn Sys,
    pub dir: &'a Handle,
    pub name: &'a OsStr,
    pub path: &'a AbsPath,
    pub is_durable: bool,
    /// Whether other processes recently wrote to files in this store.
    pub has_recent_writers: bool,
    /// Cancels a write that is not committed yet.
    pub cancel: &'a Cancel,
}

/// A completed write.
#[derive(Default)]
pub struct Completed {
    pub written: Written,
    /// What the file lost.
    pub lost: Vec<Note>,
    /// Whether a temporary file could not be removed.
    pub is_leftover_kept: bool,
}

/// New content on disk, not yet committed.
pub struct Draft<'a> {
    content: DraftContent<'a>,
    pub fd: Handle,
    /// What the old file has and this one has not.
    pub lost: Vec<Note>,
    /// The temporary name that it has, or gets before the commit.
    pub name: OsString,
    pub has_name: bool,
}

/// What a draft is to contain.
#[derive(Clone, Copy)]
pub struct DraftContent<'a> {
    /// The tag of the content that it replaces.
    pub before: Option<Tag>,
    pub tag: Tag,
    /// What the written bytes must have, if they are copied from the old file.
    pub digest: Option<Digest>,
    pub source: ContentSource<'a>,
    pub metadata: DraftMetadata<'a>,
}

/// The metadata that a draft gets.
#[derive(Clone, Copy)]
pub enum DraftMetadata<'a> {
    /// That of a new file.
    New,
    /// That of the file that it replaces.
    Of(&'a OpenFile),
    /// What was recorded when the file was removed.
    Recorded(&'a RecordedMetadata),
}

impl Draft<'_> {
    /// Returns the draft without what it was written from.
    pub fn detached(self) -> Draft<'static> {
        let DraftContent { before, tag, digest, .. } = self.content;
        let metadata = DraftMetadata::New;
        let content = DraftContent { before, tag, digest, source: NOTHING, metadata };
        let Draft { fd, lost, name, has_name, .. } = self;
        Draft { content, fd, lost, name, has_name }
    }
}

/// How a draft got the old file's name.
enum CommitKind {
    /// By exchange: the draft's temporary name now refers to the old file.
    Exchanged,
    /// By rename: the old file no longer has a name.
    Renamed,
}

impl Protocol<'_> {
    /// Writes the new content of a file that was read from `old`, and syncs it.
    pub fn draft_change<'a>(
        &self,
        old: &'a OpenFile,
        change: &'a ContentChange<'_>,
    ) -> Result<Draft<'a>, WriteError<'static>> {
        let (before, tag) = change.tags();
        let (digest, source) = (change.digest_to_verify(), change.after(&old.fd));
        let (before, metadata) = (Some(before), DraftMetadata::Of(old));
        self.write_draft(DraftContent { before, tag, digest, source, metadata })
    }

    /// Replaces the content that was read from `old` with that of a draft.
    pub fn replace(
        &self,
        old: &OpenFile,
        change: ContentChange<'_>,
        mut draft: Draft<'_>,
    ) -> Result<Completed, WriteError<'static>> {
        let committed = self.commit_draft(old, change, &mut draft);
        let kind = committed.inspect_err(|_| _ = self.discard(&draft))?;
        let lost = std::mem::take(&mut draft.lost);
        let is_leftover_kept = match kind {
            CommitKind::Exchanged => !self.finish_exchange(old, change, draft)?,
            CommitKind::Renamed => {
                self.sync_dir()?;
                false
            }
        };
        let written = Written { broke_hard_links: old.status.links > 1, content_after: None };
        Ok(Completed { written, lost, is_leftover_kept })
    }

    /// Gives a draft the old file's name. If this fails, nothing has changed.
    fn commit_draft(
        &self,
        old: &OpenFile,
        change: ContentChange<'_>,
        draft: &mut Draft<'_>,
    ) -> Result<CommitKind, WriteError<'static>> {
        let after = &{ draft.content.source };
        self.name_draft(draft)?;
        match retry(|| self.sys.status(self.dir, self.name)) {
            Ok(now) if is_same_content(&now, &old.status) => {}
            Ok(_) | Err(SysError::NOENT) => return Err(WriteError::Conflict),
            Err(errno) => return Err(self.failed(errno, after)),
        }
        match self.commit(draft, || self.sys.exchange(self.dir, &draft.name, self.name)) {
            Ok(()) => return Ok(CommitKind::Exchanged),
            Err(errno) if sys::is_unsupported(errno) => {}
            Err(SysError::NOENT) => return Err(WriteError::Conflict),
            Err(errno) => return Err(self.failed(errno, after)),
        }
        // Without an exchange, compare just before the rename instead of after it.
        match self.verify_unchanged(old, change.before(&draft.fd).into(), self.name) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(WriteError::Conflict),
            Err(errno) => return Err(self.failed(errno, after)),
        }
        self.commit(draft, || self.sys.rename(self.dir, &draft.name, self.name))
            .map_err(|errno| self.failed(errno, after))?;
        Ok(CommitKind::Renamed)
    }

    /// Removes the file if it still contains `before`, which was read from `old`.
    pub fn remove(
        &self,
        old: &OpenFile,
        before: &RemovedContent,
    ) -> Result<(), WriteError<'static>> {
        let tag = before.tag();
        let before = ExpectedContent::from(before);
        let aside = leftovers::name(Some(tag), tag);
        match retry(|| self.sys.rename_new(self.dir, self.name, &aside)) {
            Ok(()) => {}
            Err(SysError::NOENT) => return Err(WriteError::Conflict),
            // Without it no file can be moved aside safely, so compare and unlink.
            Err(errno) if sys::is_unsupported(errno) => return self.remove_in_place(old, before),
            Err(errno) => return Err(self.failed(errno, &NOTHING)),
        }
        let verdict = self.verify_unchanged(old, before, &aside);
        if let Ok(Some(lease)) = verdict {
            let synced = self.sync_after_late_writers();
            if self.is_still_unchanged(old, before, &aside, lease) {
                retry(|| self.sys.unlink(self.dir, &aside)).or_else(|errno| {
                    self.restore(&aside)?;
                    Err(self.failed(errno, &NOTHING))
                })?;
                return synced;
            }
        }
        self.restore(&aside)?;
        match verdict {
            Ok(_) => Err(WriteError::Conflict),
            Err(errno) => Err(self.failed(errno, &NOTHING)),
        }
    }

    fn remove_in_place(
        &self,
        old: &OpenFile,
        before: ExpectedContent<'_>,
    ) -> Result<(), WriteError<'static>> {
        match self.verify_unchanged(old, before, self.name) {
            Ok(Some(_)) => {}
            Ok(None) | Err(SysError::NOENT) => return Err(WriteError::Conflict),
            Err(errno) => return Err(self.failed(errno, &NOTHING)),
        }
        retry(|| self.sys.unlink(self.dir, self.name))
            .map_err(|errno| self.failed(errno, &NOTHING))?;
        self.sync_dir()
    }

    /// Removes a symbolic link, whatever its target is.
    pub fn remove_link(&self) -> Result<(), WriteError<'static>> {
        let aside = leftovers::name(None, Tag::of(b""));
        retry(|| self.sys.rename_new(self.dir, self.name, &aside)).map_err(
            |errno| match errno {
                SysError::NOENT => WriteError::Conflict,
                errno => self.failed(errno, &NOTHING),
            },
        )?;
        let is_link = |status: Status| status.kind() == FileKind::Symlink;
        if !retry(|| self.sys.status(self.dir, &aside)).is_ok_and(is_link) {
            self.restore(&aside)?;
            return Err(WriteError::Conflict);
        }
        retry(|| self.sys.unlink(self.dir, &aside)).or_else(|errno| {
            self.restore(&aside)?;
            Err(self.failed(errno, &NOTHING))
        })?;
        self.sync_dir()
    }

    /// Restores the name of a file that was moved aside. Another process may have taken it.
    pub fn restore(&self, aside: &OsStr) -> Result<(), WriteError<'static>> {
        retry(|| self.sys.rename_new(self.dir, aside, self.name)).map_err(|errno| {
            let (errno, kept) = (errno.to_string(), aside.to_string_lossy());
            let cause =
                format!("the file is kept as {kept}, because restoring its name failed: {errno}");
            WriteError::Failed(Error::NotDurable { path: self.path.to_string(), cause })
        })
    }

    /// Writes the content to a draft next to the target, copies the metadata, and syncs it. The
    /// draft has no name yet where the file system supports that.
    pub fn write_draft<'a>(
        &self,
        content: DraftContent<'a>,
    ) -> Result<Draft<'a>, WriteError<'static>> {
        match retry(|| self.sys.open_nameless(self.dir)) {
            Ok(fd) => {
                let name = leftovers::name(content.before, content.tag);
                let mut draft = Draft { content, fd, lost: Vec::new(), name, has_name: false };
                draft.lost = self.fill(&draft)?;
                Ok(draft)
            }
            Err(errno) if sys::may_be_unsupported(errno) => self.write_named_draft(content),
            Err(errno) => Err(self.failed(errno, &content.source)),
        }
    }

    pub fn write_named_draft<'a>(
        &self,
        content: DraftContent<'a>,
    ) -> Result<Draft<'a>, WriteError<'static>> {
        let name = leftovers::partial(&leftovers::name(content.before, content.tag));
        // A temporary name could not be removed.
        if self.dir.flags().is_append_only() {
            let (path, reason) = (self.path.to_string(), Denial::AppendOnlyFolder);
            return Err(WriteError::Failed(Error::PermissionDenied { path, reason }));
        }
        // The replacement of a private file must be private from its first byte on.
        let is_new = matches!(content.metadata, DraftMetadata::New);
        let mode = if is_new { 0o666 } else { 0o600 };
        let fd = retry(|| self.sys.create(self.dir, &name, mode))
            .map_err(|errno| self.failed(errno, &content.source))?;
        let mut draft = Draft { content, fd, lost: Vec::new(), name, has_name: true };
        draft.lost = self.fill(&draft).inspect_err(|_| _ = self.discard(&draft))?;
        Ok(draft)
    }

    /// Writes the content and copies the metadata. Returns what is lost.
    fn fill(&self, draft: &Draft<'_>) -> Result<Vec<Note>, WriteError<'static>> {
        let DraftContent { digest, source: ref after, metadata, .. } = draft.content;
        let fd = &draft.fd;
        let mut digester = Digester::default();
        let written = after.for_each(self.sys, |mut rest| {
            if digest.is_some() {
                digester.push(rest);
            }
            while !rest.is_empty() {
                self.cancel.check().map_err(|_| SysError::CANCELED)?;
                match retry(|| self.sys.write(fd, rest))? {
                    0 => return Err(SysError::NOSPC),
                    n => rest = &rest[n..],
                }
            }
            Ok(())
        });
        written.map_err(|errno| self.failed(errno, after))?;
        // The bytes copied from the old file must be those that were read from it.
        if digest.is_some_and(|digest| digester.finish() != digest) {
            return Err(WriteError::Conflict);
        }
        let lost = match metadata {
            DraftMetadata::New => Vec::new(),
            DraftMetadata::Of(old) => metadata::copy(self.sys, old, fd, self.path)?,
            DraftMetadata::Recorded(had) => metadata::restore(self.sys, had, fd, self.path)?,
        };
        if self.is_durable {
            retry(|| self.sys.sync(fd)).map_err(|errno| self.failed(errno, after))?;
        }
        Ok(lost)
    }

    /// Gives a complete draft the name by which it is recognized after a crash.
    fn name_draft(&self, draft: &mut Draft<'_>) -> Result<(), WriteError<'static>> {
        let content = draft.content;
        if !draft.has_name {
            match retry(|| self.sys.link(&draft.fd, self.dir, &draft.name)) {
                Ok(()) => {
                    draft.has_name = true;
                    return Ok(());
                }
                Err(errno) if may_lack_links(errno) => *draft = self.write_named_draft(content)?,
                Err(errno) => return Err(self.failed(errno, &content.source)),
            }
        }
        let complete = leftovers::complete(&draft.name);
        retry(|| self.sys.rename(self.dir, &draft.name, &complete))
            .map_err(|errno| self.failed(errno, &content.source))?;
        draft.name = complete;
        Ok(())
    }

    /// Finishes an exchange: unlinks the old file if it is what was read, otherwise restores it.
    /// Returns whether the temporary name is gone.
    ///
    /// Unlinking comes last. A process may have looked up the old file before the exchange and open
    /// it only now, and its writes to an unlinked file would be lost.
    fn finish_exchange(
        &self,
        old: &OpenFile,
        change: ContentChange<'_>,
        draft: Draft<'_>,
    ) -> Result<bool, WriteError<'static>> {
        let after = &change.after(&old.fd);
        let verdict = self.verify_unchanged(old, change.before(&draft.fd).into(), &draft.name);
        if let Ok(Some(lease)) = verdict {
            let synced = self.sync_after_late_writers();
            if self.is_still_unchanged(old, change.before(&draft.fd).into(), &draft.name, lease) {
                // If this fails, the next change removes the leftover. The new content is committed
                // in either case.
                let is_gone = retry(|| self.sys.unlink(self.dir, &draft.name)).is_ok();
                return synced.map(|()| is_gone);
            }
        }
        let displaced = recto_platform::status_at(self.dir, &draft.name);
        if let Err(errno) = retry(|| self.sys.exchange(self.dir, &draft.name, self.name)) {
            let (errno, kept) = (errno.to_string(), draft.name.to_string_lossy());
            let cause = format!(
                "another process had changed the file; its version is kept as {kept}, because \
                 restoring its name failed: {errno}"
            );
            let path = self.path.to_string();
            return Err(WriteError::Failed(Error::NotDurable { path, cause }));
        }
        self.roll_back_draft(old, after, draft, displaced)?;
        match verdict {
            Ok(_) => Err(WriteError::Conflict),
            Err(errno) => Err(self.failed(errno, after)),
        }
    }

    /// Checks that a name refers to the old file, that its content is what was read, and that no
    /// process is opening it for writing. Returns the lease state, or `None` if a check fails.
    pub fn verify_unchanged(
        &self,
        old: &OpenFile,
        before: ExpectedContent<'_>,
        name: &OsStr,
    ) -> Result<Option<Lease>, SysError> {
        let status = retry(|| self.sys.status(self.dir, name))?;
        let owner = |status: &Status| (status.mode, status.uid, status.gid);
        if status.id() != old.status.id() || owner(&status) != owner(&old.status) {
            return Ok(None);
        }
        // A writer that had the file open when it was read may have closed it now, so a lease may
        // be available. No process can look it up by the old name any more, so with a lease only a
        // process that looked it up before can still write.
        let lease = if old.lease == Lease::Held { Lease::Held } else { old.lease(self.sys) };
        // Check early, to keep the time short during which a rejected draft has the name.
        if lease == Lease::WriterOpen || self.is_lease_broken(old, lease) {
            return Ok(None);
        }
        let is_same = before.matches(self.sys, &old.fd)?;
        // A lease being broken means that a process waits to write to the old file.
        Ok((is_same && !self.is_lease_broken(old, lease)).then_some(lease))
    }

    /// Returns whether the old file is still unchanged. A lease makes comparing unnecessary.
    pub fn is_still_unchanged(
        &self,
        old: &OpenFile,
        before: ExpectedContent<'_>,
        name: &OsStr,
        lease: Lease,
    ) -> bool {
        match lease {
            Lease::Held => !self.is_lease_broken(old, lease),
            _ => matches!(self.verify_unchanged(old, before, name), Ok(Some(_))),
        }
    }

    /// Returns whether a process is opening a leased file for writing.
    pub fn is_lease_broken(&self, file: &OpenFile, lease: Lease) -> bool {
        lease == Lease::Held && !self.sys.is_leased(&file.fd)
    }

    /// Gives the draft the target's name. On network file systems a call may report an error after
    /// it succeeded, so the name is checked first.
    pub fn commit(
        &self,
        draft: &Draft<'_>,
        mut call: impl FnMut() -> Result<(), SysError>,
    ) -> Result<(), SysError> {
        for _ in 0..8 {
            match call() {
                Err(_) if self.is_draft(draft, self.name) => return Ok(()),
                Err(SysError::INTR) => {}
                done => return done,
            }
        }
        Err(SysError::INTR)
    }

    /// Returns whether a name refers to the draft.
    pub fn is_draft(&self, draft: &Draft<'_>, name: &OsStr) -> bool {
        let own = draft.fd.status();
        let found = recto_platform::status_at(self.dir, name);
        own.and_then(|own| Ok((own, found?))).is_ok_and(|(own, found)| own.id() == found.id())
    }

    /// Removes a draft's temporary name, and returns whether it is gone. If this fails, it is
    /// removed later as a leftover.
    pub fn discard(&self, draft: &Draft<'_>) -> bool {
        // Another process may have put a different file at the name.
        let is_there = draft.has_name && self.is_draft(draft, &draft.name);
        !is_there || retry(|| self.sys.unlink(self.dir, &draft.name)).is_ok()
    }

    /// Syncs the change before the old file is unlinked. This gives processes that looked up the
    /// old file time to open it.
    fn sync_after_late_writers(&self) -> Result<(), WriteError<'static>> {
        if !self.is_durable && self.has_recent_writers {
            std::thread::sleep(LATE_WRITER_WAIT);
        }
        self.sync_dir()
    }

    pub fn sync_dir(&self) -> Result<(), WriteError<'static>> {
        if !self.is_durable {
            return Ok(());
        }
        let synced = retry(|| self.sys.sync(self.dir));
        // Some file systems cannot sync a directory, and do not need to.
        synced
            .or_else(|errno| if sys::is_unsupported(errno) { Ok(()) } else { Err(errno) })
            .map_err(|errno| WriteError::Failed(sys::not_durable(errno, self.path)))
    }

    pub fn failed(&self, errno: SysError, content: &ContentSource<'_>) -> WriteError<'static> {
        WriteError::Failed(match errno {
            // The directory was removed during the write.
            SysError::NOENT => Error::ParentNotFound { parent: self.path.parent() },
            SysError::CANCELED => Error::Cancelled,
            errno => sys::error(errno, self.path, content.n_bytes()),
        })
    }
}
