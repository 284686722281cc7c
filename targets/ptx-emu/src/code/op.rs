//! Decoded instructions.

pub(crate) use race_check::{Scope, Semantics};

use super::asynchronous::Async;
use super::cluster::Cluster;
use super::matrix::Matrix;
pub(crate) use super::operand::{
    Address, AtomOp, FUNCTION_END, Pc, Pred, PredSrc, Reg, Src, StateSpace,
};
use crate::alu::convert::Convert;
use crate::alu::{Bin, Carry, Compare, Quad, Test, Tri, Un};

/// How predicates are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// An instruction.
#[derive(Debug)]
pub(crate) struct Instr {
    /// Lanes for which it holds execute it.
    pub(crate) guard: Option<PredSrc>,
    pub(crate) op: Op,
    /// Line of the text, from 1.
    pub(crate) line: u32,
}

/// The operation of an instruction.
#[derive(Debug)]
pub(crate) enum Op {
    Nop,
    Un {
        f: Un,
        d: Reg,
        a: Src,
    },
    Bin {
        f: Bin,
        d: Reg,
        a: Src,
        b: Src,
    },
    Tri {
        f: Tri,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
    },
    Quad {
        f: Quad,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
        e: Src,
    },
    /// With the carry flag: whether it is read, and whether it is written.
    Carry {
        f: Carry,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
        reads: bool,
        writes: bool,
    },
    Convert {
        how: Box<Convert>,
        d: Reg,
        a: Src,
    },
    /// Two floats into the halves of a word: `a` into the upper one.
    ConvertPair {
        how: Box<Convert>,
        d: Reg,
        a: Src,
        b: Src,
    },
    /// `p` gets the comparison, `q` its opposite or, of pairs, that of the upper halves, each
    /// combined with the third operand.
    SetPred {
        f: Compare,
        pair: bool,
        p: Option<Pred>,
        q: Option<Pred>,
        a: Src,
        b: Src,
        with: Option<(Logic, PredSrc)>,
    },
    /// `one` where it holds, else 0; of pairs in each half.
    Set {
        f: Compare,
        pair: bool,
        d: Reg,
        a: Src,
        b: Src,
        with: Option<(Logic, PredSrc)>,
        one: u64,
    },
    Test {
        f: Test,
        p: Pred,
        a: Src,
    },
    Select {
        d: Reg,
        a: Src,
        b: Src,
        p: PredSrc,
    },
    /// `a` where the comparison of `c` with zero holds, else `b`.
    SelectBySign {
        f: Compare,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
        zero: Src,
    },
    PredLogic {
        op: Logic,
        d: Pred,
        a: PredSrc,
        b: PredSrc,
    },
    PredMove {
        d: Pred,
        a: PredSrc,
    },
    Special {
        d: Reg,
        what: Special,
    },
    /// Parts of a register into several, or several into one.
    Unpack {
        ds: Box<[Reg]>,
        a: Src,
        bits: u32,
    },
    Pack {
        d: Reg,
        sources: Box<[Src]>,
        bits: u32,
    },
    /// The address of a slot of the frame, in the local space.
    FrameAddress {
        d: Reg,
        offset: u32,
    },
    /// From a space's addresses to generic ones, or back.
    ToGeneric {
        d: Reg,
        a: Src,
        space: StateSpace,
    },
    FromGeneric {
        d: Reg,
        a: Src,
        space: StateSpace,
    },
    IsSpace {
        p: Pred,
        a: Src,
        space: StateSpace,
    },
    Load(Box<Load>),
    Store(Box<Store>),
    Atom(Box<Atom>),
    Fence {
        semantics: Semantics,
        scope: Scope,
    },
    Branch {
        to: Pc,
    },
    BranchIndexed {
        index: Src,
        to: Box<[Pc]>,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Sleep {
        nanoseconds: Src,
    },
    Barrier(Box<Barrier>),
    Collective(Box<Collective>),
    Async(Box<Async>),
    Cluster(Box<Cluster>),
    Matrix(Box<Matrix>),
    ActiveMask {
        d: Reg,
    },
}

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) at: Address,
    pub(crate) ds: Box<[Reg]>,
    /// Bytes of one element.
    pub(crate) bytes: u32,
    /// Width of the registers that a signed element fills; 0 for others.
    pub(crate) extend: u32,
    pub(crate) semantics: Semantics,
    pub(crate) scope: Scope,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) at: Address,
    pub(crate) sources: Box<[Src]>,
    pub(crate) bytes: u32,
    pub(crate) semantics: Semantics,
    pub(crate) scope: Scope,
}

