//! Arithmetic of single and double precision. Source: the PTX ISA, "Floating Point
//! Instructions".
//!
//! Rounding to nearest is the machine's own; the other modes, which it cannot be asked
//! for in Rust, are `rustc_apfloat`'s. Approximations are computed in double precision
//! and rounded, which is within every bound that the ISA gives.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

use super::{Bin, Test, Tri, Un, Value, each, each_slow, scalar, vectorized};
use crate::text::types::Type;

/// The NaN that single precision makes.
pub(crate) const NAN32: u64 = 0x7fff_ffff;

/// How to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// The name in modifiers: `rn`, `rz`, `rm`, `rp`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "rn" => Self::Nearest,
            "rz" => Self::Zero,
            "rm" => Self::Down,
            "rp" => Self::Up,
            _ => return None,
        })
    }

    pub(crate) const fn soft(self) -> Round {
        match self {
            Self::Nearest => Round::NearestTiesToEven,
            Self::Zero => Round::TowardZero,
            Self::Down => Round::TowardNegative,
            Self::Up => Round::TowardPositive,
        }
    }
}

/// The modifiers of all arithmetic of floats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) rounding: Rounding,
    /// Subnormal numbers count as zeros, in and out.
    pub(crate) ftz: bool,
    /// The result is clamped to 0 to 1.
    pub(crate) sat: bool,
}

/// A subnormal number as a zero of its sign.
pub(crate) fn flush(value: f32, ftz: bool) -> f32 {
    if ftz && value.is_subnormal() {
        return 0f32.copysign(value);
    }
    value
}

/// Clamped to 0 to 1, where NaN is 0.
fn saturate(value: f32, sat: bool) -> f32 {
    match sat {
        false => value,
        true if value.is_nan() => 0.0,
        true => value.clamp(0.0, 1.0) + 0.0,
    }
}

const ADD: u8 = 0;
const SUB: u8 = 1;
const MUL: u8 = 2;
const DIV: u8 = 3;

const ROUNDINGS: [Rounding; 4] = [
    Rounding::Nearest,
    Rounding::Zero,
    Rounding::Down,
    Rounding::Up,
];

fn soft32(value: f32) -> Single {
    Single::from_bits(u128::from(value.to_bits()))
}

fn hard32(value: Single) -> f32 {
    f32::from_bits(value.to_bits() as u32)
}

fn soft64(value: f64) -> Double {
    Double::from_bits(u128::from(value.to_bits()))
}

fn hard64(value: Double) -> f64 {
    f64::from_bits(value.to_bits() as u64)
}

fn bin32<const OP: u8, const ROUND: usize, const FTZ: bool, const SAT: bool>(
    a: u64,
    b: u64,
) -> u64 {
    let (x, y) = (flush(f32::get(a), FTZ), flush(f32::get(b), FTZ));
    let result = if ROUND == 0 {
        match OP {
            ADD => x + y,
            SUB => x - y,
            MUL => x * y,
            _ => x / y,
        }
    } else {
        let round = ROUNDINGS[ROUND].soft();
        let (x, y) = (soft32(x), soft32(y));
        hard32(match OP {
            ADD => x.add_r(y, round).value,
            SUB => x.sub_r(y, round).value,
            MUL => x.mul_r(y, round).value,
            _ => x.div_r(y, round).value,
        })
    };
    saturate(flush(result, FTZ), SAT).put()
}

fn bin64<const OP: u8, const ROUND: usize>(a: u64, b: u64) -> u64 {
    let (x, y) = (f64::get(a), f64::get(b));
    let result = if ROUND == 0 {
        match OP {
            ADD => x + y,
            SUB => x - y,
            MUL => x * y,
            _ => x / y,
        }
    } else {
        let round = ROUNDINGS[ROUND].soft();
        let (x, y) = (soft64(x), soft64(y));
        hard64(match OP {
            ADD => x.add_r(y, round).value,
            SUB => x.sub_r(y, round).value,
            MUL => x.mul_r(y, round).value,
            _ => x.div_r(y, round).value,
        })
    };
    result.put()
}

