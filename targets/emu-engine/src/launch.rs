//! The interface that emulators implement.

use std::sync::Arc;
use std::time::Instant;

use crate::progress::Progress;

/// The result of a turn of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnResult {
    /// All threads have ended.
    Done,
    /// It can continue.
    Busy,
    /// Its threads wait, and nothing observable happened. If all of them sleep or are stopped, until
    /// when.
    Idle(Option<Instant>),
}

/// A running kernel.
pub trait Launch: Send + Sync + 'static {
    /// A fault that ends it.
    type Fault: Clone + Send;
    /// A block of it.
    type Block;
    /// Memory of ended blocks for the next ones of a processor.
    type Spare: Default;

    /// Its progress.
    fn progress(&self) -> &Progress<Self::Fault>;

    /// Threads of a block.
    fn threads(&self) -> u32;

    /// Makes a block by its number, to run on a processor.
    fn block(self: &Arc<Self>, number: u64, processor: u32, spare: &mut Self::Spare)
    -> Self::Block;

    /// Lets a block run for a while.
    fn turn(&self, block: &mut Self::Block) -> TurnResult;

    /// Frees a block, whose threads may not have ended. Returns whether they have.
    fn dismantle(&self, block: Self::Block, spare: &mut Self::Spare) -> bool;

    /// Reports a panic in a turn of a block as its fault.
    fn fail_by_panic(&self, block: &Self::Block, message: String);

    /// The fault of a launch that was stopped before its end.
    fn stopped(&self) -> Self::Fault;

    /// Called once when all blocks have ended, before the result is known.
    fn finish(&self);
}
