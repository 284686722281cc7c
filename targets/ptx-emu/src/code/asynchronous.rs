//! Instructions of asynchronous copies and of `mbarrier` objects.

use super::operand::{Address, AtomOp, OperandVisitor, Pred, PredSrc, Reg, Src};

/// Bits of an `mbarrier`'s state in which its pending count is.
pub(crate) const PENDING_BITS: u32 = 20;

#[derive(Debug)]
pub(crate) enum Async {
    /// `cp.async`: from global to shared memory.
    Copy(AsyncCopy),
    /// `cp.async.commit_group`
    Commit,
    /// `cp.async.wait_group`: at most so many groups are pending afterwards.
    WaitGroup {
        pending: u64,
    },
    /// `cp.async.wait_all`
    WaitAll,
    /// `cp.async.mbarrier.arrive`: the thread's copies so far arrive at an `mbarrier`.
    ArriveAfterCopies {
        mbarrier: Address,
        /// The arrival is one of the expected ones (`.noinc`).
        is_expected: bool,
    },
    /// `cp.async.bulk`
    BulkCopy(BulkCopy),
    /// `cp.async.bulk.commit_group`
    BulkCommit,
    /// `cp.async.bulk.wait_group`
    BulkWaitGroup {
        pending: u64,
    },
    /// `st.async` and `red.async`
    Store(AsyncStore),
    Mbarrier {
        at: Address,
        op: MbarrierOp,
    },
}

#[derive(Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: u32,
    /// Bytes that are copied; the others are zeroed.
    pub(crate) source_bytes: Option<Src>,
    /// Where it holds, all bytes are zeroed.
    pub(crate) ignores_source: Option<PredSrc>,
}

#[derive(Debug)]
pub(crate) struct BulkCopy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: Src,
    /// The `mbarrier` that counts its bytes; without one it belongs to a group.
    pub(crate) mbarrier: Option<Address>,
}

#[derive(Debug)]
pub(crate) struct AsyncStore {
    pub(crate) to: Address,
    pub(crate) sources: Box<[Src]>,
    /// Bytes of one source.
    pub(crate) bytes: u32,
    /// The operation of `red.async`.
    pub(crate) op: Option<AtomOp>,
    /// It counts the stored bytes.
    pub(crate) mbarrier: Address,
}

/// Which phase of an `mbarrier` a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// That of a state.
    State(Src),
    /// The last one with this parity.
    Parity(Src),
}

#[derive(Debug)]
pub(crate) enum MbarrierOp {
    Init {
        count: Src,
    },
    Invalidate,
    Arrive {
        /// Gets the state before.
        state: Option<Reg>,
        count: Src,
        expect_bytes: Option<Src>,
        /// The threads do not arrive in later phases.
        drops: bool,
        /// The phase must not be complete afterwards.
        is_incomplete: bool,
    },
    ExpectBytes {
        bytes: Src,
    },
    CompleteBytes {
        bytes: Src,
    },
    Test {
        p: Option<Pred>,
        phase: Phase,
        /// Lanes may be suspended (`try_wait`).
        may_suspend: bool,
    },
}

impl Async {
    /// The address in global memory from which the lanes copy.
    pub(crate) fn source(&self) -> Option<(&Address, u32)> {
        match self {
            Self::Copy(copy) => Some((&copy.from, copy.bytes)),
            _ => None,
        }
    }

    /// Whether it waits for copies of the same thread.
    pub(crate) fn waits(&self) -> bool {
        matches!(self, Self::WaitGroup { .. } | Self::WaitAll)
    }

    pub(super) fn operands<'a, 'b>(
        &self,
        operands: &'a mut OperandVisitor<'b>,
    ) -> &'a mut OperandVisitor<'b> {
        match self {
            Self::Commit
            | Self::WaitGroup { .. }
            | Self::WaitAll
            | Self::BulkCommit
            | Self::BulkWaitGroup { .. } => operands,
            Self::Copy(copy) => operands
                .reads(copy.source_bytes)
                .at(&copy.to)
                .at(&copy.from)
                .reads_preds(copy.ignores_source),
            Self::ArriveAfterCopies { mbarrier, .. } => operands.at(mbarrier),
            Self::BulkCopy(copy) => {
                let operands = operands.reads([copy.bytes]).at(&copy.to).at(&copy.from);
                match &copy.mbarrier {
                    Some(mbarrier) => operands.at(mbarrier),
                    None => operands,
                }
            }
            Self::Store(store) => operands
                .reads(store.sources.iter().copied())
                .at(&store.to)
                .at(&store.mbarrier),
            Self::Mbarrier { at, op } => op.operands(operands).at(at),
        }
    }
}

impl MbarrierOp {
    fn operands<'a, 'b>(&self, operands: &'a mut OperandVisitor<'b>) -> &'a mut OperandVisitor<'b> {
        match *self {
            Self::Invalidate => operands,
            Self::Init { count } => operands.reads([count]),
            Self::Arrive {
                state,
                count,
                expect_bytes,
                ..
            } => operands
                .reads([count].into_iter().chain(expect_bytes))
                .writes(state),
            Self::ExpectBytes { bytes } | Self::CompleteBytes { bytes } => operands.reads([bytes]),
            Self::Test { p, phase, .. } => match phase {
                Phase::State(phase) | Phase::Parity(phase) => {
                    operands.reads([phase]).writes_preds(p)
                }
            },
        }
    }
}
