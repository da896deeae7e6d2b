//! Randomness that is repeatable from one number.

/// A stream of numbers that is the same for the same seed: SplitMix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        // Adjacent seeds must not begin with adjacent streams.
        let mut rng = Self(seed ^ 0x6a09_e667_f3bc_c909);
        rng.bits();
        rng
    }

    /// The next number.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; zero if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.bits() % bound as u64) as usize }
    }

    /// A number from `low` up to and including `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Returns true in `times` of a thousand calls on average.
    pub fn happens(&mut self, times: u32) -> bool {
        self.bits() % 1_000 < u64::from(times)
    }

    /// One of several values.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.below(of.len())) }
    }

    /// Another stream, determined by this one.
    pub fn fork(&mut self) -> Self {
        Self::new(self.bits())
    }
}
