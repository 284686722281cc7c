//! Packed arithmetic.

use bus_cost::record::lanes_of;

use crate::alu::{LANES, Operands, PackedFunction, Row, Type};
use crate::fault::FaultKind;
use crate::inst::PackedModifiers;

use super::flow::Flow;
use super::mode::KEEPS_DENORMALS;
use super::modifiers::LaneSource;
use super::operand::Source;
use super::vector::source_rows;
use super::wave::Wave;

/// Packed arithmetic with resolved operands.
pub(super) struct Packed {
    pub(super) function: PackedFunction,
    pub(super) modifiers: PackedModifiers,
    pub(super) src: Vec<Source>,
    /// The first row of the destination.
    pub(super) dst: u16,
    /// The type of the destination.
    pub(super) kind: Type,
    pub(super) has_floats: bool,
    /// DPP of the first source, which comes from other lanes.
    pub(super) dpp: Option<LaneSource>,
}

/// The temporary rows of the first source, and of a result.
const FIRST: usize = 0;
const RESULT: usize = 8;

impl Packed {
    /// Executes the operation.
    pub(super) fn run(&self, wave: &mut Wave) -> Flow {
        if self.has_floats && wave.mode & 0xff != KEEPS_DENORMALS {
            let mode = wave.mode & 0xff;
            return wave.fail_all(FaultKind::Unsupported(format!(
                "packed arithmetic of floats in mode {mode:#x}"
            )));
        }
        let mut exec = wave.exec();
        let mut src = [std::ptr::null(); 4];
        for (number, source) in self.src.iter().enumerate() {
            src[number] = source_rows(wave, source, exec, (FIRST + 2 * number, 2));
        }
        let mut dst = wave.row(usize::from(self.dst));
        if let Some(dpp) = &self.dpp {
            // SAFETY: a row of the wave, see below.
            let mut rows: [Row; 2] = [unsafe { src[0].read() }, [0; LANES]];
            exec &= dpp.apply(&mut rows, Type::U32, exec, wave.lanes);
            *wave.row_mut(FIRST) = rows[0];
            src[0] = wave.row(FIRST);
            dst = wave.row(RESULT);
        }
        let operands = Operands {
            exec,
            src,
            dst,
            mask: 0,
        };
        // SAFETY: the rows of sources and destination are registers that the step declares, which the
        // wave has; constants; or temporary rows. This thread alone has the wave.
        let _ = unsafe { (self.function)(&operands, &self.modifiers) };
        if self.dpp.is_some() {
            for row in 0..self.kind.rows() {
                for lane in lanes_of(exec) {
                    let word = wave.word(RESULT + row, lane);
                    wave.set_word(usize::from(self.dst) + row, lane, word);
                }
            }
        }
        Flow::Next
    }
}
