//! MUBUF and MTBUF.

use super::memory::is_float_atomic;
use super::reader::{Reader, bit, bits};
use super::{Decoded, Parts};
use crate::arch::{Arch, Generation};
use crate::error::DecodeErrorKind;
use crate::inst::{BufferModifiers, CachePolicy, Encoding, Modifiers, Op, Operand, Value};
use crate::isa::{BufferOp, Flag, Kind, Row, TypedBufferOp};

const UNKNOWN: DecodeErrorKind = DecodeErrorKind::UnknownOperation;

/// The fields of an access.
struct Access {
    data: u16,
    address: u16,
    resource: u16,
    /// Number of the scalar operand for the offset.
    offset: u16,
    accumulation: bool,
    modifiers: BufferModifiers,
}

pub(super) fn mubuf(reader: &mut Reader<'_>) -> Decoded {
    let word = reader.long()?;
    let gfx9 = reader.generation() == Generation::Gfx9;
    let number = bits(word, 18, if gfx9 { 7 } else { 8 });
    let op = BufferOp::find(reader.arch(), number).ok_or(UNKNOWN)?;
    let access = access(reader, word, false);
    let row = op.row();
    // The bits are free for write-backs, and on gfx942 they tell which caches.
    let invalidates = row.has(Flag::bare) && row.name != "buffer_wbl2" && gfx9;
    let reserved = bit(word, 14) || bit(word, 15);
    let bare = invalidates && reserved && reader.arch() != Arch::Gfx942;
    if bare || lacks_modifier(reader.arch(), row, &access.modifiers) {
        return Err(DecodeErrorKind::Modifier);
    }
    let operands = operands(reader, op.row(), &access)?;
    Ok(Parts {
        encoding: Encoding::Mubuf,
        op: Op::Buffer(op),
        operands,
        modifiers: Modifiers::Buffer(access.modifiers),
    })
}

pub(super) fn mtbuf(reader: &mut Reader<'_>) -> Decoded {
    let word = reader.long()?;
    let op = TypedBufferOp::find(reader.arch(), bits(word, 15, 4)).ok_or(UNKNOWN)?;
    let mut access = access(reader, word, true);
    if access.modifiers.tfe {
        return Err(DecodeErrorKind::Modifier);
    }
    access.modifiers.format = Some(bits(word, 19, 7) as u8);
    let operands = operands(reader, op.row(), &access)?;
    Ok(Parts {
        encoding: Encoding::Mtbuf,
        op: Op::TypedBuffer(op),
        operands,
        modifiers: Modifiers::Buffer(access.modifiers),
    })
}

/// The fields on gfx9 and gfx11.
fn access(reader: &Reader<'_>, word: u64, typed: bool) -> Access {
    let arch = reader.arch();
    let gfx9 = reader.generation() == Generation::Gfx9;
    let unified = arch.has_unified_registers();
    let scc = match typed {
        true => bit(word, 53),
        false => bit(word, 15),
    };
    Access {
        data: bits(word, 40, 8),
        address: bits(word, 32, 8),
        resource: bits(word, 48, 5) << 2,
        offset: bits(word, 56, 8),
        accumulation: unified && bit(word, 55),
        modifiers: BufferModifiers {
            offset: u32::from(bits(word, 0, 12)),
            offen: bit(word, if gfx9 { 12 } else { 54 }),
            idxen: bit(word, if gfx9 { 13 } else { 55 }),
            cache: CachePolicy::Bits {
                glc: bit(word, 14),
                slc: match (gfx9, typed) {
                    (true, true) => bit(word, 54),
                    (true, false) => bit(word, 17),
                    (false, _) => bit(word, 12),
                },
                dlc: arch == Arch::Gfx1100 && bit(word, 13),
                scc: unified && scc,
            },
            lds: gfx9 && !typed && bit(word, 16),
            tfe: match arch.generation() {
                Generation::Gfx9 => !unified && bit(word, 55),
                Generation::Gfx11 | Generation::Gfx12 => bit(word, 53),
            },
            format: None,
        },
    }
}

