//! Handles writes of other processes to a draft that briefly had the target's name: they are
//! appended to the target, or kept in a separate file.

use crate::error::Error;
use recto_platform::{FileKind, Status, SysError};

use super::super::content::ContentSource;
use super::super::read::{Lease, OpenFile};
use super::super::sys::retry;
use super::{Draft, Protocol};
use crate::WriteError;

/// The maximum size of appends that are carried over to the target.
const MAX_APPENDED: usize = 1 << 20;

/// How many writers in succession are waited for.
const MAX_ROUNDS: usize = 8;

impl Protocol<'_> {
    /// Removes the draft after the exchange was undone. A process may have opened it while it had
    /// the target's name; its appends are carried over to the target, which is `restored`.
    pub fn roll_back_draft(
        &self,
        old: &OpenFile,
        after: &ContentSource<'_>,
        draft: Draft<'_>,
        restored: Result<Status, SysError>,
    ) -> Result<(), WriteError<'static>> {
        let name = draft.name.clone();
        let carried_over = restored.and_then(|restored| {
            if !self.is_draft(&draft, &name) {
                return self.yield_to_replacement(&draft, &restored);
            }
            let fd = retry(|| self.sys.open(self.dir, &name))?;
            let status = fd.status()?;
            // A lease requires that no process has the file open for writing, including recto.
            drop(draft);
            // recto's own lease would block opening the target. Without a lease this call fails.
            let _ = retry(|| self.sys.end_lease(&old.fd));
            let file = OpenFile { fd, status, has_exact_size: false, lease: Lease::Unavailable };
            self.carry_over_appends(&file, after, &restored)?;
            // If this fails the file stays, and is removed later if it contains only recto's text.
            let _ = retry(|| self.sys.unlink(self.dir, &name));
            Ok(())
        });
        carried_over.map_err(|_| {
            let kept = name.to_string_lossy();
            WriteError::Failed(Error::System {
                path: self.path.to_string(),
                cause: format!(
                    "another process changed the file at the same time; its version is kept as \
                     {kept}"
                ),
            })
        })
    }

    /// Appends to the target what other processes append to a file after `draft_content`, until no process
    /// is opening it. Fails if a process keeps it open, or does more than append.
    fn carry_over_appends(
        &self,
        file: &OpenFile,
        draft_content: &ContentSource<'_>,
        target: &Status,
    ) -> Result<(), SysError> {
        let mut carried_over = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let lease = file.lease(self.sys);
            if lease == Lease::WriterOpen {
                return Err(SysError::BUSY);
            }
            let start = draft_content.prefix_end(self.sys, &file.fd)?.ok_or(SysError::BUSY)?;
            let end = self.read_tail(file, start)?;
            let more = end.strip_prefix(&carried_over[..]).ok_or(SysError::BUSY)?;
            if !more.is_empty() {
                self.append(more, target)?;
            }
            if !self.is_lease_broken(file, lease) {
                return Ok(());
            }
            carried_over = end;
            // Release waiting writers; the lease is requested again once they are done.
            let _ = retry(|| self.sys.end_lease(&file.fd));
        }
        Err(SysError::BUSY)
    }

    /// Appends to the file at the target's name, if it is the expected one.
    fn append(&self, bytes: &[u8], target: &Status) -> Result<(), SysError> {
        let is_target =
            |found: &Status| found.kind() == FileKind::File && found.id() == target.id();
        // Opening anything but a regular file can have side effects.
        if !is_target(&retry(|| self.sys.status(self.dir, self.name))?) {
            return Err(SysError::BUSY);
        }
        let fd = retry(|| self.sys.open_append(self.dir, self.name))?;
        if !is_target(&fd.status()?) {
            return Err(SysError::BUSY);
        }
        if retry(|| self.sys.write(&fd, bytes))? < bytes.len() {
            return Err(SysError::IO);
        }
        if self.is_durable {
            retry(|| self.sys.sync(&fd))?;
        }
        Ok(())
    }

    /// Reads from an offset to the end, if that is at most `MAX_APPENDED` bytes.
    fn read_tail(&self, file: &OpenFile, start: u64) -> Result<Vec<u8>, SysError> {
        let mut bytes = vec![0; MAX_APPENDED];
        let mut n_read = 0;
        while n_read < bytes.len() {
            let offset = start + n_read as u64;
            match retry(|| self.sys.read_at(&file.fd, &mut bytes[n_read..], offset))? {
                0 => {
                    bytes.truncate(n_read);
                    return Ok(bytes);
                }
                n => n_read += n,
            }
        }
        Err(SysError::BUSY)
    }

    /// Handles a draft that another process replaced while it had the target's name: undoing the
    /// exchange moved that newer file aside. Exchanges again, so that the newer file has the
    /// target's name, and unlinks the file it replaced. Fails unless it is certain that the other
    /// process meant to replace the target and that nothing else changed.
    fn yield_to_replacement(&self, draft: &Draft<'_>, restored: &Status) -> Result<(), SysError> {
        if draft.fd.status()?.links > 0 {
            // The other process renamed the draft, as it would have renamed the old file.
            return Err(SysError::BUSY);
        }
        retry(|| self.sys.exchange(self.dir, &draft.name, self.name))?;
        let displaced = retry(|| self.sys.status(self.dir, &draft.name))?;
        let fingerprint = |status: &Status| (status.id(), status.size, status.modified);
        match fingerprint(&displaced) == fingerprint(restored) {
            true => retry(|| self.sys.unlink(self.dir, &draft.name)),
            false => Err(SysError::BUSY),
        }
    }
}
