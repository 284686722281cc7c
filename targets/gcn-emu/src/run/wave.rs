//! Registers and state of a wave.

use crate::alu::{LANES, Row};
use crate::arch::{Generation, Target, WaveSize};
use crate::descriptor::Registers;
use crate::fault::FaultKind;
use crate::memory::SCRATCH;

use super::costs::CostRecorder;
use super::flow::Flow;
use super::outstanding::WaveCheck;
use super::pending::Pending;
use super::private_memory::{GARBAGE, PrivateMemory};
use super::register_counts::RegisterCounts;

/// Numbers of scalar registers as operands.
pub(super) const FLAT_SCRATCH: u8 = 102;
pub(super) const VCC: u8 = 106;
pub(super) const TRAP: u8 = 108;
pub(super) const EXEC: u8 = 126;

/// Temporary rows, which come before the registers.
pub(super) const TEMPORARIES: usize = 16;

/// The first row of vector registers, and of accumulation registers.
pub(super) const VECTORS: usize = TEMPORARIES;
pub(super) const ACCUMULATIONS: usize = VECTORS + 256;

/// A wave.
pub(crate) struct Wave {
    pub(super) target: Target,
    /// Number of the wave in the workgroup.
    pub(super) number: u32,
    /// The address of the next instruction.
    pub(super) pc: u64,
    /// Scalar registers by their numbers as operands.
    pub(super) scalars: [u32; 128],
    pub(super) scc: bool,
    /// Mask of the lanes of a wave of this size.
    pub(super) lanes: u64,
    /// The mode register.
    pub(super) mode: u32,
    /// [Temporary rows](TEMPORARIES), vector and accumulation registers.
    rows: Box<[Row]>,
    /// The numbers of declared registers.
    declared: RegisterCounts,
    /// The numbers of registers that steps may use: none in index mode.
    usable: RegisterCounts,
    pub(super) private: PrivateMemory,
    /// Phase of the barrier for which the wave waits.
    pub(super) waits_at: Option<u64>,
    pub(super) has_ended: bool,
    /// Outstanding operations, in weak memory mode.
    pub(super) pending: Option<Box<Pending>>,
    /// Counts of bus traffic.
    pub(super) costs: Option<Box<CostRecorder>>,
    /// State of the race checker.
    pub(super) check: Option<Box<WaveCheck>>,
    /// Whether accesses and waits are observed: in weak memory mode, or if they are counted or checked.
    pub(super) is_observed: bool,
    /// Traced lane.
    pub(super) traced: Option<usize>,
    /// Fault and its lane.
    pub(super) fault: Option<(FaultKind, usize)>,
}

impl Wave {
    pub(super) fn new(
        target: Target,
        number: u32,
        declared: Registers,
        rows: Vec<Row>,
        private: PrivateMemory,
    ) -> Self {
        let needed = match declared.accumulation {
            0 => VECTORS + usize::from(declared.vector),
            count => ACCUMULATIONS + usize::from(count),
        };
        let counts = RegisterCounts::new([
            declared.scalar.into(),
            declared.vector,
            declared.accumulation,
        ]);
        let mut rows = rows;
        rows.clear();
        rows.resize(needed, [GARBAGE; LANES]);
        Self {
            target,
            number,
            pc: 0,
            scalars: [GARBAGE; 128],
            scc: false,
            lanes: match target.wave {
                WaveSize::Wave32 => u64::from(u32::MAX),
                WaveSize::Wave64 => u64::MAX,
            },
            mode: 0,
            rows: rows.into_boxed_slice(),
            declared: counts,
            usable: counts,
            private,
            waits_at: None,
            has_ended: false,
            pending: None,
            costs: None,
            check: None,
            is_observed: false,
            traced: None,
            fault: None,
        }
    }

    /// Returns the allocations, which the next wave reuses.
    pub(super) fn dismantle(self) -> (Vec<Row>, PrivateMemory) {
        (self.rows.into_vec(), self.private)
    }

    /// Active lanes.
    #[inline]
    pub(super) fn exec(&self) -> u64 {
        self.pair(EXEC) & self.lanes
    }

    pub(super) fn set_exec(&mut self, exec: u64) {
        self.set_mask(EXEC, exec);
    }

    /// Two adjacent scalar registers.
    #[inline]
    pub(super) fn pair(&self, first: u8) -> u64 {
        let first = usize::from(first & 127);
        let high = self.scalars.get(first + 1).copied().unwrap_or(0);
        u64::from(high) << 32 | u64::from(self.scalars[first])
    }

    #[inline]
    pub(super) fn set_pair(&mut self, first: u8, value: u64) {
        if !self.is_null(first) {
            self.set_scalar(first, value as u32);
            self.set_scalar(first + 1, (value >> 32) as u32);
        }
    }

    #[inline]
    pub(super) fn set_scalar(&mut self, number: u8, value: u32) {
        if self.is_null(number) {
            return;
        }
        if let Some(register) = self.scalars.get_mut(usize::from(number)) {
            *register = value;
        }
    }

    /// Lane mask in one or two scalar registers, depending on the size of a wave.
    pub(super) fn mask(&self, first: u8) -> u64 {
        self.pair(first) & self.lanes
    }

    pub(super) fn set_mask(&mut self, first: u8, mask: u64) {
        match self.target.wave {
            WaveSize::Wave32 => self.set_scalar(first, mask as u32),
            WaveSize::Wave64 => self.set_pair(first, mask),
        }
    }

