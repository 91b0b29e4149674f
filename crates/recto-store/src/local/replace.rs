//! The write protocol: one way for every change to reach the disk, all or nothing.
//!
//! New content is written beside the old, made durable, and then exchanged for it in one step.
//! What came out is compared with what the caller had read, and put back if somebody wrote in
//! between. Invariant: only bytes that are the version being replaced, our own uncommitted text,
//! or a version that somebody else replaced meanwhile are ever unlinked.

mod others;

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use crate::error::Error;
use recto_platform::{FileKind, Handle, Status, Sys, SysError};
use recto_text::Digest;
use recto_text::digest::Digester;

use super::content::{Change, Content};
use super::identity::is_same_content;
use super::leftovers;
use super::metadata;
use super::read::{Lease, OpenFile};
use super::sys::{self, retry};
use crate::context::Cancel;
use crate::path::AbsPath;
use crate::{WriteError, Written};

const NOTHING: Content<'static> = Content::Held(b"");

/// How long those are waited for who come late, where a sync does not take that long anyway.
const PATIENCE: Duration = Duration::from_millis(2);

/// One write to one name of a locked folder.
pub struct Protocol<'a> {
    pub sys: &'a dyn Sys,
    pub folder: &'a Handle,
    pub name: &'a OsStr,
    pub path: &'a AbsPath,
    pub is_durable: bool,
    /// Whether others write to files here.
    pub has_company: bool,
    /// Ends a write until its commit.
    pub cancel: &'a Cancel,
}

/// New content on the disk, not yet committed.
struct Draft {
    fd: Handle,
    /// The name that it has, or will have, until the commit.
    name: OsString,
    has_name: bool,
}

/// How a draft came to the old file's name.
enum Put {
    /// The draft's name stands for the old file now.
    Exchanged,
    /// The old file has no name any more.
    Renamed,
}

