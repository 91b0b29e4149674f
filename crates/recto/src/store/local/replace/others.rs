//! What others write to a file that has lost its name to another, because they had looked it up
//! before: it belongs to the file that has the name now, or is kept beside it.

use std::ffi::OsStr;

use recto_text::Error;
use rustix::fs::{Mode, Stat};
use rustix::io::Errno;

use super::super::content::Content;
use super::super::read::{Lease, OpenFile};
use super::super::sys::{self, retry};
use super::{Draft, Protocol};
use crate::store::WriteError;

/// How much others are expected to append in the moment of an exchange.
const MAX_END: usize = 1 << 20;

/// How often one may come after the other.
const MAX_ROUNDS: usize = 100;

impl Protocol<'_> {
    /// After a commit: somebody may have looked the old file up before, and have opened it only
    /// now that it has no name. What they append to `before` belongs to the target. Who comes even
    /// later, after all that a commit takes, is not seen.
    pub(super) fn take_late(
        &self,
        old: &OpenFile,
        lease: Lease,
        before: &Content<'_>,
        name: &OsStr,
    ) -> Result<(), WriteError> {
        if !self.is_broken(old, lease) {
            return Ok(());
        }
        const WHO: &str = "the change is made, but somebody wrote to what stood there";
        self.take_end(old, before, name).map_err(|_| self.kept(WHO, self.keep(old, name), name))
    }

    /// After the exchange was undone: takes the draft away. Somebody may have looked it up while
    /// it had the target's name, and what they append belongs to the target.
    pub(super) fn take_back(
        &self,
        old: &OpenFile,
        after: &Content<'_>,
        draft: Draft,
        put_back: Result<Stat, Errno>,
    ) -> Result<(), WriteError> {
        const WHO: &str = "somebody else changed it";
        let name = draft.name.clone();
        if !self.is_draft(&draft, &name) {
            let made_way = put_back.and_then(|put_back| self.make_way(&draft, &put_back));
            return made_way.map_err(|_| self.kept(WHO, Ok(()), &name));
        }
        let reopened = retry(|| self.sys.open(self.folder, &name)).and_then(|fd| {
            let status = rustix::fs::fstat(&fd)?;
            Ok(OpenFile { fd, status, has_true_size: false, lease: Lease::Unavailable })
        });
        let file = reopened.map_err(|_| self.kept(WHO, Ok(()), &name))?;
        // A lease is given only where nobody has the file open for writing, and that includes us.
        drop(draft);
        // Our own lease would keep us out of the target; where there is none this is an error.
        let _ = retry(|| self.sys.end_lease(sys::fd(&old.fd)));
        self.take_end(&file, after, &name)
            .map_err(|_| self.kept(WHO, self.keep(&file, &name), &name))
    }

    /// Appends to the target what others append to a file behind `ours`, and takes the file's name
    /// away. An error if that cannot be told: they keep it open, or do more than append.
    fn take_end(&self, file: &OpenFile, ours: &Content<'_>, name: &OsStr) -> Result<(), Errno> {
        let mut n_taken = None;
        for _ in 0..MAX_ROUNDS {
            // Those who wait for it go on, and it is given again once they are done.
            let _ = retry(|| self.sys.end_lease(sys::fd(&file.fd)));
            let lease = file.lease(self.sys);
            if lease == Lease::WriterOpen {
                return Err(Errno::BUSY);
            }
            let start = match n_taken {
                Some(n_taken) => n_taken,
                None => ours.start_of(self.sys, &file.fd)?.ok_or(Errno::BUSY)?,
            };
            let end = self.end_of(file, start)?;
            if !end.is_empty() {
                let target = retry(|| self.sys.open_end(self.folder, self.name))?;
                if retry(|| self.sys.write(sys::fd(&target), &end))? < end.len() {
                    return Err(Errno::IO);
                }
            }
            n_taken = Some(start + end.len() as u64);
            if self.is_broken(file, lease) {
                continue;
            }
            // Where this fails the name stays; only what is ours of it is cleaned up later.
            let _ = retry(|| self.sys.unlink(self.folder, name));
            if !self.is_broken(file, lease) {
                return Ok(());
            }
        }
        Err(Errno::BUSY)
    }

    /// The bytes from a place on, if they are not too many.
    fn end_of(&self, file: &OpenFile, start: u64) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; MAX_END];
        let mut n_read = 0;
        while n_read < bytes.len() {
            let offset = start + n_read as u64;
            match retry(|| self.sys.read_at(sys::fd(&file.fd), &mut bytes[n_read..], offset))? {
                0 => {
                    bytes.truncate(n_read);
                    return Ok(bytes);
                }
                n => n_read += n,
            }
        }
        Err(Errno::BUSY)
    }

    /// After the exchange was undone by somebody's file in the place of our draft, which they had
    /// replaced: theirs is newer than what was put back. Theirs gets the target's name, and what
    /// they replaced goes, as it would have gone without us. An error where it cannot be told
    /// that they meant to replace it, or that nothing else happened meanwhile.
    fn make_way(&self, draft: &Draft, put_back: &Stat) -> Result<(), Errno> {
        if rustix::fs::fstat(&draft.fd)?.st_nlink > 0 {
            // They gave our draft another name, and would have done so with what stood there.
            return Err(Errno::BUSY);
        }
        retry(|| self.sys.exchange(self.folder, &draft.name, self.name))?;
        let came_out = retry(|| self.sys.status(self.folder, &draft.name))?;
        let told = |status: &Stat| {
            let modified = (status.st_mtime, status.st_mtime_nsec);
            (status.st_dev, status.st_ino, status.st_size, modified)
        };
        match told(&came_out) == told(put_back) {
            true => retry(|| self.sys.unlink(self.folder, &draft.name)),
            false => Err(Errno::BUSY),
        }
    }

    /// Sees to it that what a nameless file holds stays under a name.
    fn keep(&self, file: &OpenFile, name: &OsStr) -> Result<(), Errno> {
        match retry(|| self.sys.status(self.folder, name)) {
            Err(Errno::NOENT) => {}
            found => return found.map(drop),
        }
        let copy = retry(|| self.sys.create(self.folder, name, Mode::RUSR | Mode::WUSR))?;
        let mut buffer = vec![0; MAX_END];
        let mut offset = 0;
        loop {
            let n_read = retry(|| self.sys.read_at(sys::fd(&file.fd), &mut buffer, offset))?;
            if n_read == 0 {
                return Ok(());
            }
            let mut rest = &buffer[..n_read];
            while !rest.is_empty() {
                match retry(|| self.sys.write(sys::fd(&copy), rest))? {
                    0 => return Err(Errno::NOSPC),
                    n => rest = &rest[n..],
                }
            }
            offset += n_read as u64;
        }
    }

    /// The error that names where somebody's text is.
    fn kept(&self, who: &str, kept: Result<(), Errno>, name: &OsStr) -> WriteError {
        let kept = match kept {
            Ok(()) => format!("is kept as {}", name.to_string_lossy()),
            Err(errno) => format!("cannot be kept: {}", sys::describe(errno)),
        };
        let cause = format!("{who} in the same moment, and what they wrote {kept}");
        WriteError::Failed(Error::System { path: self.path.to_string(), cause })
    }
}
