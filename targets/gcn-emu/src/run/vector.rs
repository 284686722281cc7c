//! Vector arithmetic.

use bus_cost::record::lanes_of;

use crate::alu::{Function, LANES, Operands, Operation, Row, Type};
use crate::fault::FaultKind;

use super::flow::Flow;
use super::mode::{self, KEEPS_DENORMALS, ROUNDS};
use super::modifiers::ResolvedModifiers;
use super::operand::Source;
use super::wave::Wave;

/// Vector arithmetic with resolved operands.
pub(super) struct Alu {
    pub(super) function: Function,
    /// The sources of the function that are rows, in order.
    pub(super) src: [Source; MAX_SOURCES],
    /// The rows of each.
    pub(super) rows: [usize; MAX_SOURCES],
    /// The number of sources.
    pub(super) count: usize,
    /// The first row of the destination; [`RESULT`] if there is none.
    pub(super) dst: u16,
    /// The scalar register with the mask that it reads.
    pub(super) mask: Option<u8>,
    /// The scalar registers that receive the mask.
    pub(super) masks: Vec<u8>,
    /// Changes of the sources before the function, and of the result after it.
    pub(super) modifiers: Option<Box<ResolvedModifiers>>,
    /// Whether operands are floats, to which the mode register applies.
    pub(super) has_floats: bool,
    pub(super) operation: &'static Operation,
}

/// The most sources.
const MAX_SOURCES: usize = 4;

/// The temporary row of a source's first row, by its number.
const SOURCES: usize = 0;

/// The temporary row of a result.
pub(super) const RESULT: u16 = 8;

/// The temporary row of a result that is kept for a while.
const HELD: u16 = 10;

/// Executes both halves of a VOPD instruction, whose sources are read before either destination is
/// written.
pub(super) fn run_dual(wave: &mut Wave, [first, second]: &[Alu; 2]) -> Flow {
    if !second.src.contains(&Source::Vector(first.dst)) {
        return match first.run_into(wave, first.dst) {
            Flow::Next => second.run_into(wave, second.dst),
            flow => flow,
        };
    }
    let mut flow = first.run_into(wave, HELD);
    if flow == Flow::Next {
        flow = second.run_into(wave, second.dst);
    }
    for lane in lanes_of(wave.exec()) {
        let word = wave.word(HELD.into(), lane);
        wave.set_word(first.dst.into(), lane, word);
    }
    flow
}

impl Alu {
    /// Adds a source.
    pub(super) fn add(&mut self, source: Source, kind: Type) {
        self.src[self.count] = source;
        self.rows[self.count] = kind.rows();
        self.count += 1;
    }

    /// Executes it.
    pub(super) fn run_into(&self, wave: &mut Wave, dst: u16) -> Flow {
        match (&self.modifiers, self.allows(wave.mode)) {
            (None, true) => self.run_unmodified::<MAX_SOURCES>(wave, dst),
            _ => self.run_modified(wave, dst),
        }
    }

    /// Whether its function alone does what it does in a mode.
    #[inline(always)]
    pub(super) fn allows(&self, mode: u32) -> bool {
        !self.has_floats || mode & 0xff == KEEPS_DENORMALS
    }

    /// Executes it without modifiers, if it has `N` sources, or at most [`MAX_SOURCES`].
    #[inline(always)]
    pub(super) fn run_unmodified<const N: usize>(&self, wave: &mut Wave, dst: u16) -> Flow {
        let exec = wave.exec();
        let dst = wave.row(dst.into());
        let operands = self.operands::<N>(wave, exec, dst);
        // SAFETY: the rows of sources and destination are registers that the step declares, which the
        // wave has; constants; or temporary rows. This thread alone has the wave.
        let mask = unsafe { (self.function)(&operands) };
        if !self.masks.is_empty() {
            self.write_masks(wave, mask);
        }
        Flow::Next
    }

    #[inline(never)]
    fn write_masks(&self, wave: &mut Wave, mask: u64) {
        for &register in &self.masks {
            wave.set_mask(register, mask);
        }
    }

    /// Executes it for a scalar, whatever lanes are active.
    pub(super) fn run_scalar(&self, wave: &mut Wave, dst: u8) -> Flow {
        if wave.mode & 0xff != KEEPS_DENORMALS {
            return wave.fail_all(mode::unsupported(wave.mode));
        }
        let (mut source, mut result): (Row, Row) = ([0; LANES], [0; LANES]);
        source[0] = wave.read32(&self.src[0]);
        let operands = Operands {
            exec: 1,
            src: [&raw const source; 4],
            dst: &raw mut result,
            mask: 0,
        };
        // SAFETY: an operation with one source and one result of at most 32 bits, a row each, which live
        // until it returns.
        unsafe { (self.function)(&operands) };
        wave.set_scalar(dst, result[0]);
        Flow::Next
    }

