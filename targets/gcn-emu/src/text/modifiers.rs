//! Modifiers, written behind the operands.

use std::fmt;

use super::control::signed_hex;
use crate::arch::{Arch, Generation};
use crate::inst::{
    AluModifiers, BufferModifiers, CachePolicy, Dpp, Encoding, Inst, LdsModifiers, MatrixModifiers,
    MemoryModifiers, Modifiers, PackedModifiers, ScalarMemoryModifiers, Sdwa, SdwaSelect,
};
use crate::isa::{Flag, Kind, Row};

type Formatter<'a> = fmt::Formatter<'a>;

/// Writes ` name` if the modifier is set.
fn flag(f: &mut Formatter<'_>, name: &str, set: bool) -> fmt::Result {
    match set {
        true => write!(f, " {name}"),
        false => Ok(()),
    }
}

/// Writes ` name:[b,b,b]` with a bit for each position.
fn bits(f: &mut Formatter<'_>, name: &str, value: u8, count: usize) -> fmt::Result {
    let bits: Vec<_> = (0..count)
        .map(|bit| ((value >> bit) & 1).to_string())
        .collect();
    write!(f, " {name}:[{}]", bits.join(","))
}

pub(super) fn alu(f: &mut Formatter<'_>, inst: &Inst, alu: &AluModifiers) -> fmt::Result {
    let row = inst.op.row();
    // Where registers have no halves, operations with a form of 32 bits do not select.
    let short = inst.target.arch != Arch::Gfx1100 && inst.has_short_form(row);
    let halves = inst.target.arch == Arch::Gfx1100
        && row.name != "v_cndmask_b16"
        && row.dst.iter().chain(row.src).any(|kind| kind.is_half());
    let selects = (row.has(Flag::op_sel) || halves) && !short;
    if selects && alu.op_sel != 0 && inst.encoding == Encoding::Vop3 {
        let sources = row.src.len() + usize::from(reads_dst(row));
        let has_dst = inst.operands.len() > row.src.len();
        // Their factors are pairs, of which none is selected.
        let pairs = if row.name.starts_with("v_dot2_") {
            3
        } else {
            0
        };
        let mut value = alu.op_sel & ((1 << sources) - 1) & !pairs;
        if has_dst {
            value |= (alu.op_sel >> 3) << sources;
        }
        if value != 0 {
            bits(f, "op_sel", value, sources + usize::from(has_dst))?;
        }
    }
    // Gfx12 selects a byte by two bits, the higher one first.
    let byte = (alu.op_sel & 1) << 1 | (alu.op_sel >> 1) & 1;
    let converts = matches!(row.name, "v_cvt_f32_fp8" | "v_cvt_f32_bf8");
    if inst.target.arch == Arch::Gfx1201 && converts && byte != 0 {
        write!(f, " byte_sel:{byte}")?;
    }
    flag(f, "clamp", alu.clamp)?;
    match alu.omod {
        0 => {}
        1 => f.write_str(" mul:2")?,
        2 => f.write_str(" mul:4")?,
        _ => f.write_str(" div:2")?,
    }
    if let Some(parts) = &alu.sdwa {
        sdwa(f, inst, parts)?;
    }
    dpp(f, inst, alu.dpp)
}

/// Whether an operation has a selection for a source that is its destination, or is missing.
fn reads_dst(row: &Row) -> bool {
    row.name.starts_with("v_fmac_") || row.name.starts_with("v_cvt_sr_")
}

fn sdwa(f: &mut Formatter<'_>, inst: &Inst, sdwa: &Sdwa) -> fmt::Result {
    if let Some(dst) = sdwa.dst {
        let unused = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_3"];
        let unused = unused[usize::from(sdwa.unused & 3)];
        write!(f, " dst_sel:{} dst_unused:{unused}", Select(dst))?;
    }
    write!(f, " src0_sel:{}", Select(sdwa.src[0]))?;
    if inst.encoding != Encoding::Vop1 {
        write!(f, " src1_sel:{}", Select(sdwa.src[1]))?;
    }
    Ok(())
}

