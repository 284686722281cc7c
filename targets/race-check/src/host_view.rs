//! The device's knowledge of the host's accesses to eight bytes.

use super::party::Party;

/// The host's accesses to eight bytes; times are ticks.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The last value that the device knows, and the bytes of it that are known.
    value: [u8; 8],
    known: u8,
    /// The last time at which that value was there.
    verified: [u64; 8],
    /// Bytes that no device thread has written since the host.
    pub(super) by_host: u8,
    /// A time before the host's last write.
    pub(super) written_after: [u64; 8],
    /// The time of the host's last reported read.
    pub(super) read_at: [u64; 8],
}

fn bytes_of(mask: u8) -> impl Iterator<Item = usize> {
    (0..8).filter(move |byte| (mask >> byte) & 1 != 0)
}

/// The eight bytes of a cell with the value of an access to a part of it.
fn spread(address: u64, value: u64) -> [u8; 8] {
    (value << (address % 8 * 8)).to_le_bytes()
}

impl View {
    /// A view without known bytes.
    pub(super) fn new() -> Self {
        Self {
            by_host: 0xff,
            ..Self::default()
        }
    }

    /// A view of a cell that had this value at a time.
    pub(super) fn of(value: [u8; 8], at: u64) -> Self {
        Self {
            value,
            known: 0xff,
            verified: [at; 8],
            ..Self::new()
        }
    }

    /// Compares with the current value. Returns the bytes that the host has changed.
    pub(super) fn observe(&mut self, address: u64, mask: u8, value: u64, now: u64) -> u8 {
        let value = spread(address, value);
        let mut changed = 0;
        for byte in bytes_of(mask) {
            let bit = 1 << byte;
            if self.known & bit != 0 && self.value[byte] != value[byte] {
                changed |= bit;
                self.by_host |= bit;
                self.written_after[byte] = self.verified[byte];
            }
            self.known |= bit;
            self.value[byte] = value[byte];
            self.verified[byte] = now;
        }
        changed
    }

    /// Records a store of the device.
    pub(super) fn leave(&mut self, address: u64, mask: u8, value: u64, now: u64) {
        let value = spread(address, value);
        for byte in bytes_of(mask) {
            self.value[byte] = value[byte];
            self.verified[byte] = now;
        }
        self.known |= mask;
        self.by_host &= !mask;
    }

    /// An access of the host to these bytes that is not observed by a clock with the tick `known`.
    pub(super) fn unknown(&self, mask: u8, wrote: bool, known: u64) -> Option<Party> {
        let is_later = |at: u64| at >= known;
        if bytes_of(mask & self.by_host).any(|byte| is_later(self.written_after[byte])) {
            return Some(Party::Host);
        }
        let has_read = wrote && bytes_of(mask).any(|byte| is_later(self.read_at[byte]));
        has_read.then_some(Party::HostReads)
    }
}
