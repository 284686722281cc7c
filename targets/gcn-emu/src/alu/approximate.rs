//! Functions that hardware approximates. These are more exact: rounded from the results of double
//! precision, they are wrong by no more than what the manuals allow (1 unit in the last place).

use std::f64::consts::TAU;

use super::float::{Float, result_of};

/// A function of a float, without subnormal numbers.
#[inline(always)]
fn flushing(a: f32, function: impl Fn(f32) -> f32) -> f32 {
    result_of([a], function(a.flushed()).flushed())
}

/// A function of a float, computed in double precision.
#[inline(always)]
fn in_double(a: f32, function: impl Fn(f64) -> f64) -> f32 {
    result_of([a], function(a.into()) as f32)
}

/// The reciprocal, without subnormal numbers.
#[inline(always)]
pub(crate) fn reciprocal(a: f32) -> f32 {
    flushing(a, |a| 1.0 / a)
}

/// The reciprocal of the square root, without subnormal numbers.
#[inline(always)]
pub(crate) fn reciprocal_root(a: f32) -> f32 {
    flushing(a, |a| (1.0 / f64::from(a).sqrt()) as f32)
}

/// The square root, without subnormal numbers.
#[inline(always)]
pub(crate) fn root(a: f32) -> f32 {
    flushing(a, f32::sqrt)
}

/// The power of two, without subnormal numbers.
#[inline(always)]
pub(crate) fn exponential(a: f32) -> f32 {
    flushing(a, |a| f64::from(a).exp2() as f32)
}

/// The binary logarithm, without subnormal numbers.
#[inline(always)]
pub(crate) fn logarithm(a: f32) -> f32 {
    flushing(a, |a| f64::from(a).log2() as f32)
}

/// The largest operand of sine and cosine; their results for larger ones are 0 and 1.
const MAX_TURNS: f64 = 256.0;

/// The sine of a number of turns.
#[inline(always)]
pub(crate) fn sine(turns: f32) -> f32 {
    in_double(turns, |turns| {
        let rest = turns - turns.round_ties_even();
        // Exact: half a turn has no sine.
        let quarter = if rest.abs() > 0.25 {
            0.5_f64.copysign(rest) - rest
        } else {
            rest
        };
        let sine = (quarter * TAU).sin();
        let sine = if sine == 0.0 {
            0.0_f64.copysign(turns)
        } else {
            sine
        };
        if turns.is_finite() && turns.abs() > MAX_TURNS {
            0.0
        } else {
            sine
        }
    })
}

/// The cosine of a number of turns.
#[inline(always)]
pub(crate) fn cosine(turns: f32) -> f32 {
    in_double(turns, |turns| {
        let rest = (turns - turns.round_ties_even()).abs();
        let cosine = ((0.25 - rest) * TAU).sin();
        if turns.is_finite() && turns.abs() > MAX_TURNS {
            1.0
        } else {
            cosine
        }
    })
}