struct Select(SdwaSelect);

impl fmt::Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            SdwaSelect::Byte(byte) => write!(f, "BYTE_{byte}"),
            SdwaSelect::Word(word) => write!(f, "WORD_{word}"),
            SdwaSelect::Dword => f.write_str("DWORD"),
        }
    }
}

fn dpp(f: &mut Formatter<'_>, inst: &Inst, dpp: Option<Dpp>) -> fmt::Result {
    match dpp {
        None => Ok(()),
        Some(Dpp::Eight {
            lanes,
            fetch_inactive,
        }) => {
            let lanes: Vec<_> = (0..8)
                .map(|lane| ((lanes >> (3 * lane)) & 7).to_string())
                .collect();
            write!(f, " dpp8:[{}]", lanes.join(","))?;
            flag(f, "fi:1", fetch_inactive)
        }
        Some(Dpp::Row {
            control,
            row_mask,
            bank_mask,
            bound_ctrl,
            fetch_inactive,
        }) => {
            pattern(f, inst, control)?;
            write!(f, " row_mask:{row_mask:#x} bank_mask:{bank_mask:#x}")?;
            flag(f, "bound_ctrl:1", bound_ctrl)?;
            flag(f, "fi:1", fetch_inactive)
        }
    }
}

fn pattern(f: &mut Formatter<'_>, inst: &Inst, control: u16) -> fmt::Result {
    let (kind, lane) = (control & 0x1f0, control & 15);
    match control {
        0..=0xff => {
            let lanes: Vec<_> = (0..4)
                .map(|at| ((control >> (2 * at)) & 3).to_string())
                .collect();
            write!(f, " quad_perm:[{}]", lanes.join(","))
        }
        0x130 => f.write_str(" wave_shl:1"),
        0x134 => f.write_str(" wave_rol:1"),
        0x138 => f.write_str(" wave_shr:1"),
        0x13c => f.write_str(" wave_ror:1"),
        0x140 => f.write_str(" row_mirror"),
        0x141 => f.write_str(" row_half_mirror"),
        0x142 => f.write_str(" row_bcast:15"),
        0x143 => f.write_str(" row_bcast:31"),
        _ => {
            let gfx9 = inst.target.arch.generation() == Generation::Gfx9;
            let name = match kind {
                0x100 => "row_shl",
                0x110 => "row_shr",
                0x120 => "row_ror",
                0x150 if gfx9 => "row_newbcast",
                0x150 => "row_share",
                _ => "row_xmask",
            };
            write!(f, " {name}:{lane}")
        }
    }
}

pub(super) fn packed(f: &mut Formatter<'_>, inst: &Inst, packed: &PackedModifiers) -> fmt::Result {
    let row = inst.op.row();
    let sources = row.src.len();
    let all = ((1u16 << sources) - 1) as u8;
    // Operations on pairs take both halves unless told otherwise; mixed ones 32-bit operands.
    let default_hi = if row.has(Flag::mix) { 0 } else { all };
    let selects = row.has(Flag::op_sel) || row.has(Flag::mix);
    if selects && packed.op_sel != 0 {
        bits(f, "op_sel", packed.op_sel, sources)?;
    }
    if selects && packed.op_sel_hi != default_hi {
        bits(f, "op_sel_hi", packed.op_sel_hi, sources)?;
    }
    if packed.neg_lo != 0 {
        bits(f, "neg_lo", packed.neg_lo, sources)?;
    }
    if packed.neg_hi != 0 {
        bits(f, "neg_hi", packed.neg_hi, sources)?;
    }
    flag(f, "clamp", packed.clamp)?;
    dpp(f, inst, packed.dpp)
}

pub(super) fn matrix(f: &mut Formatter<'_>, inst: &Inst, matrix: &MatrixModifiers) -> fmt::Result {
    if matrix.cbsz != 0 {
        write!(f, " cbsz:{}", matrix.cbsz)?;
    }
    if matrix.abid != 0 {
        write!(f, " abid:{}", matrix.abid)?;
    }
    let name = inst.op.row().name;
    match matrix.blgp {
        0 => Ok(()),
        signs if inst.target.arch == Arch::Gfx942 && name.contains("f64") => {
            bits(f, "neg", signs, 3)
        }
        blgp => write!(f, " blgp:{blgp}"),
    }
}

