//! DS and FLAT.

use super::operands::EXEC;
use super::reader::{Reader, bit, bits, signed};
use super::{Decoded, Parts};
use crate::arch::{Arch, Generation};
use crate::error::DecodeErrorKind;
use crate::inst::{
    CachePolicy, Encoding, LdsModifiers, MemoryModifiers, Modifiers, Op, Operand, Segment, Value,
};
use crate::isa::{Flag, FlatOp, Kind, LdsOp, Row};

const UNKNOWN: DecodeErrorKind = DecodeErrorKind::UnknownOperation;

pub(super) fn lds(reader: &mut Reader<'_>) -> Decoded {
    let word = reader.long()?;
    let (number, gds) = match reader.generation() {
        Generation::Gfx9 => (bits(word, 17, 8), bit(word, 16)),
        Generation::Gfx11 | Generation::Gfx12 => (bits(word, 18, 8), bit(word, 17)),
    };
    let op = LdsOp::find(reader.arch(), number).ok_or(UNKNOWN)?;
    let row = op.row();
    let accumulation = reader.arch().has_unified_registers() && bit(word, 25);
    let mut used = [false; 4];
    let mut operands = Vec::new();
    for &kind in row.dst {
        used[3] = true;
        operands.push(reader.vector(kind, bits(word, 56, 8), accumulation)?);
    }
    // Operations on global data share without an address have their data in its place.
    let mut data = usize::from(!row.has(Flag::gds) || !row.dst.is_empty());
    if row.has(Flag::gds) && !gds {
        return Err(UNKNOWN);
    }
    let unified = reader.arch().has_unified_registers();
    let gfx9 = reader.generation() == Generation::Gfx9;
    if (gfx9 && !unified && bit(word, 25)) || (gds && lacks_gds(row)) {
        return Err(DecodeErrorKind::Modifier);
    }
    let has_data = row.src.len() > usize::from(row.src.contains(&Kind::Addr));
    for &kind in row.src {
        if kind == Kind::Addr {
            used[0] = true;
            operands.push(reader.vector(kind, bits(word, 32, 8), false)?);
        } else {
            used[data] = true;
            let number = bits(word, 32 + 8 * data as u32, 8);
            operands.push(reader.vector(kind, number, accumulation)?);
            data += 1;
        }
    }
    // Fields without an operand are zero.
    let no_data = accumulation && !has_data && row.dst.is_empty();
    let unused = no_data || (0..4).any(|at| !used[at as usize] && bits(word, 32 + 8 * at, 8) != 0);
    if unused || (gds && reader.generation() == Generation::Gfx12) {
        return Err(DecodeErrorKind::Modifier);
    }
    Ok(Parts {
        encoding: Encoding::Ds,
        op: Op::Lds(op),
        operands,
        modifiers: Modifiers::Lds(LdsModifiers {
            offset: bits(word, 0, 16),
            // With unified registers most have no such bit.
            gds: gds && (!unified || row.has(Flag::gds)),
        }),
    })
}

/// Whether an operation concerns lanes or LDS alone.
fn lacks_gds(row: &Row) -> bool {
    let names = ["ds_bvh_", "ds_permute_", "ds_bpermute_", "ds_nop"];
    names.iter().any(|name| row.name.starts_with(name))
}

/// The fields of an access that all generations have.
struct Access {
    segment: Segment,
    /// Whether scratch memory is addressed by a vector register; on some generations a bit, and
    /// elsewhere known from the scalar register.
    scratch_vector: bool,
    dst: u16,
    address: u16,
    data: u16,
    scalar: u16,
    /// The number of the scalar register that means none.
    null: u16,
    accumulation: bool,
    returns: bool,
    modifiers: MemoryModifiers,
}

fn segment(number: u16) -> Result<Segment, DecodeErrorKind> {
    match number {
        0 => Ok(Segment::Flat),
        1 => Ok(Segment::Scratch),
        2 => Ok(Segment::Global),
        _ => Err(UNKNOWN),
    }
}

