//! Executing arithmetic instructions.

use super::access::Ids;
use super::frame::Frame;
use super::space::{is_in, window};
use crate::alu::{Compare, LANES, Lanes, Mask, lanes_of};
use crate::code::op::{Logic, Op, PredSrc, Special, Src};

/// Executes an arithmetic instruction; false for other instructions.
///
/// With `ONE`, it is for one lane.
///
/// # Safety
/// The operation is one of the frame's function.
#[inline(always)]
pub(super) unsafe fn compute<const ONE: bool>(
    op: &Op,
    frame: &mut Frame,
    active: Mask,
    ids: &Ids<'_>,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        compute_common::<ONE>(op, frame, active) || compute_rare::<ONE>(op, frame, active, ids)
    }
}

/// Executes the most frequent instructions; false for others.
///
/// # Safety
/// As for [`compute`].
#[inline(always)]
pub(super) unsafe fn compute_common<const ONE: bool>(
    op: &Op,
    frame: &mut Frame,
    active: Mask,
) -> bool {
    match op {
        // SAFETY: the operands are of an instruction of the frame's function, by the caller's
        // promise.
        Op::Un { f, d, a } => unsafe { frame.apply1::<ONE>(*f, *d, [*a], active) },
        // SAFETY: as above.
        Op::Bin { f, d, a, b } => unsafe { frame.apply2::<ONE>(*f, *d, [*a, *b], active) },
        // SAFETY: as above.
        Op::Tri { f, d, a, b, c } => unsafe {
            frame.apply3::<ONE>(*f, *d, [*a, *b, *c], active);
        },
        Op::SetPred {
            f,
            pair: false,
            p: Some(p),
            q: None,
            a,
            b,
            with: None,
        } => {
            // SAFETY: the operands are of an instruction of the frame's function, by the caller's
            // promise.
            let holds = unsafe { frame.compare::<ONE>(*f, [*a, *b], active) };
            frame.set_pred(*p, active, holds);
        }
        _ => return false,
    }
    true
}

/// Executes other arithmetic instructions; false for those that are none.
///
/// # Safety
/// As for [`compute`].
#[expect(
    clippy::too_many_lines,
    reason = "one arm for each kind of instruction"
)]
#[inline(never)]
pub(super) unsafe fn compute_rare<const ONE: bool>(
    op: &Op,
    frame: &mut Frame,
    active: Mask,
    ids: &Ids<'_>,
) -> bool {
    match op {
        Op::Nop => {}
        Op::Quad { f, d, a, b, c, e } => frame.set_each::<ONE>(*d, active, |frame, lane| {
            let value = |src| frame.value(src, lane);
            f(value(*a), value(*b), value(*c), value(*e))
        }),
        Op::Carry {
            f,
            d,
            a,
            b,
            c,
            reads,
            writes,
        } => {
            for lane in lanes_of(active) {
                let value = |src| frame.value(src, lane);
                let carry = *reads && (frame.carry >> lane) & 1 != 0;
                let (result, carry) = f(carry, value(*a), value(*b), value(*c));
                frame.set_lane(*d, lane, result);
                if *writes {
                    frame.carry = (frame.carry & !(1 << lane)) | Mask::from(carry) << lane;
                }
            }
        }
        Op::Convert { how, d, a } => {
            frame.set_each::<ONE>(*d, active, |frame, lane| how.apply(frame.value(*a, lane)))
        }
        Op::ConvertPair { how, d, a, b } => frame.set_each::<ONE>(*d, active, |frame, lane| {
            let half = |src| how.apply(frame.value(src, lane));
            half(*a) << 16 | half(*b)
        }),
        Op::SetPred {
            f,
            pair,
            p,
            q,
            a,
            b,
            with,
        } => {
            // SAFETY: the operands are of an instruction of the frame's function, by the caller's
            // promise.
            let holds = unsafe { frame.compare::<ONE>(*f, [*a, *b], active) };
            let other = if *pair {
                compare_upper(frame, *f, [*a, *b])
            } else {
                !holds
            };
            let (holds, other) = (combine(frame, holds, *with), combine(frame, other, *with));
            if let Some(p) = p {
                frame.set_pred(*p, active, holds);
            }
            if let Some(q) = q {
                frame.set_pred(*q, active, other);
            }
        }
        Op::Set {
            f,
            pair,
            d,
            a,
            b,
            with,
            one,
        } => {
            // SAFETY: the operands are of an instruction of the frame's function, by the caller's
            // promise.
            let holds = unsafe { frame.compare::<ONE>(*f, [*a, *b], active) };
            let holds = combine(frame, holds, *with);
            let upper = if *pair {
                let holds = compare_upper(frame, *f, [*a, *b]);
                combine(frame, holds, *with)
            } else {
                0
            };
            frame.set_each::<ONE>(*d, active, |_, lane| {
                let value = |holds: Mask| if (holds >> lane) & 1 != 0 { *one } else { 0 };
                value(upper) << 16 | value(holds)
            });
        }
        Op::Test { f, p, a } => {
            let a = frame.src(*a);
            let holds = lanes_of(active).filter(|&lane| f(a[lane]));
            let holds = holds.fold(0, |holds, lane| holds | 1 << lane);
            frame.set_pred(*p, active, holds);
        }
        Op::Select { d, a, b, p } => {
            let p = frame.pred(*p);
            frame.set_each::<ONE>(*d, active, |frame, lane| {
                let (a, b) = (frame.value(*a, lane), frame.value(*b, lane));
                if (p >> lane) & 1 != 0 { a } else { b }
            });
        }
        Op::SelectBySign {
            f,
            d,
            a,
            b,
            c,
            zero,
        } => {
            // SAFETY: as above.
            let p = unsafe { frame.compare::<ONE>(*f, [*c, *zero], active) };
            frame.set_each::<ONE>(*d, active, |frame, lane| {
                let (a, b) = (frame.value(*a, lane), frame.value(*b, lane));
                if (p >> lane) & 1 != 0 { a } else { b }
            });
        }
        Op::PredLogic { op, d, a, b } => {
            let (a, b) = (frame.pred(*a), frame.pred(*b));
            let value = match op {
                Logic::And => a & b,
                Logic::Or => a | b,
                Logic::Xor => a ^ b,
            };
            frame.set_pred(*d, active, value);
        }
        Op::PredMove { d, a } => {
            let a = frame.pred(*a);
            frame.set_pred(*d, active, a);
        }
        Op::Special { d, what } => {
            frame.set(*d, active, &special(*what, ids));
        }
        Op::Unpack { ds, a, bits } => {
            let a = *frame.src(*a);
            for (part, &d) in ds.iter().enumerate() {
                let part =
                    |_: &Frame, lane: usize| (a[lane] >> (part as u32 * bits)) & ((1 << bits) - 1);
                frame.set_each::<ONE>(d, active, part);
            }
        }
        Op::Pack { d, sources, bits } => frame.set_each::<ONE>(*d, active, |frame, lane| {
            let parts = sources.iter().enumerate().map(|(part, &source)| {
                (frame.value(source, lane) & ((1 << bits) - 1)) << (part as u32 * bits)
            });
            parts.fold(0, |whole, part| whole | part)
        }),
        Op::FrameAddress { d, offset } => {
            let address = u64::from(frame.base + offset);
            frame.set_each::<ONE>(*d, active, |_, _| address);
        }
        Op::ToGeneric { d, a, space } => frame.set_each::<ONE>(*d, active, |frame, lane| {
            frame.value(*a, lane).wrapping_add(window(*space))
        }),
        Op::FromGeneric { d, a, space } => frame.set_each::<ONE>(*d, active, |frame, lane| {
            frame.value(*a, lane).wrapping_sub(window(*space))
        }),
        Op::IsSpace { p, a, space } => {
            let a = frame.src(*a);
            let holds = lanes_of(active).filter(|&lane| is_in(a[lane], *space));
            let holds = holds.fold(0, |holds, lane| holds | 1 << lane);
            frame.set_pred(*p, active, holds);
        }
        Op::ActiveMask { d } => frame.set_each::<ONE>(*d, active, |_, _| active.into()),
        _ => return false,
    }
    true
}

