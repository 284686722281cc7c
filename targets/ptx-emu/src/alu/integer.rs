//! Integer arithmetic. Source: the PTX ISA, "Integer Arithmetic Instructions" and
//! "Extended-Precision Integer Arithmetic Instructions".

use super::{Bin, Carry, Tri, Un, each, each_slow};
use crate::text::types::Type;

/// One function per integer type of 16, 32 or 64 bits; `.b` types count as unsigned.
macro_rules! by_type {
    ($ty:expr, $T:ident => $make:expr) => {
        match $ty {
            Type::U16 | Type::B16 => Some({
                type $T = u16;
                $make
            }),
            Type::S16 => Some({
                type $T = i16;
                $make
            }),
            Type::U32 | Type::B32 => Some({
                type $T = u32;
                $make
            }),
            Type::S32 => Some({
                type $T = i32;
                $make
            }),
            Type::U64 | Type::B64 => Some({
                type $T = u64;
                $make
            }),
            Type::S64 => Some({
                type $T = i64;
                $make
            }),
            _ => None,
        }
    };
}

/// The same with both halves of a word, which a type of 16 bits has.
macro_rules! each_half {
    (|$a:ident: $T:ty, $b:ident| $result:expr) => {
        each!(|x: u32, y: u32| {
            let half = |$a: $T, $b: $T| u32::from($result as u16);
            half((x >> 16) as $T, (y >> 16) as $T) << 16 | half(x as $T, y as $T)
        })
    };
}

pub(crate) fn add(ty: Type) -> Option<Bin> {
    if matches!(ty, Type::U16x2 | Type::S16x2) {
        return Some(each_half!(|a: u16, b| a.wrapping_add(b)));
    }
    by_type!(ty, T => each!(|a: T, b: T| a.wrapping_add(b)))
}

pub(crate) fn sub(ty: Type) -> Option<Bin> {
    by_type!(ty, T => each!(|a: T, b: T| a.wrapping_sub(b)))
}

/// `.sat`, which there is for `.s32` alone.
pub(crate) fn add_sat() -> Bin {
    each!(|a: i32, b: i32| a.saturating_add(b))
}

pub(crate) fn sub_sat() -> Bin {
    each!(|a: i32, b: i32| a.saturating_sub(b))
}

pub(crate) fn mul_lo(ty: Type) -> Option<Bin> {
    by_type!(ty, T => each!(|a: T, b: T| a.wrapping_mul(b)))
}

pub(crate) fn mul_hi(ty: Type) -> Option<Bin> {
    by_type!(ty, T => each!(|a: T, b: T| ((i128::from(a).wrapping_mul(i128::from(b))) >> T::BITS) as T))
}

/// The product in twice the width.
pub(crate) fn mul_wide(ty: Type) -> Option<Bin> {
    Some(match ty {
        Type::U16 => each!(|a: u16, b: u16| u32::from(a) * u32::from(b)),
        Type::S16 => each!(|a: i16, b: i16| i32::from(a) * i32::from(b)),
        Type::U32 => each!(|a: u32, b: u32| u64::from(a) * u64::from(b)),
        Type::S32 => each!(|a: i32, b: i32| i64::from(a) * i64::from(b)),
        _ => return None,
    })
}

pub(crate) fn mad_lo(ty: Type) -> Option<Tri> {
    by_type!(ty, T => each!(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
}

pub(crate) fn mad_hi(ty: Type) -> Option<Tri> {
    by_type!(ty, T => each!(|a: T, b: T, c: T|
        (((i128::from(a).wrapping_mul(i128::from(b))) >> T::BITS) as T).wrapping_add(c)))
}

/// `mad.hi.sat.s32`
pub(crate) fn mad_hi_sat() -> Tri {
    each!(
        |a: i32, b: i32, c: i32| ((i64::from(a) * i64::from(b)) >> 32)
            .saturating_add(i64::from(c))
            .clamp(i64::from(i32::MIN), i64::from(i32::MAX))
            as i32
    )
}

pub(crate) fn mad_wide(ty: Type) -> Option<Tri> {
    Some(match ty {
        Type::U16 => each!(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)),
        Type::S16 => each!(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)),
        Type::U32 => each!(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c)),
        Type::S32 => each!(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c)),
        _ => return None,
    })
}

/// The low 24 bits of a word, with its sign.
const fn low24(a: i32) -> i64 {
    ((a << 8) >> 8) as i64
}

/// `mul24`: the low or the high 32 of the product's 48 bits.
pub(crate) fn mul24(ty: Type, high: bool) -> Option<Bin> {
    Some(match (ty, high) {
        (Type::U32, false) => each!(|a: u32, b: u32| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)),
        (Type::U32, true) => each!(|a: u32, b: u32| ((u64::from(a & 0xff_ffff)
            * u64::from(b & 0xff_ffff))
            >> 16) as u32),
        (Type::S32, false) => each!(|a: i32, b: i32| (low24(a) * low24(b)) as i32),
        (Type::S32, true) => each!(|a: i32, b: i32| ((low24(a) * low24(b)) >> 16) as i32),
        _ => return None,
    })
}