pub(super) fn flat(reader: &mut Reader<'_>) -> Decoded {
    let word = reader.long()?;
    let arch = reader.arch();
    let op = FlatOp::find(arch, bits(word, 18, 7)).ok_or(UNKNOWN)?;
    let gfx9 = reader.generation() == Generation::Gfx9;
    let segment = segment(bits(word, if gfx9 { 14 } else { 16 }, 2))?;
    let scalar = bits(word, 48, 7);
    let reserved = match arch {
        Arch::Gfx942 => segment != Segment::Scratch && bit(word, 13),
        Arch::Gfx906 => bit(word, 55),
        Arch::Gfx908 => bit(word, 55) || (is_float_atomic(op.row()) && bit(word, 25)),
        Arch::Gfx1100 => segment != Segment::Scratch && bit(word, 55),
        _ => false,
    };
    if reserved {
        return Err(DecodeErrorKind::Modifier);
    }
    let glc = bit(word, if gfx9 { 16 } else { 14 });
    let cache = CachePolicy::Bits {
        glc,
        slc: bit(word, if gfx9 { 17 } else { 15 }),
        dlc: !gfx9 && bit(word, 13),
        scc: gfx9 && arch.has_unified_registers() && bit(word, 25),
    };
    let offset = match segment {
        Segment::Flat => i32::from(bits(word, 0, 13)),
        _ => signed(word, 0, 13),
    };
    let access = Access {
        segment,
        scratch_vector: match arch {
            Arch::Gfx942 => bit(word, 13),
            Arch::Gfx1100 => bit(word, 55),
            _ => scalar == 0x7f,
        },
        dst: bits(word, 56, 8),
        address: bits(word, 32, 8),
        data: bits(word, 40, 8),
        scalar,
        null: if gfx9 { 0x7f } else { 0x7c },
        accumulation: arch.has_unified_registers() && bit(word, 55),
        returns: glc,
        modifiers: MemoryModifiers {
            segment,
            offset,
            cache,
            lds: gfx9 && arch != Arch::Gfx942 && bit(word, 13),
        },
    };
    parts(reader, op, &access)
}

pub(super) fn flat_long(reader: &mut Reader<'_>) -> Decoded {
    let (word, third) = (reader.long()?, u64::from(reader.word(2)?));
    let op = FlatOp::find(reader.arch(), bits(word, 14, 8)).ok_or(UNKNOWN)?;
    let segment = segment(bits(word, 24, 2))?;
    // Bits of later generations, and that of scratch memory.
    let reserved = bit(word, 7) || bit(word, 48);
    if reserved || (segment != Segment::Scratch && bit(word, 49)) {
        return Err(DecodeErrorKind::Modifier);
    }
    let temporal = bits(word, 52, 3) as u8;
    let access = Access {
        segment,
        scratch_vector: bit(word, 49),
        dst: bits(word, 32, 8),
        address: bits(third, 0, 8),
        data: bits(word, 55, 8),
        scalar: bits(word, 0, 7),
        null: 0x7c,
        accumulation: false,
        returns: temporal & 1 != 0,
        modifiers: MemoryModifiers {
            segment,
            offset: signed(third, 8, 24),
            cache: CachePolicy::Hint {
                temporal,
                scope: bits(word, 50, 2) as u8,
            },
            lds: false,
        },
    };
    parts(reader, op, &access)
}

