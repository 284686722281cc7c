//! The record of the first panic's location, for the host.

use core::mem::offset_of;

use shared_abi::image::{PANIC_FILE, PANIC_RECORDED, PanicRecord};
use shared_abi::words::{DeviceWords, Load, Store, SystemWords};

const STATE: usize = offset_of!(PanicRecord, state);
const LINE: usize = offset_of!(PanicRecord, line);
const COLUMN: usize = offset_of!(PanicRecord, column);
const FILE_LEN: usize = offset_of!(PanicRecord, file_len);
const FILE: usize = offset_of!(PanicRecord, file);

/// How often a thread with a later panic polls for the complete record: its trap would stop the
/// thread that writes it. Bounded, since a fault may have stopped that thread.
const POLLS: u32 = 1 << 12;

/// Writes a panic's file, line and column to `record`, or waits for the record of an earlier panic.
/// The first word of `claim` is 0 before the first panic. `pause` waits a little.
pub fn fill(
    claim: &impl DeviceWords,
    record: &impl SystemWords,
    (file, line, column): (&str, u32, u32),
    pause: impl Fn(),
) {
    // Lanes in lock-step leave this branch together, so the first has written before the others
    // poll.
    if claim.fetch_or_acquire(0, 1) == 0 {
        let file = file.as_bytes();
        let skipped = file.len().saturating_sub(PANIC_FILE);
        // Relaxed, all of these: the state is released after them.
        record.store32(LINE, line, Store::Relaxed);
        record.store32(COLUMN, column, Store::Relaxed);
        record.store32(FILE_LEN, (file.len() - skipped) as u32, Store::Relaxed);
        for (at, &byte) in file.iter().skip(skipped).enumerate() {
            record.store8(FILE + at, byte);
        }
        // Edge `P1`, device end: the host reads the rest of the record once it sees this.
        record.store32(STATE, PANIC_RECORDED, Store::Release);
        // The record arrives before the trap.
        record.fence();
    }
    for _ in 0..POLLS {
        // Relaxed: no other access depends on it.
        if record.load32(STATE, Load::Relaxed) == PANIC_RECORDED {
            return;
        }
        pause();
    }
}

#[cfg(test)]
mod tests {
    use core::cell::UnsafeCell;
    use core::panic::Location;

    use shared_abi::image::{PANIC_RECORDED, PanicRecord};
    use shared_abi::words::Coherent;

    use super::fill;

    fn filled(claim: u32, place: &Location<'_>) -> PanicRecord {
        let claim = UnsafeCell::new(u64::from(claim));
        let record = UnsafeCell::new([0u64; size_of::<PanicRecord>() / 8]);
        // SAFETY: aligned to 8 bytes, of this thread alone, and they outlive the words.
        unsafe {
            let claim = Coherent::new(claim.get().cast());
            let record = Coherent::new(record.get().cast());
            let place = (place.file(), place.line(), place.column());
            fill(&claim, &record, place, || {});
        }
        // SAFETY: the words are gone; the array has the record's size and alignment, all of it
        // initialised.
        unsafe { record.get().cast::<PanicRecord>().read() }
    }

    #[test]
    fn the_first_panic_is_recorded() {
        let place = Location::caller();
        let record = filled(0, place);
        let file = &record.file[..record.file_len as usize];
        assert_eq!(file, file!().as_bytes());
        assert_eq!(
            (record.state, record.line, record.column),
            (PANIC_RECORDED, place.line(), place.column())
        );
    }

    #[test]
    fn a_later_panic_leaves_the_record_alone() {
        let record = filled(1, Location::caller());
        assert_eq!((record.state, record.line, record.file_len), (0, 0, 0));
    }
}
