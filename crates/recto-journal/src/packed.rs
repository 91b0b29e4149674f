//! Bytes as they are stored: compressed where that makes them smaller.

/// Shorter bytes are not worth compressing.
const MIN_COMPRESSED: usize = 128;

/// Higher levels save a few percent, and take several times as long.
const LEVEL: i32 = 1;

/// The largest content that is unpacked.
const MAX_UNPACKED: usize = 256 << 20;

const RAW: u8 = 0;
const ZSTD: u8 = 1;

/// Packs bytes.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    if bytes.len() >= MIN_COMPRESSED
        && let Ok(mut packed) = zstd::bulk::compress(bytes, LEVEL)
        && packed.len() + 8 < bytes.len()
    {
        packed.splice(0..0, (bytes.len() as u32).to_le_bytes());
        packed.insert(0, ZSTD);
        return packed;
    }
    [&[RAW], bytes].concat()
}

/// Unpacks bytes. Returns `None` if they are damaged.
pub fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    match packed.split_first()? {
        (&RAW, bytes) => Some(bytes.to_vec()),
        (&ZSTD, rest) => {
            let (n_bytes, compressed) = rest.split_first_chunk()?;
            let n_bytes = u32::from_le_bytes(*n_bytes) as usize;
            if n_bytes > MAX_UNPACKED {
                return None;
            }
            let bytes = zstd::bulk::decompress(compressed, n_bytes).ok()?;
            (bytes.len() == n_bytes).then_some(bytes)
        }
        _ => None,
    }
}

/// Returns the size of bytes after unpacking, if they are not damaged.
pub fn n_unpacked(packed: &[u8]) -> usize {
    match packed.split_first() {
        Some((&ZSTD, rest)) => {
            rest.first_chunk().map_or(0, |n_bytes| u32::from_le_bytes(*n_bytes) as usize)
        }
        Some((_, bytes)) => bytes.len(),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacks_what_it_packed() {
        let random: Vec<u8> =
            (0..1000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for bytes in [&b""[..], b"short", &[7; 5000], &random] {
            assert_eq!(unpack(&pack(bytes)).as_deref(), Some(bytes));
            assert_eq!(n_unpacked(&pack(bytes)), bytes.len());
        }
        assert!(pack(&[7; 5000]).len() < 100);
        for damaged in [&b""[..], b"\x02", b"\x01", b"\x01\xff\xff\xff\xff", b"\x01\x05\0\0\0abc"] {
            assert_eq!(unpack(damaged), None);
        }
    }
}
