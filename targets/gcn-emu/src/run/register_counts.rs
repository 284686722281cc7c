//! Register counts that are compared in one operation.

/// The numbers of scalar, vector and accumulation registers, each in 16 bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegisterCounts(u64);

impl RegisterCounts {
    /// The highest bit of each number, which no number has.
    const GUARDS: u64 = 0x8000_8000_8000;

    pub(super) fn new(counts: [u16; 3]) -> Self {
        let [scalar, vector, accumulation] = counts.map(u64::from);
        Self(accumulation << 32 | vector << 16 | scalar)
    }

    /// Whether none of the others is larger.
    #[inline]
    pub(super) fn include(self, others: Self) -> bool {
        ((self.0 | Self::GUARDS) - others.0) & Self::GUARDS == Self::GUARDS
    }

    /// The numbers.
    pub(super) fn counts(self) -> [u16; 3] {
        [0, 16, 32].map(|shift| (self.0 >> shift) as u16)
    }
}
