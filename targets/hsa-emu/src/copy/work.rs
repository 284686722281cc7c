//! Copies: operations, with the signals before and after them.

use crate::memory::Memory;
use crate::signal::Use;
use crate::status::{Answer, Status};

/// A side of a copy of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) address: u64,
    /// Bytes from one row to the next, and from one slice to the next.
    pub(crate) pitch: u64,
    pub(crate) slice: u64,
}

/// A copy of rows: bytes of each, rows of each slice, and slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rect {
    pub(crate) to: Side,
    pub(crate) from: Side,
    pub(crate) range: [u64; 3],
}

/// Bytes to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Line { to: u64, from: u64, len: usize },
    Rect(Rect),
}

/// A copy with its signals.
pub(crate) struct Work {
    pub(crate) operation: Operation,
    /// Whether hardware performs the copy by a kernel, which waits for the GPU's other kernels.
    pub(crate) is_kernel: bool,
    pub(crate) after: Vec<Use>,
    pub(crate) done: Option<Use>,
}

impl Side {
    /// The address of a row, and its number of bytes.
    fn row(&self, y: u64, z: u64) -> Option<u64> {
        let rows = y.checked_mul(self.pitch)?;
        let slices = z.checked_mul(self.slice)?;
        self.address.checked_add(rows)?.checked_add(slices)
    }

    /// Whether the rows of a range do not overlap: there are then no more of them than bytes.
    pub(crate) fn holds(&self, [x, y, z]: [u64; 3]) -> bool {
        let rows = y.saturating_sub(1).checked_mul(self.pitch);
        let slice = rows.and_then(|rows| rows.checked_add(x));
        let has_rows = self.pitch >= x || y <= 1;
        let has_slices = z <= 1 || slice.is_some_and(|slice| self.slice >= slice);
        x > 0 && has_rows && has_slices
    }

    /// The last byte of a range of this side, after its begin.
    fn len(&self, [x, y, z]: [u64; 3]) -> Option<u64> {
        let last = self.row(y.checked_sub(1)?, z.checked_sub(1)?)?;
        last.checked_add(x)?.checked_sub(self.address)
    }
}

impl Operation {
    /// Checks both sides by `may_use`, for their addresses and lengths.
    pub(crate) fn check(&self, mut may_use: impl FnMut(bool, u64, u64) -> bool) -> Answer {
        let sides = match *self {
            Self::Line { to, from, len } => [Some((to, len as u64)), Some((from, len as u64))],
            Self::Rect(Rect { to, from, range }) => {
                [to, from].map(|side| side.len(range).map(|len| (side.address, len)))
            }
        };
        for (side, is_target) in sides.into_iter().zip([true, false]) {
            let (address, len) = side.ok_or(Status::INVALID_ARGUMENT)?;
            if !may_use(is_target, address, len) {
                return Err(Status::INVALID_ARGUMENT);
            }
        }
        Ok(())
    }

    /// Copies.
    ///
    /// # Errors
    /// A side is not in one allocation.
    ///
    /// # Safety
    /// As for [`Memory::copy`].
    pub(crate) unsafe fn run(&self, memory: &Memory) -> Answer {
        let Rect { to, from, range } = match *self {
            Self::Line { to, from, len } => {
                // SAFETY: the caller's promise.
                return unsafe { memory.copy(to, from, len) };
            }
            Self::Rect(rect) => rect,
        };
        let [bytes, rows, slices] = range;
        for (z, y) in (0..slices).flat_map(|z| (0..rows).map(move |y| (z, y))) {
            let (to, from) = (to.row(y, z), from.row(y, z));
            let sides = to.zip(from).ok_or(Status::INVALID_ARGUMENT)?;
            // SAFETY: the caller's promise.
            unsafe { memory.copy(sides.0, sides.1, bytes as usize)? };
        }
        Ok(())
    }
}
