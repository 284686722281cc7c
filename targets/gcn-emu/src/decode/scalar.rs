//! SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.

use super::reader::{Reader, bit, bits, signed};
use super::{Decoded, Parts};
use crate::arch::Generation;
use crate::error::DecodeErrorKind;
use crate::inst::{CachePolicy, Encoding, Modifiers, Op, Operand, ScalarMemoryModifiers, Value};
use crate::isa::{Kind, Row, ScalarMemoryOp, Sop1Op, Sop2Op, SopcOp, SopkOp, SoppOp};

/// The number of the operand that vector instructions read from LDS.
const LDS_DIRECT: u16 = 254;
/// The first number of M0, the null register and EXEC, to which no memory access loads.
const FIRST_SPECIAL: u16 = 124;

const UNKNOWN: DecodeErrorKind = DecodeErrorKind::UnknownOperation;

/// A scalar instruction with these operands.
fn plain(encoding: Encoding, op: Op, operands: Vec<Operand>) -> Decoded {
    Ok(Parts {
        encoding,
        op,
        operands,
        modifiers: Modifiers::None,
    })
}

/// Destinations and sources of a row from the numbers of fields.
fn operands(
    reader: &mut Reader<'_>,
    row: &Row,
    dst: u16,
    sources: &[u16],
) -> Result<Vec<Operand>, DecodeErrorKind> {
    let mut operands = Vec::with_capacity(row.dst.len() + row.src.len());
    for &kind in row.dst {
        operands.push(reader.scalar_dst(kind, dst)?);
    }
    let mut fields = sources.iter();
    for &kind in row.src {
        if kind == Kind::K {
            operands.push(reader.constant()?);
            continue;
        }
        let &field = fields.next().ok_or(UNKNOWN)?;
        operands.push(match kind {
            Kind::Message | Kind::GprIndex => Operand::immediate(kind, i32::from(field)),
            // Vector instructions alone read LDS directly, and some read registers alone.
            _ if field == LDS_DIRECT => return Err(DecodeErrorKind::Operand(field)),
            Kind::S32 | Kind::S64 => reader.scalar(kind, field)?,
            _ => reader.scalar_source(kind, field)?,
        });
    }
    Ok(operands)
}

pub(super) fn sop2(reader: &mut Reader<'_>) -> Decoded {
    let word = u64::from(reader.word(0)?);
    let op = Sop2Op::find(reader.arch(), bits(word, 23, 7)).ok_or(UNKNOWN)?;
    let sources = [bits(word, 0, 8), bits(word, 8, 8)];
    let operands = operands(reader, op.row(), bits(word, 16, 7), &sources)?;
    plain(Encoding::Sop2, Op::Sop2(op), operands)
}

pub(super) fn sop1(reader: &mut Reader<'_>) -> Decoded {
    let word = u64::from(reader.word(0)?);
    let op = Sop1Op::find(reader.arch(), bits(word, 8, 8)).ok_or(UNKNOWN)?;
    let operands = operands(reader, op.row(), bits(word, 16, 7), &[bits(word, 0, 8)])?;
    plain(Encoding::Sop1, Op::Sop1(op), operands)
}

pub(super) fn sopc(reader: &mut Reader<'_>) -> Decoded {
    let word = u64::from(reader.word(0)?);
    let op = SopcOp::find(reader.arch(), bits(word, 16, 7)).ok_or(UNKNOWN)?;
    let sources = [bits(word, 0, 8), bits(word, 8, 8)];
    let operands = operands(reader, op.row(), 0, &sources)?;
    plain(Encoding::Sopc, Op::Sopc(op), operands)
}

pub(super) fn sopk(reader: &mut Reader<'_>) -> Decoded {
    let word = u64::from(reader.word(0)?);
    let op = SopkOp::find(reader.arch(), bits(word, 23, 5)).ok_or(UNKNOWN)?;
    let register = bits(word, 16, 7);
    let immediate = signed(word, 0, 16);
    let mut operands = Vec::new();
    for &kind in op.row().dst.iter().chain(op.row().src) {
        operands.push(match kind {
            Kind::Hex | Kind::HwReg | Kind::Branch | Kind::Imm => {
                Operand::immediate(kind, immediate)
            }
            Kind::Literal => Operand::new(kind, Value::Literal(reader.literal()?)),
            _ => reader.scalar_dst(kind, register)?,
        });
    }
    plain(Encoding::Sopk, Op::Sopk(op), operands)
}

pub(super) fn sopp(reader: &mut Reader<'_>) -> Decoded {
    let word = u64::from(reader.word(0)?);
    let op = SoppOp::find(reader.arch(), bits(word, 16, 7)).ok_or(UNKNOWN)?;
    if op.row().src.is_empty() && bits(word, 0, 16) != 0 {
        return Err(DecodeErrorKind::Modifier);
    }
    if op.row().src.contains(&Kind::Delay) && !is_delay(word) {
        return Err(DecodeErrorKind::Modifier);
    }
    let immediate = |&kind| Operand::immediate(kind, signed(word, 0, 16));
    let operands = op.row().src.iter().map(immediate).collect();
    plain(Encoding::Sopp, Op::Sopp(op), operands)
}