pub(super) fn long(reader: &mut Reader<'_>) -> Decoded {
    let (word, third) = (reader.long()?, u64::from(reader.word(2)?));
    let number = bits(word, 14, 8);
    let typed = number & 0xf0 == 0x80;
    // A bit of later generations.
    if bit(word, 7) || (typed && bit(word, 22)) {
        return Err(DecodeErrorKind::Modifier);
    }
    let access = Access {
        data: bits(word, 32, 8),
        address: bits(third, 0, 8),
        resource: bits(word, 41, 9),
        offset: bits(word, 0, 7),
        accumulation: false,
        modifiers: BufferModifiers {
            offset: ((third >> 8) & 0xff_ffff) as u32,
            idxen: bit(word, 63),
            offen: bit(word, 62),
            cache: CachePolicy::Hint {
                temporal: bits(word, 52, 3) as u8,
                scope: bits(word, 50, 2) as u8,
            },
            lds: false,
            tfe: bit(word, 22),
            format: typed.then(|| bits(word, 55, 7) as u8),
        },
    };
    let (op, encoding) = if typed {
        let op = TypedBufferOp::find(reader.arch(), number & 15).ok_or(UNKNOWN)?;
        (Op::TypedBuffer(op), Encoding::Mtbuf)
    } else {
        let op = BufferOp::find(reader.arch(), number).ok_or(UNKNOWN)?;
        (Op::Buffer(op), Encoding::Mubuf)
    };
    let operands = operands(reader, op.row(), &access)?;
    Ok(Parts {
        encoding,
        op,
        operands,
        modifiers: Modifiers::Buffer(access.modifiers),
    })
}

fn operands(
    reader: &mut Reader<'_>,
    row: &Row,
    access: &Access,
) -> Result<Vec<Operand>, DecodeErrorKind> {
    let mut operands = Vec::new();
    let modifiers = &access.modifiers;
    if row.has(Flag::bare) {
        let addresses = modifiers.idxen
            || modifiers.offen
            || modifiers.tfe
            || modifiers.lds
            || access.accumulation
            || waits_for_data(modifiers.cache, reader.arch());
        return match addresses {
            true => Err(DecodeErrorKind::Modifier),
            false => Ok(operands),
        };
    }
    let tfe = modifiers.tfe && (row.has(Flag::atomic) || modifiers.lds || row.has(Flag::lds));
    let can = row.has(Flag::to_lds) || row.has(Flag::lds);
    let can = can && !access.accumulation;
    let lds = (modifiers.lds && !can) || (row.has(Flag::lds) && !modifiers.lds);
    if tfe || lds || modifiers.offset >> 23 != 0 {
        return Err(DecodeErrorKind::Modifier);
    }
    for &kind in row.dst.iter().chain(row.src) {
        if !modifiers.lds && !row.has(Flag::lds) {
            let count = kind.registers() + u8::from(modifiers.tfe);
            operands.push(reader.vectors(kind, count, access.data, access.accumulation)?);
        }
    }
    operands.push(
        match u8::from(modifiers.idxen) + u8::from(modifiers.offen) {
            0 if row.has(Flag::lds) => return resource(reader, access, operands),
            0 => Operand::new(Kind::B32, Value::Off),
            1 => reader.vector(Kind::B32, access.address, false)?,
            _ => reader.vector(Kind::B64, access.address, false)?,
        },
    );
    resource(reader, access, operands)
}

/// Whether an operation on caches has bits that it must not have on gfx11.
fn waits_for_data(cache: CachePolicy, arch: Arch) -> bool {
    match cache {
        CachePolicy::Bits { glc, dlc, .. } => arch == Arch::Gfx1100 && (glc || dlc),
        CachePolicy::Hint { .. } => false,
    }
}

/// Whether gfx908 or gfx90a lack the modifiers for an atomic operation on floats.
fn lacks_modifier(arch: Arch, row: &Row, modifiers: &BufferModifiers) -> bool {
    let CachePolicy::Bits { glc, scc, .. } = modifiers.cache else {
        return false;
    };
    is_float_atomic(row) && ((arch == Arch::Gfx908 && glc) || (arch == Arch::Gfx90a && scc))
}

/// Adds the resource and the offset.
fn resource(
    reader: &mut Reader<'_>,
    access: &Access,
    mut operands: Vec<Operand>,
) -> Result<Vec<Operand>, DecodeErrorKind> {
    operands.push(reader.scalar_dst(Kind::B128, access.resource)?);
    operands.push(match access.offset {
        // Neither a literal nor LDS.
        number @ (254 | 255) => return Err(DecodeErrorKind::Operand(number)),
        number => reader.scalar_source(Kind::B32, number)?,
    });
    Ok(operands)
}
