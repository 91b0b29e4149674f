//! Inflates a page into exactly as many bytes as its header says.

use std::io::Read;

use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;

use super::footer::broken;
use crate::error::{Error, Result};

/// Inflates a page. The caller has checked `n_bytes`.
pub fn inflate(codec: Compression, compressed: &[u8], n_bytes: usize) -> Result<Vec<u8>> {
    let inflated = match codec {
        Compression::UNCOMPRESSED => Some(compressed.to_vec()),
        Compression::SNAPPY => {
            let mut inflated = vec![0; n_bytes];
            let outcome = snap::raw::Decoder::new().decompress(compressed, &mut inflated);
            outcome.ok().map(|n_written| truncated(inflated, n_written))
        }
        Compression::GZIP(_) => read(MultiGzDecoder::new(compressed), n_bytes),
        Compression::BROTLI(_) => read(Decompressor::new(compressed, 4096), n_bytes),
        Compression::ZSTD(_) => zstd::bulk::decompress(compressed, n_bytes).ok(),
        Compression::LZ4_RAW => lz4(compressed, n_bytes),
        // Hadoop puts sizes before each block, which older writers omitted.
        Compression::LZ4 => hadoop_lz4(compressed, n_bytes).or_else(|| lz4(compressed, n_bytes)),
        Compression::LZO => {
            return Err(broken("it is compressed with LZO, which is not known here"));
        }
    };
    match inflated {
        Some(inflated) if inflated.len() == n_bytes => Ok(inflated),
        _ => Err(Error::Broken { cause: format!("a page is damaged ({codec})") }),
    }
}

/// Inflates the first bytes of a page, of which the end may be missing; `None` if the codec has to
/// inflate all of it.
pub fn inflate_start(codec: Compression, compressed: &[u8], n_bytes: usize) -> Option<Vec<u8>> {
    let start = |reader: &mut dyn Read| {
        let mut inflated = Vec::new();
        // An error at the missing end does not matter.
        let _ = reader.take(n_bytes as u64).read_to_end(&mut inflated);
        inflated
    };
    match codec {
        Compression::UNCOMPRESSED => Some(start(&mut &*compressed)),
        Compression::SNAPPY => Some(snappy_start(compressed, n_bytes)),
        Compression::GZIP(_) => Some(start(&mut MultiGzDecoder::new(compressed))),
        Compression::BROTLI(_) => Some(start(&mut Decompressor::new(compressed, 4096))),
        Compression::ZSTD(_) => {
            Some(start(&mut zstd::stream::read::Decoder::with_buffer(compressed).ok()?))
        }
        // A block starts with literals, whose number is in the upper bits; a size from Hadoop does not.
        Compression::LZ4 if compressed.first().is_some_and(|byte| *byte < 16) => {
            Some(hadoop_lz4_start(compressed, n_bytes))
        }
        Compression::LZ4 | Compression::LZ4_RAW => Some(lz4_start(compressed, n_bytes)),
        Compression::LZO => None,
    }
}

/// Inflates Snappy up to `n_bytes` or the first error. The library only inflates all.
fn snappy_start(compressed: &[u8], n_bytes: usize) -> Vec<u8> {
    let mut inflated = Vec::new();
    let n_in_size = compressed.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let mut rest = compressed.get(n_in_size..).unwrap_or_default();
    while inflated.len() < n_bytes && snappy_element(&mut rest, &mut inflated).is_some() {}
    inflated.truncate(n_bytes);
    inflated
}

