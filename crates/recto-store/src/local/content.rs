//! Bytes that a file holds or shall hold: at hand, or at hand in one place and for the rest as
//! another file has them.
//!
//! The second form changes a part of a file that is too large to be held. What is written is the
//! old file with new text in the part; what was there is the new file with the old text in it.

use recto_platform::{Handle, Sys, SysError, SysResult};
use recto_text::Digest;

use super::sys::retry;

/// How much is read at once.
const PIECE: usize = 256 << 10;

/// The bytes.
#[derive(Clone, Copy)]
pub enum ContentSource<'a> {
    /// All at hand.
    Memory(&'a [u8]),
    /// At hand in one place.
    Patched(Patch<'a>),
}

/// Bytes that take the place of some bytes of a file.
#[derive(Clone, Copy)]
pub struct Patch<'a> {
    /// The file.
    pub base: &'a Handle,
    /// Where.
    pub start: u64,
    /// How many of the file's bytes are left out there.
    pub n_replaced: usize,
    /// Where the file ends, whatever others append.
    pub end: u64,
    /// What stands there instead.
    pub bytes: &'a [u8],
}

/// What gives way to what.
#[derive(Clone, Copy)]
pub enum ContentChange<'a> {
    /// Everything.
    Whole { before: &'a [u8], after: &'a [u8] },
    /// The bytes from `start` on, of so many.
    Range { start: u64, before: &'a [u8], after: &'a [u8], n_bytes: u64, digests: ChangeDigests },
}

/// The versions before and after a change.
#[derive(Clone, Copy)]
pub struct ChangeDigests {
    pub before: Digest,
    pub after: Digest,
}

impl ContentChange<'_> {
    pub fn digests(&self) -> ChangeDigests {
        match *self {
            ContentChange::Whole { before, after } => {
                ChangeDigests { before: Digest::of(before), after: Digest::of(after) }
            }
            ContentChange::Range { digests, .. } => digests,
        }
    }

    /// What was there, as far as it is not at hand as the new file has it.
    pub fn before<'a>(&'a self, new: &'a Handle) -> ContentSource<'a> {
        match *self {
            ContentChange::Whole { before, .. } => ContentSource::Memory(before),
            ContentChange::Range { start, before, after, n_bytes, .. } => {
                ContentSource::Patched(Patch {
                    base: new,
                    start,
                    n_replaced: after.len(),
                    end: n_bytes - before.len() as u64 + after.len() as u64,
                    bytes: before,
                })
            }
        }
    }

    /// What shall be there, as far as it is not at hand as the old file has it.
    pub fn after<'a>(&'a self, old: &'a Handle) -> ContentSource<'a> {
        match *self {
            ContentChange::Whole { after, .. } => ContentSource::Memory(after),
            ContentChange::Range { start, before, after, n_bytes, .. } => {
                ContentSource::Patched(Patch {
                    base: old,
                    start,
                    n_replaced: before.len(),
                    end: n_bytes,
                    bytes: after,
                })
            }
        }
    }
}

impl ContentSource<'_> {
    /// Visits all bytes in order.
    pub fn for_each(
        &self,
        sys: &dyn Sys,
        mut visit: impl FnMut(&[u8]) -> SysResult<()>,
    ) -> SysResult<()> {
        let Patch { base, start, n_replaced, end, bytes } = match self {
            ContentSource::Memory(bytes) => return visit(bytes),
            ContentSource::Patched(part) => *part,
        };
        let mut buffer = vec![0; PIECE];
        let mut copy = |mut offset: u64, end: u64, visit: &mut dyn FnMut(&[u8]) -> _| {
            while offset < end {
                let wanted = usize::try_from(end - offset).unwrap_or(PIECE).min(PIECE);
                let n = retry(|| sys.read_at(base, &mut buffer[..wanted], offset))?;
                if n == 0 {
                    return Ok(());
                }
                visit(&buffer[..n])?;
                offset += n as u64;
            }
            Ok(())
        };
        copy(0, start, &mut visit)?;
        visit(bytes)?;
        copy(start + n_replaced as u64, end, &mut visit)
    }

    /// How many there are.
    pub fn n_bytes(&self) -> usize {
        match self {
            ContentSource::Memory(bytes) => bytes.len(),
            ContentSource::Patched(part) => part.end as usize - part.n_replaced + part.bytes.len(),
        }
    }

    /// Whether a file holds just these bytes.
    pub fn matches(&self, sys: &dyn Sys, file: &Handle) -> SysResult<bool> {
        let Some(end) = self.prefix_end(sys, file)? else { return Ok(false) };
        Ok(retry(|| sys.read_at(file, &mut [0], end))? == 0)
    }

    /// Where these bytes end in a file that starts with them; `None` if it does not.
    pub fn prefix_end(&self, sys: &dyn Sys, file: &Handle) -> SysResult<Option<u64>> {
        /// Ends the visit; no system call answers so.
        const DIFFERS: SysError = SysError::NOMSG;
        let mut buffer = vec![0; PIECE.min(self.n_bytes())];
        let mut offset = 0;
        let compared = self.for_each(sys, |mut bytes| {
            while !bytes.is_empty() {
                let wanted = bytes.len().min(buffer.len());
                let n = retry(|| sys.read_at(file, &mut buffer[..wanted], offset))?;
                if n == 0 || buffer[..n] != bytes[..n] {
                    return Err(DIFFERS);
                }
                offset += n as u64;
                bytes = &bytes[n..];
            }
            Ok(())
        });
        match compared {
            Ok(()) => Ok(Some(offset)),
            Err(DIFFERS) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}
