//! Counters, messages, hardware registers.

use std::fmt;

use crate::arch::{Arch, Generation};
use crate::inst::Inst;

/// A number in hexadecimal with its sign.
pub(super) fn signed_hex(f: &mut fmt::Formatter<'_>, number: i32) -> fmt::Result {
    let sign = if number < 0 { "-" } else { "" };
    write!(f, "{sign}{:#x}", number.unsigned_abs())
}

/// Writes those fields that are not at their maximum, or all if all are.
fn fields(f: &mut fmt::Formatter<'_>, fields: &[(&str, u16, u16)]) -> fmt::Result {
    let all = fields.iter().all(|(_, value, max)| value == max);
    let mut separator = "";
    for (name, value, max) in fields {
        if all || value != max {
            write!(f, "{separator}{name}({value})")?;
            separator = " ";
        }
    }
    Ok(())
}

pub(super) fn wait(f: &mut fmt::Formatter<'_>, inst: &Inst, field: u16) -> fmt::Result {
    let counters = match inst.target.arch.generation() {
        Generation::Gfx9 => [
            ("vmcnt", field & 15 | (field >> 14) << 4, 63),
            ("expcnt", (field >> 4) & 7, 7),
            ("lgkmcnt", (field >> 8) & 15, 15),
        ],
        Generation::Gfx11 | Generation::Gfx12 => [
            ("vmcnt", field >> 10, 63),
            ("expcnt", field & 7, 7),
            ("lgkmcnt", (field >> 4) & 63, 63),
        ],
    };
    fields(f, &counters)
}

pub(super) fn depctr(f: &mut fmt::Formatter<'_>, field: u16) -> fmt::Result {
    const UNUSED: u16 = 0x60;
    if field & UNUSED != 0 {
        return write!(f, "{field:#x}");
    }
    let counters = [
        ("depctr_hold_cnt", (field >> 7) & 1, 1),
        ("depctr_sa_sdst", field & 1, 1),
        ("depctr_va_vdst", field >> 12, 15),
        ("depctr_va_sdst", (field >> 9) & 7, 7),
        ("depctr_va_ssrc", (field >> 8) & 1, 1),
        ("depctr_va_vcc", (field >> 1) & 1, 1),
        ("depctr_vm_vsrc", (field >> 2) & 7, 7),
    ];
    fields(f, &counters)
}

pub(super) fn delay(f: &mut fmt::Formatter<'_>, field: u16) -> fmt::Result {
    const DEPENDENCIES: [&str; 12] = [
        "",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
        "FMA_ACCUM_CYCLE_1",
        "SALU_CYCLE_1",
        "SALU_CYCLE_2",
        "SALU_CYCLE_3",
    ];
    const SKIPS: [&str; 6] = ["", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
    let parts = [
        (
            "instid0",
            &DEPENDENCIES[..],
            field & 15,
            "/* invalid instid value */",
        ),
        (
            "instskip",
            &SKIPS[..],
            (field >> 4) & 7,
            "/* invalid instskip value */",
        ),
        (
            "instid1",
            &DEPENDENCIES[..],
            (field >> 7) & 15,
            "/* invalid instid value */",
        ),
    ];
    let mut separator = "";
    for (name, values, value, invalid) in parts {
        if value != 0 {
            let value = values.get(usize::from(value)).unwrap_or(&invalid);
            write!(f, "{separator}{name}({value})")?;
            separator = " | ";
        }
    }
    if separator.is_empty() {
        f.write_str("0")?;
    }
    Ok(())
}

pub(super) fn gpr_index(f: &mut fmt::Formatter<'_>, field: u16) -> fmt::Result {
    if field > 15 {
        return write!(f, "{field:#x}");
    }
    let names = ["SRC0", "SRC1", "SRC2", "DST"].iter().enumerate();
    let names: Vec<_> = names
        .filter(|(bit, _)| field & (1 << bit) != 0)
        .map(|(_, name)| *name)
        .collect();
    write!(f, "gpr_idx({})", names.join(","))
}

/// Messages of gfx9 by number.
const GFX9_MESSAGES: &[(u16, &str)] = &[
    (1, "MSG_INTERRUPT"),
    (2, "MSG_GS"),
    (3, "MSG_GS_DONE"),
    (4, "MSG_SAVEWAVE"),
    (5, "MSG_STALL_WAVE_GEN"),
    (6, "MSG_HALT_WAVES"),
    (7, "MSG_ORDERED_PS_DONE"),
    (8, "MSG_EARLY_PRIM_DEALLOC"),
    (9, "MSG_GS_ALLOC_REQ"),
    (10, "MSG_GET_DOORBELL"),
    (15, "MSG_SYSMSG"),
];

/// Messages of gfx11 and gfx12 by number.
const GFX11_MESSAGES: &[(u16, &str)] = &[
    (1, "MSG_INTERRUPT"),
    (2, "MSG_HS_TESSFACTOR"),
    (3, "MSG_DEALLOC_VGPRS"),
    (9, "MSG_GS_ALLOC_REQ"),
    (128, "MSG_RTN_GET_DOORBELL"),
    (129, "MSG_RTN_GET_DDID"),
    (130, "MSG_RTN_GET_TMA"),
    (131, "MSG_RTN_GET_REALTIME"),
    (132, "MSG_RTN_SAVE_WAVE"),
    (133, "MSG_RTN_GET_TBA"),
];

const GS_OPERATIONS: [&str; 4] = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];

