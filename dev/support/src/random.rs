//! Pseudo-random numbers that are the same in every run.

/// A xorshift generator.
pub struct Random(u64);

impl Random {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Random {
        // Spreads adjacent seeds, and avoids 0, which the generator never leaves.
        Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns a number in `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % bound
    }
}
