//! Half precision and `bf16`, alone and in pairs. Source: the PTX ISA, "Half Precision
//! Floating-Point Instructions".

use rustc_apfloat::ieee::{BFloat, Half};
use rustc_apfloat::{Float, FloatConvert, Round};
use small_floats::{bfloat_to_single, half_to_single};

use super::{Bin, Tri, Un, scalar, vectorized};
use crate::alu::float::{Extremum, extremum_of};
use crate::text::types::Type;

/// The NaN that arithmetic of half precision makes.
const NAN: u16 = 0x7fff;

fn soft_half(bits: u16) -> Half {
    Half::from_bits(u128::from(bits))
}

fn soft_bf16(bits: u16) -> BFloat {
    BFloat::from_bits(u128::from(bits))
}

/// Common operations of the types of 16 bits.
trait SixteenBit: Float {
    fn of(bits: u16) -> Self;
    fn single(bits: u16) -> f32;

    fn bits(self) -> u16 {
        if self.is_nan() {
            return NAN;
        }
        self.to_bits() as u16
    }

    fn flushed(self, ftz: bool) -> Self {
        if ftz && self.is_denormal() {
            return Self::ZERO.copy_sign(self);
        }
        self
    }

    fn saturated(self, sat: bool) -> Self {
        if !sat {
            return self;
        }
        let one = Self::from_u128(1).value;
        if self.is_nan() || self < Self::ZERO {
            Self::ZERO
        } else if self > one {
            one
        } else {
            self.abs()
        }
    }
}

impl SixteenBit for Half {
    fn of(bits: u16) -> Self {
        soft_half(bits)
    }
    fn single(bits: u16) -> f32 {
        half_to_single(bits)
    }
}

impl SixteenBit for BFloat {
    fn of(bits: u16) -> Self {
        soft_bf16(bits)
    }
    fn single(bits: u16) -> f32 {
        bfloat_to_single(bits)
    }
}

/// The modifiers of arithmetic, which always rounds to nearest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    pub(crate) ftz: bool,
    pub(crate) sat: bool,
    /// Negative results are zeros.
    pub(crate) relu: bool,
}

const FTZ: u8 = 1;
const SAT: u8 = 2;
const RELU: u8 = 4;

impl Style {
    /// A number for what is asked for, if there is that for the type.
    fn code_of(self, ty: Type) -> Option<u8> {
        let is_brain = matches!(ty, Type::Bf16 | Type::Bf16x2);
        if is_brain && (self.ftz || self.sat) {
            return None;
        }
        Some(self.ftz as u8 * FTZ + self.sat as u8 * SAT + self.relu as u8 * RELU)
    }
}

fn finish<F: SixteenBit, const STYLE: u8>(value: F) -> u16 {
    let mut value = value.flushed(STYLE & FTZ != 0).saturated(STYLE & SAT != 0);
    if STYLE & RELU != 0 && !value.is_nan() && value.is_negative() {
        value = F::ZERO;
    }
    value.bits()
}

fn start<F: SixteenBit, const STYLE: u8>(bits: u16) -> F {
    F::of(bits).flushed(STYLE & FTZ != 0)
}

const ADD: u8 = 0;
const SUB: u8 = 1;
const MUL: u8 = 2;

fn bin_one<F: SixteenBit, const OP: u8, const STYLE: u8>(a: u16, b: u16) -> u16 {
    let (a, b) = (start::<F, STYLE>(a), start::<F, STYLE>(b));
    let round = Round::NearestTiesToEven;
    let result = match OP {
        ADD => a.add_r(b, round),
        SUB => a.sub_r(b, round),
        _ => a.mul_r(b, round),
    };
    finish::<F, STYLE>(result.value)
}

fn fma_one<F: SixteenBit, const STYLE: u8>(a: u16, b: u16, c: u16) -> u16 {
    let (a, b, c) = (
        start::<F, STYLE>(a),
        start::<F, STYLE>(b),
        start::<F, STYLE>(c),
    );
    finish::<F, STYLE>(a.mul_add_r(b, c, Round::NearestTiesToEven).value)
}

pub(crate) fn halves(bits: u64) -> [u16; 2] {
    [bits as u16, (bits >> 16) as u16]
}

