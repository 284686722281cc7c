//! shared-abi's constants as `#define`s.

use std::fmt::Write;

use anyhow::{Context, Result};

use super::names::{Names, constant_name};
use crate::abi::{Abi, Value};

/// All constants, by module. Lists are only for Rust code and are left out.
pub(super) fn render(abi: &Abi, names: &Names) -> Result<String> {
    let mut out = String::new();
    for constant in &abi.consts {
        if matches!(constant.ty, syn::Type::Array(_)) {
            continue;
        }
        let name = constant_name(abi, constant);
        let value = abi
            .value(constant)
            .with_context(|| format!("{}:{}", abi.modules[constant.module].file, constant.line))?;
        let value = match value {
            Value::Text(text) => format!("{text:?}"),
            Value::Int(value) => {
                let ty = abi
                    .int_name(constant)
                    .with_context(|| format!("type of `{name}`"))?;
                literal(value, &ty)
            }
        };
        write!(
            out,
            "\n{}#define {name} {value}\n",
            comment(&names.docs(&constant.docs))
        )?;
    }
    Ok(out)
}

/// A C literal of the constant's type, or one that converts to it.
fn literal(value: i128, ty: &str) -> String {
    match ty {
        "u64" => format!("{value:#x}ull"),
        "u32" | "usize" => format!("{value}u"),
        // C has no literal for the most negative value, only a minus before a positive one.
        "i32" if value == i128::from(i32::MIN) => format!("({} - 1)", value + 1),
        _ if value < 0 => format!("({value})"),
        _ => value.to_string(),
    }
}

fn comment(docs: &[String]) -> String {
    let lines: Vec<&str> = docs.iter().map(|line| line.trim_end()).collect();
    match lines[..] {
        [] => String::new(),
        [line] => format!("/**{line} */\n"),
        _ => {
            let lines = lines.iter().map(|line| format!(" *{line}\n"));
            format!("/**\n{} */\n", lines.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_keep_their_type() {
        assert_eq!(literal(-2, "i32"), "(-2)");
        assert_eq!(literal(i128::from(i32::MIN), "i32"), "(-2147483647 - 1)");
        assert_eq!(literal(1 << 31, "u32"), "2147483648u");
        assert_eq!(literal(255, "u64"), "0xffull");
        assert_eq!(literal(3, "u16"), "3");
    }
}
