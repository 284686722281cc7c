//! A decoded instruction.

use crate::arch::Target;
use crate::isa::{
    BufferOp, DualOp, FlatOp, InterpOp, Kind, LdsOp, PackedOp, Row, ScalarMemoryOp, Sop1Op, Sop2Op,
    SopcOp, SopkOp, SoppOp, TypedBufferOp, ValuOp,
};

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// The target for which it was decoded.
    pub target: Target,
    /// Its address.
    pub address: u64,
    /// Its size in 32-bit words.
    pub words: u8,
    /// Its encoding.
    pub encoding: Encoding,
    /// Its operation.
    pub op: Op,
    /// Its operands, destinations first, in the order of the text.
    pub operands: Vec<Operand>,
    /// Modifiers.
    pub modifiers: Modifiers,
}

/// An encoding.
#[expect(missing_docs, reason = "the names are the manuals'")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Vopd,
    Vinterp,
    Ds,
    Flat,
    Mubuf,
    Mtbuf,
}

/// An operation.
#[expect(missing_docs, reason = "each is an operation of a table")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Sop1(Sop1Op),
    Sop2(Sop2Op),
    Sopc(SopcOp),
    Sopk(SopkOp),
    Sopp(SoppOp),
    ScalarMemory(ScalarMemoryOp),
    Valu(ValuOp),
    Packed(PackedOp),
    Dual(DualOp),
    Interp(InterpOp),
    Lds(LdsOp),
    Flat(FlatOp),
    Buffer(BufferOp),
    TypedBuffer(TypedBufferOp),
}

impl Op {
    /// Its row of a table.
    #[must_use]
    pub fn row(self) -> &'static Row {
        match self {
            Self::Sop1(op) => op.row(),
            Self::Sop2(op) => op.row(),
            Self::Sopc(op) => op.row(),
            Self::Sopk(op) => op.row(),
            Self::Sopp(op) => op.row(),
            Self::ScalarMemory(op) => op.row(),
            Self::Valu(op) => op.row(),
            Self::Packed(op) => op.row(),
            Self::Dual(op) => op.row(),
            Self::Interp(op) => op.row(),
            Self::Lds(op) => op.row(),
            Self::Flat(op) => op.row(),
            Self::Buffer(op) => op.row(),
            Self::TypedBuffer(op) => op.row(),
        }
    }
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    /// Its kind.
    pub kind: Kind,
    /// Value or register.
    pub value: Value,
    /// Whether the operand is negated.
    pub neg: bool,
    /// Whether the absolute value is taken, before negation.
    pub abs: bool,
    /// Whether the part that SDWA selects is sign-extended.
    pub sext: bool,
    /// The half of the register, where the instruction addresses halves.
    pub half: Option<Half>,
}

/// Half of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// Bits 0 to 15.
    Low,
    /// Bits 16 to 31.
    High,
}

/// The value of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Registers: the first and the number of them.
    Registers(Register, u8),
    /// A small integer within the instruction.
    Integer(i8),
    /// A float within the instruction.
    Float(f64),
    /// The word behind the instruction.
    Literal(u32),
    /// A field of the instruction.
    Immediate(i32),
    /// An address without a register.
    Off,
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// A vector register.
    Vector(u8),
    /// An accumulation register.
    Accumulation(u8),
    /// A scalar register.
    Scalar(u8),
    /// A register of the trap handler.
    Trap(u8),
    /// A special register, by its number as an operand.
    Special(u8),
}

/// Modifiers of an instruction.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Modifiers {
    /// No modifiers.
    #[default]
    None,
    /// Modifiers of vector arithmetic.
    Alu(AluModifiers),
    /// Modifiers of packed arithmetic.
    Packed(PackedModifiers),
    /// Modifiers of matrix multiplication on CDNA.
    Matrix(MatrixModifiers),
    /// The second half of a VOPD instruction.
    Dual(DualHalf),
    /// Modifiers of interpolation: `wait_exp`, and those of vector arithmetic.
    Interp(u8, AluModifiers),
    /// Modifiers of scalar memory accesses.
    ScalarMemory(ScalarMemoryModifiers),
    /// Modifiers of accesses to LDS.
    Lds(LdsModifiers),
    /// Modifiers of accesses to flat, global or scratch memory.
    Memory(MemoryModifiers),
    /// Modifiers of accesses to buffers.
    Buffer(BufferModifiers),
}

