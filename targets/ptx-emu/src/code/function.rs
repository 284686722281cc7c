//! A function or kernel, decoded.

use super::Deciding;
use super::op::{Instr, Pc, Slot};
use crate::alu::Lanes;

/// A function or kernel, decoded.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The text that it is from, by its number in the module.
    pub(crate) part: usize,
    pub(crate) is_kernel: bool,
    /// Whether it is for devices before `sm_70`, which have fences and no other order.
    pub(crate) is_old: bool,
    pub(crate) instrs: Vec<Instr>,
    /// From which instructions on which file and line of the source they are of.
    pub(crate) sources: Vec<(Pc, (u64, u64))>,
    /// Where lanes that part at an instruction meet again; [`NOWHERE`](super::op::NOWHERE) for the end.
    pub(crate) meets: Vec<Pc>,
    pub(crate) deciding: Deciding,
    pub(crate) regs: u32,
    pub(crate) preds: u32,
    /// Constants, the same in all lanes.
    pub(crate) constants: Vec<Lanes>,
    /// Bytes of local memory that a call takes.
    pub(crate) frame: u32,
    /// The block that a launch must have.
    pub(crate) reqntid: Option<[u32; 3]>,
    /// The block that has the most threads a launch may have.
    pub(crate) maxntid: Option<[u32; 3]>,
    /// Parameters and results, in the frame; of a kernel in its parameter space.
    pub(crate) params: Vec<Slot>,
    pub(crate) results: Vec<Slot>,
}
