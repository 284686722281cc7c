//! VOPD: two operations at once, in waves of 32 lanes only.

use super::reader::{Reader, bits};
use super::{Decoded, Parts};
use crate::error::DecodeErrorKind;
use crate::inst::{DualHalf, Encoding, Modifiers, Op, Operand};
use crate::isa::{DualOp, Kind};

const UNKNOWN: DecodeErrorKind = DecodeErrorKind::UnknownOperation;

pub(super) fn vopd(reader: &mut Reader<'_>) -> Decoded {
    if reader.mask_registers() != 1 {
        return Err(UNKNOWN);
    }
    let word = reader.long()?;
    let first = bits(word, 22, 4);
    let first = DualOp::find(reader.arch(), first).ok_or(UNKNOWN)?;
    let second = DualOp::find(reader.arch(), bits(word, 17, 5)).ok_or(UNKNOWN)?;
    let dst = bits(word, 56, 8);
    // The destinations are an even and an odd register, so the second one's lowest bit follows.
    let other_dst = (bits(word, 49, 7) << 1) | (!dst & 1);
    let fields = [dst, bits(word, 0, 9), bits(word, 9, 8)];
    let operands = half(reader, first, fields)?;
    let fields = [other_dst, bits(word, 32, 9), bits(word, 41, 8)];
    let other_operands = half(reader, second, fields)?;
    Ok(Parts {
        encoding: Encoding::Vopd,
        op: Op::Dual(first),
        operands,
        modifiers: Modifiers::Dual(DualHalf {
            op: second,
            operands: other_operands,
        }),
    })
}

/// The operands of a half with these fields: destination, first and second source.
fn half(
    reader: &mut Reader<'_>,
    op: DualOp,
    fields: [u16; 3],
) -> Result<Vec<Operand>, DecodeErrorKind> {
    let row = op.row();
    let mut operands = vec![reader.vector(row.dst[0], fields[0], false)?];
    let mut position = 1;
    for &kind in row.src {
        match (kind, position) {
            (Kind::K, _) => {
                operands.push(reader.constant()?);
                continue;
            }
            (Kind::Mask, _) => operands.push(reader.vcc()?),
            (_, 1) => operands.push(reader.source(kind, fields[1])?),
            _ => operands.push(reader.vector(kind, fields[2], false)?),
        }
        position += 1;
    }
    if row.src.len() == 1 && fields[2] != 0 {
        return Err(UNKNOWN);
    }
    Ok(operands)
}