pub(crate) fn mad24(ty: Type, high: bool) -> Option<Tri> {
    Some(match (ty, high) {
        (Type::U32, false) => each!(|a: u32, b: u32, c: u32| (a & 0xff_ffff)
            .wrapping_mul(b & 0xff_ffff)
            .wrapping_add(c)),
        (Type::U32, true) => each!(|a: u32, b: u32, c: u32| (((u64::from(a & 0xff_ffff)
            * u64::from(b & 0xff_ffff))
            >> 16) as u32)
            .wrapping_add(c)),
        (Type::S32, false) => {
            each!(|a: i32, b: i32, c: i32| ((low24(a) * low24(b)) as i32).wrapping_add(c))
        }
        (Type::S32, true) => {
            each!(|a: i32, b: i32, c: i32| (((low24(a) * low24(b)) >> 16) as i32).wrapping_add(c))
        }
        _ => return None,
    })
}

/// `|a - b|`
pub(crate) fn absdiff(ty: Type) -> Option<Bin> {
    by_type!(ty, T => each!(|a: T, b: T| a.abs_diff(b) as T))
}

/// `|a - b| + c`
pub(crate) fn sad(ty: Type) -> Option<Tri> {
    by_type!(ty, T => each!(|a: T, b: T, c: T| (a.abs_diff(b) as T).wrapping_add(c)))
}

/// Division by zero gives all ones, as NVIDIA's code for it does; the ISA leaves it
/// open. The least number divided by -1 wraps.
pub(crate) fn div(ty: Type) -> Option<Bin> {
    by_type!(ty, T => each_slow!(|a: T, b: T| if b == 0 { !0 } else { a.wrapping_div(b) }))
}

/// The rest of a division by zero, which the ISA leaves open, is the dividend.
pub(crate) fn rem(ty: Type) -> Option<Bin> {
    by_type!(ty, T => each_slow!(|a: T, b: T| if b == 0 { a } else { a.wrapping_rem(b) }))
}

pub(crate) fn min(ty: Type) -> Option<Bin> {
    match ty {
        Type::U16x2 => return Some(each_half!(|a: u16, b| a.min(b))),
        Type::S16x2 => return Some(each_half!(|a: i16, b| a.min(b))),
        _ => {}
    }
    by_type!(ty, T => each!(|a: T, b: T| a.min(b)))
}

pub(crate) fn max(ty: Type) -> Option<Bin> {
    match ty {
        Type::U16x2 => return Some(each_half!(|a: u16, b| a.max(b))),
        Type::S16x2 => return Some(each_half!(|a: i16, b| a.max(b))),
        _ => {}
    }
    by_type!(ty, T => each!(|a: T, b: T| a.max(b)))
}

/// The same where negative results are zeros.
pub(crate) fn min_relu(ty: Type) -> Option<Bin> {
    Some(match ty {
        Type::S32 => each!(|a: i32, b: i32| a.min(b).max(0)),
        Type::S16x2 => each_half!(|a: i16, b| a.min(b).max(0)),
        _ => return None,
    })
}

pub(crate) fn max_relu(ty: Type) -> Option<Bin> {
    Some(match ty {
        Type::S32 => each!(|a: i32, b: i32| a.max(b).max(0)),
        Type::S16x2 => each_half!(|a: i16, b| a.max(b).max(0)),
        _ => return None,
    })
}

pub(crate) fn abs(ty: Type) -> Option<Un> {
    Some(match ty {
        Type::S16 => each!(|a: i16| a.wrapping_abs()),
        Type::S32 => each!(|a: i32| a.wrapping_abs()),
        Type::S64 => each!(|a: i64| a.wrapping_abs()),
        _ => return None,
    })
}

pub(crate) fn neg(ty: Type) -> Option<Un> {
    Some(match ty {
        Type::S16 => each!(|a: i16| a.wrapping_neg()),
        Type::S32 => each!(|a: i32| a.wrapping_neg()),
        Type::S64 => each!(|a: i64| a.wrapping_neg()),
        _ => return None,
    })
}

macro_rules! with_carry {
    ($T:ty, |$a:ident, $b:ident, $c:ident| $op:expr) => {{
        fn one($c: bool, a: u64, b: u64, _: u64) -> (u64, bool) {
            let ($a, $b) = (a as $T, b as $T);
            let (result, carries): ($T, bool) = $op;
            (result.into(), carries)
        }
        one as Carry
    }};
}

/// `add.cc` and `addc`, whose carry in is 0 for the former.
pub(crate) fn add_carry(ty: Type) -> Option<Carry> {
    Some(match ty.bits() {
        32 if ty.is_int() => with_carry!(u32, |a, b, c| {
            let (sum, one) = a.overflowing_add(b);
            let (sum, two) = sum.overflowing_add(u32::from(c));
            (sum, one || two)
        }),
        64 if ty.is_int() => with_carry!(u64, |a, b, c| {
            let (sum, one) = a.overflowing_add(b);
            let (sum, two) = sum.overflowing_add(u64::from(c));
            (sum, one || two)
        }),
        _ => return None,
    })
}

