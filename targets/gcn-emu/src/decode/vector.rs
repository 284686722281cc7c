//! VOP1, VOP2, VOPC, VOP3 and VINTERP.

use super::lanes::{self, FirstSource};
use super::operands::VECTOR;
use super::reader::{Reader, bit, bits};
use super::{Decoded, Parts};
use crate::arch::Generation;
use crate::error::DecodeErrorKind;
use crate::inst::{AluModifiers, Encoding, Modifiers, Op, Operand};
use crate::isa::{Flag, InterpOp, Kind, Row, ValuOp, has_short_form};

const UNKNOWN: DecodeErrorKind = DecodeErrorKind::UnknownOperation;
/// Numbers of interpolations in VOP3 on gfx9.
const INTERPOLATIONS: std::ops::RangeInclusive<u16> = 0x270..=0x277;

const MODIFIER: DecodeErrorKind = DecodeErrorKind::Modifier;

pub(super) fn vop1(reader: &mut Reader<'_>) -> Decoded {
    let word = u64::from(reader.word(0)?);
    let base = match reader.generation() {
        Generation::Gfx9 => 0x140,
        Generation::Gfx11 | Generation::Gfx12 => 0x180,
    };
    // Numbers of other encodings follow.
    if bits(word, 9, 8) >= 0x80 {
        return Err(UNKNOWN);
    }
    let fields = Short {
        number: base + bits(word, 9, 8),
        dst: bits(word, 17, 8),
        src0: bits(word, 0, 9),
        src1: 0,
    };
    short(reader, Encoding::Vop1, fields)
}

pub(super) fn vop2(reader: &mut Reader<'_>) -> Decoded {
    let word = u64::from(reader.word(0)?);
    let fields = Short {
        number: 0x100 + bits(word, 25, 6),
        dst: bits(word, 17, 8),
        src0: bits(word, 0, 9),
        src1: bits(word, 9, 8),
    };
    short(reader, Encoding::Vop2, fields)
}

pub(super) fn vopc(reader: &mut Reader<'_>) -> Decoded {
    let word = u64::from(reader.word(0)?);
    let fields = Short {
        number: bits(word, 17, 8),
        dst: 0,
        src0: bits(word, 0, 9),
        src1: bits(word, 9, 8),
    };
    short(reader, Encoding::Vopc, fields)
}

/// The fields of an instruction of 32 bits.
struct Short {
    number: u16,
    dst: u16,
    src0: u16,
    src1: u16,
}

/// Whether a comparison writes EXEC alone, so that its text has no destination.
fn writes_exec_alone(reader: &Reader<'_>, row: &Row) -> bool {
    reader.generation() != Generation::Gfx9 && row.name.starts_with("v_cmpx_")
}

fn short(reader: &mut Reader<'_>, encoding: Encoding, fields: Short) -> Decoded {
    let op = ValuOp::find(reader.arch(), fields.number).ok_or(UNKNOWN)?;
    let row = op.row();
    let first = lanes::first_source(reader, encoding, row, fields.src0)?;
    let is_short_only = row.has(Flag::acc);
    let mut operands = Vec::with_capacity(row.dst.len() + row.src.len());
    for &kind in row.dst {
        let operand = match kind {
            Kind::Mask if encoding == Encoding::Vopc => match first.compare_dst {
                Some(number) => reader.scalar_dst(kind, number)?,
                None if writes_exec_alone(reader, row) => continue,
                None => reader.vcc()?,
            },
            Kind::Mask => reader.vcc()?,
            Kind::S32 => reader.scalar_dst(kind, fields.dst)?,
            _ => short_vector(reader, kind, fields.dst, is_short_only)?,
        };
        operands.push(operand);
    }
    if encoding == Encoding::Vop1 && row.dst.is_empty() && fields.dst != 0 {
        return Err(MODIFIER);
    }
    let mut position = 0;
    for &kind in row.src {
        let operand = match (kind, position) {
            (Kind::K, _) => {
                operands.push(reader.constant()?);
                continue;
            }
            (Kind::Mask, 2) => reader.vcc()?,
            (_, 0) if is_short_only => match fields.src0 {
                VECTOR.. => reader.vector(kind, fields.src0 - VECTOR, true)?,
                number => return Err(DecodeErrorKind::Operand(number)),
            },
            (_, 0) => first.operand(reader, kind, is_half(reader, kind))?,
            _ if first.scalar_second => first.second(reader.inline_source(kind, fields.src1)?),
            _ => first.second(short_vector(reader, kind, fields.src1, false)?),
        };
        position += 1;
        operands.push(operand);
    }
    Ok(Parts {
        encoding,
        op: Op::Valu(op),
        operands,
        modifiers: Modifiers::Alu(first.modifiers),
    })
}

