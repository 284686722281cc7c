//! Control: branches, waits, messages, and hardware registers.

use std::sync::atomic::{Ordering, fence};

use super::check;
use super::counters::COUNTERS;
use super::flow::Flow;
use super::group::Group;
use super::operand::Destination;
use super::step::{Run, Step};
use super::wave::{VCC, Wave};
use super::weak;
use crate::arch::Generation;
use crate::fault::FaultKind;
use crate::inst::Op;
use crate::isa::{Sop1Op, SopkOp, SoppOp};
use crate::memory::{GROUP_APERTURE, PRIVATE_APERTURE};

/// The step function of an operation with a source and a destination that is not arithmetic.
pub(super) fn one(op: Sop1Op) -> Option<Run> {
    Some(match op {
        Sop1Op::s_cmov_b32 => |wave, step, _| {
            let value = wave.read32(&step.src[0]);
            if wave.scc {
                set(wave, step.dst, value);
            }
            Flow::Next
        },
        Sop1Op::s_cmov_b64 => |wave, step, _| {
            let value = wave.read64(&step.src[0]);
            if wave.scc {
                set_wide(wave, step.dst, value);
            }
            Flow::Next
        },
        Sop1Op::s_bitset0_b32 => |wave, step, _| {
            let bit = 1 << (wave.read32(&step.src[0]) & 31);
            change(wave, step.dst, |old| old & !bit)
        },
        Sop1Op::s_bitset1_b32 => |wave, step, _| {
            let bit = 1 << (wave.read32(&step.src[0]) & 31);
            change(wave, step.dst, |old| old | bit)
        },
        Sop1Op::s_bitset0_b64 => |wave, step, _| {
            let bit = 1 << (wave.read32(&step.src[0]) & 63);
            change_wide(wave, step.dst, |old| old & !bit)
        },
        Sop1Op::s_bitset1_b64 => |wave, step, _| {
            let bit = 1 << (wave.read32(&step.src[0]) & 63);
            change_wide(wave, step.dst, |old| old | bit)
        },
        Sop1Op::s_getpc_b64 => |wave, step, _| {
            let next = wave.pc + step.bytes;
            set_wide(wave, step.dst, next);
            Flow::Next
        },
        Sop1Op::s_setpc_b64 => |wave, step, _| {
            wave.pc = wave.read64(&step.src[0]);
            Flow::Jump
        },
        Sop1Op::s_swappc_b64 => |wave, step, _| {
            let (to, next) = (wave.read64(&step.src[0]), wave.pc + step.bytes);
            set_wide(wave, step.dst, next);
            wave.pc = to;
            Flow::Jump
        },
        Sop1Op::s_sendmsg_rtn_b32 => |wave, step, group| match answer(step.immediate, group) {
            Ok(value) => {
                set(wave, step.dst, value as u32);
                Flow::Next
            }
            Err(fault) => wave.fail_all(fault),
        },
        Sop1Op::s_sendmsg_rtn_b64 => |wave, step, group| match answer(step.immediate, group) {
            Ok(value) => {
                set_wide(wave, step.dst, value);
                Flow::Next
            }
            Err(fault) => wave.fail_all(fault),
        },
        Sop1Op::s_barrier_signal => |wave, _, group| {
            arrive_at_barrier(wave, group);
            Flow::Next
        },
        Sop1Op::s_sleep_var => |_, _, _| Flow::Yield,
        _ => return saves_exec(op),
    })
}

/// The answer to a message.
fn answer(message: i64, group: &Group) -> Result<u64, FaultKind> {
    match message {
        // The doorbell's number, by which a trap handler finds the queue.
        128 => Ok(0),
        131 => Ok(group.kernel.clock() / 10),
        _ => Err(FaultKind::Unsupported(format!(
            "message {message} with an answer"
        ))),
    }
}

