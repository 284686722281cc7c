//! Operands of instructions.

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