/// Reads a literal, or copies bytes that were inflated before.
fn snappy_element(rest: &mut &[u8], inflated: &mut Vec<u8>) -> Option<()> {
    let tag = number(take(rest, 1)?);
    let (n_bytes, offset) = match (tag & 3, tag >> 2) {
        (0, n @ 0..60) => {
            inflated.extend_from_slice(take(rest, n + 1)?);
            return Some(());
        }
        (0, n) => {
            let n_bytes = number(take(rest, n - 59)?) + 1;
            inflated.extend_from_slice(take(rest, n_bytes)?);
            return Some(());
        }
        (1, n) => ((n & 7) + 4, (n >> 3) << 8 | number(take(rest, 1)?)),
        (2, n) => (n + 1, number(take(rest, 2)?)),
        (_, n) => (n + 1, number(take(rest, 4)?)),
    };
    repeat(inflated, n_bytes, offset)
}

/// Inflates a block of LZ4 up to `n_bytes` or the first error. The library only inflates all.
fn lz4_start(mut rest: &[u8], n_bytes: usize) -> Vec<u8> {
    let mut inflated = Vec::new();
    while inflated.len() < n_bytes && lz4_sequence(&mut rest, &mut inflated, n_bytes).is_some() {}
    inflated.truncate(n_bytes);
    inflated
}

/// Reads literals, then copies bytes that were inflated before, at most `n_bytes`.
fn lz4_sequence(rest: &mut &[u8], inflated: &mut Vec<u8>, n_bytes: usize) -> Option<()> {
    let tag = number(take(rest, 1)?);
    let n_literals = lz4_length(tag >> 4, rest)?;
    inflated.extend_from_slice(take(rest, n_literals.min(rest.len()))?);
    let offset = number(take(rest, 2)?);
    let n_repeated = lz4_length(tag & 15, rest)? + 4;
    repeat(inflated, n_repeated.min(n_bytes), offset)
}

/// Adds the bytes that follow if the four bits of a length are all set.
fn lz4_length(n: usize, rest: &mut &[u8]) -> Option<usize> {
    let (mut n_bytes, mut has_more) = (n, n == 15);
    while has_more {
        let n_more = number(take(rest, 1)?);
        n_bytes += n_more;
        has_more = n_more == 255;
    }
    Some(n_bytes)
}

fn hadoop_lz4_start(mut compressed: &[u8], n_bytes: usize) -> Vec<u8> {
    let mut inflated = Vec::new();
    while let Some((sizes, rest)) = compressed.split_first_chunk::<8>()
        && inflated.len() < n_bytes
    {
        let [.., a, b, c, d] = *sizes;
        let n_compressed = u32::from_be_bytes([a, b, c, d]) as usize;
        let (block, rest) = rest.split_at(n_compressed.min(rest.len()));
        inflated.append(&mut lz4_start(block, n_bytes - inflated.len()));
        compressed = rest;
    }
    inflated
}

fn take<'a>(rest: &mut &'a [u8], n_bytes: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(n_bytes)?;
    *rest = after;
    Some(taken)
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte))
}

fn repeat(inflated: &mut Vec<u8>, n_bytes: usize, offset: usize) -> Option<()> {
    let start = inflated.len().checked_sub(offset).filter(|_| offset > 0)?;
    (start..start + n_bytes).for_each(|at| inflated.push(inflated[at]));
    Some(())
}

/// Reads one byte more than expected to detect a page that is larger than its header says.
fn read(reader: impl Read, n_bytes: usize) -> Option<Vec<u8>> {
    let mut inflated = Vec::new();
    reader.take(n_bytes as u64 + 1).read_to_end(&mut inflated).ok()?;
    Some(inflated)
}

fn lz4(compressed: &[u8], n_bytes: usize) -> Option<Vec<u8>> {
    let mut inflated = vec![0; n_bytes];
    let n_written = lz4_flex::block::decompress_into(compressed, &mut inflated).ok()?;
    Some(truncated(inflated, n_written))
}

