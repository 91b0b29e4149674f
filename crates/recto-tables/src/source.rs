//! Where bytes come from.

use std::io::{self, Read};
use std::sync::Arc;

use crate::error::Result;

/// Bytes that can be read at any place. Nothing is read that the preview does not need.
pub trait Source: Send + Sync {
    /// How many bytes there are.
    fn size(&self) -> u64;

    /// Reads some bytes at a place; 0 only at the end. Fails with [`Error::Stopped`] once the
    /// caller has lost interest.
    ///
    /// [`Error::Stopped`]: crate::Error::Stopped
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;
}

/// Bytes at hand.
impl Source for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let n_bytes = buffer.len().min(self.len() - start);
        buffer[..n_bytes].copy_from_slice(&self[start..start + n_bytes]);
        Ok(n_bytes)
    }
}

/// How much of a file says what it is.
pub const HEAD_BYTES: usize = 64 * 1024;

/// Reads a source from its start to its end.
pub struct Reader {
    source: Arc<dyn Source>,
    offset: u64,
}

impl Reader {
    /// Starts at the first byte.
    pub fn new(source: Arc<dyn Source>) -> Reader {
        Reader { source, offset: 0 }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.source.read_at(buffer, self.offset)?;
        self.offset = self.offset.saturating_add(n_bytes as u64);
        Ok(n_bytes)
    }
}

/// Reads until there are `n_bytes` or no more.
pub fn read_up_to(input: &mut dyn Read, n_bytes: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(n_bytes as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
