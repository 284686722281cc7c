//! Modifiers of vector arithmetic: what comes before and after the function of a lane.

use crate::alu::{LANES, Row, Type};
use crate::inst::{Dpp, SdwaSelect};

/// Modifiers of an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ResolvedModifiers {
    pub(super) src: [SourceModifiers; 4],
    /// The first source comes from other lanes.
    pub(super) dpp: Option<LaneSource>,
    /// Multiply the result: 1 by 2, 2 by 4, 3 by 1/2.
    pub(super) omod: u8,
    /// Clamp a float to 0 to 1.
    pub(super) clamp: bool,
    pub(super) dst: Placement,
}

/// Modifiers of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SourceModifiers {
    pub(super) neg: bool,
    pub(super) abs: bool,
    pub(super) sext: bool,
    pub(super) select: Option<SdwaSelect>,
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Placement {
    /// The whole register.
    #[default]
    Whole,
    /// A part of it. The rest stays.
    Part(SdwaSelect),
    /// A part of it. The rest becomes 0, or the sign of the part.
    Extended(SdwaSelect, bool),
}

/// Denormals that the mode register flushes.
const INPUTS: u32 = 2;
const OUTPUTS: u32 = 1;

/// Bits of the mode register: a NaN is clamped to 0; operations follow IEEE 754.
pub(super) const NANS_TO_ZERO: u32 = 1 << 8;
pub(super) const FOLLOWS_IEEE: u32 = 1 << 9;

impl ResolvedModifiers {
    /// Applies those of a source to its rows.
    pub(super) fn prepare(&self, number: usize, kind: Type, rows: &mut [Row; 2], mode: u32) {
        let modifiers = self.src[number];
        let [low, high] = rows;
        for (low, high) in low.iter_mut().zip(high) {
            if let Some(select) = modifiers.select {
                *low = selected(*low, select, modifiers.sext);
            }
            let top = if kind.rows() > 1 { high } else { low };
            let sign = match kind.bits() {
                16 => 1 << 15,
                _ => 1 << 31,
            };
            if modifiers.abs {
                *top &= !sign;
            }
            if modifiers.neg {
                *top ^= sign;
            }
        }
        if flushes(kind, mode, INPUTS) {
            let [low, high] = rows;
            for (low, high) in low.iter_mut().zip(high) {
                let bits = u64::from(*high) << 32 | u64::from(*low);
                let bits = flushed(kind, bits);
                (*low, *high) = (bits as u32, (bits >> 32) as u32);
            }
        }
    }

    /// The content of the destination, for the bits of a result.
    pub(super) fn finish(&self, kind: Type, bits: u64, old: u32, mode: u32) -> u64 {
        let mut bits = bits;
        // Hardware ignores it if the result keeps subnormal numbers, or operations follow IEEE 754.
        if self.omod != 0 && flushes(kind, mode, OUTPUTS) && mode & FOLLOWS_IEEE == 0 {
            bits = multiplied(kind, bits, self.omod);
        }
        if self.clamp {
            bits = clamped(kind, bits, mode);
        }
        if flushes(kind, mode, OUTPUTS) {
            bits = flushed(kind, bits);
        }
        match self.dst {
            Placement::Whole => bits,
            Placement::Part(select) => {
                let (shift, mask) = extent(select);
                u64::from(old & !(mask << shift) | (bits as u32 & mask) << shift)
            }
            Placement::Extended(select, signed) => {
                let (shift, mask) = extent(select);
                let part = bits as u32 & mask;
                let is_negative = part > mask / 2;
                match signed && is_negative {
                    true => u64::from((part | !mask) << shift),
                    false => u64::from(part << shift),
                }
            }
        }
    }
}

/// The position of a part, and the mask of its width.
fn extent(select: SdwaSelect) -> (u32, u32) {
    match select {
        SdwaSelect::Byte(byte) => (8 * u32::from(byte), 0xff),
        SdwaSelect::Word(word) => (16 * u32::from(word), 0xffff),
        SdwaSelect::Dword => (0, u32::MAX),
    }
}

fn selected(word: u32, select: SdwaSelect, signed: bool) -> u32 {
    let (shift, mask) = extent(select);
    let part = word >> shift & mask;
    match signed && part > mask / 2 {
        true => part | !mask,
        false => part,
    }
}

fn flushes(kind: Type, mode: u32, which: u32) -> bool {
    let keeps = match kind {
        Type::F32 => mode >> 4,
        Type::F16 | Type::F64 => mode >> 6,
        _ => return false,
    };
    keeps & which == 0
}