/// The step functions of operations that change EXEC and return its old or new value.
fn saves_exec(op: Sop1Op) -> Option<Run> {
    macro_rules! saves {
        ($function:expr, $returns_new:expr) => {
            |wave, step, _| {
                let source = wave.read64(&step.src[0]) & wave.lanes;
                let old = wave.exec();
                let function: fn(u64, u64) -> u64 = $function;
                let new = function(source, old) & wave.lanes;
                wave.set_exec(new);
                wave.scc = new != 0;
                if let Destination::Scalar(number) = step.dst {
                    wave.set_mask(number, if $returns_new { new } else { old });
                }
                Flow::Next
            }
        };
    }
    Some(match op {
        Sop1Op::s_and_saveexec_b32 | Sop1Op::s_and_saveexec_b64 => saves!(|s, e| s & e, false),
        Sop1Op::s_or_saveexec_b32 | Sop1Op::s_or_saveexec_b64 => saves!(|s, e| s | e, false),
        Sop1Op::s_xor_saveexec_b32 | Sop1Op::s_xor_saveexec_b64 => saves!(|s, e| s ^ e, false),
        Sop1Op::s_nand_saveexec_b32 | Sop1Op::s_nand_saveexec_b64 => {
            saves!(|s, e| !(s & e), false)
        }
        Sop1Op::s_nor_saveexec_b32 | Sop1Op::s_nor_saveexec_b64 => saves!(|s, e| !(s | e), false),
        Sop1Op::s_xnor_saveexec_b32 | Sop1Op::s_xnor_saveexec_b64 => {
            saves!(|s, e| !(s ^ e), false)
        }
        Sop1Op::s_and_not0_saveexec_b32 | Sop1Op::s_and_not0_saveexec_b64 => {
            saves!(|s, e| !s & e, false)
        }
        Sop1Op::s_or_not0_saveexec_b32 | Sop1Op::s_or_not0_saveexec_b64 => {
            saves!(|s, e| !s | e, false)
        }
        Sop1Op::s_and_not1_saveexec_b32 | Sop1Op::s_and_not1_saveexec_b64 => {
            saves!(|s, e| s & !e, false)
        }
        Sop1Op::s_or_not1_saveexec_b32 | Sop1Op::s_or_not1_saveexec_b64 => {
            saves!(|s, e| s | !e, false)
        }
        Sop1Op::s_and_not0_wrexec_b32 | Sop1Op::s_and_not0_wrexec_b64 => {
            saves!(|s, e| !s & e, true)
        }
        Sop1Op::s_and_not1_wrexec_b32 | Sop1Op::s_and_not1_wrexec_b64 => {
            saves!(|s, e| s & !e, true)
        }
        _ => return None,
    })
}

fn set(wave: &mut Wave, dst: Destination, value: u32) {
    if let Destination::Scalar(number) = dst {
        wave.set_scalar(number, value);
    }
}

fn set_wide(wave: &mut Wave, dst: Destination, value: u64) {
    if let Destination::Scalar(number) = dst {
        wave.set_pair(number, value);
    }
}

fn change(wave: &mut Wave, dst: Destination, new: impl FnOnce(u32) -> u32) -> Flow {
    if let Destination::Scalar(number) = dst {
        wave.set_scalar(number, new(wave.scalars[usize::from(number & 127)]));
    }
    Flow::Next
}

fn change_wide(wave: &mut Wave, dst: Destination, new: impl FnOnce(u64) -> u64) -> Flow {
    if let Destination::Scalar(number) = dst {
        wave.set_pair(number, new(wave.pair(number)));
    }
    Flow::Next
}

