//! The heap of a program: device memory that grows with it, up to a limit.

use std::io;
use std::sync::{Mutex, OnceLock};

use std_calls::{HeapPiece, HeapStatistics};

use super::Services;
use super::errno::errno;
use crate::base::lock::lock;
use crate::device::Fill;
use crate::runtime::{DeviceBuffer, Runtime, RuntimeError};

/// The size of the first piece, unless the limit is lower. Each further piece is as large as all
/// before it.
pub(super) const FIRST: u64 = 16 << 20;

/// Sizes of pieces are multiples of this, except of the last one.
pub(super) const GRAIN: u64 = 64 << 10;

/// The state of a program's heap, at its end if it has ended.
#[derive(Clone, Debug, Default)]
pub struct HeapUse {
    /// The device memory that it takes, in bytes.
    pub bytes: u64,
    /// How often it grew.
    pub growths: u64,
    /// Why it could not grow, when that happened last. The program's allocation failed.
    pub refused: Option<HeapRefusal>,
    /// Statistics of the program's allocations, if its launch asked for them and it has ended.
    pub statistics: Option<HeapStatistics>,
}

/// Why a heap could not grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeapRefusal {
    /// Its limit leaves less than the program asked for.
    Limit {
        /// The bytes that the program asked for.
        least: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The device could not allocate: its message.
    Device(String),
}

/// The size of the first piece of a heap with a limit. If the device cannot allocate while the program
/// runs, this piece is all that there is.
pub(super) fn first_piece(runtime: &Runtime, limit: u64) -> u64 {
    if runtime.allocates_beside_kernels() {
        limit.min(FIRST)
    } else {
        limit
    }
}

/// A heap, from the program's launch on.
#[derive(Default)]
pub(super) struct Heap(OnceLock<Memory>);

struct Memory {
    runtime: Runtime,
    limit: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pieces: Vec<DeviceBuffer>,
    used: HeapUse,
}

impl Heap {
    /// Allocates the first piece of a heap that may grow up to `limit` bytes.
    pub(super) fn open(
        &self,
        runtime: &Runtime,
        limit: u64,
        first: u64,
    ) -> Result<HeapPiece, RuntimeError> {
        let mut state = State::default();
        let piece = state.add(runtime, first)?;
        let memory = Memory {
            runtime: runtime.clone(),
            limit,
            state: Mutex::new(state),
        };
        // It has none, since services launch one program.
        let _ = self.0.set(memory);
        Ok(piece)
    }

    /// The state now; `None` before the launch.
    pub(super) fn used(&self) -> Option<HeapUse> {
        self.0.get().map(|memory| lock(&memory.state).used.clone())
    }
}

impl Memory {
    /// Allocates another piece of at least so many bytes.
    fn grow(&self, least: u64) -> Result<HeapPiece, HeapRefusal> {
        let mut state = lock(&self.state);
        let left = self.limit - state.used.bytes;
        let piece = if least > left {
            let limit = self.limit;
            Err(HeapRefusal::Limit { least, limit })
        } else {
            let grains = least.checked_next_multiple_of(GRAIN);
            let least = grains.map_or(left, |least| least.min(left));
            let wanted = state.used.bytes.clamp(least, left);
            // A device without so much may have less.
            let added = state.add(&self.runtime, wanted);
            let added = added.or_else(|_| state.add(&self.runtime, least));
            added.map_err(|error| HeapRefusal::Device(error.to_string()))
        };
        match &piece {
            Ok(_) => state.used.growths += 1,
            Err(refusal) => state.used.refused = Some(refusal.clone()),
        }
        piece
    }
}

impl State {
    fn add(&mut self, runtime: &Runtime, bytes: u64) -> Result<HeapPiece, RuntimeError> {
        let buffer = runtime.alloc_filled(bytes, Fill::Any)?;
        let address = buffer.address().0;
        self.pieces.push(buffer);
        self.used.bytes += bytes;
        Ok(HeapPiece { address, bytes })
    }
}

impl Services {
    pub(super) fn grow_heap(&self, least: u64, piece: &mut HeapPiece) -> io::Result<u64> {
        let memory = self.heap.0.get();
        let grown = memory.and_then(|memory| memory.grow(least).ok());
        *piece = grown.ok_or_else(|| errno(libc::ENOMEM))?;
        Ok(0)
    }

    pub(super) fn heap_statistics(&self, statistics: HeapStatistics) {
        if let Some(memory) = self.heap.0.get() {
            lock(&memory.state).used.statistics = Some(statistics);
        }
    }
}