/// The number of bits of exponent and mantissa.
fn format(kind: Type) -> (u32, u32) {
    match kind {
        Type::F16 => (5, 10),
        Type::BF16 => (8, 7),
        Type::F32 => (8, 23),
        _ => (11, 52),
    }
}

fn flushed(kind: Type, bits: u64) -> u64 {
    let (exponent, mantissa) = format(kind);
    match bits >> mantissa & ((1 << exponent) - 1) {
        0 => bits & 1 << (exponent + mantissa),
        _ => bits,
    }
}

fn multiplied(kind: Type, bits: u64, omod: u8) -> u64 {
    let factor = [1.0, 2.0, 4.0, 0.5][usize::from(omod & 3)];
    match kind {
        // Adding 0 makes -0 positive.
        Type::F32 => (f32::from_bits(bits as u32) * factor + 0.0)
            .to_bits()
            .into(),
        Type::F64 => (f64::from_bits(bits) * f64::from(factor) + 0.0).to_bits(),
        _ => bits,
    }
}

fn clamped(kind: Type, bits: u64, mode: u32) -> u64 {
    let (exponent, mantissa) = format(kind);
    let magnitude = bits & ((1 << (exponent + mantissa)) - 1);
    let infinity = ((1 << exponent) - 1) << mantissa;
    let one = ((1 << (exponent - 1)) - 1) << mantissa;
    match (magnitude > infinity, bits == magnitude) {
        (true, _) if mode & NANS_TO_ZERO == 0 => bits,
        (true, _) | (false, false) => 0,
        (false, true) => bits.min(one),
    }
}

/// The lanes from which a source comes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LaneSource {
    dpp: Dpp,
}

impl LaneSource {
    pub(super) fn new(dpp: Dpp) -> Self {
        Self { dpp }
    }

    /// Replaces the rows by those of other lanes. Returns the lanes that are written.
    pub(super) fn apply(&self, rows: &mut [Row; 2], kind: Type, exec: u64, lanes: u64) -> u64 {
        let old = *rows;
        let mut written = lanes;
        for lane in 0..LANES {
            let from = self.from(lane, lanes);
            let (fetches, reads_zero) = match self.dpp {
                Dpp::Row {
                    bound_ctrl,
                    fetch_inactive,
                    ..
                } => (fetch_inactive, bound_ctrl),
                Dpp::Eight { fetch_inactive, .. } => (fetch_inactive, true),
            };
            let valid = from.filter(|&from| fetches || exec >> from & 1 != 0);
            for (row, old) in rows.iter_mut().zip(&old).take(kind.rows()) {
                row[lane] = valid.map_or(0, |from| old[from]);
            }
            if valid.is_none() && !reads_zero {
                written &= !(1 << lane);
            }
        }
        match self.dpp {
            Dpp::Row {
                row_mask,
                bank_mask,
                ..
            } => {
                for lane in 0..LANES {
                    let row = row_mask >> (lane / 16) & 1;
                    let bank = bank_mask >> (lane % 16 / 4) & 1;
                    if row == 0 || bank == 0 {
                        written &= !(1 << lane);
                    }
                }
            }
            Dpp::Eight { .. } => {}
        }
        written
    }

    /// The lane from which a lane reads; none if it does not exist.
    fn from(&self, lane: usize, lanes: u64) -> Option<usize> {
        let count = lanes.count_ones() as usize;
        let (row, at) = (lane / 16 * 16, lane % 16);
        let control = match self.dpp {
            Dpp::Eight { lanes, .. } => {
                let select = lanes >> (3 * (lane % 8)) & 7;
                return Some(lane / 8 * 8 + select as usize);
            }
            Dpp::Row { control, .. } => usize::from(control),
        };
        let by = control & 15;
        let in_row = |at: usize| (at < 16).then_some(row + at);
        match control {
            0..=0xff => Some(lane / 4 * 4 + (control >> (2 * (lane % 4)) & 3)),
            0x101..=0x10f => in_row(at + by),
            0x111..=0x11f => at.checked_sub(by).and_then(in_row),
            0x121..=0x12f => in_row((at + 16 - by) % 16),
            // Of the whole wave, on gfx9: shift and rotate by one.
            0x130 => Some(lane + 1).filter(|&lane| lane < count),
            0x134 => Some((lane + 1) % count),
            0x138 => lane.checked_sub(1),
            0x13c => Some((lane + count - 1) % count),
            0x140 => in_row(15 - at),
            0x141 => Some(row + at / 8 * 8 + (7 - at % 8)),
            // The last lane of the previous row; the last of the first half.
            0x142 => row.checked_sub(1),
            0x143 => (lane >= 32).then_some(31),
            0x150..=0x15f => in_row(by),
            0x160..=0x16f => in_row(at ^ by),
            _ => None,
        }
    }
}