pub(crate) fn whole([low, high]: [u16; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 16
}

fn bin<F: SixteenBit, const PAIR: bool, const OP: u8, const STYLE: u8>(a: u64, b: u64) -> u64 {
    let (x, y) = (halves(a), halves(b));
    let low = bin_one::<F, OP, STYLE>(x[0], y[0]);
    let high = if PAIR {
        bin_one::<F, OP, STYLE>(x[1], y[1])
    } else {
        0
    };
    whole([low, high])
}

fn tri<F: SixteenBit, const PAIR: bool, const STYLE: u8>(a: u64, b: u64, c: u64) -> u64 {
    let (x, y, z) = (halves(a), halves(b), halves(c));
    let low = fma_one::<F, STYLE>(x[0], y[0], z[0]);
    let high = if PAIR {
        fma_one::<F, STYLE>(x[1], y[1], z[1])
    } else {
        0
    };
    whole([low, high])
}

macro_rules! by_type {
    (Un, $($rest:tt)+) => {
        by_type!(@ Un, (a), $($rest)+)
    };
    (Bin, $($rest:tt)+) => {
        by_type!(@ Bin, (a, b), $($rest)+)
    };
    (Tri, $($rest:tt)+) => {
        by_type!(@ Tri, (a, b, c), $($rest)+)
    };
    (@ $Kind:ident, ($($operand:ident),+), $ty:expr, $f:ident, $($op:ident,)? $style:literal) => {
        Some($Kind {
            one: by_type!(@ $ty, ($($operand),+), $f, $($op,)? $style),
            all: None,
        })
    };
    (@ $ty:expr, $operands:tt, $f:ident, $($op:ident,)? $style:literal) => {
        match $ty {
            Type::F16 => by_type!(@ $operands, $f::<Half, false, $($op,)? $style>),
            Type::F16x2 => by_type!(@ $operands, $f::<Half, true, $($op,)? $style>),
            Type::Bf16 => by_type!(@ $operands, $f::<BFloat, false, $($op,)? $style>),
            Type::Bf16x2 => by_type!(@ $operands, $f::<BFloat, true, $($op,)? $style>),
            _ => return None,
        }
    };
    (@ ($($operand:ident),+), $f:expr) => {
        scalar!($f, $($operand),+)
    };
}

macro_rules! arithmetic {
    ($name:ident, $op:ident) => {
        pub(crate) fn $name(ty: Type, style: Style) -> Option<Bin> {
            match style.code_of(ty)? {
                0 => by_type!(Bin, ty, bin, $op, 0),
                1 => by_type!(Bin, ty, bin, $op, 1),
                2 => by_type!(Bin, ty, bin, $op, 2),
                3 => by_type!(Bin, ty, bin, $op, 3),
                _ => None,
            }
        }
    };
}
arithmetic!(add, ADD);
arithmetic!(sub, SUB);
arithmetic!(mul, MUL);

/// The result of `atom` and `red` for a word and an operand, without flushing subnormal numbers.
pub(crate) fn sum(ty: Type, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (halves(a), halves(b));
    let one: fn(u16, u16) -> u16 = match ty {
        Type::F16 | Type::F16x2 => bin_one::<Half, ADD, 0>,
        Type::Bf16 | Type::Bf16x2 => bin_one::<BFloat, ADD, 0>,
        _ => return None,
    };
    let high = if is_pair(ty)? { one(x[1], y[1]) } else { 0 };
    Some(whole([one(x[0], y[0]), high]))
}

pub(crate) fn fma(ty: Type, style: Style) -> Option<Tri> {
    match style.code_of(ty)? {
        0 => by_type!(Tri, ty, tri, 0),
        1 => by_type!(Tri, ty, tri, 1),
        2 => by_type!(Tri, ty, tri, 2),
        3 => by_type!(Tri, ty, tri, 3),
        4 => by_type!(Tri, ty, tri, 4),
        5 => by_type!(Tri, ty, tri, 5),
        _ => None,
    }
}

/// Functions of one float and of a pair, from one of the float and the mask of its sign bits.
macro_rules! signs {
    (|$a:ident, $sign:ident| $result:expr) => {{
        fn one(a: u64) -> u64 {
            let ($a, $sign) = (a & 0xffff, 0x8000u64);
            $result & 0xffff
        }
        fn two(a: u64) -> u64 {
            let ($a, $sign) = (a & 0xffff_ffff, 0x8000_8000u64);
            $result & 0xffff_ffff
        }
        (vectorized!(Un, one, a), vectorized!(Un, two, a))
    }};
}

fn is_pair(ty: Type) -> Option<bool> {
    match ty {
        Type::F16 | Type::Bf16 => Some(false),
        Type::F16x2 | Type::Bf16x2 => Some(true),
        _ => None,
    }
}

/// Zeros for the halves that are subnormal, with their signs.
fn flush_halves(bits: u64) -> u64 {
    whole(halves(bits).map(|half| soft_half(half).flushed(true).to_bits() as u16))
}

pub(crate) fn neg(ty: Type, ftz: bool) -> Option<Un> {
    let (one, two) = match (ty, ftz) {
        (_, false) => signs!(|a, sign| a ^ sign),
        (Type::F16 | Type::F16x2, true) => signs!(|a, sign| flush_halves(a) ^ sign),
        _ => return None,
    };
    Some(if is_pair(ty)? { two } else { one })
}

pub(crate) fn abs(ty: Type, ftz: bool) -> Option<Un> {
    let (one, two) = match (ty, ftz) {
        (_, false) => signs!(|a, sign| a & !sign),
        (Type::F16 | Type::F16x2, true) => signs!(|a, sign| flush_halves(a) & !sign),
        _ => return None,
    };
    Some(if is_pair(ty)? { two } else { one })
}

fn extremum_one<F: SixteenBit, const HOW: u8>(a: u16, b: u16) -> u16 {
    let how = Extremum {
        max: HOW & 1 != 0,
        ftz: false,
        nan: HOW & 2 != 0,
        xorsign: HOW & 4 != 0,
    };
    let ftz = HOW & 8 != 0;
    let (a, b) = (F::of(a).flushed(ftz), F::of(b).flushed(ftz));
    let (a, b) = (a.to_bits() as u16, b.to_bits() as u16);
    let result = extremum_of(F::single(a), F::single(b), how);
    if result.is_nan() {
        return NAN;
    }
    // It is one of the two, but for the sign.
    let sign = if result.is_sign_negative() { 0x8000 } else { 0 };
    let same = |bits: u16| F::single(bits & 0x7fff) == result.abs();
    let magnitude = if same(a) { a } else { b };
    (magnitude & 0x7fff) | sign
}

fn extremum_of_type<F: SixteenBit, const PAIR: bool, const HOW: u8>(a: u64, b: u64) -> u64 {
    let (x, y) = (halves(a), halves(b));
    let low = extremum_one::<F, HOW>(x[0], y[0]);
    let high = if PAIR {
        extremum_one::<F, HOW>(x[1], y[1])
    } else {
        0
    };
    whole([low, high])
}

pub(crate) fn extremum(ty: Type, how: Extremum) -> Option<Bin> {
    if how.ftz && matches!(ty, Type::Bf16 | Type::Bf16x2) {
        return None;
    }
    let code = u8::from(how.max)
        + 2 * u8::from(how.nan)
        + 4 * u8::from(how.xorsign)
        + 8 * u8::from(how.ftz);
    macro_rules! with {
        ($($code:literal)*) => {
            match code {
                $($code => by_type!(Bin, ty, extremum_of_type, $code),)*
                _ => None,
            }
        };
    }
    with!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
}

/// `ex2.approx` and `tanh.approx`; the first flushes with `bf16`, and must say so.
pub(crate) fn approximate(name: &str, ty: Type, ftz: bool) -> Option<Un> {
    if ftz != (name == "ex2" && matches!(ty, Type::Bf16 | Type::Bf16x2)) {
        return None;
    }
    fn round<F: SixteenBit>(value: f64) -> u16
    where
        rustc_apfloat::ieee::Double: FloatConvert<F>,
    {
        let exact = rustc_apfloat::ieee::Double::from_bits(u128::from(value.to_bits()));
        exact.convert(&mut false).value.bits()
    }
    const EX2: u8 = 0;
    const TANH: u8 = 1;
    fn lane<F: SixteenBit, const PAIR: bool, const OP: u8, const STYLE: u8>(a: u64) -> u64
    where
        rustc_apfloat::ieee::Double: FloatConvert<F>,
    {
        let one = |bits: u16| {
            let x = f64::from(F::single(bits));
            let result = round::<F>(if OP == TANH { x.tanh() } else { x.exp2() });
            F::of(result).flushed(STYLE & FTZ != 0).bits()
        };
        let [low, high] = halves(a);
        whole([one(low), if PAIR { one(high) } else { 0 }])
    }
    match name {
        "ex2" if ftz => by_type!(Un, ty, lane, EX2, 1),
        "ex2" => by_type!(Un, ty, lane, EX2, 0),
        "tanh" => by_type!(Un, ty, lane, TANH, 0),
        _ => None,
    }
}
