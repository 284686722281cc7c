//! Accesses of warps to mapped memory, grouped into transactions.

use std::ops::AddAssign;

use serde::Serialize;

/// The unit in which a GPU's caches fetch and mask.
const SECTOR_BYTES: u64 = 32;

/// The unit in which a GPU's caches allocate. No transaction spans two lines.
const LINE_BYTES: u64 = 128;

/// Lanes of the widest warp: a wave64.
const MAX_LANES: usize = 64;

/// Accesses of warps to mapped memory.
///
/// `N` is `u64` for counts and `f64` for averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic<N = u64> {
    /// Instructions of warps.
    pub instructions: N,
    /// Accesses of lanes.
    pub accesses: N,
    /// Bytes of all lanes' accesses. Bytes that several lanes access count once for each lane.
    pub bytes: N,
    /// Sectors of 32 bytes, each counted once for an instruction.
    pub sectors: N,
    /// Lines of 128 bytes, each counted once for an instruction.
    pub lines: N,
    /// Contiguous runs of bytes, cut at lines: what one write or one read request carries.
    pub transactions: N,
}

impl Traffic {
    /// Adds one instruction of a warp: the address and the size in bytes of each active lane's access.
    ///
    /// The order of the lanes is irrelevant. An instruction without active lanes counts nothing.
    ///
    /// # Panics
    ///
    /// If there are more than 64 lanes.
    pub fn add(&mut self, accesses: &[(u64, u32)]) {
        let mut lanes = [(0, 0); MAX_LANES];
        let lanes = &mut lanes[..accesses.len()];
        for (lane, &(first, bytes)) in lanes.iter_mut().zip(accesses) {
            debug_assert!(bytes > 0, "an access of no bytes");
            *lane = (
                first,
                first.saturating_add(u64::from(bytes).saturating_sub(1)),
            );
            self.bytes += u64::from(bytes);
        }
        lanes.sort_unstable();

        let Some((&(mut first, mut last), others)) = lanes.split_first() else {
            return;
        };
        self.instructions += 1;
        self.accesses += accesses.len() as u64;

        let mut sectors = Units::new(SECTOR_BYTES);
        let mut lines = Units::new(LINE_BYTES);
        let mut add_run = |first, last| {
            self.sectors += sectors.add(first, last);
            self.lines += lines.add(first, last);
            self.transactions += last / LINE_BYTES - first / LINE_BYTES + 1;
        };
        for &(next_first, next_last) in others {
            if next_first <= last.saturating_add(1) {
                last = last.max(next_last);
            } else {
                add_run(first, last);
                (first, last) = (next_first, next_last);
            }
        }
        add_run(first, last);
    }
}

impl<N> Traffic<N> {
    pub(crate) fn map<M>(self, convert: impl Fn(N) -> M) -> Traffic<M> {
        Traffic {
            instructions: convert(self.instructions),
            accesses: convert(self.accesses),
            bytes: convert(self.bytes),
            sectors: convert(self.sectors),
            lines: convert(self.lines),
            transactions: convert(self.transactions),
        }
    }
}

impl<N: AddAssign> AddAssign for Traffic<N> {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.accesses += other.accesses;
        self.bytes += other.bytes;
        self.sectors += other.sectors;
        self.lines += other.lines;
        self.transactions += other.transactions;
    }
}

/// Counts the aligned units that runs in ascending order touch, each unit once.
struct Units {
    bytes: u64,
    /// The first unit that is not counted yet.
    next: u64,
}

impl Units {
    fn new(bytes: u64) -> Self {
        Self { bytes, next: 0 }
    }

