//! Removes `GOMP_target_ext` from libgomp's text that defines it.

use std::ops::Range;

use shared_abi::gomp::REV_OFFLOAD_VAR;

use super::TARGET_EXT;
use crate::ptx::{Item, Malformed, Tokens, items};

/// Bits of its parameters: device, func, mapnum, hostaddrs, sizes, kinds, flags, depend
/// and args.
const PARAMS: [u32; 9] = [32, 64, 64, 64, 64, 64, 32, 64, 64];

/// The reason why nothing was removed. The text is then unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotCut {
    /// It is not defined there.
    #[error("it does not define {TARGET_EXT}")]
    NotDefined,
    /// The name is defined more than once.
    #[error("it defines {0} more than once")]
    DefinedTwice(&'static str),
    /// The function has other parameters than device-rt's, or is not visible.
    #[error("line {line}: not as device-rt declares it: {head}")]
    Declared {
        /// The line of the text, counted from 1.
        line: usize,
        /// The declaration.
        head: String,
    },
    /// Something other than the function itself uses the name.
    #[error("line {line}: {name} is used outside {TARGET_EXT}")]
    Used {
        /// The name.
        name: &'static str,
        /// The line of the text, counted from 1.
        line: usize,
    },
    /// A comment by which nvptx-tools find definitions still declares the name as defined.
    #[error("a comment says that {0} is defined where it is not")]
    Marked(&'static str),
    /// The text cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// `text`, one of libgomp's, without its definition of `GOMP_target_ext`, and without the variable
/// through which GCC's plugins pass that function the address of its wire. device-rt, which has
/// both, can then be linked with it.
///
/// The text is rejected unless all its uses of either name are understood: the function has GCC's
/// parameters, and only it uses the variable.
///
/// # Errors
/// The reason why it is rejected.
pub fn without_target_ext(text: &str) -> Result<String, NotCut> {
    let items = items(text.as_bytes()).map_err(NotCut::Malformed)?;
    let of = |name: &'static str| items.iter().filter(move |item| item.name() == Some(name));
    let one = |name| {
        let mut definitions = of(name).filter(|item| item.is_definition());
        match (definitions.next(), definitions.next()) {
            (one, None) => Ok(one),
            _ => Err(NotCut::DefinedTwice(name)),
        }
    };
    let function = one(TARGET_EXT)?.ok_or(NotCut::NotDefined)?;
    let variable = one(REV_OFFLOAD_VAR)?;
    for item in of(TARGET_EXT).chain(of(REV_OFFLOAD_VAR)) {
        check_declared(text, item)?;
    }
    for name in [TARGET_EXT, REV_OFFLOAD_VAR] {
        check_used(text, name, &items, function)?;
    }

    let mut edits: Vec<(Range<usize>, String)> = vec![];
    let mut is_declared = false;
    for item in of(TARGET_EXT).filter(|item| !item.is_definition()) {
        is_declared = true;
        // GCC's declarations before the definition are marked as visible.
        let linkage = item.linkage().unwrap_or_default();
        let at = item.range.start;
        edits.push((at..at + linkage.len(), ".extern".to_owned()));
    }
    let declaration = if is_declared {
        String::new()
    } else {
        let head = function.range.start..function.body.as_ref().map_or(0, |body| body.start);
        let head = text[head].trim_end();
        let head = head.strip_prefix(".visible").unwrap_or(head);
        format!("// BEGIN GLOBAL FUNCTION DECL: {TARGET_EXT}\n.extern{head};")
    };
    edits.push((marked(text, function, "FUNCTION", TARGET_EXT), declaration));
    if let Some(variable) = variable {
        let range = marked(text, variable, "VAR", REV_OFFLOAD_VAR);
        edits.push((range, String::new()));
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut cut = String::with_capacity(text.len());
    let mut done = 0;
    for (range, replacement) in edits {
        cut.push_str(&text[done..range.start]);
        cut.push_str(&replacement);
        done = range.end;
    }
    cut.push_str(&text[done..]);

    for name in [TARGET_EXT, REV_OFFLOAD_VAR] {
        let is_mark = |line: &str| {
            let mark = line.trim_end().strip_prefix("// BEGIN ");
            mark.is_some_and(|mark| mark.ends_with(&format!(" DEF: {name}")))
        };
        if cut.lines().any(is_mark) {
            return Err(NotCut::Marked(name));
        }
    }
    Ok(cut)
}

/// Whether `item`, the function or the variable, has GCC's declaration.
fn check_declared(text: &str, item: &Item<'_>) -> Result<(), NotCut> {
    let is_right = match (item.name(), &*item.head) {
        (Some(TARGET_EXT), [linkage, b".func", _name, b"(", params @ .., b")"]) => {
            let is_seen = match *linkage {
                b".visible" => true,
                b".extern" => !item.is_definition(),
                _ => false,
            };
            is_seen && params_are(params)
        }
        (Some(REV_OFFLOAD_VAR), [b".visible" | b".extern", b".global", rest @ ..]) => {
            !rest.contains(&&b"="[..])
        }
        _ => false,
    };
    if is_right {
        return Ok(());
    }
    let end = item.body.as_ref().unwrap_or(&item.range);
    let end = end.start.max(item.range.start);
    let head = match &item.body {
        Some(_) => &text[item.range.start..end],
        None => &text[item.range.clone()],
    };
    Err(NotCut::Declared {
        line: crate::ptx::line(text.as_bytes(), item.range.start),
        head: head.split_whitespace().collect::<Vec<_>>().join(" "),
    })
}

/// Whether `tokens`, from between parentheses, declare [`PARAMS`].
fn params_are(tokens: &[&[u8]]) -> bool {
    let mut bits = PARAMS.iter();
    let all = tokens.split(|token| *token == b",").all(|param| {
        let [b".param", kind, _name] = param else {
            return false;
        };
        let wanted: &[u8] = match bits.next() {
            Some(32) => b"32",
            Some(_) => b"64",
            None => return false,
        };
        matches!(kind, [b'.', b'u' | b's' | b'b', bits @ ..] if bits == wanted)
    });
    all && bits.next().is_none()
}

/// Fails unless each mention of `name` is its declaration, or in `function`, which is removed;
/// calls of that function stay.
fn check_used(
    text: &str,
    name: &'static str,
    items: &[Item<'_>],
    function: &Item<'_>,
) -> Result<(), NotCut> {
    let mut tokens = Tokens::of(text.as_bytes());
    while let Some(token) = tokens.next() {
        if token != name.as_bytes() {
            continue;
        }
        let at = tokens.at() - 1;
        let item = items.iter().find(|item| item.range.contains(&at));
        let is_understood = item.is_some_and(|item| match &item.body {
            Some(body) if body.contains(&at) => {
                item.is_function() && (name == TARGET_EXT || item.range == function.range)
            }
            _ => item.name() == Some(name),
        });
        if !is_understood {
            return Err(NotCut::Used {
                name,
                line: crate::ptx::line(text.as_bytes(), at),
            });
        }
    }
    Ok(())
}

/// The range of `item`, with the preceding comment by which nvptx-tools find it.
fn marked(text: &str, item: &Item<'_>, what: &str, name: &str) -> Range<usize> {
    let before = text[..item.range.start].trim_end_matches([' ', '\t']);
    let mark = format!("// BEGIN GLOBAL {what} DEF: {name}");
    let lines = before.strip_suffix('\n').unwrap_or(before);
    match lines.trim_end_matches('\r').strip_suffix(&mark) {
        Some(rest) if rest.is_empty() || rest.ends_with('\n') => rest.len()..item.range.end,
        _ => item.range.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &str = "(.param .u32 %in_ar0, .param .u64 %in_ar1, .param .u64 %in_ar2, \
        .param .u64 %in_ar3, .param .u64 %in_ar4, .param .u64 %in_ar5, .param .u32 %in_ar6, \
        .param .u64 %in_ar7, .param .u64 %in_ar8)";

    /// In GCC's form.
    fn text() -> String {
        format!(
            r#"// BEGIN PREAMBLE
.version 6.0
.target sm_30
.address_size 64
// END PREAMBLE
.file 1 "GOMP_target_ext {{"
// BEGIN GLOBAL FUNCTION DECL: first
.visible .func (.param .u32 %value_out) first (.param .u32 %in_ar0);
// BEGIN GLOBAL FUNCTION DECL: GOMP_target_ext
.visible .func GOMP_target_ext {PARAMS};
// BEGIN VAR DEF: lock$0
.global .align 4 .u32 lock$0[1];
// BEGIN GLOBAL VAR DEF: __gomp_rev_offload_var
.visible .global .align 8 .u64 __gomp_rev_offload_var[1];
// BEGIN GLOBAL FUNCTION DEF: first
.visible .func (.param .u32 %value_out) first (.param .u32 %in_ar0)
{{
.loc 1 2 3
// GOMP_target_ext }}
call GOMP_target_ext,(%a,%b,%c,%d,%e,%f,%g,%h,%i);
ret;
}}
// BEGIN GLOBAL FUNCTION DEF: GOMP_target_ext
.visible .func GOMP_target_ext {PARAMS}
{{
{{
.reg .u64 %inner;
}}
ld.global.u64 %r1,[__gomp_rev_offload_var];
/* }} */
ret;
}}
// BEGIN GLOBAL FUNCTION DEF: last
.visible .func last
{{
}}
"#
        )
    }

    #[track_caller]
    fn refused(text: &str) -> NotCut {
        without_target_ext(text).expect_err("it is to be refused")
    }

    #[test]
    fn the_function_and_its_variable_are_cut_out() {
        let text = text();
        let cut = without_target_ext(&text).expect("it is understood");
        let declared = format!(".visible .func GOMP_target_ext {PARAMS};");
        let function = text.find("// BEGIN GLOBAL FUNCTION DEF: GOMP").expect("it");
        let next = text
            .find("\n// BEGIN GLOBAL FUNCTION DEF: last")
            .expect("it");
        let wanted = format!("{}{}", &text[..function], &text[next..])
            .replace(&declared, &declared.replace(".visible", ".extern"))
            .replace(
                "// BEGIN GLOBAL VAR DEF: __gomp_rev_offload_var\n\
                 .visible .global .align 8 .u64 __gomp_rev_offload_var[1];",
                "",
            );
        assert_eq!(cut, wanted);
        assert_eq!(refused(&cut), NotCut::NotDefined);
    }

    #[test]
    fn without_a_declaration_one_takes_the_place() {
        let declaration = format!(
            "// BEGIN GLOBAL FUNCTION DECL: GOMP_target_ext\n.visible .func GOMP_target_ext {PARAMS};\n"
        );
        let cut = without_target_ext(&text().replace(&declaration, "")).expect("understood");
        let placed = format!(
            "ret;\n}}\n{}\n// BEGIN GLOBAL FUNCTION DEF: last",
            declaration.trim_end().replace(".visible", ".extern")
        );
        assert!(cut.contains(&placed), "{cut}");
    }

    #[test]
    fn without_comments_it_is_cut_out_too() {
        let text = text();
        let bare: String = text
            .lines()
            .filter(|line| !line.starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();
        let cut = without_target_ext(&bare).expect("it is understood");
        assert!(!cut.contains(REV_OFFLOAD_VAR), "{cut}");
        assert_eq!(cut.matches("%inner").count(), 0);
    }

    #[test]
    fn other_parameters_are_refused() {
        let text = text();
        for (from, to) in [
            (
                ".param .u32 %in_ar0, .param .u64 %in_ar1",
                ".param .u64 %in_ar1",
            ),
            (
                ".param .u64 %in_ar8)",
                ".param .u64 %in_ar8, .param .u64 %in_ar9)",
            ),
            (".param .u32 %in_ar6", ".param .u64 %in_ar6"),
            (".param .u64 %in_ar5", ".param .f64 %in_ar5"),
            (".param .u64 %in_ar5", ".param .align 8 .b8 %in_ar5[8]"),
            (
                ".visible .func GOMP_target_ext",
                ".visible .func (.param .u32 %value_out) GOMP_target_ext",
            ),
            (
                ".visible .func GOMP_target_ext",
                ".weak .func GOMP_target_ext",
            ),
            (".visible .func GOMP_target_ext", ".func GOMP_target_ext"),
            (
                ".visible .func GOMP_target_ext",
                ".visible .entry GOMP_target_ext",
            ),
            (
                ".global .align 8 .u64 __gomp_rev_offload_var[1];",
                ".global .align 8 .u64 __gomp_rev_offload_var[1] = { 7 };",
            ),
            (
                ".visible .global .align 8 .u64 __gomp_rev_offload_var",
                ".visible .const .align 8 .u64 __gomp_rev_offload_var",
            ),
        ] {
            let other = text.replace(from, to);
            assert_ne!(other, text, "{from}");
            let error = refused(&other);
            assert!(matches!(error, NotCut::Declared { .. }), "{to}: {error}");
        }
    }

    #[test]
    fn what_others_use_is_refused() {
        let text = text();
        let used = |add: &str, before: &str| {
            let other = text.replace(before, &format!("{add}\n{before}"));
            assert_ne!(other, text, "{before}");
            refused(&other)
        };
        let last = "// BEGIN GLOBAL FUNCTION DEF: last";
        for (error, name) in [
            (
                used("ld.global.u64 %r,[__gomp_rev_offload_var+0];", "// GOMP_"),
                REV_OFFLOAD_VAR,
            ),
            (used(".alias GOMP_target_ext,first;", last), TARGET_EXT),
            (
                used(".global .u64 table[1] = { GOMP_target_ext };", last),
                TARGET_EXT,
            ),
            (
                used(".global .u64 at = __gomp_rev_offload_var;", last),
                REV_OFFLOAD_VAR,
            ),
        ] {
            assert!(
                matches!(error, NotCut::Used { name: of, .. } if of == name),
                "{error}"
            );
        }
        let twice = format!("{text}.visible .func GOMP_target_ext {PARAMS} {{ ret; }}");
        assert_eq!(refused(&twice), NotCut::DefinedTwice(TARGET_EXT));
        let marked = format!("{text}// BEGIN GLOBAL FUNCTION DEF: GOMP_target_ext\n");
        assert_eq!(refused(&marked), NotCut::Marked(TARGET_EXT));
    }

    #[test]
    fn what_is_cut_off_is_refused_or_as_good() {
        let text = text();
        let whole = text.find("// BEGIN GLOBAL FUNCTION DEF: last").expect("it");
        for len in 0..text.len() {
            if let Ok(cut) = without_target_ext(&text[..len]) {
                assert!(len >= whole - 1, "{len}");
                assert!(!cut.contains("%inner"));
            }
        }
    }
}
