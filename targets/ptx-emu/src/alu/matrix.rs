//! Products of matrices. Source: the PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".
//!
//! The ISA leaves the order and the rounding of sums open, except for `.f64`. Here products and sums of
//! floats are computed in double precision, in the order of `k` from the third matrix on, and rounded
//! to nearest once at the end. Hardware rounds towards zero in between, so its results differ in the
//! last bits. `.f64` is a chain of fused multiplications and additions in the order of `k`.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half};
use rustc_apfloat::{Float, FloatConvert, Round};
use small_floats::{bfloat_to_single, half_to_single};

use super::float::Rounding;
use super::{Un, Value, each};

/// The format of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    /// A single bit.
    B1,
    S32,
}

impl Format {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "s4" => Self::S4,
            "u4" => Self::U4,
            "b1" => Self::B1,
            "s32" => Self::S32,
            _ => return None,
        })
    }

    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::B1 => 1,
            Self::S4 | Self::U4 => 4,
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 => 8,
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F64 => 64,
        }
    }

    const fn is_int(self) -> bool {
        matches!(
            self,
            Self::S8 | Self::U8 | Self::S4 | Self::U4 | Self::B1 | Self::S32
        )
    }

    fn int(self, bits: u64) -> i64 {
        match self {
            Self::S8 => i64::from(bits as u8 as i8),
            Self::U8 => i64::from(bits as u8),
            Self::S4 => i64::from((bits << 4) as u8 as i8) >> 4,
            Self::U4 => bits as i64 & 0xf,
            Self::B1 => bits as i64 & 1,
            _ => i64::from(bits as u32 as i32),
        }
    }

    /// Exact.
    fn wide(self, bits: u64) -> f64 {
        match self {
            Self::F16 => f64::from(half_to_single(bits as u16)),
            Self::Bf16 => f64::from(bfloat_to_single(bits as u16)),
            // The lower bits of the register are ignored.
            Self::Tf32 => f64::from(f32::from_bits(bits as u32 & !0x1fff)),
            Self::F64 => f64::from_bits(bits),
            Self::E4m3 => double_of_fp8::<Float8E4M3FN>(bits),
            Self::E5m2 => double_of_fp8::<Float8E5M2>(bits),
            _ => f64::from(f32::from_bits(bits as u32)),
        }
    }

    fn narrow(self, value: f64) -> u64 {
        let round = Round::NearestTiesToEven;
        let exact = || Double::from_bits(u128::from(value.to_bits()));
        match self {
            Self::F16 | Self::Bf16 if value.is_nan() => 0x7fff,
            Self::F16 => {
                let half: Half = exact().convert_r(round, &mut false).value;
                half.to_bits() as u64
            }
            Self::Bf16 => {
                let brain: BFloat = exact().convert_r(round, &mut false).value;
                brain.to_bits() as u64
            }
            Self::F64 => value.to_bits(),
            _ => (value as f32).put(),
        }
    }
}

/// Exact.
fn double_of_fp8<F: FloatConvert<Double>>(bits: u64) -> f64 {
    let value = F::from_bits(u128::from(bits & 0xff))
        .convert(&mut false)
        .value;
    f64::from_bits(value.to_bits() as u64)
}

/// Rounds to `.tf32`: to nearest, ties away from zero, or by a rounding mode.
pub(crate) fn to_tf32(is_away: bool, rounding: Option<Rounding>, relu: bool) -> Option<Un> {
    Some(match (is_away, rounding, relu) {
        (true, None, false) => each!(|a: f32| tf32_of(a, |_| 0x1000)),
        (false, Some(Rounding::Nearest), false) => each!(|a: f32| tf32_of(a, to_even)),
        (false, Some(Rounding::Nearest), true) => each!(|a: f32| tf32_of(relu_of(a), to_even)),
        (false, Some(Rounding::Zero), false) => each!(|a: f32| tf32_of(a, |_| 0)),
        (false, Some(Rounding::Zero), true) => each!(|a: f32| tf32_of(relu_of(a), |_| 0)),
        _ => return None,
    })
}

/// The number to add before the lower bits are cut off, to round to nearest, ties to even.
fn to_even(bits: u32) -> u32 {
    0xfff + (bits >> 13 & 1)
}

fn relu_of(value: f32) -> f32 {
    if value < 0.0 { 0.0 } else { value }
}

/// `more` is added to the magnitude before the lower bits are cut off.
fn tf32_of(value: f32, more: impl Fn(u32) -> u32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    let bits = value.to_bits();
    f32::from_bits((bits + more(bits)) & !0x1fff)
}

/// A product: of an `m`-by-`k` and a `k`-by-`n` matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// How elements of the first two matrices are combined before they are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    Multiply,
    /// Bits that differ, or bits that are both set.
    Xor,
    And,
}

/// The formats of a product's matrices, and how large integers end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) shape: Shape,
    pub(crate) a: Format,
    pub(crate) b: Format,
    pub(crate) c: Format,
    pub(crate) d: Format,
    pub(crate) combine: Combine,
    /// Sums of integers beyond 32 bits become the nearest number of 32 bits (`.satfinite`).
    pub(crate) saturates: bool,
}

impl Product {
    /// `a b + c`, all in rows.
    pub(crate) fn of(&self, a: &[u64], b: &[u64], c: &[u64]) -> Vec<u64> {
        if self.d.is_int() {
            return self.of_ints(a, b, c);
        }
        let Shape { m, n, k } = self.shape;
        let wide = |format: Format, bits: &[u64]| -> Vec<f64> {
            bits.iter().map(|&bits| format.wide(bits)).collect()
        };
        let (a, b, c) = (wide(self.a, a), wide(self.b, b), wide(self.c, c));
        let is_fused = self.d == Format::F64;
        let mut d = Vec::with_capacity(m * n);
        for row in 0..m {
            for column in 0..n {
                let mut sum = c[row * n + column];
                for at in 0..k {
                    let (x, y) = (a[row * k + at], b[at * n + column]);
                    sum = if is_fused {
                        x.mul_add(y, sum)
                    } else {
                        sum + x * y
                    };
                }
                d.push(self.d.narrow(sum));
            }
        }
        d
    }

    fn of_ints(&self, a: &[u64], b: &[u64], c: &[u64]) -> Vec<u64> {
        let Shape { m, n, k } = self.shape;
        let mut d = Vec::with_capacity(m * n);
        for row in 0..m {
            for column in 0..n {
                let mut sum = self.c.int(c[row * n + column]);
                for at in 0..k {
                    let (x, y) = (a[row * k + at], b[at * n + column]);
                    let (x, y) = (self.a.int(x), self.b.int(y));
                    sum += match self.combine {
                        Combine::Multiply => x * y,
                        Combine::Xor => x ^ y,
                        Combine::And => x & y,
                    };
                }
                if self.saturates {
                    sum = sum.clamp(i32::MIN.into(), i32::MAX.into());
                }
                d.push(u64::from(sum as u32));
            }
        }
        d
    }
}