/// Whether the dependencies of `s_delay_alu` are known ones.
fn is_delay(word: u64) -> bool {
    const LAST_DEPENDENCY: u16 = 11;
    const LAST_SKIP: u16 = 5;
    let dependencies = [bits(word, 0, 4), bits(word, 7, 4)];
    dependencies.iter().all(|number| *number <= LAST_DEPENDENCY) && bits(word, 4, 3) <= LAST_SKIP
}

pub(super) fn smem(reader: &mut Reader<'_>) -> Decoded {
    let word = reader.long()?;
    let generation = reader.generation();
    let number = match generation {
        Generation::Gfx9 | Generation::Gfx11 => bits(word, 18, 8),
        Generation::Gfx12 => bits(word, 13, 6),
    };
    let op = ScalarMemoryOp::find(reader.arch(), number).ok_or(UNKNOWN)?;
    let (data, base) = (bits(word, 6, 7), bits(word, 0, 6) << 1);
    let register = bits(word, 57, 7);
    let (offset_register, offset) = match generation {
        // On gfx9 bits say whether there is a register, and whether there is a number.
        Generation::Gfx9 => match (bit(word, 14), bit(word, 17)) {
            (true, true) => (Some(register), Some(signed(word, 32, 21))),
            (true, false) => (Some(register), None),
            (false, true) => (None, Some(signed(word, 32, 21))),
            (false, false) => (Some(bits(word, 32, 7)), None),
        },
        Generation::Gfx11 => (Some(register), Some(signed(word, 32, 21))),
        Generation::Gfx12 => (Some(register), Some(signed(word, 32, 24))),
    };
    // On other generations the null register stands for no register.
    let offset_register = offset_register.filter(|&register| match generation {
        Generation::Gfx9 => true,
        Generation::Gfx11 => register != 124 || offset == Some(0),
        Generation::Gfx12 => register != 124,
    });
    let reads_or_writes =
        !op.row().dst.is_empty() || (op.row().src.len() == 3 && op.row().src[0] != Kind::Imm);
    let accesses = op.row().src.contains(&Kind::Offset) && op.row().src[0] != Kind::Imm;
    let prefetches = op.row().src.contains(&Kind::Prefetch);
    let reserved = match generation {
        Generation::Gfx9 => !op.row().src.contains(&Kind::Offset) && bit(word, 17),
        Generation::Gfx11 => !reads_or_writes && (bit(word, 13) || bit(word, 14)),
        // Bits of later generations, and negative offsets in buffers.
        Generation::Gfx12 => {
            let positive = op.row().name.contains("buffer");
            (accesses && (bit(word, 20) || bit(word, 56))) || (positive && bit(word, 55))
        }
    };
    let probes = generation == Generation::Gfx12 && op.row().src.first() == Some(&Kind::Imm);
    if reserved || ((prefetches || probes) && data >= 32) {
        return Err(DecodeErrorKind::Modifier);
    }
    let has_data = !op.row().dst.is_empty() || op.row().src.len() == 3;
    if (accesses || !op.row().dst.is_empty()) && has_data && data >= FIRST_SPECIAL {
        return Err(DecodeErrorKind::Operand(data));
    }
    let cache = match generation {
        Generation::Gfx9 => CachePolicy::Bits {
            glc: bit(word, 16) && reads_or_writes,
            slc: false,
            dlc: false,
            scc: false,
        },
        Generation::Gfx11 => CachePolicy::Bits {
            glc: bit(word, 14),
            slc: false,
            dlc: bit(word, 13),
            scc: false,
        },
        Generation::Gfx12 => CachePolicy::Hint {
            temporal: bits(word, 23, 2) as u8,
            scope: bits(word, 21, 2) as u8,
        },
    };
    let (mut operands, mut extra) = (Vec::new(), None);
    for &kind in op.row().dst {
        operands.push(reader.scalar_dst(kind, data)?);
    }
    let stored =
        op.row().src.contains(&Kind::Offset) && op.row().dst.is_empty() && op.row().src.len() == 3;
    for (position, &kind) in op.row().src.iter().enumerate() {
        match kind {
            Kind::Imm => operands.push(Operand::immediate(kind, i32::from(data))),
            Kind::Offset => match (offset_register, offset) {
                (Some(register), offset) => {
                    operands.push(reader.scalar_dst(Kind::B32, register)?);
                    // Gfx11 has no form without a number.
                    extra = offset.filter(|&number| number != 0 || generation != Generation::Gfx11);
                }
                (None, offset) => {
                    operands.push(Operand::immediate(kind, offset.unwrap_or_default()));
                }
            },
            Kind::Prefetch => {
                operands.push(Operand::immediate(Kind::Offset, signed(word, 32, 24)));
                operands.push(reader.scalar_dst(Kind::B32, register)?);
                operands.push(Operand::immediate(Kind::Imm, i32::from(data)));
            }
            _ if stored && position == 0 => operands.push(reader.scalar_dst(kind, data)?),
            _ => operands.push(reader.scalar_dst(kind, base)?),
        }
    }
    Ok(Parts {
        encoding: Encoding::Smem,
        op: Op::ScalarMemory(op),
        operands,
        modifiers: Modifiers::ScalarMemory(ScalarMemoryModifiers {
            offset: extra,
            cache,
        }),
    })
}