/// The step function of an operation with a 16-bit constant.
pub(super) fn constant(op: SopkOp) -> Option<Run> {
    macro_rules! compare {
        ($T:ty, $operator:tt) => {
            |wave, step, _| {
                let value = wave.read32(&step.src[0]);
                let constant = match stringify!($T) {
                    "u32" => step.immediate as u32 & 0xffff,
                    _ => step.immediate as u32,
                };
                wave.scc = (value as $T) $operator (constant as $T);
                Flow::Next
            }
        };
    }
    Some(match op {
        SopkOp::s_movk_i32 => |wave, step, _| {
            set(wave, step.dst, step.immediate as u32);
            Flow::Next
        },
        SopkOp::s_cmovk_i32 => |wave, step, _| {
            if wave.scc {
                set(wave, step.dst, step.immediate as u32);
            }
            Flow::Next
        },
        SopkOp::s_addk_co_i32 => |wave, step, _| {
            let mut overflows = false;
            let by = step.immediate as i32;
            change(wave, step.dst, |old| {
                let (sum, overflow) = old.cast_signed().overflowing_add(by);
                overflows = overflow;
                sum.cast_unsigned()
            });
            wave.scc = overflows;
            Flow::Next
        },
        SopkOp::s_mulk_i32 => |wave, step, _| {
            let by = step.immediate as u32;
            change(wave, step.dst, |old| old.wrapping_mul(by))
        },
        SopkOp::s_version
        | SopkOp::s_waitcnt_vscnt
        | SopkOp::s_waitcnt_vmcnt
        | SopkOp::s_waitcnt_expcnt
        | SopkOp::s_waitcnt_lgkmcnt => wait,
        SopkOp::s_call_b64 => |wave, step, _| {
            let next = wave.pc + step.bytes;
            set_wide(wave, step.dst, next);
            wave.pc = next.wrapping_add_signed(4 * step.immediate);
            Flow::Jump
        },
        SopkOp::s_getreg_b32 => |wave, step, group| {
            let field = Field::new(step.immediate);
            match hardware_register(wave, group, field.register) {
                Some(value) => {
                    set(wave, step.dst, value >> field.first & field.mask());
                    Flow::Next
                }
                None => wave.fail_all(unsupported_register(field.register)),
            }
        },
        SopkOp::s_setreg_b32 | SopkOp::s_setreg_imm32_b32 => |wave, step, _| {
            const MODE: u32 = 1;
            let field = Field::new(step.immediate);
            let value = wave.read32(&step.src[0]);
            if field.register != MODE {
                return wave.fail_all(unsupported_register(field.register));
            }
            let mask = field.mask() << field.first;
            wave.mode = wave.mode & !mask | value << field.first & mask;
            Flow::Next
        },
        SopkOp::s_cmpk_eq_i32 => compare!(i32, ==),
        SopkOp::s_cmpk_lg_i32 => compare!(i32, !=),
        SopkOp::s_cmpk_gt_i32 => compare!(i32, >),
        SopkOp::s_cmpk_ge_i32 => compare!(i32, >=),
        SopkOp::s_cmpk_lt_i32 => compare!(i32, <),
        SopkOp::s_cmpk_le_i32 => compare!(i32, <=),
        SopkOp::s_cmpk_eq_u32 => compare!(u32, ==),
        SopkOp::s_cmpk_lg_u32 => compare!(u32, !=),
        SopkOp::s_cmpk_gt_u32 => compare!(u32, >),
        SopkOp::s_cmpk_ge_u32 => compare!(u32, >=),
        SopkOp::s_cmpk_lt_u32 => compare!(u32, <),
        SopkOp::s_cmpk_le_u32 => compare!(u32, <=),
        _ => return None,
    })
}

/// A field of a hardware register.
struct Field {
    register: u32,
    first: u32,
    bits: u32,
}

impl Field {
    fn new(immediate: i64) -> Self {
        let immediate = immediate as u32;
        Self {
            register: immediate & 63,
            first: immediate >> 6 & 31,
            bits: (immediate >> 11 & 31) + 1,
        }
    }

    fn mask(&self) -> u32 {
        u32::MAX >> (32 - self.bits)
    }
}

fn unsupported_register(number: u32) -> FaultKind {
    FaultKind::Unsupported(format!("hardware register {number}"))
}

/// The content of a hardware register; none if it is not supported.
fn hardware_register(wave: &Wave, group: &Group, number: u32) -> Option<u32> {
    let generation = wave.target.arch.generation();
    let identity = || wave.number & 0xf | group.processor << 8;
    Some(match (number, generation) {
        (1, _) => wave.mode,
        // The status: whether lanes are active, and SCC.
        (2, Generation::Gfx9 | Generation::Gfx11) => {
            u32::from(wave.scc) | u32::from(wave.exec() == 0) << 9
        }
        (4, Generation::Gfx9) | (23, Generation::Gfx11 | Generation::Gfx12) => identity(),
        (24, Generation::Gfx11 | Generation::Gfx12) => 0,
        (15, _) => (GROUP_APERTURE >> 48) as u32 | ((PRIVATE_APERTURE >> 48) as u32) << 16,
        // On gfx942 the number of the chiplet.
        (20, Generation::Gfx9) => 0,
        (20, _) => wave.scratch() as u32,
        (21, Generation::Gfx11 | Generation::Gfx12) => (wave.scratch() >> 32) as u32,
        (29, Generation::Gfx11 | Generation::Gfx12) => group.kernel.clock() as u32,
        (30, Generation::Gfx12) => (group.kernel.clock() >> 32) as u32,
        _ => return None,
    })
}

