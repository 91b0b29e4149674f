//! The content of a file before or after a change: in memory, or as a patch of another file.
//!
//! Patches change files that are too large for memory. The new content is the old file with new
//! text in one range; the old content is the new file with the old text in that range.

use recto_platform::{Handle, Sys, SysError, SysResult};
use recto_text::digest::Digester;
use recto_text::{Digest, Tag};

use super::sys::retry;
use crate::RemovedContent;

/// The size of one read.
const PIECE: usize = 256 << 10;

/// The bytes of a file.
#[derive(Clone, Copy)]
pub enum ContentSource<'a> {
    /// All bytes are in memory.
    Memory(&'a [u8]),
    /// The bytes are those of another file except for one range.
    Patched(Patch<'a>),
}

/// The content that a file must still have before it is replaced or removed.
#[derive(Clone, Copy)]
pub enum ExpectedContent<'a> {
    /// These bytes.
    Bytes(ContentSource<'a>),
    /// The bytes of a file that was too large to keep them.
    Digest(Digest),
}

impl<'a> From<ContentSource<'a>> for ExpectedContent<'a> {
    fn from(source: ContentSource<'a>) -> Self {
        ExpectedContent::Bytes(source)
    }
}

impl<'a> From<&'a RemovedContent> for ExpectedContent<'a> {
    fn from(content: &'a RemovedContent) -> Self {
        match content {
            RemovedContent::Bytes(bytes) => ContentSource::Memory(bytes).into(),
            RemovedContent::Digest(digest) => ExpectedContent::Digest(*digest),
        }
    }
}

impl ExpectedContent<'_> {
    /// Returns whether a file has this content.
    pub fn matches(&self, sys: &dyn Sys, file: &Handle) -> SysResult<bool> {
        match self {
            ExpectedContent::Bytes(source) => source.matches(sys, file),
            ExpectedContent::Digest(digest) => Ok(digest_of(sys, file, |_| Ok(()))? == *digest),
        }
    }
}

/// Hashes a file in pieces.
pub fn digest_of(
    sys: &dyn Sys,
    file: &Handle,
    mut check: impl FnMut(u64) -> SysResult<()>,
) -> SysResult<Digest> {
    let mut digester = Digester::default();
    let mut buffer = vec![0; PIECE];
    let mut n_bytes = 0;
    loop {
        check(n_bytes)?;
        match retry(|| sys.read_at(file, &mut buffer, n_bytes))? {
            0 => return Ok(digester.finish()),
            n => {
                digester.push(&buffer[..n]);
                n_bytes += n as u64;
            }
        }
    }
}

/// A file with one range replaced.
#[derive(Clone, Copy)]
pub struct Patch<'a> {
    /// The unpatched file.
    pub base: &'a Handle,
    /// The offset of the range.
    pub start: u64,
    /// The number of bytes of `base` that the range replaces.
    pub n_replaced: usize,
    /// The end of the content in `base`; bytes appended after it are ignored.
    pub end: u64,
    /// The new bytes of the range.
    pub bytes: &'a [u8],
}

/// A change of a file's content.
#[derive(Clone, Copy)]
pub enum ContentChange<'a> {
    /// Replaces the whole content.
    Whole { before: &'a [u8], after: &'a [u8] },
    /// Replaces `before` at offset `start` in a file of `n_bytes` bytes.
    Range { start: u64, before: &'a [u8], after: &'a [u8], n_bytes: u64, digests: ChangeDigests },
}

/// The digests of the content before and after a change.
#[derive(Clone, Copy)]
pub struct ChangeDigests {
    pub before: Digest,
    pub after: Digest,
}

impl ContentChange<'_> {
    /// Returns the tags of the content before and after.
    pub fn tags(&self) -> (Tag, Tag) {
        match *self {
            Self::Whole { before, after } => (Tag::of(before), Tag::of(after)),
            Self::Range { digests, .. } => (digests.before.tag(), digests.after.tag()),
        }
    }

    /// Returns the digest of the new content, if most of it must be read from the old file.
    pub fn digest_to_verify(&self) -> Option<Digest> {
        match *self {
            Self::Whole { .. } => None,
            Self::Range { digests, .. } => Some(digests.after),
        }
    }

    /// Returns the old content. Bytes outside the changed range are read from the new file.
    pub fn before<'a>(&'a self, new: &'a Handle) -> ContentSource<'a> {
        match *self {
            Self::Whole { before, .. } => ContentSource::Memory(before),
            Self::Range { start, before, after, n_bytes, .. } => ContentSource::Patched(Patch {
                base: new,
                start,
                n_replaced: after.len(),
                end: n_bytes - before.len() as u64 + after.len() as u64,
                bytes: before,
            }),
        }
    }

    /// Returns the new content. Bytes outside the changed range are read from the old file.
    pub fn after<'a>(&'a self, old: &'a Handle) -> ContentSource<'a> {
        match *self {
            Self::Whole { after, .. } => ContentSource::Memory(after),
            Self::Range { start, before, after, n_bytes, .. } => ContentSource::Patched(Patch {
                base: old,
                start,
                n_replaced: before.len(),
                end: n_bytes,
                bytes: after,
            }),
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
            ContentSource::Patched(patch) => *patch,
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

    /// Returns the length.
    pub fn n_bytes(&self) -> usize {
        match self {
            ContentSource::Memory(bytes) => bytes.len(),
            ContentSource::Patched(patch) => {
                patch.end as usize - patch.n_replaced + patch.bytes.len()
            }
        }
    }

    /// Returns whether a file has exactly this content.
    pub fn matches(&self, sys: &dyn Sys, file: &Handle) -> SysResult<bool> {
        let Some(end) = self.prefix_end(sys, file)? else { return Ok(false) };
        Ok(retry(|| sys.read_at(file, &mut [0], end))? == 0)
    }

    /// Returns the offset where this content ends in a file that starts with it, or `None`.
    pub fn prefix_end(&self, sys: &dyn Sys, file: &Handle) -> SysResult<Option<u64>> {
        /// Ends the iteration. No system call used here returns it.
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
