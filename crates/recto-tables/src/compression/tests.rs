//! Members, frames, damage and bombs.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::stream::raw::CParameter;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn inflated(compressed: Vec<u8>, kind: Codec) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    inflate(Arc::new(compressed), kind)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns how many bytes are read before the end or an error.
fn drained(compressed: Vec<u8>, kind: Codec) -> (u64, Result<()>) {
    let mut inflated = inflate(Arc::new(compressed), kind).unwrap();
    let mut buffer = vec![0; 1 << 20];
    let mut n_bytes = 0;
    loop {
        match inflated.read(&mut buffer) {
            Ok(0) => return (n_bytes, Ok(())),
            Ok(n_read) => n_bytes += n_read as u64,
            Err(error) => return (n_bytes, Err(error.into())),
        }
    }
}

const TEXT: &[u8] = b"a,b\n1,2\n";

#[test]
fn members_and_frames_are_joined() {
    let skippable = [b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc".as_slice(), &zstd(TEXT)].concat();
    for (compressed, kind, n_times) in [
        (gzip(TEXT), Codec::Gzip, 1),
        (zstd(TEXT), Codec::Zstd, 1),
        ([gzip(TEXT), gzip(b""), gzip(TEXT)].concat(), Codec::Gzip, 2),
        ([zstd(TEXT), zstd(b""), zstd(TEXT)].concat(), Codec::Zstd, 2),
        ([gzip(TEXT), vec![0; 512]].concat(), Codec::Gzip, 1),
        (skippable, Codec::Zstd, 1),
        (gzip(b""), Codec::Gzip, 0),
        (zstd(b""), Codec::Zstd, 0),
    ] {
        assert_eq!(inflated(compressed, kind), Ok(TEXT.repeat(n_times)), "{kind} {n_times}");
    }
}

#[test]
fn damage_is_an_error_after_the_intact_values() {
    let bytes: Vec<u8> =
        (0..400_000_u32).flat_map(|n| n.wrapping_mul(2654435761).to_le_bytes()).collect();
    for (compressed, kind) in [(gzip(&bytes), Codec::Gzip), (zstd(&bytes), Codec::Zstd)] {
        let ends_early = Error::Broken { cause: format!("its {kind} data ends too early") };
        let half = compressed[..compressed.len() / 2].to_vec();
        let (n_bytes, outcome) = drained(half, kind);
        assert_eq!(outcome, Err(ends_early.clone()));
        assert!(n_bytes > 100_000, "{kind} {n_bytes}");
        for n_cut in 1..12 {
            let cut = compressed[..compressed.len() - n_cut].to_vec();
            assert_eq!(inflated(cut, kind), Err(ends_early.clone()), "{kind} -{n_cut}");
        }
        let mut flipped = compressed;
        flipped[1000..1100].fill(0xff);
        assert!(matches!(inflated(flipped, kind), Err(Error::Broken { .. })), "{kind}");
        assert!(matches!(inflated(b"x".repeat(99), kind), Err(Error::Broken { .. })), "{kind}");
    }
    // The checksum is verified.
    let mut flipped = gzip(TEXT);
    let at = flipped.len() - 8;
    flipped[at] ^= 1;
    assert!(matches!(inflated(flipped, Codec::Gzip), Err(Error::Broken { .. })));
}

#[test]
fn a_bomb_ends_at_the_limit_in_bounded_time() {
    let mut zeros = zstd::Encoder::new(Vec::new(), 1).unwrap();
    let mut gzip_zeros = GzEncoder::new(Vec::new(), Compression::fast());
    // A quarter of the limit, five times.
    let piece = vec![0; 1 << 20];
    for _ in 0..256 {
        zeros.write_all(&piece).unwrap();
        gzip_zeros.write_all(&piece).unwrap();
    }
    for (bomb, kind) in
        [(zeros.finish().unwrap(), Codec::Zstd), (gzip_zeros.finish().unwrap(), Codec::Gzip)]
    {
        let start = Instant::now();
        let (n_bytes, outcome) = drained(bomb.repeat(5), kind);
        let cause = "it inflates to more than 1024 MiB".into();
        assert_eq!(outcome, Err(Error::TooLarge { cause }));
        assert!(n_bytes <= MAX_INFLATED && start.elapsed() < Duration::from_secs(30), "{kind}");
    }
}

#[test]
fn rejects_a_file_of_empty_members() {
    for (empty, kind) in [(gzip(b""), Codec::Gzip), (zstd(b""), Codec::Zstd)] {
        let many = empty.repeat((MAX_BARREN as usize + (1 << 20)) / empty.len());
        let (n_bytes, outcome) = drained(many, kind);
        assert_eq!(n_bytes, 0);
        assert!(matches!(outcome, Err(Error::TooLarge { .. })), "{kind} {outcome:?}");
    }
}

#[test]
fn rejects_a_window_beyond_the_limit() {
    for (window_log, is_fine) in [(MAX_WINDOW_LOG, true), (MAX_WINDOW_LOG + 1, false)] {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.set_parameter(CParameter::WindowLog(window_log)).unwrap();
        encoder.write_all(TEXT).unwrap();
        let outcome = inflated(encoder.finish().unwrap(), Codec::Zstd);
        let cause = "its zstd data needs a window of more than 8 MiB".into();
        let expected = if is_fine { Ok(TEXT.to_vec()) } else { Err(Error::TooLarge { cause }) };
        assert_eq!(outcome, expected);
    }
}

#[test]
fn errors_of_the_source_pass_unchanged() {
    struct Gone;
    impl Source for Gone {
        fn size(&self) -> u64 {
            1
        }
        fn read_at(&self, _: &mut [u8], _: u64) -> Result<usize> {
            Err(Error::Stopped)
        }
    }
    for kind in [Codec::Gzip, Codec::Zstd] {
        let mut byte = [0];
        let error = inflate(Arc::new(Gone), kind).unwrap().read(&mut byte).unwrap_err();
        assert_eq!(Error::from(error), Error::Stopped);
    }
}