    /// The units of a run, from its first to its last byte, that no earlier run touched.
    fn add(&mut self, first: u64, last: u64) -> u64 {
        let end = last / self.bytes + 1;
        let added = end - self.next.max(first / self.bytes);
        self.next = end;
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sectors, lines and transactions of one instruction.
    fn group(accesses: &[(u64, u32)]) -> [u64; 3] {
        let mut traffic = Traffic::default();
        traffic.add(accesses);
        [traffic.sectors, traffic.lines, traffic.transactions]
    }

    /// Accesses of 32 lanes.
    fn warp(first: u64, stride: u64, bytes: u32) -> Vec<(u64, u32)> {
        (0..32).map(|lane| (first + stride * lane, bytes)).collect()
    }

    #[test]
    fn contiguous_lanes_share_transactions() {
        assert_eq!(group(&warp(0x1000, 16, 16)), [16, 4, 4]);
        assert_eq!(group(&warp(0x1000, 4, 4)), [4, 1, 1]);
    }

    #[test]
    fn strided_lanes_share_nothing() {
        assert_eq!(group(&warp(0x1000, 1024, 4)), [32, 32, 32]);
    }

    #[test]
    fn gaps_split_transactions_but_not_sectors_and_lines() {
        assert_eq!(group(&[(0, 4), (8, 4)]), [1, 1, 2]);
        assert_eq!(group(&[(0, 4), (64, 4)]), [2, 1, 2]);
        // Four bytes of every eight: 256 bytes.
        assert_eq!(group(&warp(0, 8, 4)), [8, 2, 32]);
    }

    #[test]
    fn unaligned_runs_are_cut_at_lines() {
        assert_eq!(group(&[(120, 16)]), [2, 2, 2]);
        assert_eq!(group(&[(120, 8), (128, 8)]), [2, 2, 2]);
        // Bytes 112 to 624.
        assert_eq!(group(&warp(112, 16, 16)), [17, 5, 5]);
    }

    #[test]
    fn equal_addresses_count_once() {
        let mut traffic = Traffic::default();
        traffic.add(&warp(0x1000, 0, 8));
        let expected = Traffic {
            instructions: 1,
            accesses: 32,
            bytes: 256,
            sectors: 1,
            lines: 1,
            transactions: 1,
        };
        assert_eq!(traffic, expected);
    }

    #[test]
    fn overlapping_accesses_form_one_run() {
        assert_eq!(group(&[(8, 16), (0, 16)]), [1, 1, 1]);
        assert_eq!(group(&[(0, 16), (4, 4), (12, 8)]), [1, 1, 1]);
        // The second access lies within the first, which reaches further than both.
        assert_eq!(group(&[(16, 16), (20, 4), (32, 4)]), [2, 1, 1]);
    }

    #[test]
    fn the_order_of_lanes_is_irrelevant() {
        let mut lanes = warp(0x1000, 16, 16);
        lanes.reverse();
        assert_eq!(group(&lanes), [16, 4, 4]);
        lanes.swap(3, 17);
        assert_eq!(group(&lanes), [16, 4, 4]);
    }

    #[test]
    fn no_active_lane_counts_nothing() {
        let mut traffic = Traffic::default();
        traffic.add(&[]);
        assert_eq!(traffic, Traffic::default());
    }

    #[test]
    fn the_last_byte_of_the_address_space_is_no_overflow() {
        assert_eq!(group(&[(u64::MAX, 1)]), [1, 1, 1]);
        assert_eq!(group(&[(u64::MAX - 3, 4), (u64::MAX, 1)]), [1, 1, 1]);
    }

    #[test]
    fn a_wave_of_64_lanes_fits() {
        let lanes: Vec<_> = (0..64).map(|lane| (16 * lane, 16)).collect();
        assert_eq!(group(&lanes), [32, 8, 8]);
    }

    #[test]
    #[should_panic = "out of range"]
    fn more_lanes_than_a_wave_are_rejected() {
        group(&[(0, 4); 65]);
    }

    #[test]
    fn instructions_add_up_without_sharing() {
        let mut traffic = Traffic::default();
        traffic.add(&[(0, 4)]);
        traffic.add(&[(4, 4)]);
        let mut sum = traffic;
        sum += traffic;
        let expected = Traffic {
            instructions: 4,
            accesses: 4,
            bytes: 16,
            sectors: 4,
            lines: 4,
            transactions: 4,
        };
        assert_eq!(sum, expected);
    }
}
