//! A function or kernel, decoded.

use super::ControlRegisters;
use super::op::{Instr, Pc, Slot, Src};
use super::operand::Operand;

/// A function or kernel, decoded.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The index of its text in the module.
    pub(crate) part: usize,
    pub(crate) is_kernel: bool,
    /// Whether it is for devices before `sm_70`, which have no order other than fences.
    pub(crate) is_old: bool,
    pub(crate) instrs: Vec<Instr>,
    /// File and line of the source, from an instruction on.
    pub(crate) sources: Vec<(Pc, (u64, u64))>,
    /// The reconvergence point of lanes that diverge at an instruction; [`FUNCTION_END`](super::op::FUNCTION_END) for the end.
    pub(crate) meets: Vec<Pc>,
    pub(crate) control_registers: ControlRegisters,
    pub(crate) regs: u32,
    pub(crate) preds: u32,
    /// Constants, the same in all lanes.
    pub(crate) constants: Vec<u64>,
    /// Bytes of local memory of a call.
    pub(crate) frame: u32,
    /// The block that a launch must have.
    pub(crate) reqntid: Option<[u32; 3]>,
    /// The block that has the most threads a launch may have.
    pub(crate) maxntid: Option<[u32; 3]>,
    /// Parameters and results, in the frame, or in a kernel's parameter space.
    pub(crate) params: Vec<Slot>,
    pub(crate) results: Vec<Slot>,
}

impl Function {
    /// Checks that its instructions use registers and constants that it has. Executing them relies on
    /// it, without another check.
    ///
    /// # Panics
    /// One does not.
    pub(super) fn check_operands(&self) {
        let constants = self.constants.len() as u32;
        for instr in &self.instrs {
            instr.op.for_each_operand(&mut |operand| {
                let is_there = match operand {
                    Operand::Read(source) if !source.is_register() => {
                        // Constants count backwards.
                        u32::MAX - source.0 < constants
                    }
                    Operand::Read(Src(register)) | Operand::Write(register) => register < self.regs,
                    _ => true,
                };
                assert!(is_there, "a register or constant of the function");
            });
        }
    }
}
