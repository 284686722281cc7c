//! SDWA and DPP: a word behind the instruction has the first source and its modifiers.

use super::operands::VECTOR;
use super::reader::{Reader, bit, bits};
use crate::arch::{Arch, Generation};
use crate::error::DecodeErrorKind;
use crate::inst::{AluModifiers, Dpp, Encoding, Operand, Sdwa, SdwaSelect};
use crate::isa::{Flag, Kind, Row};

type Result<T> = std::result::Result<T, DecodeErrorKind>;

const SDWA: u16 = 249;
const DPP16: u16 = 250;
const DPP8: u16 = 233;
const DPP8_FETCH_INACTIVE: u16 = 234;

/// First source of a 32-bit instruction, with modifiers.
#[derive(Default)]
pub(super) struct FirstSource {
    /// Operand number.
    pub(super) number: u16,
    /// Flags of both sources: negated, absolute, sign-extended.
    pub(super) signs: [[bool; 3]; 2],
    /// Whether the second source is a scalar register.
    pub(super) scalar_second: bool,
    /// The register to which SDWA writes the result of a comparison.
    pub(super) compare_dst: Option<u16>,
    /// Modifiers.
    pub(super) modifiers: AluModifiers,
}

/// Reads the word behind an instruction of 32 bits if `number` means one.
pub(super) fn first_source(
    reader: &mut Reader<'_>,
    encoding: Encoding,
    row: &Row,
    number: u16,
) -> Result<FirstSource> {
    let gfx9 = reader.generation() == Generation::Gfx9;
    match number {
        SDWA if gfx9 => sdwa(reader, encoding, row),
        DPP16 if has_dpp(row, encoding, gfx9) => {
            let word = u64::from(reader.word(1)?);
            Ok(FirstSource {
                number: VECTOR + bits(word, 0, 8),
                signs: dpp_signs(reader, row, word)?,
                modifiers: AluModifiers {
                    dpp: Some(dpp16(reader.arch(), row, word)?),
                    ..AluModifiers::default()
                },
                ..FirstSource::default()
            })
        }
        DPP8 | DPP8_FETCH_INACTIVE if !gfx9 && has_dpp(row, encoding, gfx9) => {
            let word = u64::from(reader.word(1)?);
            Ok(FirstSource {
                number: VECTOR + bits(word, 0, 8),
                modifiers: AluModifiers {
                    dpp: Some(dpp8(number, word)),
                    ..AluModifiers::default()
                },
                ..FirstSource::default()
            })
        }
        SDWA | DPP16 => Err(DecodeErrorKind::Operand(number)),
        _ => Ok(FirstSource {
            number,
            ..FirstSource::default()
        }),
    }
}

/// Whether an operation of 32 bits has a form with DPP.
fn has_dpp(row: &Row, encoding: Encoding, gfx9: bool) -> bool {
    let narrow = is_narrow(row) || (gfx9 && row.has(Flag::dpp64));
    let lacks = row.has(Flag::no_dpp) && !(gfx9 && row.has(Flag::e32_rdna));
    let compares = gfx9 && encoding == Encoding::Vopc;
    narrow && !lacks && !compares
}

/// Whether no operand has more than 32 bits.
fn is_narrow(row: &Row) -> bool {
    let mut kinds = row.dst.iter().chain(row.src);
    kinds.all(|kind| kind.registers() == 1 && *kind != Kind::K)
}

/// The signs of the sources in a word of DPP16.
fn dpp_signs(reader: &Reader<'_>, row: &Row, word: u64) -> Result<[[bool; 3]; 2]> {
    let mut signs = [
        [bit(word, 20), bit(word, 21), false],
        [bit(word, 22), bit(word, 23), false],
    ];
    for (position, [neg, abs, _]) in signs.into_iter().enumerate() {
        let kind = row.src.get(position);
        let float = kind.is_some_and(|kind| kind.is_float() || *kind == Kind::H2);
        // This operation ignores those of its exponent.
        let half = reader.has_halves() && kind.is_some_and(|kind| kind.is_half());
        let ignored =
            half || row.has(Flag::signs_gfx9) || (position == 1 && row.name == "v_ldexp_f16");
        if (neg || abs) && !float && !ignored {
            return Err(DecodeErrorKind::Modifier);
        }
    }
    for (position, kind) in row.src.iter().take(2).enumerate() {
        if !kind.is_float() && *kind != Kind::H2 {
            signs[position] = [false; 3];
        }
    }
    Ok(signs)
}