#[derive(Debug)]
pub(crate) struct Atom {
    pub(crate) at: Address,
    pub(crate) op: AtomOp,
    /// 4 or 8; 2 for `cas.b16`.
    pub(crate) bytes: u32,
    /// `None` for `red`, which gives nothing back.
    pub(crate) d: Option<Reg>,
    pub(crate) b: Src,
    /// The new value of a compare-and-swap.
    pub(crate) c: Option<Src>,
    pub(crate) semantics: Semantics,
    pub(crate) scope: Scope,
}

/// A piece of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

#[derive(Debug)]
pub(crate) enum Callee {
    /// By its number in the module.
    Function(u32),
    /// By its address.
    Address(Src),
    System(System),
}

/// Functions that CUDA's driver provides. Source: the CUDA toolkit's "PTX Writer's Guide
/// to Interoperability", chapter "System Calls".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Vprintf,
    Malloc,
    Free,
    AssertFail,
}

impl System {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "vprintf" => Self::Vprintf,
            "malloc" => Self::Malloc,
            "free" => Self::Free,
            "__assertfail" => Self::AssertFail,
            _ => return None,
        })
    }

    /// Bytes of parameters and results, each.
    pub(crate) const fn signature(self) -> (&'static [u32], &'static [u32]) {
        match self {
            Self::Vprintf => (&[8, 8], &[4]),
            Self::Malloc => (&[8], &[8]),
            Self::Free => (&[8], &[]),
            Self::AssertFail => (&[8, 8, 4, 8, 8], &[]),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    /// Pieces of the caller's frame.
    pub(crate) arguments: Box<[Slot]>,
    pub(crate) results: Box<[Slot]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// The number of threads with the predicate.
    Count {
        d: Reg,
        p: PredSrc,
    },
    /// Whether all threads have the predicate, or any.
    All {
        d: Pred,
        p: PredSrc,
    },
    Any {
        d: Pred,
        p: PredSrc,
    },
}

/// A barrier of a block.
#[derive(Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) number: Src,
    /// Expected threads; all if not given.
    pub(crate) count: Option<Src>,
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectiveKind {
    /// `bar.warp.sync`
    Sync,
    Shuffle {
        mode: Shuffle,
        d: Reg,
        p: Option<Pred>,
        a: Src,
        b: Src,
        c: Src,
    },
    All {
        d: Pred,
        p: PredSrc,
    },
    Any {
        d: Pred,
        p: PredSrc,
    },
    Uniform {
        d: Pred,
        p: PredSrc,
    },
    Ballot {
        d: Reg,
        p: PredSrc,
    },
    /// `match.any`: the lanes with the same value.
    MatchAny {
        d: Reg,
        a: Src,
    },
    /// `match.all`: all lanes if they have one value, else 0.
    MatchAll {
        d: Reg,
        p: Option<Pred>,
        a: Src,
    },
    Reduce {
        op: AtomOp,
        d: Reg,
        a: Src,
    },
    /// `elect.sync`: one of the lanes.
    Elect {
        d: Reg,
        p: Pred,
    },
}

#[derive(Debug)]
pub(crate) struct Collective {
    pub(crate) kind: CollectiveKind,
    /// The participating lanes; the active ones if not given.
    pub(crate) members: Option<Src>,
}

/// Special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(usize),
    Ntid(usize),
    Ctaid(usize),
    Nctaid(usize),
    LaneId,
    WarpId,
    Warps,
    Processor,
    Processors,
    GridId,
    LanesEqual,
    LanesLess,
    LanesLessEqual,
    LanesGreater,
    LanesGreaterEqual,
    Clock,
    ClockHigh,
    Clock64,
    Timer,
    TimerLow,
    TimerHigh,
    DynamicShared,
    TotalShared,
    Zero,
    One,
    /// The halves of the address of a cooperative launch's workspace.
    WorkspaceHigh,
    WorkspaceLow,
}