fn wait(wave: &mut Wave, step: &Step, group: &mut Group) -> Flow {
    // Orders earlier loads and stores before later ones.
    fence(Ordering::AcqRel);
    if wave.is_observed {
        let generation = wave.target.arch.generation();
        let most = outstanding(step.inst.op, step.immediate as u32 & 0xffff, generation);
        if weak::complete_one_of_many(wave, group) {
            return Flow::Wait;
        }
        if let Some(costs) = &mut wave.costs {
            costs.wait(most);
        }
        check::wait(wave, group, most);
        weak::wait(wave, group, most);
    }
    Flow::Next
}

/// The most operations of each counter that may be outstanding after a wait.
fn outstanding(op: Op, field: u32, generation: Generation) -> [usize; COUNTERS] {
    const ANY: usize = usize::MAX;
    let field = field as usize;
    let (load, store, lds, scalar) = match (op, generation) {
        (Op::Sopp(SoppOp::s_waitcnt), Generation::Gfx9) => {
            (field & 15 | (field >> 14) << 4, ANY, field >> 8 & 15, ANY)
        }
        (Op::Sopp(SoppOp::s_waitcnt), _) => (field >> 10, ANY, field >> 4 & 63, ANY),
        (Op::Sopk(SopkOp::s_waitcnt_vmcnt) | Op::Sopp(SoppOp::s_wait_loadcnt), _) => {
            (field, ANY, ANY, ANY)
        }
        (Op::Sopk(SopkOp::s_waitcnt_vscnt) | Op::Sopp(SoppOp::s_wait_storecnt), _) => {
            (ANY, field, ANY, ANY)
        }
        (Op::Sopk(SopkOp::s_waitcnt_lgkmcnt) | Op::Sopp(SoppOp::s_wait_dscnt), _) => {
            (ANY, ANY, field, ANY)
        }
        (Op::Sopp(SoppOp::s_wait_kmcnt), _) => (ANY, ANY, ANY, field),
        (Op::Sopp(SoppOp::s_wait_loadcnt_dscnt), _) => (field >> 8 & 63, ANY, field & 63, ANY),
        (Op::Sopp(SoppOp::s_wait_storecnt_dscnt), _) => (ANY, field >> 8 & 63, field & 63, ANY),
        (Op::Sopp(SoppOp::s_wait_idle), _) => (0, 0, 0, 0),
        _ => (ANY, ANY, ANY, ANY),
    };
    [load, store, lds, scalar]
}

fn nop(_: &mut Wave, _: &Step, _: &mut Group) -> Flow {
    Flow::Next
}

fn yields(_: &mut Wave, _: &Step, _: &mut Group) -> Flow {
    Flow::Yield
}

fn arrive_at_barrier(wave: &mut Wave, group: &mut Group) {
    check::arrive(wave, group);
    wave.waits_at = Some(group.arrive());
}

/// Waits for the phase of the barrier at which the wave has arrived.
fn wait_at_barrier(wave: &mut Wave, group: &mut Group) -> Flow {
    match wave.waits_at {
        Some(phase) if !group.is_complete(phase) => Flow::Wait,
        phase => {
            if let Some(phase) = phase {
                check::depart(wave, group, phase);
            }
            wave.waits_at = None;
            fence(Ordering::AcqRel);
            Flow::Next
        }
    }
}

