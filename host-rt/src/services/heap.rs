//! The heap of a program, which the launcher makes larger.

use std::io;

use std_calls::{HeapPiece, HeapStatistics};

use super::Services;
use super::errno::errno;

/// A function that allocates a piece of at least so many bytes.
pub(super) type GrowHandler = Box<dyn Fn(u64) -> io::Result<HeapPiece> + Send + Sync>;

/// A function that gets what a program allocated.
pub(super) type StatisticsHandler = Box<dyn Fn(HeapStatistics) + Send + Sync>;

/// The launcher's functions.
#[derive(Default)]
pub(super) struct Heap {
    pub(super) grow: Option<GrowHandler>,
    pub(super) statistics: Option<StatisticsHandler>,
}

impl Services {
    pub(super) fn grow_heap(&self, least: u64, piece: &mut HeapPiece) -> io::Result<u64> {
        let grow = self.heap.grow.as_ref();
        let grow = grow.ok_or_else(|| errno(libc::ENOMEM))?;
        *piece = grow(least)?;
        Ok(0)
    }

    pub(super) fn heap_statistics(&self, statistics: HeapStatistics) {
        if let Some(handler) = &self.heap.statistics {
            handler(statistics);
        }
    }
}
