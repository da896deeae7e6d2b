//! Randomness that is repeatable from a seed.

/// Pseudorandom numbers from a seed.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// The numbers of this seed.
    pub(super) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xa5a5)
    }

    /// The next number below `sides`.
    pub(super) fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = ((self.0 >> 33) ^ (self.0 >> 11)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 17) % sides.max(1)
    }

    /// Returns true once in this many times on average.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these values.
    pub(super) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}
