//! VOP3P: packed arithmetic and matrices.

use super::lanes;
use super::operands::VECTOR;
use super::reader::{Reader, bit, bits};
use super::{Decoded, Parts};
use crate::arch::{Arch, Generation};
use crate::error::DecodeErrorKind;
use crate::inst::{Encoding, MatrixModifiers, Modifiers, Op, Operand, PackedModifiers};
use crate::isa::{Flag, Kind, PackedOp, Row};

pub(super) fn vop3p(reader: &mut Reader<'_>) -> Decoded {
    let word = reader.long()?;
    let gfx9 = reader.generation() == Generation::Gfx9;
    if !gfx9 && bit(word, 23) {
        return Err(DecodeErrorKind::UnknownOperation);
    }
    let op = PackedOp::find(reader.arch(), bits(word, 16, 7));
    let op = op.ok_or(DecodeErrorKind::UnknownOperation)?;
    let row = op.row();
    let (operands, modifiers) = if row.has(Flag::mfma) || row.has(Flag::smfmac) {
        matrix(reader, row, word)?
    } else if row.has(Flag::acc) {
        (moved(reader, op, word)?, Modifiers::None)
    } else {
        packed(reader, row, word)?
    };
    Ok(Parts {
        encoding: Encoding::Vop3p,
        op: Op::Packed(op),
        operands,
        modifiers,
    })
}

type Operands = Result<(Vec<Operand>, Modifiers), DecodeErrorKind>;

fn matrix(reader: &mut Reader<'_>, row: &Row, word: u64) -> Operands {
    let unified = reader.arch() != Arch::Gfx908;
    // Before gfx90a results are accumulation registers.
    let accumulates = bit(word, 15) || !unified;
    let mut operands = vec![reader.vector(row.dst[0], bits(word, 0, 8), accumulates)?];
    for (position, &kind) in row.src.iter().enumerate() {
        let number = bits(word, 32 + 9 * position as u32, 9);
        let accumulation = match position {
            2 if row.has(Flag::smfmac) => false,
            2 => accumulates,
            _ => bit(word, 59 + position as u32),
        };
        let operand = match number {
            VECTOR.. => reader.vector(kind, number - VECTOR, accumulation)?,
            // Only the third matrix may be a constant.
            128..=208 | 240..=248 if position == 2 && row.has(Flag::mfma) => {
                reader.scalar_source(kind, number)?
            }
            _ => return Err(DecodeErrorKind::Operand(number)),
        };
        operands.push(operand);
    }
    let blgp = bits(word, 61, 3) as u8;
    if row.has(Flag::smfmac) && blgp != 0 {
        return Err(DecodeErrorKind::Modifier);
    }
    let modifiers = MatrixModifiers {
        cbsz: bits(word, 8, 3) as u8,
        abid: bits(word, 11, 4) as u8,
        blgp,
    };
    Ok((operands, Modifiers::Matrix(modifiers)))
}

/// The role of a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matrix {
    /// Factor.
    Factor,
    /// Result or addend.
    Result,
}

/// The kind of a matrix. Its row is for waves of 32 lanes of gfx12; waves of 64 lanes need half as
/// many registers. Gfx11 has two copies of each factor, and a register for each 16-bit result.
fn matrix_kind(reader: &Reader<'_>, row: &Row, kind: Kind, matrix: Matrix) -> Kind {
    if !row.has(Flag::wmma) && !row.has(Flag::swmmac) {
        return kind;
    }
    let wide = reader.mask_registers() == 2;
    match (reader.generation(), matrix) {
        (Generation::Gfx11, Matrix::Factor) => kind.doubled(),
        (Generation::Gfx11, Matrix::Result) if has_half_result(row) && wide => kind,
        (Generation::Gfx11, Matrix::Result) if has_half_result(row) => kind.doubled(),
        _ if wide => kind.halved(),
        _ => kind,
    }
}

/// Whether the result of a multiplication has 16-bit numbers.
fn has_half_result(row: &Row) -> bool {
    row.name.starts_with("v_wmma_f16") || row.name.starts_with("v_wmma_bf16")
}

