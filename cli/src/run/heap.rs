//! The heap of a program: device memory that grows with it, up to a limit.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use host_rt::device::{DeviceAddr, Fill};
use host_rt::std_calls::{HeapPiece, HeapStatistics};
use host_rt::targets::count::Count;
use host_rt::{DeviceBuffer, Runtime};

/// The size of the first piece, unless the limit is lower. Each further piece is as large as all
/// before it.
const FIRST: u64 = 16 << 20;

/// Sizes of pieces are multiples of this, except of the last one.
const GRAIN: u64 = 64 << 10;

/// The exit status of a program that aborts, as after a failed allocation.
const ABORTED: i32 = 128 + libc::SIGABRT;

/// The memory of a program's heap.
pub(super) struct Heap {
    runtime: Runtime,
    limit: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pieces: Vec<DeviceBuffer>,
    /// The size of all pieces.
    bytes: u64,
    /// Why the heap could not grow, when that happened last.
    refused: Option<String>,
    statistics: Option<HeapStatistics>,
}

impl Heap {
    /// A heap with its first piece, which may grow up to `limit` bytes. If the device cannot allocate
    /// while the program runs, this piece is all that there is.
    pub(super) fn new(runtime: &Runtime, limit: u64) -> anyhow::Result<Self> {
        let heap = Self {
            runtime: runtime.clone(),
            limit,
            state: Mutex::default(),
        };
        let first = if runtime.allocates_beside_kernels() {
            limit.min(FIRST)
        } else {
            limit
        };
        heap.lock()
            .add(runtime, first)
            .with_context(|| format!("the program's heap (--heap {limit})"))?;
        Ok(heap)
    }

    /// The address and the size of the first piece.
    pub(super) fn first(&self) -> (DeviceAddr, u64) {
        let state = self.lock();
        let first = &state.pieces[0];
        (first.address(), first.bytes())
    }

    /// Allocates another piece of at least so many bytes.
    pub(super) fn grow(&self, least: u64) -> io::Result<HeapPiece> {
        let mut state = self.lock();
        let left = self.limit - state.bytes;
        if least > left {
            state.refused = Some(format!(
                "the program's heap has no room for {} more: --heap limits it to {}",
                Count(least, "byte"),
                Count(self.limit, "byte"),
            ));
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let least = least.next_multiple_of(GRAIN).min(left);
        let wanted = state.bytes.clamp(least, left);
        // A device without so much may have less.
        let added = state.add(&self.runtime, wanted);
        let added = added.or_else(|_| state.add(&self.runtime, least));
        added.map_err(|error| {
            state.refused = Some(format!("the program's heap cannot grow: {error}"));
            io::ErrorKind::OutOfMemory.into()
        })
    }

    /// Keeps what the program reports, until it ends.
    pub(super) fn set_statistics(&self, statistics: HeapStatistics) {
        self.lock().statistics = Some(statistics);
    }

    /// The text to print when the program has ended with a status.
    pub(super) fn report(&self, status: i32) -> String {
        let state = self.lock();
        let mut text = String::new();
        if status == ABORTED
            && let Some(reason) = &state.refused
        {
            text = format!("note: {reason}\n");
        }
        if let Some(statistics) = state.statistics {
            text += &state.describe(statistics);
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, runtime: &Runtime, bytes: u64) -> host_rt::Result<HeapPiece> {
        let buffer = runtime.alloc_filled(bytes, Fill::Any)?;
        let piece = HeapPiece {
            address: buffer.address().0,
            bytes,
        };
        self.pieces.push(buffer);
        self.bytes += bytes;
        Ok(piece)
    }

    fn describe(&self, statistics: HeapStatistics) -> String {
        let HeapStatistics {
            allocations,
            live,
            live_bytes,
            peak_bytes,
        } = statistics;
        let growths = self.pieces.len() - 1;
        format!(
            "heap: {}, at most {} at a time\n\
             heap: never freed: {}, {}\n\
             heap: {} of device memory, after {}\n",
            Count(allocations, "allocation"),
            Count(peak_bytes, "byte"),
            Count(live, "allocation"),
            Count(live_bytes, "byte"),
            Count(self.bytes, "byte"),
            Count(growths as u64, "growth"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap(limit: u64) -> Heap {
        Heap::new(&Runtime::open("host").unwrap(), limit).unwrap()
    }

    #[test]
    fn pieces_double_the_heap_up_to_its_limit() {
        let heap = heap(FIRST * 7);
        assert_eq!(heap.first().1, FIRST);
        let sizes = [1, 1, 1].map(|least| heap.grow(least).unwrap().bytes);
        assert_eq!(sizes, [FIRST, 2 * FIRST, 3 * FIRST]);
        assert!(heap.grow(1).is_err());
    }

    #[test]
    fn a_piece_is_as_large_as_the_allocation_needs() {
        let heap = heap(FIRST * 7 + 1);
        assert_eq!(heap.grow(FIRST * 5 + 1).unwrap().bytes, FIRST * 5 + GRAIN);
        let left = FIRST + 1 - GRAIN;
        assert!(heap.grow(left + 1).is_err());
        assert!(heap.grow(u64::MAX).is_err());
        assert_eq!(heap.grow(left).unwrap().bytes, left);
    }

    #[test]
    fn small_limits_are_the_first_piece() {
        assert_eq!(heap(1000).first().1, 1000);
    }

    #[test]
    fn the_limit_is_named_only_after_an_abort() {
        let heap = heap(1000);
        assert_eq!(heap.report(ABORTED), "");
        assert!(heap.grow(1).is_err());
        assert_eq!(heap.report(0), "");
        assert_eq!(
            heap.report(ABORTED),
            "note: the program's heap has no room for 1 byte more: --heap limits it to 1000 bytes\n"
        );
    }
}