/// `sub.cc` and `subc`: the carry is a borrow.
pub(crate) fn sub_carry(ty: Type) -> Option<Carry> {
    Some(match ty.bits() {
        32 if ty.is_int() => with_carry!(u32, |a, b, c| {
            let (rest, one) = a.overflowing_sub(b);
            let (rest, two) = rest.overflowing_sub(u32::from(c));
            (rest, one || two)
        }),
        64 if ty.is_int() => with_carry!(u64, |a, b, c| {
            let (rest, one) = a.overflowing_sub(b);
            let (rest, two) = rest.overflowing_sub(u64::from(c));
            (rest, one || two)
        }),
        _ => return None,
    })
}

macro_rules! mad_with_carry {
    ($T:ty, $W:ty, $shift:expr) => {{
        fn one(carry: bool, a: u64, b: u64, c: u64) -> (u64, bool) {
            let product = ((<$W>::from(a as $T) * <$W>::from(b as $T)) >> $shift) as $T;
            let (sum, one) = product.overflowing_add(c as $T);
            let (sum, two) = sum.overflowing_add(carry.into());
            (sum.into(), one || two)
        }
        one as Carry
    }};
}

/// `mad.cc` and `madc`, of the low or the high half of the product.
pub(crate) fn mad_carry(ty: Type, high: bool) -> Option<Carry> {
    Some(match (ty, high) {
        (Type::U32 | Type::S32, false) => mad_with_carry!(u32, u64, 0),
        (Type::U32, true) => mad_with_carry!(u32, u64, 32),
        (Type::S32, true) => {
            fn one(carry: bool, a: u64, b: u64, c: u64) -> (u64, bool) {
                let product = i64::from(a as i32) * i64::from(b as i32);
                let (sum, one) = ((product >> 32) as u32).overflowing_add(c as u32);
                let (sum, two) = sum.overflowing_add(carry.into());
                (sum.into(), one || two)
            }
            one
        }
        (Type::U64 | Type::S64, false) => mad_with_carry!(u64, u128, 0),
        (Type::U64, true) => mad_with_carry!(u64, u128, 64),
        (Type::S64, true) => {
            fn one(carry: bool, a: u64, b: u64, c: u64) -> (u64, bool) {
                let product = i128::from(a as i64) * i128::from(b as i64);
                let (sum, one) = ((product >> 64) as u64).overflowing_add(c);
                let (sum, two) = sum.overflowing_add(carry.into());
                (sum, one || two)
            }
            one
        }
        _ => return None,
    })
}

/// Two halves or four bytes of a word.
const fn parts<const N: usize>(word: u64, signed: bool) -> [i32; N] {
    let mut parts = [0; N];
    let bits = 32 / N;
    let mut i = 0;
    while i < N {
        let up = (word as u32) << (32 - bits * (i + 1));
        parts[i] = if signed {
            up as i32 >> (32 - bits)
        } else {
            (up >> (32 - bits)) as i32
        };
        i += 1;
    }
    parts
}

/// `dp4a`: products of bytes, summed up.
pub(crate) fn dp4a(a_signed: bool, b_signed: bool) -> Tri {
    macro_rules! dot {
        ($sa:literal, $sb:literal) => {
            each!(|a: u32, b: u32, c: u32| {
                let (x, y) = (parts::<4>(u64::from(a), $sa), parts::<4>(u64::from(b), $sb));
                (0..4).fold(c, |sum, i| sum.wrapping_add((x[i] * y[i]) as u32))
            })
        };
    }
    match (a_signed, b_signed) {
        (false, false) => dot!(false, false),
        (false, true) => dot!(false, true),
        (true, false) => dot!(true, false),
        (true, true) => dot!(true, true),
    }
}

/// `dp2a`: products of halves with the low or high bytes.
pub(crate) fn dp2a(a_signed: bool, b_signed: bool, high: bool) -> Tri {
    macro_rules! dot {
        ($sa:literal, $sb:literal, $high:literal) => {
            each!(|a: u32, b: u32, c: u32| {
                let (x, y) = (parts::<2>(u64::from(a), $sa), parts::<4>(u64::from(b), $sb));
                let from = if $high { 2 } else { 0 };
                (0..2).fold(c, |sum, i| {
                    sum.wrapping_add(x[i].wrapping_mul(y[from + i]) as u32)
                })
            })
        };
    }
    match (a_signed, b_signed, high) {
        (false, false, false) => dot!(false, false, false),
        (false, true, false) => dot!(false, true, false),
        (true, false, false) => dot!(true, false, false),
        (true, true, false) => dot!(true, true, false),
        (false, false, true) => dot!(false, false, true),
        (false, true, true) => dot!(false, true, true),
        (true, false, true) => dot!(true, false, true),
        (true, true, true) => dot!(true, true, true),
    }
}