pub(super) fn interp(
    f: &mut Formatter<'_>,
    inst: &Inst,
    wait: u8,
    alu: &AluModifiers,
) -> fmt::Result {
    flag(f, "clamp", alu.clamp)?;
    let halves = inst.operands.iter().any(|operand| operand.half.is_some());
    let prints = !halves || inst.op.row().src[0] == Kind::F16;
    if alu.op_sel != 0 && prints && inst.op.row().name.contains("16") {
        bits(f, "op_sel", alu.op_sel, 4)?;
    }
    write!(f, " wait_exp:{wait}")
}

/// Kind of an access, which decides the names of temporal hints.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Load,
    Store,
    Atomic,
}

fn access(inst: &Inst) -> Access {
    let row = inst.op.row();
    if row.has(Flag::atomic) {
        Access::Atomic
    } else if row.name.contains("store") {
        Access::Store
    } else {
        Access::Load
    }
}

fn cache(f: &mut Formatter<'_>, inst: &Inst, policy: CachePolicy) -> fmt::Result {
    match policy {
        CachePolicy::Bits { glc, slc, dlc, scc } => {
            let scalar = inst.encoding == Encoding::Smem;
            let names = match inst.target.arch {
                Arch::Gfx942 if !scalar => ["sc0", "nt", "dlc", "sc1"],
                _ => ["glc", "slc", "dlc", "scc"],
            };
            for (name, set) in names.into_iter().zip([glc, slc, dlc, scc]) {
                flag(f, name, set)?;
            }
            Ok(())
        }
        CachePolicy::Hint { temporal, scope } => {
            if temporal != 0 {
                hint(f, access(inst), temporal, scope)?;
            }
            let scopes = [
                "",
                " scope:SCOPE_SE",
                " scope:SCOPE_DEV",
                " scope:SCOPE_SYS",
            ];
            f.write_str(scopes[usize::from(scope & 3)])
        }
    }
}

/// Writes the caches that an operation on caches concerns, where it says so.
pub(super) fn cache_control(f: &mut Formatter<'_>, inst: &Inst) -> fmt::Result {
    let policy = match &inst.modifiers {
        Modifiers::Buffer(buffer) => match buffer.cache {
            CachePolicy::Bits { glc, scc, .. } => CachePolicy::Bits {
                glc,
                slc: false,
                dlc: false,
                scc,
            },
            hint @ CachePolicy::Hint { .. } => hint,
        },
        Modifiers::Memory(memory) => memory.cache,
        _ => return Ok(()),
    };
    match inst.target.arch {
        Arch::Gfx942 | Arch::Gfx1201 => cache(f, inst, policy),
        _ => Ok(()),
    }
}

fn hint(f: &mut Formatter<'_>, access: Access, temporal: u8, scope: u8) -> fmt::Result {
    const SYSTEM: u8 = 3;
    let name = match (access, temporal) {
        (Access::Atomic, 1) => "ATOMIC_RETURN",
        (Access::Atomic, 2) => "ATOMIC_NT",
        (Access::Atomic, 3) => "ATOMIC_NT_RETURN",
        (Access::Atomic, 4 | 5) if scope >= 2 => "ATOMIC_CASCADE_RT",
        (Access::Atomic, 6 | 7) if scope >= 2 => "ATOMIC_CASCADE_NT",
        (Access::Atomic, _) => return write!(f, " th:TH_ATOMIC_{temporal:#x}"),
        (Access::Load, 3) if scope == SYSTEM => "LOAD_BYPASS",
        (Access::Store, 3) if scope == SYSTEM => "STORE_BYPASS",
        (Access::Load, 1) => "LOAD_NT",
        (Access::Load, 2) => "LOAD_HT",
        (Access::Load, 3) => "LOAD_LU",
        (Access::Load, 4) => "LOAD_NT_RT",
        (Access::Load, 5) => "LOAD_RT_NT",
        (Access::Load, 6) => "LOAD_NT_HT",
        (Access::Store, 1) => "STORE_NT",
        (Access::Store, 2) => "STORE_HT",
        (Access::Store, 3) => "STORE_WB",
        (Access::Store, 4) => "STORE_NT_RT",
        (Access::Store, 5) => "STORE_RT_NT",
        (Access::Store, 6) => "STORE_NT_HT",
        (Access::Store, 7) => "STORE_NT_WB",
        _ => return write!(f, " th:{temporal:#x}"),
    };
    write!(f, " th:TH_{name}")
}

