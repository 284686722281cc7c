//! Operands.

use std::fmt;

use super::control;
use crate::arch::Generation;
use crate::inst::{Half, Inst, Operand, Register, Value};
use crate::isa::Kind;

/// Writes operands behind a name.
pub(super) fn list(f: &mut fmt::Formatter<'_>, inst: &Inst, operands: &[Operand]) -> fmt::Result {
    let mut separator = " ";
    for operand in operands {
        // The default of the only number that may be left out.
        if operand.kind == Kind::Decimal && operand.value == Value::Immediate(0) {
            continue;
        }
        f.write_str(separator)?;
        signed(f, inst, operand)?;
        separator = ", ";
    }
    Ok(())
}

fn signed(f: &mut fmt::Formatter<'_>, inst: &Inst, operand: &Operand) -> fmt::Result {
    let constant = match operand.value {
        Value::Registers(..) => false,
        Value::Literal(number) => !is_marked(operand.kind, number),
        _ => true,
    };
    let in_parentheses = operand.neg && constant && !operand.abs;
    if operand.sext {
        f.write_str("sext(")?;
    }
    if operand.neg {
        f.write_str(if in_parentheses { "neg(" } else { "-" })?;
    }
    if operand.abs {
        f.write_str("|")?;
    }
    plain(f, inst, operand)?;
    if operand.abs {
        f.write_str("|")?;
    }
    if in_parentheses || operand.sext {
        f.write_str(")")?;
    }
    Ok(())
}

fn plain(f: &mut fmt::Formatter<'_>, inst: &Inst, operand: &Operand) -> fmt::Result {
    match operand.value {
        Value::Registers(register, count) => {
            registers(f, inst, register, count)?;
            f.write_str(match operand.half {
                None => "",
                Some(Half::Low) => ".l",
                Some(Half::High) => ".h",
            })
        }
        Value::Integer(number) => write!(f, "{number}"),
        Value::Float(number) => float(f, operand.kind, number),
        Value::Literal(number) => literal(f, operand.kind, number),
        Value::Immediate(number) => immediate(f, inst, operand.kind, number),
        Value::Off => f.write_str("off"),
    }
}

fn registers(
    f: &mut fmt::Formatter<'_>,
    inst: &Inst,
    register: Register,
    count: u8,
) -> fmt::Result {
    let (name, first) = match register {
        Register::Vector(first) => ("v", first),
        Register::Accumulation(first) => ("a", first),
        Register::Scalar(first) => ("s", first),
        Register::Trap(first) => ("ttmp", first),
        Register::Special(number) => return f.write_str(special(inst, number, count)),
    };
    match count {
        1 => write!(f, "{name}{first}"),
        _ => write!(
            f,
            "{name}[{first}:{}]",
            u16::from(first) + u16::from(count) - 1
        ),
    }
}

fn special(inst: &Inst, number: u8, count: u8) -> &'static str {
    let gfx9 = inst.target.arch.generation() == Generation::Gfx9;
    match (number, count) {
        (102, 1) => "flat_scratch_lo",
        (102, _) => "flat_scratch",
        (103, _) => "flat_scratch_hi",
        (104, 1) => "xnack_mask_lo",
        (104, _) => "xnack_mask",
        (105, _) => "xnack_mask_hi",
        (106, 1) => "vcc_lo",
        (106, _) => "vcc",
        (107, _) => "vcc_hi",
        (124, _) if gfx9 => "m0",
        (124, _) => "null",
        (125, _) => "m0",
        (126, 1) => "exec_lo",
        (126, _) => "exec",
        (127, _) => "exec_hi",
        (235, _) => "src_shared_base",
        (236, _) => "src_shared_limit",
        (237, _) => "src_private_base",
        (238, _) => "src_private_limit",
        (239, _) => "src_pops_exiting_wave_id",
        (251, _) => "src_vccz",
        (252, _) => "src_execz",
        (253, _) => "src_scc",
        (254, _) => "src_lds_direct",
        _ => "reserved",
    }
}

