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
pub enum Content<'a> {
    /// All at hand.
    Held(&'a [u8]),
    /// At hand in one place.
    Part(Part<'a>),
}

/// Bytes that take the place of some bytes of a file.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The file.
    pub around: &'a Handle,
    /// Where.
    pub start: u64,
    /// How many of the file's bytes are left out there.
    pub n_left_out: usize,
    /// Where the file ends, whatever others append.
    pub end: u64,
    /// What stands there instead.
    pub bytes: &'a [u8],
}

/// What gives way to what.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    /// Everything.
    Whole { before: &'a [u8], after: &'a [u8] },
    /// The bytes from `start` on, of so many.
    Part { start: u64, before: &'a [u8], after: &'a [u8], n_bytes: u64, digests: Digests },
}

/// The versions before and after a change.
#[derive(Clone, Copy)]
pub struct Digests {
    pub before: Digest,
    pub after: Digest,
}

impl Change<'_> {
    pub fn digests(&self) -> Digests {
        match *self {
            Change::Whole { before, after } => {
                Digests { before: Digest::of(before), after: Digest::of(after) }
            }
            Change::Part { digests, .. } => digests,
        }
    }

    /// What was there, as far as it is not at hand as the new file has it.
    pub fn before<'a>(&'a self, new: &'a Handle) -> Content<'a> {
        match *self {
            Change::Whole { before, .. } => Content::Held(before),
            Change::Part { start, before, after, n_bytes, .. } => Content::Part(Part {
                around: new,
                start,
                n_left_out: after.len(),
                end: n_bytes - before.len() as u64 + after.len() as u64,
                bytes: before,
            }),
        }
    }

    /// What shall be there, as far as it is not at hand as the old file has it.
    pub fn after<'a>(&'a self, old: &'a Handle) -> Content<'a> {
        match *self {
            Change::Whole { after, .. } => Content::Held(after),
            Change::Part { start, before, after, n_bytes, .. } => Content::Part(Part {
                around: old,
                start,
                n_left_out: before.len(),
                end: n_bytes,
                bytes: after,
            }),
        }
    }
}

impl Content<'_> {
    /// Visits all bytes in order.
    pub fn for_each(
        &self,
        sys: &dyn Sys,
        mut visit: impl FnMut(&[u8]) -> SysResult<()>,
    ) -> SysResult<()> {
        let Part { around, start, n_left_out, end, bytes } = match self {
            Content::Held(bytes) => return visit(bytes),
            Content::Part(part) => *part,
        };
        let mut buffer = vec![0; PIECE];
        let mut copy = |mut offset: u64, end: u64, visit: &mut dyn FnMut(&[u8]) -> _| {
            while offset < end {
                let wanted = usize::try_from(end - offset).unwrap_or(PIECE).min(PIECE);
                let n = retry(|| sys.read_at(around, &mut buffer[..wanted], offset))?;
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
        copy(start + n_left_out as u64, end, &mut visit)
    }

    /// How many there are.
    pub fn n_bytes(&self) -> usize {
        match self {
            Content::Held(bytes) => bytes.len(),
            Content::Part(part) => part.end as usize - part.n_left_out + part.bytes.len(),
        }
    }

    /// Whether a file holds just these bytes.
    pub fn is_in(&self, sys: &dyn Sys, file: &Handle) -> SysResult<bool> {
        let Some(end) = self.start_of(sys, file)? else { return Ok(false) };
        Ok(retry(|| sys.read_at(file, &mut [0], end))? == 0)
    }

    /// Where these bytes end in a file that starts with them; `None` if it does not.
    pub fn start_of(&self, sys: &dyn Sys, file: &Handle) -> SysResult<Option<u64>> {
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