/// The lanes for which a comparison of the upper halves of words holds.
fn compare_upper(frame: &Frame, f: Compare, sources: [Src; 2]) -> Mask {
    let [a, b] = sources.map(|src| frame.src(src).map(|word| word >> 16));
    (f.all)(&a, &b)
}

fn combine(frame: &Frame, holds: Mask, with: Option<(Logic, PredSrc)>) -> Mask {
    match with {
        None => holds,
        Some((Logic::And, p)) => holds & frame.pred(p),
        Some((Logic::Or, p)) => holds | frame.pred(p),
        Some((Logic::Xor, p)) => holds ^ frame.pred(p),
    }
}

#[inline(never)]
fn special(what: Special, ids: &Ids<'_>) -> Lanes {
    let launch = ids.launch;
    let all = |value: u64| [value; LANES];
    match what {
        Special::Tid(axis) => ids.threads.map(|thread| thread[axis].into()),
        Special::Ntid(axis) => all(u64::from(launch.block[axis])),
        Special::Ctaid(axis) => all(u64::from(ids.index[axis])),
        Special::Nctaid(axis) => all(u64::from(launch.grid[axis])),
        Special::LaneId => std::array::from_fn(|i| i as u64),
        Special::WarpId => all(u64::from(ids.warp)),
        Special::Warps => all(64),
        Special::Processor => all(u64::from(ids.processor)),
        Special::Processors => all(u64::from(launch.processors)),
        Special::GridId => all(launch.number),
        Special::LanesEqual => std::array::from_fn(|i| 1 << i),
        Special::LanesLess => std::array::from_fn(|i| (1 << i) - 1),
        Special::LanesLessEqual => std::array::from_fn(|i| (1 << (i + 1)) - 1),
        Special::LanesGreater => std::array::from_fn(|i| 0xffff_ffff & !((1 << (i + 1)) - 1)),
        Special::LanesGreaterEqual => std::array::from_fn(|i| 0xffff_ffff & !((1 << i) - 1)),
        Special::Clock => all(launch.clock() & 0xffff_ffff),
        Special::ClockHigh => all(launch.clock() >> 32),
        Special::Clock64 => all(launch.clock()),
        Special::Timer => all(launch.timer()),
        Special::TimerLow => all(launch.timer() & 0xffff_ffff),
        Special::TimerHigh => all(launch.timer() >> 32),
        Special::DynamicShared => all(u64::from(launch.dynamic_shared)),
        Special::TotalShared => all(u64::from(launch.shared_bytes())),
        Special::Zero => all(0),
        Special::One => all(1),
        Special::WorkspaceHigh => all(launch.workspace >> 32),
        Special::WorkspaceLow => all(launch.workspace & 0xffff_ffff),
    }
}
