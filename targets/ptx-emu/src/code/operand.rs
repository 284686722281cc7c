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

/// An operand of an instruction, and whether it is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Read(Src),
    Write(Reg),
    ReadPred(Pred),
    WritePred(Pred),
    ReadCarry,
    WriteCarry,
}

/// Passes operands to a function.
pub(super) struct OperandVisitor<'a>(&'a mut dyn FnMut(Operand));

impl<'a> OperandVisitor<'a> {
    pub(super) fn new(visit: &'a mut dyn FnMut(Operand)) -> Self {
        Self(visit)
    }

    pub(super) fn visit(&mut self, operands: impl IntoIterator<Item = Operand>) -> &mut Self {
        operands.into_iter().for_each(&mut *self.0);
        self
    }

    pub(super) fn reads(&mut self, sources: impl IntoIterator<Item = Src>) -> &mut Self {
        self.visit(sources.into_iter().map(Operand::Read))
    }

    /// Reads the base of an address.
    pub(super) fn at(&mut self, address: &Address) -> &mut Self {
        self.reads(address.base)
    }

    pub(super) fn writes(&mut self, registers: impl IntoIterator<Item = Reg>) -> &mut Self {
        self.visit(registers.into_iter().map(Operand::Write))
    }

    pub(super) fn reads_preds(&mut self, sources: impl IntoIterator<Item = PredSrc>) -> &mut Self {
        let preds = sources.into_iter().filter_map(|source| match source {
            PredSrc::Is(pred) | PredSrc::Not(pred) => Some(Operand::ReadPred(pred)),
            PredSrc::Const(_) => None,
        });
        self.visit(preds)
    }

    pub(super) fn writes_preds(&mut self, preds: impl IntoIterator<Item = Pred>) -> &mut Self {
        self.visit(preds.into_iter().map(Operand::WritePred))
    }
}
