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
}