/// Whether an operand is half of a register.
pub(super) fn is_half(reader: &Reader<'_>, kind: Kind) -> bool {
    kind.is_half() && reader.has_halves()
}

/// A vector register of an instruction of 32 bits, where the highest bit selects the half.
fn short_vector(
    reader: &Reader<'_>,
    kind: Kind,
    number: u16,
    accumulation: bool,
) -> Result<Operand, DecodeErrorKind> {
    if is_half(reader, kind) {
        let operand = reader.vector(kind, number & 0x7f, false)?;
        return Ok(operand.with_half(number & 0x80 != 0));
    }
    if kind.is_half() && number & 0x80 != 0 && reader.generation() == Generation::Gfx12 {
        return Err(DecodeErrorKind::Operand(VECTOR + number));
    }
    reader.vector(kind, number, accumulation)
}

pub(super) fn vop3(reader: &mut Reader<'_>) -> Decoded {
    let word = reader.long()?;
    let number = bits(word, 16, 10);
    let gfx9 = reader.generation() == Generation::Gfx9;
    if gfx9 && INTERPOLATIONS.contains(&number) {
        return Err(DecodeErrorKind::Graphics);
    }
    let op = ValuOp::find(reader.arch(), number).ok_or(UNKNOWN)?;
    let row = op.row();
    if row.has(Flag::e32) || (row.has(Flag::e32_rdna) && !gfx9) {
        return Err(UNKNOWN);
    }
    let has_mask_dst = row.dst.len() == 2;
    let mut modifiers = AluModifiers {
        clamp: bit(word, 15),
        omod: bits(word, 59, 2) as u8,
        op_sel: if has_mask_dst {
            0
        } else {
            bits(word, 11, 4) as u8
        },
        dpp: None,
        sdwa: None,
    };
    if (modifiers.clamp && !row.has(Flag::clamp)) || (modifiers.omod != 0 && !row.has(Flag::omod)) {
        return Err(MODIFIER);
    }
    let halves = row
        .dst
        .iter()
        .chain(row.src)
        .any(|&kind| is_half(reader, kind));
    let has_signs = halves
        || row.has(if gfx9 {
            Flag::signs_gfx9
        } else {
            Flag::signs_gfx12
        })
        || (!gfx9 && row.src.iter().any(|kind| takes_signs(row, *kind)));
    let abs = if has_mask_dst { 0 } else { bits(word, 8, 3) };
    let neg = bits(word, 61, 3);
    // Sources that do not exist have no signs, and select nothing.
    let sources = row.src.len() + usize::from(row.name.starts_with("v_cvt_sr_") && gfx9);
    let selects = row.has(Flag::op_sel) && !has_short_form(reader.generation(), number);
    let unused = (halves || selects) && unused_selection(row, modifiers.op_sel);
    // Operations without operands have no fields.
    let fields = row.dst.is_empty() && bits(word, 0, 8) != 0;
    // Comparisons of classes and conversions of bytes have signs of the first source only; the latter select
    // the byte.
    let class = !gfx9
        && (["v_cmp_class_f32", "v_cmp_class_f64"].contains(&row.name) && (neg | abs) & 2 != 0
            || selects_byte(row) && (modifiers.op_sel & 12 != 0 || modifiers.clamp));
    let class = class || (gfx9 && row.name.contains("_class_") && (neg | abs) & 2 != 0);
    let unselected = match row.name {
        name if gfx9 || halves || !name.starts_with("v_cvt_") => 0,
        name if name.starts_with("v_cvt_sr_") => 3,
        name if name.starts_with("v_cvt_pk_f32_") => 6,
        _ => 0,
    };
    let class = class || modifiers.op_sel & unselected != 0;
    let bytes = ["v_cvt_pk_f32_", "v_cvt_f32_fp8", "v_cvt_f32_bf8"];
    let converts_bytes = !gfx9 && bytes.iter().any(|name| row.name.starts_with(name));
    if (neg | abs) >> sources != 0
        || unused
        || fields
        || (converts_bytes && (modifiers.omod != 0 || modifiers.clamp))
        || class
    {
        return Err(MODIFIER);
    }
    let dst = bits(word, 0, 8);
    let mut operands = Vec::with_capacity(row.dst.len() + row.src.len());
    for &kind in row.dst {
        let operand = match kind {
            Kind::Mask if has_mask_dst => reader.scalar_dst(kind, bits(word, 8, 7))?,
            Kind::Mask if writes_exec_alone(reader, row) => continue,
            Kind::Mask | Kind::S32 => reader.scalar_dst(kind, dst)?,
            _ if is_half(reader, kind) => {
                let operand = reader.vector(kind, dst, false)?;
                operand.with_half(modifiers.op_sel & 8 != 0)
            }
            _ => reader.vector(kind, dst, false)?,
        };
        operands.push(operand);
    }
    let first = lanes::first_source_of_long(reader, bits(word, 32, 9))?;
    modifiers.dpp = first.dpp();
    for (position, &kind) in row.src.iter().enumerate() {
        let number = bits(word, 32 + 9 * position as u32, 9);
        let mut operand = match position {
            0 => first.operand(reader, kind)?,
            _ => reader.source(kind, number)?,
        };
        operand.neg = neg & (1 << position) != 0;
        operand.abs = abs & (1 << position) != 0;
        if is_half(reader, kind) && number >= VECTOR {
            operand = operand.with_half(modifiers.op_sel & (1 << position) != 0);
        }
        if kind == Kind::Mask && (operand.neg || operand.abs) {
            return Err(MODIFIER);
        }
        if !takes_signs(row, kind) {
            // Operations on other operands or halves have these bits.
            if (operand.neg || operand.abs) && !has_signs {
                return Err(MODIFIER);
            }
            (operand.neg, operand.abs) = (false, false);
        }
        operands.push(operand);
    }
    Ok(Parts {
        encoding: Encoding::Vop3,
        op: Op::Valu(op),
        operands,
        modifiers: Modifiers::Alu(modifiers),
    })
}