    /// The operands of the function, which has `N` sources, or at most [`MAX_SOURCES`].
    #[inline(always)]
    fn operands<const N: usize>(&self, wave: &mut Wave, exec: u64, dst: *mut Row) -> Operands {
        let mut src = [std::ptr::null(); 4];
        for (number, src) in src.iter_mut().enumerate().take(N) {
            // For fewer, the number of steps is known when this is compiled.
            if N == MAX_SOURCES && number == self.count {
                break;
            }
            let temporary = (SOURCES + 2 * number, self.rows[number]);
            *src = source_rows(wave, &self.src[number], exec, temporary);
        }
        Operands {
            exec,
            src,
            dst,
            mask: self.mask.map_or(0, |mask| wave.mask(mask)),
        }
    }

    #[cold]
    #[inline(never)]
    fn run_modified(&self, wave: &mut Wave, dst: u16) -> Flow {
        if self.has_floats && wave.mode & ROUNDS != 0 {
            let mode = wave.mode & ROUNDS;
            return wave.fail_all(FaultKind::Unsupported(format!(
                "arithmetic with rounding mode {mode:#x}"
            )));
        }
        let exec = wave.exec();
        let none = ResolvedModifiers::default();
        let modifiers = self.modifiers.as_deref().unwrap_or(&none);
        let mut operands = self.operands::<MAX_SOURCES>(wave, exec, std::ptr::null_mut());
        // Lanes whose source does not exist are not written, or read 0.
        let mut written = exec;
        let types = self.operation.src.iter().flatten();
        for (number, &kind) in types.enumerate() {
            let temporary = SOURCES + 2 * number;
            // SAFETY: as many rows as the type has are valid, see `run`.
            let rows = unsafe { copy(operands.src[number], kind) };
            let mut rows = rows;
            if let (0, Some(dpp)) = (number, &modifiers.dpp) {
                written &= dpp.apply(&mut rows, kind, exec, wave.lanes);
            }
            modifiers.prepare(number, kind, &mut rows, wave.mode);
            for (row, words) in rows.into_iter().enumerate() {
                *wave.row_mut(temporary + row) = words;
            }
            operands.src[number] = wave.row(temporary);
        }
        operands.exec = written;
        operands.dst = wave.row(RESULT.into());
        // SAFETY: sources and destination are temporary rows. This thread alone has the wave.
        let mask = unsafe { (self.function)(&operands) };
        if let Some(kind) = self.operation.dst {
            let result = usize::from(RESULT);
            for lane in lanes_of(written) {
                let word = |row| wave.word(row, lane);
                let bits = match kind.rows() {
                    1 => u64::from(word(result)),
                    _ => u64::from(word(result + 1)) << 32 | u64::from(word(result)),
                };
                let old = word(dst.into());
                let bits = modifiers.finish(kind, bits, old, wave.mode);
                wave.set_word(dst.into(), lane, bits as u32);
                if kind.rows() > 1 {
                    wave.set_word(usize::from(dst) + 1, lane, (bits >> 32) as u32);
                }
            }
        }
        self.write_masks(wave, mask);
        Flow::Next
    }
}

/// The rows of a source.
///
/// # Safety
/// It is valid for as many rows as the type has.
unsafe fn copy(source: *const Row, kind: Type) -> [Row; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        match kind.rows() {
            1 => [source.read(), [0; LANES]],
            _ => [source.read(), source.add(1).read()],
        }
    }
}

/// The rows of a source. Scalars are written to temporary rows: the first, and how many.
#[inline(always)]
pub(super) fn source_rows(
    wave: &mut Wave,
    source: &Source,
    exec: u64,
    temporary: (usize, usize),
) -> *const Row {
    match source {
        Source::Vector(row) => wave.row(usize::from(*row)),
        Source::Constant(_, rows) => rows.as_ptr(),
        source => spread(wave, source, exec, temporary),
    }
}

/// Writes a scalar to temporary rows: the first, and how many.
#[inline(never)]
fn spread(
    wave: &mut Wave,
    source: &Source,
    exec: u64,
    (temporary, rows): (usize, usize),
) -> *const Row {
    let value = wave.read64(source);
    let words = [value as u32, (value >> 32) as u32];
    let has_one_lane = exec & exec.wrapping_sub(1) == 0;
    for (row, word) in words.into_iter().enumerate().take(rows) {
        let row = wave.row_mut(temporary + row);
        if has_one_lane {
            row[exec.trailing_zeros() as usize % LANES] = word;
        } else {
            row.fill(word);
        }
    }
    wave.row(temporary)
}
