//! Results according to the pseudocode of AMD's manuals, which `ci/gcn-oracle` evaluates.

use std::collections::{BTreeMap, BTreeSet};

use super::wave::{packed_result, result_of};
use crate::alu::{Type, find, find_packed};
use crate::arch::{Arch, Generation};
use crate::inst::{Op, PackedModifiers};
use crate::isa::{DualOp, PackedOp, ValuOp};

/// When results differ.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// An operand or the result is subnormal, or the result the smallest normal number.
    Subnormal,
    /// The first operand is subnormal or zero.
    Tiny,
    /// An operand is signalling, or two are NaNs.
    Nans,
    /// The first operand is a NaN.
    FirstNan,
    /// An operand is negative zero.
    NegativeZero,
    /// Both results are zeros.
    SignOfZero,
    /// The pseudocode's result is infinite.
    Infinite,
    /// The first operand is 256 or larger.
    ManyTurns,
    /// The last bit.
    OneUnit,
}

const FLUSHES: &str = "the text of the manuals and LLVM's documentation say that it flushes subnormal \
    numbers, whatever the mode is";
const PRODUCT: &str = "the product is subnormal, which is flushed too";
const QUIETS: &str = "signalling NaNs become quiet in IEEE mode, which kernels for computing have";
const FIRST: &str = "of two NaNs the first is the result on all generations; for gfx9 the pseudocode has \
    the second";
const ROUNDS_ONCE: &str = "the pseudocode rounds a step in between";
const EVEN: &str = "the sum in the pseudocode is rounded, and loses the sign of zero";
const LIMITED: &str = "a fraction is less than 1: LLVM selects the instruction for \
    min(x - floor(x), the next to 1)";
const EXPONENT: &str = "LLVM and libraries use the instruction as C's frexp, for which the exponent of \
    zero is 0 and subnormal numbers are normalized; the pseudocode has the bits of the exponent";
const TURNS: &str = "the text of the manuals: the result is that of 0 for more than 256 turns";
const OVERFLOW: &str = "the sequence for division has a NaN as quotient if even the scaled one is too \
    large, and the result must be infinite";
const SCALES: &str = "the denominator would become infinite and the quotient wrong: it is multiplied \
    by the reciprocal of the factor instead";
const ZEROS: &str = "the pseudocode tells zeros apart by a comparison for which they are equal";

/// Operations whose results differ on a generation or on all, when, and why the pseudocode is not
/// what the emulator does. A `*` stands for anything.
const DIFFERENCES: &[(Option<Generation>, &str, When, &str)] = &[
    (None, "v_exp_f32", When::Subnormal, FLUSHES),
    (None, "v_log_f32", When::Subnormal, FLUSHES),
    (None, "v_rcp_f32", When::Subnormal, FLUSHES),
    (None, "v_rcp_iflag_f32", When::Subnormal, FLUSHES),
    (None, "v_rsq_f32", When::Subnormal, FLUSHES),
    (None, "v_sqrt_f32", When::Subnormal, FLUSHES),
    (None, "v_s_*_f32", When::Subnormal, FLUSHES),
    (None, "v_mad_*f16", When::Subnormal, FLUSHES),
    (None, "v_mac_f16", When::Subnormal, FLUSHES),
    (None, "v_madmk_f16", When::Subnormal, FLUSHES),
    (None, "v_madak_f16", When::Subnormal, FLUSHES),
    (None, "v_mad*_f16", When::OneUnit, PRODUCT),
    (None, "v_rsq_*", When::OneUnit, ROUNDS_ONCE),
    (None, "v_s_rsq_*", When::OneUnit, ROUNDS_ONCE),
    (None, "v_div_fmas_*", When::Subnormal, ROUNDS_ONCE),
    (None, "v_div_fmas_*", When::Infinite, ROUNDS_ONCE),
    (None, "v_cvt_f32_f16", When::Nans, QUIETS),
    (None, "v_cvt_f64_f32", When::Nans, QUIETS),
    (None, "v_cvt_pk*rtz_f16_f32", When::Nans, QUIETS),
    (None, "v_div_scale_*", When::Nans, QUIETS),
    (None, "v_div_scale_*", When::Infinite, SCALES),
    (None, "v_frexp_mant_*", When::Nans, QUIETS),
    (Some(Generation::Gfx9), "v_min*", When::Nans, FIRST),
    (Some(Generation::Gfx9), "v_max*", When::Nans, FIRST),
    (Some(Generation::Gfx9), "v_med3_*", When::Nans, FIRST),
    (Some(Generation::Gfx9), "v_min*", When::NegativeZero, ZEROS),
    (Some(Generation::Gfx9), "v_max*", When::NegativeZero, ZEROS),
    (None, "v_rndne_*", When::SignOfZero, EVEN),
    (None, "v_rndne_f32", When::OneUnit, EVEN),
    (None, "v_fract_*", When::OneUnit, LIMITED),
    (None, "v_frexp_exp_*", When::Tiny, EXPONENT),
    (None, "v_sin_*", When::ManyTurns, TURNS),
    (None, "v_cos_*", When::ManyTurns, TURNS),
    (None, "v_div_fixup_*", When::FirstNan, OVERFLOW),
];