/// Whether an operation of gfx12 converts one of four bytes.
fn selects_byte(row: &Row) -> bool {
    matches!(row.name, "v_cvt_f32_fp8" | "v_cvt_f32_bf8")
}

/// Whether an operand of the operation is written with its signs.
fn takes_signs(row: &Row, kind: Kind) -> bool {
    matches!(kind, Kind::H2 | Kind::BF2)
        || kind.is_float()
        || (kind == Kind::I16 && row.name == "v_cndmask_b16")
}

/// Whether a bit that selects a half belongs to no source.
fn unused_selection(row: &Row, op_sel: u8) -> bool {
    // Conversions with stochastic rounding also read their destination.
    let reads_dst = row.name.starts_with("v_cvt_sr_");
    let sources = row.src.len() + usize::from(reads_dst);
    // Masks have no halves.
    let dst = row.dst == [Kind::Mask] && op_sel & 8 != 0;
    dst || (op_sel & 7) >> sources != 0
}

pub(super) fn vinterp(reader: &mut Reader<'_>) -> Decoded {
    let word = reader.long()?;
    let number = match reader.generation() {
        Generation::Gfx12 => bits(word, 16, 5),
        Generation::Gfx9 | Generation::Gfx11 => bits(word, 16, 7),
    };
    let op = InterpOp::find(reader.arch(), number).ok_or(UNKNOWN)?;
    let modifiers = AluModifiers {
        clamp: bit(word, 15),
        op_sel: bits(word, 11, 4) as u8,
        ..AluModifiers::default()
    };
    let row = op.row();
    let mut operands = vec![reader.vector(row.dst[0], bits(word, 0, 8), false)?];
    for (position, &kind) in row.src.iter().enumerate() {
        let number = bits(word, 32 + 9 * position as u32, 9);
        if number < VECTOR {
            return Err(DecodeErrorKind::Operand(number));
        }
        let mut operand = reader.vector(kind, number - VECTOR, false)?;
        operand.neg = bit(word, 61 + position as u32);
        operands.push(operand);
    }
    for (position, operand) in [3, 0, 1, 2].into_iter().zip(&mut operands) {
        if is_half(reader, operand.kind) {
            *operand = operand.with_half(modifiers.op_sel & (1 << position) != 0);
        }
    }
    Ok(Parts {
        encoding: Encoding::Vinterp,
        op: Op::Interp(op),
        operands,
        modifiers: Modifiers::Interp(bits(word, 8, 3) as u8, modifiers),
    })
}

impl FirstSource {
    /// The first operand.
    fn operand(
        &self,
        reader: &mut Reader<'_>,
        kind: Kind,
        half: bool,
    ) -> Result<Operand, DecodeErrorKind> {
        let number = self.number;
        let mut operand = if half && number >= VECTOR {
            let operand = reader.vector(kind, (number - VECTOR) & 0x7f, false)?;
            operand.with_half(number & 0x80 != 0)
        } else if number >= VECTOR {
            match kind {
                Kind::S32 | Kind::S64 | Kind::Mask => return Err(DecodeErrorKind::Operand(number)),
                _ => short_vector(reader, kind, number - VECTOR, false)?,
            }
        } else {
            reader.source(kind, number)?
        };
        [operand.neg, operand.abs, operand.sext] = self.signs[0];
        Ok(operand)
    }

    /// The second operand with its modifiers.
    fn second(&self, mut operand: Operand) -> Operand {
        [operand.neg, operand.abs, operand.sext] = self.signs[1];
        operand
    }
}