fn find(names: &[(u16, &'static str)], number: u16) -> Option<&'static str> {
    let found = names.iter().find(|(known, _)| *known == number);
    found.map(|(_, name)| *name)
}

fn message_name(generation: Generation, id: u16) -> Option<&'static str> {
    match (generation, id) {
        (Generation::Gfx9, _) => find(GFX9_MESSAGES, id),
        (Generation::Gfx11, 5) => Some("MSG_STALL_WAVE_GEN"),
        (Generation::Gfx11, 6) => Some("MSG_HALT_WAVES"),
        (Generation::Gfx11, 134) => Some("MSG_RTN_GET_TBA_TO_PC"),
        (Generation::Gfx12, 134) => Some("MSG_RTN_GET_TBA_TO_PC"),
        (Generation::Gfx12, 135) => Some("MSG_RTN_GET_SE_AID_ID"),
        _ => find(GFX11_MESSAGES, id),
    }
}

pub(super) fn message(f: &mut fmt::Formatter<'_>, inst: &Inst, field: u16) -> fmt::Result {
    let generation = inst.target.arch.generation();
    let (id, operation, stream) = match generation {
        Generation::Gfx9 => (field & 15, (field >> 4) & 7, (field >> 8) & 3),
        Generation::Gfx11 | Generation::Gfx12 => (field & 255, 0, 0),
    };
    let name = message_name(generation, id);
    match (name, id, operation) {
        (Some(name), 2 | 3, _) if generation == Generation::Gfx9 => {
            let known = GS_OPERATIONS.get(usize::from(operation));
            match (known, id, operation, stream) {
                (Some(known), 3, 0, 0) => return write!(f, "sendmsg({name}, {known})"),
                (Some(known), _, 1.., _) => {
                    return write!(f, "sendmsg({name}, {known}, {stream})");
                }
                _ => {}
            }
        }
        (Some(name), 15, _) if stream == 0 => {
            let known = match operation {
                1 => Some("SYSMSG_OP_ECC_ERR_INTERRUPT"),
                2 => Some("SYSMSG_OP_REG_RD"),
                3 if generation != Generation::Gfx9 => Some("SYSMSG_OP_HOST_TRAP_ACK"),
                4 => Some("SYSMSG_OP_TTRACE_PC"),
                _ => None,
            };
            if let Some(known) = known {
                return write!(f, "sendmsg({name}, {known})");
            }
        }
        (Some(name), _, 0) if stream == 0 && id != 15 => return write!(f, "sendmsg({name})"),
        _ => {}
    }
    match id | (operation << 4) | (stream << 8) == field {
        true => write!(f, "sendmsg({id}, {operation}, {stream})"),
        false => write!(f, "{field}"),
    }
}

/// Hardware registers of gfx9 by number.
const GFX9_REGISTERS: &[(u16, &str)] = &[
    (1, "MODE"),
    (2, "STATUS"),
    (3, "TRAPSTS"),
    (4, "HW_ID"),
    (5, "GPR_ALLOC"),
    (6, "LDS_ALLOC"),
    (7, "IB_STS"),
    (15, "SH_MEM_BASES"),
    (16, "TBA_LO"),
    (17, "TBA_HI"),
    (18, "TMA_LO"),
    (19, "TMA_HI"),
];

/// Further hardware registers of gfx942.
const GFX942_REGISTERS: &[(u16, &str)] = &[
    (20, "XCC_ID"),
    (21, "SQ_PERF_SNAPSHOT_DATA"),
    (22, "SQ_PERF_SNAPSHOT_DATA1"),
    (23, "SQ_PERF_SNAPSHOT_PC_LO"),
    (24, "SQ_PERF_SNAPSHOT_PC_HI"),
];

/// Hardware registers of gfx11 by number.
const GFX11_REGISTERS: &[(u16, &str)] = &[
    (1, "MODE"),
    (2, "STATUS"),
    (3, "TRAPSTS"),
    (5, "GPR_ALLOC"),
    (6, "LDS_ALLOC"),
    (7, "IB_STS"),
    (15, "SH_MEM_BASES"),
    (18, "PERF_SNAPSHOT_PC_LO"),
    (19, "PERF_SNAPSHOT_PC_HI"),
    (20, "FLAT_SCR_LO"),
    (21, "FLAT_SCR_HI"),
    (23, "HW_ID1"),
    (24, "HW_ID2"),
    (27, "PERF_SNAPSHOT_DATA"),
    (29, "SHADER_CYCLES"),
];

/// Hardware registers of gfx12 by number.
const GFX12_REGISTERS: &[(u16, &str)] = &[
    (1, "WAVE_MODE"),
    (2, "WAVE_STATUS"),
    (4, "WAVE_STATE_PRIV"),
    (5, "WAVE_GPR_ALLOC"),
    (6, "WAVE_LDS_ALLOC"),
    (7, "IB_STS"),
    (10, "PERF_SNAPSHOT_DATA"),
    (11, "PERF_SNAPSHOT_PC_LO"),
    (12, "PERF_SNAPSHOT_PC_HI"),
    (15, "PERF_SNAPSHOT_DATA1"),
    (16, "PERF_SNAPSHOT_DATA2"),
    (17, "WAVE_EXCP_FLAG_PRIV"),
    (18, "WAVE_EXCP_FLAG_USER"),
    (19, "WAVE_TRAP_CTRL"),
    (20, "WAVE_SCRATCH_BASE_LO"),
    (21, "WAVE_SCRATCH_BASE_HI"),
    (23, "WAVE_HW_ID1"),
    (24, "WAVE_HW_ID2"),
    (26, "WAVE_SCHED_MODE"),
    (29, "SHADER_CYCLES_LO"),
    (30, "SHADER_CYCLES_HI"),
    (31, "WAVE_DVGPR_ALLOC_LO"),
    (32, "WAVE_DVGPR_ALLOC_HI"),
];

pub(super) fn hardware_register(
    f: &mut fmt::Formatter<'_>,
    inst: &Inst,
    field: u16,
) -> fmt::Result {
    let (number, offset, width) = (field & 63, (field >> 6) & 31, (field >> 11) + 1);
    let name = match inst.target.arch {
        Arch::Gfx1100 => find(GFX11_REGISTERS, number),
        Arch::Gfx1201 => find(GFX12_REGISTERS, number),
        Arch::Gfx942 => find(GFX942_REGISTERS, number).or(find(GFX9_REGISTERS, number)),
        _ => find(GFX9_REGISTERS, number),
    };
    match name {
        Some(name) => write!(f, "hwreg(HW_REG_{name}")?,
        None => write!(f, "hwreg({number}")?,
    }
    if offset != 0 || width != 32 {
        write!(f, ", {offset}, {width}")?;
    }
    f.write_str(")")
}
