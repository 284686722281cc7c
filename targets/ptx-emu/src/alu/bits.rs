//! Bits: logic, shifts, fields. Source: the PTX ISA, "Logic and Shift Instructions" and
//! the instructions for bit fields among "Integer Arithmetic Instructions".

use super::{Bin, Quad, Tri, Un, each};
use crate::text::types::Type;

pub(crate) fn and() -> Bin {
    each!(|a: u64, b: u64| a & b)
}

pub(crate) fn or() -> Bin {
    each!(|a: u64, b: u64| a | b)
}

pub(crate) fn xor() -> Bin {
    each!(|a: u64, b: u64| a ^ b)
}

pub(crate) fn copy() -> Un {
    each!(|a: u64| a)
}

/// The low bits alone.
pub(crate) fn truncate(bits: u32) -> Option<Un> {
    Some(match bits {
        8 => each!(|a: u8| a),
        16 => each!(|a: u16| a),
        32 => each!(|a: u32| a),
        64 => copy(),
        _ => return None,
    })
}

pub(crate) fn not(ty: Type) -> Option<Un> {
    Some(match ty.bits() {
        16 => each!(|a: u16| !a),
        32 => each!(|a: u32| !a),
        64 => each!(|a: u64| !a),
        _ => return None,
    })
}

/// 1 for 0, else 0.
pub(crate) fn cnot(ty: Type) -> Option<Un> {
    Some(match ty.bits() {
        16 => each!(|a: u16| u16::from(a == 0)),
        32 => each!(|a: u32| u32::from(a == 0)),
        64 => each!(|a: u64| u64::from(a == 0)),
        _ => return None,
    })
}

/// Amounts beyond the width shift everything out.
pub(crate) fn shl(ty: Type) -> Option<Bin> {
    Some(match ty.bits() {
        16 => each!(|a: u16, n: u32| a.checked_shl(n).unwrap_or(0)),
        32 => each!(|a: u32, n: u32| a.checked_shl(n).unwrap_or(0)),
        64 => each!(|a: u64, n: u32| a.checked_shl(n).unwrap_or(0)),
        _ => return None,
    })
}

/// Signed numbers are filled with copies of the sign.
pub(crate) fn shr(ty: Type) -> Option<Bin> {
    Some(match ty {
        Type::S16 => each!(|a: i16, n: u32| a >> n.min(15)),
        Type::S32 => each!(|a: i32, n: u32| a >> n.min(31)),
        Type::S64 => each!(|a: i64, n: u32| a >> n.min(63)),
        Type::U16 | Type::B16 => each!(|a: u16, n: u32| a.checked_shr(n).unwrap_or(0)),
        Type::U32 | Type::B32 => each!(|a: u32, n: u32| a.checked_shr(n).unwrap_or(0)),
        Type::U64 | Type::B64 => each!(|a: u64, n: u32| a.checked_shr(n).unwrap_or(0)),
        _ => return None,
    })
}

