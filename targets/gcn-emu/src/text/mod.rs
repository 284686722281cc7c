//! The text of an instruction, as LLVM's disassembler writes it.
//!
//! | module | job |
//! |---|---|
//! | `modifiers` | modifiers, behind the operands |
//! | `operand` | operands |
//! | `control` | counters, messages, hardware registers |

mod control;
mod modifiers;
mod operand;

use std::fmt;

use crate::arch::Generation;
use crate::inst::{Encoding, Inst, Modifiers, Op, Segment};
use crate::isa::has_short_form;
use crate::isa::{Flag, Row};

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generation = self.target.arch.generation();
        let row = self.op.row();
        self.name(f)?;
        operand::list(f, self, &self.operands)?;
        match &self.modifiers {
            _ if row.has(Flag::bare) => modifiers::cache_control(f, self),
            _ if self.is_cache_control(row) => Ok(()),
            Modifiers::None => Ok(()),
            Modifiers::Alu(alu) => modifiers::alu(f, self, alu),
            Modifiers::Packed(packed) => modifiers::packed(f, self, packed),
            Modifiers::Matrix(matrix) => modifiers::matrix(f, self, matrix),
            Modifiers::Dual(half) => {
                write!(f, " :: {}", half.op.row().name_on(generation))?;
                operand::list(f, self, &half.operands)
            }
            Modifiers::Interp(wait, alu) => modifiers::interp(f, self, *wait, alu),
            Modifiers::ScalarMemory(memory) => modifiers::scalar_memory(f, self, memory),
            Modifiers::Lds(lds) => modifiers::lds(f, self, lds),
            Modifiers::Memory(memory) => modifiers::memory(f, self, memory),
            Modifiers::Buffer(buffer) => modifiers::buffer(f, self, buffer),
        }
    }
}

impl Inst {
    /// Writes the name of the operation with the suffix of the encoding.
    fn name(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.op.row();
        let generation = self.target.arch.generation();
        let name = row.name_on(generation);
        match (&self.op, &self.modifiers) {
            (Op::Flat(_), Modifiers::Memory(memory)) => {
                let segment = match memory.segment {
                    Segment::Flat => "flat",
                    Segment::Scratch => "scratch",
                    Segment::Global => "global",
                };
                write!(f, "{segment}{}", name.strip_prefix("flat").unwrap_or(name))
            }
            (Op::Valu(_), Modifiers::Alu(alu)) => {
                let suffix = match (self.encoding, alu.dpp, alu.sdwa) {
                    _ if row.dst.is_empty() => "",
                    (Encoding::Vop3, Some(_), _) => "_e64_dpp",
                    (Encoding::Vop3, None, _) if self.has_short_form(row) => "_e64",
                    (Encoding::Vop3, ..) => "",
                    (_, Some(_), _) => "_dpp",
                    (_, _, Some(_)) => "_sdwa",
                    _ if row.has(Flag::e32) => "",
                    _ if row.has(Flag::e32_rdna) && generation != Generation::Gfx9 => "",
                    _ => "_e32",
                };
                write!(f, "{name}{suffix}")
            }
            (Op::Packed(_), Modifiers::Packed(packed)) if packed.dpp.is_some() => {
                write!(f, "{name}_dpp")
            }
            _ => f.write_str(name),
        }
    }

    /// Whether it is a scalar memory operation on caches, which has no operands.
    fn is_cache_control(&self, row: &Row) -> bool {
        self.encoding == Encoding::Smem && row.src.is_empty()
    }

    /// Whether an operation with an encoding of 64 bits has one of 32 bits as well.
    pub(crate) fn has_short_form(&self, row: &Row) -> bool {
        let number = row.number(self.target.arch).unwrap_or(u16::MAX);
        has_short_form(self.target.arch.generation(), number)
    }
}
