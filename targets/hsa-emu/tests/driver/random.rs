//! Random numbers for tests that try many inputs.

/// The number of inputs that the environment asks for.
pub(crate) fn rounds(default: u64) -> u64 {
    let rounds = std::env::var("REVOFF_TEST_ROUNDS");
    let rounds = rounds.ok().and_then(|text| text.parse().ok());
    rounds.unwrap_or(default)
}

/// A generator of random numbers (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x1234_5678_9abc_def1) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }
}
