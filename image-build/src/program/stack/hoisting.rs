//! Keeps LLVM from hoisting what it takes for free.
//!
//! LLVM 22 brings control flow of AMD GPUs into a form with one way in and out (`structurizecfg`). If a `phi` gets a
//! value from a block that computes it by an instruction without a cost, LLVM moves the instruction before the branch,
//! and then gives the value to ways that do not lead through the block (llvm-project #183792). Before, it sinks such
//! instructions into the block. So each value that an instruction without a cost computes for a `phi` becomes the
//! result of one with a cost: for integers, the bitwise or with a zero that LLVM does not know, for others assembly
//! without instructions.

use std::borrow::Cow;
use std::collections::HashMap;

/// Instructions without a cost.
const FREE: [&str; 14] = [
    "trunc ",
    "zext ",
    "sext ",
    "bitcast ",
    "ptrtoint ",
    "inttoptr ",
    "addrspacecast ",
    "freeze ",
    "getelementptr ",
    "extractelement ",
    "extractvalue ",
    "insertelement ",
    "shufflevector ",
    "fneg ",
];

/// The values that a function's `phi` instructions take, with their types.
pub(super) struct PhiValues<'a>(HashMap<&'a str, &'a str>);

impl<'a> PhiValues<'a> {
    /// Those of a function with this body.
    pub(super) fn of(body: &[&'a str]) -> Self {
        let phis = body
            .iter()
            .filter_map(|line| assignment(line)?.1.strip_prefix("phi "));
        Self(phis.flat_map(incoming).collect())
    }

    /// A line of the function; if LLVM could hoist its instruction, the value has a cost.
    pub(super) fn with_cost<'l>(&self, line: &'l str) -> Cow<'l, str> {
        let costly = || {
            let (variable, code) = assignment(line)?;
            FREE.iter().find(|free| code.starts_with(**free))?;
            let kind = self.0.get(variable)?;
            let name = variable[1..].trim_matches('"');
            let free = format!("%\"revoff.{name}\"");
            let (zero, wide) = (
                format!("%\"revoff.0.{name}\""),
                format!("%\"revoff.wide.{name}\""),
            );
            let value = match integer_bits(kind) {
                Some(bits) => {
                    let register = if bits <= 32 { 32 } else { 64 };
                    let unknown = format!("call i{register} asm \"\", \"=s,0\"(i{register} 0)");
                    let zeros = match bits == register {
                        true => format!("  {zero} = {unknown}\n"),
                        false => format!(
                            "  {wide} = {unknown}\n  {zero} = trunc i{register} {wide} to {kind}\n"
                        ),
                    };
                    format!("{zeros}  {variable} = or {kind} {free}, {zero}")
                }
                None => format!("  {variable} = call {kind} asm \"\", \"=v,0\"({kind} {free})"),
            };
            is_in_registers(kind).then(|| format!("  {free} = {code}\n{value}"))
        };
        costly().map_or(Cow::Borrowed(line), Cow::Owned)
    }
}

/// The variable and the code of `  %x = trunc i64 %y to i32`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (variable, code) = line.trim_start().split_once(" = ")?;
    variable.starts_with('%').then_some((variable, code))
}

/// The variables that a `phi` takes, and its type, from `i32 [ %x, %4 ], [ 0, %5 ]`.
fn incoming(phi: &str) -> impl Iterator<Item = (&str, &str)> {
    let (kind, values) = phi.split_once(" [ ").unwrap_or_default();
    let values = values
        .split("[ ")
        .filter_map(|part| part.rsplit_once(", %"));
    values.filter_map(move |(value, _)| value.starts_with('%').then_some((value, kind)))
}

/// The bits of a type if it is an integer.
fn integer_bits(kind: &str) -> Option<u32> {
    kind.strip_prefix('i')?.parse().ok()
}

/// Whether a type fits into registers: an integer up to 64 bits, a number, a pointer, or a vector whose elements fill
/// registers.
fn is_in_registers(kind: &str) -> bool {
    const WHOLE: [&str; 4] = ["i32", "i64", "float", "double"];
    let element = kind
        .strip_prefix('<')
        .and_then(|vector| vector.strip_suffix('>'));
    match element.and_then(|vector| vector.split_once(" x ")) {
        Some((_, element)) => WHOLE.contains(&element),
        None => {
            integer_bits(kind).is_some_and(|bits| bits <= 64)
                || WHOLE.contains(&kind)
                || kind.starts_with("ptr")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PhiValues;

    const BODY: [&str; 12] = [
        "  %n = trunc i64 %a to i8",
        "  br i1 %c, label %2, label %3",
        "",
        "2:                                                ; preds = %1",
        "  %x = trunc nuw i64 %a to i32, !dbg !1",
        "  %\"y z\" = getelementptr inbounds nuw i8, ptr addrspace(1) %p, i64 8",
        "  %z = add i64 %a, 1",
        "  %w = trunc i64 %z to i32",
        "  br label %3",
        "  %4 = phi i32 [ %x, %2 ], [ 7, %1 ]",
        "  %5 = phi ptr addrspace(1) [ null, %1 ], [ %\"y z\", %2 ]",
        "  %6 = phi i8 [ %n, %1 ], [ %n, %2 ]",
    ];

    #[test]
    fn free_values_for_a_phi_get_a_cost() {
        let values = PhiValues::of(&BODY);
        let changed = |line: usize| values.with_cost(BODY[line]).into_owned();
        assert_eq!(
            changed(0),
            "  %\"revoff.n\" = trunc i64 %a to i8\n  \
             %\"revoff.wide.n\" = call i32 asm \"\", \"=s,0\"(i32 0)\n  \
             %\"revoff.0.n\" = trunc i32 %\"revoff.wide.n\" to i8\n  \
             %n = or i8 %\"revoff.n\", %\"revoff.0.n\""
        );
        assert_eq!(
            changed(4),
            "  %\"revoff.x\" = trunc nuw i64 %a to i32, !dbg !1\n  \
             %\"revoff.0.x\" = call i32 asm \"\", \"=s,0\"(i32 0)\n  \
             %x = or i32 %\"revoff.x\", %\"revoff.0.x\""
        );
        assert_eq!(
            changed(5),
            "  %\"revoff.y z\" = getelementptr inbounds nuw i8, ptr addrspace(1) %p, i64 8\n  \
             %\"y z\" = call ptr addrspace(1) asm \"\", \"=v,0\"(ptr addrspace(1) %\"revoff.y z\")"
        );
        for same in [1, 3, 6, 7, 9] {
            assert_eq!(changed(same), BODY[same], "nothing hoists it");
        }
    }

    #[test]
    fn structures_stay() {
        let body = [
            "  %x = freeze { i64, i8 } %y",
            "  %2 = phi { i64, i8 } [ %x, %1 ]",
            "  %z = freeze <3 x i8> %v",
            "  %3 = phi <3 x i8> [ %z, %1 ]",
        ];
        let values = PhiValues::of(&body);
        for line in body {
            assert_eq!(values.with_cost(line), line);
        }
    }
}