/// A line of the oracle's file.
struct Case<'a> {
    name: &'a str,
    modifiers: [u8; 3],
    operands: Vec<u64>,
    result: Option<u64>,
    /// The result has a NaN that arithmetic made.
    made_nan: bool,
    mask: Option<bool>,
}

impl<'a> Case<'a> {
    fn read(line: &'a str) -> (Generation, Self) {
        let mut fields = line.split(' ');
        let mut next = || fields.next().expect("a field");
        let generation = match next() {
            "gfx9" => Generation::Gfx9,
            "gfx11" => Generation::Gfx11,
            _ => Generation::Gfx12,
        };
        let name = next();
        let modifiers = [(); 3].map(|()| next().parse().expect("a number"));
        let hex = |field| u64::from_str_radix(field, 16).expect("hexadecimal digits");
        let operands = next()
            .split(',')
            .filter(|digits| !digits.is_empty())
            .map(hex)
            .collect();
        let result = next();
        let mask = match next() {
            "-" => None,
            mask => Some(mask == "1"),
        };
        let (digits, made_nan) = (result.trim_end_matches('?'), result.ends_with('?'));
        let result = (digits != "-").then(|| hex(digits));
        (
            generation,
            Self {
                name,
                modifiers,
                operands,
                result,
                made_nan,
                mask,
            },
        )
    }
}

/// The emulator's result of a case, and the types by which differences are judged.
struct Outcome {
    types: Vec<Option<Type>>,
    dst: Option<Type>,
    result: u64,
    mask: bool,
}

/// The width of the exponent and of the significand behind the point.
fn format(ty: Type) -> Option<(u32, u32)> {
    match ty {
        Type::F16 => Some((5, 10)),
        Type::BF16 => Some((8, 7)),
        Type::F32 => Some((8, 23)),
        Type::F64 => Some((11, 52)),
        _ => None,
    }
}

fn parts(ty: Type, bits: u64) -> Option<(u64, u64)> {
    let (exponent, digits) = format(ty)?;
    Some((
        bits >> digits & ((1 << exponent) - 1),
        bits & ((1 << digits) - 1),
    ))
}

fn is_nan(ty: Type, bits: u64) -> bool {
    let largest = format(ty).map_or(0, |(exponent, _)| (1 << exponent) - 1);
    parts(ty, bits).is_some_and(|(exponent, rest)| exponent == largest && rest != 0)
}

fn is_infinite(ty: Type, bits: u64) -> bool {
    let largest = format(ty).map_or(0, |(exponent, _)| (1 << exponent) - 1);
    parts(ty, bits) == Some((largest, 0))
}

fn is_signalling(ty: Type, bits: u64) -> bool {
    let quiet = format(ty).map_or(0, |(_, digits)| 1 << (digits - 1));
    is_nan(ty, bits) && bits & quiet == 0
}

fn is_subnormal(ty: Type, bits: u64) -> bool {
    parts(ty, bits).is_some_and(|(exponent, rest)| exponent == 0 && rest != 0)
}

