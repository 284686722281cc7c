//! Decoded instructions.

use crate::alu::convert::Convert;
use crate::alu::{Bin, Carry, Compare, Quad, Test, Tri, Un};

/// A register of a frame.
pub(crate) type Reg = u32;
/// A predicate of a frame.
pub(crate) type Pred = u32;
/// An instruction of a function.
pub(crate) type Pc = u32;

/// No instruction: the end of a function.
pub(crate) const FUNCTION_END: Pc = Pc::MAX;

/// An operand: a register, or a constant of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Src(pub(crate) u32);

impl Src {
    /// A constant by its index. They count backwards from the largest number, so that a frame can
    /// store them before its registers.
    pub(crate) const fn constant(index: u32) -> Self {
        Self(u32::MAX - index)
    }

    pub(crate) const fn is_register(self) -> bool {
        self.0 < 1 << 31
    }
}

/// A predicate as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredSrc {
    Is(Pred),
    Not(Pred),
    Const(bool),
}

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
    ActiveMask {
        d: Reg,
    },
}

/// A space that addresses are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateSpace {
    Generic,
    /// Constants, too.
    Global,
    Shared,
    Local,
    /// Parameters of the kernel.
    Param,
    /// The function's own frame: parameters and local variables.
    Frame,
}

/// The address of an access: `[base + offset]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) space: StateSpace,
    pub(crate) base: Option<Src>,
    pub(crate) offset: i64,
}

/// Which threads an operation orders accesses for. Source: the PTX ISA, "Memory
/// Consistency Model: Scope".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    /// Those of the block.
    Cta,
    /// Those of the device. Clusters count as the device.
    Gpu,
    /// All, the host's among them.
    Sys,
}

/// The order of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Semantics {
    /// Nothing: no other thread may use the word meanwhile.
    Weak,
    /// `.volatile`: as relaxed at system scope.
    Volatile,
    /// The word itself.
    Relaxed,
    /// Later accesses.
    Acquire,
    /// Earlier accesses.
    Release,
    /// Both.
    AcqRel,
    /// Both, in an order that all threads agree on.
    Sc,
}

impl Semantics {
    pub(crate) const fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::Sc)
    }

    pub(crate) const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::Sc)
    }
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

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomOp {
    Add,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    /// Up to a limit, then 0.
    Increment,
    /// Down to 0, then the limit.
    Decrement,
    AddF32,
    AddF64,
    AddF16,
    AddF16x2,
    AddBf16,
    AddBf16x2,
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
            _ if name.starts_with("%envreg") => Self::Zero,
            _ => return None,
        })
    }
}

impl Op {
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
