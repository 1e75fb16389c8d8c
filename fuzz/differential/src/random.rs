//! Numbers that look random and are the same for the same seed, so that every line can be made again.

/// The state of a generator; two with the same seed give the same numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of the line with this number.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.rotate_left(32));
        random.next();
        random.0 ^= index;
        random
    }

    /// The next number (SplitMix64).
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`; 0 if `count` is.
    pub fn below(&mut self, count: usize) -> usize {
        let Ok(count) = u64::try_from(count) else { return 0 };
        usize::try_from(self.next().checked_rem(count).unwrap_or(0)).unwrap_or(0)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `all`.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
