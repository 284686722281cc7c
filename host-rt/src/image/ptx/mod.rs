//! Finds the symbols that PTX exports. Only the driver's compiler can tell whether the text is valid.

mod variable;

use std::collections::HashSet;

use targets::ptx::{Tokens, items};

use self::variable::Variable;
use super::contents::Contents;
use super::{NoImage, Symbol};

/// The longest statement that is parsed. Descriptions are short; tables of data can be long.
const MAX_TOKENS: usize = 256;

/// The contents of PTX.
pub(super) fn read<'a>(text: &'a [u8]) -> Result<Contents, NoImage> {
    let mut contents = Contents::default();
    // A function may be declared before it is defined.
    let mut seen = HashSet::new();
    let mut symbol = |name: &'a str, size, is_code| {
        let is_new = seen.insert(name);
        if is_new {
            contents.symbols.push(Symbol {
                name: name.to_owned(),
                // Known only after compilation by the driver.
                address: 0,
                size,
                is_code,
            });
        }
        is_new
    };
    for item in items(text).map_err(NoImage::Ptx)? {
        if !matches!(item.linkage(), Some(".visible" | ".weak" | ".common")) {
            continue;
        }
        match (item.kind(), item.name()) {
            (Some(".func"), Some(name)) => {
                symbol(name, 0, true);
            }
            (Some(".entry"), Some(name)) => {
                if symbol(name, 0, true) {
                    contents.entries.push(name.to_owned());
                }
                if let Some(sizes) = parameter_sizes(&item.head) {
                    contents.params.insert(name.to_owned(), sizes);
                }
            }
            (Some(".global" | ".const"), _) => {
                // Linkage and kind precede; the head lacks values in braces.
                let tokens = Tokens::of(&text[item.range]).skip(2).take(MAX_TOKENS);
                let tokens: Vec<_> = tokens.take_while(|token| *token != b";").collect();
                if let Some(variable) = Variable::read(&tokens)
                    && symbol(variable.name, variable.size, false)
                    && let Some(value) = variable.value
                {
                    contents.values.insert(variable.name.to_owned(), value);
                }
            }
            _ => {}
        }
    }
    Ok(contents)
}

/// The sizes of the parameters of `NAME ( .param .u64 a , .param .align 8 .b8 b [ 16 ] )`, the
/// beginning of a kernel; `None` if the form of one is unknown.
fn parameter_sizes(rest: &[&[u8]]) -> Option<Vec<u64>> {
    let Some(open) = rest.iter().position(|token| *token == b"(") else {
        return Some(vec![]);
    };
    let list = &rest[open + 1..];
    let list = &list[..list.iter().position(|token| *token == b")")?];
    let parameters = list.split(|token| *token == b",");
    parameters
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| {
            let (space, declared) = parameter.split_first()?;
            // GCC writes no blank between the space and the type.
            let glued = [&[space.strip_prefix(b".param")?][..], declared].concat();
            let variable = Variable::read(if *space == b".param" {
                declared
            } else {
                &glued
            })?;
            Some(variable.size).filter(|size| *size > 0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exports(text: &str) -> Contents {
        read(text.as_bytes()).unwrap()
    }

    fn names(contents: &Contents) -> Vec<&str> {
        contents.symbols.iter().map(|s| s.name.as_str()).collect()
    }

    /// The forms that LLVM, nvcc and GCC write.
    const TEXT: &str = r#"
        // BEGIN PREAMBLE .visible .entry not_this();
        .version 6.3
        .target sm_70, debug
        .address_size 64
        .file 1 "a;b{.visible .entry nor_this"
        .extern .global .align 8 .b8 elsewhere[8];
        .extern .func gone (.param .b64 a);
        .visible .func later (.param .b64 a);
        .global .align 4 .u32 inner = 1;
        .visible .global .align 8 .b8 twice[2][4] = {{1, 2, 3, 4}, {5, 6}};
        .weak .const .align 4 .u32 number = 0x1F;
        .visible .func (.param .b32 result) later(
            .param .b64 a
        )
        {
            /* } .visible .entry nor_this2() */
            { .reg .b64 %rd<4>; }
            .visible .global .b8 nor_this3[1];
            ret;
        }
        .func inside() { ret; }
        .visible .entry first(.param .u64 .ptr .align 1 a, .param.u32 b)
        .maxntid 128, 1, 1
        { ret; }
        .weak .entry second() { ret; }
        .section .debug_info { .b8 1; }
        .visible .entry last()
        { ret; }
    "#;

    #[test]
    fn what_is_exported_is_found() {
        let contents = exports(TEXT);
        assert_eq!(
            names(&contents),
            ["later", "twice", "number", "first", "second", "last"]
        );
        assert_eq!(contents.entries, ["first", "second", "last"]);
        assert_eq!(contents.params["first"], [8, 4]);
        assert_eq!(contents.params["last"], [0; 0]);
        let code: Vec<_> = contents.symbols.iter().map(|s| s.is_code).collect();
        assert_eq!(code, [true, false, false, true, true, true]);
        assert_eq!(contents.values["number"], [0x1f, 0, 0, 0]);
        assert_eq!(contents.symbols[1].size, 8);
    }

    #[test]
    fn cut_off_anywhere_it_finds_no_more_than_there_is() {
        let all = exports(TEXT);
        for len in 0..TEXT.len() {
            if let Ok(some) = read(&TEXT.as_bytes()[..len]) {
                assert!(some.symbols.len() <= all.symbols.len(), "{len}");
            }
        }
    }

    #[test]
    fn what_is_no_ptx_is_no_trouble() {
        for text in [
            "",
            ";",
            "{",
            "}",
            "}}}",
            ".visible",
            ".visible;",
            ".visible .entry",
            ".visible .func (",
            ".visible .func ()",
            ".visible .global",
            ".visible .global .b8",
            ".visible .global x =",
            ".visible .global .b8 x[",
            ".visible .global .b8 x[]",
            "\"",
            "/*",
            "//",
            "= {",
            "\u{e9};",
            ".visible .global .b8 x[99999999999999999999] = {1};",
            ".visible .global .b8 x[18446744073709551615][2] = {1};",
        ] {
            let read = read(text.as_bytes()).ok();
            assert!(read.is_none_or(|read| read.values.is_empty()), "{text}");
        }
    }

    #[test]
    fn broken_text_is_refused_by_its_line() {
        let error = read(b".version 6.3\n.visible .entry first() { ret;").unwrap_err();
        assert_eq!(
            error.to_string(),
            "broken PTX: line 2: a `{` without its `}`"
        );
    }

    #[test]
    fn lines_without_a_semicolon_hide_nothing_after_them() {
        let files = ".file 1 \"a.c\"\n".repeat(1000);
        let contents = exports(&format!("{files}.visible .entry first() {{ ret; }}"));
        assert_eq!(contents.entries, ["first"]);
    }

    #[test]
    fn a_long_table_hides_nothing_after_it() {
        let table = "1, ".repeat(10_000);
        let text = format!(
            ".visible .global .b8 table[10000] = {{{table}1}};\n.visible .global .b8 next[1] = {{7}};"
        );
        let contents = exports(&text);
        assert_eq!(names(&contents), ["table", "next"]);
        assert_eq!(contents.symbols[0].size, 10_000);
        assert_eq!(contents.values["next"], [7]);
    }
}
