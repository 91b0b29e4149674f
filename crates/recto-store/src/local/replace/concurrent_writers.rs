//! What others write to a draft that had the target's name for a moment: it belongs to the target,
//! or stays beside it.

use crate::error::Error;
use recto_platform::{FileKind, Status, SysError};

use super::super::content::ContentSource;
use super::super::read::{Lease, OpenFile};
use super::super::sys::retry;
use super::{Draft, Protocol};
use crate::WriteError;

/// How much others are expected to append in the moment of an exchange that is undone.
const MAX_APPENDED: usize = 1 << 20;

/// How often one may come after the other.
const MAX_ROUNDS: usize = 8;

impl Protocol<'_> {
    /// After the exchange was undone: takes the draft away. Somebody may have looked it up while
    /// it had the target's name, and what they append belongs to the target, which is `put_back`.
    pub(super) fn roll_back_draft(
        &self,
        old: &OpenFile,
        after: &ContentSource<'_>,
        draft: Draft,
        put_back: Result<Status, SysError>,
    ) -> Result<(), WriteError<'static>> {
        let name = draft.name.clone();
        let carried_over = put_back.and_then(|put_back| {
            if !self.is_draft(&draft, &name) {
                return self.yield_to_replacement(&draft, &put_back);
            }
            let fd = retry(|| self.sys.open(self.dir, &name))?;
            let status = fd.status()?;
            // A lease is given only where nobody has the file open for writing, us included.
            drop(draft);
            // Our own lease would keep us out of the target; where there is none this is an error.
            let _ = retry(|| self.sys.end_lease(&old.fd));
            let file = OpenFile { fd, status, has_exact_size: false, lease: Lease::Unavailable };
            self.carry_over_appends(&file, after, &put_back)?;
            // Where this fails the name stays; only what is ours of it is cleaned up later.
            let _ = retry(|| self.sys.unlink(self.dir, &name));
            Ok(())
        });
        carried_over.map_err(|_| {
            let kept = name.to_string_lossy();
            WriteError::Failed(Error::System {
                path: self.path.to_string(),
                cause: format!(
                    "somebody else changed it in the same moment, and what they wrote is kept as \
                     {kept}"
                ),
            })
        })
    }

    /// Appends to the target what others append to a file behind `ours`, until nobody is about to.
    /// An error if that cannot be told: they keep it open, or do more than append.
    fn carry_over_appends(
        &self,
        file: &OpenFile,
        ours: &ContentSource<'_>,
        target: &Status,
    ) -> Result<(), SysError> {
        let mut carried_over = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let lease = file.lease(self.sys);
            if lease == Lease::WriterOpen {
                return Err(SysError::BUSY);
            }
            let start = ours.prefix_end(self.sys, &file.fd)?.ok_or(SysError::BUSY)?;
            let end = self.read_tail(file, start)?;
            let more = end.strip_prefix(&carried_over[..]).ok_or(SysError::BUSY)?;
            if !more.is_empty() {
                self.append(more, target)?;
            }
            if !self.is_lease_broken(file, lease) {
                return Ok(());
            }
            carried_over = end;
            // Those who wait for it go on, and it is given again once they are done.
            let _ = retry(|| self.sys.end_lease(&file.fd));
        }
        Err(SysError::BUSY)
    }

    /// Appends to the file that has the target's name, if it is the one that is meant.
    fn append(&self, bytes: &[u8], target: &Status) -> Result<(), SysError> {
        let is_target =
            |found: &Status| found.kind() == FileKind::File && found.id() == target.id();
        // Opening is not without effect on what is no file.
        if !is_target(&retry(|| self.sys.status(self.dir, self.name))?) {
            return Err(SysError::BUSY);
        }
        let fd = retry(|| self.sys.open_end(self.dir, self.name))?;
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

    /// The bytes from a place on, if they are not too many.
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

    /// After the exchange was undone by somebody's file in the place of our draft, which they had
    /// replaced: theirs is newer than what was put back. Theirs gets the target's name, and what
    /// they replaced goes, as it would have gone without us. An error where it cannot be told
    /// that they meant to replace it, or that nothing else happened meanwhile.
    fn yield_to_replacement(&self, draft: &Draft, put_back: &Status) -> Result<(), SysError> {
        if draft.fd.status()?.links > 0 {
            // They gave our draft another name, and would have done so with what stood there.
            return Err(SysError::BUSY);
        }
        retry(|| self.sys.exchange(self.dir, &draft.name, self.name))?;
        let came_out = retry(|| self.sys.status(self.dir, &draft.name))?;
        let told = |status: &Status| (status.id(), status.size, status.modified);
        match told(&came_out) == told(put_back) {
            true => retry(|| self.sys.unlink(self.dir, &draft.name)),
            false => Err(SysError::BUSY),
        }
    }
}