/// The step function of an operation of control.
pub(super) fn control(op: SoppOp) -> Option<Run> {
    macro_rules! branch {
        (|$wave:ident| $condition:expr) => {
            |$wave, step, _| {
                if $condition {
                    let next = $wave.pc + step.bytes;
                    $wave.pc = next.wrapping_add_signed(4 * step.immediate);
                    return Flow::Jump;
                }
                Flow::Next
            }
        };
    }
    Some(match op {
        SoppOp::s_nop
        | SoppOp::s_clause
        | SoppOp::s_delay_alu
        | SoppOp::s_set_inst_prefetch_distance
        | SoppOp::s_setprio
        | SoppOp::s_incperflevel
        | SoppOp::s_decperflevel
        | SoppOp::s_ttracedata
        | SoppOp::s_ttracedata_imm
        | SoppOp::s_wakeup
        | SoppOp::s_icache_inv => nop,
        SoppOp::s_wait_alu
        | SoppOp::s_waitcnt
        | SoppOp::s_wait_idle
        | SoppOp::s_wait_event
        | SoppOp::s_wait_loadcnt
        | SoppOp::s_wait_storecnt
        | SoppOp::s_wait_samplecnt
        | SoppOp::s_wait_bvhcnt
        | SoppOp::s_wait_expcnt
        | SoppOp::s_wait_dscnt
        | SoppOp::s_wait_kmcnt
        | SoppOp::s_wait_loadcnt_dscnt
        | SoppOp::s_wait_storecnt_dscnt => wait,
        SoppOp::s_sleep => yields,
        SoppOp::s_trap => |wave, step, _| match step.immediate as u8 {
            // For a debugger.
            3 => Flow::Next,
            number => wave.fail_all(FaultKind::Trap(number)),
        },
        SoppOp::s_sethalt => |wave, step, _| match step.immediate & 1 {
            0 => Flow::Next,
            _ => wave.fail_all(FaultKind::Illegal("the wave halts".to_owned())),
        },
        SoppOp::s_code_end => |wave, _, _| {
            wave.fail_all(FaultKind::Illegal(
                "execution past the end of a function".to_owned(),
            ))
        },
        SoppOp::s_round_mode => |wave, step, _| {
            wave.mode = wave.mode & !15 | step.immediate as u32 & 15;
            Flow::Next
        },
        SoppOp::s_denorm_mode => |wave, step, _| {
            wave.mode = wave.mode & !0xf0 | (step.immediate as u32 & 15) << 4;
            Flow::Next
        },
        SoppOp::s_barrier => |wave, _, group| {
            if wave.waits_at.is_none() {
                arrive_at_barrier(wave, group);
            }
            wait_at_barrier(wave, group)
        },
        SoppOp::s_barrier_wait => |wave, _, group| wait_at_barrier(wave, group),
        SoppOp::s_branch => branch!(|wave| true),
        SoppOp::s_cbranch_scc0 => branch!(|wave| !wave.scc),
        SoppOp::s_cbranch_scc1 => branch!(|wave| wave.scc),
        SoppOp::s_cbranch_vccz => branch!(|wave| wave.mask(VCC) == 0),
        SoppOp::s_cbranch_vccnz => branch!(|wave| wave.mask(VCC) != 0),
        SoppOp::s_cbranch_execz => branch!(|wave| wave.exec() == 0),
        SoppOp::s_cbranch_execnz => branch!(|wave| wave.exec() != 0),
        // Without a debugger.
        SoppOp::s_cbranch_cdbgsys
        | SoppOp::s_cbranch_cdbguser
        | SoppOp::s_cbranch_cdbgsys_or_user
        | SoppOp::s_cbranch_cdbgsys_and_user => nop,
        SoppOp::s_endpgm | SoppOp::s_endpgm_saved => |_, _, _| Flow::End,
        SoppOp::s_sendmsg => |wave, step, _| {
            const INTERRUPT: i64 = 1;
            const DEALLOCATE_REGISTERS: i64 = 3;
            match step.immediate & 15 {
                INTERRUPT => Flow::Next,
                DEALLOCATE_REGISTERS if wave.target.arch.generation() != Generation::Gfx9 => {
                    Flow::Next
                }
                message => wave.fail_all(FaultKind::Unsupported(format!("message {message}"))),
            }
        },
        _ => return None,
    })
}