fn fma32<const ROUND: usize, const FTZ: bool, const SAT: bool>(a: u64, b: u64, c: u64) -> u64 {
    let [x, y, z] = [a, b, c].map(|bits| flush(f32::get(bits), FTZ));
    let result = if ROUND == 0 {
        x.mul_add(y, z)
    } else {
        let round = ROUNDINGS[ROUND].soft();
        hard32(soft32(x).mul_add_r(soft32(y), soft32(z), round).value)
    };
    saturate(flush(result, FTZ), SAT).put()
}

fn fma64<const ROUND: usize>(a: u64, b: u64, c: u64) -> u64 {
    let [x, y, z] = [a, b, c].map(f64::get);
    if ROUND == 0 {
        x.mul_add(y, z).put()
    } else {
        let round = ROUNDINGS[ROUND].soft();
        hard64(soft64(x).mul_add_r(soft64(y), soft64(z), round).value).put()
    }
}

/// From here on the square of a root differs from the number by what a double can hold.
const SMALL: f64 = 1e-280;

/// The square root, rounded otherwise than to nearest: the nearest one is at most one
/// step away, and its square tells in which direction.
fn sqrt64_rounded(x: f64, rounding: Rounding) -> f64 {
    let nearest = x.sqrt();
    if nearest == 0.0 || !nearest.is_finite() {
        return nearest;
    }
    if x < SMALL {
        // The error of the square could be smaller than the smallest number; scaling by a power
        // of two does not round.
        let root = sqrt64_rounded(x * f64::exp2(200.0), rounding);
        return root * f64::exp2(-100.0);
    }
    let excess = nearest.mul_add(nearest, -x);
    match rounding {
        Rounding::Zero | Rounding::Down if excess > 0.0 => nearest.next_down(),
        Rounding::Up if excess < 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

fn sqrt32_rounded(x: f32, rounding: Rounding) -> f32 {
    let nearest = x.sqrt();
    if nearest == 0.0 || !nearest.is_finite() {
        return nearest;
    }
    // Exact in double precision.
    let excess = f64::from(nearest) * f64::from(nearest) - f64::from(x);
    match rounding {
        Rounding::Zero | Rounding::Down if excess > 0.0 => nearest.next_down(),
        Rounding::Up if excess < 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

fn sqrt32<const ROUND: usize, const FTZ: bool, const SAT: bool>(a: u64) -> u64 {
    let x = flush(f32::get(a), FTZ);
    flush(sqrt32_rounded(x, ROUNDINGS[ROUND]), FTZ).put()
}

fn rcp32<const ROUND: usize, const FTZ: bool, const SAT: bool>(a: u64) -> u64 {
    bin32::<DIV, ROUND, FTZ, false>(1f32.to_bits().into(), a)
}

fn sqrt64<const ROUND: usize>(a: u64) -> u64 {
    sqrt64_rounded(f64::get(a), ROUNDINGS[ROUND]).put()
}

fn rcp64<const ROUND: usize>(a: u64) -> u64 {
    bin64::<DIV, ROUND>(1f64.to_bits(), a)
}

/// The instance of a function for a style.
macro_rules! styled {
    ($style:expr, $Kind:ident, $f:ident $($op:ident)?) => {
        match ($style.rounding, $style.ftz, $style.sat) {
            (Rounding::Nearest, false, false) => nearest!($Kind, $f::<$($op,)? 0, false, false>),
            (Rounding::Nearest, false, true) => nearest!($Kind, $f::<$($op,)? 0, false, true>),
            (Rounding::Nearest, true, false) => nearest!($Kind, $f::<$($op,)? 0, true, false>),
            (Rounding::Nearest, true, true) => nearest!($Kind, $f::<$($op,)? 0, true, true>),
            (Rounding::Zero, false, false) => directed!($Kind, $f::<$($op,)? 1, false, false>),
            (Rounding::Zero, false, true) => directed!($Kind, $f::<$($op,)? 1, false, true>),
            (Rounding::Zero, true, false) => directed!($Kind, $f::<$($op,)? 1, true, false>),
            (Rounding::Zero, true, true) => directed!($Kind, $f::<$($op,)? 1, true, true>),
            (Rounding::Down, false, false) => directed!($Kind, $f::<$($op,)? 2, false, false>),
            (Rounding::Down, false, true) => directed!($Kind, $f::<$($op,)? 2, false, true>),
            (Rounding::Down, true, false) => directed!($Kind, $f::<$($op,)? 2, true, false>),
            (Rounding::Down, true, true) => directed!($Kind, $f::<$($op,)? 2, true, true>),
            (Rounding::Up, false, false) => directed!($Kind, $f::<$($op,)? 3, false, false>),
            (Rounding::Up, false, true) => directed!($Kind, $f::<$($op,)? 3, false, true>),
            (Rounding::Up, true, false) => directed!($Kind, $f::<$($op,)? 3, true, false>),
            (Rounding::Up, true, true) => directed!($Kind, $f::<$($op,)? 3, true, true>),
        }
    };
}

macro_rules! rounded {
    ($style:expr, $Kind:ident, $f:ident $($op:ident)?) => {
        match $style.rounding {
            Rounding::Nearest => nearest!($Kind, $f::<$($op,)? 0>),
            Rounding::Zero => directed!($Kind, $f::<$($op,)? 1>),
            Rounding::Down => directed!($Kind, $f::<$($op,)? 2>),
            Rounding::Up => directed!($Kind, $f::<$($op,)? 3>),
        }
    };
}

/// Rounds to nearest, which this machine does.
macro_rules! nearest {
    (Un, $f:expr) => {
        vectorized!(Un, $f, a)
    };
    (Bin, $f:expr) => {
        vectorized!(Bin, $f, a, b)
    };
    (Tri, $f:expr) => {
        vectorized!(Tri, $f, a, b, c)
    };
}

/// Rounds in a direction, by software.
macro_rules! directed {
    (Un, $f:expr) => {
        Un {
            one: scalar!($f, a),
            all: None,
        }
    };
    (Bin, $f:expr) => {
        Bin {
            one: scalar!($f, a, b),
            all: None,
        }
    };
    (Tri, $f:expr) => {
        Tri {
            one: scalar!($f, a, b, c),
            all: None,
        }
    };
}

pub(crate) fn add(ty: Type, style: Style) -> Option<Bin> {
    Some(match ty {
        Type::F32 => styled!(style, Bin, bin32 ADD),
        Type::F64 => rounded!(style, Bin, bin64 ADD),
        _ => return None,
    })
}

pub(crate) fn sub(ty: Type, style: Style) -> Option<Bin> {
    Some(match ty {
        Type::F32 => styled!(style, Bin, bin32 SUB),
        Type::F64 => rounded!(style, Bin, bin64 SUB),
        _ => return None,
    })
}

pub(crate) fn mul(ty: Type, style: Style) -> Option<Bin> {
    Some(match ty {
        Type::F32 => styled!(style, Bin, bin32 MUL),
        Type::F64 => rounded!(style, Bin, bin64 MUL),
        _ => return None,
    })
}

pub(crate) fn div(ty: Type, style: Style) -> Option<Bin> {
    Some(match ty {
        Type::F32 => styled!(style, Bin, bin32 DIV),
        Type::F64 => rounded!(style, Bin, bin64 DIV),
        _ => return None,
    })
}

pub(crate) fn fma(ty: Type, style: Style) -> Option<Tri> {
    Some(match ty {
        Type::F32 => styled!(style, Tri, fma32),
        Type::F64 => rounded!(style, Tri, fma64),
        _ => return None,
    })
}

pub(crate) fn sqrt(ty: Type, style: Style) -> Option<Un> {
    Some(match ty {
        Type::F32 => styled!(style, Un, sqrt32),
        Type::F64 => rounded!(style, Un, sqrt64),
        _ => return None,
    })
}

pub(crate) fn rcp(ty: Type, style: Style) -> Option<Un> {
    Some(match ty {
        Type::F32 => styled!(style, Un, rcp32),
        Type::F64 => rounded!(style, Un, rcp64),
        _ => return None,
    })
}

/// Operations on the sign only, which keep NaN.
pub(crate) fn neg(ty: Type, ftz: bool) -> Option<Un> {
    Some(match (ty, ftz) {
        (Type::F32, false) => each!(|a: u32| a ^ (1 << 31)),
        (Type::F32, true) => each!(|a: f32| flush(-a, true)),
        (Type::F64, false) => each!(|a: u64| a ^ (1 << 63)),
        _ => return None,
    })
}

pub(crate) fn abs(ty: Type, ftz: bool) -> Option<Un> {
    Some(match (ty, ftz) {
        (Type::F32, false) => each!(|a: u32| a & !(1 << 31)),
        (Type::F32, true) => each!(|a: f32| flush(a.abs(), true)),
        (Type::F64, false) => each!(|a: u64| a & !(1 << 63)),
        _ => return None,
    })
}

/// The modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extremum {
    pub(crate) max: bool,
    pub(crate) ftz: bool,
    /// A NaN makes the result NaN; otherwise the number wins.
    pub(crate) nan: bool,
    /// The greater or lesser of the magnitudes, with the product's sign.
    pub(crate) xorsign: bool,
}

macro_rules! extremum {
    ($name:ident, $T:ty, $flush:expr) => {
        fn $name(x: $T, y: $T, how: Extremum) -> $T {
            let (mut x, mut y) = ($flush(x, how.ftz), $flush(y, how.ftz));
            let negative = x.is_sign_negative() ^ y.is_sign_negative();
            if how.xorsign {
                (x, y) = (x.abs(), y.abs());
            }
            let result = if x.is_nan() || y.is_nan() {
                if how.nan || (x.is_nan() && y.is_nan()) {
                    return <$T>::NAN;
                }
                if x.is_nan() { y } else { x }
            } else if x == y {
                // The negative zero counts as less than the positive one.
                let is_x = if how.max {
                    x.is_sign_positive()
                } else {
                    x.is_sign_negative()
                };
                if is_x { x } else { y }
            } else if (x > y) == how.max {
                x
            } else {
                y
            };
            if how.xorsign && negative {
                -result
            } else {
                result
            }
        }
    };
}
extremum!(extremum32, f32, flush);
extremum!(extremum64, f64, |x, _| x);

/// Minima and maxima of half precision go through this, too: it is exact.
pub(crate) fn extremum_of(x: f32, y: f32, how: Extremum) -> f32 {
    extremum32(x, y, how)
}

pub(crate) fn extremum(ty: Type, how: Extremum) -> Option<Bin> {
    macro_rules! with {
        ($($max:literal $ftz:literal $nan:literal $xor:literal),*) => {
            match (how.max, how.ftz, how.nan, how.xorsign) {
                $(($max, $ftz, $nan, $xor) => each!(|a: f32, b: f32| extremum32(a, b,
                    Extremum { max: $max, ftz: $ftz, nan: $nan, xorsign: $xor })),)*
            }
        };
    }
    Some(match ty {
        Type::F32 => with!(
            false false false false, false false false true,
            false false true false, false false true true,
            false true false false, false true false true,
            false true true false, false true true true,
            true false false false, true false false true,
            true false true false, true false true true,
            true true false false, true true false true,
            true true true false, true true true true
        ),
        Type::F64 if how.ftz || how.nan || how.xorsign => return None,
        Type::F64 if how.max => each!(|a: f64, b: f64| extremum64(
            a,
            b,
            Extremum {
                max: true,
                ftz: false,
                nan: false,
                xorsign: false
            }
        )),
        Type::F64 => each!(|a: f64, b: f64| extremum64(
            a,
            b,
            Extremum {
                max: false,
                ftz: false,
                nan: false,
                xorsign: false
            }
        )),
        _ => return None,
    })
}

/// `a`'s sign and `b`'s magnitude.
pub(crate) fn copysign(ty: Type) -> Option<Bin> {
    Some(match ty {
        Type::F32 => each!(|a: u32, b: u32| (a & (1 << 31)) | (b & !(1 << 31))),
        Type::F64 => each!(|a: u64, b: u64| (a & (1 << 63)) | (b & !(1 << 63))),
        _ => return None,
    })
}

/// Functions of single precision that hardware approximates.
pub(crate) fn approximate(name: &str, ftz: bool) -> Option<Un> {
    macro_rules! of {
        ($x:ident => $result:expr) => {
            if ftz {
                each_slow!(|a: f32| {
                    let $x = f64::from(flush(a, true));
                    flush(($result) as f32, true)
                })
            } else {
                each_slow!(|a: f32| {
                    let $x = f64::from(a);
                    ($result) as f32
                })
            }
        };
    }
    Some(match name {
        "rcp" => of!(x => 1.0 / x),
        "sqrt" => of!(x => x.sqrt()),
        "rsqrt" => of!(x => if x < 0.0 { f64::NAN } else { 1.0 / x.sqrt() }),
        "sin" => of!(x => x.sin()),
        "cos" => of!(x => x.cos()),
        "lg2" => of!(x => x.log2()),
        "ex2" => of!(x => x.exp2()),
        "tanh" => of!(x => x.tanh()),
        _ => return None,
    })
}

/// `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64` and `rsqrt.approx.f64`: the ISA lets them
/// be exact, but for the low half of the result, which the former two clear.
pub(crate) fn approximate64(name: &str, ftz: bool) -> Option<Un> {
    Some(match (name, ftz) {
        ("rcp", true) => each_slow!(|a: f64| coarse(1.0 / flush64(a))),
        ("rsqrt", true) => each_slow!(|a: f64| coarse(1.0 / flush64(a).sqrt())),
        ("rsqrt", false) => each_slow!(|a: f64| 1.0 / a.sqrt()),
        _ => return None,
    })
}

fn flush64(value: f64) -> f64 {
    if value.is_subnormal() {
        return 0f64.copysign(value);
    }
    value
}

/// A number's high half, or a zero instead of a subnormal one.
fn coarse(value: f64) -> f64 {
    f64::from_bits(flush64(value).to_bits() & !0xffff_ffff)
}

/// `div.approx` and `div.full`.
pub(crate) fn approximate_div(ftz: bool) -> Bin {
    if ftz {
        each!(|a: f32, b: f32| flush(flush(a, true) / flush(b, true), true))
    } else {
        each!(|a: f32, b: f32| a / b)
    }
}

/// `testp`, to which zeros are normal numbers.
pub(crate) fn test(ty: Type, what: &str) -> Option<Test> {
    macro_rules! tests {
        ($T:ty, $($name:literal => |$x:ident| $test:expr),*) => {
            match what {
                $($name => {
                    fn one(bits: u64) -> bool {
                        let $x = <$T>::get(bits);
                        $test
                    }
                    Some(one as Test)
                })*
                _ => None,
            }
        };
    }
    match ty {
        Type::F32 => tests!(f32, "finite" => |x| x.is_finite(), "infinite" => |x| x.is_infinite(),
            "number" => |x| !x.is_nan(), "notanumber" => |x| x.is_nan(),
            "normal" => |x| x.is_normal() || x == 0.0, "subnormal" => |x| x.is_subnormal()),
        Type::F64 => tests!(f64, "finite" => |x| x.is_finite(), "infinite" => |x| x.is_infinite(),
            "number" => |x| !x.is_nan(), "notanumber" => |x| x.is_nan(),
            "normal" => |x| x.is_normal() || x == 0.0, "subnormal" => |x| x.is_subnormal()),
        _ => None,
    }
}