/// Bits of the floats that instructions contain, as 16-bit floats.
const HALVES: [(f64, u16); 9] = [
    (0.5, 0x3800),
    (-0.5, 0xb800),
    (1.0, 0x3c00),
    (-1.0, 0xbc00),
    (2.0, 0x4000),
    (-2.0, 0xc000),
    (4.0, 0x4400),
    (-4.0, 0xc400),
    (0.159_154_943_091_895_32, 0x3118),
];

fn float(f: &mut fmt::Formatter<'_>, kind: Kind, number: f64) -> fmt::Result {
    let reciprocal = number.fract().abs() < 0.4 && number.fract() != 0.0;
    match kind {
        Kind::I16 => {
            let half = HALVES.iter().find(|(value, _)| *value == number);
            write!(f, "{:#x}", half.map_or(0, |(_, half)| *half))
        }
        Kind::B64 | Kind::F64 if reciprocal => f.write_str("0.15915494309189532"),
        _ if reciprocal => f.write_str("0.15915494"),
        _ => write!(f, "{number:.1}"),
    }
}

/// Whether a 32-bit number is one that an instruction can contain.
fn is_inline(number: u32) -> bool {
    const FLOATS: [u32; 9] = [
        0x3f00_0000,
        0xbf00_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x4000_0000,
        0xc000_0000,
        0x4080_0000,
        0xc080_0000,
        0x3e22_f983,
    ];
    is_small(number as i32) || FLOATS.contains(&number)
}

fn is_small(number: i32) -> bool {
    (-16..=64).contains(&number)
}

fn is_inline_half(number: u16) -> bool {
    is_small(i32::from(number as i16)) || HALVES.iter().any(|(_, half)| *half == number)
}

fn is_inline_bfloat(number: u16) -> bool {
    is_small(i32::from(number as i16))
        || is_inline(u32::from(number) << 16) && number != 0
        || number == 0x3e22
}

/// Whether a literal is marked, because an instruction could contain it itself: assembling the text
/// again then yields the same words.
fn is_marked(kind: Kind, number: u32) -> bool {
    let low = number as u16;
    let half = number >> 16 == 0;
    match kind {
        Kind::F64 | Kind::K | Kind::Literal => false,
        Kind::B64 | Kind::S64 => number <= 64,
        Kind::F16 | Kind::Plain16 => is_inline_half(low),
        Kind::BF16 => is_inline_bfloat(low),
        Kind::H2 => is_small(number as i32) || (half && is_inline_half(low)),
        Kind::BF2 => is_small(number as i32) || (half && is_inline_bfloat(low)),
        _ => is_inline(number),
    }
}

fn literal(f: &mut fmt::Formatter<'_>, kind: Kind, number: u32) -> fmt::Result {
    match kind {
        Kind::Literal if is_small(number as i32) => write!(f, "{}", number as i32),
        Kind::Literal if is_inline(number) => float(f, kind, f64::from(f32::from_bits(number))),
        _ if is_marked(kind, number) => write!(f, "lit({number:#x})"),
        kind if kind.is_half() => write!(f, "{:#x}", number as u16),
        _ => write!(f, "{number:#x}"),
    }
}

fn immediate(f: &mut fmt::Formatter<'_>, inst: &Inst, kind: Kind, number: i32) -> fmt::Result {
    let field = number as u16;
    match kind {
        Kind::Decimal => write!(f, "{field}"),
        Kind::Hex => write!(f, "{field:#x}"),
        Kind::Offset => control::signed_hex(f, number),
        Kind::Wait => control::wait(f, inst, field),
        Kind::Message => control::message(f, inst, field),
        Kind::Delay => control::delay(f, field),
        Kind::Depctr => control::depctr(f, field),
        Kind::GprIndex => control::gpr_index(f, field),
        Kind::HwReg => control::hardware_register(f, inst, field),
        // Larger numbers than those within instructions are written in hexadecimal.
        Kind::Imm if field > 64 => write!(f, "{field:#x}"),
        _ => write!(f, "{field}"),
    }
}
