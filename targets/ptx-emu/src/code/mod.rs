//! Decoded functions: the form that warps execute.

pub(crate) mod asynchronous;
pub(crate) mod cluster;
mod control_registers;
mod decode;
mod flow;
mod function;
pub(crate) mod matrix;
pub(crate) mod op;
mod operand;
mod visit;

pub(crate) use self::control_registers::ControlRegisters;
pub(crate) use self::decode::{Resolve, Symbol, decode};
pub(crate) use self::function::Function;