impl When {
    fn holds(self, case: &Case<'_>, outcome: &Outcome) -> bool {
        let types = outcome.types.iter();
        let operands = types
            .zip(&case.operands)
            .filter_map(|(ty, &bits)| Some(((*ty)?, bits)));
        let all: Vec<(Type, u64)> = operands.collect();
        let any = |holds: fn(Type, u64) -> bool| all.iter().any(|&(ty, bits)| holds(ty, bits));
        let first =
            |holds: fn(Type, u64) -> bool| all.first().is_some_and(|&(ty, bits)| holds(ty, bits));
        let results = [Some(outcome.result), case.result].into_iter().flatten();
        let mut results = outcome
            .dst
            .into_iter()
            .flat_map(|ty| results.clone().map(move |bits| (ty, bits)));
        match self {
            Self::Subnormal => {
                any(is_subnormal)
                    || results
                        .any(|(ty, bits)| is_subnormal(ty, bits) || parts(ty, bits) == Some((1, 0)))
            }
            Self::Tiny => {
                first(|ty, bits| parts(ty, bits).is_some_and(|(exponent, _)| exponent == 0))
            }
            Self::Nans => {
                let nans = all.iter().filter(|(ty, bits)| is_nan(*ty, *bits)).count();
                nans > 1 || any(is_signalling)
            }
            Self::FirstNan => first(is_nan),
            Self::NegativeZero => any(|ty, bits| bits == 1 << (ty.bits() - 1)),
            Self::SignOfZero => results.all(|(ty, bits)| bits << (65 - ty.bits()) == 0),
            Self::Infinite => {
                let results = outcome.dst.zip(case.result);
                results.is_some_and(|(ty, bits)| is_infinite(ty, bits))
            }
            Self::ManyTurns => first(|ty, bits| {
                let bias = if ty == Type::F16 { 15 } else { 127 };
                parts(ty, bits).is_some_and(|(exponent, _)| exponent >= bias + 8)
            }),
            Self::OneUnit => case
                .result
                .is_some_and(|result| result.abs_diff(outcome.result) <= 1),
        }
    }
}

/// Whether two results are the same, except which NaN it is that arithmetic made.
fn same(dst: Option<Type>, made_nan: bool, ours: u64, theirs: u64) -> bool {
    let Some(dst) = dst else { return true };
    let mask = u64::MAX >> (64 - dst.bits());
    let theirs = theirs & mask;
    if ours == theirs {
        return true;
    }
    let part = match dst {
        // Pairs.
        Type::U32 => Type::F16,
        Type::U64 => Type::F32,
        other => other,
    };
    let width = part.bits();
    made_nan
        && (0..dst.bits() / width).all(|at| {
            let [ours, theirs] =
                [ours, theirs].map(|bits| bits >> (at * width) & (u64::MAX >> (64 - width)));
            ours == theirs || is_nan(part, ours) && is_nan(part, theirs)
        })
}

fn has_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    }
}

/// The operations of that name.
fn operations(generation: Generation, name: &str) -> Vec<Op> {
    let vector = ValuOp::ALL.iter().map(|&op| Op::Valu(op));
    let dual = DualOp::ALL.iter().map(|&op| Op::Dual(op));
    let packed = PackedOp::ALL.iter().map(|&op| Op::Packed(op));
    let all = vector.chain(dual).chain(packed);
    all.filter(|op| is_on(generation, *op) && op.row().name_on(generation) == name)
        .collect()
}

fn is_on(generation: Generation, op: Op) -> bool {
    op.row().numbers[generation as usize].is_some()
}

