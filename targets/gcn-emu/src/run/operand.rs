//! Resolved operands.

use crate::alu::Row;

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    None,
    /// A scalar register by its number as an operand.
    Scalar(u8),
    /// The first row.
    Vector(u16),
}

/// A source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    None,
    /// A scalar register by its number as an operand.
    Scalar(u8),
    /// The first row.
    Vector(u16),
    /// A constant, and its rows.
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
