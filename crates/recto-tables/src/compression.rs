//! Inflates gzip and zstd as a stream, within limits.
//!
//! A read fails with an [`io::Error`] that wraps an [`Error`].

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use crate::error::{Error, Result};
use crate::source::{Reader, Source};

/// The most bytes inflated from one file. A bomb of zeros takes about a second to get there.
pub(crate) const MAX_INFLATED: u64 = 1 << 30;

/// The largest window of a zstd frame, as a power of two: 8 MiB. RFC 8878 asks every decoder for
/// that much, and levels up to 19 use it; only `--ultra` and `--long` exceed it.
const MAX_WINDOW_LOG: u32 = 23;

/// How much may be read beyond twice the output. Stops files of empty members or frames, which cost
/// far more time than their size suggests.
const MAX_BARREN: u64 = 16 << 20;

const N_BUFFERED: usize = 64 << 10;

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// RFC 1952, one member or several.
    Gzip,
    /// RFC 8878, one frame or several.
    Zstd,
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
        })
    }
}

/// Returns a reader of the inflated bytes, which inflates on demand.
pub fn inflate(source: Arc<dyn Source>, kind: Codec) -> Result<Inflated> {
    let compressed = Compressed { reader: Reader::new(source), n_read: 0, n_allowed: 0 };
    let compressed = BufReader::with_capacity(N_BUFFERED, compressed);
    let decoder = match kind {
        Codec::Gzip => Decoder::Gzip(Some(Box::new(GzDecoder::new(compressed)))),
        Codec::Zstd => {
            let decoder = ZstdDecoder::with_buffer(compressed).and_then(|mut decoder| {
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                Ok(decoder)
            });
            Decoder::Zstd(decoder.map_err(|error| translate(error, kind))?)
        }
    };
    Ok(Inflated { kind, decoder, n_inflated: 0 })
}

/// The inflated bytes, as a stream.
pub struct Inflated {
    kind: Codec,
    decoder: Decoder,
    n_inflated: u64,
}

type Member = GzDecoder<BufReader<Compressed>>;

enum Decoder {
    /// The current member; `None` after the last one.
    Gzip(Option<Box<Member>>),
    Zstd(ZstdDecoder<'static, BufReader<Compressed>>),
}

impl Read for Inflated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let n_allowed = (2 * self.n_inflated).saturating_add(MAX_BARREN);
        let read = match &mut self.decoder {
            Decoder::Gzip(member) => read_members(member, buffer, n_allowed),
            Decoder::Zstd(decoder) => {
                decoder.get_mut().get_mut().n_allowed = n_allowed;
                decoder.read(buffer)
            }
        };
        let n_bytes = read.map_err(|error| translate(error, self.kind))?;
        self.n_inflated += n_bytes as u64;
        if self.n_inflated > MAX_INFLATED {
            let cause = format!("it inflates to more than {} MiB", MAX_INFLATED >> 20);
            return Err(Error::TooLarge { cause }.into());
        }
        Ok(n_bytes)
    }
}

/// Reads on, into the next member if one has ended.
fn read_members(
    member: &mut Option<Box<Member>>,
    buffer: &mut [u8],
    n_allowed: u64,
) -> io::Result<usize> {
    while let Some(decoder) = member {
        decoder.get_mut().get_mut().n_allowed = n_allowed;
        let n_bytes = decoder.read(buffer)?;
        if n_bytes > 0 {
            return Ok(n_bytes);
        }
        // Bytes that do not look like another member are padding, as in gzip itself.
        let has_next = decoder.get_mut().fill_buf()?.first() == Some(&0x1f);
        let ended = member.take().filter(|_| has_next);
        *member = ended.map(|it| Box::new(GzDecoder::new(it.into_inner())));
    }
    Ok(0)
}

/// The compressed bytes, up to the limit on input that inflates to almost nothing.
struct Compressed {
    reader: Reader,
    n_read: u64,
    n_allowed: u64,
}

impl Read for Compressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.n_read > self.n_allowed {
            let cause = format!("{} MiB of it inflate to next to nothing", self.n_read >> 20);
            return Err(Error::TooLarge { cause }.into());
        }
        let n_bytes = self.reader.read(buffer)?;
        self.n_read += n_bytes as u64;
        Ok(n_bytes)
    }
}

/// Describes what is wrong with the compressed bytes. Errors of this crate pass unchanged.
fn translate(error: io::Error, kind: Codec) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Error::Broken { cause: format!("its {kind} data ends too early") };
    }
    let message = error.to_string();
    // The library reports errors only as text.
    if message.contains("too much memory") {
        let cause = format!(
            "its {kind} data needs a window of more than {} MiB",
            1 << MAX_WINDOW_LOG >> 20
        );
        return Error::TooLarge { cause };
    }
    Error::Broken { cause: format!("its {kind} data is damaged: {message}") }
}

#[cfg(test)]
mod tests;