impl Special {
    /// Source: the PTX ISA, "Special Registers".
    pub(crate) fn named(name: &str) -> Option<Self> {
        let axis = |name: &str| ["x", "y", "z"].iter().position(|&axis| axis == name);
        if let Some((base, part)) = name.split_once('.') {
            let axis = axis(part)?;
            return Some(match base {
                "%tid" => Self::Tid(axis),
                "%ntid" => Self::Ntid(axis),
                "%ctaid" => Self::Ctaid(axis),
                "%nctaid" => Self::Nctaid(axis),
                // Each cluster has one block.
                "%clusterid" => Self::Ctaid(axis),
                "%nclusterid" => Self::Nctaid(axis),
                "%cluster_ctaid" => Self::Zero,
                "%cluster_nctaid" => Self::One,
                _ => return None,
            });
        }
        Some(match name {
            "WARP_SZ" => return None,
            "%laneid" => Self::LaneId,
            "%warpid" => Self::WarpId,
            "%nwarpid" => Self::Warps,
            "%smid" => Self::Processor,
            "%nsmid" => Self::Processors,
            "%gridid" => Self::GridId,
            "%lanemask_eq" => Self::LanesEqual,
            "%lanemask_lt" => Self::LanesLess,
            "%lanemask_le" => Self::LanesLessEqual,
            "%lanemask_gt" => Self::LanesGreater,
            "%lanemask_ge" => Self::LanesGreaterEqual,
            "%clock" => Self::Clock,
            "%clock_hi" => Self::ClockHigh,
            "%clock64" => Self::Clock64,
            "%globaltimer" => Self::Timer,
            "%globaltimer_lo" => Self::TimerLow,
            "%globaltimer_hi" => Self::TimerHigh,
            "%dynamic_smem_size" => Self::DynamicShared,
            "%total_smem_size" => Self::TotalShared,
            "%cluster_ctarank" => Self::Zero,
            "%cluster_nctarank" => Self::One,
            // As CUDA's driver fills them, for `cooperative_groups`.
            "%envreg1" => Self::WorkspaceHigh,
            "%envreg2" => Self::WorkspaceLow,
            _ if name.starts_with("%envreg") => Self::Zero,
            _ => return None,
        })
    }
}

impl Op {
    /// Whether it acquires or releases.
    pub(crate) fn is_ordered(&self) -> bool {
        let semantics = match self {
            Self::Load(load) => load.semantics,
            Self::Store(store) => store.semantics,
            Self::Atom(atom) => atom.semantics,
            Self::Fence { .. } => return true,
            _ => return false,
        };
        semantics.acquires() || semantics.releases()
    }

    /// The register of the result, if there is one.
    pub(crate) fn result(&self) -> Option<Reg> {
        Some(match self {
            Self::Un { d, .. }
            | Self::Bin { d, .. }
            | Self::Tri { d, .. }
            | Self::Quad { d, .. }
            | Self::Carry { d, .. }
            | Self::Convert { d, .. }
            | Self::ConvertPair { d, .. }
            | Self::Set { d, .. }
            | Self::Select { d, .. }
            | Self::SelectBySign { d, .. }
            | Self::Special { d, .. }
            | Self::Pack { d, .. }
            | Self::FrameAddress { d, .. }
            | Self::ToGeneric { d, .. }
            | Self::FromGeneric { d, .. }
            | Self::ActiveMask { d } => *d,
            Self::Load(load) => *load.ds.first()?,
            Self::Atom(atom) => atom.d?,
            _ => return None,
        })
    }
}