/// Checks the modifiers and operands of a multiplication of matrices on RDNA.
fn check_matrix(reader: &Reader<'_>, row: &Row, word: u64) -> Result<(), DecodeErrorKind> {
    let gfx12 = reader.generation() == Generation::Gfx12;
    let op_sel = bits(word, 11, 3);
    let op_sel_hi = bits(word, 59, 2) | bits(word, 14, 1) << 2;
    let selects = match (gfx12, row.has(Flag::swmmac)) {
        (false, _) if has_half_result(row) => 7,
        (true, true) => 1,
        _ => 0,
    };
    if op_sel & !selects != 0 || (gfx12 && op_sel_hi != 7) {
        return Err(DecodeErrorKind::Modifier);
    }
    let signed = signed_matrices(row);
    let signs = [
        bits(word, 61, 3) & !signed[0],
        bits(word, 8, 3) & !signed[1],
    ];
    if gfx12 && signs != [0, 0] {
        return Err(DecodeErrorKind::Modifier);
    }
    let numbers = [0, 1, 2].map(|position| bits(word, 32 + 9 * position, 9));
    for (position, number) in numbers.into_iter().enumerate() {
        let constant = matches!(number, 128..=208 | 240..=248);
        if number < VECTOR && !(constant && position == 2 && row.has(Flag::wmma)) {
            return Err(DecodeErrorKind::Operand(number));
        }
    }
    Ok(())
}

/// The matrices that may have signs on gfx12, for low and high numbers: those of integers tell
/// whether they are signed, and 8-bit floats have none.
fn signed_matrices(row: &Row) -> [u16; 2] {
    let sparse = row.has(Flag::swmmac);
    if row.name.contains("_i32_") {
        [3, 0]
    } else if row.name.contains("fp8") || row.name.contains("bf8") {
        if sparse { [0, 0] } else { [4, 4] }
    } else if sparse {
        [3, 3]
    } else {
        [7, 7]
    }
}

/// Moves from and to accumulation registers.
fn moved(
    reader: &mut Reader<'_>,
    op: PackedOp,
    word: u64,
) -> Result<Vec<Operand>, DecodeErrorKind> {
    if bits(word, 8, 6) != 0 || bits(word, 61, 3) != 0 {
        return Err(DecodeErrorKind::Modifier);
    }
    let (dst, src) = (bits(word, 0, 8), bits(word, 32, 9));
    let reads = op == PackedOp::v_accvgpr_read_b32;
    let source = match src {
        VECTOR.. => reader.vector(Kind::B32, src - VECTOR, reads)?,
        _ if reads => return Err(DecodeErrorKind::Operand(src)),
        _ => reader.source(Kind::B32, src)?,
    };
    Ok(vec![reader.vector(Kind::B32, dst, !reads)?, source])
}

fn packed(reader: &mut Reader<'_>, row: &Row, word: u64) -> Operands {
    let sources = row.src.len();
    let mask = (1u16 << sources) - 1;
    let mixes = row.has(Flag::mix);
    let (low, high) = (bits(word, 61, 3), bits(word, 8, 3));
    let op_sel = bits(word, 11, 3) as u8;
    let op_sel_hi = (bits(word, 59, 2) | (bits(word, 14, 1) << 2)) as u8;
    let first = lanes::first_source_of_long(reader, bits(word, 32, 9))?;
    let dst = matrix_kind(reader, row, row.dst[0], Matrix::Result);
    let mut operands = vec![reader.vector(dst, bits(word, 0, 8), false)?];
    for (position, &kind) in row.src.iter().enumerate() {
        let matrix = match position {
            2 => Matrix::Result,
            _ => Matrix::Factor,
        };
        let kind = matrix_kind(reader, row, kind, matrix);
        let number = bits(word, 32 + 9 * position as u32, 9);
        let mut operand = match position {
            0 => first.operand(reader, kind)?,
            _ => reader.source(kind, number)?,
        };
        if mixes {
            operand.neg = low & (1 << position) != 0;
            operand.abs = high & (1 << position) != 0;
        }
        operands.push(operand);
    }
    if row.has(Flag::wmma) || row.has(Flag::swmmac) {
        check_matrix(reader, row, word)?;
    } else {
        // Sources that do not exist have no modifiers.
        let selects = row.has(Flag::op_sel) || mixes;
        let unused = low >> sources != 0 || high >> sources != 0;
        // 8-bit floats have no signs, but their sum has.
        let bytes = row.name.starts_with("v_dot4_f32");
        let unused = unused || (bytes && ((low | high) & 3 != 0 || op_sel_hi != 7));
        let unused_selection = match selects {
            true => op_sel >> sources != 0,
            false => op_sel != 0,
        };
        if unused || unused_selection {
            return Err(DecodeErrorKind::Modifier);
        }
    }
    let clamp = bit(word, 15);
    if clamp && !row.has(Flag::clamp) {
        return Err(DecodeErrorKind::Modifier);
    }
    let mask = mask as u8;
    let modifiers = PackedModifiers {
        clamp,
        op_sel: op_sel & mask,
        op_sel_hi: op_sel_hi & mask,
        neg_lo: if mixes { 0 } else { low as u8 & mask },
        neg_hi: if mixes { 0 } else { high as u8 & mask },
        dpp: first.dpp(),
    };
    Ok((operands, Modifiers::Packed(modifiers)))
}