/// The outcome of an operation; none if there is no arithmetic of it.
fn outcome(op: Op, case: &Case<'_>) -> Option<Outcome> {
    if let Op::Packed(op) = op {
        let [op_sel, op_sel_hi, neg_lo] = case.modifiers;
        let modifiers = PackedModifiers {
            op_sel,
            op_sel_hi,
            neg_lo,
            ..PackedModifiers::default()
        };
        let operation = find_packed(op, &modifiers)?;
        let types = operation.src.iter().map(|&ty| Some(ty)).collect();
        let result = packed_result(op, &case.operands, modifiers)?;
        return Some(Outcome {
            types,
            dst: Some(operation.dst),
            result,
            mask: false,
        });
    }
    let operation = find(op)?;
    // Some comparisons have a result that does not depend on their operands.
    let mut operands = case.operands.clone();
    if operands.is_empty() {
        operands.resize(operation.src.len(), 0);
    }
    assert_eq!(
        operation.src.len(),
        operands.len(),
        "operands of {}",
        case.name
    );
    let (result, mask) = result_of(operation, &operands, false);
    Some(Outcome {
        types: operation.src.to_vec(),
        dst: operation.dst,
        result,
        mask,
    })
}

#[test]
#[ignore = "needs the oracle's results; ci/gcn-oracle runs it"]
fn oracle() {
    let path = std::env::var("GCN_ORACLE").expect("GCN_ORACLE names the oracle's file");
    let text = std::fs::read_to_string(path).expect("the oracle's file");
    let mut compared: BTreeMap<Generation, BTreeSet<&'static str>> = BTreeMap::new();
    let mut used = vec![0u32; DIFFERENCES.len()];
    let (mut cases, mut wrong) = (0, BTreeMap::<String, (u32, String)>::new());
    let mut found: Option<(Generation, &str, Vec<Op>)> = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (generation, case) = Case::read(line);
        let ops = match &found {
            Some((of, name, ops)) if *of == generation && *name == case.name => ops.clone(),
            _ => operations(generation, case.name),
        };
        found = Some((generation, case.name, ops.clone()));
        for op in ops {
            let Some(outcome) = outcome(op, &case) else {
                continue;
            };
            compared
                .entry(generation)
                .or_default()
                .insert(op.row().name);
            cases += 1;
            let theirs = case.result.unwrap_or_default();
            let is_same = same(outcome.dst, case.made_nan, outcome.result, theirs)
                && case.mask.is_none_or(|mask| mask == outcome.mask);
            if is_same {
                continue;
            }
            let excuse = DIFFERENCES.iter().position(|(only, pattern, when, _)| {
                only.is_none_or(|only| only == generation)
                    && has_name(pattern, case.name)
                    && when.holds(&case, &outcome)
            });
            if let Some(excuse) = excuse {
                used[excuse] += 1;
                continue;
            }
            let ours = format!("{line}: {:x} {}", outcome.result, outcome.mask);
            let entry = wrong
                .entry(format!("{generation:?} {}", case.name))
                .or_insert((0, ours));
            entry.0 += 1;
        }
    }
    println!("{cases} results compared");
    for arch in Arch::ALL {
        report(arch, &compared[&arch.generation()]);
    }
    for (name, (count, example)) in &wrong {
        println!("{name}: {count} differ, such as {example}");
    }
    for ((_, pattern, when, _), count) in DIFFERENCES.iter().zip(&used) {
        assert_ne!(*count, 0, "{pattern} never differs: {when:?}");
    }
    assert!(wrong.is_empty(), "{} operations differ", wrong.len());
}

/// Prints how many operations of an architecture were compared, and which were not.
fn report(arch: Arch, compared: &BTreeSet<&str>) {
    let modifiers = PackedModifiers::default();
    let vector = ValuOp::ALL.iter().map(|&op| Op::Valu(op));
    let dual = DualOp::ALL.iter().map(|&op| Op::Dual(op));
    let single = vector.chain(dual).filter(|&op| find(op).is_some());
    let packed = PackedOp::ALL
        .iter()
        .filter(|&&op| find_packed(op, &modifiers).is_some());
    let ours = single.chain(packed.map(|&op| Op::Packed(op)));
    let names = ours
        .filter(|op| op.row().number(arch).is_some())
        .map(|op| op.row().name);
    let (with, without): (Vec<&str>, Vec<&str>) = names.partition(|name| compared.contains(name));
    let without = without.join(" ");
    println!(
        "{}: {} operations compared; not known to the oracle: {without}",
        arch.name(),
        with.len()
    );
}