fn parts(reader: &mut Reader<'_>, op: FlatOp, access: &Access) -> Decoded {
    let row = op.row();
    let exists = match access.segment {
        Segment::Flat => Flag::flat,
        Segment::Scratch => Flag::scratch,
        Segment::Global => Flag::global,
    };
    if !row.has(exists) {
        return Err(UNKNOWN);
    }
    let no_scalar = match reader.generation() {
        Generation::Gfx9 => 0,
        Generation::Gfx11 | Generation::Gfx12 => access.null,
    };
    if access.segment == Segment::Flat && access.scalar != no_scalar {
        return Err(DecodeErrorKind::Modifier);
    }
    let to_lds =
        access.modifiers.lds && (!row.has(Flag::to_lds) || access.segment == Segment::Flat);
    let writes_lds = row.has(Flag::lds) || access.modifiers.lds;
    let from_accumulation = writes_lds && access.accumulation;
    if to_lds || from_accumulation || (row.has(Flag::bare) && has_scalar(access)) {
        return Err(DecodeErrorKind::Modifier);
    }
    check_float_atomic(reader.arch(), row, access)?;
    let mut operands = Vec::new();
    if !row.has(Flag::bare) {
        operands = access_operands(reader, row, access)?;
    }
    Ok(Parts {
        encoding: Encoding::Flat,
        op: Op::Flat(op),
        operands,
        modifiers: Modifiers::Memory(access.modifiers),
    })
}

/// Rejects modifiers of atomic operations on floats. On gfx908 these do not return, and on gfx90a they have no
/// `scc`. Only those on 64 bits access flat memory.
fn check_float_atomic(arch: Arch, row: &Row, access: &Access) -> Result<(), DecodeErrorKind> {
    if !is_float_atomic(row) {
        return Ok(());
    }
    let scc = matches!(access.modifiers.cache, CachePolicy::Bits { scc: true, .. });
    let flat = access.segment != Segment::Global;
    let lacks = match arch {
        Arch::Gfx908 => access.returns || flat,
        Arch::Gfx90a => scc || (flat && !row.name.ends_with("_f64")),
        _ => false,
    };
    if lacks {
        return Err(DecodeErrorKind::Modifier);
    }
    Ok(())
}

/// Whether an operation is an atomic on floats that gfx908 or gfx90a introduced.
pub(super) fn is_float_atomic(row: &Row) -> bool {
    let names = ["add_f32", "pk_add_f16", "_f64"];
    row.has(Flag::atomic) && names.iter().any(|name| row.name.ends_with(name))
}

fn has_scalar(access: &Access) -> bool {
    access.scalar != access.null
}

fn access_operands(
    reader: &mut Reader<'_>,
    row: &Row,
    access: &Access,
) -> Result<Vec<Operand>, DecodeErrorKind> {
    let mut operands = Vec::new();
    let accumulation = access.accumulation;
    let has_dst = (!row.has(Flag::atomic) || access.returns) && !access.modifiers.lds;
    // Transposing loads spread a matrix over all lanes.
    let transposes = row.name.contains("load_tr_") && reader.mask_registers() == 2;
    for &kind in row.dst.iter().filter(|_| has_dst) {
        let kind = if transposes { kind.halved() } else { kind };
        operands.push(reader.vector(kind, access.dst, accumulation)?);
    }
    let off = Operand::new(Kind::B64, Value::Off);
    let has_scalar = has_scalar(access);
    let by_thread = row.name.contains("addtid");
    match access.segment {
        _ if by_thread => {}
        Segment::Scratch if !access.scratch_vector => operands.push(off),
        Segment::Scratch => operands.push(reader.vector(Kind::B32, access.address, false)?),
        Segment::Global if has_scalar => {
            operands.push(reader.vector(Kind::B32, access.address, false)?);
        }
        Segment::Global | Segment::Flat => {
            operands.push(reader.vector(Kind::B64, access.address, false)?);
        }
    }
    for &kind in row.src {
        operands.push(reader.vector(kind, access.data, accumulation)?);
    }
    let last = match access.segment {
        Segment::Global => EXEC - 1,
        Segment::Flat | Segment::Scratch => EXEC,
    };
    if has_scalar && access.scalar > last && access.segment != Segment::Flat {
        return Err(DecodeErrorKind::Operand(access.scalar));
    }
    match access.segment {
        Segment::Flat => {}
        _ if !has_scalar => operands.push(off),
        Segment::Global => operands.push(reader.scalar_dst(Kind::B64, access.scalar)?),
        Segment::Scratch => operands.push(reader.scalar_dst(Kind::B32, access.scalar)?),
    }
    Ok(operands)
}