pub(super) fn scalar_memory(
    f: &mut Formatter<'_>,
    inst: &Inst,
    memory: &ScalarMemoryModifiers,
) -> fmt::Result {
    if let Some(offset) = memory.offset {
        f.write_str(" offset:")?;
        signed_hex(f, offset)?;
    }
    let src = inst.op.row().src;
    match src.contains(&Kind::Prefetch) || src.first() == Some(&Kind::Imm) {
        true => Ok(()),
        false => cache(f, inst, memory.cache),
    }
}

pub(super) fn lds(f: &mut Formatter<'_>, inst: &Inst, lds: &LdsModifiers) -> fmt::Result {
    let row = inst.op.row();
    if row.has(Flag::two_offsets) {
        for (name, offset) in [("offset0", lds.offset & 255), ("offset1", lds.offset >> 8)] {
            if offset != 0 {
                write!(f, " {name}:{offset}")?;
            }
        }
    } else if row.has(Flag::swizzle) && lds.offset != 0 {
        swizzle(f, lds.offset)?;
    } else if lds.offset != 0 {
        write!(f, " offset:{}", lds.offset)?;
    }
    flag(f, "gds", lds.gds)
}

fn swizzle(f: &mut Formatter<'_>, offset: u16) -> fmt::Result {
    f.write_str(" offset:")?;
    let (and, or, xor) = (offset & 31, (offset >> 5) & 31, (offset >> 10) & 31);
    let group = 32 - and;
    match offset {
        0xe000.. => write!(f, "swizzle(FFT,{})", offset & 31),
        0xc000.. => write!(f, "swizzle(ROTATE,{},{or})", xor & 1),
        0x8000..=0x80ff => {
            let lanes: Vec<_> = (0..4)
                .map(|lane| ((offset >> (2 * lane)) & 3).to_string())
                .collect();
            write!(f, "swizzle(QUAD_PERM,{})", lanes.join(","))
        }
        0x8100.. => write!(f, "{offset}"),
        _ if and == 31 && or == 0 && xor.is_power_of_two() => write!(f, "swizzle(SWAP,{xor})"),
        _ if and == 31 && or == 0 && xor != 0 && (xor + 1).is_power_of_two() => {
            write!(f, "swizzle(REVERSE,{})", xor + 1)
        }
        _ if xor == 0 && group > 1 && group.is_power_of_two() && or < group => {
            write!(f, "swizzle(BROADCAST,{group},{or})")
        }
        _ => {
            // The lanes that lanes 0 and 31 read show the effect on each bit.
            let (first, last) = (or ^ xor, (and | or) ^ xor);
            let bits = (0..5)
                .rev()
                .map(|bit| match ((first >> bit) & 1, (last >> bit) & 1) {
                    (0, 0) => '0',
                    (1, 1) => '1',
                    (0, _) => 'p',
                    _ => 'i',
                });
            write!(f, "swizzle(BITMASK_PERM,\"{}\")", bits.collect::<String>())
        }
    }
}

pub(super) fn memory(f: &mut Formatter<'_>, inst: &Inst, memory: &MemoryModifiers) -> fmt::Result {
    if memory.offset != 0 {
        write!(f, " offset:{}", memory.offset)?;
    }
    cache(f, inst, memory.cache)?;
    flag(f, "lds", memory.lds)
}

/// Formats of data on gfx9.
const DATA_FORMATS: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];