const fn pair(low: u32, high: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// `shf`: two words as one, shifted; the high word of the result to the left, the low
/// one to the right. `clamp` stops at 32, `wrap` counts modulo 32.
pub(crate) fn funnel(left: bool, wrap: bool) -> Tri {
    match (left, wrap) {
        (true, true) => each!(|a: u32, b: u32, n: u32| ((pair(a, b) << (n & 31)) >> 32) as u32),
        (true, false) => {
            each!(|a: u32, b: u32, n: u32| ((u128::from(pair(a, b)) << n.min(32)) >> 32) as u32)
        }
        (false, true) => each!(|a: u32, b: u32, n: u32| (pair(a, b) >> (n & 31)) as u32),
        (false, false) => each!(|a: u32, b: u32, n: u32| (pair(a, b) >> n.min(32)) as u32),
    }
}

/// Any function of three bits, by its table.
pub(crate) fn lop3() -> Quad {
    each!(|a: u32, b: u32, c: u32, table: u32| {
        let mut result = 0;
        for row in 0..8 {
            if (table >> row) & 1 != 0 {
                let x = if row & 4 != 0 { a } else { !a };
                let y = if row & 2 != 0 { b } else { !b };
                let z = if row & 1 != 0 { c } else { !c };
                result |= x & y & z;
            }
        }
        result
    })
}

pub(crate) fn popc(ty: Type) -> Option<Un> {
    Some(match ty {
        Type::B32 => each!(|a: u32| a.count_ones()),
        Type::B64 => each!(|a: u64| a.count_ones()),
        _ => return None,
    })
}

pub(crate) fn clz(ty: Type) -> Option<Un> {
    Some(match ty {
        Type::B32 => each!(|a: u32| a.leading_zeros()),
        Type::B64 => each!(|a: u64| a.leading_zeros()),
        _ => return None,
    })
}

pub(crate) fn brev(ty: Type) -> Option<Un> {
    Some(match ty {
        Type::B32 => each!(|a: u32| a.reverse_bits()),
        Type::B64 => each!(|a: u64| a.reverse_bits()),
        _ => return None,
    })
}

/// The place of the highest bit that differs from the sign, or how far to shift it up
/// there; all ones if there is none.
pub(crate) fn bfind(ty: Type, shift: bool) -> Option<Un> {
    macro_rules! find {
        ($T:ty, $value:ident => $magnitude:expr, $zeros:expr) => {
            if shift {
                each!(|$value: $T| {
                    let zeros = ($magnitude).leading_zeros();
                    if zeros == <$T>::BITS { !0u32 } else { zeros }
                })
            } else {
                each!(|$value: $T| {
                    let zeros = ($magnitude).leading_zeros();
                    if zeros == <$T>::BITS {
                        !0u32
                    } else {
                        <$T>::BITS - 1 - zeros
                    }
                })
            }
        };
    }
    Some(match ty {
        Type::U32 => find!(u32, a => a, 0),
        Type::S32 => find!(i32, a => a ^ (a >> 31), 0),
        Type::U64 => find!(u64, a => a, 0),
        Type::S64 => find!(i64, a => a ^ (a >> 63), 0),
        _ => return None,
    })
}

/// `bfe`: a field of `c` bits from bit `b` on; of signed numbers with the sign of the
/// field, which is the number's own where the field reaches beyond it.
pub(crate) fn bfe(ty: Type) -> Option<Tri> {
    fn field(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
        let (pos, len) = (pos & 0xff, len & 0xff);
        let bit = |at: u32| (a >> at.min(width - 1)) & 1;
        let sign = if !signed || len == 0 {
            0
        } else {
            bit((pos + len - 1).min(width - 1))
        };
        let mut result = 0;
        for i in 0..width {
            let value = if i < len && pos + i < width {
                bit(pos + i)
            } else {
                sign
            };
            result |= value << i;
        }
        result
    }
    Some(match ty {
        Type::U32 => each!(|a: u32, b: u32, c: u32| field(u64::from(a), b, c, 32, false)),
        Type::S32 => each!(|a: u32, b: u32, c: u32| field(u64::from(a), b, c, 32, true)),
        Type::U64 => each!(|a: u64, b: u32, c: u32| field(a, b, c, 64, false)),
        Type::S64 => each!(|a: u64, b: u32, c: u32| field(a, b, c, 64, true)),
        _ => return None,
    })
}

/// `bfi`: `b` with `e` bits from bit `c` on taken from `a`.
pub(crate) fn bfi(ty: Type) -> Option<Quad> {
    macro_rules! insert {
        ($T:ty) => {
            each!(|a: $T, b: $T, c: u32, e: u32| {
                let (pos, len) = (c & 0xff, e & 0xff);
                let ones = if len >= <$T>::BITS {
                    !0
                } else {
                    (1 as $T).wrapping_shl(len) - 1
                };
                let mask = ones.checked_shl(pos).unwrap_or(0);
                (b & !mask) | (a.checked_shl(pos).unwrap_or(0) & mask)
            })
        };
    }
    Some(match ty {
        Type::B32 => insert!(u32),
        Type::B64 => insert!(u64),
        _ => return None,
    })
}

/// `bmsk`: ones from bit `a` on, `b` of them.
pub(crate) fn bmsk(wrap: bool) -> Bin {
    fn mask(pos: u32, len: u32) -> u32 {
        let ones = if len >= 32 { !0 } else { (1 << len) - 1 };
        u32::checked_shl(ones, pos).unwrap_or(0)
    }
    if wrap {
        each!(|a: u32, b: u32| mask(a & 31, b & 31))
    } else {
        each!(|a: u32, b: u32| mask(a.min(32), b.min(32)))
    }
}

/// `szext`: the low `b` bits, extended.
pub(crate) fn szext(ty: Type, wrap: bool) -> Option<Bin> {
    fn extend(a: u32, n: u32, signed: bool) -> u32 {
        match n {
            0 => 0,
            32.. => a,
            _ if signed => ((a << (32 - n)) as i32 >> (32 - n)) as u32,
            _ => a & ((1 << n) - 1),
        }
    }
    Some(match (ty, wrap) {
        (Type::U32, false) => each!(|a: u32, b: u32| extend(a, b, false)),
        (Type::S32, false) => each!(|a: u32, b: u32| extend(a, b, true)),
        (Type::U32, true) => each!(|a: u32, b: u32| extend(a, b & 31, false)),
        (Type::S32, true) => each!(|a: u32, b: u32| extend(a, b & 31, true)),
        _ => return None,
    })
}

/// How `prmt` chooses bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permute {
    /// By four numbers, each perhaps with the request for the byte's sign.
    General,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

pub(crate) fn prmt(mode: Permute) -> Tri {
    fn permute(a: u32, b: u32, chosen: [u32; 4]) -> u32 {
        let bytes = pair(a, b).to_le_bytes();
        let result = chosen.map(|choice| {
            let byte = bytes[(choice & 7) as usize];
            if choice & 8 == 0 {
                byte
            } else {
                ((byte as i8) >> 7) as u8
            }
        });
        u32::from_le_bytes(result)
    }
    match mode {
        Permute::General => each!(|a: u32, b: u32, c: u32| permute(
            a,
            b,
            [c & 15, (c >> 4) & 15, (c >> 8) & 15, (c >> 12) & 15]
        )),
        Permute::F4e => each!(|a: u32, b: u32, c: u32| {
            let n = c & 3;
            permute(a, b, [n, n + 1, n + 2, n + 3])
        }),
        Permute::B4e => each!(|a: u32, b: u32, c: u32| {
            let n = c & 3;
            permute(a, b, [n, (n + 7) & 7, (n + 6) & 7, (n + 5) & 7])
        }),
        Permute::Rc8 => each!(|a: u32, b: u32, c: u32| permute(a, b, [c & 3; 4])),
        Permute::Ecl => each!(|a: u32, b: u32, c: u32| {
            let n = c & 3;
            permute(a, b, [n, n.max(1), n.max(2), 3])
        }),
        Permute::Ecr => each!(|a: u32, b: u32, c: u32| {
            let n = c & 3;
            permute(a, b, [0, n.min(1), n.min(2), n])
        }),
        Permute::Rc16 => each!(|a: u32, b: u32, c: u32| {
            let n = (c & 1) * 2;
            permute(a, b, [n, n + 1, n, n + 1])
        }),
    }
}
