//! Arithmetic of vector instructions: of each active lane, without modifiers.
//!
//! Tables give each operation the function of one lane, with the types of its operands:
//!
//! ```text
//! v_add_f32: (a: f32, b: f32) -> f32 { a + b };
//! v_add_co_ci_u32: (a: u32, b: u32, carry: bool) -> (u32, bool) { .. };
//! v_fmac_f32: (a: f32, b: f32; sum: f32) -> f32 { .. };
//! v_add_nc_u32: (a: u32, b: u32) -> u32 { a.wrapping_add(b) } clamp { a.saturating_add(b) };
//! ```
//!
//! An operand of type `bool` is a bit of a mask, and so is such a result. Behind `;` stands the old
//! value of the destination. `clamp` has the function for instructions that clamp integers.
//!
//! Packed arithmetic has a table of its own, since modifiers select and negate the halves of its
//! operands: [`find_packed`].
//!
//! Scalar arithmetic of floats may call the functions of [`float`], [`single`] and [`half`].
//!
//! Source of the functions: AMD's "Instruction Set Architecture" manuals.

mod approximate;
mod bytes;
mod compare;
mod convert;
mod divide;
mod dot;
mod double;
mod dual;
pub(crate) mod float;
pub(crate) mod half;
mod integer;
mod packed;
mod packed_table;
mod scale;
pub(crate) mod single;
mod table;
#[cfg(test)]
mod tests;
mod trig;
pub(crate) mod value;
mod vector;

pub(crate) use self::value::{Lane, Type};

use crate::inst::{Op, PackedModifiers};
use crate::isa::PackedOp;

/// The most lanes of a wave.
pub(crate) const LANES: usize = 64;

/// A vector register of 32 bits a lane.
pub(crate) type Row = [u32; LANES];

/// The operands of an operation. Each of 64 bits is two adjacent rows, the low halves first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    /// Active lanes.
    pub(crate) exec: u64,
    /// The sources in order, except those of type `bool`; that behind `;` is the last.
    pub(crate) src: [*const Row; 4],
    /// The destination.
    pub(crate) dst: *mut Row,
    /// The source of type `bool`.
    pub(crate) mask: u64,
}

/// Performs an operation for the active lanes. Returns the result of type `bool`, 0 for inactive
/// lanes.
///
/// # Safety
/// Sources and destination are valid for the types of the operation, and no other thread accesses
/// them. Their rows may overlap: all sources of a lane are read before its result is written.
pub(crate) type Function = unsafe fn(&Operands) -> u64;

/// Performs an operation of packed arithmetic with the modifiers, for the active lanes. Returns 0.
///
/// # Safety
/// Same requirements as [`Function`].
pub(crate) type PackedFunction = unsafe fn(&Operands, &PackedModifiers) -> u64;

/// Code of a [`Function`], for any machine and for those with vector instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Functions<F = Function> {
    portable: F,
    #[cfg(target_arch = "x86_64")]
    avx2: F,
}

impl<F: Copy> Functions<F> {
    /// The code for this machine.
    pub(crate) fn of_this_machine(self) -> F {
        #[cfg(target_arch = "x86_64")]
        if table::has_avx2() {
            return self.avx2;
        }
        self.portable
    }
}

/// An operation.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Its function.
    pub(crate) run: Functions,
    /// The function that clamps integers, if it has one.
    pub(crate) clamped: &'static [Functions],
    /// The types of the sources; none for one of type `bool`.
    pub(crate) src: &'static [Option<Type>],
    /// Whether the last source is the destination.
    pub(crate) reads_dst: bool,
    /// The type of the destination; none if the result is a mask only.
    pub(crate) dst: Option<Type>,
    /// Whether a result is a mask.
    pub(crate) writes_mask: bool,
}

/// An operation of packed arithmetic.
///
/// Its function applies all modifiers but DPP to the rows as registers have them. A NaN is clamped to
/// 0. Of operations that mix floats (`v_fma_mix_f32` and its like) the bits of `neg_lo` and `neg_hi`
/// are those of the operands' `neg` and `abs`. It keeps subnormal numbers.
#[derive(Debug)]
pub(crate) struct PackedOperation {
    /// Its function.
    pub(crate) run: Functions<PackedFunction>,
    /// The types of the sources' parts: of halves if these have 16 bits, of rows if they have 64.
    pub(crate) src: &'static [Type],
    /// Whether sources may have the bits of `neg_lo` and `neg_hi`.
    allows: &'static [fn(bool, bool) -> bool],
    /// Whether the last source is the destination.
    pub(crate) reads_dst: bool,
    /// The type of the destination: how many rows it has.
    pub(crate) dst: Type,
}

/// The arithmetic of an operation; none if it is one on matrices, or not supported with these
/// modifiers.
pub(crate) fn find_packed(
    op: PackedOp,
    modifiers: &PackedModifiers,
) -> Option<&'static PackedOperation> {
    let operation = packed::find(op)?;
    let bit = |bits: u8, source: usize| bits >> source & 1 != 0;
    let mut sources = operation.allows.iter().enumerate();
    sources
        .all(|(at, allows)| allows(bit(modifiers.neg_lo, at), bit(modifiers.neg_hi, at)))
        .then_some(operation)
}

/// The arithmetic of an operation; none if it is no function of single lanes, or not supported.
pub(crate) fn find(op: Op) -> Option<&'static Operation> {
    match op {
        Op::Valu(op) => vector::find(op),
        Op::Dual(op) => dual::find(op),
        _ => None,
    }
}
