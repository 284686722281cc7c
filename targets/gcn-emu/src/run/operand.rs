//! Resolved operands.

use crate::alu::Row;

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    None,
    /// Scalar register, by its operand number.
    Scalar(u8),
    /// First row of vector registers.
    Vector(u16),
}

/// A source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    None,
    /// Scalar register, by its operand number.
    Scalar(u8),
    /// First row of vector registers.
    Vector(u16),
    /// Constant as bits and as rows.
    Constant(u64, Box<[Row; 2]>),
    Special(Special),
}

/// A special source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    SharedBase,
    SharedLimit,
    PrivateBase,
    PrivateLimit,
    Vccz,
    Execz,
    Scc,
}
