//! Rows: a kernel is generated around the instructions, and its results are compared.

use std::fmt::Write as _;

use ptx_emu::{Grid, Part};

use super::Device;
use super::values::{Value, Width};

/// Names of results.
const RESULTS: [&str; 4] = ["%d", "%e", "%f", "%g"];

/// Runs a row; returns its failure.
pub(super) fn run(device: &Device, row: &str, immediates: bool) -> Vec<String> {
    let Some((code, wanted)) = row.split_once("=>") else {
        return vec![format!("neither row nor case: `{row}`")];
    };
    let wanted: Option<Vec<Value>> = wanted.split_whitespace().map(Value::parse).collect();
    let Some(wanted) = wanted.filter(|wanted| wanted.len() <= RESULTS.len()) else {
        return vec![format!("no values: `{row}`")];
    };
    let ways = if immediates {
        &[false, true][..]
    } else {
        &[false]
    };
    ways.iter()
        .filter_map(|&immediate| run_once(device, code, &wanted, immediate).err())
        .collect()
}

/// Pieces of code: words, which may be values, and the text between them.
fn words(code: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._%$-:".contains(c);
    let mut rest = code;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| is_word(c) != is_word(first));
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(word)
    })
}

fn declare(text: &mut String, name: &str, width: Width) {
    let _ = match width {
        Width::Pred => write!(text, ".reg .pred {name}; "),
        Width::Bits(bits) => write!(text, ".reg .b{bits} {name}; "),
    };
}

fn run_once(device: &Device, code: &str, wanted: &[Value], immediate: bool) -> Result<(), String> {
    let mut before = String::from(".reg .b64 %to, %from; .reg .b32 %bit;\n");
    before += "ld.param.u64 %to, [to]; ld.param.u64 %from, [from];\n";
    let (mut after, mut body) = (String::new(), String::new());
    let mut input = Vec::new();
    for word in words(code) {
        let Some(value) = Value::parse(word) else {
            body += word;
            continue;
        };
        if immediate && value.width != Width::Pred {
            body += &value.immediate();
            continue;
        }
        let (at, name) = (input.len(), format!("%in{}", input.len()));
        declare(&mut before, &name, value.width);
        let _ = match value.width {
            Width::Pred => writeln!(
                before,
                "ld.global.u32 %bit, [%from+{at}]; setp.ne.u32 {name}, %bit, 0;"
            ),
            Width::Bits(bits) => writeln!(before, "ld.global.b{bits} {name}, [%from+{at}];"),
        };
        input.extend(value.bits.to_le_bytes());
        body += &name;
    }
    for (at, (value, name)) in wanted.iter().zip(RESULTS).enumerate() {
        declare(&mut before, name, value.width);
        let _ = match value.width {
            Width::Pred => writeln!(
                after,
                "selp.u32 %bit, 1, 0, {name}; st.global.u32 [%to+{}], %bit;",
                at * 8
            ),
            Width::Bits(bits) => writeln!(after, "st.global.b{bits} [%to+{}], {name};", at * 8),
        };
    }
    let text = format!(
        ".version 8.0 .target sm_90 .address_size 64\n\
         .entry test(.param .u64 to, .param .u64 from)\n{{\n{before}{body};\n{after}}}\n"
    );
    let how = if immediate { "immediate: " } else { "" };
    let part = Part {
        name: "row",
        text: &text,
    };
    let module = device
        .load(&[part])
        .map_err(|error| format!("{how}`{code}`: {error}"))?;
    let grid = Grid {
        grid: [1; 3],
        block: [1; 3],
        shared: 0,
    };
    let output = device
        .run(&module, grid, &input)
        .map_err(|fault| format!("{how}`{code}`: {fault}"))?;
    let (words, _) = output.as_chunks::<8>();
    let found: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    if wanted
        .iter()
        .zip(&found)
        .all(|(value, &bits)| value.is(bits))
    {
        return Ok(());
    }
    let found = &found[..wanted.len()];
    let wanted: Vec<u64> = wanted.iter().map(|value| value.bits).collect();
    Err(format!(
        "{how}`{code}`: {found:#x?} instead of {wanted:#x?}"
    ))
}