fn dpp16(arch: Arch, row: &Row, word: u64) -> Result<Dpp> {
    let control = bits(word, 8, 9);
    let gfx9 = arch.generation() == Generation::Gfx9;
    let known = match control {
        0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140 | 0x141 => true,
        0x130 | 0x134 | 0x138 | 0x13c | 0x142 | 0x143 => gfx9,
        0x150..=0x15f => !gfx9 || arch.has_unified_registers(),
        0x160..=0x16f => !gfx9,
        _ => false,
    };
    let wide = !is_narrow(row);
    if !known || (wide && !(0x150..=0x15f).contains(&control)) {
        return Err(DecodeErrorKind::Modifier);
    }
    Ok(Dpp::Row {
        control,
        row_mask: bits(word, 28, 4) as u8,
        bank_mask: bits(word, 24, 4) as u8,
        bound_ctrl: bit(word, 19),
        fetch_inactive: bit(word, 18) && !gfx9,
    })
}

fn dpp8(number: u16, word: u64) -> Dpp {
    Dpp::Eight {
        lanes: (word >> 8) as u32,
        fetch_inactive: number == DPP8_FETCH_INACTIVE,
    }
}

fn select(number: u16) -> Result<SdwaSelect> {
    match number {
        0..=3 => Ok(SdwaSelect::Byte(number as u8)),
        4 | 5 => Ok(SdwaSelect::Word(number as u8 - 4)),
        6 => Ok(SdwaSelect::Dword),
        _ => Err(DecodeErrorKind::Modifier),
    }
}

fn sdwa(reader: &mut Reader<'_>, encoding: Encoding, row: &Row) -> Result<FirstSource> {
    if row.has(Flag::no_sdwa) || row.has(Flag::e32) || !is_narrow(row) {
        return Err(DecodeErrorKind::Operand(SDWA));
    }
    let word = u64::from(reader.word(1)?);
    let compares = encoding == Encoding::Vopc;
    let has_second = row.src.len() > 1;
    let number = bits(word, 0, 8) + if bit(word, 23) { 0 } else { VECTOR };
    let signs = [16, 24].map(|at| [bit(word, at + 4), bit(word, at + 5), bit(word, at + 3)]);
    for (position, [neg, abs, sext]) in signs.into_iter().enumerate() {
        let kind = row.src.get(position);
        let float = kind.is_some_and(|kind| kind.is_float());
        if ((neg || abs) && !float) || (sext && (float || kind.is_none())) {
            return Err(DecodeErrorKind::Modifier);
        }
    }
    // Fields of a second source that does not exist are zero.
    let unused = !has_second && bits(word, 24, 8) != 0;
    let multiplies = !compares && bits(word, 14, 2) != 0;
    if unused || (multiplies && !row.has(Flag::omod)) {
        return Err(DecodeErrorKind::Modifier);
    }
    let omod = if compares { 0 } else { bits(word, 14, 2) as u8 };
    Ok(FirstSource {
        number,
        signs,
        scalar_second: has_second && bit(word, 31),
        compare_dst: (compares && bit(word, 15)).then(|| bits(word, 8, 7)),
        modifiers: AluModifiers {
            clamp: !compares && bit(word, 13),
            omod,
            sdwa: Some(Sdwa {
                dst: match compares {
                    true => None,
                    false => Some(select(bits(word, 8, 3))?),
                },
                unused: if compares { 0 } else { bits(word, 11, 2) as u8 },
                src: [
                    select(bits(word, 16, 3))?,
                    match has_second {
                        true => select(bits(word, 24, 3))?,
                        false => SdwaSelect::Dword,
                    },
                ],
            }),
            ..AluModifiers::default()
        },
    })
}

/// The first source of an instruction of 64 bits.
pub(super) enum LongSource {
    /// An operand by its number.
    Number(u16),
    /// A vector register of other lanes.
    Dpp(u16, Dpp),
}

/// Reads the word behind an instruction of 64 bits if `number` means one.
pub(super) fn first_source_of_long(reader: &mut Reader<'_>, number: u16) -> Result<LongSource> {
    let gfx9 = reader.generation() == Generation::Gfx9;
    match number {
        DPP16 | DPP8 | DPP8_FETCH_INACTIVE if !gfx9 => {
            let word = u64::from(reader.word(2)?);
            let dpp = match number {
                // The signs are in the instruction itself.
                DPP16 => dpp16_of_long(reader.arch(), word)?,
                _ => dpp8(number, word),
            };
            Ok(LongSource::Dpp(VECTOR + bits(word, 0, 8), dpp))
        }
        _ => Ok(LongSource::Number(number)),
    }
}

fn dpp16_of_long(arch: Arch, word: u64) -> Result<Dpp> {
    const NARROW: Row = Row {
        name: "",
        numbers: [None; 3],
        only: &[],
        dst: &[],
        src: &[],
        flags: &[],
    };
    dpp16(arch, &NARROW, word)
}

impl LongSource {
    /// The modifier.
    pub(super) fn dpp(&self) -> Option<Dpp> {
        match self {
            Self::Number(_) => None,
            Self::Dpp(_, dpp) => Some(*dpp),
        }
    }

    /// The operand.
    pub(super) fn operand(&self, reader: &mut Reader<'_>, kind: Kind) -> Result<Operand> {
        match *self {
            Self::Number(number) | Self::Dpp(number, _) => reader.source(kind, number),
        }
    }
}
