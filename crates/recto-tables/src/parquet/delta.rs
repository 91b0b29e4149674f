//! Checks the lengths of delta-encoded texts before the library allocates memory for them.
//!
//! The encodings start with a count that the library trusts, and one of them builds each text on
//! the one before, so a page of kilobytes can expand to gigabytes.

/// Returns whether a page of `DELTA_LENGTH_BYTE_ARRAY` contains at most `n_values` lengths.
pub fn are_lengths_plausible(page: &[u8], n_values: usize) -> bool {
    Integers::parse(page).is_some_and(|lengths| lengths.n_values <= n_values as u64)
}

/// Returns the total bytes of the texts in a page of `DELTA_BYTE_ARRAY`, if there are at most
/// `n_values` and the page contains all lengths.
pub fn n_bytes_of_texts(page: &[u8], n_values: usize) -> Option<u64> {
    let mut n_bytes = 0_u64;
    let mut add = |length: i64| {
        n_bytes = n_bytes.checked_add(u64::try_from(length).ok()?)?;
        Some(())
    };
    let prefixes = Integers::parse(page).filter(|it| it.n_values <= n_values as u64)?;
    let rest = prefixes.visit(&mut add)?;
    let suffixes = Integers::parse(rest).filter(|it| it.n_values <= n_values as u64)?;
    suffixes.visit(&mut add)?;
    Some(n_bytes)
}

/// Integers in `DELTA_BINARY_PACKED`.
struct Integers<'a> {
    bytes: &'a [u8],
    n_per_block: u64,
    n_mini_blocks: u64,
    n_values: u64,
    first: i64,
}

impl<'a> Integers<'a> {
    fn parse(mut bytes: &'a [u8]) -> Option<Integers<'a>> {
        let n_per_block = varint(&mut bytes)?;
        let n_mini_blocks = varint(&mut bytes)?;
        let n_values = varint(&mut bytes)?;
        let first = zigzag(&mut bytes)?;
        let is_plausible = n_mini_blocks > 0
            && n_per_block < 1 << 24
            && n_per_block % n_mini_blocks == 0
            && (n_per_block / n_mini_blocks).is_multiple_of(8);
        is_plausible.then_some(Integers { bytes, n_per_block, n_mini_blocks, n_values, first })
    }

    /// Calls `visit` with each integer. Returns the bytes after the last one.
    fn visit(mut self, visit: &mut impl FnMut(i64) -> Option<()>) -> Option<&'a [u8]> {
        if self.n_values == 0 {
            return Some(self.bytes);
        }
        let mut value = self.first;
        visit(value)?;
        let mut n_left = self.n_values - 1;
        let n_per_mini_block = self.n_per_block / self.n_mini_blocks;
        while n_left > 0 {
            let min_delta = zigzag(&mut self.bytes)?;
            let (widths, rest) = self.bytes.split_at_checked(self.n_mini_blocks as usize)?;
            self.bytes = rest;
            for width in widths {
                if n_left == 0 {
                    break;
                }
                let n_bytes = usize::from(*width) * n_per_mini_block as usize / 8;
                let (packed, rest) = self.bytes.split_at_checked(n_bytes)?;
                self.bytes = rest;
                for index in 0..n_per_mini_block.min(n_left) {
                    let delta = unpack(packed, index as usize, usize::from(*width))?;
                    value = value.wrapping_add(min_delta).wrapping_add(delta as i64);
                    // Lengths have 32 bits and wrap around.
                    value = i64::from(value as i32);
                    visit(value)?;
                }
                n_left -= n_per_mini_block.min(n_left);
            }
        }
        Some(self.bytes)
    }
}

/// Returns the `index`-th integer of `width` bits, lowest bits first.
fn unpack(packed: &[u8], index: usize, width: usize) -> Option<u64> {
    if width > 64 {
        return None;
    }
    let mut value = 0;
    for bit in 0..width {
        let at = index * width + bit;
        value |= u64::from(packed[at / 8] >> (at % 8) & 1) << bit;
    }
    Some(value)
}

fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let value = varint(bytes)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}
