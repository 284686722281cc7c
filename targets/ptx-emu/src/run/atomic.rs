//! The results of atomic operations. Source: the PTX ISA, `atom`.

use crate::alu::float::flush;
use crate::alu::{Value, half};
use crate::code::op::AtomOp;
use crate::text::types::Type;

/// The new value of a word of `bytes`, except for compare-and-swap. With `ftz` subnormal numbers of
/// single precision count as zeros.
pub(super) fn combine(op: AtomOp, bytes: u32, old: u64, b: u64, ftz: bool) -> u64 {
    let wide = bytes == 8;
    let signed = |value: u64| {
        if wide {
            value as i64
        } else {
            i64::from(value as u32 as i32)
        }
    };
    let value = match op {
        AtomOp::Add => old.wrapping_add(b),
        AtomOp::MinUnsigned => old.min(b),
        AtomOp::MaxUnsigned => old.max(b),
        AtomOp::MinSigned => signed(old).min(signed(b)) as u64,
        AtomOp::MaxSigned => signed(old).max(signed(b)) as u64,
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        AtomOp::Exchange | AtomOp::CompareAndSwap => b,
        AtomOp::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        AtomOp::AddF32 => {
            let (x, y) = (flush(f32::get(old), ftz), flush(f32::get(b), ftz));
            flush(x + y, ftz).put()
        }
        AtomOp::AddF64 => (f64::get(old) + f64::get(b)).put(),
        AtomOp::AddF16 => half_sum(Type::F16, old, b),
        AtomOp::AddF16x2 => half_sum(Type::F16x2, old, b),
        AtomOp::AddBf16 => half_sum(Type::Bf16, old, b),
        AtomOp::AddBf16x2 => half_sum(Type::Bf16x2, old, b),
    };
    if wide { value } else { value & 0xffff_ffff }
}

fn half_sum(ty: Type, old: u64, b: u64) -> u64 {
    half::sum(ty, old, b).expect("a type of half precision")
}
