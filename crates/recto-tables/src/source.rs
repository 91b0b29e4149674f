//! Sources of bytes.

use std::io::{self, Read};
use std::sync::Arc;

use crate::error::Result;

/// Bytes with random access. A preview reads only the bytes that it needs.
pub trait Source: Send + Sync {
    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Reads some bytes at an offset; returns 0 only at the end. Fails with [`Error::Stopped`] once
    /// the caller has cancelled.
    ///
    /// [`Error::Stopped`]: crate::Error::Stopped
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;
}

/// Bytes in memory.
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

/// The number of bytes from which a format is detected.
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

/// Reads `n_bytes`, or fewer at the end.
pub fn read_up_to(input: &mut dyn Read, n_bytes: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(n_bytes as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