    fn is_null(&self, number: u8) -> bool {
        number == 124 && self.target.arch.generation() != Generation::Gfx9
    }

    /// Offset of the wave's private memory in scratch memory.
    pub(super) fn scratch_offset(&self) -> u32 {
        // Never 0, so that code that omits the offset fails.
        (self.number + 1).wrapping_mul(self.private.wave_bytes() as u32)
    }

    /// Address of the wave's private memory.
    pub(super) fn scratch(&self) -> u64 {
        SCRATCH + u64::from(self.scratch_offset())
    }

    /// Whether a step that needs so many registers may be executed as it is.
    #[inline]
    pub(super) fn has(&self, needs: RegisterCounts) -> bool {
        self.usable.include(needs)
    }

    /// Whether the kernel's descriptor declares so many registers.
    pub(super) fn declares(&self, needs: RegisterCounts) -> bool {
        self.declared.include(needs)
    }

    /// Begins or ends gfx9's index mode.
    pub(super) fn set_index_mode(&mut self, is_on: bool) {
        self.usable = match is_on {
            true => RegisterCounts::new([0; 3]),
            false => self.declared,
        };
    }

    /// Whether it is in index mode.
    pub(super) fn is_in_index_mode(&self) -> bool {
        self.usable != self.declared
    }

    /// The register of distances.
    pub(super) fn m0(&self) -> u32 {
        self.scalars[usize::from(self.m0_number())]
    }

    pub(super) fn set_m0(&mut self, value: u32) {
        self.scalars[usize::from(self.m0_number())] = value;
    }

    fn m0_number(&self) -> u8 {
        match self.target.arch.generation() {
            Generation::Gfx9 => 124,
            Generation::Gfx11 | Generation::Gfx12 => 125,
        }
    }

    /// Whether so many declared scalar registers begin there.
    pub(super) fn has_scalar(&self, first: u8, count: u8) -> bool {
        u16::from(first) + u16::from(count) <= self.declared.counts()[0]
    }

    /// The row of a declared vector register at a distance from another.
    pub(super) fn relative_row(&self, row: u16, distance: u32) -> Option<u16> {
        let row = u32::from(row).checked_add(distance)?;
        let end = VECTORS as u32 + u32::from(self.declared.counts()[1]);
        (row < end).then_some(row as u16)
    }

    /// The fault of an instruction whose register at the distance in M0 is not declared.
    #[cold]
    pub(super) fn lacking_relative(&self, kind: &str, m0: u32) -> FaultKind {
        let declared = self.declared.counts()[usize::from(kind == "v")];
        FaultKind::Register {
            register: format!("a {kind} register at the distance in m0, {m0:#x},"),
            declared: declared.into(),
        }
    }

    /// Fault of an instruction that needs undeclared registers.
    #[cold]
    pub(super) fn lacking(&self, needs: RegisterCounts) -> FaultKind {
        let (needs, declared) = (needs.counts(), self.declared.counts());
        let at = (0..3).find(|&at| needs[at] > declared[at]).unwrap_or(0);
        FaultKind::Register {
            register: format!("{}{}", ["s", "v", "a"][at], needs[at].saturating_sub(1)),
            declared: declared[at].into(),
        }
    }

    /// Pointer to a row. Callers rely on the registers that a step declares to stay in bounds.
    #[inline]
    pub(super) fn row(&mut self, row: usize) -> *mut Row {
        debug_assert!(row < self.rows.len(), "checked by the step's registers");
        self.rows.as_mut_ptr().wrapping_add(row)
    }

    /// The content of a vector register, for reports.
    pub(super) fn vector(&self, number: u8, lane: usize) -> u32 {
        let row = self.rows.get(VECTORS + usize::from(number));
        row.map_or(0, |row| row[lane])
    }

    /// The content of an accumulation register, for reports.
    pub(super) fn accumulation(&self, number: u8, lane: usize) -> u32 {
        let row = self.rows.get(ACCUMULATIONS + usize::from(number));
        row.map_or(0, |row| row[lane])
    }

    /// The content of a scalar register, for reports.
    pub(super) fn scalar(&self, number: u8) -> u32 {
        let register = self.scalars.get(usize::from(number));
        register.copied().unwrap_or(0)
    }

    /// All rows of registers.
    pub(super) fn registers(&self) -> &[Row] {
        &self.rows[VECTORS..]
    }

    /// A word of a lane.
    #[inline]
    pub(super) fn word(&self, row: usize, lane: usize) -> u32 {
        self.rows[row][lane]
    }

    #[inline]
    pub(super) fn set_word(&mut self, row: usize, lane: usize, word: u32) {
        self.rows[row][lane] = word;
    }

    /// A whole row.
    pub(super) fn row_mut(&mut self, row: usize) -> &mut Row {
        &mut self.rows[row]
    }

    /// Ends the instruction with a fault of a lane.
    #[cold]
    pub(super) fn fail(&mut self, lane: usize, kind: FaultKind) -> Flow {
        self.fault = Some((kind, lane));
        Flow::Fault
    }

    /// Ends the instruction with a fault of the first active lane.
    #[cold]
    pub(super) fn fail_all(&mut self, kind: FaultKind) -> Flow {
        let first = self.exec().trailing_zeros() as usize % LANES;
        self.fail(first, kind)
    }
}