impl Protocol<'_> {
    /// Makes a change to the content that was read from `old`.
    pub fn replace(
        &self,
        old: &OpenFile,
        change: Change<'_>,
    ) -> Result<Written, WriteError<'static>> {
        let digests = change.digests();
        let after = &change.after(&old.fd);
        let mut draft = self.write_draft(Some(digests.before), digests.after, after, Some(old))?;
        let put = self.put_in_place(old, change, &mut draft, after);
        match put.inspect_err(|_| self.discard(&draft))? {
            Put::Exchanged => self.verify(old, change, draft)?,
            Put::Renamed => self.sync_folder()?,
        }
        Ok(Written { broke_hard_links: old.status.links > 1, content_after: None })
    }

    /// Gives a draft the old file's name. What fails here has changed nothing.
    fn put_in_place(
        &self,
        old: &OpenFile,
        change: Change<'_>,
        draft: &mut Draft,
        after: &Content<'_>,
    ) -> Result<Put, WriteError<'static>> {
        self.name_draft(draft, after)?;
        match retry(|| self.sys.status(self.folder, self.name)) {
            Ok(now) if is_same_content(&now, &old.status) => {}
            Ok(_) | Err(SysError::NOENT) => return Err(WriteError::Conflict),
            Err(errno) => return Err(self.failed(errno, after)),
        }
        match self.commit(draft, || self.sys.exchange(self.folder, &draft.name, self.name)) {
            Ok(()) => return Ok(Put::Exchanged),
            Err(errno) if sys::is_unsupported(errno) => {}
            Err(SysError::NOENT) => return Err(WriteError::Conflict),
            Err(errno) => return Err(self.failed(errno, after)),
        }
        // The name still stands for the old file, as far as can be told without exchange.
        match self.still(old, change.before(&draft.fd), self.name) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(WriteError::Conflict),
            Err(errno) => return Err(self.failed(errno, after)),
        }
        self.commit(draft, || self.sys.rename(self.folder, &draft.name, self.name))
            .map_err(|errno| self.failed(errno, after))?;
        Ok(Put::Renamed)
    }

    /// Gives `bytes` the name, if nobody has it.
    pub fn create(&self, bytes: &[u8]) -> Result<Written, WriteError<'static>> {
        let content = &Content::Held(bytes);
        let draft = self.write_draft(None, Digest::of(bytes), content, None)?;
        let committed = if draft.has_name {
            self.move_to_new_name(&draft)
        } else {
            retry(|| self.sys.link(&draft.fd, self.folder, self.name))
        };
        let committed = committed.map_err(|errno| match errno {
            SysError::EXIST => WriteError::Conflict,
            errno => self.failed(errno, content),
        });
        committed.inspect_err(|_| self.discard(&draft))?;
        self.sync_folder()?;
        Ok(Written::default())
    }

    /// Takes the file away, if it still holds `before`, the content that was read from `old`.
    pub fn remove(&self, old: &OpenFile, before: &[u8]) -> Result<(), WriteError<'static>> {
        let digest = Digest::of(before);
        let aside = leftovers::name(Some(digest), digest);
        match retry(|| self.sys.rename_new(self.folder, self.name, &aside)) {
            Ok(()) => {}
            Err(SysError::NOENT) => return Err(WriteError::Conflict),
            // Without it nothing can be put aside safely; look once more and remove.
            Err(errno) if sys::is_unsupported(errno) => return self.remove_in_place(old, before),
            Err(errno) => return Err(self.failed(errno, &NOTHING)),
        }
        let verdict = self.still(old, Content::Held(before), &aside);
        if let Ok(Some(lease)) = verdict {
            let synced = self.settle();
            if self.is_still(old, Content::Held(before), &aside, lease) {
                retry(|| self.sys.unlink(self.folder, &aside)).or_else(|errno| {
                    self.put_back(&aside)?;
                    Err(self.failed(errno, &NOTHING))
                })?;
                return synced;
            }
        }
        self.put_back(&aside)?;
        match verdict {
            Ok(_) => Err(WriteError::Conflict),
            Err(errno) => Err(self.failed(errno, &NOTHING)),
        }
    }

    fn remove_in_place(&self, old: &OpenFile, before: &[u8]) -> Result<(), WriteError<'static>> {
        match self.still(old, Content::Held(before), self.name) {
            Ok(Some(_)) => {}
            Ok(None) | Err(SysError::NOENT) => return Err(WriteError::Conflict),
            Err(errno) => return Err(self.failed(errno, &NOTHING)),
        }
        retry(|| self.sys.unlink(self.folder, self.name))
            .map_err(|errno| self.failed(errno, &NOTHING))?;
        self.sync_folder()
    }

    /// Takes a link away, whatever it leads to.
    pub fn remove_link(&self) -> Result<(), WriteError<'static>> {
        let aside = leftovers::name(None, Digest::of(b""));
        retry(|| self.sys.rename_new(self.folder, self.name, &aside)).map_err(
            |errno| match errno {
                SysError::NOENT => WriteError::Conflict,
                errno => self.failed(errno, &NOTHING),
            },
        )?;
        let is_link = |status: Status| status.kind() == FileKind::Symlink;
        if !retry(|| self.sys.status(self.folder, &aside)).is_ok_and(is_link) {
            self.put_back(&aside)?;
            return Err(WriteError::Conflict);
        }
        retry(|| self.sys.unlink(self.folder, &aside)).or_else(|errno| {
            self.put_back(&aside)?;
            Err(self.failed(errno, &NOTHING))
        })?;
        self.sync_folder()
    }

    /// Gives what was put aside its name again. Somebody may have taken the name meanwhile.
    fn put_back(&self, aside: &OsStr) -> Result<(), WriteError<'static>> {
        retry(|| self.sys.rename_new(self.folder, aside, self.name)).map_err(|errno| {
            let (errno, kept) = (errno.to_string(), aside.to_string_lossy());
            let cause =
                format!("what stood there is kept as {kept} and cannot be put back: {errno}");
            WriteError::Failed(Error::NotDurable { path: self.path.to_string(), cause })
        })
    }

    fn move_to_new_name(&self, draft: &Draft) -> Result<(), SysError> {
        match retry(|| self.sys.rename_new(self.folder, &draft.name, self.name)) {
            Err(errno) if sys::is_unsupported(errno) => {
                retry(|| self.sys.link(&draft.fd, self.folder, self.name))?;
                self.discard(draft);
                Ok(())
            }
            done => done,
        }
    }

    /// Writes the content into a file beside the target, with the old file's metadata, durable.
    fn write_draft(
        &self,
        before: Option<Digest>,
        digest: Digest,
        after: &Content<'_>,
        old: Option<&OpenFile>,
    ) -> Result<Draft, WriteError<'static>> {
        let name = leftovers::name(before, digest);
        let draft = match retry(|| self.sys.open_nameless(self.folder)) {
            Ok(fd) => Draft { fd, name, has_name: false },
            Err(errno) if sys::is_unsupported(errno) => {
                let partial = leftovers::partial(&name);
                // What replaces a private file must be private from its first byte on.
                let mode = if old.is_some() { 0o600 } else { 0o666 };
                let fd = retry(|| self.sys.create(self.folder, &partial, mode))
                    .map_err(|errno| self.failed(errno, after))?;
                Draft { fd, name: partial, has_name: true }
            }
            Err(errno) => return Err(self.failed(errno, after)),
        };
        let filled = self.fill(&draft, digest, after, old);
        if filled.is_err() {
            self.discard(&draft);
        }
        filled.map(|()| draft)
    }

    fn fill(
        &self,
        draft: &Draft,
        digest: Digest,
        after: &Content<'_>,
        old: Option<&OpenFile>,
    ) -> Result<(), WriteError<'static>> {
        let fd = &draft.fd;
        let mut digester = Digester::default();
        let written = after.for_each(self.sys, |mut rest| {
            if matches!(after, Content::Part(_)) {
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
        // What was copied from the old file must be what was read from it.
        if matches!(after, Content::Part(_)) && digester.finish() != digest {
            return Err(WriteError::Conflict);
        }
        if let Some(old) = old {
            metadata::copy(self.sys, old, fd, self.path)?;
        }
        if self.is_durable {
            retry(|| self.sys.sync(fd)).map_err(|errno| self.failed(errno, after))?;
        }
        Ok(())
    }

    /// Gives a complete draft the name that a crash leaves recognisable.
    fn name_draft(
        &self,
        draft: &mut Draft,
        after: &Content<'_>,
    ) -> Result<(), WriteError<'static>> {
        let named = if draft.has_name {
            let complete = leftovers::complete(&draft.name);
            let renamed = retry(|| self.sys.rename(self.folder, &draft.name, &complete));
            renamed.map(|()| draft.name = complete)
        } else {
            retry(|| self.sys.link(&draft.fd, self.folder, &draft.name))
        };
        named.map_err(|errno| self.failed(errno, after))?;
        draft.has_name = true;
        Ok(())
    }

    /// After the exchange: unlinks the old content if it is what was read, else puts it back.
    ///
    /// That comes last. Somebody may have looked the old file up before and open it only now, and
    /// what they write to a file without a name is lost.
    fn verify(
        &self,
        old: &OpenFile,
        change: Change<'_>,
        draft: Draft,
    ) -> Result<(), WriteError<'static>> {
        let after = &change.after(&old.fd);
        let verdict = self.still(old, change.before(&draft.fd), &draft.name);
        if let Ok(Some(lease)) = verdict {
            let synced = self.settle();
            if self.is_still(old, change.before(&draft.fd), &draft.name, lease) {
                // Where this fails the name is a leftover that the next change takes away; the new
                // content is committed all the same.
                let _ = retry(|| self.sys.unlink(self.folder, &draft.name));
                return synced;
            }
        }
        let came_out = recto_platform::status_at(self.folder, &draft.name);
        if let Err(errno) = retry(|| self.sys.exchange(self.folder, &draft.name, self.name)) {
            let (errno, kept) = (errno.to_string(), draft.name.to_string_lossy());
            let cause = format!(
                "somebody else changed what stood there before, which is kept as {kept}: {errno}"
            );
            let path = self.path.to_string();
            return Err(WriteError::Failed(Error::NotDurable { path, cause }));
        }
        self.take_back(old, after, draft, came_out)?;
        match verdict {
            Ok(_) => Err(WriteError::Conflict),
            Err(errno) => Err(self.failed(errno, after)),
        }
    }

    /// What the system promises about a name that now stands for the old file, that for the bytes
    /// read from it, and nobody is about to write to it. `None` if that is not so.
    fn still(
        &self,
        old: &OpenFile,
        before: Content<'_>,
        name: &OsStr,
    ) -> Result<Option<Lease>, SysError> {
        let status = retry(|| self.sys.status(self.folder, name))?;
        let whose = |status: &Status| (status.mode, status.uid, status.gid);
        if status.id() != old.status.id() || whose(&status) != whose(&old.status) {
            return Ok(None);
        }
        // A writer who had the file open when it was read may be done now; nobody can look it up
        // by its name any more. With a lease the comparison is final for all but those who looked
        // it up before.
        let lease = if old.lease == Lease::Held { Lease::Held } else { old.lease(self.sys) };
        // The sooner this is known the shorter the new content has the name for nothing.
        if lease == Lease::WriterOpen || self.is_broken(old, lease) {
            return Ok(None);
        }
        let is_same = before.is_in(self.sys, &old.fd)?;
        // A lease that is being broken means that somebody waits to write to the file we took out.
        Ok((is_same && !self.is_broken(old, lease)).then_some(lease))
    }

    /// Whether that is so a moment later. Where the system tells of writers, it need not be compared.
    fn is_still(&self, old: &OpenFile, before: Content<'_>, name: &OsStr, lease: Lease) -> bool {
        match lease {
            Lease::Held => !self.is_broken(old, lease),
            _ => matches!(self.still(old, before, name), Ok(Some(_))),
        }
    }

    /// Whether somebody is about to write to a file with that promise.
    fn is_broken(&self, file: &OpenFile, lease: Lease) -> bool {
        lease == Lease::Held && !self.sys.is_leased(&file.fd)
    }

    /// Gives the draft the target's name. An error may come from a call that was carried out
    /// (network filesystems do that), so that the name is looked at before it is believed.
    fn commit(
        &self,
        draft: &Draft,
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

    /// Whether a name stands for the draft.
    fn is_draft(&self, draft: &Draft, name: &OsStr) -> bool {
        let own = draft.fd.status();
        let found = recto_platform::status_at(self.folder, name);
        own.and_then(|own| Ok((own, found?))).is_ok_and(|(own, found)| own.id() == found.id())
    }

    /// Takes an uncommitted draft away; a name that cannot be removed is cleaned up later.
    fn discard(&self, draft: &Draft) {
        // Whatever else came to have the name is not ours to take.
        if draft.has_name && self.is_draft(draft, &draft.name) {
            let _ = retry(|| self.sys.unlink(self.folder, &draft.name));
        }
    }

    /// Makes a change durable before the old file loses its name. Meanwhile those arrive who had
    /// looked it up.
    fn settle(&self) -> Result<(), WriteError<'static>> {
        if !self.is_durable && self.has_company {
            std::thread::sleep(PATIENCE);
        }
        self.sync_folder()
    }

    fn sync_folder(&self) -> Result<(), WriteError<'static>> {
        if !self.is_durable {
            return Ok(());
        }
        let synced = retry(|| self.sys.sync(self.folder));
        // Some filesystems cannot sync a folder, and need not.
        synced
            .or_else(|errno| if sys::is_unsupported(errno) { Ok(()) } else { Err(errno) })
            .map_err(|errno| WriteError::Failed(sys::not_durable(errno, self.path)))
    }

    fn failed(&self, errno: SysError, content: &Content<'_>) -> WriteError<'static> {
        WriteError::Failed(match errno {
            // The folder went away under us.
            SysError::NOENT => Error::ParentNotFound { parent: self.path.parent() },
            SysError::CANCELED => Error::Cancelled,
            errno => sys::error(errno, self.path, content.n_bytes()),
        })
    }
}