fn hadoop_lz4(mut compressed: &[u8], n_bytes: usize) -> Option<Vec<u8>> {
    let mut inflated = vec![0; n_bytes];
    let mut n_written = 0_usize;
    while !compressed.is_empty() {
        let (n_inflated, rest) = compressed.split_first_chunk()?;
        let (n_compressed, rest) = rest.split_first_chunk()?;
        let n_inflated = u32::from_be_bytes(*n_inflated) as usize;
        let (block, rest) = rest.split_at_checked(u32::from_be_bytes(*n_compressed) as usize)?;
        let room = inflated.get_mut(n_written..n_written.checked_add(n_inflated)?)?;
        if lz4_flex::block::decompress_into(block, room).ok()? != n_inflated {
            return None;
        }
        n_written += n_inflated;
        compressed = rest;
    }
    Some(truncated(inflated, n_written))
}

fn truncated(mut bytes: Vec<u8>, n_bytes: usize) -> Vec<u8> {
    bytes.truncate(n_bytes);
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn lz4_is_known_with_and_without_the_sizes_of_hadoop() {
        let text = b"repeated repeated repeated repeated";
        let (first, second) = text.split_at(20);
        let block = |text: &[u8]| {
            let block = lz4_flex::block::compress(text);
            let sizes = [(text.len() as u32).to_be_bytes(), (block.len() as u32).to_be_bytes()];
            [sizes.concat(), block].concat()
        };
        let hadoop = [block(first), block(second)].concat();
        let raw = lz4_flex::block::compress(text);
        for (codec, compressed, is_known) in [
            (Compression::LZ4, &hadoop, true),
            (Compression::LZ4, &raw, true),
            (Compression::LZ4_RAW, &raw, true),
            (Compression::LZ4_RAW, &hadoop, false),
        ] {
            let inflated = inflate(codec, compressed, text.len()).ok();
            assert_eq!(inflated.as_deref(), is_known.then_some(&text[..]), "{codec}");
            for n_bytes in [0, text.len() - 1, text.len() + 1] {
                assert!(inflate(codec, compressed, n_bytes).is_err(), "{codec} {n_bytes}");
            }
        }
    }

    #[test]
    fn the_start_is_the_start_of_the_whole() {
        let mut text = Vec::new();
        for number in 0_u32..20_000 {
            text.extend(
                format!("{} {};", number * 7_919 % 1_013, "ab".repeat(number as usize % 40))
                    .bytes(),
            );
        }
        let compressed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
        for n_bytes in [0, 1, 60, 4_096, 100_000, text.len(), text.len() + 9] {
            let expected = &text[..n_bytes.min(text.len())];
            assert_eq!(snappy_start(&compressed, n_bytes), expected, "{n_bytes}");
        }
        for n_bytes in 0..200 {
            let cut = snappy_start(&compressed[..n_bytes], usize::MAX);
            assert!(text.starts_with(&cut));
        }
        let block = lz4_flex::block::compress(&text);
        let size = |n_bytes: usize| (n_bytes as u32).to_be_bytes();
        let sizes = [size(text.len()), size(block.len())].concat();
        let hadoop = [&sizes[..], &block, &sizes, &block].concat();
        for (codec, compressed, whole) in [
            (Compression::LZ4_RAW, &block, &text),
            (Compression::LZ4, &block, &text),
            (Compression::LZ4, &hadoop, &text.repeat(2)),
        ] {
            for n_bytes in [0, 1, 60, 4_096, 100_000, whole.len(), whole.len() + 9] {
                let expected = &whole[..n_bytes.min(whole.len())];
                let start = inflate_start(codec, compressed, n_bytes).unwrap();
                assert_eq!(start, expected, "{codec} {n_bytes}");
            }
            for n_bytes in 0..200 {
                let cut = inflate_start(codec, &compressed[..n_bytes], usize::MAX).unwrap();
                assert!(whole.starts_with(&cut), "{codec} {n_bytes}");
            }
        }
        let zstd = zstd::encode_all(text.as_slice(), 3).unwrap();
        let level = parquet::basic::ZstdLevel::default();
        let start =
            inflate_start(Compression::ZSTD(level), &zstd[..zstd.len() / 2], 10_000).unwrap();
        assert_eq!(start, &text[..10_000]);
    }
}
