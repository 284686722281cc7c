//! Decoding, one file per group of encodings.
//!
//! | module | job |
//! |---|---|
//! | `scalar` | SOP1, SOP2, SOPC, SOPK, SOPP, SMEM |
//! | `vector` | VOP1, VOP2, VOPC, VOP3, VINTERP |
//! | `lanes` | SDWA and DPP |
//! | `packed` | VOP3P |
//! | `dual` | VOPD |
//! | `memory` | DS, FLAT |
//! | `buffer` | MUBUF, MTBUF |
//! | `operands` | operands |
//! | `reader` | the words, and the length of an instruction |

mod buffer;
mod dual;
mod lanes;
mod memory;
mod operands;
mod packed;
mod reader;
mod scalar;
mod vector;

use self::reader::Reader;
use crate::arch::{Generation, Target};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::inst::{Encoding, Inst, Modifiers, Op, Operand};

/// Result of an encoding's decoder. Errors have no address yet.
type Decoded = Result<Parts, DecodeErrorKind>;

/// An instruction without its address.
struct Parts {
    encoding: Encoding,
    op: Op,
    operands: Vec<Operand>,
    modifiers: Modifiers,
}

/// Decodes the instruction at the start of `code`, which is at `address`.
///
/// # Errors
/// The words are no instruction of the target's architecture that the decoder supports.
pub fn decode(target: Target, address: u64, code: &[u32]) -> Result<Inst, DecodeError> {
    let mut reader = Reader::new(target, code);
    match parts(&mut reader) {
        Ok(parts) => Ok(Inst {
            target,
            address,
            words: reader.length(),
            encoding: parts.encoding,
            op: parts.op,
            operands: parts.operands,
            modifiers: parts.modifiers,
        }),
        Err(kind) => Err(DecodeError {
            address,
            words: code.iter().take(4).copied().collect(),
            arch: target.arch,
            kind,
        }),
    }
}

fn parts(reader: &mut Reader<'_>) -> Decoded {
    let first = reader.word(0)?;
    match first >> 23 {
        0b1_0111_1101 => return scalar::sop1(reader),
        0b1_0111_1110 => return scalar::sopc(reader),
        0b1_0111_1111 => return scalar::sopp(reader),
        _ => {}
    }
    match first >> 28 {
        0b1000..=0b1010 => return scalar::sop2(reader),
        0b1011 => return scalar::sopk(reader),
        _ => {}
    }
    match first >> 25 {
        0b011_1110 => return vector::vopc(reader),
        0b011_1111 => return vector::vop1(reader),
        0..0b011_1110 => return vector::vop2(reader),
        _ => {}
    }
    use Generation::{Gfx9, Gfx11, Gfx12};
    let prefix = first >> 26;
    match (reader.generation(), prefix) {
        (Gfx9, 0b11_0000) | (Gfx11 | Gfx12, 0b11_1101) => scalar::smem(reader),
        (Gfx9, 0b11_0100) if (first >> 23) & 7 == 7 => packed::vop3p(reader),
        (Gfx11 | Gfx12, 0b11_0011) => match (first >> 24) & 3 {
            0 => packed::vop3p(reader),
            1 => vector::vinterp(reader),
            2 => Err(DecodeErrorKind::Graphics),
            _ => Err(DecodeErrorKind::UnknownOperation),
        },
        (Gfx9, 0b11_0100) | (Gfx11 | Gfx12, 0b11_0101) => vector::vop3(reader),
        (Gfx11 | Gfx12, 0b11_0010) => dual::vopd(reader),
        (_, 0b11_0110) => memory::lds(reader),
        (Gfx9 | Gfx11, 0b11_0111) => memory::flat(reader),
        (Gfx12, 0b11_1011) => memory::flat_long(reader),
        (Gfx9 | Gfx11, 0b11_1000) => buffer::mubuf(reader),
        (Gfx9 | Gfx11, 0b11_1010) => buffer::mtbuf(reader),
        (Gfx12, 0b11_0001) => buffer::long(reader),
        (Gfx9, 0b11_1100 | 0b11_0001 | 0b11_0101)
        | (Gfx11, 0b11_1100 | 0b11_1110)
        | (Gfx12, 0b11_0100 | 0b11_1001 | 0b11_1110) => Err(DecodeErrorKind::Graphics),
        _ => Err(DecodeErrorKind::UnknownOperation),
    }
}