/// Modifiers of vector arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AluModifiers {
    /// Clamp the result.
    pub clamp: bool,
    /// Multiply the result: 1 by 2, 2 by 4, 3 by 1/2.
    pub omod: u8,
    /// Halves: bits 0 to 2 of the sources, bit 3 of the destination.
    pub op_sel: u8,
    /// The first source comes from other lanes.
    pub dpp: Option<Dpp>,
    /// Parts of registers.
    pub sdwa: Option<Sdwa>,
}

/// Data-parallel primitives: the first source comes from other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dpp {
    /// Pattern for rows of 16 lanes.
    Row {
        /// The pattern, 9 bits.
        control: u16,
        /// Rows that are written.
        row_mask: u8,
        /// Banks that are written.
        bank_mask: u8,
        /// Invalid lanes read 0.
        bound_ctrl: bool,
        /// Inactive lanes are read.
        fetch_inactive: bool,
    },
    /// A permutation of 8 lanes.
    Eight {
        /// Three bits for each lane.
        lanes: u32,
        /// Inactive lanes are read.
        fetch_inactive: bool,
    },
}

/// Sub-dword addressing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdwa {
    /// The part of the destination; none for comparisons.
    pub dst: Option<SdwaSelect>,
    /// The other parts of the destination: 0 zero, 1 sign, 2 preserved.
    pub unused: u8,
    /// The parts of the sources.
    pub src: [SdwaSelect; 2],
}

/// The part of a register that SDWA selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdwaSelect {
    /// A byte.
    Byte(u8),
    /// A word of 16 bits.
    Word(u8),
    /// The whole register.
    Dword,
}

/// Modifiers of packed arithmetic; bit `n` is that of source `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PackedModifiers {
    /// Clamp the result.
    pub clamp: bool,
    /// The half for the low result.
    pub op_sel: u8,
    /// The half for the high result.
    pub op_sel_hi: u8,
    /// Negate the operand of the low result.
    pub neg_lo: u8,
    /// Negate the operand of the high result.
    pub neg_hi: u8,
    /// The first source comes from other lanes.
    pub dpp: Option<Dpp>,
}

/// Modifiers of matrix multiplication on CDNA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MatrixModifiers {
    /// Broadcast of blocks of the first matrix.
    pub cbsz: u8,
    /// The block that is broadcast.
    pub abid: u8,
    /// Permutation of the second matrix's lanes, or signs (64-bit floats on gfx942).
    pub blgp: u8,
}

/// The second half of a VOPD instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct DualHalf {
    /// Its operation.
    pub op: DualOp,
    /// Its operands, the destination first.
    pub operands: Vec<Operand>,
}

/// Cache policy of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    /// Bits that gfx9 and gfx11 call `glc`, `slc`, `dlc`, `scc` (on gfx942 `sc0`, `nt`, `sc1`).
    Bits {
        /// `glc` or `sc0`.
        glc: bool,
        /// `slc` or `nt`.
        slc: bool,
        /// `dlc`.
        dlc: bool,
        /// `scc` or `sc1`.
        scc: bool,
    },
    /// Policy on gfx12.
    Hint {
        /// Temporal hint, or whether an atomic operation returns.
        temporal: u8,
        /// 0 a compute unit, 1 a shader engine, 2 the device, 3 the system.
        scope: u8,
    },
}

/// Modifiers of scalar memory accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarMemoryModifiers {
    /// An offset in bytes in addition to the operand for the offset.
    pub offset: Option<i32>,
    /// Use of caches.
    pub cache: CachePolicy,
}

/// Modifiers of accesses to LDS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdsModifiers {
    /// The offset's 16 bits: one offset, two of 8 bits, or a pattern of lanes.
    pub offset: u16,
    /// Global data share instead of LDS.
    pub gds: bool,
}

/// A segment of the flat address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Any: the address decides.
    Flat,
    /// The lane's private memory.
    Scratch,
    /// Global memory.
    Global,
}

/// Modifiers of accesses to flat, global or scratch memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryModifiers {
    /// The segment.
    pub segment: Segment,
    /// Offset in bytes.
    pub offset: i32,
    /// Use of caches.
    pub cache: CachePolicy,
    /// The data goes to LDS.
    pub lds: bool,
}

/// Modifiers of accesses to buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferModifiers {
    /// Offset in bytes.
    pub offset: u32,
    /// A register has the index.
    pub idxen: bool,
    /// A register has an offset.
    pub offen: bool,
    /// Use of caches.
    pub cache: CachePolicy,
    /// The data goes to LDS.
    pub lds: bool,
    /// A further register receives the state of a partially resident texture.
    pub tfe: bool,
    /// The format of a typed access.
    pub format: Option<u8>,
}