/// Formats of numbers on gfx9.
const NUMBER_FORMATS: [&str; 8] = [
    "UNORM",
    "SNORM",
    "USCALED",
    "SSCALED",
    "UINT",
    "SINT",
    "RESERVED_6",
    "FLOAT",
];

/// Formats on gfx11 and gfx12.
const FORMATS: [&str; 64] = [
    "INVALID",
    "8_UNORM",
    "8_SNORM",
    "8_USCALED",
    "8_SSCALED",
    "8_UINT",
    "8_SINT",
    "16_UNORM",
    "16_SNORM",
    "16_USCALED",
    "16_SSCALED",
    "16_UINT",
    "16_SINT",
    "16_FLOAT",
    "8_8_UNORM",
    "8_8_SNORM",
    "8_8_USCALED",
    "8_8_SSCALED",
    "8_8_UINT",
    "8_8_SINT",
    "32_UINT",
    "32_SINT",
    "32_FLOAT",
    "16_16_UNORM",
    "16_16_SNORM",
    "16_16_USCALED",
    "16_16_SSCALED",
    "16_16_UINT",
    "16_16_SINT",
    "16_16_FLOAT",
    "10_11_11_FLOAT",
    "11_11_10_FLOAT",
    "10_10_10_2_UNORM",
    "10_10_10_2_SNORM",
    "10_10_10_2_UINT",
    "10_10_10_2_SINT",
    "2_10_10_10_UNORM",
    "2_10_10_10_SNORM",
    "2_10_10_10_USCALED",
    "2_10_10_10_SSCALED",
    "2_10_10_10_UINT",
    "2_10_10_10_SINT",
    "8_8_8_8_UNORM",
    "8_8_8_8_SNORM",
    "8_8_8_8_USCALED",
    "8_8_8_8_SSCALED",
    "8_8_8_8_UINT",
    "8_8_8_8_SINT",
    "32_32_UINT",
    "32_32_SINT",
    "32_32_FLOAT",
    "16_16_16_16_UNORM",
    "16_16_16_16_SNORM",
    "16_16_16_16_USCALED",
    "16_16_16_16_SSCALED",
    "16_16_16_16_UINT",
    "16_16_16_16_SINT",
    "16_16_16_16_FLOAT",
    "32_32_32_UINT",
    "32_32_32_SINT",
    "32_32_32_FLOAT",
    "32_32_32_32_UINT",
    "32_32_32_32_SINT",
    "32_32_32_32_FLOAT",
];

fn format(f: &mut Formatter<'_>, inst: &Inst, format: u8) -> fmt::Result {
    // The format of bytes as fractions, which is not written.
    const DEFAULT: u8 = 1;
    let number = usize::from(format);
    if inst.target.arch.generation() != Generation::Gfx9 {
        return match FORMATS.get(number) {
            _ if format == DEFAULT => Ok(()),
            Some(name) => write!(f, " format:[BUF_FMT_{name}]"),
            None => write!(f, " format:{format}"),
        };
    }
    let (data, number) = (DATA_FORMATS[number & 15], NUMBER_FORMATS[number >> 4 & 7]);
    match (format & 15 == DEFAULT, format >> 4 == 0) {
        (true, true) => Ok(()),
        (true, false) => write!(f, " format:[BUF_NUM_FORMAT_{number}]"),
        (false, true) => write!(f, " format:[BUF_DATA_FORMAT_{data}]"),
        (false, false) => {
            write!(
                f,
                " format:[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{number}]"
            )
        }
    }
}

pub(super) fn buffer(f: &mut Formatter<'_>, inst: &Inst, buffer: &BufferModifiers) -> fmt::Result {
    if let Some(number) = buffer.format {
        format(f, inst, number)?;
    }
    flag(f, "idxen", buffer.idxen)?;
    flag(f, "offen", buffer.offen)?;
    if buffer.offset != 0 {
        write!(f, " offset:{}", buffer.offset)?;
    }
    cache(f, inst, buffer.cache)?;
    flag(f, "lds", buffer.lds)?;
    flag(f, "tfe", buffer.tfe)
}
