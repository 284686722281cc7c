//! Times counted in buckets, so that a kernel needs little memory however long it
//! runs: exact below 2048 ticks, within a thousandth above.

/// Buckets of an octave, as a power of two.
const BITS: u32 = 10;

/// Longer times (half a minute of a fast GPU's) count as this one.
const MAX_TICKS: u64 = (1 << 36) - 1;

/// Number of buckets.
pub const COUNT: usize = bucket(MAX_TICKS) + 1;

/// The bucket of a time in ticks.
#[must_use]
pub const fn bucket(ticks: u64) -> usize {
    let ticks = if ticks > MAX_TICKS { MAX_TICKS } else { ticks };
    // Times below two octaves of buckets have one each.
    let shift = (u64::BITS - ticks.leading_zeros()).saturating_sub(BITS + 1);
    ((shift as usize) << BITS) + (ticks >> shift) as usize
}

/// The shortest time, in ticks, that is counted in a bucket.
#[must_use]
pub const fn shortest(bucket: usize) -> u64 {
    let shift = (bucket >> BITS).saturating_sub(1);
    ((bucket - (shift << BITS)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_starts_at_its_shortest_time() {
        for index in 0..COUNT {
            assert_eq!(bucket(shortest(index)), index);
            if index > 0 {
                assert_eq!(bucket(shortest(index) - 1), index - 1);
            }
        }
    }

    #[test]
    fn times_are_exact_to_a_thousandth() {
        for ticks in [0, 1, 2047, 2048, 2049, 123_456, 7_000_000_001, MAX_TICKS] {
            let short = shortest(bucket(ticks));
            assert!(
                short <= ticks && (ticks - short) * 1000 <= ticks,
                "{ticks} counts as {short}"
            );
        }
        assert_eq!(bucket(u64::MAX), COUNT - 1);
    }
}
