//! Comparisons. Source: the PTX ISA, "Comparison and Selection Instructions".

use small_floats::{bfloat_to_single, half_to_single};

use super::{Compare, Lanes, Mask, Row, Value, word};
use crate::alu::float::flush;
use crate::text::types::Type;

macro_rules! compare {
    ($T:ty, |$a:ident, $b:ident| $holds:expr) => {{
        fn one(a: u64, b: u64) -> bool {
            let ($a, $b) = (<$T>::get(a), <$T>::get(b));
            $holds
        }
        unsafe fn lane(lane: *const u64, a: Row, b: Row) -> bool {
            // SAFETY: the caller's rows are valid.
            unsafe { one(word(lane, a).read(), word(lane, b).read()) }
        }
        fn all(a: &Lanes, b: &Lanes) -> Mask {
            let holds = |i| Mask::from(one(a[i], b[i])) << i;
            (0..super::LANES).fold(0, |mask, i| mask | holds(i))
        }
        Compare { one: lane, all }
    }};
}

macro_rules! ints {
    ($T:ty, $op:expr) => {
        Some(match $op {
            "eq" => compare!($T, |a, b| a == b),
            "ne" => compare!($T, |a, b| a != b),
            "lt" | "lo" => compare!($T, |a, b| a < b),
            "le" | "ls" => compare!($T, |a, b| a <= b),
            "gt" | "hi" => compare!($T, |a, b| a > b),
            "ge" | "hs" => compare!($T, |a, b| a >= b),
            _ => return None,
        })
    };
}

/// A float as comparisons see it.
#[derive(Clone, Copy)]
struct Flushed(f32);

impl Value for Flushed {
    fn get(bits: u64) -> Self {
        Self(flush(f32::get(bits), true))
    }
    fn put(self) -> u64 {
        self.0.put()
    }
}

#[derive(Clone, Copy)]
struct HalfOperand(f32);

impl Value for HalfOperand {
    fn get(bits: u64) -> Self {
        Self(half_to_single(bits as u16))
    }
    fn put(self) -> u64 {
        self.0.put()
    }
}

#[derive(Clone, Copy)]
struct FlushedHalf(f32);

impl Value for FlushedHalf {
    fn get(bits: u64) -> Self {
        let value = half_to_single(bits as u16);
        let is_subnormal = bits & 0x7c00 == 0;
        Self(if is_subnormal { 0.0 } else { value })
    }
    fn put(self) -> u64 {
        self.0.put()
    }
}

#[derive(Clone, Copy)]
struct Bf16Operand(f32);

impl Value for Bf16Operand {
    fn get(bits: u64) -> Self {
        Self(bfloat_to_single(bits as u16))
    }
    fn put(self) -> u64 {
        self.0.put()
    }
}

macro_rules! floats {
    ($T:ty, $op:expr, |$x:ident| $value:expr) => {{
        macro_rules! holds {
            (|$a:ident, $b:ident| $holds:expr) => {
                compare!($T, |a, b| {
                    let $a = {
                        let $x = a;
                        $value
                    };
                    let $b = {
                        let $x = b;
                        $value
                    };
                    $holds
                })
            };
        }
        Some(match $op {
            "eq" => holds!(|a, b| a == b),
            "ne" => holds!(|a, b| a < b || a > b),
            "lt" => holds!(|a, b| a < b),
            "le" => holds!(|a, b| a <= b),
            "gt" => holds!(|a, b| a > b),
            "ge" => holds!(|a, b| a >= b),
            // True of NaN, too.
            "equ" => holds!(|a, b| !(a < b || a > b)),
            "neu" => holds!(|a, b| a != b),
            "ltu" => holds!(|a, b| !(a >= b)),
            "leu" => holds!(|a, b| !(a > b)),
            "gtu" => holds!(|a, b| !(a <= b)),
            "geu" => holds!(|a, b| !(a < b)),
            "num" => holds!(|a, b| !a.is_nan() && !b.is_nan()),
            "nan" => holds!(|a, b| a.is_nan() || b.is_nan()),
            _ => return None,
        })
    }};
}

/// The comparison called `op`.
#[expect(
    clippy::double_comparisons,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "what NaN makes of it is the point"
)]
pub(crate) fn compare(op: &str, ty: Type, ftz: bool) -> Option<Compare> {
    if ftz && !matches!(ty, Type::F32 | Type::F16) {
        return None;
    }
    match ty {
        Type::B16 | Type::B32 | Type::B64 if !matches!(op, "eq" | "ne") => None,
        Type::U16 | Type::B16 => ints!(u16, op),
        Type::U32 | Type::B32 => ints!(u32, op),
        Type::U64 | Type::B64 => ints!(u64, op),
        Type::S16 if !matches!(op, "lo" | "ls" | "hi" | "hs") => ints!(i16, op),
        Type::S32 if !matches!(op, "lo" | "ls" | "hi" | "hs") => ints!(i32, op),
        Type::S64 if !matches!(op, "lo" | "ls" | "hi" | "hs") => ints!(i64, op),
        Type::F32 if ftz => floats!(Flushed, op, |x| x.0),
        Type::F32 => floats!(f32, op, |x| x),
        Type::F64 => floats!(f64, op, |x| x),
        Type::F16 if ftz => floats!(FlushedHalf, op, |x| x.0),
        Type::F16 => floats!(HalfOperand, op, |x| x.0),
        Type::Bf16 => floats!(Bf16Operand, op, |x| x.0),
        _ => None,
    }
}
