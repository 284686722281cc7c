//! Runs an operation.

use crate::alu::{LANES, Operands, Operation, Row, Type, find, find_packed};
use crate::inst::{Op, PackedModifiers};
use crate::isa::{PackedOp, ValuOp};

/// The operands of a wave, each with the words of 64 bits.
pub(super) struct Wave {
    pub(super) exec: u64,
    pub(super) src: Vec<[Row; 2]>,
    pub(super) dst: [Row; 2],
    pub(super) mask: u64,
}

/// Rows whose lanes all have these bits.
fn rows_of(bits: u64) -> [Row; 2] {
    [[bits as u32; LANES], [(bits >> 32) as u32; LANES]]
}

impl Wave {
    /// One whose lanes all have these operands: of each type the bits, and of `bool` 0 or 1.
    pub(super) fn of(operation: &Operation, operands: &[u64]) -> Self {
        assert_eq!(operation.src.len(), operands.len());
        let mut wave = Self {
            exec: u64::MAX,
            src: Vec::new(),
            dst: [[0; LANES]; 2],
            mask: 0,
        };
        for (ty, &bits) in operation.src.iter().zip(operands) {
            match ty {
                Some(_) => wave
                    .src
                    .push([[bits as u32; LANES], [(bits >> 32) as u32; LANES]]),
                None => wave.mask = bits.wrapping_neg(),
            }
        }
        wave
    }

    /// Where its operands are. It must live as long as they are in use.
    pub(super) fn operands(&mut self) -> Operands {
        static EMPTY: [Row; 2] = [[0; LANES]; 2];
        let src = std::array::from_fn(|at| self.src.get(at).unwrap_or(&EMPTY).as_ptr());
        Operands {
            exec: self.exec,
            src,
            dst: self.dst.as_mut_ptr(),
            mask: self.mask,
        }
    }

    /// Performs an operation. Returns its mask.
    pub(super) fn run(&mut self, operation: &Operation, clamped: bool) -> u64 {
        let run = if clamped {
            operation.clamped[0]
        } else {
            operation.run
        };
        // SAFETY: all have two rows, the most of any type.
        unsafe { run.of_this_machine()(&self.operands()) }
    }

    /// The bits of a lane's result.
    pub(super) fn result(&self, lane: usize) -> u64 {
        u64::from(self.dst[1][lane]) << 32 | u64::from(self.dst[0][lane])
    }
}

/// The result of packed arithmetic in a lane; none if it is not supported with these modifiers.
pub(super) fn packed_result(
    op: PackedOp,
    operands: &[u64],
    modifiers: PackedModifiers,
) -> Option<u64> {
    let operation = find_packed(op, &modifiers)?;
    assert_eq!(operation.src.len(), operands.len(), "{op:?}");
    let src: Vec<[Row; 2]> = operands.iter().map(|&bits| rows_of(bits)).collect();
    let old = operands.last().filter(|_| operation.reads_dst);
    let mut wave = Wave {
        exec: u64::MAX,
        src,
        dst: rows_of(*old.unwrap_or(&0)),
        mask: 0,
    };
    let [all, one] = [u64::MAX, 1 << 37].map(|exec| {
        wave.exec = exec;
        // SAFETY: all have two rows, the most of any type.
        let mask = unsafe { operation.run.of_this_machine()(&wave.operands(), &modifiers) };
        assert_eq!(mask, 0, "{op:?}");
        wave.result(37)
    });
    assert_eq!(one, all, "{op:?}");
    assert!(
        operation.dst.bits() == 64 || all >> 32 == 0,
        "{op:?}: {all:#x}"
    );
    assert!((1..LANES).all(|lane| wave.result(lane) == all), "{op:?}");
    Some(all)
}

/// The same of the operation of that name.
pub(super) fn packed(name: &str, operands: &[u64], modifiers: PackedModifiers) -> Option<u64> {
    let op = PackedOp::ALL.iter().find(|op| op.row().name == name);
    packed_result(
        *op.unwrap_or_else(|| panic!("no operation {name}")),
        operands,
        modifiers,
    )
}

/// The operation of that name.
pub(super) fn named(name: &str) -> &'static Operation {
    let vector = ValuOp::ALL.iter().find(|op| op.row().name == name);
    let op = vector.unwrap_or_else(|| panic!("no operation {name}"));
    find(Op::Valu(*op)).unwrap_or_else(|| panic!("no arithmetic of {name}"))
}

/// The result of an operation in a lane, and its bit.
pub(super) fn result(name: &str, operands: &[u64], clamped: bool) -> (u64, bool) {
    result_of(named(name), operands, clamped)
}

/// The same of an operation.
pub(super) fn result_of(operation: &Operation, operands: &[u64], clamped: bool) -> (u64, bool) {
    let mut wave = Wave::of(operation, operands);
    let mask = wave.run(operation, clamped);
    assert!(
        mask == 0 || (operation.writes_mask && mask == u64::MAX),
        "{mask:#x}"
    );
    let all = wave.result(0);
    assert!(
        (1..LANES).all(|lane| wave.result(lane) == all),
        "lanes differ"
    );
    wave.exec = 1 << 37;
    wave.dst = [[0; LANES]; 2];
    assert_eq!(wave.run(operation, clamped), mask & 1 << 37, "one lane");
    assert_eq!(wave.result(37), all, "one lane");
    let bits = operation.dst.map_or(0, Type::bits);
    assert!(bits == 64 || all >> bits == 0, "{all:#x}");
    (all, mask != 0)
}

/// The result of an operation of floats of 32 bits.
pub(super) fn single(name: &str, operands: &[f32]) -> f32 {
    let bits: Vec<u64> = operands
        .iter()
        .map(|value| value.to_bits().into())
        .collect();
    f32::from_bits(result(name, &bits, false).0 as u32)
}

/// The result of an operation of floats of 64 bits.
pub(super) fn double(name: &str, operands: &[f64]) -> f64 {
    let bits: Vec<u64> = operands.iter().map(|value| value.to_bits()).collect();
    f64::from_bits(result(name, &bits, false).0)
}
